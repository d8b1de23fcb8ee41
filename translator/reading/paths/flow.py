"""How control leaves a block of statements, and what is read after a statement.

A statement returns None when control goes on behind it, and a `Flow` otherwise. Where a run-time condition decides
whether control leaves early, each branch is read to the end of the function: `Kont` says what "the end" is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from ...errors import UntracedError
from ...records import dataclass
from ..core.context import Context
from ..core.detours import Detour
from ..core.values import Value
from .raising import ends_in_raise, keep_message


@dataclass(frozen=True, slots=True)
class Flow:
    """How control left a block: "return" (with its value), "break", "continue", or "end" of a run-time loop's body."""

    kind: str
    value: Value = None


BREAK = Flow("break")
CONTINUE = Flow("continue")
END = Flow("end")


@dataclass(frozen=True, slots=True)
class Kont:
    """The code after a statement. `rest` reads all that follows; `on_break`, `on_continue` what those lead to.

    In the body of a run-time loop, `loop_names` are the names whose values the end of the body must know.
    """

    rest: Callable[[], Flow]
    on_break: Callable[[], Flow] | None = None
    on_continue: Callable[[], Flow] | None = None
    on_return: Callable[[Value, ast.AST], Flow] | None = None
    loop_names: frozenset[str] | None = None

    def finish(self, flow: Flow | None) -> Flow:
        """Read on until the function returns or the body of the run-time loop ends."""
        if flow is None:
            return self.rest()
        if flow.kind == "break" and self.on_break is not None:
            return self.on_break()
        if flow.kind == "continue" and self.on_continue is not None:
            return self.on_continue()
        return flow


FUNCTION_END = Kont(rest=lambda: Flow("return", None))


def sequence(ctx: Context, body: list[ast.stmt], kont: Kont, start: int = 0) -> Flow | None:
    """Read statements in order until control leaves; errors gain the place in the user's source."""
    raises = ends_in_raise(body)
    for i in range(start, len(body)):
        s = body[i]
        ctx.frame.statement = s
        after = kont
        if type(s) in _COMPOUND:

            def rest(i: int = i) -> Flow:
                return kont.finish(sequence(ctx, body, kont, i + 1))

            after = replace(kont, rest=rest)
        try:
            if raises and keep_message(ctx, body, s):
                continue
            if type(s) not in ctx.statements:  # of a later Python
                ctx.cut(s, f"`{type(s).__name__}` statements cannot be compiled")
            flow = ctx.statements[type(s)](ctx, s, after)
        except UntracedError as error:
            raise ctx.located(error, s) from error.__cause__
        except Detour:
            raise
        except Exception as error:
            ctx.tell(error, s)
            raise
        if flow is not None:
            return flow  # type: ignore[no-any-return]
    return None


_COMPOUND = frozenset({ast.If, ast.For, ast.While, ast.With, ast.Match, ast.Try})
