"""What an operation is: its family, its attributes, its type rule. The rows stand in the other files here.

`attributes` and `shapes` are parts of this file's subject, and what they define is imported from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..errors import Diagnostic, DTypeError, ShapeError, SquareError
from ..ir import Aval, DType, Shape
from ..records import dataclass
from .attributes import (
    NO_ATTRS,
    ArgReduceAttrs,
    At,
    Attrs,
    AxesAttrs,
    CastAttrs,
    CollectiveAttrs,
    ConcatenateAttrs,
    ContractAttrs,
    CreateAttrs,
    CumulativeAttrs,
    Dim,
    Dyn,
    FourierAttrs,
    Gather,
    IndexAttrs,
    ItemAttrs,
    LinalgAttrs,
    NoAttrs,
    ReduceAttrs,
    RuledAttrs,
    Run,
    ShapeAttrs,
    SortAttrs,
    read_by,
    reading,
)
from .samples import REALS, Domain
from .shapes import (
    axis_of_run,
    backward_runs,
    broadcast_shapes,
    gather_position,
    indexed_shape,
    reduced_shape,
    reshaped,
    resized,
)

# ---- families ------------------------------------------------------------------------------------

Rule = Callable[..., Any]  # NumPy source: read by the reader and spliced in, never called on arrays by a target


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Elementwise:
    """Acts on each element; arguments broadcast and promote as NumPy's.

    numpy      how it prints: "np.tanh"; `operator` ("+", "-", "~", "==", ...) is printed instead where there is one.
    evaluate   the NumPy callable itself; where it is a ufunc, its loops give the dtypes.
    loop       (avals) -> (argument dtypes, result dtype), where `evaluate` is not a ufunc.
    partials   a function (*args, y) -> d y / d arg for each argument; None: the derivative is zero.
    jvps/vjps  functions (t, *args, y), one per argument, where tangent * partial is unsafe or wrong (0*inf, complex).
    unknown    arguments with a derivative that no rule gives; a derivative with respect to them is refused.
    flat       dtype kinds of an argument for which the derivative is zero, whatever the rules say.
    decompose  NumPy source in simpler operations, for targets without a primitive.
    stablehlo  the StableHLO operation ("tanh"). cuda, triton: expression templates with the arguments {0} {1} and
               the C suffix {f} of the float type ("f" for float32). Empty: `decompose` is used. triton_single: of
               float32 alone. triton_bfloat, cuda_bfloat: faster ones that are off by a few units of float32, for
               results that are rounded to bfloat16, whose units are 65,536 times as large, at once or in the end.
    stablehlo_kinds, kernel_kinds   the dtype kinds for which the primitive means this operation; `decompose`, whose
               arguments have the loop's dtypes, serves the others. Ask `primitive`.
    kinks      points of the first argument where the derivative jumps; tests avoid them.
    foreign    no target has it: CPython calls the library that it is named after.
    plain      for a function of Python numbers (`math.sin`): the row that it stands for on arrays.
    """

    name: str
    numpy: str
    evaluate: Callable[..., Any]
    arity: int = 1
    operator: str = ""
    loop: Callable[[Sequence[Aval]], tuple[tuple[DType, ...], DType]] | None = None
    partials: tuple[Rule | None, ...] = ()
    jvps: tuple[Rule | None, ...] = ()
    vjps: tuple[Rule | None, ...] = ()
    unknown: tuple[int, ...] = ()
    flat: str = ""
    decompose: Rule | None = None
    stablehlo: str = ""
    cuda: str = ""
    triton: str = ""
    triton_single: str = ""
    triton_bfloat: str = ""
    cuda_bfloat: str = ""
    stablehlo_kinds: str = "biufc"
    kernel_kinds: str = "biuf"
    samples: tuple[Domain, ...] = (REALS,)
    kinks: tuple[float, ...] = ()
    foreign: bool = False
    plain: Elementwise | None = None

    def primitive(self, language: str, avals: Sequence[Aval]) -> str:
        """The primitive of `language` ("stablehlo", "cuda", "triton") for these arguments; empty: use `decompose`."""
        dtype = self.loop_dtypes(avals)[0][-1]
        kind = "f" if dtype.kind == "V" else dtype.kind  # bfloat16 calls itself void
        if kind not in (self.stablehlo_kinds if language == "stablehlo" else self.kernel_kinds):
            return ""
        name: str = getattr(self, language)
        return name

    def loop_dtypes(self, avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
        """The dtypes in which the operation computes: of the arguments after casting, and of the result."""
        return _loop_dtypes(self, tuple((a.dtype, a.weak) for a in avals))

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        return _inferred(self, tuple(avals))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cast:
    """astype. Casting to the same dtype removes weakness."""

    name: str = "astype"

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, CastAttrs)
        if attrs.weak and avals[0].shape:
            raise ShapeError(f"only a scalar becomes a Python number, not an array of shape {avals[0].shape}")
        return (Aval(avals[0].shape, attrs.dtype, attrs.weak),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reduce:
    """sum, prod, max, min, any, all over `ReduceAttrs.axes`. `dtype` maps the operand's dtype to the result's."""

    name: str
    numpy: str
    evaluate: Callable[..., Any]
    dtype: Callable[[DType], DType]
    identity: Callable[[DType], Any] | None  # None: an empty reduction is an error, as in NumPy
    stablehlo: str
    samples: tuple[Domain, ...] = (REALS,)

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, ReduceAttrs)
        (x,) = avals
        if self.identity is None and any(x.shape[a] == 0 for a in attrs.axes):
            raise ShapeError(f"{self.numpy} of an empty axis has no value: the operand's shape is {x.shape}")
        return (Aval(reduced_shape(x.shape, attrs.axes, attrs.keepdims), self.dtype(x.dtype)),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArgReduce:
    """argmax, argmin along one axis: the first extreme; a NaN is extreme, as in NumPy."""

    name: str
    numpy: str
    evaluate: Callable[..., Any]
    samples: tuple[Domain, ...] = (REALS,)

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, ArgReduceAttrs)
        (x,) = avals
        if x.shape[attrs.axis] == 0:
            raise ShapeError(f"{self.numpy} of an empty axis has no value: the operand's shape is {x.shape}")
        return (Aval(reduced_shape(x.shape, (attrs.axis,), attrs.keepdims), np.dtype(np.int64)),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cumulative:
    """cumsum, cumprod, cummax, cummin along one axis."""

    name: str
    numpy: str
    evaluate: Callable[..., Any]
    dtype: Callable[[DType], DType]
    samples: tuple[Domain, ...] = (REALS,)

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, CumulativeAttrs)
        return (Aval(avals[0].shape, self.dtype(avals[0].dtype)),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sort:
    """sort, argsort along one axis: NaN last.

    `partial`: of the attributes' places alone. Every sort is a partition, and may be made where one is asked for.
    """

    name: str
    numpy: str
    evaluate: Callable[..., Any]
    partial: Callable[..., Any]
    samples: tuple[Domain, ...] = (REALS,)

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        (x,) = avals
        return (Aval(x.shape, np.dtype(np.int64) if self.name == "argsort" else x.dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Fourier:
    """Discrete Fourier transforms along axes, scaled as NumPy's by default.

    fft, ifft   of real or complex numbers to complex ones of the same shape.
    rfft        of real numbers: the half of the spectrum along the last of the axes that determines the rest.
    irfft       back from there to real numbers, `size` of them along that axis.
    """

    name: str
    numpy: str
    evaluate: Callable[..., Any]
    samples: tuple[Domain, ...] = (REALS,)

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, FourierAttrs)
        (x,) = avals
        last = attrs.axes[-1]
        if any(x.shape[a] == 0 for a in attrs.axes):
            raise ShapeError(f"{self.numpy} of an empty axis has no value: the operand's shape is {x.shape}")
        single = (x.dtype.kind == "f" and x.dtype.itemsize <= 4) or x.dtype == np.complex64
        if self.name == "irfft":
            if attrs.size < 1 or attrs.size // 2 + 1 != x.shape[last]:
                raise ShapeError(f"{self.numpy}: {x.shape[last]} frequencies do not give {attrs.size} points")
            return (Aval(resized(x.shape, last, attrs.size), np.dtype(np.float32 if single else np.float64)),)
        if self.name == "rfft" and x.dtype.kind == "c":
            raise DTypeError(f"{self.numpy} takes real numbers, not {x.dtype}")
        shape = resized(x.shape, last, x.shape[last] // 2 + 1) if self.name == "rfft" else x.shape
        return (Aval(shape, np.dtype(np.complex64 if single else np.complex128)),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contract:
    """The product of two arrays over labelled axes; prints as @, np.outer or np.einsum, as a person would write."""

    name: str = "contract"

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, ContractAttrs)
        sizes: dict[int, int] = {}
        for labels, aval in zip((attrs.lhs, attrs.rhs), avals, strict=True):
            for label, size in zip(labels, aval.shape, strict=True):
                if sizes.setdefault(label, size) != size:
                    shapes = " and ".join(str(a.shape) for a in avals)
                    raise ShapeError(f"a product of shapes {shapes}: the summed sizes {sizes[label]} and {size} differ")
        dtype = promote(avals)
        return (Aval(tuple(sizes[label] for label in attrs.out), dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reshape:
    """reshape, transpose, broadcast_to, expand_dims, squeeze: the elements stay, the axes change."""

    name: str

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        (x,) = avals
        return (Aval(reshaped(self.name, x.shape, attrs), x.dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Concatenate:
    """Any number of arrays of one rank and one dtype, joined along an axis."""

    name: str = "concatenate"

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, ConcatenateAttrs)
        axis, first = attrs.axis, avals[0]
        for a in avals[1:]:
            others = [s[:axis] + s[axis + 1 :] for s in (first.shape, a.shape)]
            if a.ndim != first.ndim or others[0] != others[1]:
                raise ShapeError(f"shapes {first.shape} and {a.shape} cannot be concatenated along axis {axis}")
        total = sum(a.shape[axis] for a in avals)
        return (Aval((*first.shape[:axis], total, *first.shape[axis + 1 :]), promote(avals)),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Create:
    """full: args (value,); empty: no args, contents unspecified; iota: no args, 0..n-1 along its one axis."""

    name: str

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, CreateAttrs)
        return (Aval(attrs.shape, avals[0].dtype if attrs.follows else attrs.dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Index:
    """x[...]: basic and integer-array indexing."""

    name: str = "index"

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, IndexAttrs)
        return (Aval(indexed_shape(attrs, avals), avals[0].dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Put:
    """put: x with x[...] = value; put_add: np.add.at(x, ..., value), repeated indices accumulate.

    The value broadcasts to the indexed shape and is cast to x's dtype.
    """

    name: str

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, IndexAttrs)
        assert not backward_runs(attrs)  # make.put turns them round
        shape = indexed_shape(attrs, avals)
        value = avals[1].shape
        while len(value) > len(shape) and value[0] == 1:
            value = value[1:]
        if broadcast_shapes([shape, value], "a store") != shape:
            raise ShapeError(f"could not broadcast a value of shape {avals[1].shape} into the indexed shape {shape}")
        return (Aval(avals[0].shape, avals[0].dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Linalg:
    """One result of a function of np.linalg, on the last two axes of an array; the axes before them are batches.

    The arrays have one dtype out of float32, float64, complex64, complex128. Where NumPy's function has several
    results, each is an operation of its own.

    numpy      the function that it prints as; `field` names the result, where there are several.
    options    keyword arguments that it prints with: without `full`, and with it.
    evaluate   (module, *args, full) -> the result; the module follows NumPy.
    cores      for each argument how many of its last axes are no batch axes (a vector has one less than a matrix).
    shape      (core shapes of the arguments, full) -> core shape of the result; ShapeError.
    real       the result is real for complex arrays, too.
    complex    the result is complex for real arrays, too.
    truth      the result is of bool.
    error      the message of np.linalg.LinAlgError, where the operation may fail.
    jvps/vjps  NumPy source, one per argument: (t, *args, y) -> tangent of y; (ct, *args, y) -> cotangent of an operand.
    refusal    why there is no derivative of `full`, where there is none.
    decompose  NumPy source in other operations, for XLA where it has no function that does this.
    """

    name: str
    numpy: str
    evaluate: Callable[..., Any]
    shape: Callable[[Sequence[Shape], bool], Shape]
    cores: tuple[int, ...] = (2,)
    field: str = ""
    options: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    real: bool = False
    complex: bool = False
    truth: bool = False
    error: str = ""
    jvps: tuple[Rule | None, ...] = ()
    vjps: tuple[Rule | None, ...] = ()
    refusal: str = ""
    decompose: Rule | None = None

    def core(self, k: int, aval: Aval) -> int:
        """How many of the last axes of argument `k` are no batch axes."""
        return min(self.cores[k], aval.ndim)

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, LinalgAttrs)
        first = avals[0]
        if first.dtype.char not in "fdFD":
            raise DTypeError(f"array type {first.dtype} is unsupported in {self.numpy}")
        if first.ndim < 2:
            given = f"{first.ndim}-dimensional array given"
            raise SquareError(f"{self.numpy}: {given}. Array must be at least two-dimensional")
        splits = [a.ndim - self.core(k, a) for k, a in enumerate(avals)]
        batch = broadcast_shapes([a.shape[:n] for a, n in zip(avals, splits, strict=True)], self.numpy)
        core = self.shape([a.shape[n:] for a, n in zip(avals, splits, strict=True)], attrs.full)
        dtype = np.empty(0, first.dtype).real.dtype if self.real else first.dtype
        dtype = np.result_type(dtype, np.complex64) if self.complex else dtype
        return (Aval((*batch, *core), np.dtype(np.bool_) if self.truth else dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ruled:
    """Returns values unchanged, with the derivative that a user's rule gives.

    args (*values, *inputs, *others): the values were computed from the inputs, and the rule uses the others, too. Only
    derivatives and batches see it; a program that is simplified, run or printed has none (`derive.ruled`).
    """

    name: str = "ruled"

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, RuledAttrs)
        return tuple(avals[: attrs.count])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tape:
    """A list of values of one type, whose length only the run knows: what a loop keeps for its backward pass.

    tape    no args: an empty list.
    append  (tape, value): adds an entry; arrays are copied.
    blank   (length): a list of so many entries, all of which are stored before they are read.
    zeros   (length): a list of so many zeros, to which values are added.
    length  (tape): a Python int.
    item    (tape, place): an entry, counted from 0.
    set_item, add_item (tape, value, place): sets an entry (arrays are copied), or adds to it.

    Only CPython runs them. For other targets the last pass but one puts windows of fixed length in their place
    (`passes.tapes`).
    """

    name: str

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        if self.name == "item":
            assert isinstance(attrs, ItemAttrs)
            return (attrs.aval,)
        return (Aval((), np.dtype(np.int64), weak=True) if self.name == "length" else TAPE_AVAL,)


TAPE_AVAL = Aval((), np.dtype(object))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Collective:
    """Communication between the elements of a mapped axis. Either all elements reach it or none.

    psum        the sum over the axis, the same for all elements.
    all_gather  the values of all elements, along a new first axis.
    ppermute    the value that another element sends; zeros where none does.
    axis_index  no args: the element's own position in the axis.
    """

    name: str

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        assert isinstance(attrs, CollectiveAttrs)
        if self.name == "axis_index":
            return (Aval((), np.dtype(np.int64)),)
        (x,) = avals
        return (Aval((attrs.size, *x.shape) if self.name == "all_gather" else x.shape, x.dtype),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Draw:
    """A number drawn from a generator of random numbers: args (words, *numbers), the state and the distribution's own.

    The result is the state afterwards, in whose first word are the bits of what was drawn; that of a row with a
    `result`, whose args are (words,), is that number.

    owner       the class of the generator, "Generator", "RandomState" or "Random", and its `methods` that draw so.
    parameters  their names and defaults; `integers` where they are no floats.
    valid       conditions of the numbers in C, with which nothing fails: with others CPython makes the call.
    native      C++ for what is drawn; `drawn` the row that reads it.
    """

    name: str
    owner: str = ""
    methods: tuple[str, ...] = ()
    parameters: tuple[tuple[str, float | None], ...] = ()
    integers: bool = False
    valid: tuple[str, ...] = ()
    native: str = ""
    drawn: Draw | None = None
    result: Aval | None = None

    def infer(self, avals: Sequence[Aval], attrs: Attrs) -> tuple[Aval, ...]:
        return (self.result or avals[0],)


RULED = Ruled()
BARRIER = Ruled(name="barrier")  # the value again; what is computed from it is not shared with what is computed without

Op = (
    Elementwise
    | Cast
    | Reduce
    | ArgReduce
    | Cumulative
    | Sort
    | Fourier
    | Collective
    | Contract
    | Reshape
    | Concatenate
    | Create
    | Index
    | Put
    | Linalg
    | Tape
    | Draw
    | Ruled
)

TAPE, APPEND, LENGTH, ITEM = (Tape(name=n) for n in ("tape", "append", "length", "item"))
BLANK_TAPE, ZERO_TAPE, SET_ITEM, ADD_ITEM = (Tape(name=n) for n in ("blank", "zeros", "set_item", "add_item"))
TAPE_STORES = (APPEND, SET_ITEM, ADD_ITEM)


def is_store(op: Op) -> bool:
    """Whether the operation returns a new version of its first argument, and is printed as a change of it."""
    return isinstance(op, Put) or op in TAPE_STORES or (isinstance(op, Draw) and op.result is None)


def is_draw(s: Any) -> bool:
    """Whether a statement draws a number from a generator."""
    return isinstance(getattr(s, "op", None), Draw) and s.op.result is None


_TAME = frozenset(
    {"add", "subtract", "multiply", "negative", "positive", "square", "sin", "cos", "tanh", "where", "absolute", "sign",
     "maximum", "minimum", "fmax", "fmin", "clip", "real", "imag", "conjugate", "arctan", "erf"}
)  # fmt: skip


def is_tame(op: Op) -> bool:
    """Whether an elementwise operation has finite values and slopes at all finite arguments (but for overflow): what a
    choice shields from others may be computed everywhere."""
    return op.name in _TAME


# ---- type rules ----------------------------------------------------------------------------------

_PYTHON_TYPES = {"i": int, "f": float, "c": complex}


@cache
def _loop_dtypes(op: Elementwise, keys: tuple[tuple[DType, bool], ...]) -> tuple[tuple[DType, ...], DType]:
    if op.loop is not None:
        return op.loop([Aval((), d, w) for d, w in keys])
    ufunc = op.evaluate
    assert isinstance(ufunc, np.ufunc), f"{op.name} needs a ufunc or a loop rule"
    types = tuple(_PYTHON_TYPES[d.kind] if w else d for d, w in keys)
    try:
        resolved = ufunc.resolve_dtypes((*types, *([None] * ufunc.nout)))
    except TypeError as error:
        names = ", ".join(d.name for d, _ in keys)
        raise DTypeError(
            Diagnostic(
                f"{op.numpy} does not take ({names})",
                why=str(error),
                instead="convert the operand first, x.astype(...)",
            )
        ) from None
    if resolved[0].kind == "O":  # a comparison of two Python integers: int64 here
        return (_promote(keys),) * len(keys), resolved[-1]
    return tuple(resolved[: len(keys)]), resolved[len(keys)]


def promote(avals: Sequence[Aval]) -> DType:
    """NumPy's result type (NEP 50) of the arguments."""
    return _promote(tuple((a.dtype, a.weak) for a in avals))


