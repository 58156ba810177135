"""Generated files of the source tree: JSON Schemas and reference pages, from the spec models and the spec. Written by `emu docs build`."""
