"""`Array`, NumPy calls on it, and arrays of other libraries."""

from . import array, eager

array.operations = eager
