"""Which variables differ between the lanes of a batch: a forward data flow to a fixed point.

    def f(x, n):                # x is batched, n is not
        k = n * 2               # the same for all lanes
        y = x * k               # differs
        if y > 0:
            k = 0               # differs from here on: the branch does
        return k
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, assert_never

from ..errors import Diagnostic, UnsupportedError
from ..ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Routine,
    Statement,
    Var,
    While,
    blocks_of,
    inputs_of,
    walk,
)
from ..ops.core import APPEND, LENGTH, TAPE_AVAL, Collective, CollectiveAttrs, Tape

Lanes = tuple[bool, ...]  # which values have a batch axis

class Batched(set[Var]):
    """Variables that differ between lanes; of lists, those whose entries do. `uneven`: lists whose lengths do."""

    def __init__(self, variables: Iterable[Var] = ()) -> None:
        super().__init__(variables)
        self.uneven: set[Var] = set()


_taken: ContextVar[dict[tuple[Routine, Lanes], Lanes] | None] = ContextVar("taken", default=None)



def batched_variables(
    function: Function, params: Iterable[Var], axis: Any = None, together: bool = True
) -> Batched:
    """All variables that depend on the batched `params`, by data or by a branch or a number of turns. What collectives
    over the batch, whose name is `axis`, say to all is the same for all. A counter that nobody reads after its loop is
    the same for all that still count, where they begin `together`.
    """
    batched = Batched(params)
    read = read_in(function.body) if together else None
    count = -1
    while len(batched) + len(batched.uneven) > count:
        count = len(batched) + len(batched.uneven)
        _block(function.body, batched, axis, read)
    _check_together(function.body, batched, axis)
    return batched


def speaks_over(s: Statement, axis: Any) -> bool:
    """Whether it is a collective over this axis."""
    return axis is not None and isinstance(s, Apply) and isinstance(s.attrs, CollectiveAttrs) and s.attrs.axis == axis


def apart(s: Apply) -> UnsupportedError:
    """What is said of a collective that some lanes come to, and some do not."""
    assert isinstance(s.attrs, CollectiveAttrs)
    return UnsupportedError(
        Diagnostic(
            f"lax.{s.op.name} over {s.attrs.axis!r} where the elements of a mapped axis go different ways",
            s.span,
            why="the branch or the number of turns around it differs between them, and all must come to it",
            instead="call it outside, and choose its result with np.where",
        )
    )


def _check_together(block: Block, batched: set[Var], axis: Any) -> None:
    """UnsupportedError where lanes go different ways around a collective, which all must come to."""
    for s in block.statements if axis is not None else ():
        match s:
            case If(condition=condition):
                differs = is_batched(condition, batched)
            case For(range=r):
                differs = any(is_batched(a, batched) for a in (r.start, r.stop, r.step))
            case While(condition=test):
                differs = any(is_batched(a, batched) for a in test.results[:1])
            case _:
                differs = False
        for inner in blocks_of(s):
            told = next((t for t in walk(inner) if speaks_over(t, axis)), None) if differs else None
            if isinstance(told, Apply):
                raise apart(told)
            _check_together(inner, batched, axis)


def differs(s: If | For | While, batched: set[Var]) -> bool:
    """Whether the lanes of a batch take different branches here, or different numbers of turns."""
    match s:
        case If(condition=condition):
            return is_batched(condition, batched)
        case For(range=r):
            return any(is_batched(a, batched) for a in (r.start, r.stop, r.step))
        case While(condition=test):
            return is_batched(test.results[0], batched)


def is_batched(a: Atom, batched: set[Var]) -> bool:
    return isinstance(a, Var) and a in batched


def shares_index(s: For, batched: set[Var]) -> bool:
    """Whether lanes differ at most in where they stop: one index then serves all of them. A loop that goes backwards
    and appends to lists has to begin with its first trip in all of them.
    """
    appends = any(isinstance(a, Apply) and a.op is APPEND for a in s.body.statements)
    if appends and s.range.reverse:
        return False
    return not is_batched(s.range.start, batched) and isinstance(s.range.step, Const)


def read_in(block: Block) -> set[Var]:
    """What some statement or some block in it asks for."""
    found: set[Atom] = {*block.results}
    for s in walk(block):
        found.update(inputs_of(s))
        for inner in blocks_of(s):
            found.update(inner.results)
    return {a for a in found if isinstance(a, Var)}


def _block(block: Block, batched: Batched, axis: Any, read: set[Var] | None) -> None:
    def any_of(*atoms: Atom) -> bool:
        return any(is_batched(a, batched) for a in atoms)

    for s in block.statements:
        match s:
            case Apply(op=Collective(name=name)) if speaks_over(s, axis):
                if name in ("ppermute", "axis_index"):
                    batched.update(s.targets)
            case Apply(op=Tape()):
                _list(s, batched)
            case Apply():
                if any_of(*s.args):
                    batched.update(s.targets)
            case If(condition=condition, then=then, orelse=orelse):
                _block(then, batched, axis, read)
                _block(orelse, batched, axis, read)
                for t, a, b in zip(s.targets, then.results, orelse.results, strict=True):
                    if any_of(condition, a, b):
                        batched.add(t)
            case For(range=r, inits=inits, body=body):
                if any_of(r.start, r.stop, r.step):
                    batched.update(body.params[1:] if shares_index(s, batched) else body.params, s.targets)
                for t, p, init, result in zip(s.targets, body.params[1:], inits, body.results, strict=True):
                    if any_of(init, result):
                        batched.update((t, p))
                    if t.aval == TAPE_AVAL and (init in batched.uneven or any_of(r.start, r.stop, r.step)):
                        batched.uneven.update((t, p))
                _block(body, batched, axis, read)
            case While(inits=inits, condition=test, body=body):
                rows = zip(s.targets, test.params, body.params, inits, body.results, strict=True)
                for t, c, p, init, result in rows:
                    if any_of(init, result) or ((read is None or t in read) and any_of(*test.results)):
                        batched.update((t, c, p))
                    if t.aval == TAPE_AVAL and (init in batched.uneven or any_of(*test.results)):
                        batched.uneven.update((t, p))
                _block(test, batched, axis, read)
                _block(body, batched, axis, read)
            case Raise(body=body):
                _block(body, batched, axis, read)
            case Invoke():
                lanes = batched_results(s.routine, tuple(is_batched(a, batched) for a in s.args))
                batched.update(t for t, lane in zip(s.targets, lanes, strict=True) if lane)
            case Fused():
                raise UnsupportedError("a program is batched before it is fused, not after")
            case _:
                assert_never(s)


def _list(s: Apply, batched: Batched) -> None:
    uneven = any(a in batched.uneven for a in s.args)
    if uneven if s.op is LENGTH else any(is_batched(a, batched) for a in s.args):
        batched.update(s.targets)
    if s.targets[0].aval == TAPE_AVAL and (uneven or (len(s.args) == 1 and is_batched(s.args[0], batched))):
        batched.uneven.update(s.targets)


def batched_results(routine: Routine, lanes: Lanes) -> Lanes:
    """Which results differ between the elements of a batch, where the arguments `lanes` do: the least fixed point."""
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


def goes_apart(s: Statement, batched: set[Var]) -> bool:
    """Whether the elements of a batch come to a routine's call, or to one inside it, in different ways."""
    return not isinstance(s, Apply) and _apart(s, batched, False, set())


def _apart(s: Statement, batched: set[Var], under: bool, seen: set[tuple[Routine, Lanes]]) -> bool:
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
