"""The example project is copied and run on its own, never collected in place."""

collect_ignore = ["project"]
