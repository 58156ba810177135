"""Training runs as evidence: small models on real text and a student beside its teacher, under every training recipe of the spec."""
