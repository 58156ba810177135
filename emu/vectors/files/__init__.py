"""The files of a suite: writers, strict readers, schemas, and the record that holds them together."""
