"""Kernels of other libraries as targets: `foreign:<library>.<kernel>`. One file per library; registry.py lists them.

Not here: the survey of all of them (tools/foreign_kernels.py).
"""
