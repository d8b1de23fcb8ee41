"""`dataclass` as in Python's dataclasses, made in a fifth of the time.

For each class Python writes and compiles up to six methods, which takes 1.4 ms where cores are slow, and the house has
250 classes. Here only `__init__` is written, when the first object is made: `__eq__`, `__hash__` and `__repr__` are
functions over the fields. That nobody assigns to the fields of a frozen class is left to the type checker, so its
`__init__` need not go around that.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, **options: bool) -> Any:
        """Takes `frozen`, `slots`, `eq` and `kw_only`."""
        return partial(_made, **options) if cls is None else _made(cls, **options)


def _made(cls: type, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False) -> Any:
    own = cls.__dict__
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # Python would write its signature there, which it has to inspect
    made: Any = dataclasses.dataclass(init=False, eq=False, repr=False, slots=slots, kw_only=kw_only)(cls)
    if "__init__" not in own:
        made.__init__ = _first_init(made)
        made.__signature__ = _Signature(made)
    if "__repr__" not in own:
        made.__repr__ = _repr
    if not eq:
        return made
    key = _key(made)
    if "__eq__" not in own:
        made.__eq__ = _equality(key)
    if own.get("__hash__") is None:  # None is what Python puts there beside an __eq__
        made.__hash__ = (lambda self: hash(key(self))) if frozen else None
    return made


def _first_init(cls: Any) -> Callable[..., None]:
    """Puts the real one in its own place, and calls it."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = _written_init(cls)
        cls.__init__(self, *args, **kwargs)

    return __init__


class _Signature:
    """The parameters of a class, for `help` and `inspect`."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is not None:
            raise AttributeError("__signature__")
        import inspect

        init = _written_init(self.cls) if owner.__init__ is self.cls.__init__ else owner.__init__
        whole = inspect.signature(init)
        return whole.replace(parameters=list(whole.parameters.values())[1:])


def _written_init(cls: Any) -> Any:
    """A parameter for each field, in order, those by keyword alone last."""
    space: dict[str, Any] = {}
    by_place: list[str] = ["self"]
    by_keyword: list[str] = []
    lines: list[str] = []
    for f in dataclasses.fields(cls):
        parameter, value = f.name, f.name
        if f.default_factory is not dataclasses.MISSING:
            space[f"_make_{f.name}"] = f.default_factory
            value = f"_make_{f.name}()"
            if f.init:
                parameter, value = f"{f.name}=_missing", f"{value} if {f.name} is _missing else {f.name}"
        elif f.default is not dataclasses.MISSING:
            space[f"_default_{f.name}"] = f.default
            parameter = f"{f.name}=_default_{f.name}"
            value = f.name if f.init else f"_default_{f.name}"
        elif not f.init:
            continue
        lines.append(f"    self.{f.name} = {value}")
        if f.init:
            (by_keyword if f.kw_only else by_place).append(parameter)
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    star = ["*", *by_keyword] if by_keyword else []
    text = f"def __init__({', '.join([*by_place, *star])}):\n" + ("\n".join(lines) or "    pass")
    space["_missing"] = dataclasses.MISSING
    exec(text, space)
    space["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return space["__init__"]


def _key(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    """What instances are compared by."""
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple([getattr(self, name) for name in names])


def _equality(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], Any]:
    def equal(self: Any, other: object) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


_DEEPEST = 4
"""Levels that are written out: records share their parts, and a frame of a reading would take gigabytes."""
_level = threading.local()


@recursive_repr("...")
def _repr(self: Any) -> str:
    level = getattr(_level, "value", 0)
    if level == _DEEPEST:
        return f"{type(self).__qualname__}(...)"
    _level.value = level + 1
    try:
        shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    finally:
        _level.value = level
    return f"{type(self).__qualname__}({', '.join(shown)})"
