"""What functions are called, and where they begin, for messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...translator.reading.text.signature import runs
from ...translator.reading.text.source import definition

if TYPE_CHECKING:
    from ...translator.errors import Span

Fun = Callable[..., Any]


class Standing:
    """Something that stands for what a transformation makes of a function. Its `str` says of which."""

    @property
    def place(self) -> Span:
        """Where the user's function begins."""
        raise NotImplementedError


def place_of(fun: Fun) -> Span:
    """Where the function of the user's begins that `fun` is or is made of; NOWHERE where there is none."""
    own = runs(fun)
    return own.place if isinstance(own, Standing) else definition(own)


def named(fun: Fun) -> str:
    """A function by its name, a transformation by what it does to which: `grad of vmap of f`."""
    return str(fun) if isinstance(fun, Standing) else getattr(fun, "__qualname__", repr(fun))
