"""A program as StableHLO text."""