@lru_cache(maxsize=4096)
def _inferred(op: Elementwise, avals: tuple[Aval, ...]) -> tuple[Aval, ...]:
    """The type of an elementwise operation; cached, since programs ask for the same few types again and again."""
    shape = broadcast_shapes([a.shape for a in avals], op.numpy)
    _, dtype = op.loop_dtypes(avals)
    weak = bool(op.operator) and dtype.kind != "b" and all(a.weak for a in avals)
    return (Aval(shape, dtype, weak or op.plain is not None),)


@cache
def _promote(keys: tuple[tuple[DType, bool], ...]) -> DType:
    return np.result_type(*(_PYTHON_TYPES[d.kind](0) if w else d for d, w in keys))


def promote_loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    """The loop rule of an operation whose arguments and result share the promoted dtype."""
    dtype = promote(avals)
    return (dtype,) * len(avals), dtype


__all__ = [
    "ADD_ITEM", "APPEND", "BARRIER", "BLANK_TAPE", "ITEM", "LENGTH",
    "NO_ATTRS", "RULED", "SET_ITEM", "TAPE", "TAPE_AVAL", "TAPE_STORES",
    "ZERO_TAPE", "ArgReduce", "ArgReduceAttrs", "At",
    "Attrs", "AxesAttrs", "Cast", "CastAttrs", "Collective", "CollectiveAttrs", "Concatenate",
    "ConcatenateAttrs", "Contract", "ContractAttrs", "Create", "CreateAttrs", "Cumulative", "CumulativeAttrs",
    "Dim", "Draw", "Dyn", "Elementwise", "Fourier", "FourierAttrs", "Gather", "Index", "IndexAttrs",
    "ItemAttrs", "Linalg", "LinalgAttrs", "NoAttrs", "Op", "Put", "Reduce", "ReduceAttrs", "Reshape", "Rule",
    "Ruled", "RuledAttrs", "Run", "ShapeAttrs", "Sort", "SortAttrs", "Tape", "axis_of_run", "backward_runs",
    "broadcast_shapes", "gather_position", "indexed_shape", "is_draw", "is_store", "promote", "promote_loop", "read_by",
    "reading", "reduced_shape",
]  # fmt: skip
