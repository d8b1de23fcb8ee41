"""Derivatives that users give: `ruled` marks values that have a rule, which is spliced in under a derivative.

    y = f(x)                    t = ...                      the program of f
                                y = ruled(t, x)              `y` is `t`; its derivative is the rule's, not that of `t`

A rule is made of programs, which are read when `f` is, so it is differentiated and batched like everything else. Values
marked without a rule are as they are: what is left of a mark whose rule has been applied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property

from .. import make
from ..batch.vmap import vmap
from ..builder import Builder
from ..errors import Diagnostic, DTypeError, Span, UnsupportedError
from ..ir import Apply, Atom, Aval, Block, Const, Function, Statement, Var
from ..ops.core import BARRIER, RULED, RuledAttrs
from ..rewrite import Substitution, copy_block, prune, rebuilt, splice_block, substituted, without_raises
from ..tree import tuple_tree
from .activity import inexact
from .cotangents import materialise, strong, zeros
from .linearity import check_linear, check_transpose
from .tape import NeedTrip, behind_of

Tangents = Sequence[Atom | None]
Halves = tuple[Function, Function]


class Rule:
    """What a rule says about `ruled(*values, *inputs)`. `linked`: places among the inputs that it has derivatives for.

    The other inputs are held fixed: asking for their derivative is an error. Values and inputs follow the order of the
    mark's arguments; of inputs, tangents and cotangents there is one for each of `linked`, of the real and complex
    values likewise.
    """

    def __init__(self, name: str, linked: tuple[int, ...]) -> None:
        self.name, self.linked = name, linked

    def push(self, b: Builder, s: Apply, ts: Tangents) -> tuple[Sequence[Atom], Sequence[Atom]]:
        """The values and their tangents, from the tangents of the linked inputs."""
        raise NotImplementedError

    def ahead(self, b: Builder, s: Apply) -> tuple[Sequence[Atom], Sequence[Atom]]:
        """The values, and what `back` needs to know."""
        raise NotImplementedError

    def back(self, b: Builder, s: Apply, residuals: Sequence[Atom], cts: Sequence[Atom]) -> Sequence[Atom]:
        """The cotangents of the linked inputs."""
        raise NotImplementedError

    def batched(self, lanes: Sequence[bool], size: int) -> Rule:
        """The rule for a batch; `lanes` says which inputs have a batch axis. All values get one."""
        raise NotImplementedError

    def check(self, moving: Sequence[int], span: Span) -> None:
        """Raises UnsupportedError where a derivative is wanted with respect to what the rule holds fixed."""
        if any(i not in self.linked for i in moving):
            raise UnsupportedError(
                Diagnostic(
                    f"the derivative of {self.name} with respect to a value that its rule holds fixed",
                    span,
                    why="the rule speaks of the differentiable arguments only, not of nondiff_argnums nor of variables "
                    "of the surroundings",
                    instead="pass the value as a differentiable argument, or apply stop_gradient to it",
                )
            )


def inputs_of_mark(s: Apply) -> tuple[Atom, ...]:
    assert isinstance(s.attrs, RuledAttrs)
    return s.args[s.attrs.count :]


class Transposed(Rule):
    """A rule that is one program, from which the derivative takes what it needs. Known integers among the inputs are
    put into it, for the number of trips of a loop may follow from them.
    """

    def __init__(self, name: str, linked: tuple[int, ...], program: Callable[[], Function]) -> None:
        super().__init__(name, linked)
        self.program = program
        self._halves: dict[tuple[tuple[int, object], ...], Halves] = {}

    @cached_property
    def function(self) -> Function:
        return self.program()

    def split(self, function: Function) -> Halves:
        """The forward half, and the backward one."""
        raise NotImplementedError

    def halves(self, s: Apply) -> Halves:
        """Those for the inputs of this mark. Raises NeedTrip for what is behind the number of trips of a loop."""
        inputs = inputs_of_mark(s)
        known = {i: a for i, a in enumerate(inputs) if isinstance(a, Const) and a.aval.weak and not a.aval.shape}
        key = tuple((i, a.key) for i, a in known.items())
        if key not in self._halves:
            body, params = self.function.body, self.function.body.params
            given: Substitution = {params[i]: a for i, a in known.items() if params[i].aval == a.aval}
            function = dataclasses.replace(self.function, body=substituted(body, given)) if given else self.function
            try:
                self._halves[key] = self.split(function)
            except NeedTrip as need:
                behind = behind_of(function, need.atoms)
                outside = tuple(a for a, p in zip(inputs, params, strict=False) if p in behind and isinstance(a, Var))
                if not outside:
                    raise
                raise NeedTrip(outside, need.diagnostic.span) from None
        return self._halves[key]


def _without_values(function: Function) -> Function:
    """The program without what no derivative goes through: the values of marks, for which their rules speak."""

    def bare(s: Apply) -> Apply:
        ruled = isinstance(s.attrs, RuledAttrs) and s.attrs.rule is not None
        return dataclasses.replace(s, args=inputs_of_mark(s)) if ruled else s

    quiet = dataclasses.replace(function.body, statements=without_raises(function.body.statements))
    return dataclasses.replace(function, body=prune(rebuilt(quiet, bare)))


class JvpRule(Transposed):
    """custom_jvp. The program: inputs, tangents of the linked ones -> values, tangents of the inexact ones.

    Reverse mode transposes it: it is linear in the tangents.
    """

    def split(self, function: Function) -> Halves:
        from .reverse import vjp_split

        first = len(function.body.params) - len(self.linked)
        tangents = range(first, len(function.body.params))
        check_linear(self.name, function, _without_values(function), tangents)
        halves = vjp_split(function, tangents)
        check_transpose(self.name, function, halves[0], tangents)
        return halves

    def push(self, b: Builder, s: Apply, ts: Tangents) -> tuple[Sequence[Atom], Sequence[Atom]]:
        outs = splice_block(b, self.function, (*inputs_of_mark(s), *self._full(b, s, ts)))
        return outs[: len(s.targets)], outs[len(s.targets) :]

    def ahead(self, b: Builder, s: Apply) -> tuple[Sequence[Atom], Sequence[Atom]]:
        nothing = self._full(b, s, [None] * len(self.linked))
        outs = splice_block(b, self.halves(s)[0], (*inputs_of_mark(s), *nothing))
        return outs[: len(s.targets)], outs[self.function.out.leaf_count :]

    def back(self, b: Builder, s: Apply, residuals: Sequence[Atom], cts: Sequence[Atom]) -> Sequence[Atom]:
        nothing = [zeros(b, strong(t.aval)) for t in s.targets if inexact(t.aval)]
        return splice_block(b, self.halves(s)[1], (*residuals, *nothing, *cts))

    def batched(self, lanes: Sequence[bool], size: int) -> Rule:
        axes = [0 if lane else None for lane in (*lanes, *(lanes[i] for i in self.linked))]
        return JvpRule(self.name, self.linked, lambda: _vmapped(self.function, axes, size))

    def _full(self, b: Builder, s: Apply, ts: Tangents) -> list[Atom]:
        inputs = inputs_of_mark(s)
        return [materialise(b, t, strong(inputs[i].aval)) for i, t in zip(self.linked, ts, strict=True)]


class VjpRule(Rule):
    """custom_vjp. The programs: inputs -> values, residuals; and residuals, inputs that both programs see from outside,
    cotangents of the inexact values -> cotangents of the linked inputs.
    """

    def __init__(
        self, name: str, linked: tuple[int, ...], hidden: int, programs: Callable[[], tuple[Function, Function]]
    ) -> None:
        super().__init__(name, linked)
        self.hidden, self.programs = hidden, programs

    @cached_property
    def functions(self) -> tuple[Function, Function]:
        return self.programs()

    def push(self, b: Builder, s: Apply, ts: Tangents) -> tuple[Sequence[Atom], Sequence[Atom]]:
        raise DTypeError(
            Diagnostic(
                f"can't apply forward-mode differentiation (jvp) to a custom_vjp function: {self.name}",
                s.span,
                why="its rule gives cotangents only",
                instead="use reverse mode (grad, vjp, jacrev), or give it a custom_jvp rule, which serves both",
            )
        )

    def ahead(self, b: Builder, s: Apply) -> tuple[Sequence[Atom], Sequence[Atom]]:
        outs = splice_block(b, self.functions[0], inputs_of_mark(s))
        return outs[: len(s.targets)], outs[len(s.targets) :]

    def back(self, b: Builder, s: Apply, residuals: Sequence[Atom], cts: Sequence[Atom]) -> Sequence[Atom]:
        inputs = inputs_of_mark(s)
        return splice_block(b, self.functions[1], (*residuals, *inputs[len(inputs) - self.hidden :], *cts))

    def batched(self, lanes: Sequence[bool], size: int) -> Rule:
        return VjpRule(self.name, self.linked, self.hidden, lambda: self._batched_programs(lanes, size))

    def _batched_programs(self, lanes: Sequence[bool], size: int) -> tuple[Function, Function]:
        forward, backward = self.functions
        count = len(backward.body.params)
        hidden = lanes[len(lanes) - self.hidden :]
        values = sum(inexact(r.aval) for r in forward.body.results[: self._values])
        residuals = count - len(hidden) - values
        inside = [*([True] * residuals), *hidden, *([True] * values)]
        axes = [0 if lane else None for lane in inside]
        ahead = _vmapped(forward, [0 if lane else None for lane in lanes], size)
        back = _vmapped(backward, axes, size)
        return ahead, _summed(back, [lanes[i] for i in self.linked])

    @property
    def _values(self) -> int:
        """How many of the forward program's results are values."""
        tree = self.functions[0].out.children[0]
        return tree.leaf_count


