"""`for` and `while`: a loop stays a loop; it is unrolled over containers, and where its variable must be known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from .. import make
from ..checked import may_fail
from ..errors import AliasError, CutError, UnsupportedError
from ..ir import Atom, Block, For, Range, Var, While, may_raise
from .aliases import LoopMemory
from .carry import (
    NeedsFlags,
    Outcome,
    Plan,
    bind_results,
    enter,
    initial_atoms,
    initial_plan,
    leave,
    loop_memory,
    mismatch_error,
)
from .context import Context, Snapshot
from .continuing import joined_iteration, only_continues
from .control import BREAK, CONTINUE, END, Flow, Kont, sequence, truth
from .counters import note_counters
from .demand import LENGTH, ask, demand
from .draws import enter_turns, forget
from .growing import grow, lists_changed_in, read_again
from .iteration import UNROLL_LIMIT, Getter, Steps, consumed, end_of, item_getters, steps_of
from .listed import Lists, Unfit, lists_filled
from .reach import containers_of
from .stores import assign
from .values import Cell, Restart, Value
from .written import Written

if TYPE_CHECKING:
    from .leaving import Flags

_MAX_ATTEMPTS = 30
MANY_ALIASES = 32  # iterations: a longer loop is not unrolled just because memory is shared differently between them
_FEWEST = 3  # iterations from which on all but the last one are tried as a loop
_FEW = 16  # iterations that are written out where names swap arrays
_NESTED_LIMIT = 40  # nested branches, one for each iteration that may be the last


# ---- for -----------------------------------------------------------------------------------------


def for_(ctx: Context, node: ast.For, kont: Kont) -> Flow | None:
    iterable = consumed(ctx, ctx.eval(node.iter), node.iter)
    ctx.at(node.iter)
    steps = None if node in ctx.loops.unroll else steps_of(ctx, iterable, node.iter)

    def unrolled() -> Flow | None:
        end = end_of(ctx, iterable, node.iter)
        return _unrolled(ctx, node, item_getters(ctx, iterable, node.iter), 0, kont, end)

    def kept(steps: Steps) -> Flow | None:
        held = f"%iterable{ctx.effort.depth}_{node.lineno}_{node.col_offset}"
        ctx.frame.env[held] = iterable  # the loop keeps it alive, so it counts among what shares memory
        flow = _for_steps(ctx, node, steps, kont)
        ctx.frame.env.pop(held, None)
        return flow

    if steps is None:
        return unrolled()
    if steps.length == 0:
        return sequence(ctx, node.orelse, kont)
    shorter = _but_last(steps)
    apart = None if shorter is None else partial(kept, shorter)
    return _else_unrolled(ctx, node, partial(kept, steps), unrolled, apart)


def _but_last(steps: Steps) -> Steps | None:
    """All iterations but the last one, which is read apart: `x[i : i + 100]` may be shorter there than elsewhere."""
    if steps.reverse or steps.length is None or steps.length < _FEWEST:
        return None
    last = steps.start + (steps.length - 1) * steps.step
    return replace(steps, stop=last, length=steps.length - 1, last=last)


def _else_unrolled(
    ctx: Context,
    node: ast.For | ast.While,
    kept: Callable[[], Flow | None],
    unrolled: Callable[[], Flow | None],
    apart: Callable[[], Flow | None] | None = None,
) -> Flow | None:
    """Read a loop as a loop; where that shows that it, or it and loops around it, must be unrolled, read it again so.

    The reading goes on from this loop; a restart would read everything before it again, once for each loop.
    Where the length of a slice is what must be known, `apart` is tried first, which reads the last iteration by itself.
    """
    draws, counts = len(ctx.captures.params), (ctx.effort.calls, ctx.effort.ways, ctx.effort.repeats)
    for way in (kept, apart):
        if way is None:
            continue
        try:
            with ctx.attempt():
                return way()
        except Restart as need:
            if not need.ends_at(node, ctx.loops.unroll):
                raise
            found = need
        forget(ctx, draws)
        ctx.effort.calls, ctx.effort.ways, ctx.effort.repeats = counts
        ctx.at(node)
        if not found.why.startswith(LENGTH):
            break
    ctx.loops.unroll |= found.loops
    return unrolled()


def _unrolled(
    ctx: Context,
    node: ast.For,
    items: list[Getter],
    start: int,
    kont: Kont,
    end: Callable[[], None],
    written: Written | None = None,
) -> Flow | None:
    ctx.drawing.anywhere = True
    written = written or Written(ctx, node)
    block, since = ctx.b, len(ctx.b.statements)
    joins, names = only_continues(node), _loop_names(ctx, node)
    for k in range(start, len(items)):
        written.check(since, k, k == start and node in ctx.loops.unroll)
        item = items[k]()
        if joins and joined_iteration(ctx, node, kont, names, (item,)):
            continue
        assign(ctx, node.target, item)

        def rest(k: int = k) -> Flow:
            if len(ctx.builders) > _NESTED_LIMIT:
                grow(ctx, lists_changed_in(ctx, node))
            written.add(block.statements[since:])
            return kont.finish(_unrolled(ctx, node, items, k + 1, kont, end, written))

        behind = written.behind(kont.rest)
        flow = sequence(ctx, node.body, replace(kont, rest=rest, on_break=behind, on_continue=rest))
        if flow is BREAK:
            return None
        if flow is not None and flow is not CONTINUE:
            return flow
    end()
    return sequence(ctx, node.orelse, kont)


def _for_steps(ctx: Context, node: ast.For, steps: Steps, kont: Kont) -> Flow | None:
    """A loop of the program, with its first iteration peeled where that settles the types."""
    names = lists_filled(ctx, node, steps)
    if names:
        return _for_lists(ctx, node, names, steps, kont)
    return _for_counter(ctx, node, steps, kont)


def _for_lists(ctx: Context, node: ast.For, names: list[str], steps: Steps, kont: Kont) -> Flow | None:
    """A loop that appends to lists, as rows of arrays; where they cannot be rows, an ordinary loop."""
    mark = len(ctx.captures.params)
    try:
        with ctx.attempt():
            lists = Lists(ctx, node, names, steps)
            _, outcome = _ForLoop(ctx, node, lists.steps, kont).read()
            if outcome.mismatch is not None:
                raise Unfit(peels=True)
            forget(ctx, mark)
            lists.open()
            loop = _ForLoop(ctx, node, lists.steps, kont)
            shot, outcome = loop.read()
            if outcome.mismatch is not None:
                raise Unfit
            loop.emit(shot, outcome)
            lists.check(outcome)
            lists.close()
            return None
    except Unfit as unfit:
        forget(ctx, mark)
        if unfit.peels and (node, ctx.frame) not in ctx.loops.peeling:
            return _peel(ctx, node, steps, None, kont)
    except (AliasError, CutError):
        forget(ctx, mark)
    return _for_counter(ctx, node, steps, kont)


def _for_counter(ctx: Context, node: ast.For, steps: Steps, kont: Kont) -> Flow | None:
    mark = len(ctx.captures.params)
    try:
        with ctx.attempt():
            loop = _ForLoop(ctx, node, steps, kont)
            shot, outcome = loop.read()
    except NeedsFlags:
        from .leaving import for_with_flags

        if steps.last is not None:
            raise Restart(loops=frozenset({node})) from None
        forget(ctx, mark)
        return for_with_flags(ctx, node, steps, kont)
    if outcome.mismatch is not None:
        forget(ctx, mark)
        return _peel(ctx, node, steps, outcome, kont)
    try:
        with ctx.attempt():
            loop.emit(shot, outcome)
    except AliasError:  # perhaps names share memory only in the first iteration
        if steps.length is None:
            ask(ctx, (steps.start, steps.stop, steps.step))  # to read the first iteration apart, if there surely is one
        if steps.length is None or steps.length < 2:
            raise
        if (node, ctx.frame) not in ctx.loops.peeling:
            forget(ctx, mark)
            return _peel(ctx, node, steps, outcome, kont)
        if steps.length < _FEW:
            raise Restart(loops=frozenset({node})) from None
        raise
    return _behind(ctx, node, steps, kont)


def _behind(ctx: Context, node: ast.For, steps: Steps, kont: Kont) -> Flow | None:
    if steps.last is None:
        return sequence(ctx, node.orelse, kont)
    return _by_itself(ctx, node, steps.element(steps.last), kont, lambda: sequence(ctx, node.orelse, kont))


def _by_itself(
    ctx: Context, node: ast.For, item: Value, kont: Kont, then: Callable[[], Flow | None]
) -> Flow | None:
    """One iteration read by itself, then what comes after it."""
    ctx.drawing.anywhere = True
    assign(ctx, node.target, item)

    def rest() -> Flow:
        return kont.finish(then())

    flow = sequence(ctx, node.body, replace(kont, rest=rest, on_break=kont.rest, on_continue=rest))
    if flow is BREAK:
        return None
    if flow is not None and flow is not CONTINUE:
        return flow
    return then()


def _peel(ctx: Context, node: ast.For, steps: Steps, outcome: Outcome | None, kont: Kont) -> Flow | None:
    """Read the first iteration by itself, then the rest as a loop. `outcome` says what does not settle, if anything."""
    if steps.length is None and outcome is not None:
        _demand_to_peel(ctx, node, steps, outcome)
    if (node, ctx.frame) in ctx.loops.peeling and outcome is not None:
        if steps.length is not None and steps.length <= UNROLL_LIMIT:
            raise Restart(loops=frozenset({node}))  # shapes that change in every iteration
        raise mismatch_error(ctx, outcome, node)
    assert steps.length is not None
    return _by_itself(ctx, node, steps.element(steps.start), kont, lambda: _after_peel(ctx, node, steps, kont))


def _demand_to_peel(ctx: Context, node: ast.For, steps: Steps, outcome: Outcome) -> NoReturn:
    """Ask for the bounds, so that a first iteration can be read apart; not where no bounds would help."""
    if outcome.grows:
        grow(ctx, lists_changed_in(ctx, node), (steps.start, steps.stop))
    ask(ctx, (steps.start, steps.stop, steps.step))
    raise mismatch_error(ctx, outcome, node)


def _after_peel(ctx: Context, node: ast.For, steps: Steps, kont: Kont) -> Flow | None:
    assert steps.length is not None
    if steps.length == 1:
        return _behind(ctx, node, steps, kont)
    shorter = replace(steps, start=steps.start + steps.step, length=steps.length - 1)
    key = (node, ctx.frame)
    ctx.loops.peeling.add(key)
    try:
        return _for_steps(ctx, node, shorter, kont)
    finally:
        ctx.loops.peeling.discard(key)


def _loop_names(ctx: Context, node: ast.For | ast.While, extra: tuple[str, ...] = ()) -> frozenset[str]:
    live = ctx.frame.live
    return frozenset(live.entry[node] | live.after[node] | live.inner | set(extra))


def _no_flags(*_: Any) -> Flow:
    raise NeedsFlags


def _attempts(
    ctx: Context, plan: Plan, body: Callable[[], Outcome], node: ast.AST
) -> tuple[Snapshot, Outcome]:
    """Read the body until the plan holds all that it carries."""
    for _ in range(_MAX_ATTEMPTS):
        shot = ctx.read_block(body)
        outcome: Outcome = shot.flow
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


class _ForLoop:
    """One `for` over a counter, read and emitted."""

    def __init__(self, ctx: Context, node: ast.For, steps: Steps, kont: Kont) -> None:
        self.ctx, self.node, self.steps = ctx, node, steps
        self.index: Var
        self.span = ctx.b.span if ctx.frame.fixed else ctx.frame.source.header(node)
        self.plan = initial_plan(ctx, node, ())
        self.mark = len(ctx.captures.params)
        self.kont = Kont(
            rest=lambda: END,
            on_break=_no_flags,
            on_continue=lambda: END,
            on_return=_no_flags,
            loop_names=_loop_names(ctx, node),
        )

    def read(self) -> tuple[Snapshot, Outcome]:
        return _attempts(self.ctx, self.plan, self._body, self.node)

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
            if self.steps.length is None or self.steps.length > MANY_ALIASES:
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


# ---- while ---------------------------------------------------------------------------------------


def while_(ctx: Context, node: ast.While, kont: Kont) -> Flow | None:
    if node in ctx.loops.unroll:
        return _unrolled_while(ctx, node, kont, 0)
    return _else_unrolled(ctx, node, lambda: _while_kept(ctx, node, kont), lambda: _unrolled_while(ctx, node, kont, 0))


def _while_kept(ctx: Context, node: ast.While, kont: Kont) -> Flow | None:
    known = ctx.read_block(lambda: truth(ctx, ctx.eval(node.test), node.test)).flow
    if known is False:
        truth(ctx, ctx.eval(node.test), node.test)  # for its effects, which the block above has undone
        return sequence(ctx, node.orelse, kont)
    loop = WhileLoop(ctx, node, node.body, lambda: ctx.eval(node.test), (), None)
    try:
        with ctx.attempt():
            if known is True and isinstance(node.test, ast.Constant):
                raise NeedsFlags
            shot, outcome = loop.read()
    except NeedsFlags:
        from .leaving import run_flags

        return run_flags(ctx, node, kont, lambda: ctx.eval(node.test), None, known is True)
    if outcome.mismatch is not None:
        return _peel_while(ctx, node, outcome, kont, known)
    loop.emit(shot, outcome, known is True)
    return sequence(ctx, node.orelse, kont)


def _peel_while(
    ctx: Context, node: ast.While, outcome: Outcome, kont: Kont, truth_before: bool | Atom
) -> Flow | None:
    key = (node, ctx.frame)
    runs = truth_before is True
    if not runs:
        if outcome.grows:
            grow(ctx, lists_changed_in(ctx, node), (truth_before,))
        ask(ctx, (truth_before,))
        raise mismatch_error(ctx, outcome, node)
    if key in ctx.loops.peeling:
        raise Restart(loops=frozenset({node}))

    def rest() -> Flow:
        return kont.finish(while_(ctx, node, kont))

    flow = sequence(ctx, node.body, replace(kont, rest=rest, on_break=kont.rest, on_continue=rest))
    if flow is BREAK:
        return None
    if flow is not None and flow is not CONTINUE:
        return flow
    ctx.loops.peeling.add(key)
    try:
        return while_(ctx, node, kont)
    finally:
        ctx.loops.peeling.discard(key)


def _unrolled_while(
    ctx: Context, node: ast.While, kont: Kont, count: int, written: Written | None = None
) -> Flow | None:
    written = written or Written(ctx, node)
    block, since, first = ctx.b, len(ctx.b.statements), count
    joins, names = only_continues(node), _loop_names(ctx, node)
    while True:
        written.check(since, count, count == first)
        known = truth(ctx, ctx.eval(node.test), node.test)
        if not isinstance(known, bool):
            grow(ctx, lists_changed_in(ctx, node), (known,))
            ask(ctx, (known,))
            ctx.cut(
                node,
                "the condition of this `while` depends on the data, but something it changes must be known",
                why="a value that the loop computes decides a shape, an axis or a container index",
                instead="compute that value from Python ints only",
            )
        if not known:
            return sequence(ctx, node.orelse, kont)
        if count >= UNROLL_LIMIT:
            ctx.cut(node, f"this `while` would be unrolled more than {UNROLL_LIMIT} times")
        count += 1
        if joins and joined_iteration(ctx, node, kont, names):
            continue

        def rest(count: int = count) -> Flow:
            if len(ctx.builders) > _NESTED_LIMIT:
                grow(ctx, lists_changed_in(ctx, node))
                ctx.cut(
                    node,
                    "this `while` must be unrolled, but when it ends depends on the data",
                    why="what it carries changes its shape or structure from one iteration to the next",
                    instead="keep one shape, e.g. a buffer of the final size and a count",
                )
            written.add(block.statements[since:])
            return kont.finish(_unrolled_while(ctx, node, kont, count, written))

        behind = written.behind(kont.rest)
        flow = sequence(ctx, node.body, replace(kont, rest=rest, on_break=behind, on_continue=rest))
        if flow is BREAK:
            return None
        if flow is not None and flow is not CONTINUE:
            return flow


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
        names = _loop_names(ctx, node, extra)
        if flags is None:
            self.kont = Kont(lambda: END, _no_flags, lambda: END, _no_flags, names)
        else:
            self.kont = Kont(lambda: END, flags.on_break, lambda: END, flags.on_return, names)
        self.condition: tuple[Snapshot, list[Var], Atom]

    def read(self) -> tuple[Snapshot, Outcome]:
        shot, outcome = _attempts(self.ctx, self.plan, self._body, self.node)
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


Context.statements.update({ast.For: for_, ast.While: while_})
