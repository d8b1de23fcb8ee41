"""What Triton and CUDA C++ write differently: types, literals, conversions, calls.

Half-precision arithmetic is done in float32 and rounded after each operation, as NumPy does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.errors import UnsupportedError
from ...translator.ir import DType
from ...translator.passes.numbers import shortest
from ...translator.patterns import pattern
from ...translator.records import dataclass
from .complex_numbers import DEVICE_FORMS
from .values import Call, Number, Value

HALVES = frozenset(("float16", "bfloat16"))
_CALLS = ("libdevice.", "quick_exp(", "quick_tanh(", "tl.exp(", "tl.sqrt(")
"""What the compiler has no form of bfloat16's own for."""
_LITERAL = pattern(r'\(?-?(\d[\d.]*(e[+-]?\d+)?|float\("[-a-z]+"\))\)?')
_PLAIN = pattern(r"\w+|\w+(\.\w+)*\([^()]*\)")


def is_half(dtype: DType) -> bool:
    return dtype.itemsize == 2 and dtype.name in HALVES  # NumPy takes long to make a name


def working(dtype: DType) -> DType:
    """The dtype in which arithmetic is done: float32 for the halves."""
    return np.dtype(np.float32) if is_half(dtype) else dtype


def part_of(dtype: DType) -> DType:
    """The dtype of the parts of a complex number."""
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


def carrier(dtype: DType) -> DType:
    """The dtype in which a scalar of this one is passed by value."""
    if is_half(dtype):
        return np.dtype(np.float32)
    if (dtype.kind in "iu" and dtype.itemsize < 4) or dtype.kind == "b":
        return np.dtype(np.int32)
    return dtype


def accumulator(dtype: DType) -> DType:
    """The dtype in which values of a reduction are gathered: at least 32 bits wide."""
    return carrier(dtype)


def primitive(source: Call, language: str, loose: bool = False) -> str:
    """The row's template for these dtypes; empty where the operation has to be decomposed. `loose`: what it gives in
    float32 is rounded to half precision in the end (see `loose`).
    """
    dtype = source.dtypes[-1]
    kind = "f" if dtype.kind == "V" else dtype.kind  # bfloat16 calls itself void
    if kind == "c":
        return DEVICE_FORMS.get(source.op.name, "") if language == "cuda" else ""
    if kind not in source.op.kernel_kinds:
        return ""
    single = language == "triton" and all(working(d) == np.float32 for d in source.dtypes)
    names = {d.name for d in source.dtypes}
    rounded = names == {"bfloat16"} or (loose and names == {"float32"})
    quick: str = getattr(source.op, f"{language}_bfloat") if rounded else ""
    template: str = quick or (source.op.triton_single if single else "") or getattr(source.op, language)
    return template


MIXED = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
"""Comparisons, which are exact between integers with and without a sign; the languages would take both as without."""
_SHIFTS = {"left_shift": "<<", "right_shift": ">>"}


def _known_shift(value: Value, source: Call) -> int | None:
    """The bits of a shift, if known to be fewer than the width: more give 0 in NumPy, anything in the languages."""
    if source.op.name not in _SHIFTS or not isinstance(value.args[1].source, Number):
        return None
    bits = int(value.args[1].source.value)
    return bits if 0 <= bits < 8 * source.dtypes[0].itemsize else None


def _exact_inverse(value: Value, source: Call) -> float | None:
    """The inverse of a power of two: a product by it is the quotient, and faster."""
    divisor = value.args[1].source if source.op.name == "divide" else None
    if not isinstance(divisor, Number) or source.dtypes[1].kind == "c":
        return None
    number = float(divisor.value)
    return 1 / number if math.frexp(number)[0] in (0.5, -0.5) and 2.0**-100 < abs(number) < 2.0**100 else None


_WRAPPING = {"add": "({0}, {1})", "subtract": "({0}, {1})", "multiply": "({0}, {1})", "negative": "({0})"}


