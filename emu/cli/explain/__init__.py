"""Commands that tell why a bit is what it is: `emu explain`, `emu compare-datapaths`, `emu probe`."""
