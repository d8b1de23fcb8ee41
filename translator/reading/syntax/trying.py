"""`try` in what is read to be differentiated or batched, of which CPython can run no part.

    try:                                    the body, where nothing in it can raise what is caught;
        y = 1.0 / x                         the handler, where it certainly does;
    except ZeroDivisionError:               else a branch:
        y = 0.0                                 if x == 0: y = 0.0
                                                else: y = 1.0 / x

When a statement fails is known of divisions of Python's numbers, most functions of `math`, indices, Cholesky factors,
inverses and solutions of systems, and of what the user raises. A statement that may raise what is caught at other
times, or inside of a branch or a loop, is refused: no derivative is that of a path not taken. Other kinds of
np.linalg.LinAlgError, and those inside of branches and loops, are raised by the derivative, too, though the function
would catch them. For `accelerate` alone `try` is CPython's (`fence`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

from ...errors import UntracedError
from ...failures import Condition, failures_of, unknown_failures
from ...ir import Statement
from ...records import dataclass
from ..core.context import WITHIN, Context
from ..core.detours import Detour, Raised
from ..core.reach import containers_of
from ..core.values import Cell, Undefined
from ..paths.flow import Flow, Kont, sequence
from ..text.libraries import is_library
from .control import branches


def try_(ctx: Context, node: ast.Try, kont: Kont) -> Flow | None:
    if node.finalbody and node in ctx.frame.live.exits:
        ctx.cut(node, "`finally` behind a `try` that is left early cannot be compiled", _WHY, _INSTEAD)
    ctx.tries.any = True
    tried = Trying(ctx, node, [(_classes(ctx, h), h) for h in node.handlers])
    flow = tried.statements(0, 0, kont)
    if not node.finalbody:
        return flow
    assert flow is None
    return sequence(ctx, node.finalbody, kont)


_WHY = "which way it takes would depend on what fails"
_INSTEAD = "test for the condition with `if` or `np.where`, or catch the error around the call of this function"


def _classes(ctx: Context, handler: ast.ExceptHandler) -> tuple[type[BaseException], ...]:
    found = BaseException if handler.type is None else ctx.eval(handler.type)
    classes = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        ctx.cut(handler, "`except` of what is no class of exceptions known before the run", _WHY, _INSTEAD)
    return classes


class Escaped(Detour):
    """An exception of what follows a `try`, on its way through it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Failed(Detour):
    """A statement may fail: what comes before that in its block, and when."""

    def __init__(self, before: list[Statement], condition: Condition, handler: ast.ExceptHandler) -> None:
        super().__init__("may fail")
        self.before, self.condition, self.handler = before, condition, handler


class _Log(list[Statement]):
    """Statements, and how long the journal was when each was appended."""

    def __init__(self, statements: list[Statement], journal: list[Any]) -> None:
        super().__init__(statements)
        self.journal = journal
        self.lengths = [0] * len(statements)

    def append(self, s: Statement) -> None:
        del self.lengths[len(self) :]  # of statements that are gone
        super().append(s)
        self.lengths.append(len(self.journal))


