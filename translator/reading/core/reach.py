"""Every value within reach of a frame's names, and the containers among them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...ir import Var
from ..text.liveness import certain_parts, stores
from ..text.nodes import children
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
    frame: Frame,
    env: dict[str, Value],
    extra: Value = None,
    skipped: frozenset[type] = frozenset(),
    held: Callable[[Frame, Frame], Iterable[Value]] = lambda caller, callee: caller.env.values(),
) -> Iterator[Any]:
    """All values that the names of `env`, and of the frames around and before this one, lead to, each once; from lists
    and tuples not those of the `skipped` classes. Of a caller only those that it has `held` while the callee is read.
    """
    waiting: list[Any] = [extra, *env.values()]
    frames, seen_frames = [frame], {id(frame)}
    while frames:
        callee = frames.pop()
        for f in (callee.caller, callee.outer):
            if f is not None and id(f) not in seen_frames:
                seen_frames.add(id(f))
                waiting += held(f, callee) if f is callee.caller else f.env.values()
                frames.append(f)
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


def still_read(caller: Frame, callee: Frame) -> Iterable[Value]:
    """The values of a caller's names that it may read after the call, or in the rest of the statement with the call."""
    s, call = caller.statement, callee.call
    if not isinstance(s, _SIMPLE) or s not in caller.live.after or call is None:
        return caller.env.values()
    names = set(caller.live.after[s] - stores(s, certain_parts) | caller.live.inner)
    waiting: list[ast.AST] = [s]
    is_around = False
    for n in waiting:
        if n is call:
            is_around = True
            continue
        if isinstance(n, ast.Name) and (isinstance(n.ctx, ast.Load) or isinstance(s, ast.AugAssign)):
            names.add(n.id)
        waiting += children(n)
    if not is_around:
        return caller.env.values()
    return [v for name, v in caller.env.items() if name in names or name.startswith("%")]


_SIMPLE = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return


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
