"""Derivatives of functions that call themselves, which are functions that call themselves.

    def f(x):                       def f_vjp(x, ct):                     def f_jvp(x, d_x):
        if x > 10.0:                    if x > 10.0:                          if x > 10.0:
            return x                        return ct                             return x, d_x
        return f(x * x)                 d_t = f_vjp(x * x, ct)                return f_jvp(x * x, d_x * x + d_x * x)
                                        return d_t * x + d_t * x

The pullback computes again what the function computed, so that nothing has to be kept between the two: what it does not
need is dead code, for most functions the calls of the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..builder import Builder
from ..ir import Atom, Block, Const, Invoke, Routine, Var, const, walk
from ..rewrite import copy_block
from ..routines import program_of
from .activity import inexact, useful, varied
from .cotangents import adjoint_hint, materialise, strong
from .trips import Trips

if TYPE_CHECKING:
    from .adjoints import Adjoints

Forward = Callable[[Builder, Block, dict[Var, Atom]], Sequence[Atom | None]]


def routine_jvp(b: Builder, s: Invoke, tangents: Sequence[Atom | None], forward: Forward) -> dict[Var, Atom]:
    """Append the call of the values and their tangents, which are returned; `forward` goes through the body."""
    moving = tuple(i for i, t in enumerate(tangents) if t is not None)
    if not moving:
        b.append(s)
        return {}
    moving = _settled(s.routine, moving)
    seeds = [_full(b, tangents[i], s.args[i]) for i in moving]
    out = {t: Var(adjoint_hint(t), strong(t.aval)) for t in s.targets if inexact(t.aval)}
    routine = s.routine.derived.get(("jvp", moving)) or _jvp_routine(s.routine, moving, forward)
    b.append(Invoke((*s.targets, *out.values()), (*s.args, *seeds), routine, s.span))
    return dict(out)


def _jvp_routine(of: Routine, moving: tuple[int, ...], forward: Forward) -> Routine:
    made = of.derived["jvp", moving] = Routine(f"{of.name}_jvp")
    body = copy_block(of.function.body, {})
    seeds = {body.params[i]: Var(adjoint_hint(body.params[i]), strong(body.params[i].aval)) for i in moving}
    b = Builder(of.function.span)
    found = forward(b, body, dict(seeds))
    pairs = [(r, t) for r, t in zip(body.results, found, strict=True) if inexact(r.aval)]
    outs = [materialise(b, t, strong(r.aval)) for r, t in pairs]
    whole = b.block((*body.params, *seeds.values()), (*body.results, *outs))
    made.function = program_of(made.name, whole, of.function.span)
    return made


def routine_vjp(s: Invoke, adj: Adjoints) -> None:
    """Append the call of the pullback, where any of the results has a cotangent."""
    cts = {t: adj.take(t) for t in s.targets}
    moving = tuple(i for i, a in enumerate(s.args) if a in adj.active)
    if not moving or all(c is None for c in cts.values()):
        return
    wanted, moving = set(moving), _settled(s.routine, moving)
    given = [_full(adj.b, c, t) for t, c in cts.items() if inexact(t.aval)]
    routine = s.routine.derived.get(("vjp", moving)) or _vjp_routine(s.routine, moving, type(adj))
    out = [Var(adjoint_hint(a) if isinstance(a, Var) else "d_t", strong(a.aval)) for a in (s.args[i] for i in moving)]
    adj.b.append(Invoke(tuple(out), (*s.args, *given), routine, s.span))
    for i, c in zip(moving, out, strict=True):
        if i in wanted:
            adj.add(s.args[i], c)


def _full(b: Builder, c: Atom | None, of: Atom) -> Atom:
    """The tangent or cotangent of a value, of its shape and dtype."""
    aval = strong(of.aval)
    if isinstance(c, Const) and not aval.shape:
        return const(aval.dtype.type(c.value))
    return materialise(b, c, aval)


def _settled(of: Routine, moving: tuple[int, ...]) -> tuple[int, ...]:
    """The arguments that move in the calls of itself, where these move in the first: one derivative serves for all."""
    body, found = of.function.body, set(moving)
    while True:
        moved = varied(body, (body.params[i] for i in found))
        own = (s.args for s in walk(body) if isinstance(s, Invoke) and s.routine is of)
        more = {i for args in own for i, a in enumerate(args) if a in moved} | found
        if more == found:
            return tuple(sorted(found))
        found = more


def _vjp_routine(of: Routine, moving: tuple[int, ...], adjoints: type[Adjoints]) -> Routine:
    made = of.derived["vjp", moving] = Routine(f"{of.name}_vjp")
    body = copy_block(of.function.body, {})
    cts = {k: Var("ct", strong(r.aval)) for k, r in enumerate(body.results) if inexact(r.aval)}
    b = Builder(of.function.span)
    active = varied(body, (body.params[i] for i in moving)) & useful(body, body.results)
    adj = adjoints(b, active, Trips(of.function, ask=False))
    for k, c in cts.items():
        adj.add(body.results[k], c)
    ahead = adj.backward(body.statements)
    wanted = [body.params[i] for i in moving]
    found = tuple(materialise(b, adj.table.get(v), strong(v.aval)) for v in wanted)
    whole = Block((*body.params, *cts.values()), (*ahead, *b.statements), found)
    made.function = program_of(made.name, whole, of.function.span)
    return made
