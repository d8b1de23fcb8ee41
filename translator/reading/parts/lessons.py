"""What a loop was found to carry, kept for the next reading of the body around it.

A body is read again until it is known what its loop carries, and each reading reads the loops inside anew: were they
to find out from the beginning every time, nests would be read 2 ** depth times. With what the reading before has found,
a loop that still begins with the same types is read once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from ...ir import Aval
from ...records import dataclass
from ..core.context import Context
from ..core.values import Ref, leaves_in
from .carry import Entered, Outcome, Place, Plan

Key = tuple[Any, ...]


@dataclass(slots=True)
class Lesson:
    """flags: whether the loop is left by `break` or `return`.

    types: of carried names, with the type that each began with. arrays: names, and which of their leaves is an array
    that the body changes otherwise than by that name.
    """

    flags: bool = False
    types: dict[tuple[Place, int], tuple[Aval, Aval]] = field(default_factory=dict)
    arrays: set[tuple[str, int]] = field(default_factory=set)

    def note(self, entered: Entered, outcome: Outcome) -> None:
        """Take over what one reading of the body has found."""
        for (place, i), aval in outcome.retyped.items():
            if place.kind == "name":
                begun = self.types.get((place, i), (entered.leaves[place][i].param.aval, aval))[0]
                self.types[place, i] = begun, aval
        missed = {id(p.target) for p in outcome.new if p.kind == "cell"}
        for name, value in entered.env.items() if missed else ():
            for k, leaf in enumerate(leaves_in(value)):
                if type(leaf) is Ref and id(leaf.cell) in missed:
                    self.arrays.add((name, k))

    def tell(self, ctx: Context, plan: Plan) -> None:
        """Begin a plan with what is known."""
        env = ctx.frame.env
        for (place, i), (begun, aval) in self.types.items():
            if place in plan.places:
                inits = list(leaves_in(place.read(ctx)))
                if i < len(inits) and ctx.carried(inits[i]).aval == begun:
                    plan.types[place, i] = aval
        for name, k in sorted(self.arrays):
            leaf = next((x for j, x in enumerate(leaves_in(env.get(name))) if j == k), None)
            if type(leaf) is Ref and not leaf.cell.immutable and not leaf.cell.doubt:
                place = Place("cell", id(leaf.cell), leaf.cell)
                twins = (Place("cell", id(t)) for t in leaf.cell.twins)
                if not any(p in plan.places for p in (place, *twins)):
                    plan.places.append(place)


@contextmanager
def meeting(ctx: Context, node: ast.AST) -> Iterator[None]:
    """While a loop is read, in whatever form: it has the place that it had when the body around it was read before,
    if that met the same loops up to it: in the same trips, calls and branches. Otherwise what was found there is not
    about this loop, and it has a new place.
    """
    loops = ctx.loops
    order, k = loops.order.setdefault(loops.inside, []), loops.count
    what = (node, ctx.frame.call, tuple(loops.unrolled.items()), len(ctx.builders))
    if k == len(order) or order[k].what != what:
        order[k:] = [_Met(what)]
    before = loops.met.get(node)
    loops.met[node] = order[k]
    loops.count += 1
    try:
        yield
    finally:
        loops.met[node] = before


class _Met:
    """A loop in the order of those of a body; compared by identity."""

    __slots__ = ("what",)

    def __init__(self, what: Key) -> None:
        self.what = what


def lesson_of(ctx: Context, node: ast.AST, form: Key = ()) -> Lesson:
    """The lesson of a loop that is being read, for one form of it."""
    key = (ctx.loops.met.get(node), node, form)
    lesson: Lesson = ctx.loops.lessons.setdefault(key, Lesson())
    return lesson


@contextmanager
def inside(ctx: Context, node: ast.AST) -> Iterator[None]:
    """One reading of the body, in whatever form: the loops in it are counted from the beginning."""
    loops = ctx.loops
    before = loops.inside, loops.count
    loops.inside, loops.count = (loops.met.get(node), (node, ctx.frame) in loops.peeling), 0
    try:
        yield
    finally:
        loops.inside, loops.count = before
