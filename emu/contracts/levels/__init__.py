"""dot and accumulate of datapaths written in levels: rows, columns of what each level leaves, suites, traces, deviations."""
