"""Derivatives that users give: `ruled` marks values that have a rule, which is spliced in under a derivative.

    y = f(x)                    t = ...                      the program of f
                                y = ruled(t, x)              `y` is `t`; its derivative is the rule's, not that of `t`

What rules there are, `program_rules` says: they are made of programs, which are read when `f` is, so they are
differentiated and batched like everything else. Values marked without a rule are as they are: what is left of a mark
whose rule has been applied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..builder import Builder
from ..errors import Diagnostic, Span, UnsupportedError
from ..ir import Apply, Atom, Statement, Var
from ..ops.core import BARRIER, RULED, RuledAttrs
from .activity import inexact
from .cotangents import materialise, strong

Tangents = Sequence[Atom | None]


class Rule:
    """What a rule says about `ruled(*values, *inputs)`. `linked`: places among the inputs that it has derivatives for.

    The other inputs are held fixed: asking for their derivative is an error. Values and inputs follow the order of the
    mark's arguments; of inputs, tangents and cotangents there is one for each of `linked`, of the real and complex
    values likewise.
    """

    computes_again = False  # whether the backward pass computes the values from the inputs once more
    solves = False  # the values are a solution, which is the same however it is found: what is held fixed may move

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
        if not self.solves and any(i not in self.linked for i in moving):
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
    """What the marked values were computed from, behind the values themselves."""
    assert isinstance(s.attrs, RuledAttrs)
    return s.args[s.attrs.count :]


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
    if outermost and rule.computes_again:
        s = dataclasses.replace(s, args=(*s.args[:n], *(_anew(b, a) for a in s.args[n:])))
    found = rule.back(b, s, residuals, full)
    ahead.append(Apply(s.targets, RULED, tuple(values), RuledAttrs(n), s.span))
    return ahead.statements, [(n + i, c) for i, c in zip(rule.linked, found, strict=True)]


def _anew(b: Builder, a: Atom) -> Atom:
    """An array as a value of its own: what was computed from it is computed again."""
    if not isinstance(a, Var) or not a.aval.shape:
        return a
    return b.apply(BARRIER, a, attrs=RuledAttrs(1), hint=a.hint)
