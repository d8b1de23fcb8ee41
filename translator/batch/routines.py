"""Calls of routines in a batch: where its elements recurse together, the routine itself is batched.

    d_x = f_vjp(x, ct)          ->          d_x = f_vjp_batched(x, ct)          # ct batched, x not

Elements that would call to different depths call one after another (`lanes`); where they must come together, for a
collective, they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

from .. import make
from ..errors import Diagnostic, UnsupportedError
from ..ir import Apply, Atom, Block, For, If, Invoke, Routine, Statement, Var, While, blocks_of, walk
from ..routines import program_of
from .rules import batched_aval

if TYPE_CHECKING:
    from .vmap import Batcher

Lanes = tuple[bool, ...]  # which values have a batch axis

_taken: ContextVar[dict[tuple[Routine, Lanes], Lanes] | None] = ContextVar("taken", default=None)


def batched_results(routine: Routine, lanes: Lanes) -> Lanes:
    """Which results differ between the elements of a batch, where the arguments `lanes` do: the least fixed point."""
    from .spread import batched_variables

    taken = _taken.get()
    key = (routine, lanes)
    if taken is None:
        token = _taken.set({})
        try:
            return batched_results(routine, lanes)
        finally:
            _taken.reset(token)
    if key in taken:
        return taken[key]
    body = routine.function.body
    taken[key] = (False,) * len(body.results)
    while True:
        found = batched_variables(routine.function, [p for p, lane in zip(body.params, lanes, strict=True) if lane])
        results = tuple(r in found for r in body.results)
        if results == taken[key]:
            return results
        taken[key] = results
        for later in list(taken)[list(taken).index(key) + 1 :]:  # what rests on less
            del taken[later]


def with_called(s: Statement) -> Iterator[Statement]:
    """A statement and all that it contains, the bodies of routines that it calls among that."""
    waiting, seen = [Block((), (s,), ())], set[Routine]()
    while waiting:
        for inner in walk(waiting.pop()):
            yield inner
            if isinstance(inner, Invoke) and inner.routine not in seen:
                seen.add(inner.routine)
                waiting.append(inner.routine.function.body)


def goes_apart(s: Statement, batched: set[Var]) -> bool:
    """Whether the elements of a batch come to a routine's call, or to one inside it, in different ways."""
    return not isinstance(s, Apply) and _apart(s, batched, False, set())


def _apart(s: Statement, batched: set[Var], under: bool, seen: set[tuple[Routine, Lanes]]) -> bool:
    from .spread import batched_variables, differs, is_batched

    if isinstance(s, Invoke):
        key = (s.routine, tuple(is_batched(a, batched) for a in s.args))
        if under or key in seen:
            return under
        seen.add(key)
        body = s.routine.function.body
        inside = batched_variables(s.routine.function, [p for p, lane in zip(body.params, key[1], strict=True) if lane])
        return any(_apart(inner, inside, False, seen) for inner in body.statements)
    under = under or (isinstance(s, If | For | While) and differs(s, batched))
    return any(_apart(inner, batched, under, seen) for block in blocks_of(s) for inner in block.statements)


def invoke(batcher: Batcher, s: Invoke) -> None:
    """Append the call for all elements. Raises UnsupportedError where they would not make it together."""
    values = [batcher.value(a) for a in s.args]
    if batcher.mask is not None and not batcher.size:
        for t in s.targets:
            batcher.define(t, partial(_nothing, batcher, t))
        return
    if batcher.mask is not None:
        raise UnsupportedError(
            Diagnostic(
                f"vmap of {s.routine.name}, which calls itself as the data ask for",
                s.span,
                why="the elements of a batch would call it to different depths",
                instead="write the recursion as a loop, or map in Python: [f(x) for x in xs]",
            )
        )
    lanes = tuple(v.batched for v in values)
    routine = _batched(s.routine, lanes, batcher) if any(lanes) else s.routine
    targets = tuple(batcher.fresh(t) for t in s.targets)
    batcher.b.append(Invoke(targets, tuple(v.atom for v in values), routine, s.span))


def _nothing(batcher: Batcher, target: Var) -> Atom:
    """What a call gives that no element makes."""
    aval = batched_aval(target.aval, 0) if target in batcher.batched else target.aval
    if aval.weak:
        return make.lift(aval.dtype.type(0).item())
    return make.zeros(batcher.b, aval.shape, aval.dtype)


def _batched(of: Routine, lanes: Lanes, batcher: Batcher) -> Routine:
    from .vmap import vmap

    key = ("lanes", lanes, batcher.size)
    if key not in of.derived:
        made = of.derived[key] = Routine(f"{of.name}_batched")
        outs = [0 if lane else None for lane in batched_results(of, lanes)]
        try:
            function = vmap(of.function, [0 if lane else None for lane in lanes], outs, batcher.size)
        except UnsupportedError:
            del of.derived[key]
            raise
        made.function = program_of(made.name, function.body, of.function.span)
    return of.derived[key]
