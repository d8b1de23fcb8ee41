"""Draws in loops that become native code: the state of the generator is an array that the program carries.

    for i in range(n):                      for i in range(n):
        x = x + rng.normal()                    streams.normal(rng, 0.0, 1.0)
                                                x = x + streams.last_float(rng)

The generator (an argument, a global, that of np.random, Python's own) is a hidden parameter of words, which the
program writes: a call takes them out of the generator, and puts them back behind its end (`streaming`). So the order of
draws is that of the states. Where the call does not come to its end, nothing is put back, and CPython draws anew.

Draws in functions whose loops do not draw, and those of distributions without a row in `ops/draws`, are left to
CPython, as all are where loops do not become native code.
"""

from __future__ import annotations

import ast
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ... import make, randomness
from ...builder import Builder
from ...errors import DrawError
from ...ir import Atom, Aval, Block, Capture, For, Param, Range, Root, Var
from ...library.streams import put_back, words_of
from ...ops.core import At, Draw, Dyn
from ...ops.draws import BY_METHOD
from ...purpose import purpose
from ...randomness import SIZES, is_generator, kind_of, source_of_bits
from ...tree import LEAF, open_node
from ..core.context import Context
from ..core.demand import static
from ..core.values import Cell, Foreign, Ref, Undefined, Value
from ..text.signature import Opaque, bind

# ---- at a call -----------------------------------------------------------------------------------


class Stream:
    """What stands behind a hidden parameter that holds the state of a generator.

    owner   the generator, or its position among those that are arguments.
    kind    of its source of bits; `spare`: whether the normal number that is left over counts.
    """

    def __init__(self, owner: Any, kind: str) -> None:
        self.owner, self.kind, self.spare = owner, kind, False

    @property
    def words(self) -> Any:
        call = _call.get()
        assert call is not None, "a draw outside `streaming`"
        return call.words[self]


class _Call:
    """One call: the generators that it draws from, and their words."""

    def __init__(self, streams: Sequence[Stream], given: Sequence[Any]) -> None:
        self.generators = {s: given[s.owner] if isinstance(s.owner, int) else s.owner for s in streams}
        self.words: dict[Stream, Any] = {}
        if any(kind_of(g) != s.kind for s, g in self.generators.items()):
            raise DrawError("a generator that is not of the kind that was read")
        if len({id(source_of_bits(g)) for g in self.generators.values()}) < len(self.generators):
            raise DrawError("two generators with one source of bits")
        if threading.active_count() > 1 and any(type(g).__name__ == "Random" for g in self.generators.values()):
            raise DrawError("a generator of Python's, which other threads do not wait for")

    def locks(self) -> list[Any]:
        """What to hold, always in the same order."""
        found = [_lock_of(g) for g in self.generators.values()]
        return sorted({id(lock): lock for lock in found}.values(), key=id)

    def take(self) -> None:
        self.words = {s: words_of(g, s.spare) for s, g in self.generators.items()}

    def put_back(self) -> None:
        for s, generator in self.generators.items():
            put_back(self.words[s], generator, s.spare)


_PYTHONS = threading.RLock()


def _lock_of(generator: Any) -> Any:
    """NumPy's own lock of the generator, where whoever holds it may take it again, as setting the state may do."""
    lock = getattr(source_of_bits(generator), "lock", None)
    return lock if isinstance(lock, type(_PYTHONS)) else _PYTHONS


_call: ContextVar[_Call | None] = ContextVar("call", default=None)


