"""The explorer: one HTML page in which the C reference, as WebAssembly, answers what comes out and why. `build.py` makes it of `page/`."""
