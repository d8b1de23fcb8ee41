"""Numbers that are of one type or of another, depending on a condition: Python's 0 or NumPy's float64.

    return max(0, x)                    t = np.maximum(0, x)
                                        if not x > 0: raise OverflowError(...)        # CPython runs the call: 0
                                        return t

A program gives such a number one type, to which the others convert. With it goes a flag, true where its type is another
one. Where what is returned has such a flag, the program holds for the calls in which it is false, and others are
CPython's. Through loops no flag is carried.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import UntracedError
from ..ir import Atom, Aval, Const, Var
from ..ops.core import Elementwise

if TYPE_CHECKING:
    from .context import Context

Mixed = tuple[Atom, frozenset[Aval]]  # the flag, and the types that the number may have in place of its own


def told(ctx: Context) -> bool:
    """Whether the types of results are looked at: in what is accelerated, outside the library."""
    return ctx.keeps_changes and ctx.boxes


def of(ctx: Context, atom: Atom, type: Aval) -> Mixed:
    """What there is to say of a number that is converted to `type`."""
    if atom.aval != type:
        return make.lift(np.True_), frozenset({atom.aval})
    return ctx.mixed.get(atom, _PLAIN) if isinstance(atom, Var) else _PLAIN


_PLAIN: Mixed = (make.lift(np.False_), frozenset())


def note(ctx: Context, result: Any, flag: Atom, types: Iterable[Aval]) -> None:
    others = frozenset(types)
    if others and isinstance(result, Var) and not (isinstance(flag, Const) and not flag.value):
        ctx.mixed[result] = (flag, others)


def follow(ctx: Context, op: Elementwise, atoms: tuple[Atom, ...], result: Atom) -> None:
    """What an operation gives has another type, too, where that of an operand decides it."""
    flags = [ctx.mixed[a][0] for a in atoms if isinstance(a, Var) and a in ctx.mixed]
    if not flags or not told(ctx):
        return
    choices = [[a.aval, *(ctx.mixed[a][1] if isinstance(a, Var) and a in ctx.mixed else ())] for a in atoms]
    found = {_type_of(op, avals) for avals in itertools.product(*choices)} - {result.aval}
    flag = flags[0]
    for other in flags[1:]:
        flag = make.logical_or(ctx.b, flag, other)
    note(ctx, result, flag, found)


def _type_of(op: Elementwise, avals: tuple[Aval, ...]) -> Aval:
    try:
        return make.elementwise(Builder(), op, *(Var("t", a) for a in avals)).aval
    except UntracedError:  # CPython says so, if it comes to that
        return Aval((), np.dtype(np.void))


def extreme(ctx: Context, second_first: Callable[..., Atom], atoms: list[Atom], result: Atom) -> None:
    """Python's max or min, which is one of its arguments."""
    if not told(ctx) or not isinstance(result, Var):
        return
    said = [of(ctx, a, result.aval) for a in atoms]
    if all(not types for _, types in said):
        return
    best, flag = atoms[0], said[0][0]
    for atom, (other, _) in zip(atoms[1:], said[1:], strict=True):
        first = second_first(ctx.b, atom, best)
        best = make.where(ctx.b, first, atom, best)
        flag = make.where(ctx.b, first, other, flag)
    note(ctx, result, flag, frozenset().union(*(types for _, types in said)))


def check(ctx: Context, result: Atom) -> None:
    """Leave the call to CPython where what is returned has another type than in the program."""
    if isinstance(result, Var) and result in ctx.mixed and told(ctx):
        make.raise_if(ctx.b, ctx.mixed[result][0], OverflowError, "the result is a number of another type")
