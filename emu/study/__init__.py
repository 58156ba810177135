"""Numbers about formats and recipes: what quantization does to tensors. Not here: printing them (emu.cli.analyze)."""
