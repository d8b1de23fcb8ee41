"""Comparisons, logic, bits. None of them has a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import Elementwise
from .samples import BITS, INTEGERS, NUMBERS, ORDERED, Domain

SHIFTS = Domain(kinds="iu", low=0, high=5)
TRUTHS = Domain(kinds="fiub")

EQUAL = Elementwise(
    name="equal", numpy="np.equal", evaluate=np.equal, arity=2, operator="==",
    stablehlo="compare EQ", cuda="({0} == {1})", triton="({0} == {1})", samples=(NUMBERS, NUMBERS),
)

NOT_EQUAL = Elementwise(
    name="not_equal", numpy="np.not_equal", evaluate=np.not_equal, arity=2, operator="!=",
    stablehlo="compare NE", cuda="({0} != {1})", triton="({0} != {1})", samples=(NUMBERS, NUMBERS),
)


def by_less(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        return ~x & y
    ordered = (np.imag(x) == np.imag(x)) & (np.imag(y) == np.imag(y))
    return ((np.real(x) < np.real(y)) & ordered) | ((np.real(x) == np.real(y)) & (np.imag(x) < np.imag(y)))


def by_less_equal(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        return ~x | y
    ordered = (np.imag(x) == np.imag(x)) & (np.imag(y) == np.imag(y))
    return ((np.real(x) < np.real(y)) & ordered) | ((np.real(x) == np.real(y)) & (np.imag(x) <= np.imag(y)))


def by_greater(x: Any, y: Any) -> Any:
    return y < x


def by_greater_equal(x: Any, y: Any) -> Any:
    return y <= x


LESS = Elementwise(
    name="less", numpy="np.less", evaluate=np.less, arity=2, operator="<", decompose=by_less,
    stablehlo="compare LT", cuda="({0} < {1})", triton="({0} < {1})", stablehlo_kinds="biuf", kernel_kinds="iuf",
    samples=(ORDERED, ORDERED),
)

LESS_EQUAL = Elementwise(
    name="less_equal", numpy="np.less_equal", evaluate=np.less_equal, arity=2, operator="<=", decompose=by_less_equal,
    stablehlo="compare LE", cuda="({0} <= {1})", triton="({0} <= {1})", stablehlo_kinds="biuf", kernel_kinds="iuf",
    samples=(ORDERED, ORDERED),
)

GREATER = Elementwise(
    name="greater", numpy="np.greater", evaluate=np.greater, arity=2, operator=">", decompose=by_greater,
    stablehlo="compare GT", cuda="({0} > {1})", triton="({0} > {1})", stablehlo_kinds="biuf", kernel_kinds="iuf",
    samples=(ORDERED, ORDERED),
)

GREATER_EQUAL = Elementwise(
    name="greater_equal", numpy="np.greater_equal", evaluate=np.greater_equal, arity=2, operator=">=",
    decompose=by_greater_equal, stablehlo="compare GE", cuda="({0} >= {1})", triton="({0} >= {1})",
    stablehlo_kinds="biuf", kernel_kinds="iuf", samples=(ORDERED, ORDERED),
)


# ---- logic ---------------------------------------------------------------------------------------


def by_logical_and(x: Any, y: Any) -> Any:
    return (x != 0) & (y != 0)


LOGICAL_AND = Elementwise(
    name="logical_and", numpy="np.logical_and", evaluate=np.logical_and, arity=2, decompose=by_logical_and,
    stablehlo="and", cuda="({0} && {1})", triton="({0} & {1})", stablehlo_kinds="b", kernel_kinds="b",
    samples=(TRUTHS, TRUTHS),
)


def by_logical_or(x: Any, y: Any) -> Any:
    return (x != 0) | (y != 0)


LOGICAL_OR = Elementwise(
    name="logical_or", numpy="np.logical_or", evaluate=np.logical_or, arity=2, decompose=by_logical_or,
    stablehlo="or", cuda="({0} || {1})", triton="({0} | {1})", stablehlo_kinds="b", kernel_kinds="b",
    samples=(TRUTHS, TRUTHS),
)


def by_logical_xor(x: Any, y: Any) -> Any:
    return (x != 0) ^ (y != 0)


LOGICAL_XOR = Elementwise(
    name="logical_xor", numpy="np.logical_xor", evaluate=np.logical_xor, arity=2, decompose=by_logical_xor,
    stablehlo="xor", cuda="({0} != {1})", triton="({0} ^ {1})", stablehlo_kinds="b", kernel_kinds="b",
    samples=(TRUTHS, TRUTHS),
)


def by_logical_not(x: Any) -> Any:
    return x == 0


LOGICAL_NOT = Elementwise(
    name="logical_not", numpy="np.logical_not", evaluate=np.logical_not, decompose=by_logical_not,
    stablehlo="not", cuda="(!{0})", triton="({0} == 0)", stablehlo_kinds="b", samples=(TRUTHS,),
)


# ---- bits ----------------------------------------------------------------------------------------

BITWISE_AND = Elementwise(
    name="bitwise_and", numpy="np.bitwise_and", evaluate=np.bitwise_and, arity=2, operator="&",
    stablehlo="and", cuda="({0} & {1})", triton="({0} & {1})", samples=(BITS, BITS),
)

BITWISE_OR = Elementwise(
    name="bitwise_or", numpy="np.bitwise_or", evaluate=np.bitwise_or, arity=2, operator="|",
    stablehlo="or", cuda="({0} | {1})", triton="({0} | {1})", samples=(BITS, BITS),
)

BITWISE_XOR = Elementwise(
    name="bitwise_xor", numpy="np.bitwise_xor", evaluate=np.bitwise_xor, arity=2, operator="^",
    stablehlo="xor", cuda="({0} ^ {1})", triton="({0} ^ {1})", samples=(BITS, BITS),
)


def by_invert(x: Any) -> Any:
    return np.logical_not(x)  # of booleans: C's ~ would make them integers


INVERT = Elementwise(
    name="invert", numpy="np.invert", evaluate=np.invert, operator="~", decompose=by_invert,
    stablehlo="not", cuda="(~{0})", triton="(~{0})", kernel_kinds="iu", samples=(BITS,),
)

LEFT_SHIFT = Elementwise(
    name="left_shift", numpy="np.left_shift", evaluate=np.left_shift, arity=2, operator="<<",
    stablehlo="shift_left", cuda="((unsigned long long){1} < 8 * sizeof({0}) ? {0} << {1} : 0)",
    triton="tl.where(({1} >= 0) & ({1} < {0}.dtype.primitive_bitwidth), {0} << {1}, 0)", samples=(INTEGERS, SHIFTS),
)

RIGHT_SHIFT = Elementwise(
    name="right_shift", numpy="np.right_shift", evaluate=np.right_shift, arity=2, operator=">>",
    stablehlo="shift_right_arithmetic",  # of unsigned numbers the logical one
    cuda="((unsigned long long){1} < 8 * sizeof({0}) ? {0} >> {1} : ({0} < 0 ? -1 : 0))",
    triton="tl.where(({1} >= 0) & ({1} < {0}.dtype.primitive_bitwidth), {0} >> {1}, tl.where({0} < 0, -1, 0))",
    samples=(INTEGERS, SHIFTS),
)

