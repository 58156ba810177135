"""What every room stands on: errors, counter-based random numbers, files that appear whole or not at all. Imports nothing of emu."""
