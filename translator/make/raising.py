"""Raising exceptions for what is found at run time."""

from __future__ import annotations

from ..builder import Builder
from ..ir import Block, Const, Raise
from ..thrown import Known, Thrown
from .base import lift
from .reductions import any


def raise_if(b: Builder, bad: object, error: type[Exception], message: str) -> None:
    """Raises `error(message)` at run time where any of `bad` is true."""
    bad = lift(bad)
    if bad.aval.shape:
        bad = any(b, bad)
    if not isinstance(bad, Const) or bad.value:
        b.append(Raise(bad, Block((), (), ()), Thrown(error, (Known(message),)), b.span))
