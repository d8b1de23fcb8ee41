"""Calls of routines in a batch: where its elements recurse together, the routine itself is batched.

    d_x = f_vjp(x, ct)          ->          d_x = f_vjp_batched(x, ct)          # ct batched, x not

Elements that would call to different depths call one after another (`lanes`); where they must come together, for a
collective, they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from .. import make
from ..errors import Diagnostic, UnsupportedError
from ..ir import Atom, Block, Function, Invoke, Routine, Statement, Var, walk
from ..routines import program_of
from .rules import batched_aval
from .spread import Lanes, batched_results

if TYPE_CHECKING:
    from .vmap import Batcher

Vmap = Callable[..., Function]  # (function, in_axes, out_axes, size): `vmap.vmap`


def with_called(s: Statement) -> Iterator[Statement]:
    """A statement and all that it contains, the bodies of routines that it calls among that."""
    waiting, seen = [Block((), (s,), ())], set[Routine]()
    while waiting:
        for inner in walk(waiting.pop()):
            yield inner
            if isinstance(inner, Invoke) and inner.routine not in seen:
                seen.add(inner.routine)
                waiting.append(inner.routine.function.body)


def invoke(batcher: Batcher, s: Invoke, vmap: Vmap) -> None:
    """Append the call for all elements, of the routine that `vmap` makes of this one.

    Raises UnsupportedError where they would not make it together.
    """
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
    routine = _batched(s.routine, lanes, batcher, vmap) if any(lanes) else s.routine
    targets = tuple(batcher.fresh(t) for t in s.targets)
    batcher.b.append(Invoke(targets, tuple(v.atom for v in values), routine, s.span))


def _nothing(batcher: Batcher, target: Var) -> Atom:
    """What a call gives that no element makes."""
    aval = batched_aval(target.aval, 0) if target in batcher.batched else target.aval
    if aval.weak:
        return make.lift(aval.dtype.type(0).item())
    return make.zeros(batcher.b, aval.shape, aval.dtype)


def _batched(of: Routine, lanes: Lanes, batcher: Batcher, vmap: Vmap) -> Routine:
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
