"""What the caller of a transformation chooses: arguments by `argnums`, axes by `in_axes` and `out_axes`.

They are checked when the transformation is made, and held against the arguments of a call.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...translator.errors import Diagnostic, MismatchError, ShapeError
from ...translator.ir import Aval
from ...translator.reading.text.signature import Given, Signature, runs, signature_of, static_value
from ...translator.reading.text.source import definition
from ...translator.records import dataclass
from ...translator.tree import Kind, TreeDef, flatten
from ..calls.options import numbers_in
from ..trees.tree_util import broadcast_prefix

Argnums = int | Sequence[int]
Fun = Callable[..., Any]

# ---- arguments -----------------------------------------------------------------------------------


def checked_argnums(argnums: Argnums) -> int | tuple[int, ...]:
    """An int or a tuple of ints. Raises TypeError for anything else."""
    try:
        return operator.index(argnums)  # type: ignore[arg-type]
    except TypeError:
        pass
    try:
        return numbers_in(argnums)
    except TypeError:
        raise TypeError(f"argnums must be an int or a sequence of ints, got {argnums!r}") from None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The arguments that `argnums` names: their leaves in the signature, the types of these, and the tree of them."""

    signature: Signature
    leaves: tuple[int, ...]
    avals: tuple[Aval, ...]
    tree: TreeDef

    @classmethod
    def of(cls, arguments: Sequence[tuple[int, TreeDef]], signature: Signature, tree: TreeDef) -> Chosen:
        leaves = tuple(leaf for first, tree in arguments for leaf in range(first, first + tree.leaf_count))
        return cls(signature, leaves, tuple(signature.avals[i] for i in leaves), tree)


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


# ---- axes ----------------------------------------------------------------------------------------


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
    given = signature.given or Given(len(arguments), frozenset())
    entries = _entries(fun, in_axes, given.count, verb)
    for (first, tree), entry, name in zip(arguments, entries, _names(fun, signature), strict=False):
        if tree.kind is Kind.STATIC and isinstance(in_axes, tuple | list) and entry is not None:
            raise fitting(
                fun,
                f"{verb} was requested to map axis {entry} of the argument {name} of {getattr(fun, '__name__', fun)}, "
                f"which is no array but {static_value(tree)!r}",
                "None in in_axes for what is the same for all",
            )
        chosen = axes_over(fun, entry, tree, f"{verb} in_axes", f"the argument {name}")
        axes[first : first + tree.leaf_count] = chosen
    covered = sum(tree.leaf_count for _, tree in arguments[: given.count])
    parameters = [name for name, tree in signature.params for _ in range(tree.leaf_count)]
    for leaf in range(covered, len(axes)):  # keyword arguments are mapped over axis 0, numbers among them are not
        axes[leaf] = 0 if signature.avals[leaf].shape and parameters[leaf] in given.names else None
    return tuple(_normal_axis(a, signature, i, fun, verb) for i, a in enumerate(axes))


def _names(fun: Fun, signature: Signature) -> list[str]:
    """The names of the positional arguments."""
    kinds = _kinds(fun)
    names: list[str] = []
    for name, tree in signature.params:
        kind = kinds.get(name)
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names += (f"{name}[{i}]" for i in range(len(tree.children)))
        elif kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(name)
    return names


def axes_over(fun: Fun, axes: Any, tree: TreeDef, what: str, of: str) -> list[Any]:
    """An axis for each leaf. Raises ShapeError where `axes` is no prefix of the tree, naming what it belongs to."""
    try:
        return broadcast_prefix(axes, tree, what, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise fitting(
            fun,
            f"{error}, in {of}",
            "give one axis for all of it, or one entry for each of its entries",
        ) from None


def _entries(fun: Fun, in_axes: Any, count: int, verb: str) -> Sequence[Any]:
    """The entries of in_axes, one for each argument passed by position."""
    if not isinstance(in_axes, tuple | list):
        return [in_axes] * count
    if len(in_axes) != count:
        raise fitting(
            fun,
            f"{verb} in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
            "passed to the function, but got "
            f"len(in_axes)={len(in_axes)}, len(args)={count} for {getattr(fun, '__name__', fun)}",
            "give an entry for each argument passed by position; those passed by keyword are mapped over axis 0",
        )
    return in_axes


def _normal_axis(axis: int | None, signature: Signature, leaf: int, fun: Fun, verb: str) -> int | None:
    if axis is None:
        return None
    aval = signature.avals[leaf]
    if not -aval.ndim <= axis < aval.ndim:
        raise fitting(
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
        raise fitting(
            fun, f"{verb} must have at least one non-None value in in_axes, or axis_size", f"{verb}(f, axis_size=n)"
        )
    each = [
        f"argument {signature.leaf_name(i)}: size {signature.avals[i].shape[a]} along axis {a}"
        for i, a in enumerate(axes)
        if a is not None
    ]
    given = [f"axis_size={axis_size}"] if axis_size is not None else []
    raise fitting(
        fun,
        f"{verb} got inconsistent sizes for array axes to be mapped in {getattr(fun, '__name__', fun)}:\n  "
        + "\n  ".join(each + given),
        "give arrays of one size along these axes, or None in in_axes where one is the same for all",
    )


def fitting(fun: Fun, what: str, instead: str) -> ShapeError:
    """The error that axes do not fit the arguments or results of a function, told at its definition."""
    return ShapeError(Diagnostic(what, definition(runs(fun)), instead=instead))


def without_batch(signature: Signature, axes: AxesOfLeaves) -> Signature:
    """The signature of one lane."""
    avals = tuple(
        a if axis is None else Aval((*a.shape[:axis], *a.shape[axis + 1 :]), a.dtype)
        for a, axis in zip(signature.avals, axes, strict=True)
    )
    values = tuple(v if axis is None else None for v, axis in zip(signature.values, axes, strict=True))
    return dataclasses.replace(signature, avals=avals, values=values)


def output_axis(fun: Fun, axis: int | None, ndim: int, path: str, verb: str) -> int | None:
    if axis is None:
        return None
    ndim += 1
    if not -ndim <= axis < ndim:
        raise fitting(
            fun,
            f"{verb} out_axes={axis} is out of range for {path} of {getattr(fun, '__name__', fun)}, which has {ndim} "
            "axes with the mapped one",
            f"out_axes from {-ndim} to {ndim - 1}",
        )
    return axis % ndim
