"""Calls of functions with a custom rule, under a derivative: the rule is read, and their results are marked by it.

The rules are read for the arguments of the call, each as a program of its own. A rule that calls the function itself,
as most do, finds the mark that is being made, so reading ends, and the derivative of the derivative has its rule too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from ...translator import make
from ...translator.builder import Builder
from ...translator.derive.activity import inexact, tangent_tree
from ...translator.derive.cotangents import materialise, strong, zeros
from ...translator.derive.program_rules import JvpRule, VjpRule
from ...translator.derive.ruled import Rule, inputs_of_mark, mark
from ...translator.errors import Diagnostic, MismatchError, UnsupportedError
from ...translator.float0 import Zeros, zeros_of
from ...translator.ir import Apply, Atom, Aval, Const, Function, Param, Var, const
from ...translator.ops.core import RuledAttrs
from ...translator.purpose import reading_rules
from ...translator.reading.core.guards import Guard
from ...translator.reading.functions.results import Reading, read_specialised
from ...translator.reading.reader import read
from ...translator.reading.text.signature import Signature, abstract_with_leaves
from ...translator.records import dataclass
from ...translator.rewrite import rebuilt, splice_block, unique_names
from ...translator.tree import Kind, TreeDef, tuple_tree
from ..trees.tree_util import describe
from .choices import positional
from .products import rebuild

Fun = Callable[..., Any]
Tag = tuple[str, int]  # ("input", leaf of the signature), ("tangent", the same), ("residual", k) or ("ct", value)


@dataclass(frozen=True, slots=True)
class Tagged:
    """A leaf that stands for a value, and says which."""

    aval: Aval
    tag: Tag


@dataclass(frozen=True, slots=True)
class _Hidden:
    """An array that a function finds outside itself."""

    param: Param
    aval: Aval


@dataclass(slots=True)
class _Part:
    """One function of a rule, read: what each of its parameters is, then its hidden ones."""

    function: Function
    sources: list[Tag | Const]
    hidden: list[_Hidden]
    statics: frozenset[int]
    guards: tuple[Guard, ...]


@dataclass(eq=False, slots=True)
class _Pending:
    """A rule that is being read. `shared`: also rules of other functions, read within it, refer to it."""

    site: Site
    rule: Rule
    shared: bool = False


_pending: ContextVar[tuple[_Pending, ...]] = ContextVar("pending", default=())


class Site:
    """A function read for a signature, `reading`, and what its rule needs to know of the two.

    `custom` is a `custom.Custom` or a `custom_batching.CustomVmap`.
    """

    def __init__(self, custom: Any, signature: Signature, reading: Reading) -> None:
        self.custom, self.signature, self.primal = custom, signature, reading
        self.name = custom.__name__
        function = reading.function
        if function.mutated:
            raise UnsupportedError(
                Diagnostic(
                    f"{self.name} has a rule of its own and writes into its arguments",
                    function.span,
                    why="a rule speaks of results only",
                    instead="write into a copy and return it",
                )
            )
        self.kept = [i for i in range(len(signature.avals)) if i not in reading.statics]
        self.hidden = _hidden_of(function)
        self.values = function.body.results
        self.moving = [i for i, v in enumerate(self.values) if inexact(v.aval)]
        arguments = positional(custom.fun, signature)
        names = [name for name, _ in signature.params]
        fixed = {i % len(arguments) for i in custom.nondiff_argnums if -len(arguments) <= i < len(arguments)}
        fixed |= {names.index(n) for n in custom.nondiff_argnames if n in names}
        self.fixed = [arguments[i] for i in sorted(fixed)]
        self.arguments = [a for i, a in enumerate(arguments) if i not in fixed]
        self.every = arguments
        free = {leaf for first, tree in self.arguments for leaf in range(first, first + tree.leaf_count)}
        self.differentiable = [i for i in sorted(free) if inexact(signature.avals[i])]
        self.linked = tuple(k for k, i in enumerate(self.kept) if i in free and inexact(signature.avals[i]))

    # ---- the function, marked --------------------------------------------------------------------

    def reading(self, rules: Sequence[Fun]) -> Reading:
        """The function with its results marked by the rule that these functions make up."""
        for place, waiting in enumerate(_pending.get()):
            if waiting.site.custom is self.custom and waiting.site.signature == self.signature:
                waiting.shared = waiting.shared or place < len(_pending.get()) - 1
                return self._marked(waiting.rule, [], ())
        rule = self.rule()
        rule.solves = self.custom.solves
        pending = _Pending(self, rule)
        token = _pending.set((*_pending.get(), pending))
        try:
            with reading_rules(self.custom.order):
                parts = self.parts(rules)
        finally:
            _pending.reset(token)
        statics = frozenset().union(*(p.statics for p in parts))
        if not statics <= self.primal.statics:
            return read_specialised(
                self.custom.__untraced_read__, self.signature, self.primal.statics | statics
            )
        hidden = _unified([*self.hidden, *(p for part in parts for p in part.hidden)])
        if hidden and pending.shared:
            raise UnsupportedError(
                Diagnostic(
                    f"the rules of {self.name} and of a function that it calls need each other",
                    self.primal.function.span,
                    why="they use arrays from outside, which each would have to hand to the other",
                    instead="pass the arrays as arguments",
                )
            )
        self.complete(pending.rule, parts, hidden)
        return self._marked(pending.rule, hidden, tuple(g for p in parts for g in p.guards))

    def rule(self) -> Any:
        raise NotImplementedError

    def parts(self, rules: Sequence[Fun]) -> list[_Part]:
        raise NotImplementedError

    def complete(self, rule: Any, parts: list[_Part], hidden: list[_Hidden]) -> None:
        """Give the rule its programs."""
        raise NotImplementedError

    def _marked(self, rule: Rule, hidden: list[_Hidden], guards: tuple[Guard, ...]) -> Reading:
        function = self.primal.function
        b = Builder(function.span)
        outer = tuple(Var(v.hint, v.aval) for v in function.body.params)
        values = splice_block(b, function, outer)
        inputs = list(outer[: len(self.kept)])
        others = [Var(h.param.name, h.aval) for h in hidden]
        others[: len(self.hidden)] = outer[len(self.kept) :] if hidden else []
        targets = mark(b, values, (*inputs, *others), rule)
        params = (*inputs, *(others if hidden else outer[len(self.kept) :]))
        shown = tuple(p for p in function.params if p.capture is None)
        trees = (*shown, *_as_params(shown, hidden or self.hidden))
        made = dataclasses.replace(function, params=trees, body=b.block(params, targets))
        return dataclasses.replace(self.primal, function=made, guards=(*self.primal.guards, *guards))

    # ---- its rules, read -------------------------------------------------------------------------

    def tagged(self, tree: TreeDef, first: int, kind: str) -> Any:
        """The tree over the leaves from `first` on, each as a tagged one; tangents of integers are of dtype float0."""
        avals = self.signature.avals[first : first + tree.leaf_count]
        if kind == "input":
            return rebuild(tree, iter([Tagged(a, (kind, i)) for i, a in enumerate(avals, first)]))
        moving = [Tagged(strong(a), (kind, i)) for i, a in enumerate(avals, first) if inexact(a)]
        return rebuild(tangent_tree(tree, avals), iter(moving))

    def inputs(self, arguments: Sequence[tuple[int, TreeDef]]) -> list[Any]:
        return [self.tagged(tree, first, "input") for first, tree in arguments]

    def read(self, fun: Fun, arguments: Sequence[Any], known: dict[Tag, Any]) -> _Part:
        """`fun` as a program of these arguments, whose leaves are tagged; `known` has the values of some."""
        signature, leaves = abstract_with_leaves(fun, arguments, {})
        tags = [x.tag if isinstance(x, Tagged) else const(x) for x in leaves]
        given = {("input", i): v for i, v in enumerate(self.signature.values)} | known
        values = tuple(
            signature.values[i] if isinstance(t, Const) else _value(given.get(t), a)
            for i, (t, a) in enumerate(zip(tags, signature.avals, strict=True))
        )
        reading = read(fun, dataclasses.replace(signature, values=values))
        statics = set()
        for i in reading.statics:
            tag = tags[i]
            if isinstance(tag, tuple) and tag[0] == "input":
                statics.add(tag[1])
            elif isinstance(tag, tuple) and given.get(tag) is None:
                raise self.refused(f"the rule of {self.name} needs to know a {tag[0]} before the run")
        if reading.function.mutated:
            raise self.refused(f"the rule of {self.name} writes into its arguments")
        sources = [t for i, t in enumerate(tags) if i not in reading.statics]
        return _Part(reading.function, sources, _hidden_of(reading.function), frozenset(statics), reading.guards)

    def refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(Diagnostic(what, self.primal.function.span))

    def spliced(self, b: Builder, part: _Part, given: dict[Tag, Atom], hidden: Sequence[tuple[_Hidden, Var]]) -> Any:
        """The results of a part; `given` are the values of its arguments."""
        atoms = [
            s if isinstance(s, Const) else _fitting(b, given[s], v)
            for s, v in zip(part.sources, part.function.body.params, strict=False)
        ]
        for p in part.hidden:
            atoms.append(next(v for h, v in hidden if h.param.capture == p.param.capture))
        return splice_block(b, part.function, atoms)

    def input_values(self, variables: Sequence[Var]) -> dict[Tag, Atom]:
        """Each leaf of the signature: a variable, or the number that the function is specialised on."""
        given: dict[Tag, Atom] = {("input", i): v for i, v in zip(self.kept, variables, strict=False)}
        given |= {("input", i): const(self.signature.values[i]) for i in self.primal.statics}
        return given

    def fresh(self, hidden: Sequence[_Hidden]) -> tuple[list[Var], list[Var]]:
        """Variables for the inputs and for the hidden parameters."""
        body = self.primal.function.body
        inputs = [Var(v.hint, v.aval) for v in body.params[: len(self.kept)]]
        return inputs, [Var(h.param.name, h.aval) for h in hidden]

    def program(
        self, b: Builder, params: Sequence[Var], results: Sequence[Atom], rule: Rule, others: Sequence[Var]
    ) -> Function:
        """A program; marks of the rule itself in it get the hidden parameters, which nobody knew when it was read."""
        count = len(self.kept)

        def completed(s: Apply) -> Apply:
            if isinstance(s.attrs, RuledAttrs) and s.attrs.rule is rule and len(inputs_of_mark(s)) == count:
                return dataclasses.replace(s, args=(*s.args, *others))
            return s

        body = rebuilt(b.block(params, results), completed)
        trees = tuple(Param(n) for n in unique_names([v.hint for v in params], set()))
        return Function(
            self.name, trees, body, tuple_tree(len(results)), span=self.primal.function.span
        )

    def checked_values(self, b: Builder, what: str, tree: TreeDef, results: Sequence[Atom]) -> list[Atom]:
        """The results as values of the function. Raises TypeError where they are not like those."""
        out = self.primal.function.out
        if describe(tree) != describe(out):
            raise TypeError(
                f"{what} must give a result like that of {self.name}, {describe(out)}, but gives {describe(tree)}"
            )
        for r, v in zip(results, self.values, strict=True):
            if r.aval.shape != v.aval.shape or not _castable(r.aval, v.aval):
                raise TypeError(
                    f"{what} must give a result like that of {self.name}, {strong(v.aval)}, but gives {strong(r.aval)}"
                )
        return [make.fitted(b, r, v.aval) for r, v in zip(results, self.values, strict=True)]


class JvpSite(Site):
    """A call with a rule (*fixed, primals, tangents) -> (result, tangent)."""

    def rule(self) -> Any:
        return JvpRule(self.name, self.linked, _unread)

    def parts(self, rules: Sequence[Fun]) -> list[_Part]:
        (jvp,) = rules
        primals = tuple(self.inputs(self.arguments))
        tangents = tuple(self.tagged(tree, first, "tangent") for first, tree in self.arguments)
        return [self.read(jvp, [*self.inputs(self.fixed), primals, tangents], {})]

    def complete(self, rule: JvpRule, parts: list[_Part], hidden: list[_Hidden]) -> None:
        (part,) = parts
        b = Builder(part.function.span)
        inputs, others = self.fresh(hidden)
        moving = [self.kept[k] for k in self.linked]
        tangents = [Var(f"d_{inputs[k].hint}", strong(inputs[k].aval)) for k in self.linked]
        given = self.input_values(inputs)
        given |= {("tangent", i): zeros(b, strong(self.signature.avals[i])) for i in self.differentiable}
        given |= {("tangent", i): t for i, t in zip(moving, tangents, strict=True)}
        results = self.spliced(b, part, given, list(zip(hidden, others, strict=True)))
        what = f"Custom JVP rule {part.function.name} for function {self.name}"
        value, tangent = _pair(part.function.out, f"{what} must produce a pair of the result and its tangent")
        values = self.checked_values(b, what, value, results[: value.leaf_count])
        feed = iter(results[value.leaf_count :])
        found = _matched(
            self.primal.function.out,
            tangent,
            feed,
            f"{what} must produce primal and tangent outputs with equal container (pytree) structures",
        )
        outs = []
        for i in self.moving:
            outs.append(_derivative(b, found[i], self.values[i].aval, f"{what}: the tangent of the result"))
        made = self.program(b, [*inputs, *others, *tangents], [*values, *outs], rule, others)
        rule.program = lambda: made


class VjpSite(Site):
    """A call with rules args -> (result, residuals), and (*fixed, residuals, ct) -> cotangents of the arguments."""

    residuals: list[int]  # which results of `fwd` are residuals that `bwd` is given at run time

    def rule(self) -> Any:
        return VjpRule(self.name, self.linked, 0, _unread_pair)

    def parts(self, rules: Sequence[Fun]) -> list[_Part]:
        fwd, bwd = rules
        forward = self.read(fwd, self.inputs(self.every), {})
        what = f"Custom VJP fwd rule {forward.function.name} for function {self.name}"
        value, kept = _pair(forward.function.out, f"{what} must produce a pair of the result and the residuals")
        results = forward.function.body.results[value.leaf_count :]
        known = {("residual", k): r.value for k, r in enumerate(results) if isinstance(r, Const) and not r.aval.shape}
        residuals = rebuild(kept, iter([Tagged(r.aval, ("residual", k)) for k, r in enumerate(results)]))
        cts = [Tagged(strong(self.values[i].aval), ("ct", i)) for i in self.moving]
        ct = rebuild(tangent_tree(self.primal.function.out, [v.aval for v in self.values]), iter(cts))
        backward = self.read(bwd, [*self.inputs(self.fixed), residuals, ct], known)
        return [forward, backward]

    def complete(self, rule: VjpRule, parts: list[_Part], hidden: list[_Hidden]) -> None:
        forward, backward = parts
        b = Builder(forward.function.span)
        inputs, others = self.fresh(hidden)
        results = self.spliced(b, forward, self.input_values(inputs), list(zip(hidden, others, strict=True)))
        value, _ = forward.function.out.children
        what = f"Custom VJP fwd rule {forward.function.name} for function {self.name}"
        values = self.checked_values(b, what, value, results[: value.leaf_count])
        saved = results[value.leaf_count :]
        wanted = [k for s in backward.sources if isinstance(s, tuple) and s[0] == "residual" for k in (s[1],)]
        passed = [k for k in wanted if isinstance(saved[k], Var)]
        # The fixed arguments of `bwd` are residuals too.
        fixed = [s for s in backward.sources if isinstance(s, tuple) and s[0] == "input"]
        given = self.input_values(inputs)
        more = [(s, given[s]) for s in fixed if isinstance(given[s], Var)]
        kept = [*((("residual", k), saved[k]) for k in passed), *more]
        ahead = self.program(b, [*inputs, *others], [*values, *(a for _, a in kept)], rule, others)
        ahead = dataclasses.replace(ahead, out=TreeDef(Kind.TUPLE, (tuple_tree(len(values)), tuple_tree(len(kept)))))
        constants = {("residual", k): saved[k] for k in wanted if k not in passed} | {
            s: given[s] for s in fixed if not isinstance(given[s], Var)
        }
        back = self._backward(backward, kept, constants, hidden, rule)
        rule.hidden, rule.programs = len(hidden), lambda: (ahead, back)

    def _backward(
        self, part: _Part, kept: list[tuple[Tag, Atom]], constants: dict[Tag, Atom], hidden: list[_Hidden], rule: Rule
    ) -> Function:
        b = Builder(part.function.span)
        _, others = self.fresh(hidden)
        residuals = [Var(a.hint if isinstance(a, Var) else "t", a.aval) for _, a in kept]
        cts = [Var("ct" if len(self.moving) == 1 else f"ct_{i}", strong(self.values[i].aval)) for i in self.moving]
        given = constants | {tag: v for (tag, _), v in zip(kept, residuals, strict=True)}
        given |= {("ct", i): v for i, v in zip(self.moving, cts, strict=True)}
        results = self.spliced(b, part, given, list(zip(hidden, others, strict=True)))
        what = f"Custom VJP bwd rule {part.function.name} for function {self.name}"
        found = self._cotangents(part.function.out, results, what)
        outs = []
        for i in (self.kept[k] for k in self.linked):
            outs.append(_derivative(b, found.get(i), self.signature.avals[i], f"{what}: the cotangent of an argument"))
        return self.program(b, [*residuals, *others, *cts], outs, rule, others)

    def _cotangents(self, out: TreeDef, results: Sequence[Atom], what: str) -> dict[int, Atom | Zeros | None]:
        """The cotangents that `bwd` gives, one for each leaf of the differentiable arguments."""
        wanted = (
            f"{what} must produce an output with the same container (pytree) structure as the args tuple of the "
            "primal function"
        )
        if out.kind not in (Kind.TUPLE, Kind.LIST) or len(out.children) != len(self.arguments):
            raise TypeError(f"{wanted}: a tuple of {len(self.arguments)}, but it gives {describe(out)}")
        feed, found = iter(results), {}
        for (first, tree), given in zip(self.arguments, out.children, strict=True):
            for k, c in enumerate(_matched(tree, given, feed, wanted)):
                found[first + k] = c
        return found


def _unread() -> Function:
    raise AssertionError("a rule is used before it has been read")


def _unread_pair() -> tuple[Function, Function]:
    raise AssertionError("a rule is used before it has been read")


def _hidden_of(function: Function) -> list[_Hidden]:
    found = [p for p in function.params if p.capture is not None]
    variables = function.body.params[len(function.body.params) - len(found) :]
    return [_Hidden(p, v.aval) for p, v in zip(found, variables, strict=True)]


def _unified(hidden: Sequence[_Hidden]) -> list[_Hidden]:
    """Each captured array once."""
    found: list[_Hidden] = []
    for h in hidden:
        if all(h.param.capture != other.param.capture for other in found):
            found.append(h)
    return found


def _as_params(shown: Sequence[Param], hidden: Sequence[_Hidden]) -> list[Param]:
    names = unique_names([h.param.name for h in hidden], {p.name for p in shown})
    return [dataclasses.replace(h.param, name=name) for h, name in zip(hidden, names, strict=True)]


def _value(known: Any, aval: Aval) -> Any:
    """What stands for a number in a signature; of an integer that nobody knows, any will do until it is asked for."""
    if known is None and aval.weak and aval.dtype.kind == "i":
        return 1
    return known


def _fitting(b: Builder, a: Atom, v: Var) -> Atom:
    return a if a.aval == v.aval else make.fitted(b, a, v.aval)


def _pair(out: TreeDef, message: str) -> tuple[TreeDef, TreeDef]:
    if out.kind not in (Kind.TUPLE, Kind.LIST) or len(out.children) != 2:
        raise TypeError(f"{message} (list or tuple of length two), but it gives {describe(out)}")
    return out.children[0], out.children[1]


def _matched(tree: TreeDef, given: TreeDef, feed: Iterator[Atom], message: str) -> list[Atom | Zeros | None]:
    """For each leaf of `tree` what stands at its place in `given`, None where None stands there or above it."""
    if given.kind is Kind.NONE:
        return [None] * tree.leaf_count
    zeros = zeros_of(given)
    if tree.kind is Kind.LEAF and zeros is not None:
        return [zeros]
    if tree.kind is Kind.STATIC and not given.leaf_count:
        return []
    if tree.kind is Kind.LEAF and given.kind is Kind.LEAF:
        return [next(feed)]
    if tree.kind is not given.kind or tree.keys != given.keys or len(tree.children) != len(given.children):
        raise TypeError(f"{message}, {describe(tree)}, but it gives {describe(given)}")
    return [a for t, g in zip(tree.children, given.children, strict=True) for a in _matched(t, g, feed, message)]


def _derivative(b: Builder, a: Atom | Zeros | None, of: Aval, what: str) -> Atom:
    """A tangent or cotangent of a value of this type. Raises MismatchError where its shape or dtype is another."""
    aval = strong(of)
    if isinstance(a, Zeros):
        raise MismatchError(f"{what} must have the shape and dtype of what it belongs to, {aval}, but is {a}")
    if a is not None and (a.aval.shape != aval.shape or not _castable(a.aval, aval)):
        raise MismatchError(
            f"{what} must have the shape and dtype of what it belongs to, {aval}, but has {strong(a.aval)}"
        )
    return materialise(b, a, aval)


def _castable(aval: Aval, to: Aval) -> bool:
    return aval.dtype.kind != "c" or to.dtype.kind == "c"
