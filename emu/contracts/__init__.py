"""Contracts: what each operation promises, bit by bit."""