def _wrapping(dialect: Triton | Cuda, name: str, dtype: DType) -> str | None:
    """Arithmetic on integers that may overflow, as unsigned ones; narrower ones are computed with 32 bits."""
    if not isinstance(dialect, Cuda) or dialect.wraps or name not in _WRAPPING:
        return None
    wide = dtype in (np.int32, np.int64) or (dtype == np.uint16 and name == "multiply")
    return f"wrapping_{name}{_WRAPPING[name]}" if wide else None


def call_expression(
    dialect: Triton | Cuda,
    value: Value,
    source: Call,
    text_of: Callable[[Value], str] | None = None,
    quick: bool = False,
    loose: bool = False,
) -> str:
    """`value` as an expression over its arguments: over their names, or what `text_of` says. `quick`: it is rounded to
    half precision before it is used; `loose`: in the end.
    """
    template = primitive(source, dialect.name, loose)
    if quick and source.op.name == "exp" and working(source.dtypes[0]) == np.float32:
        template = "quick_exp({0})"
    if not template:
        raise UnsupportedError(f"{source.op.numpy} of {source.dtypes[-1].name} has no {dialect.name} form")
    args = []
    for k, (arg, dtype) in enumerate(zip(value.args, source.dtypes, strict=True)):
        if isinstance(arg.source, Number):
            text = dialect.literal(arg.source.value, working(dtype))
            # More than a Python number is needed by a template that asks its argument for its type, and by libdevice.
            double = dtype == np.float64 and template.startswith("libdevice.")
            typed = (double or f"{{{k}}}." in template) and "tl.full" not in text
            args.append(f"tl.full((), {text}, {dialect.type_name(dtype)})" if typed else text)
        else:
            text = arg.name if text_of is None else text_of(arg)
            if is_half(dtype) and arg.dtype != dtype:
                text = dialect.convert(text, arg.dtype, dtype)
                args.append(dialect.convert(text, dtype, working(dtype)))
            else:
                args.append(dialect.convert(text, arg.dtype, working(dtype)))
    if source.op.name in MIXED and {d.kind for d in source.dtypes} == {"i", "u"}:
        return dialect.mixed(source.op.name, args, source.dtypes)
    template = _wrapping(dialect, source.op.name, source.dtypes[-1]) or template
    shift = _known_shift(value, source)
    if shift is not None:
        template = f"({{0}} {_SHIFTS[source.op.name]} {shift})"
    inverse = _exact_inverse(value, source)
    if inverse is not None:
        template, args[1] = "({0} * {1})", dialect.literal(inverse, working(source.dtypes[1]))
    kinds = [working(d) for d in source.dtypes]
    f = "f" if any(d == np.float32 for d in kinds) and not any(d == np.float64 for d in kinds) else ""
    return dialect.finish(dialect.call(template, args, f), value, source)


