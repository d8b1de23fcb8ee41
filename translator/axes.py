"""The named axes around the function being read, as `vmap(f, axis_name="i")` declares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


@contextmanager
def named_axis(name: Any, size: int) -> Iterator[None]:
    """What is read inside may speak over the axis; None is no name. An inner axis hides an outer one of its name."""
    known = _axes.get() or {}
    token = _axes.set(known if name is None else {**known, name: size})
    try:
        yield
    finally:
        _axes.reset(token)


def size_of(name: Any) -> int:
    """The size of a named axis. Raises NameError, as JAX does, where none has the name."""
    known = _axes.get() or {}
    try:
        return known[name]
    except TypeError:
        raise TypeError(f"axis_name must be hashable, got {name!r}") from None
    except KeyError:
        there = f"here there {'is' if len(known) == 1 else 'are'} {', '.join(map(repr, known)) or 'none'}"
        raise NameError(
            f"unbound axis name: {name}. Name the axis where the function is mapped, vmap(f, axis_name={name!r}); "
            f"{there}"
        ) from None


_axes: ContextVar[Mapping[Any, int] | None] = ContextVar("axes", default=None)