class Checkpoint(Transposed):
    """Computed again in the backward pass. The program: inputs -> values.

    memory   bytes that the tapes of a loop may take: loops keep the first states of segments, and nothing else is
             computed again. None: nothing is kept but the inputs, and what `saved` says.
    saved    which operations' results are kept for the backward pass.
    """

    def __init__(
        self,
        name: str,
        linked: tuple[int, ...],
        program: Callable[[], Function],
        memory: int | None = None,
        saved: Callable[[Apply], bool] | None = None,
    ) -> None:
        super().__init__(name, linked, program)
        self.memory, self.saved = memory, saved

    def like(self, program: Callable[[], Function], linked: tuple[int, ...]) -> Checkpoint:
        return Checkpoint(self.name, linked, program, self.memory, self.saved)

    @cached_property
    def pushed(self) -> Function:
        from .forward import jvp

        return jvp(self.function, [i in self.linked for i in range(len(self.function.body.params))])

    def split(self, function: Function) -> Halves:
        """inputs -> values, residuals; and residuals, inputs, cotangents -> cotangents."""
        from .reverse import vjp, vjp_split

        if self.memory is None:
            return recomputing(function, vjp(function, self.linked), self.saved or (lambda s: False))
        again = dataclasses.replace(function.body, statements=without_raises(function.body.statements))
        quiet = dataclasses.replace(function, body=again)  # the values were computed in front of the mark
        ahead, back = vjp_split(quiet, self.linked, memory=self.memory)
        return ahead, _with_inputs(back, function, len(ahead.body.results) - len(function.body.results))

    def push(self, b: Builder, s: Apply, ts: Tangents) -> tuple[Sequence[Atom], Sequence[Atom]]:
        """The tangents are computed again too, when they are differentiated in reverse."""
        inputs = inputs_of_mark(s)
        full = [materialise(b, t, strong(inputs[i].aval)) for i, t in zip(self.linked, ts, strict=True)]
        given = [fitted(b, t, v.aval) for t, v in zip(full, self.pushed.body.params[len(inputs) :], strict=True)]
        outs = splice_block(b, self.pushed, (*inputs, *given))
        together = (*inputs, *given)
        linked = tuple(i for i, a in enumerate(together) if inexact(a.aval))
        rule = self.like(lambda: _only_last(self.pushed, len(s.targets)), linked)
        return s.args[: len(s.targets)], mark(b, outs[len(s.targets) :], together, rule)

    def ahead(self, b: Builder, s: Apply) -> tuple[Sequence[Atom], Sequence[Atom]]:
        inputs, n = inputs_of_mark(s), len(s.targets)
        if len(self.halves(s)[0].body.results) == n:
            return mark(b, s.args[:n], inputs, self), ()
        outs = splice_block(b, self.halves(s)[0], inputs)
        return mark(b, outs[:n], inputs, self), outs[n:]

    def back(self, b: Builder, s: Apply, residuals: Sequence[Atom], cts: Sequence[Atom]) -> Sequence[Atom]:
        return splice_block(b, self.halves(s)[1], (*residuals, *inputs_of_mark(s), *cts))

    def batched(self, lanes: Sequence[bool], size: int) -> Rule:
        axes = [0 if lane else None for lane in lanes]
        return self.like(lambda: _vmapped(self.function, axes, size), self.linked)


