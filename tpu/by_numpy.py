"""Which whole programs NumPy runs faster than XLA: those that are little more than calls of its library.

    return alpha * A @ x + beta * B @ x         two passes over A and B, and BLAS: nothing to fuse
    return np.tanh(x * a + b) * c               five passes over x, of which XLA makes one: compiled

Both ways are estimated from what the statements read, write and compute. The estimate knows shapes and dtypes alone,
so a program goes the same way at every call. Programs with loops or branches, or on small arrays alone, are XLA's.
Of these the long ones take XLA seconds, for microseconds at a call: `seconds_of_compiling` says when NumPy had better
begin.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from ..translator.ir import (
    Apply,
    Atom,
    Aval,
    Const,
    DType,
    For,
    Function,
    Fused,
    If,
    Raise,
    Statement,
    Var,
    While,
    walk,
)
from ..translator.named import extreme_of_numbers
from ..translator.ops.core import (
    ArgReduce,
    Cast,
    Concatenate,
    Contract,
    ContractAttrs,
    Create,
    Cumulative,
    Elementwise,
    Fourier,
    Index,
    Linalg,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Sort,
    SortAttrs,
)
from ..translator.passes.alignment import is_free
from ..translator.powers import whole
from ..translator.printing.plan import has_output
from .client import host_calls
from .client.shifted import SMALLEST as STAGED
from .client.shifted import is_host_call, read_in_place
from .emit.moved import moved

LEAST = 1 << 15
"""Bytes: programs whose arguments and results are all smaller are XLA's, with a short way there and back."""
LAUNCH = 35_000.0
"""Nanoseconds of the way to XLA and back with larger ones; what follows are nanoseconds, too."""
START = 8_000.0  # the way to NumPy and back
BYTE = 0.09  # a byte read or written, on one core of an x86-64 machine from 2020, as all that follows
NEAR = 0.02  # one of an array that lies in the second cache
SECOND_CACHE = 1 << 19
FRESH = 0.16  # a byte of memory that is new to the process, in huge pages
FAULTED = 0.5  # the same in pages of 4 kB, as XLA takes it for what is between its kernels
KEPT = 1 << 25  # bytes: smaller pieces of memory the C library keeps for the next who asks
OPERATION = 0.15  # a plain operation on an element, compiled
DIVISION = 1.2  # of integers by one number, rounded down: NumPy has vectors of products for it
QUOTIENT = 2.5  # of complex numbers, by NumPy, half of the time it takes compiled
FUNCTION = 3.0  # a function such as exp, compiled
SLOWER = 8.0  # the same in NumPy, and whatever else it does one by one
IN_VECTORS = 1.5  # the same where NumPy has instructions on long vectors for it, in float64
VECTORISED = {*host_calls.VECTORISED, "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "arctan"}
VECTORISED_NARROW = VECTORISED | {"sin", "cos", "tanh"}  # in float32, too
VECTORISED_HALF = VECTORISED_NARROW - {"cos", "arccosh", "power", "arctan2"}
INTEGER_PRODUCT = 0.6  # a multiplication of a product of integer vectors, by NumPy
COMPILED_PRODUCT = 2.5  # the same compiled
SMALL = 1 << 12  # elements
ROW = 15.0  # a row along the last axis that NumPy begins anew, to reduce it or to compute with what has other rows
CALL = 1_000.0  # one of NumPy's functions on few elements
BEGUN = 500.0  # one on many, beyond what their number takes
PLAIN = frozenset(
    (
        *("add", "subtract", "multiply", "negative", "positive", "absolute", "fabs", "maximum", "minimum", "fmax"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "fmin"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "logical_and", "logical_or", "logical_not"),
        *("clip", "divide", "sqrt", "square", "isnan", "isfinite", "isinf", "copysign"),
        *("rint", "floor", "ceil", "trunc", "sign", "signbit", "reciprocal"),
        *("logical_xor", "left_shift", "right_shift"),
    )
)
"""Operations that NumPy has vector instructions for: they take as long as their arrays take from memory."""
PLAIN_COMPLEX = frozenset(("add", "subtract", "multiply", "square", "conjugate"))
PLAIN_HALF = frozenset(("absolute", "negative", "positive"))
EXTREME = 0.4  # one whose extreme is looked for, twice because of NaN, in what was computed just before
SORTED = 10.0  # an element that is sorted, or Fourier transformed
ALONG = 1.0  # one that is added to a running sum, or looked at for an extreme
CHOSEN = 3.0  # one that is looked up
TURNED = 4 * BYTE  # a byte of an array that is copied with its axes in another order, as LAPACK wants matrices
LINE = 64  # elements that NumPy copies at once
SHORT = 0.5  # fewer of them, which are the same
MAGNITUDE = 1.0, 1.6  # the absolute value of a complex number, by NumPy and compiled
HALF = 0.5, 2.5  # a function of half precision, by NumPy where it has vectors for it, and compiled
MOVED = 1.5  # times as long as NumPy XLA takes to turn, reverse and join arrays
MULTIPLICATION = 0.1  # of real matrices in double precision, in either library
MATRIX = 30.0  # one of many, to begin its product in NumPy
BEHIND = 1.1  # XLA's products take so many times as long as BLAS's
LONG = 400  # statements
COMPILED = 2e-3  # seconds that XLA takes for one of them (measured: 3.5 s for 900, 6 s for 2,600)
LIBRARY = {"cholesky", "solve", "det", "slogdet_sign", "slogdet_log", "eigh_values", "eig_values", "svd_s"}
"""Linear algebra of one result: of several NumPy would factorise several times."""


def by_numpy(function: Function, copied: Collection[int] = (), printed: Function | None = None) -> bool:
    """Whether NumPy is to run a fused program on NumPy arrays, as its source, printed before what fusion rewrites for
    XLA. The arguments at the places `copied` do not lie as XLA wants them.
    """
    results = function.body.results
    if not host_calls.AVAILABLE or not results or any(r.aval.weak for r in results if isinstance(r, Var)):
        return False
    try:
        weighed = _Weighed(function, copied)
        numpy = weighed.numpy if printed is None else _Weighed(printed, copied).numpy
    except _NotWeighed:
        return False
    return weighed.largest > LEAST and numpy + START < weighed.xla + LAUNCH


def seconds_of_compiling(function: Function) -> float:
    """The time XLA needs to compile a long program without loops on few elements, which NumPy runs in a fraction of
    that; 0.0 for any other.
    """
    count = 0
    for s in walk(function.body):
        if isinstance(s, For | While) or not (isinstance(s, If | Raise) or _is_small(s)):
            return 0.0
        count += not isinstance(s, Fused)
    return count * COMPILED if count >= LONG else 0.0


class _NotWeighed(Exception):
    pass


class _Weighed:
    """Nanoseconds of both, for a program."""

    def __init__(self, function: Function, copied: Collection[int]) -> None:
        self.numpy = self.xla = 0.0
        ends = (*function.body.params, *function.body.results)
        self.largest = max((_bytes(a.aval) for a in ends), default=0)
        made = (t for s in walk(function.body) for t in s.targets)
        self._byte = NEAR if all(_bytes(a.aval) <= SECOND_CACHE for a in (*ends, *made)) else BYTE
        self._temporary = 0  # bytes that XLA holds between its kernels
        self._lines: set[Atom] = set()  # of arrays that are spread in long lines
        self._repeated: set[Atom] = set()  # and those in short ones
        self._results = set(function.body.results)
        self._params = set(function.body.params)
        self._same = _same(function)
        self._written, self._in_place = _written(function, self._same)
        self._moved = {s.targets[0] for s in function.body.statements if isinstance(s, Apply) and is_free(s) and s.args}
        self._moved |= set(function.body.params)
        self._parts = _numbers(function, self._byte)
        self._turned = moved(function)
        for s in function.body.statements:
            before = self.numpy
            if _is_small(s):
                self.numpy += CALL
            elif isinstance(s, Fused):
                self._group(s)
            elif isinstance(s, Apply):
                self._alone(s)
            else:
                raise _NotWeighed
            if s.targets and s.targets[0] in self._parts:
                self.numpy = before + self._parts[s.targets[0]]
        self._arguments(function, copied)
        self._views(function)
        self.xla += _faults(self._temporary, FAULTED)

    def _arguments(self, function: Function, elsewhere: Collection[int]) -> None:
        """Count the copies of arguments that XLA gets; written ones are results that are copied back."""
        params = function.body.params
        in_place = read_in_place(function).difference(elsewhere)
        copied = [k for k, p in enumerate(params) if k not in in_place and _bytes(p.aval) >= STAGED]
        self.xla += sum(_bytes(params[k].aval) * (TURNED if k in elsewhere else 2 * self._byte) for k in copied)
        written = [params[k] for k in function.mutated]
        self.xla += sum(_bytes(p.aval) for p in written) * 2 * self._byte
        finals = function.body.results[function.out.leaf_count :]
        self.xla += sum(_bytes(a.aval) for a in finals if a in self._moved) * 2 * self._byte * MOVED
        self.numpy += sum(_bytes(p.aval) for p in written if p not in self._written) * 2 * self._byte

    def _views(self, function: Function) -> None:
        """Results that are arguments, or views, are written out, by XLA's loops element by element."""
        written = sum(_bytes(r.aval) for r in function.body.results[: function.out.leaf_count] if r in self._moved)
        self.numpy += written * 2 * self._byte
        self.xla += written * 2 * self._byte * MOVED

    def _group(self, s: Fused) -> None:
        """XLA goes once over what the group reads and writes, and over what a product in it takes or gives; NumPy
        once for each operation.
        """
        puts = [p for p in s.body.statements if isinstance(p, Apply) and isinstance(p.op, Put)]
        bases, put = {p.args[0] for p in puts}, {p.targets[0] for p in puts}
        read = [a for p, a in zip(s.body.params, s.args, strict=True) if p not in bases]
        self.xla += sum(_bytes(a.aval) for a in read) * self._byte
        products = [p for p in s.body.statements if isinstance(p, Apply) and isinstance(p.op, Contract)]
        stored = {t for p in products for t in (*p.args, *p.targets)}
        self._store(t for t, r in zip(s.targets, s.body.results, strict=True) if r not in put)
        for inner in s.body.statements:
            if not isinstance(inner, Apply):
                raise _NotWeighed
            made = set(inner.targets) & stored
            self.xla += sum(_bytes(t.aval) for t in made) * 2 * self._byte
            self._temporary += sum(_bytes(t.aval) for t in made)
            if isinstance(inner.op, Elementwise | Cast):
                self._elementwise(inner)
            elif isinstance(inner.op, Contract):
                self._product(inner)
            elif isinstance(inner.op, Reduce):
                self.xla += inner.args[0].aval.size * (EXTREME if _is_extreme(inner) else OPERATION)
                self.numpy += _bytes(inner.args[0].aval) * self._byte + _rows_reduced(inner) * ROW
            elif isinstance(inner.op, Put):
                self._put(inner)
            elif is_free(inner):
                self._turn(inner)
            else:
                raise _NotWeighed

    def _turn(self, s: Apply) -> None:
        """NumPy's transposes are views."""
        if s.targets[0] in self._turned:
            self.xla += _bytes(s.targets[0].aval) * TURNED

    def _put(self, s: Apply) -> None:
        """A store into an array: NumPy and XLA copy what they may not write, XLA all arguments."""
        (array, value, *places), (target,) = s.args, s.targets
        stored = max(value.aval.size, *(p.aval.size for p in places)) if places else value.aval.size
        each = CHOSEN if places else 2 * self._byte * target.aval.dtype.itemsize
        copied = _bytes(target.aval) * 2 * self._byte + _faults(_bytes(target.aval), FRESH)
        of_caller = _first(array, self._same) in self._params
        self.numpy += stored * each + (copied if of_caller and target not in self._in_place else 0.0)
        self.xla += stored * each + (copied if of_caller else 0.0)

    def _store(self, targets: Iterable[Var]) -> None:
        """Count what XLA writes: results into memory that is provided for them, temporaries into its own."""
        for t in targets:
            n = _bytes(t.aval)
            self.xla += n * self._byte + (_faults(n, FRESH) if t in self._results else 0)
            self._temporary += 0 if t in self._results else n

    def _elementwise(self, s: Apply) -> None:
        (target,) = s.targets
        if s.op.name in ("real", "imag"):
            return  # NumPy's are views, which others read, and XLA's are fused with what reads them
        moved = _bytes(target.aval) + sum(_bytes(a.aval) for a in s.args if a.aval.shape == target.aval.shape)
        cheap = (isinstance(s.op, Cast) and not _has_halves(s)) or _is_plain(s)
        by_one = s.op.name == "floor_divide" and target.aval.dtype.kind in "iu" and not s.args[1].aval.shape
        fresh = 0.0 if target in self._in_place else _faults(_bytes(target.aval), FRESH)
        self.numpy += moved * self._byte + fresh + _rows_spread(s) * ROW + BEGUN
        numpy, xla = (0.0, OPERATION) if cheap else (0.0, DIVISION) if by_one else _of_function(s)
        self.numpy += target.aval.size * numpy
        self.xla += target.aval.size * xla

    def _alone(self, s: Apply) -> None:
        (target,) = s.targets
        read, written = sum(_bytes(a.aval) for a in s.args), _bytes(target.aval)
        if is_free(s):
            self._turn(s)
            if s.op.name == "broadcast_to":
                long = s.args[0].aval.shape[-1:] == target.aval.shape[-1:] >= (LINE,)
                (self._lines if long else self._repeated).add(target)
            return
        if isinstance(s.op, Put):
            self._put(s)
            return
        if s.op.name == "reshape" and (s.args[0] in self._params or s.args[0] not in self._moved):
            return  # of what lies in one piece
        self._store(s.targets)
        match s.op:
            case Elementwise() | Cast():
                self._elementwise(s)
                self.xla += read * self._byte
            case Contract():
                self._product(s)
            case Reduce() | Concatenate() | Reshape() | Create():
                self.numpy += _rows_reduced(s) * ROW
                self.numpy += (read + written) * self._byte + _faults(written, FRESH)
                repeated = [a for a in s.args if a in self._repeated]
                self.numpy += sum(math.prod(a.aval.shape[:-1]) for a in repeated) * SHORT
                moved = isinstance(s.op, Concatenate) or any(a in self._lines for a in s.args)
                self.xla += read * self._byte * (MOVED if moved else 1)
                self.xla += s.args[0].aval.size * OPERATION if isinstance(s.op, Reduce) else 0.0
            case Sort(name="argsort") if isinstance(s.attrs, SortAttrs) and s.attrs.is_stable:
                raise _NotWeighed  # the stable order, which `host_calls` finds sooner than NumPy
            case Sort() | ArgReduce() | Cumulative() if is_host_call(s):
                self._called(s, SORTED if isinstance(s.op, Sort) else ALONG)
            case Linalg(name=name) if name in LIBRARY:
                self._called(s, float(s.args[0].aval.shape[-1]) * MULTIPLICATION)
                self.xla += (read + written) * TURNED
            case Index():  # elements at places that arrays of integers choose
                self.numpy += target.aval.size * CHOSEN
                self.xla += target.aval.size * CHOSEN
            case Fourier():
                self._called(s, SORTED)
            case _:
                raise _NotWeighed

    def _called(self, s: Apply, each: float) -> None:
        """Both call the same function, or one that takes as long: what lies around it differs."""
        size, written = s.args[0].aval.size, _bytes(s.targets[0].aval)
        self.numpy += size * each + written * self._byte + _faults(written, FRESH)
        self.xla += size * each + host_calls.OVERHEAD

    def _product(self, s: Apply) -> None:
        attrs, (x, y) = s.attrs, s.args
        assert isinstance(attrs, ContractAttrs)
        sizes = dict(zip((*attrs.lhs, *attrs.rhs), (*x.aval.shape, *y.aval.shape), strict=True))
        count = math.prod(sizes.values())
        dtype = s.targets[0].aval.dtype
        if host_calls.sums_products(attrs, x.aval, y.aval, dtype):
            took = (_bytes(x.aval) + _bytes(y.aval)) * self._byte
            self.numpy += took
            self.xla += took + host_calls.OVERHEAD
            return
        if dtype.kind in "iu" and len(attrs.lhs) == len(attrs.rhs) == 1 and not attrs.out:
            self.numpy += count * INTEGER_PRODUCT
            self.xla += count * COMPILED_PRODUCT
            return
        as_given = self._params.issuperset(s.args)  # else NumPy may have copies to make before it calls BLAS
        stacked = as_given and _is_stack(attrs, x.aval, y.aval, dtype)
        flat = as_given or x.aval.ndim <= 2 >= y.aval.ndim
        if not (stacked or (flat and host_calls.multiplies(attrs, x.aval, y.aval, dtype))):
            raise _NotWeighed
        if stacked:
            out = s.targets[0].aval
            self.numpy += math.prod(out.shape[:-2]) * MATRIX + _bytes(out) * self._byte + _faults(_bytes(out), FRESH)
        each = MULTIPLICATION * dtype.itemsize / 8 * (2 if dtype.kind == "c" else 1)
        vector = len(attrs.lhs) == 1 or len(attrs.rhs) == 1
        took = (_bytes(x.aval) + _bytes(y.aval)) * self._byte if vector else count * each
        symmetric = x is y and not (vector or stacked)  # the product of a matrix with itself
        self.numpy += took / 2 if symmetric else took
        self.xla += took * BEHIND


def _is_stack(attrs: ContractAttrs, x: Aval, y: Aval, dtype: DType) -> bool:
    """Whether a product is one of many matrices, `x @ y` or `x.mT @ y`, for each of which NumPy calls BLAS. One of the
    operands may be the same matrix for all.
    """
    if len(attrs.out) < 3:
        return False
    *batch, i, j = attrs.out
    sides = attrs.lhs, attrs.rhs
    leading = {tuple(side[:-2]) for side in sides}
    many = tuple(batch) in leading and leading <= {tuple(batch), ()}
    matrices = all(len(side) >= 2 and free in side[-2:] for side, free in zip(sides, (i, j), strict=True))
    return many and matrices and dtype.char in "fdFD" and x.dtype == y.dtype == dtype


def _same(function: Function) -> dict[Atom, Atom]:
    """What a group takes and gives goes by another name inside."""
    groups = [s for s in function.body.statements if isinstance(s, Fused)]
    same: dict[Atom, Atom] = {}
    for s in groups:
        same |= zip(s.body.params, s.args, strict=True)
        same |= zip(s.targets, s.body.results, strict=True)
    return same


def _first(a: Atom, same: Mapping[Atom, Atom]) -> Atom:
    while a in same:
        a = same[a]
    return a


def _numbers(function: Function, byte: float) -> dict[Var, float]:
    """What np.nanmax and np.nanmin take, by NumPy, instead of the operations that they are made of here."""
    made = {s.targets[0]: s for s in function.body.statements if isinstance(s, Apply)}
    parts: dict[Var, float] = {}
    for s in made.values():
        if (found := extreme_of_numbers(s, made.get)) is not None:
            parts |= {part.targets[0]: 0.0 for part in found.parts}
            parts[s.targets[0]] = _bytes(found.x.aval) * byte + _rows_reduced(found.extreme) * ROW
    return parts


def _written(function: Function, same: Mapping[Atom, Atom]) -> tuple[set[Atom], set[Atom]]:
    """The arguments that NumPy changes where they are, step by step, and the values that they have on the way."""
    made = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
    written, values = set[Atom](), set[Atom]()
    for k, final in zip(function.mutated, function.body.results[function.out.leaf_count :], strict=True):
        p, chain, a = function.body.params[k], list[Atom](), _first(final, same)
        while isinstance(s := made.get(a) if isinstance(a, Var) else None, Apply):
            x = s.args[0] if s.args else None
            if x is None or not (isinstance(s.op, Put) or has_output(s)):
                break
            chain.append(a)
            a = _first(x, same)
        if a is p:
            written.add(p)
            values |= {*chain}
    return written, values


def _is_extreme(s: Apply) -> bool:
    return s.op.name in ("max", "min") and s.args[0].aval.dtype.kind == "f"


def _is_square(s: Apply) -> bool:
    """x ** 2, which NumPy multiplies."""
    return s.op.name == "power" and isinstance(e := s.args[1], Const) and e.aval.weak and e.value == 2


def _is_product(exponent: Atom) -> bool:
    """Whether it makes powers that are compiled as few products. NumPy's powers take long where a base is negative."""
    return isinstance(exponent, Const) and whole(np.abs(exponent.value)) is not None


def _vectorised(dtype: DType) -> Collection[str]:
    return {"d": VECTORISED, "f": VECTORISED_NARROW, "e": VECTORISED_HALF}.get(dtype.char, ())


def _has_halves(s: Apply) -> bool:
    return any(a.aval.dtype.char == "e" or a.aval.dtype.kind == "V" for a in (*s.args, *s.targets))


def _is_plain(s: Apply) -> bool:
    """Whether NumPy has vector instructions for the operation, in these dtypes."""
    kinds = {a.aval.dtype.kind for a in (*s.args, *s.targets)}
    if _has_halves(s):
        return s.op.name in PLAIN_HALF
    if "c" in kinds:
        return _is_square(s) or (s.op.name in PLAIN_COMPLEX and kinds == {"c"})
    return kinds <= {*"fiub"} and (s.op.name in PLAIN or _is_square(s))


def _of_function(s: Apply) -> tuple[float, float]:
    """What NumPy takes for an element beyond reading and writing it, and compiled code."""
    name, dtype = s.op.name, s.targets[0].aval.dtype
    if name == "divide" and dtype.kind == "c":
        return QUOTIENT, 2 * QUOTIENT
    if name == "absolute" and s.args[0].aval.dtype.kind == "c":
        return MAGNITUDE
    if name == "power" and _is_product(s.args[1]) and dtype.kind in "iuf":
        return SLOWER, 2 * OPERATION
    if name == "power" and dtype.kind == "f" and s.args[1].aval.dtype.kind in "iu":
        return SLOWER, FUNCTION
    if name not in _vectorised(dtype) or not host_calls.has_vectors():
        return SLOWER, FUNCTION
    width = dtype.itemsize / 8
    return HALF if dtype.char == "e" else (IN_VECTORS * width, FUNCTION * width)


def _rows_reduced(s: Apply) -> int:
    along = isinstance(s.attrs, ReduceAttrs) and s.args[0].aval.ndim - 1 in s.attrs.axes
    return s.targets[0].aval.size if along else 0


def _rows_spread(s: Apply) -> int:
    """Rows of an elementwise operation in which an operand is one for all, or one for each of their elements."""
    out = s.targets[0].aval
    spread = out.ndim > 1 and any(1 < a.aval.size < out.size for a in s.args)
    return out.size // max(out.shape[-1], 1) if spread else 0


def _faults(size: int, each: float) -> float:
    return size * each if size > KEPT else 0.0


def _bytes(aval: Aval) -> int:
    return aval.nbytes


def _is_small(s: Statement) -> bool:
    """Work on few elements, whatever it is."""
    if not isinstance(s, Apply | Fused):
        return False
    inner = s.body.statements if isinstance(s, Fused) else (s,)
    atoms = (*s.args, *s.targets, *(t for i in inner for t in i.targets))
    return max((a.aval.size for a in atoms), default=0) <= SMALL
