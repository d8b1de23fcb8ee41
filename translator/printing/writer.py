"""Writes a program line by line, after the plan."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePath
from textwrap import shorten
from typing import Any, assert_never

from .. import ops
from ..errors import NOWHERE, Span
from ..ir import (
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
    Param,
    Raise,
    Routine,
    Statement,
    Var,
    While,
    const,
    free_variables,
    inputs_of,
    routines_of,
    walk,
)
from ..ops.core import Draw, Elementwise, Put, Tape, is_store
from ..passes.dead import dead_code
from ..records import dataclass
from ..rewrite import unique_names
from ..routines import everywhere
from ..tree import ARRAY, LEAF, Kind, TreeDef, flat_tree, leaf_nodes
from ..verdict import verdict_source
from .factors import called, gathered, results_from
from .idioms import with_idioms
from .messages import arguments, class_of
from .moves import Move, assignment, in_turn
from .names import identifier
from .parameters import parameter_names, use_counts, used
from .phrases import Expressions
from .pieces import call, large_constants, method, name
from .plan import Plan, plain_starts, python_bools
from .ranges import is_number, range_of
from .sourcetext import Line, join, join_elif, text_of
from .stores import draw, final_stores, keep, store
from .temporaries import elements, is_adjoint, start_of
from .together import Together, is_joinable
from .trees import Scope, is_plain, leaf_paths, leaf_variables, result_tree
from .trivial import without_trivial

WIDE = 96  # columns: a longer line is broken up by naming one of its temporaries;
NARROWEST = 84  # characters that a line may have however deep it stands: an expression of WIDTH and a name
NEARLY_ALL = 80  # the longest temporary that is not broken up further
QUOTED = 72  # the most that a comment quotes


@dataclass(frozen=True, slots=True)
class Printed:
    """The text of a `def`, its name, and the globals it needs beside `np`.

    `origins` has the statements of the program that each line of the text is made of.
    """

    text: str
    name: str
    scope: Mapping[str, Any]
    origins: tuple[tuple[Statement, ...], ...] = ()


def printed(function: Function, comments: bool = False) -> Printed:
    """Print one function. Refuses nothing but result classes without a constructor form."""
    function = everywhere(function, lambda f: gathered(dead_code(with_idioms(without_trivial(f)))))
    scope = Scope()
    own = identifier(_function_name(function))
    called = routines_of(function.body)
    labels = unique_names([identifier(r.name) for r in called], {own, *(p.name for p in function.params)})
    routines = dict(zip(called, labels, strict=True))
    first, *body = _written(function, scope, comments, routines)
    for r, label in routines.items():
        inner = _written(replace(r.function, name=label), scope, comments, routines)
        body = [*(replace(line, indent=line.indent + 1) for line in inner), Line(0, ""), *body]
    lines = [first, *body]
    return Printed(join(lines), own, scope.objects, tuple(line.origins for line in lines))


def _written(function: Function, scope: Scope, comments: bool, routines: Mapping[Routine, str]) -> list[Line]:
    """The lines of one `def`; its longest expressions are broken up."""
    kept: set[Var] = set()
    while True:
        writer = Writer(function, Plan.make(function, kept), scope, comments, routines)
        lines = writer.definition()
        if not writer.too_wide - kept:
            return lines
        kept |= writer.too_wide


def _out_of(s: Invoke) -> TreeDef:
    """How the results of a routine are returned: as a tuple, or the single one by itself."""
    return flat_tree(len(s.targets))


def _is_boxed(a: Atom, t: TreeDef) -> bool:
    """Whether a result is an array without axes."""
    return t == ARRAY and not a.aval.shape


def _function_name(function: Function) -> str:
    return "function" if not re.search(r"\w", function.name) else function.name.strip("<>")


class Writer:
    """Writes one `def`; nested ones (fused groups, long loop conditions) are written by writers of their own.

    `routines` are the names of those that the function calls.
    """

    def __init__(
        self, function: Function, plan: Plan, scope: Scope, comments: bool, routines: Mapping[Routine, str]
    ) -> None:
        self.function = function
        self.routines = routines
        self.plan = plan
        self.scope = scope
        self.comments = comments
        self.lines: list[Line] = []
        self.helpers: list[list[Line]] = []
        self.helper_names: dict[str, int] = {}
        self.indent = 1
        self.too_wide: set[Var] = set()
        self.last_comment = ""
        self.copies: dict[Var, str] = {}
        self.bound: set[str] = set()  # names that have a value on every path to here
        self.plain_starts = plain_starts(function.body)
        self.together = Together()
        self._name_everything()

    def _name_everything(self) -> None:
        """Names; parameters that are trees stay paths unless a leaf is used more than once or stored into."""
        fixed: dict[Var, str] = {}
        self.paths: dict[Var, ast.expr] = {}
        hints: dict[Var, str] = {}
        reserved = {*self.scope.objects, *self.routines.values()}
        counts = self.counts = use_counts(self.function.body)
        for p, variables in leaf_variables(self.function):
            if is_plain(p):
                fixed[variables[0]] = p.name
                continue
            reserved.add(p.name)
            for v, (path, hint) in zip(variables, leaf_paths(p, self.scope), strict=True):
                self.paths[v] = path
                hints[v] = hint
        for s in walk(self.function.body):
            if isinstance(s, Raise):
                class_of(s.error, self.scope)
        literals = {id(a.value): self.scope.named(a.value, "constant") for a in large_constants(self.function.body)}
        reserved.update(self.scope.objects)
        names = self.plan.names
        unnamed = {v for v in self.paths if counts.get(v, 0) <= 1 and not self._needs_name(v)}
        self.unpacked = [v for v in self.paths if v not in unnamed]
        self.names = names.assign(fixed, {v: identifier(hints[v]) for v in self.unpacked}, unnamed, reserved)
        self.types_of: dict[str, set[Aval]] = {}
        for v, named in self.names.items():
            self.types_of.setdefault(named, set()).add(v.aval)
        self.expressions = Expressions(
            self.names,
            self.plan.folding.definitions,
            {v: p for v, p in self.paths.items() if v in unnamed},
            literals,
            python_bools(self.function.body),
            self._verdict(),
        )

    def _verdict(self) -> str:
        """The name of the function that asks LAPACK for a Cholesky factor; it is written where it is called."""
        asks = any(isinstance(s, Apply) and s.op is ops.INDEFINITE for s in walk(self.function.body))
        if not asks:
            return ""
        taken = {*self.names.values(), *self.scope.objects, *self.routines.values()}
        (chosen,) = unique_names(["is_indefinite"], taken)
        self.helpers.append([*(Line(1, text) for text in verdict_source(chosen).splitlines()), Line(0, "")])
        return chosen

    def _needs_name(self, v: Var) -> bool:
        position = self.function.body.params.index(v)
        if position in self.function.mutated or v in self.plan.ownership.assigned:
            return True
        i = self.plan.lifetimes.index[v]
        return any(self.plan.names.together(v, w) for j, w in enumerate(self.plan.lifetimes.order) if j != i)

    # ---- lines ----

    def line(self, text: str, span: Span = NOWHERE, targets: Iterable[Var] = ()) -> None:
        self.lines.append(Line(self.indent, text, self._comment(text, span, targets)))

    def line_of(self, s: Statement, text: str, *atoms: Atom, comment: bool = False) -> None:
        """A line that does what `s` does with `atoms`."""
        if comment:
            self.line(text, s.span, s.targets)
        else:
            self.line(text)
        self.lines[-1].origins = (s, *self.expressions.folded_into(*atoms))

    def _comment(self, text: str, span: Span, targets: Iterable[Var]) -> str:
        if not self.comments or not span.line or not span.text or not any(map(is_adjoint, targets)):
            return ""
        if span.text == text or text.endswith(f"= {span.text}"):
            return ""
        home = self.function.span
        file = "" if span.file == home.file or not home.line else f"{PurePath(span.file).name} "
        comment = f"from {file}line {span.line}: {shorten(span.text, QUOTED, placeholder=' ...')}"
        if comment == self.last_comment:
            return ""
        self.last_comment = comment
        return comment

    def definition(self) -> list[Line]:
        f = self.function
        for v in self.unpacked:
            self.line(f"{self.names[v]} = {text_of(self.paths[v])}")
        self.bound = {self.names[v] for v in f.body.params if v in self.names}
        last = f.body.statements[-1] if f.body.statements else None
        if isinstance(last, Invoke) and not f.mutated and f.body.results == last.targets and f.out == _out_of(last):
            self.block(replace(f.body, statements=f.body.statements[:-1]))
            self.line_of(last, f"return {text_of(self.invoked(last))}", *last.args)
        else:
            self.block(f.body)
            final_stores(self)
            self.return_statement()
        body = [line for helper in self.helpers for line in helper] + self.lines
        if not body:
            body = [Line(1, "pass")]
        plain = [p.name for p in f.params if p.capture is None]
        hidden = [p.name for p in f.params if p.capture is not None]
        parameters = ", ".join([*plain, "*", *hidden] if hidden else plain)
        return [Line(0, f"def {identifier(_function_name(f))}({parameters}):"), *body]

    def return_statement(self) -> None:
        f = self.function
        if f.out.kind is Kind.NONE:
            return
        leaves = f.body.results[: f.out.leaf_count]
        nodes = zip(leaves, leaf_nodes(f.out), strict=True)
        written = (call("np.asarray", self.result(a)) if _is_boxed(a, t) else self.result(a) for a, t in nodes)
        tree = result_tree(f.out, written, self.scope)
        text = text_of(ast.Return(tree)) if len(f.out.children) != 1 else f"return {text_of(tree)}"
        folded = [a for a in leaves if isinstance(a, Var) and a in self.plan.folding.definitions]
        span = self.plan.folding.definitions[folded[0]].span if len(leaves) == 1 and folded else NOWHERE
        self.line(text, span, folded)
        self.lines[-1].origins = self.expressions.folded_into(*leaves)
        self.check_width(leaves)

    def result(self, a: Atom) -> ast.expr:
        """A returned leaf. A literal True is wrapped: the reader would take it for part of the result's structure."""
        if isinstance(a, Var) and a in self.copies:
            return name(self.copies[a])
        return self.expressions.numpy_atom(a) if isinstance(a, Const) else self.value(a)

    def check_width(self, atoms: Iterable[Atom]) -> None:
        """If the line just written is too long, remember which temporaries to name: no more than surely needed."""
        excess = len(self.lines[-1].text) - max(WIDE - 4 * self.indent, NARROWEST)
        if excess <= 0:
            return
        folded = [a for a in atoms if isinstance(a, Var) and a in self.plan.folding.definitions]
        while len(folded) == 1 and len(text_of(self.value(folded[0]))) > NEARLY_ALL:
            inner = self.plan.folding.definitions[folded[0]].args
            deeper = [a for a in inner if isinstance(a, Var) and a in self.plan.folding.definitions]
            if not deeper:
                break
            folded = deeper
        lengths = {v: len(text_of(self.value(v))) for v in folded}
        for v in sorted(lengths, key=lambda v: -lengths[v]):
            if excess <= 0:
                break
            excess -= lengths[v]
            while (start := start_of(v, self.plan.folding.definitions)) is not None:
                v = start
            self.too_wide.add(v)

    def value(self, a: Atom) -> ast.expr:
        return self.expressions.atom(a)

    def reads(self, *atoms: Atom) -> frozenset[str]:
        return frozenset(self.names[v] for v in self.plan.folding.leaves(*atoms) if v in self.names)

    def fresh_name(self, hint: str) -> str:
        parameters = {p.name for p in self.function.params}
        taken = {*self.names.values(), *self.copies.values(), *self.scope.objects, *parameters}
        n, chosen = 0, hint
        while chosen in taken:
            n += 1
            chosen = f"{hint}_{n}"
        return chosen

    # ---- statements ----

    def block(self, block: Block) -> None:
        outer = set(self.bound)
        unpacked = 0
        for k, s in enumerate(block.statements):
            if k < unpacked:
                continue
            if count := elements(block.statements, k, self.is_named, self.plan.ownership.copied_views):
                unpacked = k + count
                targets = [self.names[e.targets[0]] for e in block.statements[k:unpacked]]
                self.line_of(s, f"{', '.join(targets)} = {text_of(self.value(inputs_of(s)[0]))}", *inputs_of(s))
                self.bound.update(targets)
                continue
            results = results_from(block.statements, k)
            named = [x for x in results if self.is_named(x.targets[0])]
            if len(named) > 1:
                unpacked = k + len(results)
                self.factorise(named)
            else:
                self.statement(s)
            made = [t for x in block.statements[k : max(k + 1, unpacked)] for t in x.targets]
            self.bound.update(self.names[t] for t in made if t in self.names and self.is_named(t))
        self.bound = outer

    def factorise(self, results: Sequence[Apply]) -> None:
        """Results of one factorisation, in one line."""
        op, attrs, parts = called(results)
        names = [self.names[p.targets[0]] if p is not None else "_" for p in parts]
        options = {k: ast.Constant(v) for k, v in op.options[attrs.full].items()}
        made = call(op.numpy, self.value(results[0].args[0]), **options)
        self.line_of(results[0], f"{', '.join(names)} = {text_of(made)}", results[0].args[0])
        self.lines[-1].origins = (*results, *self.expressions.folded_into(results[0].args[0]))
        self.check_width(results[0].args)

    def is_named(self, v: Var) -> bool:
        """Whether the variable has a line of its own, not a place in an expression."""
        return v not in self.plan.folding.definitions

    def statement(self, s: Statement) -> None:
        match s:
            case Apply():
                if s.targets[0] not in self.plan.folding.definitions:
                    before = len(self.lines)
                    self.apply(s)
                    self.check_width(s.args)
                    if len(self.lines) == before + 1 and is_joinable(s, self.names[s.targets[0]]):
                        self.join(s)
            case If():
                self.branch(s)
            case For():
                self.for_loop(s)
            case While():
                self.while_loop(s)
            case Fused():
                self.fused(s)
            case Raise():
                self.raising(s)
            case Invoke():
                named = ", ".join(self.names[t] if t in self.counts else "_" for t in s.targets)
                self.line_of(s, f"{named} = {text_of(self.invoked(s))}", *s.args, comment=True)
                self.check_width(s.args)
            case _:
                assert_never(s)

    def invoked(self, s: Invoke) -> ast.expr:
        return call(self.routines[s.routine], *(self.expressions.numpy_atom(a) for a in s.args))

    def apply(self, s: Apply) -> None:
        (t,) = s.targets
        if isinstance(s.op, Put):
            store(self, s)
        elif isinstance(s.op, Tape) and is_store(s.op):
            keep(self, s)
        elif isinstance(s.op, Draw) and is_store(s.op):
            draw(self, s)
        elif id(s) in self.plan.ownership.updates and isinstance(s.op, Elementwise):
            self.line_of(s, self.expressions.change(s.op, self.names[t], s.args), *s.args, comment=True)
        else:
            value = self.like(s) or self.expressions.apply(s)
            if t in self.plan.ownership.copied_views:
                value = method(value, "copy")
            self.line_of(s, f"{self.names[t]} = {text_of(value)}", *s.args, comment=True)

    def join(self, s: Apply) -> None:
        """Let the assignment just written stand in the line before it, where both were one line of the user's."""
        (t,) = s.targets
        target, equals, value = self.lines[-1].text.partition(" = ")
        if id(s) in self.plan.ownership.updates and not t.aval.shape and isinstance(s.op, Elementwise):
            target, equals, value = self.names[t], " = ", text_of(self.expressions.apply(s))
        if equals:
            self.together.join(self.lines, s, target, value)

    def like(self, s: Apply) -> ast.expr | None:
        """np.zeros_like(x) for the adjoint d_x of an x of the same type."""
        target, aval = self.names[s.targets[0]], s.targets[0].aval
        if s.op not in (ops.FULL, ops.EMPTY) or not target.startswith("d_"):
            return None
        wanted = target[2:]
        if wanted not in self.bound or self.types_of[wanted] != {aval}:
            return None
        plain = self.expressions.apply(s)
        assert isinstance(plain, ast.Call) and isinstance(plain.func, ast.Attribute)
        if plain.func.attr not in ("zeros", "ones", "empty"):
            return None
        return call(f"np.{plain.func.attr}_like", name(wanted))

    # ---- assignments at the borders of loops and branches ----

    def moves(self, targets: Sequence[Var], sources: Sequence[Atom], copied: Set[int] = frozenset()) -> list[Move]:
        found = []
        for k, (t, a) in enumerate(zip(targets, sources, strict=True)):
            value = self.value(a)
            target = self.names[t]
            if k in copied and not isinstance(a, Const):
                value = method(value, "copy")
            elif isinstance(value, ast.Name) and value.id == target:
                continue
            found.append(Move(target, value, self.reads(a), self.expressions.folded_into(a), a.aval.weak))
        return found

    def assign(self, moves: Sequence[Move]) -> None:
        for at_once in in_turn(moves):
            self.line(assignment(at_once))
            self.lines[-1].origins = tuple(s for m in at_once for s in m.origins)

    # ---- control flow ----

    def branch(self, s: If) -> None:
        start, test = len(self.lines), self.expressions.truth(s.condition)
        self.line_of(s, f"if {text_of(test)}:", s.condition)
        self.check_width([s.condition])
        self.indented(s.then, s.targets, self.second_names(s.targets, s.then.results))
        mark = len(self.lines)
        self.line("else:")
        self.alternative(s)
        if self.lines[mark + 1].text == "pass":
            del self.lines[mark:]
        elif self.lines[start + 1].text == "pass" and not isinstance(test, ast.UnaryOp):
            self.lines[start].text = f"if {text_of(ast.UnaryOp(ast.Not(), test))}:"
            del self.lines[start + 1 : mark + 1]
        else:
            join_elif(self.lines, mark)

    def alternative(self, s: If) -> None:
        """The second branch. Where it will be an `elif` its lines are as wide as those of the `if`, however long the
        chain.
        """
        block, aliases = s.orelse, self.second_names(s.targets, s.orelse.results)
        last = block.statements[-1] if block.statements else None
        alone = isinstance(last, If) and not any(self.is_named(t) for b in block.statements[:-1] for t in b.targets)
        if not alone or self.moves(s.targets, block.results, aliases):
            self.indented(block, s.targets, aliases)
            return
        mark = len(self.lines)
        self.block(block)
        for line in self.lines[mark:]:
            line.indent += 1

    def raising(self, s: Raise) -> None:
        """`assert`, or a branch of its own that raises."""
        made = s.error
        plain = all(t in self.plan.folding.definitions for inner in s.body.statements for t in inner.targets or (None,))
        asserts = made.error is AssertionError and plain and len(made.args) < 2 and not made.keywords
        written = arguments(made, [self.expressions.numpy_atom(r) for r in s.body.results], self.scope)
        if asserts:
            holds = ast.UnaryOp(ast.Not(), self.expressions.truth(s.condition))
            message = "".join(f", {text_of(a)}" for a in written)
            self.line_of(s, f"assert {text_of(_without_nots(holds))}{message}", s.condition, *s.body.results)
            return
        self.line_of(s, f"if {text_of(self.expressions.truth(s.condition))}:", s.condition)
        self.check_width([s.condition])
        self.indent += 1
        self.block(s.body)
        called = f"({', '.join(map(text_of, written))})" if written else ""
        self.line_of(s, f"raise {text_of(class_of(made, self.scope))}{called}", *s.body.results)
        self.indent -= 1

    def enter(self, s: For | While, params: Sequence[Var]) -> None:
        """Write the initial values of what a loop carries."""
        copied = {k for k in range(len(params)) if (id(s), k) in self.plan.ownership.copied_inits}
        copied |= self.second_names(params, s.inits)
        inits = [
            const(a.value.item()) if isinstance(a, Const) and (id(s), k) in self.plain_starts else a
            for k, a in enumerate(s.inits)
        ]
        self.assign(self.moves(params, inits, copied))

    def second_names(self, targets: Sequence[Var], sources: Sequence[Atom]) -> set[int]:
        """Places where an array that is written later would have two names, so that the reader could not tell which
        it is after a branch or a loop that may not run."""
        ownership, together = self.plan.ownership, self.plan.names.together
        index = self.plan.lifetimes.index
        return {
            k
            for k, (t, a) in enumerate(zip(targets, sources, strict=True))
            if t.aval.shape and ownership.is_written(t) and isinstance(a, Var) and a in index and not together(t, a)
        }

    def indented(self, block: Block, targets: Sequence[Var], aliases: Set[int] = frozenset()) -> None:
        """The body of a branch or loop, and what it hands on."""
        mark = len(self.lines)
        self.indent += 1
        self.block(block)
        self.assign(self.moves(targets, block.results, aliases))
        if len(self.lines) == mark:
            self.line("pass")
        self.indent -= 1

    def for_loop(self, s: For) -> None:
        params = s.body.params[1:]
        self.enter(s, params)
        index, over, body = s.body.params[0], range_of(s.range, self.value), s.body
        if (entry := self.entry(s)) is not None:
            index, over = entry.targets[0], self.value(entry.args[0])
            over = call("reversed", over) if s.range.reverse else over
            body = replace(body, statements=body.statements[1:])
        self.line_of(s, f"for {self.names[index]} in {text_of(over)}:", *inputs_of(s))
        self.indented(body, params)
        self.assign(self.moves(s.targets, params))

    def entry(self, s: For) -> Apply | None:
        """The statement that reads an entry of a list, for loops over its entries: `for y in reversed(y_tape)`."""
        first, r = next(iter(s.body.statements), None), s.range
        if not isinstance(first, Apply) or first.op is not ops.ITEM or first.args[1] is not s.body.params[0]:
            return None
        counted = self.plan.folding.definitions.get(r.stop) if isinstance(r.stop, Var) else None
        whole = counted is not None and counted.op is ops.LENGTH and counted.args[0] is first.args[0]
        once = self.counts[s.body.params[0]] == 1 and self.is_named(first.targets[0])
        return first if whole and once and is_number(r.start, 0) and is_number(r.step, 1) else None

    def while_loop(self, s: While) -> None:
        params = s.body.params
        self.enter(s, params)
        self.line_of(s, f"while {text_of(self.condition(s))}:", *s.condition.results)
        self.indented(s.body, params)
        self.assign(self.moves(s.targets, params))

    def condition(self, s: While) -> ast.expr:
        """One expression, or the call of a nested function where the condition needs statements."""
        block = s.condition
        folded = self.plan.folding.definitions
        if all(isinstance(inner, Apply) and inner.targets[0] in folded for inner in block.statements):
            return self.expressions.truth(block.results[0])
        free = self.plan.folding.leaves(*free_variables(block))
        arguments = list(dict.fromkeys((*used(block.params, block), *free)))
        body = Block(tuple(arguments), block.statements, block.results)
        wanted = [self.names.get(v, identifier(v.hint)) for v in arguments]  # leaves of trees may stand as paths
        return self.call_helper("go_on", arguments, body, LEAF, unique_names(wanted, set()))

    # ---- nested functions ----

    def fused(self, s: Fused) -> None:
        out = flat_tree(len(s.targets))
        called = self.call_helper(s.kind, s.args, s.body, out, parameter_names(s.body.params))
        self.line_of(s, f"{', '.join(self.names[t] for t in s.targets)} = {text_of(called)}", *s.args)

    def call_helper(
        self, kind: str, args: Sequence[Atom], body: Block, out: TreeDef, parameters: Sequence[str]
    ) -> ast.expr:
        """Write `body` as a nested def and return its call."""
        taken = set(self.names.values()) | set(self.scope.objects)
        n = self.helper_names.get(kind, 0) + 1
        while f"{kind}_{n}" in taken:
            n += 1
        self.helper_names[kind] = n
        helper_name = f"{kind}_{n}"
        helper = Function(helper_name, tuple(Param(p, LEAF) for p in parameters), body, out)
        lines = _written(helper, self.scope, self.comments, self.routines)
        self.helpers.append([replace(line, indent=line.indent + 1) for line in lines] + [Line(0, "")])
        return call(helper_name, *(self.expressions.numpy_atom(a) for a in args))


def _without_nots(condition: ast.expr) -> ast.expr:
    match condition:
        case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=inner)):
            return inner
    return condition
