"""Loops that stay loops: their bodies are read again until what they carry is known, and become one statement."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import make
from ...checked import may_fail
from ...errors import AliasError, CutError, UnsupportedError
from ...ir import Atom, Block, For, Range, Var, While, may_raise
from ..core.aliases import LoopMemory
from ..core.context import Context, Snapshot
from ..core.demand import demand
from ..core.detours import Restart
from ..core.growing import read_again
from ..core.reach import containers_of
from ..core.values import Cell, Value
from ..parts.carry import (
    NeedsFlags,
    Outcome,
    Plan,
    bind_results,
    enter,
    initial_atoms,
    initial_plan,
    leave,
    loop_memory,
)
from ..parts.counters import note_counters
from ..parts.lessons import Key, inside, lesson_of
from ..paths.flow import BREAK, END, Flow, Kont, sequence
from ..paths.iterables import Steps
from ..provided.draws import enter_turns, forget
from ..uses.conditions import truth
from .assignment import assign

if TYPE_CHECKING:
    from .leaving import Flags

_MAX_ATTEMPTS = 30
_MANY_ALIASES = 32  # iterations: a longer loop is not unrolled just because memory is shared differently between them


def loop_names(ctx: Context, node: ast.For | ast.While, extra: tuple[str, ...] = ()) -> frozenset[str]:
    live = ctx.frame.live
    return frozenset(live.entry[node] | live.after[node] | live.inner | set(extra))


def no_flags(*_: Any) -> Flow:
    raise NeedsFlags


def _attempts(
    ctx: Context, plan: Plan, body: Callable[[], Outcome], node: ast.AST, form: Key
) -> tuple[Snapshot, Outcome]:
    """Read the body until the plan holds all that it carries. `form` tells apart in which way the loop is read."""
    lesson = lesson_of(ctx, node, form)
    lesson.tell(ctx, plan)
    for _ in range(_MAX_ATTEMPTS):
        with inside(ctx, node):
            shot = ctx.read_block(body)
        outcome: Outcome = shot.flow
        lesson.note(outcome.entered, outcome)
        if not plan.learn(outcome):
            read_again(ctx, outcome)
            return shot, outcome
    raise ctx.error(
        CutError,
        node,
        "the types that this loop carries do not settle",
        why="every iteration gives a carried value another type",
        instead="convert to one dtype in the body",
    )


class ForLoop:
    """One `for` over a counter, read and emitted. `form`: for, or what becomes of lists that it fills."""

    def __init__(self, ctx: Context, node: ast.For, steps: Steps, kont: Kont, form: str = "for") -> None:
        self.ctx, self.node, self.steps, self.form = ctx, node, steps, form
        self.index: Var
        self.span = ctx.b.span if ctx.frame.fixed else ctx.frame.source.header(node)
        self.plan = initial_plan(ctx, node, ())
        self.mark = len(ctx.captures.params)
        self.kont = Kont(
            rest=lambda: END,
            on_break=no_flags,
            on_continue=lambda: END,
            on_return=no_flags,
            loop_names=loop_names(ctx, node),
        )

    def read(self) -> tuple[Snapshot, Outcome]:
        peels = (self.node, self.ctx.frame) in self.ctx.loops.peeling
        form = (self.form, self.steps.last is None, peels)
        return _attempts(self.ctx, self.plan, self._body, self.node, form)

    def _body(self) -> Outcome:
        ctx = self.ctx
        forget(ctx, self.mark)
        ctx.drawing.loops.add(ctx.b)
        entered = enter(ctx, self.plan, self.node)
        self.index = _index_var(self.node)
        ctx.loops.of[self.index] = self.node
        ctx.loops.counters[self.index] = (self.steps.start, self.steps.stop, self.steps.step)
        ctx.at(self.node.iter)
        enter_turns(ctx, self.steps, self.index)
        assign(ctx, self.node.target, self.steps.element(self.index))
        _flags_for(sequence(ctx, self.node.body, self.kont))
        return leave(ctx, self.plan, entered)

    def emit(self, shot: Snapshot, outcome: Outcome) -> None:
        ctx, steps = self.ctx, self.steps
        ctx.b.span = self.span
        runs = bool(steps.length)
        inits, unbound = initial_atoms(ctx, outcome.entered, runs)
        if unbound and not runs:
            _demand_trips(ctx, steps, self.node)
        memory = self._memory(outcome)
        bounds = Range(ctx.atom(steps.start), ctx.atom(steps.stop), ctx.atom(steps.step), steps.reverse)
        targets = tuple(Var(p.hint, p.aval) for p in outcome.entered.params)
        body = Block((self.index, *outcome.entered.params), tuple(shot.builder.statements), tuple(outcome.results))
        if targets or any(map(may_fail, body.statements)):
            ctx.append(For(targets, bounds, tuple(inits), body, False, self.span), self.node)
        bind_results(ctx, outcome.entered, memory, list(targets), unbound, runs)

    def _memory(self, outcome: Outcome) -> LoopMemory:
        """Which arrays share memory after the loop. Where that differs between iterations, a short loop is unrolled."""
        try:
            return loop_memory(self.ctx, outcome.entered, self.node)
        except AliasError:
            if self.steps.length is None or self.steps.length > _MANY_ALIASES:
                raise
            raise Restart(loops=frozenset({self.node})) from None


def _demand_trips(ctx: Context, steps: Steps, node: ast.AST) -> None:
    """Ask for the loop's bounds: names that only its body binds are bound after it only if it surely runs."""
    bounds = [v for v in (steps.start, steps.stop, steps.step) if type(v) is Var]
    try:
        demand(ctx, bounds, node, "the number of iterations")
    except UnsupportedError:
        return  # the name stays unbound, which is an error where it is used


