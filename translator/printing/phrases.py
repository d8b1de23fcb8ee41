"""One operation as the expression that a person would write for it; syntax trees of Python."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence, Set
from typing import assert_never

import numpy as np

from .. import ops
from ..bounds import is_dynamic
from ..ir import Apply, Atom, Aval, Const, Var, const, is_number
from ..library.statistics import COUNTS_ARE_INTS
from ..ops import bits
from ..ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    At,
    AxesAttrs,
    Cast,
    CastAttrs,
    Collective,
    CollectiveAttrs,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    ContractAttrs,
    Create,
    CreateAttrs,
    Cumulative,
    CumulativeAttrs,
    Draw,
    Dyn,
    Elementwise,
    Fourier,
    FourierAttrs,
    Gather,
    Index,
    IndexAttrs,
    Linalg,
    LinalgAttrs,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Ruled,
    Run,
    ShapeAttrs,
    Sort,
    SortAttrs,
    Tape,
    axis_of_run,
    backward_runs,
    is_store,
)
from ..shortcut import runs_always
from .idioms import EYE, TRI
from .operators import COMPARISONS, LOGIC, OF_TRUTHS, OPERATORS, UNARY
from .pieces import (
    LONGEST_LITERAL,
    call,
    constant,
    dotted,
    dtype_literal,
    filled,
    integer,
    method,
    name,
    nested_list,
    new_axes,
    one_or_tuple,
    plain_dtype,
    row_of,
    scalar,
    shape_literal,
    shape_tuple,
    slice_,
    subscript,
    with_new_axes,
)
from .products import LEAST_TENSORDOT, einsum_formula, flipped, is_matmul, tensordot_axes
from .sourcetext import text_of
from .temporaries import is_affine, is_stack

TAKEN = 1 << 12  # elements that NumPy looks up faster by np.take than by an index behind a slice
SHORT = 4  # the last element of a longer axis is x[-1]; of one of 8 or more, the one before is x[-2]


# ---- operations ----------------------------------------------------------------------------------


class Expressions:
    """Writes expressions over the names in scope.

    `paths` are expressions for parameters used without a name (`params["w"]`), `literals` names of the contents, by
    id, of constants that are too long to be written out. `python_bools` are variables that hold
    Python's bool where the program means NumPy's: the two differ under arithmetic and `~`. `helper` is the name of
    the function that `ops.INDEFINITE` is printed as.
    """

    def __init__(
        self,
        names: Mapping[Var, str],
        folded: Mapping[Var, Apply],
        paths: Mapping[Var, ast.expr],
        literals: Mapping[int, str],
        python_bools: Set[Var],
        helper: str = "",
    ) -> None:
        self.names = names
        self.folded = folded
        self.paths = paths
        self.literals = literals
        self.python_bools = python_bools
        self.helper = helper

    def atom(self, a: Atom) -> ast.expr:
        if isinstance(a, Const):
            known = self.literals.get(id(a.value))  # a constant that is written out is a new array each time, too
            return constant(a.value, a.aval) if known is None else method(name(known), "copy")
        if a in self.folded:
            return self.apply(self.folded[a])
        if a in self.names:
            return name(self.names[a])
        return self.paths[a]

    def truth(self, a: Atom) -> ast.expr:
        """The atom as a condition: `x and not y`, where the reader makes the same operations of it."""
        made = self.folded.get(a) if isinstance(a, Var) and not a.aval.shape else None
        if made is None or any(x.aval.dtype.kind != "b" for x in made.args):
            return self.atom(a)
        if made.op is ops.LOGICAL_NOT:
            return ast.UnaryOp(ast.Not(), self.truth(made.args[0]))
        if made.op not in LOGIC:
            return self.atom(a)
        left, right = made.args
        if not runs_always(self.folded_into(right)):
            return self.atom(a)
        return ast.BoolOp(LOGIC[made.op](), [self.truth(left), self.truth(right)])

    def folded_into(self, *atoms: Atom) -> tuple[Apply, ...]:
        """The statements that are folded into the expressions of these atoms."""
        found: dict[Var, Apply] = {}
        waiting = list(atoms)
        while waiting:
            a = waiting.pop()
            if isinstance(a, Var) and a not in found and a in self.folded:
                found[a] = self.folded[a]
                waiting += found[a].args
        return tuple(found.values())

    def _linalg(self, op: Linalg, s: Apply) -> ast.expr:
        assert isinstance(s.attrs, LinalgAttrs)
        if op.name == "roll" and (rolls := self._rolls(s)):
            places = [one_or_tuple([self.atom(r.args[1]) for r in rolls]), one_or_tuple([_axis_of(r) for r in rolls])]
            return call("np.roll", self.atom(rolls[0].args[0]), places[0], axis=places[1])
        options = {k: ast.Constant(v) for k, v in op.options[s.attrs.full].items()}
        function = self.helper if op is ops.INDEFINITE else op.numpy
        made: ast.expr = call(function, *(self.atom(a) for a in s.args), **options)
        made = ast.Attribute(made, op.field, ast.Load()) if op.field else made
        out = s.targets[0].aval.dtype
        real = op.complex and s.args[0].aval.dtype != out
        return method(made, "astype", dtype_literal(out)) if real else made

    def _rolls(self, s: Apply) -> list[Apply]:
        """np.roll along several axes, the first one first; empty where it is one."""
        found, seen = [s], {_axis_of(s).value}
        while (made := self.folded.get(a) if isinstance(a := found[0].args[0], Var) else None) is not None:
            if not (isinstance(made.op, Linalg) and made.op.name == "roll") or _axis_of(made).value in seen:
                break
            found.insert(0, made)
            seen.add(_axis_of(made).value)
        return found if len(found) > 1 else []

    def is_python_bool(self, a: Atom) -> bool:
        if isinstance(a, Const):
            return a.aval.shape == () and a.aval.dtype.kind == "b"
        return a in self.python_bools

    def numpy_atom(self, a: Atom, others: Sequence[Atom] = ()) -> ast.expr:
        """The atom as NumPy's bool where Python's would behave differently; beside an array it does not."""
        if self.is_python_bool(a) and not any(o.aval.shape for o in others):
            return call("np.bool_", self.atom(a))
        return self.atom(a)

    def apply(self, s: Apply) -> ast.expr:
        """The right-hand side of a statement; stores are no expressions."""
        match s.op:
            case Elementwise():
                return self._elementwise(s.op, s.args)
            case Cast():
                assert isinstance(s.attrs, CastAttrs)
                return self._cast(s.args[0], s.attrs)
            case Reduce():
                assert isinstance(s.attrs, ReduceAttrs)
                return self._reduce(s.op, s.args[0], s.attrs)
            case ArgReduce():
                assert isinstance(s.attrs, ArgReduceAttrs)
                keep = {"keepdims": ast.Constant(True)} if s.attrs.keepdims else {}
                return call(s.op.numpy, self.atom(s.args[0]), **_along(s.args[0], s.attrs.axis), **keep)
            case Cumulative():
                assert isinstance(s.attrs, CumulativeAttrs)
                return call(s.op.numpy, self.atom(s.args[0]), **_along(s.args[0], s.attrs.axis))
            case Sort():
                assert isinstance(s.attrs, SortAttrs)
                along = {} if s.attrs.axis == s.args[0].aval.ndim - 1 else {"axis": integer(s.attrs.axis)}
                if places := s.attrs.places:
                    where = one_or_tuple([integer(k) for k in places])
                    return call(f"np.{s.op.partial.__name__}", self.atom(s.args[0]), where, **along)
                told = s.attrs.kind != "quicksort" if s.op is ops.ARGSORT else _has_few_digits(s.args[0].aval)
                kind = {"kind": ast.Constant(s.attrs.kind)} if told else {}
                return call(s.op.numpy, self.atom(s.args[0]), **along, **kind)
            case Fourier():
                assert isinstance(s.attrs, FourierAttrs)
                return self._fourier(s.op, s.args[0], s.attrs)
            case Linalg():
                return self._linalg(s.op, s)
            case Contract():
                assert isinstance(s.attrs, ContractAttrs)
                made, dtype = self._contract(s.args[0], s.args[1], s.attrs), s.targets[0].aval.dtype
                # NumPy's matmul has no loop for bfloat16 and returns float32; np.dot has one, and returns bfloat16.
                summed = set(s.attrs.lhs) - set(s.attrs.out)
                return method(made, "astype", dtype_literal(dtype)) if summed and dtype.name == "bfloat16" else made
            case Reshape():
                return self._reshape(s.op, s.args[0], s)
            case Concatenate():
                assert isinstance(s.attrs, ConcatenateAttrs)
                return self._concatenate(s, s.attrs.axis)
            case Create():
                assert isinstance(s.attrs, CreateAttrs)
                return self._create(s.op, s.args, s.attrs)
            case Index():
                return self._index(s)
            case Collective(name=name):
                assert isinstance(s.attrs, CollectiveAttrs)
                pairs = [ast.Tuple([shape_tuple(p) for p in s.attrs.pairs], ast.Load())] if name == "ppermute" else []
                return call(f"lax.{name}", *map(self.atom, s.args), ast.Constant(s.attrs.axis), *pairs)
            case Tape(name=name):
                return self._taped(name, s.args)
            case Draw() if not is_store(s.op):
                return call(f"untraced.streams.{s.op.name}", *map(self.atom, s.args))
            case Put() | Draw():
                raise AssertionError("a store is a statement")
            case Ruled():
                raise AssertionError("rules are taken out of a program before")
            case _:
                assert_never(s.op)

    def _taped(self, name: str, args: Sequence[Atom]) -> ast.expr:
        match name:
            case "tape":
                return ast.List([], ast.Load())
            case "length":
                return call("len", self.atom(args[0]))
            case "blank" | "zeros":
                entry = ast.Constant(0.0 if name == "zeros" else None)
                return ast.BinOp(ast.List([entry], ast.Load()), ast.Mult(), self.atom(args[0]))
            case "item":
                return subscript(self.atom(args[0]), self.atom(args[1]))
            case _:
                raise AssertionError("an append is a statement")

    def _concatenate(self, s: Apply, axis: int) -> ast.expr:
        """np.stack where each part gets a new axis for it, and np.array where parts are numbers, or rows of them."""
        elements = [e for a in s.args if (e := self._element(s, a, axis)) is not None]
        along = {"axis": integer(axis)} if axis else {}
        if len(elements) < len(s.args):
            return call("np.concatenate", ast.List([self.atom(a) for a in s.args], ast.Load()), **along)
        written = [self.atom(e) for e in elements]
        if all(not e.aval.shape and e.aval.dtype == s.targets[0].aval.dtype for e in elements):
            return call("np.array", ast.List(written, ast.Load()), **along)
        if not axis and len(rows := [r for e in written if (r := row_of(e)) is not None]) == len(written):
            return call("np.array", ast.List([*rows], ast.Load()))
        return call("np.stack", ast.List(written, ast.Load()), **along)

    def _element(self, s: Apply, a: Atom, axis: int) -> Atom | None:
        """Part `a` of a concatenation without the axis along which it is joined, where it has that for this only."""
        if isinstance(a, Const):
            if a.aval.shape[axis] != 1 or a.aval.size > LONGEST_LITERAL:
                return None
            value = np.squeeze(a.value, axis)
            return const(value.item()) if a.aval.shape == (1,) and a.aval.dtype == np.float64 else const(value[()])
        made = self.folded.get(a)
        return made.args[0] if made is not None and is_stack(s, a, made) else None

    def _elementwise(self, op: Elementwise, args: Sequence[Atom]) -> ast.expr:
        if op in OF_TRUTHS and any(a.aval.shape for a in args) and all(a.aval.dtype.kind == "b" for a in args):
            op = OF_TRUTHS[op]
        if op.operator in COMPARISONS:
            left, right = (self.atom(a) for a in args)
            return ast.Compare(left, [COMPARISONS[op.operator]()], [right])
        if op.operator in UNARY and len(args) == 1:
            return ast.UnaryOp(UNARY[op.operator](), self.numpy_atom(args[0]))
        if (averaged := self._averaged(op, args)) is not None:
            return averaged
        if op.operator in OPERATORS and not (op is ops.POWER and args[0].aval.dtype.kind == "b"):  # a square
            x, y = args
            if op.operator in "&|^" and self.is_python_bool(x) and self.is_python_bool(y):
                left, right = self.atom(x), self.atom(y)
            else:
                left, right = self.numpy_atom(x, [y]), self.numpy_atom(y, [x])
            return ast.BinOp(left, OPERATORS[op.operator](), right)
        if op.name in bits.NAMES:  # values share no memory, and what is stored through a view has been stored back
            dtype = dtype_literal(np.dtype(op.name.removeprefix("view_")))
            return method(method(self.atom(args[0]), "view", dtype), "copy")
        if op.name in ("real", "imag") and args[0].aval.weak:
            # Of a Python number they are a Python number.
            return call(op.numpy, self._cast(args[0], CastAttrs(args[0].aval.dtype)))
        return call("np.abs" if op is ops.ABSOLUTE else op.numpy, *(self.atom(a) for a in args))

    def change(self, op: Elementwise, target: str, args: Sequence[Atom]) -> str:
        """`x += v`, or `np.clip(x, a, b, out=x)`: an operation whose result takes the place of its first operand."""
        if op in OF_TRUTHS and all(a.aval.dtype.kind == "b" for a in args):
            op = OF_TRUTHS[op]
        if op.operator in OPERATORS and len(args) == 2:
            return f"{target} {op.operator}= {text_of(self.atom(args[1]))}"
        function = "np.abs" if op is ops.ABSOLUTE else op.numpy
        return text_of(call(function, *map(self.atom, args), out=name(target)))

    def _averaged(self, op: Elementwise, args: Sequence[Atom]) -> ast.expr | None:
        """np.mean(x), where an expression is np.sum(x) / n for the number n of summed elements."""
        if op is not ops.DIVIDE or not isinstance(args[0], Var) or not isinstance(args[1], Const):
            return None
        made, count = self.folded.get(args[0]), args[1].value
        if made is None or made.op is not ops.SUM or args[0].aval.dtype.char not in "fdFD":
            return None
        (x,) = made.args
        assert isinstance(made.attrs, ReduceAttrs)
        n = math.prod(x.aval.shape[a] for a in made.attrs.axes)
        if x.aval.dtype != args[0].aval.dtype or type(count) is not int or count != n or n == 0:
            return None
        mean = self._reduce(ops.SUM, x, made.attrs)
        assert isinstance(mean, ast.Call)
        return ast.Call(dotted("np.mean"), mean.args, mean.keywords)

    def _cast(self, x: Atom, attrs: CastAttrs) -> ast.expr:
        dtype = attrs.dtype
        if attrs.weak and isinstance(x, Const) and dtype.kind == "b":
            return ast.Constant(bool(x.value))
        if attrs.weak:
            made = self.folded.get(x) if isinstance(x, Var) else None
            if made is not None and made.op is ops.ABSOLUTE and made.args[0].aval == Aval((), dtype, weak=True):
                return call("abs", self.atom(made.args[0]))
            if made is not None and made.op is ops.OF_PARTS and dtype.kind == "c":
                return call("complex", *map(self.atom, made.args))
            return call({"i": "int", "f": "float", "c": "complex", "b": "bool"}[dtype.kind], self.atom(x))
        if x.aval.weak or self.is_python_bool(x):
            return call(dtype_literal(dtype), self.atom(x))
        return method(self.atom(x), "astype", dtype_literal(dtype))

    def _reduce(self, op: Reduce, x: Atom, attrs: ReduceAttrs) -> ast.expr:
        keywords: dict[str, ast.expr] = {}
        every = attrs.axes == tuple(range(x.aval.ndim))
        if op is ops.SUM and x.aval.dtype.kind == "b" and x.aval.shape and every and not attrs.keepdims:
            return self._count(x)
        if not every:
            axes = [integer(a) for a in attrs.axes]
            keywords["axis"] = one_or_tuple(axes)
        if attrs.keepdims:
            keywords["keepdims"] = ast.Constant(True)
        return call(op.numpy, self.atom(x), **keywords)

    def _count(self, x: Atom) -> ast.expr:
        """How many truths there are, or numbers that are not zero: NumPy counts in a third of the time of a sum."""
        if COUNTS_ARE_INTS:
            return call("np.sum", self.atom(x))
        made = self.folded.get(x) if isinstance(x, Var) else None
        if made is not None and made.op is ops.NOT_EQUAL and is_number(made.args[1], 0) and made.args[0].aval.shape:
            x = made.args[0]
        return call("np.count_nonzero", self.atom(x))

    def _fourier(self, op: Fourier, x: Atom, attrs: FourierAttrs) -> ast.expr:
        """fft along one axis, fft2 along the last two, fftn along others; defaults are left out."""
        axes, ndim, shape = attrs.axes, x.aval.ndim, x.aval.shape
        keywords: dict[str, ast.expr] = {}
        sized = op is ops.IRFFT and attrs.size != 2 * (shape[axes[-1]] - 1)
        if len(axes) == 1:
            if sized:
                keywords["n"] = integer(attrs.size)
            if axes != (ndim - 1,):
                keywords["axis"] = integer(axes[0])
            return call(op.numpy, self.atom(x), **keywords)
        suffix = "2" if len(axes) == 2 else "n"
        if sized:
            keywords["s"] = shape_tuple((*(shape[a] for a in axes[:-1]), attrs.size))
        usual = (ndim - 2, ndim - 1) if suffix == "2" else tuple(range(ndim))
        if axes != usual or (sized and suffix == "n"):  # NumPy wants `axes` beside `s`
            keywords["axes"] = one_or_tuple([integer(a) for a in axes])
        return call(op.numpy + suffix, self.atom(x), **keywords)

    def _contract(self, x: Atom, y: Atom, attrs: ContractAttrs) -> ast.expr:
        left, right = self.atom(x), self.atom(y)
        lhs, rhs, out = attrs.lhs, attrs.rhs, attrs.out
        if len(lhs) == len(rhs) == 1 and out == lhs + rhs:
            return call("np.outer", left, right)
        if len(lhs) == len(rhs) == 1 and not out and x.aval.dtype.kind in "iu" and y.aval.dtype.kind in "iu":
            return call("np.dot", left, right)  # in a third of the time of @
        if lhs == rhs and len(lhs) > 1 and out == lhs[:-1] and x.aval.dtype.kind != "c" and y.aval.dtype.kind != "c":
            return call("np.vecdot", left, right)
        for flip_left, flip_right in ((False, False), (False, True), (True, False), (True, True)):
            if (flip_left and len(lhs) < 2) or (flip_right and len(rhs) < 2):
                continue
            if is_matmul(flipped(lhs) if flip_left else lhs, flipped(rhs) if flip_right else rhs, out):
                left = ast.Attribute(left, "T" if len(lhs) == 2 else "mT", ast.Load()) if flip_left else left
                right = ast.Attribute(right, "T" if len(rhs) == 2 else "mT", ast.Load()) if flip_right else right
                return ast.BinOp(left, ast.MatMult(), right)
        no_einsum = x.aval.dtype.kind == "V"  # np.einsum knows no bfloat16
        axes = tensordot_axes(lhs, rhs, out) if no_einsum or _suits_blas(x, y, attrs) else None
        if axes is not None:
            return call("np.tensordot", left, right, nested_list(axes))
        return call("np.einsum", ast.Constant(einsum_formula(attrs)), left, right)

    def _reshape(self, op: Reshape, x: Atom, s: Apply) -> ast.expr:
        attrs = s.attrs
        if isinstance(attrs, ShapeAttrs):
            if op is ops.BROADCAST_TO:
                return call("np.broadcast_to", self.atom(x), shape_tuple(attrs.shape))
            if not x.aval.shape or not attrs.shape:
                return call("np.reshape", self.atom(x), shape_tuple(attrs.shape))
            return method(self.atom(x), "reshape", *(ast.Constant(n) for n in attrs.shape))
        assert isinstance(attrs, AxesAttrs)
        axes = attrs.axes
        if op is ops.TRANSPOSE:
            if axes == (1, 0):
                return ast.Attribute(self.atom(x), "T", ast.Load())
            if len(axes) > 2 and axes == (*range(len(axes) - 2), len(axes) - 1, len(axes) - 2):
                return ast.Attribute(self.atom(x), "mT", ast.Load())
            return method(self.atom(x), "transpose", *(ast.Constant(a) for a in axes))
        if op is ops.SQUEEZE:
            return method(self.atom(x), "squeeze", one_or_tuple([ast.Constant(a) for a in axes]))
        if not x.aval.shape and len(axes) == 1:
            return call("np.array", ast.List([self.atom(x)], ast.Load()))
        if not x.aval.shape:
            return call("np.expand_dims", self.atom(x), one_or_tuple([ast.Constant(a) for a in axes]))
        made = self.folded.get(x) if isinstance(x, Var) else None
        if made is not None and _takes_known_places(made):
            return subscript(self.atom(made.args[0]), one_or_tuple(with_new_axes(self.entries(made), axes)))
        return subscript(self.atom(x), new_axes(axes, x.aval.ndim))

    def _create(self, op: Create, args: Sequence[Atom], attrs: CreateAttrs) -> ast.expr:
        if op is ops.EMPTY:
            return filled("np.empty", attrs.shape, attrs.dtype)
        if op is ops.IOTA:
            dtype = {} if attrs.dtype == np.int64 else {"dtype": dtype_literal(attrs.dtype)}
            return call("np.arange", ast.Constant(attrs.shape[0]), **dtype)
        if op in (EYE, TRI):
            rows, columns = attrs.shape
            across = [ast.Constant(columns)] if columns != rows else []
            shift = {"k": self.atom(args[0])} if args else {}
            dtype = {} if attrs.dtype == np.float64 else {"dtype": plain_dtype(attrs.dtype)}
            return call(f"np.{op.name}", ast.Constant(rows), *across, **shift, **dtype)
        (value,) = args
        if isinstance(value, Const):
            for function, unit in (("np.zeros", 0), ("np.ones", 1)):
                if value.key == _unit(unit, value.aval):
                    return filled(function, attrs.shape, attrs.dtype)
            fill = scalar(np.asarray(value.value, attrs.dtype)[()], attrs.dtype)
            natural = {"f": np.float64, "i": np.int64, "c": np.complex128, "b": np.bool_}.get(attrs.dtype.kind)
            dtype = {} if attrs.dtype == natural else {"dtype": dtype_literal(attrs.dtype)}
            return call("np.full", shape_literal(attrs.shape), fill, **dtype)
        dtype = {} if attrs.dtype == value.aval.dtype else {"dtype": dtype_literal(attrs.dtype)}
        return call("np.full", shape_literal(attrs.shape), self.atom(value), **dtype)

    # ---- indexing ----

    def _index(self, s: Apply) -> ast.expr:
        x = s.args[0]
        assert isinstance(s.attrs, IndexAttrs)
        if turned := backward_runs(s.attrs):
            return self._backward(s, turned)
        if (taken := self._taken(s, s.attrs)) is not None:
            return taken
        return subscript(self.atom(x), self.index(s))

    def _taken(self, s: Apply, attrs: IndexAttrs) -> ast.expr | None:
        """np.take(x, i, axis=1) for a large x[:, i], in half of the time."""
        axes = [k for k, d in enumerate(attrs.dims) if isinstance(d, Gather)]
        if len(axes) != 1 or axes == [0] or s.targets[0].aval.size < TAKEN:
            return None
        (axis,), shape = axes, s.args[0].aval.shape
        d = attrs.dims[axis]
        assert isinstance(d, Gather)
        if any(k != axis and other != Run(0, n) for k, (other, n) in enumerate(zip(attrs.dims, shape, strict=True))):
            return None
        return call("np.take", self.atom(s.args[0]), self._place(s.args[d.arg]), axis=integer(axis))

    def _backward(self, s: Apply, axes: Sequence[int]) -> ast.expr:
        """A run taken forwards, then reversed, since x[i:i - 3:-1] would wrap around at the front."""
        x, attrs = s.args[0], s.attrs
        assert isinstance(attrs, IndexAttrs)
        turned = {axis_of_run(attrs, [a.aval for a in s.args], i) for i in axes}
        flips = [slice_(None, None, integer(-1)) if k in turned else slice_() for k in range(max(turned) + 1)]
        return subscript(subscript(self.atom(x), self.index(s)), one_or_tuple(flips))

    def index(self, s: Apply) -> ast.expr:
        """The text between the brackets of an index or a store."""
        return one_or_tuple(self.entries(s))

    def entries(self, s: Apply) -> list[ast.expr]:
        assert isinstance(s.attrs, IndexAttrs)
        shape = s.args[0].aval.shape
        dims = s.attrs.dims
        last = max((i for i, (d, n) in enumerate(zip(dims, shape, strict=True)) if d != Run(0, n)), default=-1)
        entries: list[ast.expr] = []
        for d, n in zip(dims[: last + 1], shape, strict=False):
            match d:
                case At(index=Dyn(arg=a)) | Gather(arg=a):
                    entries.append(self._place(s.args[a]))
                case At(index=int(i)):
                    entries.append(integer(_place(i, n)))
                case Run(start=Dyn(arg=a), size=size, step=step):
                    entries.append(self._dynamic_run(s.args[a], size, step))
                case Run(start=int(start), size=size, step=step):
                    entries.append(static_run(start, size, step, n))
                case _:
                    raise AssertionError(d)
        return entries or [ast.Constant(...)]

    def _place(self, a: Atom) -> ast.expr:
        known = self.literals.get(id(a.value)) if isinstance(a, Const) else None
        return self.atom(a) if known is None else name(known)

    def _dynamic_run(self, start: Atom, size: int, step: int) -> ast.expr:
        if step < 0:
            first = self._shifted(start, (size - 1) * step)
            return slice_(first, self._shifted(start, 1), integer(-step) if step != -1 else None)
        stop = self._shifted(start, (size - 1) * step + 1)
        return slice_(self.atom(start), stop, integer(step) if step != 1 else None)

    def _shifted(self, a: Atom, offset: int) -> ast.expr:
        """a + offset; where `a` itself is written x + c, the constants are added."""
        if isinstance(a, Var) and a in self.folded:
            made = self.folded[a]
            if is_affine(made):
                c = made.args[1]
                assert isinstance(c, Const)
                sign = 1 if made.op is ops.ADD else -1
                return _plus(self.atom(made.args[0]), sign * int(c.value) + offset)
        return _plus(self.atom(a), offset)


def _suits_blas(x: Atom, y: Atom, attrs: ContractAttrs) -> bool:
    sizes = dict(zip((*attrs.lhs, *attrs.rhs), (*x.aval.shape, *y.aval.shape), strict=True))
    known = x.aval.dtype == y.aval.dtype and x.aval.dtype.char in "fdFD"
    return known and math.prod(sizes.values()) >= LEAST_TENSORDOT


def _plus(x: ast.expr, offset: int) -> ast.expr:
    if not offset:
        return x
    operator = ast.Add() if offset > 0 else ast.Sub()
    return ast.BinOp(x, operator, ast.Constant(abs(offset)))


def _place(i: int, n: int) -> int:
    """The index by which a person would name element `i` of `n`: one of the last two, from the end."""
    return i - n if n - i <= 2 and n > SHORT + 3 * (n - i - 1) else i


def static_run(start: int, size: int, step: int, n: int) -> ast.expr:
    """The shortest slice for `size` elements from `start` of an axis of `n`."""
    if size == 0:
        return slice_(integer(start), integer(start), None)
    stop = start + (size - 1) * step + (1 if step > 0 else -1)
    if step < 0:
        open_stop = start + size * step < 0
        first = None if start == n - 1 else integer(start)
        return slice_(first, None if open_stop else integer(stop), integer(step))
    first = None if start == 0 else integer(start)
    if start + size * step >= n:
        last = None
    elif step == 1 and size > 1 and n - stop <= 2 and stop > n - stop and start <= max(2, n // 4):
        last = integer(stop - n)
    else:
        last = integer(stop)
    return slice_(first, last, integer(step) if step != 1 else None)


def _takes_known_places(s: Apply) -> bool:
    return s.op is ops.INDEX and isinstance(s.attrs, IndexAttrs) and not any(map(is_dynamic, s.attrs.dims))


def _unit(value: int, aval: Aval) -> tuple[object, ...]:
    return (aval, np.asarray(value, aval.dtype).tobytes())


def _has_few_digits(aval: Aval) -> bool:
    """Whether NumPy's stable sort goes by digits, in a tenth of the time of the other."""
    return aval.dtype.kind in "iub" and aval.dtype.itemsize <= 2


def _axis_of(roll: Apply) -> ast.Constant:
    assert isinstance(roll.op, Linalg)
    return ast.Constant(roll.op.options[0].get("axis"))


def _along(x: Atom, axis: int) -> dict[str, ast.expr]:
    """The keyword that says the axis, which a vector does not need."""
    return {} if x.aval.ndim == 1 else {"axis": integer(axis)}
