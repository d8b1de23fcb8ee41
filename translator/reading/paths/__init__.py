"""Control flow, as data."""
