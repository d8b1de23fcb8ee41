"""Operations on numbers and small arrays as C++ statements, with the checks that NumPy and Python make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

import numpy as np

from ...translator.bounds import is_python_int
from ...translator.builder import Builder
from ...translator.errors import TOO_WIDE, DrawError, WideIntError
from ...translator.fits import decided, exact_dtypes
from ...translator.ir import Apply, Atom, Aval, Const, DType, Shape, Statement, Var
from ...translator.ops.core import (
    ArgReduce,
    At,
    AxesAttrs,
    Cast,
    Collective,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    Create,
    CreateAttrs,
    Cumulative,
    Draw,
    Dyn,
    Elementwise,
    Fourier,
    Gather,
    Index,
    IndexAttrs,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Ruled,
    Run,
    Sort,
    Tape,
    gather_position,
    indexed_shape,
)
from .checks import DOUBLE, INT
from .host import HOST, Scalar, expression
from .host_draws import STREAMS
from .reductions import Reductions
from .values import Array, Buffer, Indices, Lazy, NotNative, Stored, address_of, broadcast, operand


class Operations(Reductions):
    """Writes one operation after another."""

    # ---- operations --------------------------------------------------------------------------------

    def apply(self, s: Apply) -> None:
        (target,) = s.targets
        if self.checks.enabled and not self._decomposing:
            for operand, dtype in self.checks.too_large(s):
                self.check_range(s, self.scalar(s.args[operand]), dtype)
        made = self._made(s)
        if not target.aval.shape and not isinstance(made, Scalar):
            made = self.element(made, ())
        self.bind(target, made)

    def _made(self, s: Apply) -> Scalar | Array:
        match s.op:
            case Elementwise():
                return self.elementwise(s, s.op)
            case Cast():
                return self.cast(s)
            case Reduce():
                return self.reduce(s, s.op)
            case ArgReduce():
                return self.arg_reduce(s, s.op)
            case Cumulative():
                return self.cumulative(s, s.op)
            case Contract():
                return self.contract(s)
            case Reshape():
                return self.reshape(s, s.op)
            case Concatenate():
                return self.concatenate(s)
            case Create():
                return self.create(s, s.op)
            case Index():
                return self.index(s)
            case Put():
                return self.put(s, accumulate=s.op.name == "put_add")
            case Draw():
                return self.drawn(s, s.op)
            case Ruled():
                return self.value(s.args[0])
            case Sort() | Fourier() | Linalg() | Collective() | Tape():
                raise NotNative(f"{s.op.name} is a library's")
            case _:
                assert_never(s.op)

    def drawn(self, s: Apply, op: Draw) -> Scalar | Array:
        """A draw changes the words of its generator in place; what it drew is read from there at once."""
        (target,) = s.targets
        if op.result is not None:
            words, dtype = self.stored(self.array(s.args[0]), "words").buffer, op.result.dtype
            return self.declare(target.hint, f"number_of<{self.type_name(dtype)}>({words.name})", dtype)
        live = self.lifetimes.behind(s) if self.lifetimes.knows(s) else frozenset()
        out = self.overwritten(s.args[0], target.hint, live)
        kind = INT if op.integers else DOUBLE
        numbers = [self.declare("parameter", self.scalar(a).as_type(kind), kind).text for a in s.args[1:]]
        for condition in op.valid:
            message = f"{op.name}: CPython is to draw"
            self.fail_where(f"!({condition.format(*numbers)})", "0", DrawError, message, s.span)
        self.draws = True
        with self.braces(""):
            self.line(f"unsigned long long *const words = {out.buffer.name};")
            self.line(f"bitgen source = source_of<{STREAMS[out.buffer.count]}>(words);")
            self.line(f"keep(words, {op.native.format(*numbers)});")
        return out

    def overwritten(self, a: Atom, hint: str, live: frozenset[Var]) -> Stored:
        """The memory of an array, to be changed: its own where nobody reads it any more, else that of a copy."""
        x = self.array(a)
        if isinstance(x, Stored) and self.dies(x.buffer, live):
            self.overwrite(x.buffer, live)
            return Stored(x.buffer, x.shape)
        out = self.fresh(hint, x.dtype, x.shape)
        self.fill(out, x)
        return out

    # ---- elementwise -------------------------------------------------------------------------------

    def elementwise(self, s: Apply, op: Elementwise) -> Scalar | Array:
        (target,) = s.targets
        shape, dtype, checked = target.aval.shape, target.aval.dtype, self.needs_check(s)
        self.type_name(dtype)
        if not shape:
            args = [self.scalar(a) for a in s.args]
            if checked:
                self.check_before(s, args)
            made = self.computed(op, args, [a.aval for a in s.args], dtype, target.hint)
            if checked:
                self.check_after(s, op, args, made)
            return made
        values = [self.value(a) for a in s.args]

        def element(indices: Indices) -> Scalar:
            found = [
                v if isinstance(v, Scalar) else self.element(v, broadcast(indices, v.shape)) for v in values
            ]
            if checked:
                self.check_before(s, found)
            return self.computed(op, found, [a.aval for a in s.args], dtype, target.hint)

        reads = frozenset(b for v in values if not isinstance(v, Scalar) for b in v.reads)
        lazy = Lazy(shape, dtype, element, reads)
        return self.stored(lazy, target.hint) if checked else self.stretched(s, op, values, lazy)

    def computed(
        self, op: Elementwise, args: Sequence[Scalar], avals: Sequence[Aval], dtype: DType, hint: str
    ) -> Scalar:
        """An operation on numbers. `avals`: of the arguments as they were, which decide on the loop's dtypes."""
        constants = [a.constant for a in args]
        dtypes, result = exact_dtypes(op, avals, constants), op.loop_dtypes(avals)[1]
        known = decided(op, constants, dtypes)
        if known is not None:
            return Scalar("true" if known else "false", np.dtype(np.bool_))
        for computed_in in dtypes:
            self.type_name(computed_in)
        # Of Python's own numbers it has been asked whether they overflow.
        dialect = HOST if all(a.weak for a in avals) else self.dialect
        text = expression(op, args, dtypes, result, dialect, numbers=not any(a.shape for a in avals))
        if text is not None:
            return self.declare(hint, HOST.convert(text, result, dtype), dtype)
        if op.decompose is None:
            raise NotNative(f"{op.numpy} of {dtypes[-1].name}")
        return self._decomposed(op, args, dtypes, dtype)

    def _decomposed(self, op: Elementwise, args: Sequence[Scalar], dtypes: Sequence[DType], dtype: DType) -> Scalar:
        from ...translator.reading.splicing import splice

        assert op.decompose is not None
        b = Builder()
        atoms: list[Var | Const] = []
        for a, d in zip(args, dtypes, strict=True):
            if a.constant is not None:
                value = np.asarray(a.constant.value).astype(d)[()]
                atoms.append(Const(value, Aval((), d)))
                continue
            var = Var("t", Aval((), d))
            self.env[var] = Scalar(a.as_type(d), d)
            atoms.append(var)
        result = splice(b, op.decompose, atoms)
        assert isinstance(result, Var | Const)
        self._decomposing += 1
        for s in b.statements:
            self.statement(s)
        self._decomposing -= 1
        made = self.scalar(result)
        return made if made.dtype == dtype else Scalar(made.as_type(dtype), dtype)

    def statement(self, s: Statement) -> None:
        raise NotImplementedError

    def cast(self, s: Apply) -> Scalar | Array:
        (target,) = s.targets
        dtype = target.aval.dtype
        self.type_name(dtype)
        if not target.aval.shape:
            x = self.scalar(s.args[0])
            if self.checks.enabled and is_python_int(s) and x.dtype.kind == "u":
                self.fail_where(f"{x.text} > 9223372036854775807ull", "0", WideIntError, TOO_WIDE, s.span)
            elif self.checks.enabled and is_python_int(s):
                value = x.as_type(DOUBLE)
                self.fail_where(f"{value} != {value}", "0", ValueError, "cannot convert float NaN to integer", s.span)
                message = "cannot convert a float of 2**63 or more, or infinity, to a 64-bit integer"
                self.fail_where(f"fabs({value}) >= 9223372036854775808.0", "0", OverflowError, message, s.span)
            return x if x.dtype == dtype else self.declare(target.hint, x.as_type(dtype), dtype)
        whole = self.array(s.args[0])
        if whole.dtype == dtype:
            return whole

        def element(indices: Indices) -> Scalar:
            return self.declare(target.hint, self.element(whole, indices).as_type(dtype), dtype)

        return Lazy(whole.shape, dtype, element, whole.reads)

    # ---- shapes ------------------------------------------------------------------------------------

    def reshape(self, s: Apply, op: Reshape) -> Scalar | Array:
        (target,) = s.targets
        x, shape, attrs = self.array(s.args[0]), target.aval.shape, s.attrs
        view: Callable[[Indices], Indices]
        match op.name, attrs:
            case "transpose", AxesAttrs(axes=axes):
                view = lambda i: tuple(i[axes.index(k)] for k in range(len(axes)))  # noqa: E731
            case "broadcast_to", _:
                view = lambda i: broadcast(i, x.shape)  # noqa: E731
            case _ if isinstance(x, Lazy) and op.name == "expand_dims" and isinstance(attrs, AxesAttrs):
                new = attrs.axes
                view = lambda i: tuple(j for k, j in enumerate(i) if k not in new)  # noqa: E731
            case _:
                return Stored(self.stored(x, target.hint).buffer, shape)
        return Lazy(shape, x.dtype, lambda i: self.element(x, view(i)), x.reads, isinstance(x, Stored) or x.view)

    def concatenate(self, s: Apply) -> Array:
        assert isinstance(s.attrs, ConcatenateAttrs)
        (target,) = s.targets
        out, axis, first = self.fresh(target.hint, target.aval.dtype, target.aval.shape), s.attrs.axis, 0
        for a in s.args:
            x = self.array(a)
            if 0 not in x.shape:
                with self.nest(x.shape) as indices:
                    at = tuple(f"{first} + {i}" if k == axis else i for k, i in enumerate(indices))
                    found = self.element(x, indices).as_type(out.dtype)
                    self.line(f"{out.buffer.name}[{address_of(out.shape, at)}] = {found};")
            first += x.shape[axis]
        return out

    def create(self, s: Apply, op: Create) -> Scalar | Array:
        assert isinstance(s.attrs, CreateAttrs)
        shape, dtype = s.attrs.shape, s.attrs.dtype
        self.type_name(dtype)
        if op.name == "iota":
            first = "0" if dtype == INT else None
            return Lazy(shape, dtype, lambda i: Scalar(HOST.convert(i[0], INT, dtype), dtype), frozenset(), True, first)
        if op.name == "full":
            fill = self.array(s.args[0])
            if fill.shape:
                filled = lambda i: _typed(self.element(fill, broadcast(i, fill.shape)), dtype)  # noqa: E731
                return Lazy(shape, dtype, filled, fill.reads)
            number = _typed(self.scalar(s.args[0]), dtype)
        else:
            number = Scalar(HOST.literal(0, dtype), dtype)
        return Lazy(shape, dtype, lambda _: number, frozenset(), True)

    # ---- elements and slices -----------------------------------------------------------------------

    def places(self, s: Apply, written: Buffer | None = None) -> Callable[[Indices], Indices]:
        """Turn indices into the selection into indices into the array. Single indices are checked here. Tables of
        indices that lie in a buffer that is `written` are copied: a store must not change where the next one goes.
        """
        assert isinstance(s.attrs, IndexAttrs)
        dims, shape = s.attrs.dims, s.args[0].aval.shape
        fixed = [self._start(s, axis, d, shape[axis]) for axis, d in enumerate(dims)]
        tables = {d.arg: self.array(s.args[d.arg]) for d in dims if isinstance(d, Gather)}
        tables = {k: self.copied(t) if written in t.reads else t for k, t in tables.items()}
        rank = max((len(t.shape) for t in tables.values()), default=0)
        position = gather_position(dims) if tables else 0

        def place(indices: Indices) -> Indices:
            gathered = indices[position : position + rank]
            runs = iter((*indices[:position], *indices[position + rank :]))
            found = []
            for axis, d in enumerate(dims):
                match d:
                    case At():
                        found.append(fixed[axis])
                    case Run(step=step):
                        i = next(runs)
                        i = i if step == 1 or i == "0" else f"{operand(i)} * {step}"
                        found.append(i if fixed[axis] == "0" else fixed[axis] if i == "0" else f"{fixed[axis]} + {i}")
                    case Gather(arg=arg):
                        table = tables[arg]
                        number = self.element(table, broadcast(gathered, table.shape))
                        found.append(self._normal(s, arg, number, axis, shape[axis]))
            return tuple(found)

        return place

    def _start(self, s: Apply, axis: int, d: At | Run | Gather, n: int) -> str:
        match d:
            case At(index=Dyn(arg=arg)):
                return self._normal(s, arg, self.scalar(s.args[arg]), axis, n)
            case At(index=int() as i):
                return str(i)
            case Run(start=Dyn(arg=arg), size=size, step=step):
                if not size:
                    return "0"
                reach = (size - 1) * abs(step)
                low, high = (0, n - 1 - reach) if step > 0 else (reach, n - 1)
                text = self.scalar(s.args[arg]).as_type(INT)
                if not self.checks.interval(s.args[arg]).within(low, high):
                    message = f"a slice that starts at {{index}} leaves axis {axis} with size {n}"
                    text = self._inside(s, text, low, high, message)
                return text
            case Run(start=int() as i):
                return str(i)
        return ""

    def _normal(self, s: Apply, arg: int, number: Scalar, axis: int, n: int) -> str:
        """An index of one element: inside the axis, not negative."""
        if number.constant is not None and -n <= (known := int(number.constant.value)) < n:
            return str(known % n)
        text = number.as_type(INT)
        interval = self.checks.interval(s.args[arg])
        if interval.within(0, n - 1):
            return text
        wraps = not interval.within(0, 2**63 - 1)
        message = f"index {{index}} is out of bounds for axis {axis} with size {n}"
        if not interval.within(-n, n - 1):
            return self._inside(s, text, -n, n - 1, message, wraps)
        return self._wrapped(text, n)

    def _wrapped(self, text: str, n: int) -> str:
        return self.declare("k", f"{text} < 0 ? {text} + {n} : {text}", INT).text

    def _inside(self, s: Apply, text: str, low: int, high: int, message: str, wraps: bool = False) -> str:
        """Checked, once; where nothing is checked, moved inside, so that no other memory is touched."""
        key = text, low, high
        if key in self.inside:
            return self.inside[key]
        found = text
        if not self.checks.enabled:
            found = self.declare("k", f"{text} < {low} ? {low} : {text} > {high} ? {high} : {text}", INT).text
        elif self.needs_check(s):
            self.fail_where(f"{text} < {low} || {text} > {high}", text, IndexError, message, s.span)
        self.inside[key] = found = self._wrapped(found, high + 1) if wraps else found
        return found

    def index(self, s: Apply) -> Scalar | Array:
        assert isinstance(s.attrs, IndexAttrs)
        (target,) = s.targets
        x, place = self.array(s.args[0]), self.places(s)
        if 0 in x.shape:
            x = _nothing(x)
        if not target.aval.shape:
            return self.element(x, place(()))
        tables = [self.array(s.args[d.arg]) for d in s.attrs.dims if isinstance(d, Gather)]
        reads = x.reads.union(*(t.reads for t in tables))
        plain = not tables and (isinstance(x, Stored) or x.view)
        made = Lazy(target.aval.shape, x.dtype, lambda i: self.element(x, place(i)), reads, plain)
        if plain and isinstance(x, Stored) and s.attrs.dims == _whole(x.shape):
            return x
        return self.stored(made, target.hint) if tables and self.needs_check(s) else made

    def put(self, s: Apply, *, accumulate: bool) -> Array:
        """A store: in place where nobody reads the array any more, else into a copy."""
        assert isinstance(s.attrs, IndexAttrs)
        (target,) = s.targets
        live = self.lifetimes.behind(s) if self.lifetimes.knows(s) else frozenset()
        shape = indexed_shape(s.attrs, [a.aval for a in s.args])
        value = self.value(s.args[1])
        if 0 in shape:
            return self.array(s.args[0])
        out = self.overwritten(s.args[0], target.hint, live)
        place = self.places(s, out.buffer)
        if 0 in out.shape:  # which fails where it is checked
            with self.nest(shape) as indices:
                place(indices)
            return out
        scatters = s.attrs.gathers
        mark, told, failures = len(self.lines), self._told, len(self.failures)
        if not self._put_elements(s, out, value, shape, place, accumulate, scatters):
            del self.lines[mark:], self.failures[failures:]
            self._told = told
            assert not isinstance(value, Scalar)
            value = self.copied(value)
            self._put_elements(s, out, value, shape, place, accumulate, scatters)
        return out

    def _put_elements(
        self,
        s: Apply,
        out: Stored,
        value: Scalar | Array,
        shape: Shape,
        place: Callable[[Indices], Indices],
        accumulate: bool,
        scatters: bool,
    ) -> bool:
        """Whether the stores may go element by element: no value is read from where another was stored before."""
        name, safe = out.buffer.name, True

        def store(indices: Indices) -> None:
            nonlocal safe
            self.loads = []
            at = address_of(out.shape, place(indices))
            if isinstance(value, Scalar):
                found = value.as_type(out.dtype)
            else:
                own = value.shape[max(0, len(value.shape) - len(shape)) :]
                outer = ("0",) * (len(value.shape) - len(own))
                found = self.element(value, (*outer, *broadcast(indices, own))).as_type(out.dtype)
            moving = len(indices) > indices.count("0")
            safe = not moving or not any(b is out.buffer and (scatters or a != at) for b, a in self.loads)
            sign = "=" if not accumulate else "|=" if out.dtype.kind == "b" else "+="
            if sign == "+=" and out.dtype.kind == "c":
                self.line(f"{name}[{at}] = {name}[{at}] + {found};")
            else:
                self.line(f"{name}[{at}] {sign} {found};")

        if not shape:
            store(())
        else:
            with self.nest(shape) as indices:
                store(indices)
        return safe


def _nothing(x: Array) -> Lazy:
    """In place of an empty array whose elements are read: which fails where it is checked."""
    zero = Scalar(HOST.literal(0, x.dtype), x.dtype)
    return Lazy(x.shape, x.dtype, lambda _: zero, frozenset())


def _typed(x: Scalar, dtype: DType) -> Scalar:
    return Scalar(x.as_type(dtype), dtype)


def _whole(shape: Shape) -> tuple[Run, ...]:
    return tuple(Run(0, n) for n in shape)

