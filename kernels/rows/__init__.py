"""Reductions along rows: ways for threads to share them, and what one pass finds together."""
