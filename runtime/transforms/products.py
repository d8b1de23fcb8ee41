"""jvp as a program of (primals, tangents)."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator import make
from ...translator.builder import Builder
from ...translator.derive import forward
from ...translator.derive.activity import inexact
from ...translator.errors import Diagnostic, MismatchError
from ...translator.float0 import Zeros, zeros_of
from ...translator.ir import Atom, Aval, Block, Function, Param, Var, const
from ...translator.pipeline import Positions, transform
from ...translator.reading.functions.results import Reading
from ...translator.reading.reader import read
from ...translator.reading.text.signature import Signature, abstract_with_leaves, specialise, static_value
from ...translator.records import dataclass
from ...translator.rewrite import splice_block
from ...translator.tree import Kind, TreeDef, Unlike, beside, close_node
from ..trees.tree_util import describe
from .choices import Fun
from .rules import moving, split_aux


def product_signature(*names: str) -> inspect.Signature:
    """Plain positional parameters of these names."""
    return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])


@dataclass(frozen=True, slots=True)
class Inner:
    """The function under a product: its own signature, and which of its leaves come from where.

    `sources` has for each of its leaves the leaf of the outer signature, or None for a default value.
    """

    signature: Signature
    sources: tuple[int | None, ...]


def inner_signature(fun: Fun, primals: TreeDef, signature: Signature, first: int) -> Inner:
    """The signature of fun(*primals), where `primals` is a tree over the leaves of `signature` from `first` on."""
    tags = [_Tagged(signature.avals[first + i], first + i) for i in range(primals.leaf_count)]
    arguments = rebuild(primals, iter(tags))
    inner, leaves = abstract_with_leaves(fun, arguments, {})
    sources = tuple(x.leaf if isinstance(x, _Tagged) else None for x in leaves)
    values = tuple(signature.values[s] if s is not None else inner.values[i] for i, s in enumerate(sources))
    immutable = frozenset(i for i, s in enumerate(sources) if s in signature.immutable)
    return Inner(dataclasses.replace(inner, values=values, immutable=immutable), sources)


class _Tagged:
    """A leaf that knows which one it is."""

    __slots__ = ("aval", "leaf")

    def __init__(self, aval: Aval, leaf: int) -> None:
        self.aval, self.leaf = aval, leaf


def rebuild(tree: TreeDef, leaves: Any) -> Any:
    """The tree around the next of these leaves, STATIC values as the user gave them."""
    match tree.kind:
        case Kind.LEAF:
            return next(leaves)
        case Kind.STATIC:
            return static_value(tree)
        case _:
            return close_node(tree, [rebuild(c, leaves) for c in tree.children])


def pushforward(fun: Fun, signature: Signature, has_aux: bool) -> Reading:
    """The program (primals, tangents) -> (result, tangents of it, aux)."""
    (_, primals), (_, tangents) = signature.params
    moved = _tangents_of(primals, tangents, signature.avals)
    inner = inner_signature(fun, primals, signature, 0)

    def rule(function: Function, positions: Positions) -> Function:
        active = [False] * len(function.body.params)
        feeds: list[int] = []
        for leaf, source in enumerate(inner.sources):
            if source in moved:
                active[moving(function, positions, leaf, inner.signature)] = True
                feeds.append(moved[source])
        return _outer(
            forward.jvp(function, active),
            function,
            signature,
            inner,
            positions,
            feeds,
            _after_jvp(function.out, has_aux),
        )

    return _lifted(fun, inner, rule)


def _tangents_of(primals: TreeDef, tangents: TreeDef, avals: Sequence[Aval]) -> dict[int | None, int]:
    """The leaf that is the tangent of each real or complex leaf of the primals; the avals of both, one after the other.

    Raises MismatchError, which says what differs and where.
    """
    others = iter(range(primals.leaf_count, len(avals)))
    found: dict[int | None, int] = {}
    try:
        for leaf, (path, node) in enumerate(beside(primals, tangents, "primals")):
            zeros = zeros_of(node)
            if zeros is not None:
                _check_tangent(path, avals[leaf], zeros)
            elif node.kind is Kind.LEAF:
                found[leaf] = next(others)
                _check_tangent(path, avals[leaf], avals[found[leaf]])
            else:
                raise Unlike(path)
    except Unlike as where:
        raise MismatchError(
            "primal and tangent arguments to jvp must have the same tree structure; primals have "
            f"{describe(primals)} whereas tangents have {describe(tangents)}, which differs at {where}."
        ) from None
    return found


def _check_tangent(name: str, primal: Aval, tangent: Aval | Zeros) -> None:
    if primal.shape != tangent.shape:
        shapes = f"{primal.shape} and {tangent.shape}"
        what = f"jvp called with different primal and tangent shapes: {shapes} for {name}."
        raise MismatchError(Diagnostic(what, instead="pass a tangent for each primal, of the same shape"))
    if inexact(primal) and isinstance(tangent, Aval) and _castable(tangent, primal):
        return
    if inexact(primal) or not isinstance(tangent, Zeros):
        given = "float0" if isinstance(tangent, Zeros) else tangent.dtype.name
        what = (
            "primal and tangent arguments to jvp do not match; dtypes must be equal, and that of a tangent of an "
            f"integer or a bool is float0, but got primal dtype {primal.dtype.name} and tangent dtype {given} for "
            f"{name}."
        )
        dtype = f"np.{primal.dtype.name}" if inexact(primal) else "untraced.dtypes.float0"
        raise MismatchError(Diagnostic(what, instead=f"pass a tangent of its dtype: np.zeros({primal.shape}, {dtype})"))


Arrange = Callable[[Sequence[Atom]], tuple[list[Atom], TreeDef]]


def _after_jvp(out: TreeDef, has_aux: bool) -> Callable[[Function], Arrange]:
    main, aux = split_aux(out, has_aux)

    def of(derived: Function) -> Arrange:
        tangent_tree = derived.out.children[1]
        tangent_main = tangent_tree.children[0] if has_aux else tangent_tree

        def arrange(results: Sequence[Atom]) -> tuple[list[Atom], TreeDef]:
            n, m = out.leaf_count, main.leaf_count
            ordered = [*results[:m], *results[n : n + tangent_main.leaf_count], *results[m:n]]
            return ordered, TreeDef(Kind.TUPLE, (main, tangent_main, aux) if aux else (main, tangent_main))

        return arrange

    return of


def _outer(
    derived: Function,
    function: Function,
    signature: Signature,
    inner: Inner,
    positions: Positions,
    feeds: Sequence[int],
    arrangement: Callable[[Function], Arrange],
) -> Function:
    """`derived` as a function of the outer signature: defaults filled in, tangents or cotangents from the leaves
    `feeds`.
    """
    outer = _outer_variables(function, signature, inner, positions)
    b = Builder(function.span)
    atoms: list[Atom] = []
    place_of = {place: leaf for leaf, place in enumerate(positions) if place is not None}
    hidden = [Var(v.hint, v.aval) for v in function.body.params[len(place_of) :]]
    for place in range(len(place_of)):
        leaf = place_of[place]
        source = inner.sources[leaf]
        atoms.append(const(inner.signature.values[leaf]) if source is None else outer[source])
    atoms += hidden
    tail = derived.body.params[len(function.body.params) :]
    atoms += [fitting(b, outer[leaf], v.aval) for leaf, v in zip(feeds, tail, strict=True)]
    results, tree = arrangement(derived)(splice_block(b, derived, atoms))
    static = {s for leaf, s in enumerate(inner.sources) if s is not None and positions[leaf] is None}
    kept = tuple(v for i, v in enumerate(outer) if i not in static)
    params = [Param(name, t) for name, t in specialise(signature, frozenset(static))]
    captures = [p for p in function.params if p.capture is not None]
    body = Block((*kept, *hidden), tuple(b.statements), tuple(results))
    return Function(derived.name, (*params, *captures), body, tree, span=function.span)


def _outer_variables(function: Function, signature: Signature, inner: Inner, positions: Positions) -> list[Var]:
    """A variable for each leaf of the outer signature; primals keep the names that the function gives them."""
    hints = {
        s: function.body.params[p].hint
        for s, p in zip(inner.sources, positions, strict=True)
        if s is not None and p is not None
    }
    return [Var(hints.get(i, f"d{i}"), a) for i, a in enumerate(signature.avals)]


def fitting(b: Builder, x: Atom, aval: Aval, path: str = "") -> Atom:
    """A tangent of the dtype of its primal; a cotangent broadcasts to nothing: shapes must be equal."""
    where = f", at {path}" if path else ""
    if x.aval.shape != aval.shape:
        what = f"a cotangent of shape {x.aval.shape} was given for a result of shape {aval.shape}{where}"
        raise MismatchError(Diagnostic(what, instead="pass a cotangent like the result, with the same shapes"))
    if x.aval == aval:
        return x
    if not _castable(x.aval, aval):
        raise MismatchError(
            f"a cotangent of dtype {x.aval.dtype.name} was given for a result of dtype {aval.dtype.name}{where}"
        )
    if aval.weak:
        return make.number(b, x, aval.dtype)
    return make.astype(b, x, aval.dtype)


def _castable(given: Aval, aval: Aval) -> bool:
    """Whether a tangent or cotangent will do for a value of type `aval`: of the same dtype, or a number, or for one."""
    if given.weak or aval.weak:
        return np.can_cast(given.dtype, aval.dtype, "same_kind")
    return given.dtype == aval.dtype


def _lifted(fun: Fun, inner: Inner, rule: Callable[[Function, Positions], Function]) -> Reading:
    """Read `fun` at the inner signature and apply `rule`; statics are told in leaves of the outer one."""
    reading = transform("derive", lambda s: read(fun, s, changes="dropped"), inner.signature, rule)
    statics = frozenset(s for leaf in reading.statics if (s := inner.sources[leaf]) is not None)
    return Reading(reading.function, statics, reading.guards)
