"""The wide NumPy and SciPy surface, written as NumPy source over the operations."""
