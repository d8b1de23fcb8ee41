"""The rules that marks of `ruled` carry, each made of programs: custom_jvp, custom_vjp and checkpoint.

    custom_jvp      one program, f(x), its tangent from x and d_x; reverse mode transposes it
    custom_vjp      two, f(x) with what it keeps, and d_x from that and d_y
    checkpoint      f itself, computed again in front of its backward half
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property

from .. import make
from ..batch.vmap import vmap
from ..builder import Builder
from ..errors import Diagnostic, DTypeError
from ..ir import Apply, Atom, Block, Const, Function, Var
from ..ops.core import RuledAttrs
from ..rewrite import Substitution, copy_block, prune, rebuilt, splice_block, substituted, without_raises
from ..tree import tuple_tree
from .activity import inexact
from .cotangents import materialise, strong, zeros
from .forward import jvp
from .linearity import check_linear, check_transpose
from .reverse import vjp, vjp_split
from .ruled import Rule, Tangents, inputs_of_mark, mark
from .tape import NeedTrip, behind_of

Halves = tuple[Function, Function]


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

    computes_again = True

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
        return jvp(self.function, [i in self.linked for i in range(len(self.function.body.params))])

    def split(self, function: Function) -> Halves:
        """inputs -> values, residuals; and residuals, inputs, cotangents -> cotangents."""
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
        given = [make.fitted(b, t, v.aval) for t, v in zip(full, self.pushed.body.params[len(inputs) :], strict=True)]
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