@contextmanager
def streaming(
    streams: Sequence[Stream], fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Iterator[None]:
    """One call of a program that draws: whoever draws from the same generators meanwhile waits.

    Raises DrawError where they are not those that the program was read for.
    """
    count = max((s.owner + 1 for s in streams if isinstance(s.owner, int)), default=0)
    call = _Call(streams, _given(count, fun, args, kwargs))
    with ExitStack() as held:
        for lock in call.locks():
            held.enter_context(lock)
        call.take()
        token = _call.set(call)
        try:
            yield
        finally:
            _call.reset(token)
        call.put_back()


def _given(count: int, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The first generators among the arguments of a call, in the order of the parameters: `count`, or more."""
    found = [] if kwargs else [g for value in args for g in _generators_in(value)]
    if len(found) >= count:
        return found
    return [g for _, value in bind(fun, args, kwargs) for g in _generators_in(value)]


def _generators_in(value: Any) -> Iterator[Any]:
    if is_generator(type(value)):
        yield value
        return
    opened = None if isinstance(value, np.ndarray) else open_node(value)
    for child in opened[0] if opened is not None else ():
        yield from _generators_in(child)


# ---- while it is read ----------------------------------------------------------------------------


def stream_of(p: Param) -> Stream | None:
    """What a hidden parameter stands for, where that is a generator."""
    function = None if p.capture is None else p.capture.function
    return function.owner if isinstance(function, Root) and isinstance(function.owner, Stream) else None


def argument(ctx: Context, value: Opaque) -> Stream | None:
    """The stream of an argument that is a generator; None for any other."""
    if not purpose().draws or not is_generator(value.cls) or not randomness.loops_draw():
        return None
    ctx.drawing.given += 1
    return Stream(ctx.drawing.given - 1, value.holds) if value.holds else None


def drop_unused(ctx: Context) -> None:
    """Forget the generators that nothing draws from after all."""
    params = ctx.captures.params
    params[:] = [(p, v, c) for p, v, c in params if stream_of(p) is None or (c is not None and c.atom is not v)]


def method_of(v: Undefined, name: str) -> Undefined | None:
    """`rng.normal` of an argument; None where it is to be refused, or left to CPython."""
    if v.stream is None or v.method or not any(method == name for _, method in BY_METHOD):
        return None
    return Undefined(v.why, v.instead, stream=v.stream, method=name, cls=v.cls)


def drawn_from(
    ctx: Context, v: Undefined, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """What a method of an argument draws; NotImplemented where CPython must call it."""
    if not _may_draw(ctx):
        return NotImplemented
    return _drawn(ctx, v.stream, v.cls.__name__, v.method, args, kwargs, node)


def drawn(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """What a method of a generator draws; NotImplemented where CPython must call it."""
    if not _may_draw(ctx):
        return NotImplemented
    owner, name = getattr(f, "__self__", None), getattr(f, "__name__", "")
    if args and not is_generator(type(owner)):
        first = args[0].value if isinstance(args[0], Foreign) else args[0]
        if not isinstance(first, Undefined) or first.stream is None:
            owner, args = first, args[1:]  # Cython's methods are functions of the object
    if not is_generator(type(owner)):
        return NotImplemented
    key = id(owner)  # two over one source of bits are two, which a call refuses
    if key not in ctx.drawing.streams:
        kind = kind_of(owner)
        if not kind:
            return NotImplemented
        ctx.drawing.streams[key] = Stream(owner, kind)
    return _drawn(ctx, ctx.drawing.streams[key], type(owner).__name__, name, args, kwargs, node)


def is_passed_on(f: Any, args: Sequence[Value]) -> bool:
    """Whether it is default_rng(rng), which gives the very generator that it is given."""
    if len(args) != 1 or not isinstance(args[0], Undefined) or args[0].stream is None or args[0].method:
        return False
    return args[0].cls is np.random.Generator and f is np.random.default_rng


def of_python(f: Any, owner: Any) -> bool:
    """Whether it is a method, in Python, of a generator of Python's, which has a row all the same."""
    pythons = sys.modules.get("random")
    owner = owner.value if isinstance(owner, Foreign) else owner
    if pythons is None or type(owner) is not pythons.Random:
        return False
    name = getattr(f, "__name__", "")
    return ("Random", name) in BY_METHOD and getattr(pythons.Random, name, None) is f


def _may_draw(ctx: Context) -> bool:
    asked = purpose()
    if not asked.draws or asked.keeps_calls or ctx.transforms or ctx.frame.fixed:
        return False
    in_loop = ctx.drawing.anywhere or any(b in ctx.drawing.loops for b in ctx.builders)
    return in_loop and randomness.loops_draw()


def is_in_loop(node: ast.AST) -> bool:
    """Whether a loop in a function calls, by the names in it, a method that draws."""
    loops = [n for n in ast.walk(node) if isinstance(n, ast.For | ast.While)]
    called = [n.func for s in loops for n in ast.walk(s) if isinstance(n, ast.Call)]
    names = {f.attr for f in called if isinstance(f, ast.Attribute)}
    return any(method in names for _, method in BY_METHOD)


def _drawn(
    ctx: Context, stream: Stream, owner: str, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    row = BY_METHOD.get((owner, name))
    if row is None:
        return NotImplemented
    if name in ("rand", "randn"):
        args, kwargs = [], {"size": tuple(args) or None} | kwargs
    given = _parameters(row, name, args, kwargs)
    if given is None:
        return NotImplemented
    size = given.pop("size", None)
    numbers = _bounds(ctx, row, name, given) if row.integers else [given[n] for n, _ in row.parameters]
    atoms = None if numbers is None else _atoms(ctx, row, numbers)
    if atoms is None:
        return NotImplemented
    stream.spare = stream.spare or "polar" in row.native or "around" in row.native
    if size is None:
        return _one(ctx, stream, row, atoms)
    if isinstance(size, list) or (row.owner == "Random"):
        return NotImplemented
    sizes = [static(ctx, v, node, "the size of what is drawn") for v in (size if isinstance(size, tuple) else (size,))]
    if not sizes or not all(isinstance(n, int | np.integer) and n >= 0 for n in sizes):  # () is of an array, too
        return NotImplemented
    if 0 in sizes and row.valid:
        return NotImplemented  # NumPy looks at the parameters, a loop of no turns does not
    return _several(ctx, stream, row, atoms, tuple(map(int, sizes)))


_NAMES = {
    "integers": ("low", "high", "size", "dtype", "endpoint"),
    "randint": ("low", "high", "size", "dtype"),
    "randrange": ("low", "high"),
}


def _parameters(row: Draw, name: str, args: list[Value], kwargs: dict[str, Value]) -> dict[str, Value] | None:
    """The arguments by name, with defaults; None where they are not those of a draw of the row."""
    names = _NAMES.get(name, (*(n for n, _ in row.parameters), "size"))
    if row.owner == "Random" and name != "randrange":
        names = ("a", "b") if row.integers else names[:-1]
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or not kwargs.keys() <= set(names) - given.keys():
        return None
    given |= kwargs
    for n, default in row.parameters:
        if not row.integers and given.setdefault(n, default) is None:
            return None
    return given


def _bounds(ctx: Context, row: Draw, name: str, given: dict[str, Value]) -> list[Value] | None:
    """The bounds, low <= number < high, of a draw of integers; None where they are not to be of 64 bits."""
    if "dtype" in given and not (given["dtype"] is np.int64 and row.owner == "Generator"):
        return None
    pythons = "a" in given or "b" in given
    first, second = (given.get(n) for n in (("a", "b") if pythons else ("low", "high")))
    closed = given.get("endpoint", pythons)
    if first is None or (pythons and second is None) or type(closed) is not bool:
        return None
    low, high = (0, first) if second is None else (first, second)
    return [low, _one_more(ctx, high) if closed else high]


def _one_more(ctx: Context, v: Value) -> Value:
    number = ctx.number(v)
    if not _is_number(number) or (atom := ctx.atom(number)).aval.dtype.kind not in "iu":
        return None
    return ctx.wrap(make.add(ctx.b, make.astype(ctx.b, atom, np.dtype(np.int64)), 1))


def _is_number(v: Value) -> bool:
    return (type(v) is Var and not v.aval.shape) or isinstance(v, bool | int | float | np.generic)


def _atoms(ctx: Context, row: Draw, numbers: Sequence[Value]) -> list[Atom] | None:
    """The parameters of a draw as operands; None where they are not numbers that it takes."""
    given = list(map(ctx.number, numbers))
    if not all(map(_is_number, given)):
        return None
    if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in given):
        return None
    atoms = [ctx.atom(v) for v in given]
    kinds = "iu" if row.integers else "biuf"
    if any(a.aval.dtype.kind not in kinds or a.aval.dtype == np.uint64 for a in atoms):
        return None
    if row.owner == "Random" and not row.integers and not all(a.aval.weak for a in atoms):
        return None  # what Python computes of NumPy's numbers are NumPy's
    return atoms


def _one(ctx: Context, stream: Stream, row: Draw, atoms: Sequence[Atom]) -> Value:
    """The statements of a draw of one number."""
    words = _words(ctx, stream)
    state = ctx.b.apply(row, ctx.read(words), *atoms, hint="stream")
    ctx.write(words, state)
    assert row.drawn is not None
    return ctx.wrap(ctx.b.apply(row.drawn, state))


def _several(ctx: Context, stream: Stream, row: Draw, atoms: Sequence[Atom], shape: tuple[int, ...]) -> Value:
    """The loop that fills an array, in its order."""
    assert row.drawn is not None and row.drawn.result is not None
    words, count = _words(ctx, stream), math.prod(shape)
    empty, before = make.empty(ctx.b, (count,), row.drawn.result.dtype), ctx.read(words)
    index, state, filled = Var("i", make.lift(0).aval), Var("stream", before.aval), Var("drawn", empty.aval)
    b = Builder()
    b.span = ctx.b.span
    after = b.apply(row, state, *atoms, hint="stream")
    stored = make.put(b, filled, b.apply(row.drawn, after), [At(Dyn(0))], [index])
    body = Block((index, state, filled), tuple(b.statements), (after, stored))
    targets = Var("stream", before.aval), Var("drawn", empty.aval)
    bounds = Range(make.lift(0), make.lift(count), make.lift(1))
    ctx.b.append(For(targets, bounds, (before, empty), body, span=ctx.b.span))
    ctx.write(words, targets[0])
    return ctx.wrap(make.reshape(ctx.b, targets[1], shape))


def _words(ctx: Context, stream: Stream) -> Ref:
    """The hidden parameter of a generator."""
    if stream not in ctx.drawing.words:
        var = Var("stream", Aval((SIZES[stream.kind],), np.dtype(np.uint64)))
        cell = Cell(var, 0)  # older than any loop
        ctx.captures.params.append((Param(var.hint, LEAF, Capture(ctx.captures.root(stream), "words")), var, cell))
        ctx.drawing.words[stream] = Ref(cell)
    return ctx.drawing.words[stream]


def read_back(ctx: Context, row: Draw, args: list[Value], node: ast.AST) -> Value:
    """A draw that a printed program makes: streams.normal(words, loc, scale)."""
    if ctx.transforms or purpose().keeps_calls or purpose().target not in ("numpy", "cpu"):
        ctx.refuse(node, "a draw is not in the language here", why="it changes the words of a generator")
    if purpose().target == "cpu" and not (purpose().draws and randomness.loops_draw()):
        ctx.cut(node, "a draw where loops are no native code")
    words, *numbers = args
    if row.result is not None:
        return ctx.wrap(ctx.b.apply(row, ctx.atom(words)))
    ctx.write(words, ctx.b.apply(row, ctx.read(words), *map(ctx.atom, numbers), hint="stream"))
    return None
