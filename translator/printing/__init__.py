"""Printing a program as NumPy source that reads as if a person had written it."""