def recomputing(function: Function, whole: Function, saved: Callable[[Apply], bool]) -> tuple[Function, Function]:
    """`whole`, the vjp of `function`, which computes all forward values, in two halves as `Checkpoint.halves` has them:
    the results of the operations that are `saved` come from the first.
    """
    used = {t for s in whole.body.statements for t in s.targets}
    wanted = (s.targets[0] for s in function.body.statements if isinstance(s, Apply) and saved(s))
    kept = [v for v in wanted if v in used]
    ahead = dataclasses.replace(function.body, results=(*function.body.results, *kept))
    rest = tuple(s for s in without_raises(whole.body.statements) if s.targets[0] not in kept)
    back = copy_block(prune(Block((*kept, *whole.body.params), rest, whole.body.results)), {})
    first = dataclasses.replace(function, body=ahead, out=tuple_tree(len(ahead.results)))
    return first, dataclasses.replace(whole, body=back)


def _with_inputs(back: Function, function: Function, residuals: int) -> Function:
    """A backward half that takes the inputs too, between residuals and cotangents; it does not use them."""
    params = back.body.params
    unused = tuple(Var(v.hint, v.aval) for v in function.body.params)
    return dataclasses.replace(
        back, body=dataclasses.replace(back.body, params=(*params[:residuals], *unused, *params[residuals:]))
    )


