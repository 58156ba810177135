"""`python -m emu`: the same as the command `emu`."""

from emu.cli.start import main

if __name__ == "__main__":
    main()
