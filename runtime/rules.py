"""What the transformations do to a program: arguments chosen, derivatives and batches applied, results put into their
tree.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..translator.batch import vmap as batch
from ..translator.batch.lanes import ON_DEVICE, Form, Lanes, LoopNote
from ..translator.builder import Builder
from ..translator.derive import reverse
from ..translator.derive.activity import inexact
from ..translator.errors import Diagnostic, DTypeError, ShapeError
from ..translator.ir import Atom, Aval, Block, Function, Var, const
from ..translator.pipeline import Positions, deriving, keeps_lists, note_loops, target
from ..translator.reading.signature import Signature, runs, signature_of, static_value
from ..translator.reading.source import definition
from ..translator.rewrite import splice_block
from ..translator.tree import LEAF, NONE, Kind, TreeDef, flatten, leaf_paths
from .tree_util import broadcast_prefix, describe

Argnums = int | Sequence[int]
Fun = Callable[..., Any]

# ---- which arguments -----------------------------------------------------------------------------


def checked_argnums(argnums: Argnums) -> int | tuple[int, ...]:
    """An int or a tuple of ints. Raises TypeError for anything else."""
    try:
        return operator.index(argnums)  # type: ignore[arg-type]
    except TypeError:
        pass
    try:
        return tuple(operator.index(i) for i in argnums)  # type: ignore[union-attr]
    except TypeError:
        raise TypeError(f"argnums must be an int or a sequence of ints, got {argnums!r}") from None


class MismatchError(TypeError, ValueError):
    """What does not fit the function whose derivative is taken: `argnums` that the call does not have, a cotangent of
    another shape or dtype. Versions of JAX raise the one or the other.
    """


@dataclass(frozen=True, slots=True)
class Chosen:
    """The arguments that `argnums` names: their leaves in the signature, the types of these, and the tree of them."""

    leaves: tuple[int, ...]
    avals: tuple[Aval, ...]
    tree: TreeDef

    @classmethod
    def of(cls, arguments: Sequence[tuple[int, TreeDef]], signature: Signature, tree: TreeDef) -> Chosen:
        leaves = tuple(leaf for first, tree in arguments for leaf in range(first, first + tree.leaf_count))
        return cls(leaves, tuple(signature.avals[i] for i in leaves), tree)


def positional(fun: Fun, signature: Signature) -> list[tuple[int, TreeDef]]:
    """The positional arguments, those of *args one by one: the number of the first leaf, and the tree."""
    kinds = _kinds(fun)
    out: list[tuple[int, TreeDef]] = []
    first = 0
    for name, tree in signature.params:
        kind = kinds.get(name)
        if kind is inspect.Parameter.VAR_POSITIONAL:
            start = first
            for child in tree.children:
                out.append((start, child))
                start += child.leaf_count
        elif kind is not inspect.Parameter.VAR_KEYWORD:
            out.append((first, tree))
        first += tree.leaf_count
    return out


def _kinds(fun: Fun) -> dict[str, Any]:
    try:
        return {name: p.kind for name, p in signature_of(fun).parameters.items()}
    except ValueError:
        return {}


def select(fun: Fun, signature: Signature, argnums: int | tuple[int, ...], verb: str) -> Chosen:
    """Raises MismatchError for an argument that the call does not have."""
    arguments = positional(fun, signature)
    picked = []
    for i in (argnums,) if isinstance(argnums, int) else argnums:
        if not -len(arguments) <= i < len(arguments):
            raise MismatchError(
                f"differentiating with respect to argnums={i} requires at least {i + 1 if i >= 0 else -i} "
                "positional arguments to be "
                f"passed by the caller, but {verb} of {getattr(fun, '__name__', fun)} got only {len(arguments)} "
                "positional arguments."
            )
        picked.append(arguments[i])
    trees = tuple(tree for _, tree in picked)
    return Chosen.of(picked, signature, trees[0] if isinstance(argnums, int) else TreeDef(Kind.TUPLE, trees))


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
        raise DTypeError(
            f"Gradient only defined for scalar-output functions. Output was {describe(main)}; "
            "return one number, and others through has_aux=True"
        )
    places, tree = differentiable(function, positions, chosen, allow_int)
    if holomorphic:
        derived = _holomorphic(function, places, main, aux)
    else:
        count = aux.leaf_count if aux else 0
        derived = reverse.grad(function, places, value=value or has_aux, aux=count, lists=keeps_lists())
    return _arranged(derived, main, aux, tree, value)


def split_aux(out: TreeDef, has_aux: bool) -> tuple[TreeDef, TreeDef | None]:
    """The trees of the main result and of aux. Raises TypeError where has_aux is set and the result is not a pair."""
    if not has_aux:
        return out, None
    if out.kind not in (Kind.TUPLE, Kind.LIST, Kind.NAMEDTUPLE) or len(out.children) != 2:
        raise TypeError(
            f"with has_aux=True the function must return a pair (output, aux), but it returns {describe(out)}"
        )
    return out.children[0], out.children[1]


def differentiable(
    function: Function, positions: Positions, chosen: Chosen, allow_int: bool
) -> tuple[list[int], TreeDef]:
    """The places of the chosen leaves, and their tree; with `allow_int` None stands where an integer or a bool is.

    Raises DTypeError without it for a Python bool, which is no leaf but part of the structure.
    """
    if _holds_bool(chosen.tree) and not allow_int:
        raise DTypeError(
            f"derivatives of {function.name} require real- or complex-valued inputs (input dtype that is a sub-dtype "
            "of np.inexact), but got bool"
        )
    places: list[int] = []
    keep = [inexact(aval) or not allow_int for aval in chosen.avals]
    for leaf, wanted in zip(chosen.leaves, keep, strict=True):
        if wanted:
            places.append(moving(function, positions, leaf))
    return places, _without_bools(chosen.tree if all(keep) else reverse.without_leaves(chosen.tree, keep))


def _holds_bool(tree: TreeDef) -> bool:
    if tree.kind is Kind.STATIC:
        return isinstance(static_value(tree), bool)
    return any(map(_holds_bool, tree.children))


def _without_bools(tree: TreeDef) -> TreeDef:
    if not _holds_bool(tree):
        return tree
    if tree.kind is Kind.STATIC:
        return NONE
    return dataclasses.replace(tree, children=tuple(map(_without_bools, tree.children)))


def moving(function: Function, positions: Positions, leaf: int) -> int:
    """The place of a leaf that a derivative is taken with respect to. Raises DTypeError where it is specialised."""
    place = positions[leaf]
    if place is None:
        raise DTypeError(
            f"the derivative with respect to argument leaf {leaf} of {function.name} does not exist: its value decides "
            "a shape, a branch known in advance or an index, so the function is specialised on it"
        )
    return place


def _holomorphic(function: Function, places: list[int], main: TreeDef, aux: TreeDef | None) -> Function:
    """The value, aux, and the gradients of a complex function: the cotangent of its output is 1."""
    results = function.body.results[: function.out.leaf_count]
    if main.leaf_count != 1 or results[0].aval.shape:
        raise DTypeError("Gradient only defined for scalar-output functions.")
    kinds = {results[0].aval.dtype.kind, *(function.body.params[i].aval.dtype.kind for i in places)}
    if kinds != {"c"}:
        raise DTypeError("grad with holomorphic=True requires inputs and outputs with a complex dtype")
    only = dataclasses.replace(
        function, body=dataclasses.replace(function.body, results=results[:1]), out=main, mutated=()
    )
    back = reverse.vjp(only, places, lists=keeps_lists())
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


def check_axes(in_axes: Any, out_axes: Any, verb: str) -> None:
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not isinstance(in_axes, int | tuple | type(None)) or isinstance(in_axes, bool):
        raise TypeError(
            f"{verb} in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
            "passed to the "
            f"function, but got {in_axes!r}."
        )
    for axes, name in ((in_axes, "in_axes"), (out_axes, "out_axes")):
        for axis in axis_leaves(axes):
            if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
                raise TypeError(
                    f"{verb} {name} must be an int, None, or (nested) container with those types as leaves, but "
                    f"got {axes!r}."
                )


def axis_leaves(axes: Any) -> list[Any]:
    return flatten(axes, is_leaf=lambda x: x is None)[0]


AxesOfLeaves = tuple[int | None, ...]


def input_axes(fun: Fun, signature: Signature, in_axes: Any, verb: str) -> AxesOfLeaves:
    """For each leaf of the signature the axis that is mapped, non-negative. Raises ValueError where in_axes does not
    fit.
    """
    axes: list[int | None] = [None] * len(signature.avals)
    arguments = positional(fun, signature)
    entries = _entries(fun, in_axes, arguments, verb)
    covered = 0
    optional = _optional(fun, len(arguments)) if isinstance(in_axes, int) else frozenset()
    for i, ((first, tree), entry) in enumerate(zip(arguments, entries, strict=False)):
        if i in optional and tree.kind is Kind.LEAF and signature.avals[first].weak:
            entry = None  # a default that was not given
        chosen = _axes_over(fun, entry, tree, f"{verb} in_axes", f"the argument {_name_of(signature, first)}")
        axes[first : first + tree.leaf_count] = chosen
        covered = first + tree.leaf_count
    for leaf in range(covered, len(axes)):  # keyword arguments are mapped over axis 0, numbers among them are not
        axes[leaf] = 0 if signature.avals[leaf].shape else None
    return tuple(_normal_axis(a, signature, i, fun, verb) for i, a in enumerate(axes))


def _name_of(signature: Signature, first: int) -> str:
    """The parameter whose leaves begin there."""
    count = 0
    for name, tree in signature.params:
        if first < count + max(tree.leaf_count, 1):
            return name
        count += tree.leaf_count
    return f"number {first}"


def _axes_over(fun: Fun, axes: Any, tree: TreeDef, what: str, of: str) -> list[Any]:
    """An axis for each leaf. Raises ShapeError where `axes` is no prefix of the tree, naming what it belongs to."""
    try:
        return broadcast_prefix(axes, tree, what, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise _fitting(
            fun,
            f"{error}, in {of}",
            "give one axis for all of it, or one entry for each of its entries",
        ) from None


def _optional(fun: Fun, count: int) -> frozenset[int]:
    """The positional arguments that have a default."""
    parameters = list(signature_of(fun).parameters.values())[:count]
    return frozenset(i for i, p in enumerate(parameters) if p.default is not inspect.Parameter.empty)


def _entries(fun: Fun, in_axes: Any, arguments: Sequence[tuple[int, TreeDef]], verb: str) -> Sequence[Any]:
    if not isinstance(in_axes, tuple | list):
        return [in_axes] * len(arguments)
    if len(in_axes) > len(arguments):
        raise ValueError(
            f"{verb} in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
            "passed to the function, "
            f"but got {len(in_axes)} entries for {len(arguments)} positional arguments of "
            f"{getattr(fun, '__name__', fun)}."
        )
    return in_axes


def _normal_axis(axis: int | None, signature: Signature, leaf: int, fun: Fun, verb: str) -> int | None:
    if axis is None:
        return None
    aval = signature.avals[leaf]
    if not -aval.ndim <= axis < aval.ndim:
        raise _fitting(
            fun,
            f"{verb} was requested to map axis {axis} of the argument {signature.leaf_name(leaf)} of "
            f"{getattr(fun, '__name__', fun)} that has shape {aval.shape}: it has only {aval.ndim} axes",
            "give an axis that it has, or None in in_axes where it is the same for all",
        )
    return axis % aval.ndim


def batch_size(fun: Fun, signature: Signature, axes: AxesOfLeaves, axis_size: int | None, verb: str) -> int:
    sizes = {signature.avals[i].shape[a] for i, a in enumerate(axes) if a is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        raise _fitting(
            fun, f"{verb} must have at least one non-None value in in_axes, or axis_size", f"{verb}(f, axis_size=n)"
        )
    each = [
        f"argument {signature.leaf_name(i)}: size {signature.avals[i].shape[a]} along axis {a}"
        for i, a in enumerate(axes)
        if a is not None
    ]
    given = [f"axis_size={axis_size}"] if axis_size is not None else []
    raise _fitting(
        fun,
        f"{verb} got inconsistent sizes for array axes to be mapped in {getattr(fun, '__name__', fun)}:\n  "
        + "\n  ".join(each + given),
        "give arrays of one size along these axes, or None in in_axes where one is the same for all",
    )


def _fitting(fun: Fun, what: str, instead: str) -> ShapeError:
    """The error that axes do not fit the arguments or results of a function, told at its definition."""
    return ShapeError(Diagnostic(what, definition(runs(fun)), instead=instead))


def without_batch(signature: Signature, axes: AxesOfLeaves) -> Signature:
    """The signature of one lane."""
    avals = tuple(
        a if axis is None else Aval((*a.shape[:axis], *a.shape[axis + 1 :]), a.dtype)
        for a, axis in zip(signature.avals, axes, strict=True)
    )
    values = tuple(v if axis is None else None for v, axis in zip(signature.values, axes, strict=True))
    return Signature(signature.params, avals, values)


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
    outs = _axes_over(fun, out_axes, function.out, "vmap out_axes", "the result")
    results = function.body.results[: function.out.leaf_count]
    notes: list[LoopNote] = []
    paths = leaf_paths(function.out, "result")
    out = [output_axis(fun, a, r, p, "vmap") for a, r, p in zip(outs, results, paths, strict=True)]
    made = batch.vmap(function, ins, out, size, _wanted(lanes), notes, axis_name)
    note_loops(notes)
    return made


def _wanted(form: Form) -> Lanes:
    """Where nobody chose, who runs the program decides between a loop over lanes and lockstep."""
    if form != "auto":
        return Lanes(form)
    if deriving():
        return Lanes("lockstep", "a derivative of the batch is taken")
    match target():
        case "cpu":
            return Lanes("auto")
        case "triton" | "cuda":
            return ON_DEVICE
        case "numpy":
            return Lanes("lockstep", "CPython is faster on whole arrays than in loops")
        case other:
            return Lanes("lockstep", f"the target {other} computes on whole arrays")


def output_axis(fun: Fun, axis: int | None, result: Atom, path: str, verb: str) -> int | None:
    if axis is None:
        return None
    ndim = result.aval.ndim + 1
    if not -ndim <= axis < ndim:
        raise _fitting(
            fun,
            f"{verb} out_axes={axis} is out of range for {path} of {getattr(fun, '__name__', fun)}, which has {ndim} "
            "axes with the mapped one",
            f"out_axes from {-ndim} to {ndim - 1}",
        )
    return axis % ndim


def check_cotangent(given: TreeDef, main: TreeDef) -> None:
    """Raises ValueError where the cotangent's structure is not that of the result; None may stand for an integer
    leaf.
    """
    if not _fits(given, main):
        raise ValueError(
            f"the cotangent given to vjp_fun has the structure {describe(given)}, but the result of the function "
            f"has {describe(main)}"
        )


def _fits(given: TreeDef, main: TreeDef) -> bool:
    if main.kind is Kind.LEAF:
        return given.kind in (Kind.LEAF, Kind.NONE)
    same = given.kind is main.kind and given.keys == main.keys and len(given.children) == len(main.children)
    return same and all(_fits(g, m) for g, m in zip(given.children, main.children, strict=True))
