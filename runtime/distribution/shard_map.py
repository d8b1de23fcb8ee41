"""`shard_map`: a function of the blocks of arrays over a mesh.

    mesh = make_mesh((4,), ("rows",))
    @partial(shard_map, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P("rows"))
    def f(x, w):                   x: a fourth of the rows
        return x @ w / lax.psum(np.sum(x), "rows")

It is the `vmap` over the blocks, an axis of the mesh after the other: names, collectives and derivatives are those of
`vmap`, and the numbers those of JAX. The devices of a processor share its cores, so the program is one, on the first
device; `pmap` is what runs on each of several.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..transforms.transforms import vmap
from ..trees.tree import map as tree_map
from .sharding import Mesh, PartitionSpec, current_mesh, names_of, set_mesh

Fun = Callable[..., Any]


def shard_map(
    f: Fun | None = None,
    mesh: Mesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    check_vma: bool = True,
    check_rep: bool = True,
    **options: Any,
) -> Fun:
    """A function that calls `f` for each place of a mesh, on the blocks of its arguments there, and joins the blocks
    that `f` returns.

    in_specs, out_specs   how arguments are divided and results joined: a PartitionSpec for all of them, or a tree of
                          PartitionSpecs that is a prefix of the tuple of arguments, or of the result.
    mesh                  by default that of `set_mesh`. Collectives of `lax` work over its axes.

    Without `f` it is a decorator. Raises ValueError for names that the mesh lacks, for blocks of unequal size, and for
    results that differ over an axis which `out_specs` does not name.
    """
    if options:
        raise TypeError(f"shard_map has no options {sorted(options)}: all axes of the mesh are mapped")
    if f is None:
        return functools.partial(shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    mesh = current_mesh("shard_map") if mesh is None else mesh
    if not isinstance(mesh, Mesh):
        raise TypeError(f"shard_map wants a Mesh, not {mesh!r}")
    alike = isinstance(in_specs, PartitionSpec)  # every argument
    specs = in_specs if alike or isinstance(in_specs, tuple) else (in_specs,)
    blocked = f
    for name in reversed(mesh.axis_names):
        axes = [_leaves(lambda s, name=name: 0 if name in names_of(s, mesh) else None, x) for x in (specs, out_specs)]
        blocked = vmap(blocked, axes[0], axes[1], axis_name=name, axis_size=mesh.shape[name])
    sizes = dict(mesh.shape)
    splitters, joiners = (
        _leaves(lambda s, part=part: functools.partial(part, sizes, _plain(s), names_of(s, mesh)), x)
        for part, x in ((_split, specs), (_join, (out_specs,)))
    )

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        blocks = _applied(splitters, tuple(args)) if alike else tree_map(_applied, splitters, tuple(args))
        return tree_map(_applied, joiners, (blocked(*blocks),))[0]

    return mapped


def _leaves(function: Fun, specs: Any) -> Any:
    return tree_map(function, specs, is_leaf=lambda s: isinstance(s, PartitionSpec))


def _plain(spec: PartitionSpec) -> tuple[tuple[str, ...], ...]:
    return tuple((e,) if isinstance(e, str) else tuple(e or ()) for e in spec)


def _applied(part: Fun, x: Any) -> Any:
    return tree_map(part, x)


def _split(sizes: dict[str, int], spec: tuple[tuple[str, ...], ...], names: tuple[str, ...], x: Any) -> Any:
    """The blocks of an array, those of each named axis of the mesh along an axis in front, in the mesh's order."""
    x = np.asarray(x)
    if len(spec) > x.ndim:
        raise ValueError(f"a PartitionSpec of {len(spec)} entries does not fit an array of shape {x.shape}")
    shape: list[int] = []
    where: dict[str, int] = {}
    for k, n in enumerate(x.shape):
        for name in spec[k] if k < len(spec) else ():
            where[name] = len(shape)
            shape.append(sizes[name])
            if n % sizes[name]:
                raise ValueError(f"axis {k} of an array of shape {x.shape} cannot be divided evenly over {spec[k]}")
            n = n // sizes[name]
        shape.append(n)
    front = [where[name] for name in names]
    return np.moveaxis(x.reshape(tuple(shape)), front, range(len(front)))


def _join(sizes: dict[str, int], spec: tuple[tuple[str, ...], ...], names: tuple[str, ...], x: Any) -> Any:
    """The array of blocks that lie along axes in front."""
    x = np.asarray(x)
    whole = x.shape[len(names) :]
    if len(spec) > len(whole):
        raise ValueError(f"a PartitionSpec of {len(spec)} entries does not fit blocks of shape {whole}")
    order: list[int] = []
    shape: list[int] = []
    for k, n in enumerate(whole):
        for name in spec[k] if k < len(spec) else ():
            order.append(names.index(name))
            n = n * sizes[name]
        order.append(len(names) + k)
        shape.append(n)
    return np.transpose(x, order).reshape(tuple(shape))


shard_map.__dict__["__untraced_static__"] = True
shard_map.__dict__["__untraced_reads__"] = ((set_mesh, "current"),)