@dataclass(frozen=True)
class Triton:
    name: str = "triton"
    divide: str = "//"

    def type_name(self, dtype: DType) -> str:
        return "tl.int1" if dtype.kind == "b" else f"tl.{dtype.name}"

    def pointer(self, dtype: DType) -> str:
        return "*" + self.signature(dtype)

    def signature(self, dtype: DType) -> str:
        """The type in a Triton signature: fp32, i64, u8, i1."""
        if dtype.name == "bfloat16":
            return "bf16"
        prefix = {"f": "fp", "i": "i", "u": "u", "b": "i"}[dtype.kind]
        return f"{prefix}{1 if dtype.kind == 'b' else dtype.itemsize * 8}"

    def literal(self, value: Any, dtype: DType) -> str:
        if is_half(dtype):
            return f"tl.full((), {self.literal(np.float32(value), working(dtype))}, {self.type_name(dtype)})"
        if dtype.kind == "b":
            return f"tl.full((), {bool(value)}, tl.int1)"
        if dtype.kind in "iu":
            number = int(value)
            if -(2**31) <= number < 2**31 and dtype.itemsize >= 4 and dtype.kind == "i":
                return str(number) if number >= 0 else f"({number})"
            return f"tl.full((), {number}, {self.type_name(dtype)})"
        real = float(value)
        text = repr(shortest(np.float32(real)) if dtype == np.float32 else real)
        text = text if math.isfinite(real) else f'float("{real}")'
        text = f"({text})" if text.startswith("-") else text
        exact = dtype == np.float32 or not math.isfinite(real) or float(np.float32(real)) == real
        return text if exact else f"tl.full((), {text}, tl.float64)"

    def convert(self, text: str, source: DType, target: DType) -> str:
        if source == target:
            return text
        if _LITERAL.fullmatch(text):  # a number of Python's, which has no methods
            text = f"tl.full((), {text}, {self.type_name(source)})"
        if target.kind == "b":
            return f"({self.convert(text, source, working(source))} != 0)"
        if target.kind in "iu" and is_half(source):
            return self.convert(f"{_atom(text)}.to(tl.float32)", working(source), target)
        if target.kind in "iu" and source.kind == "f":  # what is out of range wraps around; the device would clamp it
            if target == np.uint64:
                signed = f"{_atom(text)}.to(tl.int64).to(tl.uint64)"
                return f"tl.where({_atom(text)} < 0, {signed}, {_atom(text)}.to(tl.uint64))"
            if target == np.uint32 or target.itemsize < 4:
                text = f"{_atom(text)}.to(tl.int{64 if target == np.uint32 else 32})"
        if target.name == "bfloat16" and source == np.float64:
            text = f"{_atom(text)}.to(tl.float32)"  # rounded twice, as ml_dtypes does
        return f"{_atom(text)}.to({self.type_name(target)})"

    def rounded(self, text: str, source: DType, target: DType) -> str:
        """The conversion of numbers that the compiler does not round in pairs by itself."""
        pairs = target.name == "bfloat16" and source == np.float32
        return f"to_bfloat16({bare(text)})" if pairs else self.convert(text, source, target)

    def call(self, template: str, args: list[str], f: str) -> str:
        return template.format(*args, f=f)

    def mixed(self, op: str, args: Sequence[str], dtypes: Sequence[DType]) -> str:
        """A comparison between integers with and without a sign."""
        place = 0 if dtypes[0].kind == "i" else 1
        signed = args[place]
        if _LITERAL.fullmatch(signed):
            signed = f"tl.full((), {signed}, tl.int64)"
        both = [f"{_atom(a)}.to(tl.uint64)" for a in args]
        both[place] = f"{_atom(signed)}.to(tl.uint64)"
        of_negative = op == "not_equal" or op.startswith("less" if place == 0 else "greater")
        compared = f"({both[0]} {MIXED[op]} {both[1]})"
        return f"(({signed} < 0) | {compared})" if of_negative else f"(({signed} >= 0) & {compared})"

    def finish(self, text: str, value: Value, source: Call) -> str:
        """Literals adapt as Python reals do and small integers widen: there the result is converted."""
        if value.dtype.kind == "b":
            return f"({text} != 0)" if text.startswith("libdevice.") else text
        if value.dtype.name == "bfloat16" and (text.startswith(_CALLS) or " / " in text):
            return self.rounded(text, working(value.dtype), value.dtype)
        settled = value.dtype in (np.float32, np.float64, np.int32, np.int64)
        variables = [a for a in value.args if not isinstance(a.source, Number)]
        if settled and any(d == value.dtype for d in source.dtypes) and variables:
            return text
        return f"{_atom(text)}.to({self.type_name(value.dtype)})"


C_TYPES = {
    "complex64": "complex_t<float>", "complex128": "complex_t<double>",
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short",
    "int32": "int", "uint32": "unsigned int", "int64": "long long", "uint64": "unsigned long long",
    "float16": "half_t", "bfloat16": "bfloat_t", "float32": "float", "float64": "double",
}  # fmt: skip


