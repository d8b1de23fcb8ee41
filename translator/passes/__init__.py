"""Passes: pure functions from program to program, which simplify it and group it into kernels."""
