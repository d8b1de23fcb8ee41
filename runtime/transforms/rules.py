"""Applying transformations to a program: derivatives and batches, with their results put into trees."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...translator.batch import vmap as batch
from ...translator.batch.form import Form
from ...translator.batch.lanes import ON_DEVICE, Lanes, LoopNote
from ...translator.builder import Builder
from ...translator.derive import reverse
from ...translator.derive.activity import inexact, tangent_tree
from ...translator.errors import DTypeError, MismatchError
from ...translator.float0 import zeros_node, zeros_of
from ...translator.ir import Atom, Block, Function, Var, const
from ...translator.pipeline import Positions
from ...translator.purpose import note_loops, purpose
from ...translator.reading.text.signature import Signature, static_value
from ...translator.rewrite import splice_block
from ...translator.tree import LEAF, Kind, TreeDef, beside, with_leaf_nodes
from ..trees.tree_util import describe
from . import choices
from .choices import AxesOfLeaves, Chosen, Fun

# ---- gradients -----------------------------------------------------------------------------------


def gradient(
    function: Function,
    positions: Positions,
    chosen: Chosen,
    *,
    has_aux: bool,
    value: bool,
    holomorphic: bool,
    allow_int: bool,
) -> Function:
    main, aux = split_aux(function.out, has_aux)
    if main.kind is not Kind.LEAF:
        raise MismatchError(
            f"Gradient only defined for scalar-output functions. Output was {describe(main)}; "
            "return one number, and others through has_aux=True"
        )
    places, tree = differentiable(function, positions, chosen, allow_int)
    if holomorphic:
        derived = _holomorphic(function, places, main, aux)
    else:
        count = aux.leaf_count if aux else 0
        derived = reverse.grad(function, places, value=value or has_aux, aux=count)
    return _arranged(derived, main, aux, tree, value)


def split_aux(out: TreeDef, has_aux: bool) -> tuple[TreeDef, TreeDef | None]:
    """The trees of the main result and of aux. Raises TypeError where has_aux is set and the result is not a pair."""
    if not has_aux:
        return out, None
    if out.kind not in (Kind.TUPLE, Kind.LIST, Kind.NAMEDTUPLE) or len(out.children) != 2:
        returned = "one array or number" if out.kind is Kind.LEAF else describe(out)
        raise TypeError(
            f"with has_aux=True the function must return a pair (output, aux), but it returns {returned}"
        )
    return out.children[0], out.children[1]


def differentiable(
    function: Function, positions: Positions, chosen: Chosen, allow_int: bool
) -> tuple[list[int], TreeDef]:
    """The places of the chosen leaves, and the tree of their derivatives; with `allow_int` zeros of dtype float0 stand
    where an integer or a bool is.

    Raises DTypeError without it for a Python bool, which is no leaf but part of the structure, and for an argument of
    which all is: a function, a string.
    """
    if _holds(chosen.tree, bool) and not allow_int:
        raise DTypeError(
            f"derivatives of {function.name} require real- or complex-valued inputs (input dtype that is a sub-dtype "
            "of np.inexact), but got bool"
        )
    if not chosen.avals and not allow_int and _holds(chosen.tree, object):
        raise DTypeError(
            f"derivatives of {function.name} require real- or complex-valued inputs, but the argument holds no number"
        )
    places: list[int] = []
    keep = [inexact(aval) or not allow_int for aval in chosen.avals]
    for leaf, wanted in zip(chosen.leaves, keep, strict=True):
        if wanted:
            places.append(moving(function, positions, leaf, chosen.signature))
    return places, tangent_tree(chosen.tree, chosen.avals) if allow_int else chosen.tree


def _holds(tree: TreeDef, cls: type) -> bool:
    """Whether values of this class belong to the tree structure, not to its leaves."""
    if tree.kind is Kind.STATIC:
        return isinstance(static_value(tree), cls)
    return any(_holds(child, cls) for child in tree.children)


def moving(function: Function, positions: Positions, leaf: int, signature: Signature) -> int:
    """The place of a leaf that a derivative is taken with respect to. Raises DTypeError where it is specialised."""
    place = positions[leaf]
    if place is None:
        raise DTypeError(
            f"the derivative with respect to {signature.leaf_name(leaf)}, of {function.name}, does not exist: "
            "its value decides a shape, a branch known in advance or an index, so the function is specialised on it"
        )
    return place


def _holomorphic(function: Function, places: list[int], main: TreeDef, aux: TreeDef | None) -> Function:
    """The value, aux, and the gradients of a complex function: the cotangent of its output is 1."""
    results = function.body.results[: function.out.leaf_count]
    if main.leaf_count != 1 or results[0].aval.shape:
        raise MismatchError("Gradient only defined for scalar-output functions.")
    kinds = {results[0].aval.dtype.kind, *(function.body.params[i].aval.dtype.kind for i in places)}
    if kinds != {"c"}:
        raise DTypeError("grad with holomorphic=True requires inputs and outputs with a complex dtype")
    only = dataclasses.replace(
        function, body=dataclasses.replace(function.body, results=results[:1]), out=main, mutated=()
    )
    back = reverse.vjp(only, places)
    b = Builder(function.span)
    outer = [Var(v.hint, v.aval) for v in function.body.params]
    outs = splice_block(b, function, outer)[: len(results)]
    one = const(results[0].aval.dtype.type(1))
    gradients = splice_block(b, back, [*outer, one])
    body = Block(tuple(outer), tuple(b.statements), (*outs, *gradients))
    tree = TreeDef(Kind.TUPLE, (*((LEAF,) * len(outs)), *((LEAF,) * len(gradients))))
    return Function(f"{function.name}_grad", function.params, body, tree, span=function.span)


def _arranged(derived: Function, main: TreeDef, aux: TreeDef | None, tree: TreeDef, value: bool) -> Function:
    """Results (value, aux, gradients) in the order and the tree that JAX gives them."""
    results = list(derived.body.results[: derived.out.leaf_count])
    count = aux.leaf_count if aux else 0
    gradients = results[len(results) - tree.leaf_count :]
    rest = results[: len(results) - tree.leaf_count]
    values, extra = rest[: len(rest) - count], rest[len(rest) - count :]
    if value:
        head = TreeDef(Kind.TUPLE, (main, aux)) if aux else main
        ordered, out = [*values, *extra, *gradients], TreeDef(Kind.TUPLE, (head, tree))
    else:
        ordered, out = [*gradients, *extra], TreeDef(Kind.TUPLE, (tree, aux)) if aux else tree
    tail = derived.body.results[derived.out.leaf_count :]
    return dataclasses.replace(derived, body=dataclasses.replace(derived.body, results=(*ordered, *tail)), out=out)


# ---- batching ------------------------------------------------------------------------------------


def batched(
    fun: Fun,
    function: Function,
    positions: Positions,
    axes: AxesOfLeaves,
    out_axes: Any,
    size: int,
    lanes: Form,
    axis_name: Any,
) -> Function:
    ins: list[int | None] = [None] * len(function.body.params)
    for place, axis in zip(positions, axes, strict=True):
        if place is not None:
            ins[place] = axis
    function = _with_truth_values(function)
    tree, outs = _result_axes(fun, function, out_axes, size)
    notes: list[LoopNote] = []
    made = batch.vmap(dataclasses.replace(function, out=tree), ins, outs, size, _wanted(lanes), notes, axis_name)
    note_loops(notes)
    return made


def _with_truth_values(function: Function) -> Function:
    """The function with the Python bools in its result, part of the structure so far, as leaves: each lane has one."""
    results: list[Atom] = []
    waiting = iter(function.body.results)

    def visit(t: TreeDef) -> TreeDef:
        if t.kind is Kind.STATIC and type(t.aux) is bool:
            results.append(const(t.aux))
            return LEAF
        if t.kind is Kind.LEAF:
            results.append(next(waiting))
        return dataclasses.replace(t, children=tuple([visit(c) for c in t.children])) if t.children else t

    out = visit(function.out)
    body = dataclasses.replace(function.body, results=(*results, *waiting))
    return dataclasses.replace(function, out=out, body=body)


def _result_axes(fun: Fun, function: Function, out_axes: Any, size: int) -> tuple[TreeDef, list[int | None]]:
    """The structure of the batched result, and the mapped axis of each of its leaves. Zeros of dtype float0, which
    belong to the structure, get the axis there.
    """
    opened = _with_zeros_as_leaves(function.out)
    axes = choices.axes_over(fun, out_axes, opened, "vmap out_axes", "the result")
    results = iter(function.body.results)
    nodes: list[TreeDef] = []
    found: list[int | None] = []
    for (path, node), given in zip(beside(opened, function.out, "result"), axes, strict=True):
        zeros = zeros_of(node)
        shape = next(results).aval.shape if zeros is None else zeros.shape
        axis = choices.output_axis(fun, given, len(shape), path, "vmap")
        if zeros is None:
            found.append(axis)
        elif axis is not None:
            node = zeros_node((*shape[:axis], size, *shape[axis:]))
        nodes.append(node)
    return with_leaf_nodes(opened, iter(nodes)), found


def _with_zeros_as_leaves(t: TreeDef) -> TreeDef:
    if zeros_of(t) is not None:
        return LEAF
    return dataclasses.replace(t, children=tuple(map(_with_zeros_as_leaves, t.children))) if t.children else t


def _wanted(form: Form) -> Lanes:
    """The form of control flow that differs between lanes, chosen by the target unless the user chose."""
    if form != "auto":
        return Lanes(form, derived=purpose().derives)
    if purpose().derives:
        return Lanes("lockstep", "a derivative of the batch is taken", derived=True)
    match purpose().target:
        case "cpu":
            return Lanes("auto")
        case "triton" | "cuda":
            return ON_DEVICE
        case "numpy":
            return Lanes("lockstep", "CPython is faster on whole arrays than in loops")
        case other:
            return Lanes("lockstep", f"the target {other} computes on whole arrays")
