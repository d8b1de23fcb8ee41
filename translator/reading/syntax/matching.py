"""`match` statements: patterns are tried in order; comparisons with run-time numbers become branches."""

from __future__ import annotations

import ast
from typing import Any

from ... import make
from ...ir import Atom
from ..core.context import Context
from ..core.values import Ref, Value, is_object
from ..paths.flow import Flow, Kont, sequence
from ..provided.pythonic import BUILTINS
from ..uses.attributes import get_attribute
from ..uses.conditions import truth
from ..uses.operators import compare_pair
from .assignment import bind_name
from .control import branches

Verdict = bool | Atom
_CAPTURED_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def match_(ctx: Context, node: ast.Match, kont: Kont) -> Flow | None:
    return _cases(ctx, node, ctx.eval(node.subject), 0, kont)


def _cases(ctx: Context, node: ast.Match, subject: Value, start: int, kont: Kont) -> Flow | None:
    for i in range(start, len(node.cases)):
        case = node.cases[i]
        verdict = matches(ctx, case.pattern, subject)
        if verdict is not False and case.guard is not None:
            verdict = _both(ctx, verdict, truth(ctx, ctx.eval(case.guard), case.guard))
        if verdict is True:
            return sequence(ctx, case.body, kont)
        if verdict is not False:
            return branches(
                ctx,
                node,
                case.pattern,
                verdict,
                lambda k, body=case.body: sequence(ctx, body, k),  # type: ignore[misc]
                lambda k, rest=i + 1: _cases(ctx, node, subject, rest, k),  # type: ignore[misc]
                kont,
            )
    return None


def _both(ctx: Context, x: Verdict, y: Verdict) -> Verdict:
    if isinstance(x, bool):
        return y if x else False
    if isinstance(y, bool):
        return x if y else False
    return make.logical_and(ctx.b, x, y)


def matches(ctx: Context, pattern: ast.pattern, subject: Value) -> Verdict:
    """Whether the subject has the form; names of the pattern are bound on the way."""
    match pattern:
        case ast.MatchValue(value=value):
            return truth(ctx, compare_pair(ctx, ast.Eq(), subject, ctx.eval(value), pattern), pattern)
        case ast.MatchSingleton(value=value):
            return subject is value
        case ast.MatchAs(pattern=inner, name=name):
            found = True if inner is None else matches(ctx, inner, subject)
            if name is not None and found is not False:
                bind_name(ctx, name, subject)
            return found
        case ast.MatchOr(patterns=patterns):
            return _any(ctx, patterns, subject)
        case ast.MatchSequence(patterns=patterns):
            return _sequence(ctx, patterns, subject)
        case ast.MatchMapping():
            return _mapping(ctx, pattern, subject)
        case ast.MatchClass():
            return _class(ctx, pattern, subject)
        case _:
            raise AssertionError("a star stands in a sequence, which takes it")


def _any(ctx: Context, patterns: list[ast.pattern], subject: Value) -> Verdict:
    found: Verdict = False
    for p in patterns:
        verdict = matches(ctx, p, subject)
        if verdict is True:
            return True
        if not isinstance(verdict, bool):
            found = verdict if isinstance(found, bool) else make.logical_or(ctx.b, found, verdict)
    return found


def _all(ctx: Context, pairs: list[tuple[ast.pattern, Value]]) -> Verdict:
    found: Verdict = True
    for p, v in pairs:
        found = _both(ctx, found, matches(ctx, p, v))
        if found is False:
            return False
    return found


def _sequence(ctx: Context, patterns: list[ast.pattern], subject: Value) -> Verdict:
    if not isinstance(subject, list | tuple | range):
        return False
    items = list(subject)
    stars = [i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
    if not stars:
        return len(items) == len(patterns) and _all(ctx, list(zip(patterns, items, strict=True)))
    (i,) = stars
    after = len(patterns) - i - 1
    if len(items) < i + after:
        return False
    star = patterns[i]
    assert isinstance(star, ast.MatchStar)
    if star.name is not None:
        bind_name(ctx, star.name, items[i : len(items) - after])
    ends = [*zip(patterns[:i], items[:i], strict=True)]
    return _all(ctx, [*ends, *zip(patterns[i + 1 :], items[len(items) - after :], strict=True)])


def _mapping(ctx: Context, pattern: ast.MatchMapping, subject: Value) -> Verdict:
    if not isinstance(subject, dict):
        return False
    keys = [ctx.eval(k) for k in pattern.keys]
    if any(k not in subject for k in keys):
        return False
    found = _all(ctx, [(p, subject[k]) for k, p in zip(keys, pattern.patterns, strict=True)])
    if pattern.rest is not None and found is not False:
        bind_name(ctx, pattern.rest, {k: v for k, v in subject.items() if k not in keys})
    return found


def _class(ctx: Context, pattern: ast.MatchClass, subject: Value) -> Verdict:
    cls: Any = ctx.eval(pattern.cls)
    if not BUILTINS[isinstance](ctx, pattern, subject, cls):
        return False
    if len(pattern.patterns) == 1 and cls in _CAPTURED_WHOLE:
        pairs = [(pattern.patterns[0], subject)]
    else:
        names = getattr(cls, "__match_args__", ())
        pairs = [(p, get_attribute(ctx, subject, n, pattern)) for n, p in zip(names, pattern.patterns, strict=False)]
    for name, p in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        if type(subject) is not Ref and is_object(subject) and not hasattr(subject, name):
            return False
        pairs.append((p, get_attribute(ctx, subject, name, pattern)))
    return _all(ctx, pairs)
