"""TODO emu/check/inputs."""
