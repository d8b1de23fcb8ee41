"""Jacobians: a jvp batched over the columns of the identity matrix, or a vjp over its rows.

def f(x): return np.sin(x) * x          def f_jacobian(x):
                                            basis = np.arange(3)[:, None] == np.arange(3)
                                            ... the jvp of f, batched over the rows of `basis`
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from ...translator import make, ops
from ...translator.batch import vmap as batch
from ...translator.builder import Builder
from ...translator.derive import forward, reverse
from ...translator.derive.activity import inexact
from ...translator.derive.cotangents import strong
from ...translator.derive.program_rules import VjpRule
from ...translator.errors import DTypeError
from ...translator.ir import Apply, Atom, Aval, Block, Function, Var, const, walk
from ...translator.ops.core import ContractAttrs, RuledAttrs
from ...translator.pipeline import Positions
from ...translator.rewrite import prune, splice_block, substitute, substituted
from ...translator.tree import LEAF, Kind, TreeDef
from .choices import Chosen
from .rules import differentiable, split_aux

Blocks = list[list[Atom]]  # [result leaf][argument leaf]


def jacobian(
    function: Function,
    positions: Positions,
    chosen: Chosen,
    *,
    has_aux: bool,
    forward: bool,
    holomorphic: bool,
    allow_int: bool,
) -> Function:
    """The Jacobian of each result leaf with respect to each chosen leaf, of shape out.shape + in.shape, then aux."""
    main, aux = split_aux(function.out, has_aux)
    places, _ = differentiable(function, positions, chosen, allow_int)
    results = function.body.results[: main.leaf_count]
    _check(function, places, results, forward, holomorphic)
    only = dataclasses.replace(function, body=dataclasses.replace(function.body, results=results), out=main, mutated=())
    outer = [Var(v.hint, v.aval) for v in function.body.params]
    b = Builder(function.span)
    extra = splice_block(b, function, outer)[main.leaf_count : function.out.leaf_count]
    blocks = _columns(b, only, outer, places) if forward else _rows(b, only, outer, places)
    tree, kinds = _with_integers(chosen)
    flat = [block for row, r in zip(blocks, results, strict=True) for block in _interleaved(b, row, r.aval, kinds)]
    body = prune(Block(tuple(outer), tuple(b.statements), (*flat, *extra)))
    out = _nested(main, tree)
    return Function(
        f"{function.name}_jacobian",
        function.params,
        body,
        TreeDef(Kind.TUPLE, (out, aux)) if aux else out,
        span=function.span,
    )


def _with_integers(chosen: Chosen) -> tuple[TreeDef, list[Aval | None]]:
    """The structure of a row of the Jacobian, and for each of its leaves None, or the type of an integer or bool: as in
    JAX, derivatives by these are zeros of their own dtype.
    """
    kinds: list[Aval | None] = []
    waiting = iter(chosen.avals)

    def visit(t: TreeDef) -> TreeDef:
        if t.kind is Kind.STATIC and t.type is bool:
            kinds.append(Aval((), np.dtype(bool)))
            return LEAF
        if t.kind is Kind.LEAF:
            aval = next(waiting)
            kinds.append(None if inexact(aval) else aval)
        return dataclasses.replace(t, children=tuple([visit(c) for c in t.children])) if t.children else t

    return visit(chosen.tree), kinds


def _interleaved(b: Builder, blocks: Sequence[Atom], result: Aval, kinds: Sequence[Aval | None]) -> list[Atom]:
    """The blocks of a row, with zeros where the argument is an integer."""
    feed = iter(blocks)
    return [
        next(feed) if k is None else make.zeros(b, (*result.shape, *k.shape), k.dtype) for k in kinds
    ]


def forward_is_better(
    function: Function, positions: Positions, chosen: Chosen, has_aux: bool, holomorphic: bool
) -> bool:
    """Whether the chosen arguments have no more elements than the results; never where forward mode is not defined."""
    main, _ = split_aux(function.out, has_aux)
    places, _ = differentiable(function, positions, chosen, allow_int=True)
    inputs = [function.body.params[i].aval for i in places]
    outputs = [r.aval for r in function.body.results[: main.leaf_count]]
    if not all(map(inexact, outputs)):
        return True
    backward_only = any(
        isinstance(s, Apply) and isinstance(s.attrs, RuledAttrs) and isinstance(s.attrs.rule, VjpRule)
        for s in walk(function.body)
    )
    if backward_only or (not holomorphic and any(a.dtype.kind == "c" for a in inputs)):
        return False
    return sum(a.size for a in inputs) <= sum(a.size for a in outputs)


def _check(
    function: Function, places: Sequence[int], results: Sequence[Atom], forward: bool, holomorphic: bool
) -> None:
    verb = "jacfwd" if forward else "jacrev"
    if not results:
        raise DTypeError(f"{verb} requires outputs that are arrays or numbers, and there are none")
    complex_inputs = any(function.body.params[i].aval.dtype.kind == "c" for i in places)
    complex_outputs = any(r.aval.dtype.kind == "c" for r in results)
    if holomorphic and not (complex_inputs and complex_outputs):
        raise DTypeError(f"{verb} with holomorphic=True requires inputs and outputs with a complex dtype")
    if not holomorphic and (complex_inputs if forward else complex_outputs):
        what = "real-valued inputs" if forward else "real-valued outputs"
        raise DTypeError(f"{verb} requires {what}: for holomorphic differentiation, pass holomorphic=True")
    if not forward and not all(inexact(r.aval) for r in results):
        raise DTypeError(f"{verb} requires outputs of a real or complex dtype")


def _columns(b: Builder, function: Function, outer: Sequence[Var], places: Sequence[int]) -> Blocks:
    """Forward mode: for each chosen leaf all columns at once."""
    count = len(function.body.params)
    blocks: Blocks = [[] for _ in function.body.results]
    for place in places:
        pushed = forward.jvp(function, [i == place for i in range(count)])
        tangents = pushed.body.results[len(function.body.results) : pushed.out.leaf_count]
        outs = [t.aval.ndim for t in tangents]  # the columns come last
        ins: list[int | None] = [*([None] * count), 0]
        only = dataclasses.replace(
            pushed, body=prune(dataclasses.replace(pushed.body, results=tangents)), out=_flat(len(tangents))
        )
        aval = function.body.params[place].aval  # that of its tangent too: a number's is weak
        if aval.shape:
            only = batch.vmap(only, ins, outs, aval.size)
        feed = iter(splice_block(b, _of_basis(only.body, count), [*outer, _basis(b, aval)]))
        for i, result in enumerate(function.body.results):
            shape = (*result.aval.shape, *aval.shape)
            block = (
                make.reshape(b, next(feed), shape) if inexact(result.aval) else make.zeros(b, shape, result.aval.dtype)
            )
            blocks[i].append(block)
    return blocks


def _rows(b: Builder, function: Function, outer: Sequence[Var], places: Sequence[int]) -> Blocks:
    """Reverse mode: for each result leaf all rows at once."""
    pulled = reverse.vjp(function, places)
    count = len(function.body.params)
    blocks: Blocks = []
    for i, result in enumerate(function.body.results):
        aval = strong(result.aval)
        ins: list[int | None] = [0 if j == i else None for j in range(len(function.body.results))]
        rows = batch.vmap(pulled, [*([None] * count), *ins], [0] * len(places), aval.size) if aval.shape else pulled
        cotangents = [
            _basis(b, aval) if j == i else make.zeros(b, r.aval.shape, r.aval.dtype)
            for j, r in enumerate(function.body.results)
        ]
        found = splice_block(b, _of_basis(rows.body, count + i), [*outer, *cotangents])
        shapes = [(*aval.shape, *function.body.params[p].aval.shape) for p in places]
        blocks.append([make.reshape(b, g, shape) for g, shape in zip(found, shapes, strict=True)])
    return blocks


def _basis(b: Builder, aval: Aval) -> Atom:
    """The identity matrix with each row in the shape of `aval`; 1 for a number."""
    if not aval.shape:
        one = aval.dtype.type(1)
        return const(one.item() if aval.weak else one)
    n = aval.size
    row, column = make.iota(b, n), make.expand_dims(b, make.iota(b, n), (1,))
    return make.reshape(b, make.astype(b, make.equal(b, column, row), aval.dtype), (n, *aval.shape))


def _of_basis(block: Block, place: int) -> Block:
    """The block for the identity matrix as parameter `place`: a product with it, or with a diagonal matrix that is made
    of it, is the other factor, turned and scaled.
    """
    basis = block.params[place]
    if basis.aval.ndim != 2:
        return block
    b, found = Builder(), dict[Var, Atom]()
    diagonals: dict[Atom, Atom] = {basis: const(basis.aval.dtype.type(1))}
    for s in block.statements:
        product = None
        if isinstance(s, Apply) and not diagonals.keys().isdisjoint(s.args):
            with b.at(s.span):
                product = _diagonal_product(b, s, diagonals)
                scaled = _diagonal(b, s, diagonals)
            if scaled is not None:
                diagonals[s.targets[0]] = scaled
        if product is None:
            b.append(s)
        else:
            found[s.targets[0]] = substitute(product, found)
    return substituted(b.block(block.params, block.results), found)


def _diagonal(b: Builder, s: Apply, diagonals: Mapping[Atom, Atom]) -> Atom | None:
    """The diagonal, or the number that is all of it, where the statement scales a diagonal matrix."""
    if s.op is ops.NEGATIVE:
        return make.negative(b, diagonals[s.args[0]])
    if s.op not in (ops.MULTIPLY, ops.DIVIDE) or (s.args[0] not in diagonals and s.op is ops.DIVIDE):
        return None
    matrix, factor = s.args if s.args[0] in diagonals else s.args[::-1]
    n = matrix.aval.shape[0]
    if factor in diagonals or factor.aval.shape not in ((), (n,), (n, 1), (1, n)):
        return None
    if factor.aval.ndim == 2:
        factor = make.reshape(b, factor, (n,))
    return make.elementwise(b, s.op, diagonals[matrix], factor)


def _diagonal_product(b: Builder, s: Apply, diagonals: Mapping[Atom, Atom]) -> Atom | None:
    """What the product is where one axis of a diagonal matrix is summed and the other one takes its place."""
    if not isinstance(s.attrs, ContractAttrs) or (s.args[0] in diagonals and s.args[1] in diagonals):
        return None
    first = s.args[0] in diagonals
    diagonal, matrix = s.args if first else s.args[::-1]
    own, labels = (s.attrs.lhs, s.attrs.rhs) if first else (s.attrs.rhs, s.attrs.lhs)
    summed = [label for label in own if label in labels and label not in s.attrs.out]
    kept = [label for label in own if label not in labels]
    if len(summed) != 1 or len(kept) != 1:
        return None
    moved = [kept[0] if label == summed[0] else label for label in labels]
    product = make.transpose(b, matrix, [moved.index(label) for label in s.attrs.out])
    scale = diagonals[diagonal]
    if scale.aval.shape:
        scale = make.expand_dims(b, scale, [i for i, label in enumerate(s.attrs.out) if label != kept[0]])
    return make.astype(b, make.multiply(b, product, scale), s.targets[0].aval.dtype)


def _flat(count: int) -> TreeDef:
    return TreeDef(Kind.TUPLE, (TreeDef(Kind.LEAF),) * count)


def _nested(outer: TreeDef, inner: TreeDef) -> TreeDef:
    """`outer` with `inner` in place of each leaf."""
    if outer.kind is Kind.LEAF:
        return inner
    return dataclasses.replace(outer, children=tuple(_nested(c, inner) for c in outer.children))