def mark(b: Builder, values: Sequence[Atom], inputs: Sequence[Atom], rule: Rule | None) -> tuple[Var, ...]:
    """Append `ruled(*values, *inputs)`; the values by their new names."""
    targets = tuple(Var(v.hint if isinstance(v, Var) else "t", v.aval) for v in values)
    attrs = RuledAttrs(len(values), rule)
    return b.append(Apply(targets, RULED, (*values, *inputs), attrs, b.span))


# ---- what derivatives and batches make of a mark -------------------------------------------------


def ruled_jvp(b: Builder, s: Apply, ts: Tangents) -> list[Atom | None]:
    """Append the mark, and what its rule says; the tangent of each target. `ts`: one for each argument."""
    assert isinstance(s.attrs, RuledAttrs)
    rule, n = s.attrs.rule, s.attrs.count
    if rule is None or all(t is None for t in ts[n:]):
        b.append(s)
        return [*ts[:n]] if rule is None else [None] * n
    rule.check([i for i, t in enumerate(ts[n:]) if t is not None], s.span)
    values, tangents = rule.push(b, s, [ts[n + i] for i in rule.linked])
    b.append(Apply(s.targets, RULED, tuple(values), RuledAttrs(n), s.span))
    feed = iter(tangents)
    return [next(feed) if inexact(t.aval) else None for t in s.targets]


def ruled_vjp(
    b: Builder, s: Apply, cts: Sequence[Atom | None], active: Sequence[int], outermost: bool
) -> tuple[list[Statement], list[tuple[int, Atom | None]]]:
    """The forward statements that stand for the mark, and (argument, cotangent) pairs, made in `b`.

    `outermost`: these stand in the block in which the backward statements will, and could be shared with them.
    """
    assert isinstance(s.attrs, RuledAttrs)
    rule, n = s.attrs.rule, s.attrs.count
    if rule is None:
        return [s], list(enumerate(cts))
    rule.check([i - n for i in active], s.span)
    ahead = Builder(s.span)
    values, residuals = rule.ahead(ahead, s)
    full = [materialise(b, c, strong(t.aval)) for c, t in zip(cts, s.targets, strict=True) if inexact(t.aval)]
    if outermost and isinstance(rule, Checkpoint):
        s = dataclasses.replace(s, args=(*s.args[:n], *(_anew(b, a) for a in s.args[n:])))
    found = rule.back(b, s, residuals, full)
    ahead.append(Apply(s.targets, RULED, tuple(values), RuledAttrs(n), s.span))
    return ahead.statements, [(n + i, c) for i, c in zip(rule.linked, found, strict=True)]


def _anew(b: Builder, a: Atom) -> Atom:
    """An array as a value of its own: what was computed from it is computed again."""
    if not isinstance(a, Var) or not a.aval.shape:
        return a
    return b.apply(BARRIER, a, attrs=RuledAttrs(1), hint=a.hint)


def _vmapped(function: Function, axes: Sequence[int | None], size: int) -> Function:
    return vmap(function, axes, [0] * function.out.leaf_count, size)


def _summed(function: Function, keep: Sequence[bool]) -> Function:
    """Results that are not kept are summed over their first axis: of what all elements share."""
    if all(keep):
        return function
    b = Builder(function.span)
    params = tuple(Var(v.hint, v.aval) for v in function.body.params)
    outs = splice_block(b, function, params)
    results = [o if k else make.sum(b, o, (0,)) for o, k in zip(outs, keep, strict=True)]
    return dataclasses.replace(function, body=b.block(params, results))


def _only_last(function: Function, count: int) -> Function:
    """Without the first `count` results."""
    results = function.body.results[count:]
    body = dataclasses.replace(function.body, results=results)
    return dataclasses.replace(function, body=body, out=tuple_tree(len(results)))


def fitted(b: Builder, a: Atom, aval: Aval) -> Atom:
    """`a` in the type `aval`, which differs at most in dtype and weakness."""
    if a.aval == aval:
        return a
    return make.number(b, a, aval.dtype) if aval.weak else make.astype(b, a, aval.dtype)
