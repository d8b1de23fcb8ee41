"""Loops that control may leave early: `break` and `return` under a run-time condition become flags, which are carried.

    for i in range(n):              i, stop = 0, False
        if x[i] > 3:                while not stop and i < n:
            break                       if x[i] > 3: stop = True
                                        i += 1
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from ... import make
from ...ir import Const
from ...records import dataclass
from ..core.context import Context
from ..core.demand import ask, refuse_undefined, sign_of
from ..core.detours import Restart
from ..core.values import Ref, Undefined, Value, leaves_in
from ..parts.carry import NeedsKept, NeedsValue, mismatch_error, zero
from ..parts.shells import close_value, open_value
from ..paths.flow import END, Flow, Kont, sequence
from ..paths.iterables import UNROLL_LIMIT, Steps
from ..paths.joins import Joiner
from ..paths.raising import ends_in_raise, read_sides
from ..uses.operators import binary, compare_pair, logic
from .assignment import assign
from .control import join_ends
from .kept_loops import WhileLoop


@dataclass(slots=True)
class Flags:
    """The hidden names of one loop that can be left early, and what happens to them."""

    ctx: Context
    stop: str
    returned: str
    value: str
    before: Callable[[Context], None]
    after: Callable[[Context], None]
    births: int  # cells born before are older than the loop
    template: Value = None  # the loop index, where there is one
    returned_as: Parts | None = None  # the structure of the returned value, once known
    returns: bool = False
    breaks: bool = False
    candidates: frozenset[str] = frozenset()

    kept: dict[str, tuple[Any, list[Any]]] = field(default_factory=dict)  # names that only a `break` leaves bound
    lost: set[str] = field(default_factory=set)  # those that not every `break` binds

    def hidden(self, name: str) -> str:
        return f"%kept_{name}{self.stop.removeprefix('%stop')}"

    def on_break(self) -> Flow:
        self.breaks = True
        env = self.ctx.frame.env
        env[self.stop] = True
        for name in sorted(self.candidates - self.lost):
            value = env.get(name, _NOTHING)
            if isinstance(value, Undefined):
                self.lost.add(name)
            elif name in self.kept:
                env[self.hidden(name)] = value
            else:
                raise NeedsKept(name, self._template(value))
        return END

    def on_return(self, value: Value, node: ast.AST) -> Flow:
        parts = Parts.of(value, self.births)
        if self.returned_as is None:
            for v in leaves_in(value):
                if isinstance(v, Undefined):
                    refuse_undefined(self.ctx, v, node, "the returned value")
            self.returned_as = parts
        elif not self.returned_as.same(parts) and any(self.returned_as.stay):  # `return m` here, another array there
            self.returned_as, self.returns = Parts.of(value, -1), False
        if not self.returns:
            raise NeedsValue(self._template(self.returned_as.carried(value)))
        env = self.ctx.frame.env
        env[self.stop] = env[self.returned] = True
        env[self.value] = self.returned_as.carried(value)
        return END

    def _template(self, value: Value) -> tuple[Any, list[Any]]:
        leaves: list[Value] = []
        shell = open_value(value, leaves)
        return shell, [self.ctx.atom(v).aval for v in leaves]


@dataclass(frozen=True, slots=True)
class Parts:
    """A value that is returned from inside a loop: its structure, and which of its leaves are whole arrays older than
    the loop. Those need not be carried: the loop ends with the return, so they stay as they are then.
    """

    shell: Any
    stay: tuple[Ref | None, ...]

    @staticmethod
    def of(value: Value, births: int) -> Parts:
        leaves: list[Value] = []
        shell = open_value(value, leaves)
        old = (type(v) is Ref and not v.path and v.cell.birth <= births for v in leaves)
        return Parts(shell, tuple(v if stays else None for v, stays in zip(leaves, old, strict=True)))

    def same(self, other: Parts) -> bool:
        mine, theirs = ([v and v.cell for v in parts.stay] for parts in (self, other))
        return self.shell == other.shell and mine == theirs

    def carried(self, value: Value) -> Value:
        """The part of a value that the loop carries: all of it, or the leaves that do not stay."""
        leaves: list[Value] = []
        if not any(self.stay) or open_value(value, leaves) != self.shell:
            return value
        return tuple(v for v, stays in zip(leaves, self.stay, strict=True) if stays is None)

    def whole(self, carried: Value) -> Value:
        if not any(self.stay):
            return carried
        left = iter(carried)
        return close_value(self.shell, iter([next(left) if v is None else v for v in self.stay]))


_NOTHING = Undefined("is not bound")


def for_with_flags(ctx: Context, node: ast.For, steps: Steps, kont: Kont) -> Flow | None:
    """for i in range(a, b, s) as i = a; while not stop and i < b: ...; i += s."""
    if steps.reverse:
        steps = _turned(ctx, steps, node)
    counter = f"%i{ctx.effort.depth}_{node.lineno}"
    env = ctx.frame.env
    env[counter] = steps.start if not isinstance(steps.start, Const) else steps.start.value
    smaller: ast.cmpop = ast.Lt() if sign_of(ctx, steps.step) == 1 else ast.Gt()

    def test() -> Value:
        return compare_pair(ctx, smaller, ctx.frame.env[counter], steps.stop, node)

    return run_flags(ctx, node, kont, test, (counter, steps), bool(steps.length))


def _turned(ctx: Context, steps: Steps, node: ast.For) -> Steps:
    """reversed(range(a, b, s)) as range(c, a - s, -s), where c is the last element."""
    sign = sign_of(ctx, steps.step)
    span = binary(ctx, ast.Sub, binary(ctx, ast.Sub, steps.stop, steps.start, node.iter), sign, node.iter)
    whole = binary(ctx, ast.Mult, binary(ctx, ast.FloorDiv, span, steps.step, node.iter), steps.step, node.iter)
    last = binary(ctx, ast.Add, steps.start, whole, node.iter)
    before = binary(ctx, ast.Sub, steps.start, steps.step, node.iter)
    back = binary(ctx, ast.Sub, 0, steps.step, node.iter)
    return replace(steps, start=last, stop=before, step=back, reverse=False)


def run_flags(
    ctx: Context,
    node: ast.For | ast.While,
    kont: Kont,
    test: Callable[[], Value],
    count: tuple[str, Steps] | None,
    runs: bool,
) -> Flow | None:
    tag = f"{ctx.effort.depth}_{node.lineno}_{node.col_offset}"
    names = f"%stop{tag}", f"%returned{tag}", f"%value{tag}"
    flags = Flags(ctx, *names, lambda c: None, lambda c: None, ctx.births)
    span = ctx.b.span
    if count is not None:
        _count_with(flags, node, *count)

    def full_test() -> Value:
        going = ctx.wrap(make.logical_not(ctx.b, ctx.atom(ctx.frame.env[flags.stop])))
        return logic(ctx, going, test, True, node)

    live = ctx.frame.live
    unbound = {n for n in live.stored[node] if isinstance(ctx.frame.env.get(n, _NOTHING), Undefined)}
    flags.candidates = frozenset(unbound & live.after[node])
    returned: tuple[Any, list[Any]] | None = None
    while True:
        env = ctx.frame.env
        env[flags.stop] = False
        extra = [flags.stop, *([count[0]] if count is not None else [])]
        if returned is not None:
            env[flags.returned] = False
            env[flags.value] = _empty(ctx, *returned)
            extra += [flags.returned, flags.value]
        for name, template in flags.kept.items():
            env[flags.hidden(name)] = _empty(ctx, *template)
            extra.append(flags.hidden(name))
        ctx.b.span = span
        loop = WhileLoop(ctx, node, node.body, full_test, tuple(extra), flags)
        try:
            with ctx.attempt():
                shot, outcome = loop.read()
            break
        except NeedsValue as need:
            returned, flags.returns = need.value, True
        except NeedsKept as need:
            flags.kept[need.name] = need.value
    if outcome.mismatch is not None:
        _ask_to_unroll(ctx, node, count, runs)
        raise mismatch_error(ctx, outcome, node)
    loop.emit(shot, outcome, runs, count[1] if count is not None else None)
    return _after_flags(ctx, node, flags, kont)


def _empty(ctx: Context, shell: Any, avals: list[Any]) -> Value:
    """A value of this structure with all leaves zero; it is set before anybody reads it."""
    return close_value(shell, iter([ctx.wrap(zero(ctx, a)) for a in avals]))


def _ask_to_unroll(
    ctx: Context, node: ast.For | ast.While, count: tuple[str, Steps] | None, runs: bool
) -> None:
    """Ask for the loop to be unrolled, since a carried value changes its type between iterations."""
    if node in ctx.loops.unroll:
        return
    if count is None and runs:
        raise Restart(loops=frozenset({node}))
    if count is not None:
        steps = count[1]
        ask(ctx, (steps.start, steps.stop))
        if steps.length is not None and steps.length <= UNROLL_LIMIT:
            raise Restart(loops=frozenset({node}))


def _count_with(flags: Flags, node: ast.For | ast.While, counter: str, steps: Steps) -> None:
    assert isinstance(node, ast.For)

    def before(ctx: Context) -> None:
        index = ctx.frame.env[counter]
        ctx.loops.of[index] = node
        ctx.loops.counters[index] = (steps.start, steps.stop, steps.step)
        ctx.at(node.iter)
        assign(ctx, node.target, steps.element(index))
        flags.template = index

    def after(ctx: Context) -> None:
        ctx.at(node.iter)
        ctx.frame.env[counter] = binary(ctx, ast.Add, flags.template, steps.step, node.iter)

    flags.before, flags.after = before, after


def _after_flags(ctx: Context, node: ast.For | ast.While, flags: Flags, kont: Kont) -> Flow | None:
    """Read what follows the loop: its `else` where it was not left, the return where it was left by `return`."""
    env = ctx.frame.env
    if not flags.returns:
        return _after_break(ctx, node, flags, kont)
    returned = ctx.atom(env[flags.returned])

    def leave_function() -> Flow:
        assert flags.returned_as is not None
        value = flags.returned_as.whole(ctx.frame.env[flags.value])
        return kont.on_return(value, node) if kont.on_return is not None else Flow("return", value)

    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and not flags.breaks:
        return leave_function()  # the loop can only end by returning
    def go_on() -> Flow:
        return kont.finish(_after_break(ctx, node, flags, kont))

    sides = read_sides(ctx, returned, leave_function, go_on, ends=True)
    return join_ends(ctx, node, returned, sides, kont)


def _after_break(ctx: Context, node: ast.For | ast.While, flags: Flags, kont: Kont) -> Flow | None:
    """Read the code after a loop that was left by `break`, or else has run its `else`."""

    def bind_kept() -> None:
        env = ctx.frame.env
        env.update((name, env[flags.hidden(name)]) for name in flags.kept.keys() - flags.lost)

    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant):
        bind_kept()  # the loop can only end by `break`
        return None
    if not node.orelse:
        return None
    stopped = ctx.atom(ctx.frame.env[flags.stop])
    sides = read_sides(ctx, stopped, bind_kept, lambda: sequence(ctx, node.orelse, kont), ends_in_raise(node.orelse))
    if not isinstance(sides, tuple):
        return sides()  # type: ignore[no-any-return]
    if sides[1].flow is None:
        joiner = Joiner(ctx, stopped, *sides)
        joiner.join_state(None)
        joiner.finish()
        return None

    def without_else() -> Flow:
        bind_kept()
        return kont.rest()

    sides = read_sides(ctx, stopped, without_else, lambda: kont.finish(sequence(ctx, node.orelse, kont)))
    return join_ends(ctx, node, stopped, sides, kont)
