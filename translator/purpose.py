"""What a translation is for: its target, the derivatives still to be taken, and what it records on the way.

The reader meets transformations inside the functions that it reads, and these call it again. So the purpose is one
context variable, not a parameter of every function in between. It is immutable; `with purposed(...)` changes it for a
block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .records import dataclass

if TYPE_CHECKING:
    from .batch.lanes import LoopNote
    from .ir import Function


@dataclass(frozen=True, slots=True)
class Purpose:
    """The answers to what reader, transformations and passes ask about the translation around them."""

    target: str = "numpy"  # decides between forms of equal meaning
    orders: int = 0  # how many derivatives will be taken of what is being read; -1 for rules of the last one
    keeps_calls: bool = False  # recursive calls may stay calls: what is being read is to be derived or batched
    marks_kinds: bool = False  # numbers whose kind the data decides are marked, for `passes/kinds`
    draws: bool = False  # loops of what is being read may draw from generators, if they can: see `randomness`
    hands_back: bool = False  # the caller gets his own arrays, and views of them, where NumPy gives these
    stages: dict[str, Function] | None = None  # the program after each pass
    loops: dict[LoopNote, None] | None = None  # what became of loops; a dict, since a program may be read again

    @property
    def runs_loops(self) -> bool:
        """Whether loops over elements are native code, in which a turn takes nanoseconds."""
        return self.target == "cpu" and compiles_loops()

    @property
    def derives(self) -> bool:
        """Whether what is being read will be differentiated, so that custom rules must be read, too."""
        return self.orders > 0

    @property
    def transposes(self) -> bool:
        """Whether what is being read may be transposed: it will be differentiated, or is a rule of a derivative."""
        return self.orders >= 0


def _none_compiled() -> bool:
    return False


compiles_loops: Callable[[], bool] = _none_compiled
"""Whether the target "cpu" compiles loops to native code. `runtime/targets/programs` sets it, knowing the compiler."""

_NONE = Purpose()
_current: ContextVar[Purpose] = ContextVar("purpose", default=_NONE)


def purpose() -> Purpose:
    """What the program that is being made is for."""
    return _current.get()


@contextmanager
def purposed(**changes: Any) -> Iterator[None]:
    """Another purpose inside the block; `changes` are fields of `Purpose`."""
    token = _current.set(replace(_current.get(), **changes))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def reading_rules(taken: int = 1) -> Iterator[None]:
    """Inside the block rules of a function are read, which are derivatives already: `taken` fewer are to be taken.

    Rules that use functions with rules could go ever deeper; this way they are read only as deep as is asked for.
    """
    with purposed(orders=purpose().orders - taken):
        yield


def note_loops(notes: Sequence[LoopNote]) -> None:
    """Record what became of loops; equal notes, from a program that is read again, count once."""
    known = purpose().loops
    if known is not None:
        known.update(dict.fromkeys(notes))
