"""What quantization costs a matrix product and what the datapath adds: one record, docs/evidence/datapath_errors.json."""
