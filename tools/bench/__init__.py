"""`python -m tools.bench`: speed beside other libraries, ratios within one run; `python -m tools.bench.gpu`: evidence from a GPU."""
