"""Values of a native loop: numbers are C++ variables, arrays lie in buffers or are expressions of their indices.

    t = x[1:] * 2.0           an expression: element i is `x[i + 1] * 2.0`
    y[:-1] = t                `for (i = 0; i < n - 1; i++) y[i] = x[i + 1] * 2.0;`
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

import numpy as np

from ...translator.errors import Span
from ...translator.ir import Atom, Const, DType, Shape, Statement, Var, blocks_of, free_variables
from ...translator.records import dataclass
from ..lifetimes import Lifetimes, reads_elements
from ..source.dialects import is_half
from ..source.names import Names
from .host import HOST, HostNames, Scalar, constant

Indices = tuple[str, ...]
LARGEST_TABLE = 1_024  # elements of a constant array


class NotNative(Exception):
    """The loop has something in it that stays XLA's; the message says what."""


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory of an array, in rows, behind a pointer variable. `users`: the values that lie there, or did.

    `owned`: the loop may write to it. `kept_as`: the dtype in memory.
    """

    name: str
    dtype: DType
    count: int
    owned: bool = True
    users: set[Var] = field(default_factory=set)
    kept_as: DType = field(init=False)

    def __post_init__(self) -> None:
        self.kept_as = self.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    buffer: Buffer
    shape: Shape

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def reads(self) -> frozenset[Buffer]:
        return frozenset((self.buffer,))


@dataclass(frozen=True, slots=True)
class Stretch:
    """The places of a line that are at or above all of `low` and below all of `high`. A mask is true there alone; of
    numbers that are zero elsewhere `inside` gives those.
    """

    low: tuple[str, ...]
    high: tuple[str, ...]
    inside: Callable[[Indices], Scalar] | None = None

    def within(self, other: Stretch) -> Stretch:
        low, high = (dict.fromkeys(a + b) for a, b in ((self.low, other.low), (self.high, other.high)))
        return Stretch(tuple(low), tuple(high))

    def lowest(self) -> str:
        return functools.reduce("larger({}, (long long)({}))".format, self.low, "0LL")

    def highest(self, n: int) -> str:
        return functools.reduce("smaller({}, (long long)({}))".format, self.high, f"{n}LL")


@dataclass(frozen=True, slots=True, eq=False)
class Lazy:
    """An array that is computed where it is read. `view`: by little more than an address.

    `first`: of a line of places one after another, the first. `stretch`: where a line is not zero.
    """

    shape: Shape
    dtype: DType
    element: Callable[[Indices], Scalar]
    reads: frozenset[Buffer]
    view: bool = False
    first: str | None = None
    stretch: Stretch | None = None


Array = Stored | Lazy


@dataclass(frozen=True, slots=True)
class Scope:
    """What is known at one place of the text."""

    env: dict[Var, Scalar | Array]
    lazies: dict[Var, Lazy]
    inside: dict[tuple[str, int, int], str]


class Values:
    """The text of a function under construction, and what stands where in it."""

    copying = "__builtin_memcpy"
    dialect = HOST

    def __init__(self, lifetimes: Lifetimes) -> None:
        self.lifetimes = lifetimes
        self.lines: list[str] = []
        self.names: Names = HostNames()
        self.env: dict[Var, Scalar | Array] = {}
        self.lazies: dict[Var, Lazy] = {}
        self.temporaries: list[Buffer] = []
        self.moving: set[Buffer] = set()  # whose pointers change
        self.loads: list[tuple[Buffer, str]] = []
        self.inside: dict[tuple[str, int, int], str] = {}  # indices that were checked, as they are used
        self.tables: list[str] = []
        self._tables: dict[Const, Stored] = {}
        self.destinations: dict[Var, Stored] = {}  # where the next turn of a loop looks for what this one makes
        self.flag: DType | None = None  # what truth values of the loop's own arrays are kept as
        self.draws = False  # whether it calls NumPy's library of distributions
        self._depth = 1
        self._known: list[dict[tuple[object, Indices], Scalar]] = []
        self._told: Span | None = None

    # ---- text --------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def tell(self, span: Span) -> None:
        """A comment with the user's line, where it is another one."""
        if span.line and (self._told is None or (span.line, span.text) != (self._told.line, self._told.text)):
            self._told = span
            self.line(f"// line {span.line}: {span.text}".rstrip(": \\"))

    def declare(self, hint: str, text: str, dtype: DType, *, fixed: bool = True) -> Scalar:
        name = self.names.fresh(hint)
        text = text[1:-1] if _is_wrapped(text) else text
        self.line(f"{'const ' if fixed else ''}{self.type_name(dtype)} {name} = {text};")
        return Scalar(name, dtype)

    def type_name(self, dtype: DType) -> str:
        if is_half(dtype) or dtype.kind not in "biufc":
            raise NotNative(f"numbers of dtype {dtype.name}")
        return HOST.type_name(dtype)

    # ---- values ------------------------------------------------------------------------------------

    def scope(self) -> Scope:
        return Scope(dict(self.env), dict(self.lazies), dict(self.inside))

    def back_to(self, scope: Scope) -> None:
        """Forget what is known since."""
        self.env, self.lazies, self.inside = dict(scope.env), dict(scope.lazies), dict(scope.inside)

    def value(self, a: Atom) -> Scalar | Array:
        root = self.lifetimes.root(a)
        if isinstance(root, Var):
            return self.env[root]
        if a.aval.shape and not root.aval.shape:
            number = constant(root, a.aval.dtype)
            return Lazy(a.aval.shape, a.aval.dtype, lambda _: number, frozenset())
        if isinstance(root, Const) and root.aval.shape:
            return self.table(root)
        return constant(root, a.aval.dtype)

    def table(self, a: Const) -> Stored:
        """A constant array, written into the source."""
        if a not in self._tables:
            if a.aval.size > LARGEST_TABLE:
                raise NotNative("a large constant array")
            kind = self.type_name(a.aval.dtype)
            buffer = Buffer(self.names.fresh("table"), a.aval.dtype, a.aval.size, owned=False)
            numbers = ", ".join(HOST.literal(v, a.aval.dtype) for v in np.asarray(a.value).ravel()) or "0"
            self.tables.append(f"static const {kind} {buffer.name}[] = {{{numbers}}};")
            self._tables[a] = Stored(buffer, a.aval.shape)
        return self._tables[a]

    def scalar(self, a: Atom) -> Scalar:
        found = self.value(a)
        return found if isinstance(found, Scalar) else self.element(found, ("0",) * len(found.shape))

    def array(self, a: Atom) -> Array:
        found = self.value(a)
        return Lazy((), found.dtype, lambda _: found, frozenset()) if isinstance(found, Scalar) else found

    def bind(self, target: Var, value: Scalar | Array) -> None:
        if isinstance(value, Lazy) and not (value.view or self._is_read_once(target)):
            value = self.stored(value, target.hint)
        self.env[target] = value
        self.lazies.pop(target, None)
        if isinstance(value, Stored):
            value.buffer.users.add(target)
        elif isinstance(value, Lazy):
            self.lazies[target] = value

    def _is_read_once(self, target: Var) -> bool:
        """Whether an array is best computed where it is read: once, element by element."""
        uses = self.lifetimes.uses[target]
        return uses == 0 or (uses == 1 and reads_elements(self.lifetimes, target))

    def element(self, x: Array, indices: Indices) -> Scalar:
        """One element, in a variable where that saves reading it again."""
        key = (x.buffer if isinstance(x, Stored) else x, indices)
        for known in self._known:
            if key in known:
                return known[key]
        if isinstance(x, Stored):
            address = address_of(x.shape, indices)
            self.loads.append((x.buffer, address))
            found = self.declare(x.buffer.name, f"{x.buffer.name}[{address}]", x.dtype)
        else:
            found = x.element(indices)
        if self._known:
            self._known[-1][key] = found
        return found

    @contextmanager
    def nest(self, shape: Sequence[int], *, apart: bool = False) -> Iterator[Indices]:
        """Loops over all indices of a shape. `apart`: no turn reads what another one stores."""
        indices = []
        depth = self._depth
        last = max((k for k, n in enumerate(shape) if n != 1), default=-1)
        for k, n in enumerate(shape):
            if n == 1:
                indices.append("0")
                continue
            i = self.names.fresh("i")
            if apart and k == last:
                self.line("EACH_TURN_APART")
            self.line(f"for (long long {i} = 0; {i} < {n}; {i}++) {{")
            self._depth += 1
            indices.append(i)
        if self._depth == depth:  # a scope of its own all the same
            self.line("{")
            self._depth += 1
        self._known.append({})
        inside = dict(self.inside)
        yield tuple(indices)
        self.inside = inside
        self._known.pop()
        while self._depth > depth:
            self._depth -= 1
            self.line("}")

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """A scope: elements read inside it are not remembered afterwards."""
        self._known.append({})
        inside = dict(self.inside)
        yield
        self.inside = inside
        self._known.pop()

    # ---- buffers -----------------------------------------------------------------------------------

    def fresh(self, hint: str, dtype: DType, shape: Shape) -> Stored:
        self.type_name(dtype)
        buffer = Buffer(self.names.fresh(hint), dtype, math.prod(shape))
        if dtype.kind == "b" and self.flag is not None:
            buffer.kept_as = self.flag
        self.temporaries.append(buffer)
        return Stored(buffer, shape)

    def stored(self, x: Array, hint: str) -> Stored:
        """The array in memory."""
        if isinstance(x, Stored):
            return x
        out = self.fresh(hint, x.dtype, x.shape)
        self.fill(out, x)
        return out

    def copied(self, x: Array) -> Stored:
        """The array in memory of its own."""
        out = self.fresh("value", x.dtype, x.shape)
        self.fill(out, x)
        return out

    def fill(self, out: Stored, x: Array) -> None:
        if 0 in out.shape:  # its memory is that of nobody
            return
        if isinstance(x, Stored) and x.buffer.kept_as == out.buffer.kept_as:
            size = f"{out.buffer.count} * sizeof *{out.buffer.name}"
            self.line(f"{self.copying}({out.buffer.name}, {x.buffer.name}, {size});")
            return
        with self.nest(out.shape) as indices:
            found = self.element(x, indices).as_type(out.dtype)
            self.line(f"{out.buffer.name}[{address_of(out.shape, indices)}] = {found};")

    def dies(self, buffer: Buffer, live: frozenset[Var]) -> bool:
        """Whether nothing that is live lies in a buffer that the loop may write to."""
        return buffer.owned and live.isdisjoint(buffer.users)

    def overwrite(self, buffer: Buffer, live: frozenset[Var]) -> None:
        """Compute what is still to be read from a buffer, before it is written to."""
        for var, lazy in list(self.lazies.items()):
            if buffer in lazy.reads and var in live:
                self.keep(var, lazy)

    def keep(self, var: Var, lazy: Lazy) -> None:
        del self.lazies[var]
        made = self.stored(lazy, var.hint)
        made.buffer.users.add(var)
        self.env[var] = made

    def settle(self, s: Statement) -> None:
        """Compute what a statement with blocks, or one behind it, reads from buffers that the blocks may write to."""
        live = self.lifetimes.behind(s)
        wanted = live | self.read_inside(s)
        for var, lazy in list(self.lazies.items()):
            if var in wanted and any(self.dies(b, live) for b in lazy.reads):
                self.keep(var, lazy)

    def read_inside(self, s: Statement) -> frozenset[Var]:
        roots = (self.lifetimes.root(v) for b in blocks_of(s) for v in free_variables(b))
        return frozenset(v for v in roots if isinstance(v, Var))

    def assign(self, targets: Sequence[Stored], sources: Sequence[Stored], live: frozenset[Var]) -> None:
        """Give every target the contents of its source, all at once: pointers change places where nobody notices."""
        taken: list[Buffer] = []
        homes = {t.buffer for t in targets}
        moved: dict[Buffer, Buffer] = {}
        for target, source in zip(targets, sources, strict=True):
            b = source.buffer
            kept_as = target.buffer.kept_as
            if b in taken or b.kept_as != kept_as or not (b in homes or self.dies(b, live)):
                b = self.fresh(b.name, b.dtype, source.shape).buffer
                b.kept_as = kept_as
                self.fill(Stored(b, source.shape), source)
            taken.append(b)
            if b is not target.buffer:
                moved[target.buffer] = b
        if not moved:
            return
        # A temporary gets the memory that its chain of moves leaves free.
        for b in [b for b in moved.values() if b not in homes]:
            last = next(t for t, origin in moved.items() if origin is b)
            while (after := next((t for t, origin in moved.items() if origin is last), None)) is not None:
                last = after
            moved[b] = last
        self.moving.update(moved)
        with self.braces(""):
            places = [self.names.fresh("place") for _ in moved]
            for place, (home, origin) in zip(places, moved.items(), strict=True):
                self.line(f"{self.type_name(home.kept_as)} *const {place} = {origin.name};")
            for place, home in zip(places, moved, strict=True):
                self.line(f"{home.name} = {place};")


def address_of(shape: Shape, indices: Indices) -> str:
    """The place of an element in an array that lies in rows."""
    text = "0"
    for n, i in zip(shape, indices, strict=True):
        scaled = text if n == 1 else f"{operand(text)} * {n}"
        text = operand(i) if text == "0" else scaled if i == "0" else f"{scaled} + {operand(i)}"
    return text


def operand(index: str) -> str:
    """An index as a part of a product."""
    return index if index.isidentifier() or index.isdigit() else f"({index})"


def broadcast(indices: Indices, shape: Shape) -> Indices:
    """Indices into an array that is broadcast to more, or longer, axes."""
    own = indices[len(indices) - len(shape) :]
    return tuple("0" if n == 1 else i for i, n in zip(own, shape, strict=True))


def _is_wrapped(text: str) -> bool:
    """Whether the first parenthesis closes at the end."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return k == len(text) - 1
    return False
