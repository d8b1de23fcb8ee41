"""What an accelerated function shows of the function that it wraps, to `inspect`, `functools` and `pickle`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

Fun = Callable[..., Any]


class OfFunction:
    """An attribute that is the wrapped function's: read there, and changed there, so that the next call sees it.
    AttributeError where that is no Python function but a transformation of one.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, wrapper: Any, owner: type | None = None) -> Any:
        return self if wrapper is None else getattr(wrapper.fun, self.name)

    def __set__(self, wrapper: Any, value: Any) -> None:
        setattr(wrapper.fun, self.name, value)


def take_after(wrapper: Any, fun: Fun) -> None:
    """Give a wrapper the name, documentation, annotations and attributes of a function, as `functools.wraps` does.

    Private attributes, and those with the name of one of the wrapper's own methods, are left out: `f.inspect` is never
    the user's.
    """
    functools.update_wrapper(wrapper, fun, updated=())
    own = {k: v for k, v in getattr(fun, "__dict__", {}).items() if not k.startswith("_")}
    wrapper.__dict__.update({k: v for k, v in own.items() if not hasattr(type(wrapper), k)})
    wrapper.__name__ = getattr(fun, "__name__", repr(fun))
    if getattr(fun, "__isabstractmethod__", False):
        wrapper.__isabstractmethod__ = True  # kept for abstract base classes


def bind(wrapper: Any, fun: Any, instance: Any) -> None:
    """Let a wrapper show what a bound method shows: the object, the function and its place in the class."""
    wrapper.__self__, wrapper.__func__ = instance, fun
    wrapper.__qualname__, wrapper.__module__ = fun.__qualname__, fun.__module__


def by_name(wrapper: Any) -> Any:
    """How `pickle` finds a wrapper again: a decorated function by its qualified name, a bound method at its object.
    None where neither leads to it.
    """
    instance, attribute = getattr(wrapper, "__self__", None), wrapper.__name__
    if instance is not None and getattr(instance, attribute, None) is wrapper:
        return getattr, (instance, attribute)
    name = getattr(wrapper.fun, "__qualname__", "")
    found: Any = sys.modules.get(getattr(wrapper.fun, "__module__", ""))
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is wrapper else None
