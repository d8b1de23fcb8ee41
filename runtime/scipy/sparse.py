"""The namespace `untraced.scipy.sparse`: `linalg`, solvers that need a matrix only as the function v -> A @ v."""

from . import sparse_linalg as linalg

__all__ = ["linalg"]