@dataclass(frozen=True)
class Cuda:
    """`wraps`: whether signed integers wrap around as they stand: the host's compiler is told to let them. NVRTC takes
    for granted that they do not overflow, and makes `x + 1 > x` true.
    """

    name: str = "cuda"
    divide: str = "/"
    wraps: bool = False

    def type_name(self, dtype: DType) -> str:
        return C_TYPES[dtype.name]

    def literal(self, value: Any, dtype: DType) -> str:
        if dtype.kind == "c":
            number, part = complex(value), part_of(dtype)
            return f"{self.type_name(dtype)}{{{self.literal(number.real, part)}, {self.literal(number.imag, part)}}}"
        if is_half(dtype):
            return f"{C_TYPES[dtype.name]}::from({self.literal(np.float32(value), working(dtype))})"
        if dtype.kind == "b":
            return "true" if value else "false"
        if dtype.kind in "iu":
            number = int(value)
            suffix = "" if dtype.itemsize < 8 and dtype.kind == "i" else ("ULL" if dtype.kind == "u" else "LL")
            if number == np.iinfo(dtype).min and dtype.kind == "i":
                return f"({number + 1}{suffix} - 1)"
            text = f"{number}{suffix}"
            return text if dtype.itemsize >= 4 and dtype != np.uint32 else f"({self.type_name(dtype)}){text}"
        number32 = float(value)
        if not math.isfinite(number32):
            bits = np.asarray(value, dtype).view(np.uint32 if dtype.itemsize == 4 else np.uint64)
            cast = "__int_as_float" if dtype.itemsize == 4 else "__longlong_as_double"
            return f"{cast}(0x{int(bits):x}{'' if dtype.itemsize == 4 else 'LL'})"
        text = repr(shortest(np.float32(value)) if dtype == np.float32 else number32)
        text = text if any(c in text for c in ".e") else f"{text}.0"
        text = f"{text}f" if dtype == np.float32 else text
        return f"({text})" if text.startswith("-") else text

    def convert(self, text: str, source: DType, target: DType) -> str:
        if source == target:
            return text
        if "c" in (source.kind, target.kind):
            return self._convert_complex(text, source, target)
        if is_half(source):
            return self.convert(f"widen({text})", np.dtype(np.float32), target)
        if is_half(target):
            return f"{C_TYPES[target.name]}::from({text})"
        if target.kind == "b":
            return f"({text} != 0)"
        if target.kind == "u" and source.kind == "f":  # what is negative wraps around, where the device would give 0
            signed = f"({'int' if target.itemsize < 4 else 'long long'}){_atom(text)}"
            if target.itemsize == 8:
                return f"({_atom(text)} < 0 ? (unsigned long long){signed} : (unsigned long long){_atom(text)})"
            text = signed
        return f"({self.type_name(target)}){text if text.startswith('(') else _atom(text)}"

    def rounded(self, text: str, source: DType, target: DType) -> str:
        return self.convert(text, source, target)

    def _convert_complex(self, text: str, source: DType, target: DType) -> str:
        if source.kind != "c":
            return f"{self.type_name(target)}{{{self.convert(text, source, part_of(target))}, 0}}"
        if target.kind == "c":
            return f"convert<{self.type_name(part_of(target))}>({text})"
        if target.kind == "b":
            return f"({text}.re != 0 || {text}.im != 0)"
        return self.convert(f"{text}.re", part_of(source), target)

    def call(self, template: str, args: list[str], f: str) -> str:
        return template.replace("{f}", f).format(*args)

    def mixed(self, op: str, args: Sequence[str], dtypes: Sequence[DType]) -> str:
        """A comparison between integers with and without a sign."""
        wide = {"i": "(long long)", "u": "(unsigned long long)"}
        x, y = (f"{wide[d.kind]}{_atom(a)}" for a, d in zip(args, dtypes, strict=True))
        return f"(order({x}, {y}) {MIXED[op]} 0)"

    def finish(self, text: str, value: Value, source: Call) -> str:
        if is_half(value.dtype):
            return f"{C_TYPES[value.dtype.name]}::from({text})"
        return text


def _atom(text: str) -> str:
    return text if _PLAIN.fullmatch(text) or bare(text) != text else f"({text})"


def bare(expression: str) -> str:
    """The text without enclosing parentheses, which templates need only beside other operators."""
    if not (expression.startswith("(") and expression.endswith(")")):
        return expression
    depth = 0
    for k, c in enumerate(expression):
        depth += (c == "(") - (c == ")")
        if depth == 0 and k < len(expression) - 1:
            return expression
    return expression[1:-1]


TRITON = Triton()
CUDA = Cuda()
