"""Gates and depth of the reference designs, by yosys: one record, docs/evidence/hardware_cost.json."""
