"""Every value within reach of a frame's names, and the containers among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ir import Var
from .telling import Telling
from .values import (
    Bound,
    Closure,
    DictView,
    Enumerate,
    Flat,
    Frame,
    Generator,
    Iterated,
    Masked,
    Method,
    Partial,
    Ref,
    Reversed,
    Value,
    Zip,
    attributes_of,
    is_object,
)


def objects_of(
    frame: Frame, env: dict[str, Value], extra: Value = None, skipped: frozenset[type] = frozenset()
) -> Iterator[Any]:
    """All values that the names of `env`, and of the frames around and before this one, lead to, each once; from lists
    and tuples not those of the `skipped` classes.
    """
    waiting: list[Any] = [extra, *env.values()]
    frames, seen_frames = [frame.caller, frame.outer], {id(frame)}
    while frames:
        f = frames.pop()
        if f is not None and id(f) not in seen_frames:
            seen_frames.add(id(f))
            waiting += f.env.values()
            frames += [f.caller, f.outer]
    seen: set[int] = set()
    while waiting:
        v = waiting.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        yield v
        if isinstance(v, dict):
            waiting += v.values()
        elif isinstance(v, list | tuple):
            waiting += [x for x in v if type(x) not in skipped] if skipped else v
        elif type(v) is Closure:
            waiting += [*v.defaults.values(), *(v.frame.env.values() if id(v.frame) not in seen_frames else ())]
            seen_frames.add(id(v.frame))
        elif type(v) is Bound or type(v) is Method:
            waiting.append(v.owner)
        elif type(v) is Partial:
            waiting += [*v.args, *v.kwargs.values()]
        elif type(v) in (Enumerate, Reversed, Iterated):
            waiting.append(v.inner)
        elif type(v) is Zip:
            waiting += v.parts
        elif type(v) is Generator:
            waiting += v.items
        elif type(v) is DictView:
            waiting.append(v.owner)
        elif type(v) is Flat:
            waiting.append(v.line)
        elif type(v) is Masked:
            waiting.append(v.whole)
        elif is_object(v) and not isinstance(v, Telling):  # a reading, which inner functions hold
            waiting += attributes_of(v).values()


def containers_of(frame: Frame, env: dict[str, Value]) -> Iterator[Any]:
    """Lists, dicts, sets and objects among them, and iterators, which know what they still have to give."""
    changing = (list, dict, set, Iterated, Generator)
    return (v for v in objects_of(frame, env, skipped=_NUMBERS) if isinstance(v, changing) or is_object(v))


_NUMBERS: frozenset[type] = frozenset({int, float, bool, complex, str, type(None), Var, Ref})
"""They lead to nothing; tables of them are looked through at each branch."""


def restore_container(target: Any, old: Any) -> None:
    if isinstance(target, list):
        target[:] = old
    else:
        target.clear()
        target.update(old)