@dataclass(frozen=True, slots=True)
class Trying:
    ctx: Context
    node: ast.Try
    handlers: list[tuple[tuple[type[BaseException], ...], ast.ExceptHandler]]

    def handler_of(self, raised: type[BaseException]) -> ast.ExceptHandler | None:
        return next((h for classes, h in self.handlers if issubclass(raised, classes)), None)

    def statements(self, start: int, known: int, kont: Kont) -> Flow | None:
        """Read the body from a statement on, of which the first `known` failures are known not to happen."""
        ctx = self.ctx
        for i in range(start, len(self.node.body)):
            s = self.node.body[i]
            try:
                flow = self.statement(s, known, self.behind(i, kont))
            except Failed as failed:
                return self.branch(failed, i, known, kont)
            except Escaped as escaped:
                raise escaped.error from escaped.error.__cause__
            except Raised as raised:
                handler = self.handler_of(raised.error.error)
                if handler is None:
                    raise
                return self.handle(handler, None, kont)
            except Detour:
                raise
            except Exception as error:
                handler = self.handler_of(type(error))
                if handler is None or (isinstance(error, UntracedError) and error.refuses):
                    raise
                if WITHIN in error.__dict__:
                    self.refuse(s, error)
                return self.handle(handler, error, kont)
            if flow is not None:
                return flow
            known = 0
        return sequence(ctx, self.node.orelse, kont)

    def refuse(self, s: ast.stmt, error: Exception) -> NoReturn:
        what = f"{type(error).__name__} in a branch or a loop inside of `try`"
        self.ctx.cut(s, what, f"{_WHY}: {error}", _INSTEAD)

    def behind(self, i: int, kont: Kont) -> Kont:
        """Read what follows the statement: the rest of the body, then what follows the `try`, outside of it."""

        def rest() -> Flow:
            flow = self.statements(i + 1, 0, kont)
            return outside(lambda: kont.finish(flow))

        return replace(kont, rest=rest)

    def statement(self, s: ast.stmt, known: int, kont: Kont) -> Flow | None:
        """Read a statement. Raises `Failed`, with everything undone, where it may raise what is caught."""
        ctx = self.ctx
        b, mark, births, count = ctx.b, len(ctx.journal), ctx.births, len(ctx.b.statements)
        ctx.tries.catching.append((b, tuple(c for classes, _ in self.handlers for c in classes)))
        outer = b.statements
        log = b.statements = outer if isinstance(outer, _Log) else _Log(outer, ctx.journal)
        try:
            with ctx.attempt():
                flow: Flow | None = sequence(ctx, [s], kont)
                found = self.failures(log[count:])
                failure = next((f for n, f in enumerate(found) if n == known), None)
                if failure is not None:
                    at, condition, handler = failure
                    changed = ctx.journal[mark : log.lengths[count + at]]
                    if any(not (isinstance(c, Cell) and c.birth > births) and self.is_old(c) for c, _, _ in changed):
                        ctx.cut(s, "what changes things in a statement that may fail later, in `try`", _WHY, _INSTEAD)
                    raise Failed(log[count : count + at], condition, handler)
        finally:
            b.statements = outer if outer is log else list(log)
            ctx.tries.catching.pop()
        return flow

    def is_old(self, changed: Any) -> bool:
        """Whether somebody sees the change: containers that the statement made itself are nobody else's."""
        ctx = self.ctx
        seen = {*ctx.callers.containers, *(id(v) for v in containers_of(ctx.frame, ctx.frame.env))}
        return isinstance(changed, Cell) or id(changed) in seen

    def failures(self, made: list[Statement]) -> Iterator[tuple[int, Condition, ast.ExceptHandler]]:
        """Which of the statements may raise what is caught, when, and by whom it is caught."""
        for i, s in enumerate(made):
            for raised, condition in failures_of(s):
                handler = self.handler_of(raised)
                if handler is not None:
                    yield i, condition, handler
            if is_library(self.ctx.frame.scope.function):
                continue  # NumPy's own `try` asks what operands are, not for their values
            for raised in unknown_failures(s):
                if self.catches(raised):
                    what = f"what may raise {raised.__name__}, nobody knows when, in a `try` that catches it"
                    self.ctx.cut(self.node, what, _WHY, _INSTEAD)

    def catches(self, raised: type[BaseException]) -> bool:
        """Whether some exception of this class is caught."""
        return any(issubclass(raised, c) or issubclass(c, raised) for classes, _ in self.handlers for c in classes)

    def branch(self, failed: Failed, i: int, known: int, kont: Kont) -> Flow | None:
        ctx, s = self.ctx, self.node.body[i]
        for statement in failed.before:
            ctx.b.append(statement)
        return branches(
            ctx,
            self.node,
            s,
            failed.condition(ctx.b),
            lambda k: self.handle(failed.handler, None, k),
            lambda k: self.statements(i, known + 1, k),
            kont,
        )

    def handle(self, handler: ast.ExceptHandler, error: Exception | None, kont: Kont) -> Flow | None:
        ctx = self.ctx
        if handler.name is not None:
            what = "is an exception that the program raises"
            ctx.frame.env[handler.name] = Undefined(what) if error is None else ctx.captures.known(error)
        outer, ctx.tries.handled = ctx.tries.handled, error
        try:
            return sequence(ctx, handler.body, kont)
        finally:
            ctx.tries.handled = outer


def outside(rest: Callable[[], Flow]) -> Flow:
    try:
        return rest()
    except Detour:
        raise
    except Exception as error:
        raise Escaped(error) from error
