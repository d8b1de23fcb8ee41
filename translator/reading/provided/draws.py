"""Draws of np.random under a derivative: hidden parameters of the program, drawn anew at every call.

    def loss(w):                                   def loss_grad(w, *, drawn):
        noise = rng.normal(size=3)                     return 2.0 * (w + drawn)
        return np.sum((w + noise) ** 2)

They do not depend on what is differentiated: of a distribution that is a standard one moved and stretched, that one
is drawn. The order in which a function draws is kept where every call comes to the same draws: in front of branches,
and in loops of a known number of trips, whose draws are one array with an entry for each trip; not in a batch, whose
lanes would share them. A generator that the function itself makes, from a known seed, gives the same numbers at every
call, and to all lanes.
"""

from __future__ import annotations

import ast
import copy
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import make
from ...errors import CutError, Diagnostic
from ...ir import Atom, Aval, Capture, Param, Root, Var
from ...ops.attributes import At, Dim, Dyn, Run
from ...purpose import purpose
from ...tree import LEAF, open_node
from ..core.context import Context
from ..core.demand import ask, demand
from ..core.values import Foreign, Ref, Value, is_leaf, leaves_in
from ..facts.contents import known_arrays
from ..text.signature import aval_of, bind, is_array_without_axes
from .draw_calls import moved, picked

if TYPE_CHECKING:
    from ..paths.iterables import Steps


    Generator = np.random.RandomState | np.random.Generator


# ---- at a call -----------------------------------------------------------------------------------


class Turns:
    """A loop that draws in each of its trips, and what it draws there."""

    def __init__(self, trips: int) -> None:
        self.trips = trips
        self.draws: list[Draw] = []