def _index_var(node: ast.For) -> Var:
    target = node.target
    if isinstance(target, ast.Tuple) and target.elts and isinstance(target.elts[0], ast.Name):
        first = target.elts[0].id
        is_count = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "enumerate"
        return Var(first if is_count else "i", _INDEX)
    return Var(target.id if isinstance(target, ast.Name) and _is_range(node.iter) else "i", _INDEX)


def _is_range(node: ast.AST) -> bool:
    """Whether it is range(...) or reversed(range(...))."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "range" or (node.func.id == "reversed" and any(map(_is_range, node.args)))


_INDEX = make.lift(0).aval


def _flags_for(flow: Flow | None) -> None:
    if flow is not None and flow.kind in ("break", "return"):
        raise NeedsFlags


class WhileLoop:
    """One `while`. `extra` are hidden names that it carries; `step` runs at the end of each iteration."""

    def __init__(
        self,
        ctx: Context,
        node: ast.For | ast.While,
        body: list[ast.stmt],
        test: Callable[[], Value],
        extra: tuple[str, ...],
        flags: Flags | None,
    ) -> None:
        self.ctx, self.node, self.body, self.test, self.flags = ctx, node, body, test, flags
        self.span = ctx.b.span if ctx.frame.fixed else ctx.frame.source.header(node)
        self.plan = initial_plan(ctx, node, extra)
        self.plan.may_not_run = True
        names = loop_names(ctx, node, extra)
        if flags is None:
            self.kont = Kont(lambda: END, no_flags, lambda: END, no_flags, names)
        else:
            self.kont = Kont(lambda: END, flags.on_break, lambda: END, flags.on_return, names)
        self.condition: tuple[Snapshot, list[Var], Atom]

    def read(self) -> tuple[Snapshot, Outcome]:
        shot, outcome = _attempts(self.ctx, self.plan, self._body, self.node, ("while",))
        if outcome.mismatch is None:
            self._read_condition(shot, outcome)
        return shot, outcome

    def _body(self) -> Outcome:
        ctx = self.ctx
        ctx.drawing.loops.add(ctx.b)
        entered = enter(ctx, self.plan, self.node)
        if isinstance(self.node, ast.While):
            note_counters(ctx, self.node, entered)
        flags = self.flags
        if flags is None:
            _flags_for(sequence(ctx, self.body, self.kont))
        else:
            flags.before(ctx)
            flow = sequence(ctx, self.body, self.kont)
            if flow is BREAK:
                flags.on_break()
            flags.after(ctx)
        return leave(ctx, self.plan, entered)

    def _read_condition(self, read: Snapshot, outcome: Outcome) -> None:
        """Read the test, as a block with parameters of its own."""
        ctx = self.ctx
        plan = Plan(self.plan.places, [], self.plan.dropped, self.plan.types, self.plan.maybes)
        holder: list[Any] = []

        def body() -> Atom:
            ctx.drawing.loops.add(ctx.b)
            entered = enter(ctx, plan, self.node)
            holder.append(entered.params)
            births, older = ctx.births, {id(v) for v in containers_of(ctx.frame, ctx.frame.env)}
            known = truth(ctx, self.test(), self.node)
            if any(
                what == "atom" and target.birth <= births if isinstance(target, Cell) else id(target) in older
                for target, what, _ in ctx.journal[entered.mark :]
            ):
                ctx.cut(
                    self.node,
                    "the condition of a `while` changes an array, a container or an object",
                    instead="write `while True:` with `if not ...: break` as its first statement",
                )
            if isinstance(known, bool):
                if known:
                    raises = any(map(may_raise, read.builder.statements))
                    (ctx.cut if raises else ctx.refuse)(
                        self.node,
                        "this loop never ends",
                        why="nothing that its condition reads changes",
                        instead="leave it with `break` or `return`",
                    )
                return make.lift(False)
            return known

        shot = ctx.read_block(body)
        outs = [Var(p.hint, p.aval) for p in outcome.entered.params[len(holder[-1]) :]]
        self.condition = (shot, [*holder[-1], *outs], shot.flow)

    def emit(self, shot: Snapshot, outcome: Outcome, runs: bool, steps: Steps | None = None) -> None:
        """`steps`: of the `for` that this was."""
        ctx = self.ctx
        ctx.b.span = self.span
        inits, unbound = initial_atoms(ctx, outcome.entered, runs)
        if unbound and not runs and steps is not None:
            _demand_trips(ctx, steps, self.node)
        memory = loop_memory(ctx, outcome.entered, self.node)
        test_shot, params, result = self.condition
        test = Block(tuple(params), tuple(test_shot.builder.statements), (result,))
        body = Block(tuple(outcome.entered.params), tuple(shot.builder.statements), tuple(outcome.results))
        targets = tuple(Var(p.hint, p.aval) for p in outcome.entered.params)
        if targets or any(map(may_fail, (*test.statements, *body.statements))):
            ctx.append(While(targets, tuple(inits), test, body, self.span), self.node)
        bind_results(ctx, outcome.entered, memory, list(targets), unbound, runs)
