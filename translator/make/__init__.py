"""Typed constructors for every operation, and the local rewrites that make a program canonical.

The first argument is the `Builder` that the statement is appended to; operands are atoms, or Python and NumPy
numbers. A constructor returns an atom: a new variable, a constant where all operands are constants (folded), or the
operand itself where the operation changes nothing.
"""

from .base import FOLD_LIMIT, definition, emit, lift, normalize_axes, normalize_axis
from .casts import astype, fitted, number, number_dtype, view
from .creation import empty, full, iota, ones, zeros
from .elementwise import (
    add,
    divide,
    elementwise,
    equal,
    floor_divide,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    power,
    remainder,
    subtract,
    where,
    widened,
)
from .indexing import index, joined, put, put_add
from .products import contract, matmul
from .raising import ask_kind, raise_if
from .reductions import (
    all_,
    any,
    argmax,
    argmin,
    argsort,
    cumprod,
    cumsum,
    cumulative,
    fourier,
    linalg,
    max,
    min,
    place_of_true,
    prod,
    reduce,
    sort,
    sum,
)
from .rows import concatenate
from .shapes import broadcast_to, expand_dims, reshape, squeeze, transpose

__all__ = [
    "FOLD_LIMIT", "add", "all_", "any", "argmax", "argmin", "argsort", "ask_kind", "astype",
    "broadcast_to", "concatenate", "contract", "cumprod", "cumsum", "cumulative", "definition", "divide",
    "elementwise", "emit", "empty", "equal", "expand_dims", "fitted", "floor_divide", "fourier", "full", "greater",
    "greater_equal", "index", "iota", "joined", "less", "less_equal", "lift", "linalg", "logical_and", "logical_not",
    "logical_or", "matmul", "max", "maximum", "min", "minimum", "multiply", "negative", "normalize_axes",
    "normalize_axis", "not_equal", "number", "number_dtype", "ones", "place_of_true", "power", "prod", "put", "put_add",
    "raise_if",
    "reduce", "remainder", "reshape", "sort", "squeeze", "subtract", "sum", "transpose", "view", "where", "widened",
    "zeros",
]  # fmt: skip
