"""`for` and `while`: a loop stays a loop; it is unrolled over containers, and where its variable must be known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NoReturn

from ...errors import AliasError, CutError
from ...ir import Atom
from ...passes.kinds import start_decides
from ..core.context import Context
from ..core.demand import LENGTH, ask
from ..core.detours import Detour, Restart
from ..core.growing import grow, lists_changed_in
from ..core.values import Value
from ..parts.carry import NeedsFlags, Outcome, mismatch_error
from ..parts.lessons import lesson_of, meeting
from ..parts.listed import Lists, Unfit, lists_filled
from ..paths.flow import BREAK, CONTINUE, Flow, Kont, sequence
from ..paths.iterables import UNROLL_LIMIT, Getter, Steps, consumed
from ..paths.written import Written
from ..provided.draws import forget
from ..uses.conditions import truth
from ..uses.iteration import end_of, item_getters, steps_of
from .assignment import assign
from .continuing import joined_iteration, only_continues
from .kept_loops import ForLoop, WhileLoop, loop_names
from .leaving import for_with_flags, run_flags

_FEWEST = 3  # iterations from which on all but the last one are tried as a loop
_FEW = 16  # iterations that are written out where names swap arrays
_NESTED_LIMIT = 40  # nested branches, one for each iteration that may be the last


# ---- for -----------------------------------------------------------------------------------------


def for_(ctx: Context, node: ast.For, kont: Kont) -> Flow | None:
    with meeting(ctx, node):
        return _for(ctx, node, kont)


def _for(ctx: Context, node: ast.For, kont: Kont) -> Flow | None:
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
            if not need.ends_at(node, ctx.loops.unroll) or node in ctx.lists.only_rows:
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
    joins, names = only_continues(node), loop_names(ctx, node)
    for k in range(start, len(items)):
        written.check(since, k, k == start and node in ctx.loops.unroll)
        item = items[k]()
        ctx.loops.unrolled[node] = k
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
    if node in ctx.lists.only_rows:
        raise Unfit
    return _for_counter(ctx, node, steps, kont)


def _for_lists(ctx: Context, node: ast.For, names: list[str], steps: Steps, kont: Kont) -> Flow | None:
    """A loop that appends to lists, as rows of arrays; where they cannot be rows, an ordinary loop."""
    mark = len(ctx.captures.params)
    try:
        with ctx.attempt():
            lists = Lists(ctx, node, names, steps)
            _, outcome = ForLoop(ctx, node, lists.steps, kont, "lists").read()
            if outcome.mismatch is not None:
                raise Unfit(peels=True)
            forget(ctx, mark)
            lists.open()
            loop = ForLoop(ctx, node, lists.steps, kont, "rows")
            shot, outcome = loop.read()
            if outcome.mismatch is not None:
                raise Unfit
            loop.emit(shot, outcome)
            lists.check(outcome)
            lists.close()
            return None
    except Unfit as unfit:
        if node in ctx.lists.only_rows:
            raise
        forget(ctx, mark)
        if unfit.peels and (node, ctx.frame) not in ctx.loops.peeling:
            return _peel(ctx, node, steps, None, kont)
    except (AliasError, CutError):
        if node in ctx.lists.only_rows:
            raise
        forget(ctx, mark)
    return _for_counter(ctx, node, steps, kont)


def _for_counter(ctx: Context, node: ast.For, steps: Steps, kont: Kont) -> Flow | None:
    mark, lesson = len(ctx.captures.params), lesson_of(ctx, node)
    try:
        with ctx.attempt():
            if lesson.flags:
                raise NeedsFlags
            loop = ForLoop(ctx, node, steps, kont)
            shot, outcome = loop.read()
    except NeedsFlags:
        lesson.flags = True
        if steps.last is not None:
            raise Restart(loops=frozenset({node})) from None
        forget(ctx, mark)
        return for_with_flags(ctx, node, steps, kont)
    if outcome.mismatch is not None:
        forget(ctx, mark)
        return _peel(ctx, node, steps, outcome, kont)
    try:
        with ctx.attempt():
            since = len(ctx.b.statements)
            loop.emit(shot, outcome)
            if steps.length is not None:
                _check_start(ctx, node, since)
    except _OtherKind:
        forget(ctx, mark)
        return _peel(ctx, node, steps, None, kont)
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


class _OtherKind(Detour):
    """The loop starts with a number of another kind than its turns leave, and that decides what it computes."""


def _check_start(ctx: Context, node: ast.AST, since: int) -> None:
    if (node, ctx.frame) not in ctx.loops.peeling and start_decides(ctx.b.statements[since:]):
        raise _OtherKind


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


# ---- while ---------------------------------------------------------------------------------------


def while_(ctx: Context, node: ast.While, kont: Kont) -> Flow | None:
    with meeting(ctx, node):
        if node in ctx.loops.unroll:
            return _unrolled_while(ctx, node, kont, 0)
        kept, unrolled = partial(_while_kept, ctx, node, kont), partial(_unrolled_while, ctx, node, kont, 0)
        return _else_unrolled(ctx, node, kept, unrolled)


def _while_kept(ctx: Context, node: ast.While, kont: Kont) -> Flow | None:
    known = ctx.read_block(lambda: truth(ctx, ctx.eval(node.test), node.test)).flow
    if known is False:
        truth(ctx, ctx.eval(node.test), node.test)  # for its effects, which the block above has undone
        return sequence(ctx, node.orelse, kont)
    loop, lesson = WhileLoop(ctx, node, node.body, lambda: ctx.eval(node.test), (), None), lesson_of(ctx, node)
    try:
        with ctx.attempt():
            if lesson.flags or (known is True and isinstance(node.test, ast.Constant)):
                raise NeedsFlags
            shot, outcome = loop.read()
    except NeedsFlags:
        lesson.flags = True
        return run_flags(ctx, node, kont, lambda: ctx.eval(node.test), None, known is True)
    if outcome.mismatch is not None:
        return _peel_while(ctx, node, outcome, kont, known)
    try:
        with ctx.attempt():
            since = len(ctx.b.statements)
            loop.emit(shot, outcome, known is True)
            if known is True:
                _check_start(ctx, node, since)
    except _OtherKind:
        return _peel_while(ctx, node, outcome, kont, known)
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
    joins, names = only_continues(node), loop_names(ctx, node)
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
        ctx.loops.unrolled[node] = count
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
