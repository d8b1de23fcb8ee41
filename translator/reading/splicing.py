"""Rules and library functions, NumPy source, read into a block that is being built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..builder import Builder
from ..errors import UnsupportedError
from ..ir import Atom
from ..surface import above
from .core.context import Context
from .core.detours import Restart
from .core.values import Frame, Value
from .functions.inlining import inline, prepare
from .language import new_context
from .text.source import scope_of, source_of

MAX_RESTARTS = 100


def splice(b: Builder, fun: Callable[..., Any], args: Sequence[Atom]) -> Any:
    """Append the statements of a rule, NumPy source, to `b`; an atom, None, or a tuple of those.

    The statements take the span that `b` has now. Raises UnsupportedError for what is not in the language.
    """
    count, span = len(b.statements), b.span
    unroll: frozenset[Any] = frozenset()
    for _ in range(MAX_RESTARTS):
        ctx = new_context(b)
        ctx.loops.unroll = unroll
        ctx.transforms = True
        ctx.frame = _root_frame(fun)
        source = ctx.frame.source
        try:
            values = [ctx.wrap(a) for a in args]
            value = inline(ctx, fun, values, {}, source.node, fixed=True)  # type: ignore[arg-type]
        except Restart as need:
            if need.leaves or need.loops <= unroll:
                what = f"the rule {fun.__name__} needs a value that is known only at run time"
                raise UnsupportedError(what) from need
            unroll |= need.loops | ctx.loops.unroll
            del b.statements[count:]
            b.span = span
            continue
        if ctx.captures.params:
            raise UnsupportedError(f"the rule {fun.__name__} uses an array from outside it")
        return _lowered(ctx, value)
    raise UnsupportedError(f"the rule {fun.__name__} could not be read")


def _root_frame(fun: Callable[..., Any]) -> Frame:
    source = source_of(fun)
    function: Any = fun
    return Frame(source, None, None, scope_of(function), prepare(source, True), True, function.__name__)


def _lowered(ctx: Context, value: Value) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_lowered(ctx, v) for v in value)
    return None if value is None else ctx.atom(value)


above.splice = splice