class Made:
    """A generator that the function makes, in every call anew."""

    def __init__(self, maker: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.maker, self.args, self.kwargs = maker, args, kwargs

    def make(self) -> Any:
        """The generator; it may be made of bits that the function makes."""
        return self.maker(*(x.make() if isinstance(x, Made) else x for x in self.args), **self.kwargs)


class Draw:
    """The source of a hidden parameter that is drawn at run time: reading `drawn` draws.

    owner   the generator, its position among those that are arguments, or how it is made.
    nest    the loops it stands in. The draws of all trips of the outermost are made when the first of them is asked
            for; they are asked for in their order.
    """

    def __init__(
        self,
        owner: Generator | int | Made,
        name: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        nest: tuple[Turns, ...] = (),
    ) -> None:
        self.owner, self.name, self.args, self.kwargs, self.nest = owner, name, args, kwargs, nest
        if nest:
            nest[0].draws.append(self)

    @property
    def drawn(self) -> Any:
        if not self.nest:
            return self.once()
        call = _call.get()
        assert call is not None, "a draw outside `drawing`"
        around = self.nest[0]
        waiting = call.waiting.get(around, {})
        if self not in waiting:
            waiting = call.waiting[around] = _trips(around.draws, 0)
        return waiting.pop(self)

    def once(self) -> Any:
        """The draws of one trip."""
        call = _call.get()
        assert call is not None, "a draw outside `drawing`"
        owner = call.generator(self.owner)
        found = getattr(owner, self.name)(*self.args, **self.kwargs)
        return 0 if found is None else found  # of `seed`


def _trips(draws: Sequence[Draw], depth: int) -> dict[Draw, Any]:
    """The draws of a loop in all its trips, stacked."""
    found: dict[Draw, list[Any]] = {d: [] for d in draws}
    for _ in range(draws[0].nest[depth].trips):
        for group in _together(draws, depth + 1):
            inner = len(group[0].nest) > depth + 1
            given = _trips(group, depth + 1) if inner else {group[0]: group[0].once()}
            for d, value in given.items():
                found[d].append(value)
    return {d: np.stack(values) for d, values in found.items()}


def _together(draws: Sequence[Draw], depth: int) -> list[list[Draw]]:
    """Neighbours that stand in one loop at this depth; each other draw by itself."""
    groups: list[list[Draw]] = []
    for d in draws:
        last = groups[-1][0] if groups else None
        shared = last is not None and len(d.nest) > depth and d.nest[depth : depth + 1] == last.nest[depth : depth + 1]
        groups[-1].append(d) if shared else groups.append([d])
    return groups


class _Call:
    """One call of a derivative: the generators among its arguments, and how those that it draws from were before."""

    def __init__(self, given: Sequence[Generator]) -> None:
        self.given = given
        self.before: dict[int, tuple[Generator, Any]] = {}
        self.made: dict[Made, Generator] = {}
        self.waiting: dict[Turns, dict[Draw, Any]] = {}  # by the outermost loop: drawn and not yet asked for

    def generator(self, owner: Generator | int | Made) -> Generator:
        """The generator of a draw, which is about to draw."""
        if isinstance(owner, Made):
            if owner not in self.made:
                self.made[owner] = owner.make()
            return self.made[owner]
        found = self.given[owner] if isinstance(owner, int) else owner
        if id(found) not in self.before:
            self.before[id(found)] = found, _state(found)
        return found

    def rewind(self) -> None:
        for generator, state in self.before.values():
            if isinstance(generator, np.random.Generator):
                generator.bit_generator.state = state
            else:
                generator.set_state(state)


def _state(generator: Generator) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state(legacy=False)


_call: ContextVar[_Call | None] = ContextVar("call", default=None)


@contextmanager
def drawing(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], repeats: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """A call of a derivative. It draws once: where CPython runs it again, after an exception of those that it
    `repeats`, its generators are as they were.
    """
    call = _Call(generators_of(fun, args, kwargs))
    token = _call.set(call)
    try:
        yield
    except repeats:
        call.rewind()
        raise
    finally:
        _call.reset(token)


def generators_of(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[Generator]:
    """The generators among the arguments of a call, in the order of the parameters."""
    return [g for _, value in bind(fun, args, kwargs) for g in _generators_in(value)]


def _generators_in(value: Any) -> Iterator[Generator]:
    known = _opened(value)
    if known is not None:
        yield known
        return
    opened = None if isinstance(value, np.ndarray | Ref) else open_node(value)
    for child in opened[0] if opened is not None else ():
        yield from _generators_in(child)


# ---- while it is read ----------------------------------------------------------------------------


def is_draw(p: Param) -> bool:
    """Whether the value of a hidden parameter is made by asking for it."""
    return p.capture is not None and isinstance(p.capture.function, Root) and isinstance(p.capture.function.owner, Draw)


def differs_in_lanes(p: Param) -> bool:
    """Whether it is a draw that each element of a batch makes anew: any but of a generator that the function makes."""
    return is_draw(p) and p.capture is not None and not isinstance(p.capture.function.owner.owner, Made)


def may_draw(ctx: Context) -> bool:
    """Whether what is read now runs equally often in every call of a derivative."""
    return purpose().keeps_calls and all(b in ctx.loops.turns for b in ctx.builders[1:])


def enter_turns(ctx: Context, steps: Steps, index: Var) -> None:
    """The block that is begun is the body of a loop. What draws in a loop of a known number of trips is one array."""
    if steps.length is None:
        ctx.loops.unbounded[ctx.b] = (steps.start, steps.stop, steps.step)
    count = steps.length
    if count is None or not purpose().keeps_calls:
        return

    def trip() -> Atom:
        number = make.subtract(ctx.b, index, ctx.atom(steps.start))
        if steps.step != 1:
            number = make.floor_divide(ctx.b, number, ctx.atom(steps.step))
        return make.subtract(ctx.b, count - 1, number) if steps.reverse else number

    ctx.loops.turns[ctx.b] = Turns(count), trip


def forget(ctx: Context, mark: int) -> None:
    """Drop the draws of what was read since there were `mark` hidden parameters, and is read again."""
    params = ctx.captures.params
    for p, *_ in params[mark:]:
        if is_draw(p) and p.capture is not None:
            draw = p.capture.function.owner
            if draw.nest and draw in draw.nest[0].draws:
                draw.nest[0].draws.remove(draw)
    params[mark:] = [p for p in params[mark:] if not is_draw(p[0])]


def argument(ctx: Context, cls: type) -> Any:
    """A generator that stands, while a derivative is read, for the next one among the arguments; None for others."""
    if not purpose().keeps_calls or cls not in _generators():
        return None
    known: Any = _unknown_generator()(np.random.PCG64(0)) if cls is np.random.Generator else np.random.RandomState(0)
    ctx.generators.given[id(known)] = (known, len(ctx.generators.given))
    return known


@functools.cache
def _unknown_generator() -> type[np.random.Generator]:
    class Given(np.random.Generator):
        """A generator that is an argument: nothing is known of it but what it draws."""

        @property
        def bit_generator(self) -> Any:
            what = "what a generator that is an argument holds is not known before the run"
            raise CutError(Diagnostic(what, instead="pass its state, or what is made of it"))

    return Given


def makes_generator(f: Any) -> bool:
    """Whether it makes a generator of NumPy's, or a source of bits for one; nobody has one before they are loaded."""
    random = sys.modules.get("numpy.random")
    if random is None:
        return False
    if f in (random.RandomState, random.Generator, random.default_rng):
        return True
    return isinstance(f, type) and issubclass(f, random.BitGenerator)


def _generators() -> tuple[Any, ...]:
    """NumPy's classes of generators; none where nobody has loaded them."""
    random = sys.modules.get("numpy.random")
    return () if random is None else (random.RandomState, random.Generator)


def drawn(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """The value of a function of np.random under a derivative; NotImplemented where CPython must call it."""
    if not may_draw(ctx):
        if purpose().keeps_calls and all(b in ctx.loops.turns or b in ctx.loops.unbounded for b in ctx.builders[1:]):
            ask(ctx, [v for b in ctx.builders[1:] for v in ctx.loops.unbounded.get(b, ())])
        return NotImplemented
    if makes_generator(f):
        return _made(ctx, f, args, kwargs, node)
    f = _seed_of_all(f)
    owner: Any = getattr(f, "__self__", None)
    if args and not isinstance(owner, _generators()) and (first := _opened(args[0])) is not None:
        owner, f, args = first, getattr(first, f.__name__), args[1:]  # Cython's methods are functions of the object
    if not isinstance(owner, _generators()) or kwargs.get("out") is not None:
        return NotImplemented
    simpler = moved(ctx, f, args, kwargs, node)
    if simpler is NotImplemented:
        simpler = picked(ctx, f, args, kwargs, node)
    if simpler is not NotImplemented:
        return simpler
    known = _known(ctx, args, kwargs, node)
    return NotImplemented if known is None else _draw(ctx, owner, f.__name__, *known)


def _seed_of_all(f: Any) -> Any:
    """np.random.seed is a function around the method of NumPy's own generator; other functions are methods."""
    random = sys.modules.get("numpy.random")
    return random.mtrand._rand.seed if random is not None and f is random.seed else f


def _known(
    ctx: Context, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments, whose values the draw is specialised on; None where the run decides what they hold."""
    numbers = [v for v in leaves_in([*args, *kwargs.values()]) if type(v) is Var]
    if not all(v.aval.dtype.kind in "iu" for v in numbers):
        return None
    if numbers:
        demand(ctx, numbers, node, "an argument of a function that draws random numbers")

    def value(v: Value) -> Any:
        if isinstance(v, list | tuple):
            return type(v)(map(value, v))
        if type(v) is not Ref:
            return v
        held = known_arrays(ctx, [ctx.read(v)])
        return None if held is None else held[0]

    given, named = list(map(value, args)), {k: value(v) for k, v in kwargs.items()}
    refs = [v for v in leaves_in([*args, *kwargs.values()]) if type(v) is Ref]
    unknown = known_arrays(ctx, map(ctx.read, refs)) is None
    return None if unknown or any(map(is_leaf, leaves_in([*given, *named.values()]))) else (given, named)


def _draw(ctx: Context, owner: Generator, name: str, args: list[Any], kwargs: dict[str, Any]) -> Value:
    seeds = name == "seed" and isinstance(owner, np.random.RandomState)
    before = copy.deepcopy((args, kwargs))
    found = getattr(copy.deepcopy(owner), name)(*args, **kwargs)
    if repr(before) != repr((args, kwargs)):
        return NotImplemented  # it writes into an argument
    aval = aval_of(0 if seeds else found)
    if aval is None or is_array_without_axes(found):
        return NotImplemented
    value = hidden_draw(ctx, Draw(_source(ctx, owner), name, args, kwargs), aval)
    return None if seeds else value


def _source(ctx: Context, generator: Generator) -> Generator | int | Made:
    """The place at which a call of the derivative finds the generator that stands for this one."""
    if id(generator) in ctx.generators.made:
        made: Made = ctx.generators.made[id(generator)][1]
        return made
    known, place = ctx.generators.given.get(id(generator), (generator, None))
    return known if place is None else place


def _opened(v: Value) -> Any:
    """The generator that a value is; None for anything else."""
    v = v.value if isinstance(v, Foreign) else v
    return v if isinstance(v, _generators()) else None


def _made(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Any:
    """A generator, or the source of bits of one, that the function makes from a known seed."""
    if f is np.random.default_rng and len(args) == 1 and _opened(args[0]) is not None:
        return args[0]
    known = _known(ctx, args, kwargs, node)
    if len(ctx.builders) > 1 or known is None or all(v is None for v in leaves_in([*known[0], *known[1].values()])):
        return NotImplemented
    bits = [v for v in known[0] if isinstance(v, np.random.BitGenerator)]
    if any(id(v) not in ctx.generators.made for v in bits):
        return NotImplemented
    made = f(*known[0], **known[1])
    parts = [ctx.generators.made[id(v)][1] if isinstance(v, np.random.BitGenerator) else v for v in known[0]]
    ctx.generators.made[id(made)] = made, Made(f, parts, known[1])
    return made


def spliced_draw(
    ctx: Context, draw: Draw, aval: Aval, given: Sequence[Generator], renewed: dict[Any, Any]
) -> Value:
    """Like `drawn`, for draws of a called derivative with `given` arguments; NotImplemented where CPython must."""
    nest = tuple(renewed.setdefault(t, Turns(t.trips)) for t in draw.nest)
    owner = draw.owner
    if isinstance(owner, Made):
        if len(ctx.builders) > 1:
            return NotImplemented
        owner = renewed.setdefault(owner, Made(owner.maker, owner.args, owner.kwargs))
    elif isinstance(owner, int):
        owner = _source(ctx, given[owner])
    return hidden_draw(ctx, Draw(owner, draw.name, draw.args, draw.kwargs), aval, nest)


def hidden_draw(ctx: Context, draw: Draw, aval: Aval, within: tuple[Turns, ...] = ()) -> Value:
    """The hidden parameter of a draw, for which `within` says what loops of its own it has; every one has its own, and
    nobody else sees what is written into it. In a loop it is an array of what all trips draw, of which this is the
    entry of the trip.
    """
    loops = [ctx.loops.turns[b] for b in ctx.builders[1:]]
    nest = tuple(turns for turns, _ in loops)
    if nest or within:
        draw = Draw(draw.owner, draw.name, draw.args, draw.kwargs, (*nest, *within))
    var = Var("drawn", Aval((*(t.trips for t in nest), *aval.shape), aval.dtype, aval.weak and not nest))
    ctx.captures.params.append((Param(var.hint, LEAF, Capture(ctx.captures.root(draw), "drawn")), var, None))
    if not nest:
        return ctx.wrap(var)
    places = [trip() for _, trip in loops]
    dims: list[Dim] = [*(At(Dyn(i)) for i in range(len(places))), *(Run(0, n, 1) for n in aval.shape)]
    return ctx.wrap(make.index(ctx.b, var, dims, places))
