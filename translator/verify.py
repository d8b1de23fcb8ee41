"""Checks that a program is well typed and well scoped; run after every pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np

from .errors import UntracedError
from .ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    free_variables,
    routines_of,
)

INDEX = Aval((), np.dtype(np.int64), weak=True)
BOOL = Aval((), np.dtype(np.bool_))


class VerificationError(Exception):
    """A pass made a program that is ill typed or ill scoped: a bug in untraced, never the user's."""


def verify(function: Function) -> None:
    """Raise VerificationError, naming statement and span, unless the program is well formed.

    Every variable has one definition and is used in its scope; the targets have the types that the operation gives;
    blocks receive and return what their statement carries; `Fused` bodies are closed; parameters and results agree
    with the trees.
    """
    _Verifier(function.name).function(function)
    for routine in routines_of(function.body):
        called = routine.function
        _Verifier(called.name).function(called)
        if called.mutated or free_variables(called.body):
            raise VerificationError(f"{called.name}: a routine writes no argument and sees nothing around it")


class _Verifier:
    def __init__(self, name: str) -> None:
        self.name = name
        self.defined: set[Var] = set()

    def fail(self, what: str, where: Statement | None = None) -> None:
        if where is None:
            raise VerificationError(f"{self.name}: {what}")
        raise VerificationError(f"{self.name}: {what}\n  in {describe(where)}\n  from {where.span} {where.span.text}")

    def function(self, f: Function) -> None:
        leaves = sum(p.tree.leaf_count for p in f.params)
        if leaves != len(f.body.params):
            self.fail(f"the parameter trees have {leaves} leaves, the body {len(f.body.params)} parameters")
        if f.out.leaf_count + len(f.mutated) != len(f.body.results):
            self.fail(
                f"{len(f.body.results)} results for {f.out.leaf_count} leaves and {len(f.mutated)} mutated parameters"
            )
        if len(set(f.mutated)) != len(f.mutated) or not all(0 <= i < leaves for i in f.mutated):
            self.fail(f"mutated parameters {f.mutated} are not distinct positions below {leaves}")
        self.block(f.body, set(), None)
        for position, result in zip(f.mutated, f.body.results[f.out.leaf_count :], strict=True):
            param = f.body.params[position]
            if result.aval != param.aval:
                self.fail(f"parameter {param} is written in place with a value of type {result.aval}")

    def block(self, block: Block, scope: set[Var], owner: Statement | None) -> None:
        """`scope` is the set of variables seen so far; it is extended for the block only."""
        scope = set(scope)
        self.bind(block.params, scope, owner)
        for s in block.statements:
            self.statement(s, scope)
            self.bind(s.targets, scope, s)
        self.use(block.results, scope, owner)

    def bind(self, variables: Sequence[Var], scope: set[Var], owner: Statement | None) -> None:
        for v in variables:
            if v in self.defined:
                self.fail(f"{v} is defined twice", owner)
            self.defined.add(v)
            scope.add(v)

    def use(self, atoms: Sequence[Atom], scope: set[Var], owner: Statement | None) -> None:
        for a in atoms:
            if isinstance(a, Var) and a not in scope:
                self.fail(f"{a} is used {'out of its scope' if a in self.defined else 'before it is defined'}", owner)
            if isinstance(a, Const) and np.shape(a.value) != a.aval.shape:
                self.fail(f"the constant {a} does not have the shape of its type", owner)

    def same_types(self, what: str, got: Sequence[Atom], want: Sequence[Atom], owner: Statement) -> None:
        if len(got) != len(want):
            self.fail(f"{what}: {len(got)} values where {len(want)} are wanted", owner)
        for g, w in zip(got, want, strict=True):
            if g.aval != w.aval:
                self.fail(f"{what}: {g} where {w} is wanted", owner)

    def statement(self, s: Statement, scope: set[Var]) -> None:
        match s:
            case Apply():
                self.apply(s, scope)
            case If():
                self.use((s.condition,), scope, s)
                self.boolean(s.condition, s)
                for branch in (s.then, s.orelse):
                    if branch.params:
                        self.fail("a branch has parameters", s)
                    self.block(branch, scope, s)
                    self.same_types("branch results", branch.results, s.targets, s)
            case Raise():
                self.use((s.condition,), scope, s)
                self.boolean(s.condition, s)
                if s.body.params:
                    self.fail("what a message holds has parameters", s)
                self.block(s.body, scope, s)
                if not s.error.numbers() <= set(range(len(s.body.results))):
                    self.fail(f"the message wants more than {len(s.body.results)} values", s)
            case For():
                self.loop(s, scope)
            case While():
                self.use(s.inits, scope, s)
                self.same_types("initial values", s.inits, s.targets, s)
                self.same_types("condition parameters", s.condition.params, s.targets, s)
                self.same_types("loop parameters", s.body.params, s.targets, s)
                self.block(s.condition, scope, s)
                if len(s.condition.results) != 1:
                    self.fail("the condition of a while has one result", s)
                self.boolean(s.condition.results[0], s)
                self.block(s.body, scope, s)
                self.same_types("loop results", s.body.results, s.targets, s)
            case Fused():
                self.use(s.args, scope, s)
                self.same_types("arguments of a fused group", s.args, s.body.params, s)
                for inner in s.body.statements:
                    if not isinstance(inner, Apply):
                        self.fail("a fused body is not straight-line", s)
                self.block(s.body, set(), s)
                self.same_types("results of a fused group", s.body.results, s.targets, s)
            case Invoke():
                self.use(s.args, scope, s)
                called = s.routine.function
                self.same_types(f"arguments of {s.routine.name}", s.args, called.body.params, s)
                self.same_types(f"results of {s.routine.name}", called.body.results, s.targets, s)
            case _:
                assert_never(s)

    def apply(self, s: Apply, scope: set[Var]) -> None:
        self.use(s.args, scope, s)
        try:
            avals = s.op.infer([a.aval for a in s.args], s.attrs)
        except (UntracedError, AssertionError, IndexError, ValueError) as error:
            raise VerificationError(f"{self.name}: {describe(s)} is ill typed: {error}\n  from {s.span}") from error
        if avals != tuple(t.aval for t in s.targets):
            self.fail(f"the operation gives {', '.join(map(str, avals))}", s)

    def loop(self, s: For, scope: set[Var]) -> None:
        self.use((s.range.start, s.range.stop, s.range.step, *s.inits), scope, s)
        for bound in (s.range.start, s.range.stop, s.range.step):
            if bound.aval.shape or bound.aval.dtype.kind not in "iu":
                self.fail(f"{bound} is no integer to count with", s)
        if isinstance(s.range.step, Const) and int(s.range.step.value) == 0:
            self.fail("the step of a range is zero", s)
        if not s.body.params or s.body.params[0].aval != INDEX:
            self.fail(f"the first parameter of a for body is its index, of type {INDEX}", s)
        self.same_types("initial values", s.inits, s.targets, s)
        self.same_types("loop parameters", s.body.params[1:], s.targets, s)
        self.block(s.body, scope, s)
        self.same_types("loop results", s.body.results, s.targets, s)

    def boolean(self, condition: Atom, s: Statement) -> None:
        if condition.aval != BOOL:
            self.fail(f"{condition} is no bool scalar", s)


def describe(s: Statement) -> str:
    """One line that names a statement in messages."""
    targets = ", ".join(map(repr, s.targets))
    match s:
        case Apply():
            return f"{targets} = {s.op.name}({', '.join(map(repr, s.args))}) {s.attrs}"
        case Fused():
            return f"{targets} = fused {s.kind}({', '.join(map(repr, s.args))})"
        case Invoke():
            return f"{targets} = {s.routine.name}({', '.join(map(repr, s.args))})"
        case If() | For() | While():
            return f"{targets} = {type(s).__name__.lower()} ..."
        case Raise():
            return f"raise {s.error.error.__name__} if {s.condition!r}"
        case _:
            assert_never(s)
