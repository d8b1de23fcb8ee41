"""`Array`, NumPy calls on it, and arrays of other libraries."""
