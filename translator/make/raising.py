"""Raising exceptions for what is found at run time."""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import Builder
from ..ir import Block, Const, Raise, Var
from ..purpose import purpose
from ..thrown import OTHER_KIND, Known, Thrown
from .base import lift
from .reductions import any


def raise_if(b: Builder, bad: object, error: type[Exception], message: str) -> None:
    """Raises `error(message)` at run time where any of `bad` is true."""
    bad = lift(bad)
    if bad.aval.shape:
        bad = any(b, bad)
    if not isinstance(bad, Const) or bad.value:
        b.append(Raise(bad, Block((), (), ()), Thrown(error, (Known(message),)), b.span))


def ask_kind(b: Builder, x: Var, same: Sequence[Const] = ()) -> None:
    """Notes that what is made of a number depends on its kind. The pass `kinds` gives this `Raise`, which is without
    effect till then, its condition: that the number is of another kind than its type says, and than those in `same`.
    """
    if purpose().marks_kinds:
        b.append(Raise(lift(False), Block((), (), (x, *same)), OTHER_KIND, b.span))
