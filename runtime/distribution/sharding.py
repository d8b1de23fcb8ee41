"""The namespace `untraced.sharding`: meshes of devices, and how arrays are divided over them.

An Array is whole on one device: a sharding given to `device_put` says on which mesh, and `Array.sharding` says where it
is. What a PartitionSpec divides are the blocks that `shard_map` gives to a function.
"""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..targets.devices import Device, Sharding
from .mesh_utils import create_device_mesh

_F = TypeVar("_F", bound=Callable[..., Any])
Entry = str | tuple[str, ...] | None


class PartitionSpec(Sharding):
    """How the axes of an array are divided over those of a mesh: for each a name, several, or None. Further axes of the
    array are whole. As a sharding it is that over the mesh of `set_mesh`.
    """

    __slots__ = ("entries",)
    __untraced_static__ = True  # made where a function is read

    def __init__(self, *entries: Entry) -> None:
        for e in entries:
            if not (e is None or isinstance(e, str) or (isinstance(e, tuple) and all(isinstance(n, str) for n in e))):
                raise TypeError(f"an entry of a PartitionSpec is a name, a tuple of names or None, not {e!r}")
        self.entries = entries

    @property
    def device(self) -> Device:
        return NamedSharding(current_mesh("a PartitionSpec"), self).device

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, k: int) -> Entry:
        return self.entries[k]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self.entries))})"


class Mesh:
    """Devices in an array, whose axes have names. ValueError where there is not one name for each, or one twice."""

    def __init__(self, devices: Any, axis_names: str | Sequence[str]) -> None:
        self.devices = np.array(devices, dtype=object)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if len(self.axis_names) != self.devices.ndim or len(set(self.axis_names)) != len(self.axis_names):
            raise ValueError(f"a mesh of shape {self.devices.shape} wants a name for each axis, got {self.axis_names}")

    @property
    def shape(self) -> OrderedDict[str, int]:
        """The size of each axis by its name."""
        return OrderedDict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return int(self.devices.size)

    @property
    def empty(self) -> bool:
        """Whether it has no devices."""
        return self.size == 0

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, *error: object) -> None:
        """Shardings name their mesh, so the block changes nothing."""

    def __call__(self, function: _F) -> _F:
        """As a decorator, too, it changes nothing: the function itself."""
        return function

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{name!r}: {n}' for name, n in self.shape.items())})"


class AxisType(enum.Enum):
    """What JAX lets an axis of a mesh be for. Here every axis is for `shard_map`."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Sequence[AxisType] | None = None,
    *,
    devices: Any = None,
) -> Mesh:
    """A mesh of the first devices. ValueError where there are too few: see `untraced.config.cpu_devices`."""
    return Mesh(create_device_mesh(axis_shapes, devices), axis_names)


class set_mesh:
    """`set_mesh(mesh)`: the mesh of `shard_map`s and PartitionSpecs without one; `with set_mesh(mesh):` in a block."""

    current: ClassVar[Mesh | None] = None

    def __init__(self, mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh wants a Mesh, not {mesh!r}")
        self._before = set_mesh.current
        set_mesh.current = mesh

    def __enter__(self) -> None:
        """It is set already."""

    def __exit__(self, *error: object) -> None:
        set_mesh.current = self._before


def current_mesh(wanted: str) -> Mesh:
    """The mesh that was set last. ValueError where there is none."""
    if set_mesh.current is None:
        raise ValueError(f"{wanted} needs a mesh: give it one, or call set_mesh")
    return set_mesh.current


class SingleDeviceSharding(Sharding):
    """The sharding of an array that is whole on one device."""

    def __init__(self, device: Device) -> None:
        self._device = device

    @property
    def device(self) -> Device:
        return self._device

    @property
    def device_set(self) -> set[Device]:
        """The devices over which it is spread."""
        return {self._device}

    @property
    def is_fully_replicated(self) -> bool:
        """True: the device has all of it."""
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self.device is other.device

    def __hash__(self) -> int:
        return hash(id(self.device))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r})"


class NamedSharding(Sharding):
    """Divided over a mesh as a PartitionSpec says. ValueError for names that the mesh has not."""

    def __init__(self, mesh: Mesh, spec: PartitionSpec, **options: Any) -> None:
        names_of(spec, mesh)
        self.mesh, self.spec = mesh, spec

    @property
    def device_set(self) -> set[Device]:
        """The devices over which it is spread."""
        return set(self.mesh.devices.flat)

    @property
    def device(self) -> Device:
        """The device that holds arrays which are put there."""
        found: Device = self.mesh.devices.flat[0]
        return found

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device has all of it."""
        return not names_of(self.spec, self.mesh)

    def shard_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a block of an array of this shape."""
        sizes = [math.prod(self.mesh.shape[n] for n in names) for names in _dims(self.spec, self.mesh, len(shape))]
        return tuple(_divided(n, by) for n, by in zip(shape, sizes, strict=True))

    @property
    def num_devices(self) -> int:
        """The number of devices of its mesh."""
        return self.mesh.size

    def devices_indices_map(self, shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        """For each device the block that it would hold of an array of this shape."""
        dims, block = _dims(self.spec, self.mesh, len(shape)), self.shard_shape(shape)
        found: dict[Device, tuple[slice, ...]] = {}
        for place in np.ndindex(*self.mesh.devices.shape):
            at = dict(zip(self.mesh.axis_names, place, strict=True))
            index = []
            for names, n in zip(dims, block, strict=True):
                k = 0
                for name in names:
                    k = k * self.mesh.shape[name] + at[name]
                index.append(slice(k * n, (k + 1) * n) if names else slice(None))
            device: Any = self.mesh.devices[place]
            found[device] = tuple(index)
        return found

    addressable_devices_indices_map = devices_indices_map

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self.mesh is other.mesh and self.spec == other.spec

    def __hash__(self) -> int:
        return hash((id(self.mesh), self.spec))

    def __repr__(self) -> str:
        return f"NamedSharding({self.mesh!r}, {self.spec!r})"


def names_of(spec: PartitionSpec, mesh: Mesh) -> tuple[str, ...]:
    """The axes of the mesh that a spec names, in the order of the mesh."""
    named = [n for e in spec for n in ((e,) if isinstance(e, str) else e or ())]
    unknown = [n for n in named if n not in mesh.axis_names]
    if unknown or len(set(named)) != len(named):
        raise ValueError(f"{spec!r} must name axes of the mesh, {mesh.axis_names}, each once")
    return tuple(n for n in mesh.axis_names if n in named)


def _dims(spec: PartitionSpec, mesh: Mesh, rank: int) -> list[tuple[str, ...]]:
    """For each axis of an array, the names of the mesh axes that divide it."""
    if len(spec) > rank:
        raise ValueError(f"{spec!r} has more entries than an array of rank {rank} has axes")
    given = [(e,) if isinstance(e, str) else tuple(e or ()) for e in spec]
    return given + [()] * (rank - len(given))


def _divided(n: int, by: int) -> int:
    if n % by:
        raise ValueError(f"an axis of size {n} cannot be divided into {by} blocks of one size")
    return n // by


P = PartitionSpec

__all__ = [
    "AxisType", "Mesh", "NamedSharding", "P", "PartitionSpec", "Sharding", "SingleDeviceSharding", "make_mesh",
    "set_mesh",
]  # fmt: skip
