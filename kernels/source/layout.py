"""Addresses: the axes of a domain are merged as far as all arrays allow; addresses are linear in those that remain.

The pattern (which strides are 0, which are 1, which follow from the extents) is part of a kernel's source; all other
strides, offsets and extents are arguments, so that arrays of other lengths run the same kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field

from ...translator.ir import Shape
from ...translator.records import dataclass
from .maps import Map, Strides
from .names import Names
from .values import Inside, Lowered, Position

INT32 = 2**30  # beyond this many elements indices are 64 bits wide; half the range leaves room for a grid's last step


@dataclass(frozen=True, slots=True)
class Access:
    """`offset` and the stride along each axis of the domain, in elements."""

    offset: int
    strides: Strides


@dataclass(slots=True)
class Axis:
    """Axes of the domain merged into one, its extent, and in the source the variable that counts it and its extent."""

    members: tuple[int, ...]
    extent: int
    variable: str = ""
    extent_name: str = ""


@dataclass(slots=True)
class Space:
    """Axes that one index of a kernel walks; the index and the number of its values have these names in the source."""

    axes: list[Axis]
    variable: str
    extent_name: str

    @property
    def size(self) -> int:
        return math.prod(a.extent for a in self.axes)


@dataclass(slots=True)
class Layout:
    """The spaces of a kernel, the slowest index first.

    Of a row kernel `outer` are the axes that count rows (elements, where nothing is reduced), `inner` those along it.
    """

    spaces: list[Space]
    wide: bool
    integers: dict[str, int] = field(default_factory=dict)
    known: dict[tuple[object, ...], str] = field(default_factory=dict)

    @property
    def outer(self) -> list[Axis]:
        return self.spaces[0].axes

    @property
    def inner(self) -> list[Axis]:
        return self.spaces[1].axes if len(self.spaces) > 1 else []

    @property
    def rows(self) -> int:
        return self.spaces[0].size

    @property
    def columns(self) -> int:
        return self.spaces[1].size if len(self.spaces) > 1 else 1

    def address(self, name: str, array: object, access: Access, names: Names) -> str:
        """The address as an expression; strides that the pattern does not give become integer arguments.

        Loads of one `array` share their arguments.
        """
        terms: list[str] = []
        axes = [step for space in self.spaces for step in self.walk(space, access)]
        for k, (variable, stride) in enumerate(axes):
            below = self.below(k, axes)
            if stride == 1:
                terms.append(variable)
            elif stride and below and stride == math.prod(n for _, n in below):
                terms.append(f"{variable} * {' * '.join(text for text, _ in below)}")
            elif stride:
                named = self.shared(f"{name}_stride", (array, variable, stride), stride, names)
                terms.append(f"{variable} * {named}")
        if access.offset:
            terms.append(self.shared(f"{name}_offset", (array, access.offset), access.offset, names))
        return " + ".join(terms) or "0"

    def walk(self, space: Space, access: Access) -> list[tuple[str, int]]:
        """(variable, stride) for each axis; for the running index alone where the array walks them in one step."""
        axes = space.axes
        strides = [access.strides[a.members[-1]] for a in axes]
        in_one = all(strides[k] == strides[k + 1] * axes[k + 1].extent for k in range(len(axes) - 1))
        if len(axes) > 1 and in_one:
            return [(space.variable, strides[-1])]
        return [(a.variable, s) for a, s in zip(axes, strides, strict=True)]

    def below(self, k: int, axes: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """(name, extent) of the axes inside the k-th one of an address; empty where an extent has no name."""
        known = {a.variable: (a.extent_name, a.extent) for space in self.spaces for a in space.axes}
        known.update((space.variable, (space.extent_name, space.size)) for space in self.spaces)
        found = [known.get(variable, ("", 0)) for variable, _ in axes[k + 1 :]]
        return found if all(text for text, _ in found) else []

    def shared(self, hint: str, key: tuple[object, ...], value: int, names: Names) -> str:
        if key not in self.known:
            self.known[key] = self.integer(hint, value, names)
        return self.known[key]

    def integer(self, hint: str, value: int, names: Names) -> str:
        name = names.fresh(hint)
        self.integers[name] = value
        return name

    def position(self, axis: int) -> str:
        """The index along one axis of the domain (which `merge_axes` has kept apart)."""
        found = [a for space in self.spaces for a in space.axes if a.members == (axis,)]
        return found[0].variable if found else "0"


def access_of(where: Map, strides: Strides, ndim: int) -> Access:
    """The address, in an array of these strides, of the elements that a map of the domain reaches."""
    offset, along = 0, [0] * ndim
    for term, stride in zip(where, strides, strict=True):
        offset += term.start * stride
        if term.axis >= 0:
            along[term.axis] += term.step * stride
    return Access(offset, tuple(along))


def make_layout(lowered: Lowered, accesses: Sequence[Access]) -> Layout:
    """The layout of a pointwise kernel, which has one index, or of one that walks along rows."""
    every, reduced = range(len(lowered.domain)), set(lowered.axes)
    if not reduced:
        return layout_over(lowered, accesses, [(list(every), "i", "n")])
    rows, along = [i for i in every if i not in reduced], sorted(reduced)
    return layout_over(lowered, accesses, [(rows, "row", "rows"), (along, "column", "columns")])


def layout_over(
    lowered: Lowered, accesses: Sequence[Access], spaces: Sequence[tuple[Sequence[int], str, str]]
) -> Layout:
    """Merge neighbouring axes that every array walks in one step, and name what is left.

    `spaces`: (axes of the domain, the index over them, the name of its extent).
    """
    domain = lowered.domain
    counted = [v.source.term for v in lowered.values if isinstance(v.source, Position)]
    kept_apart = {t.axis for t in counted}
    kept_apart.update(b[0] for v in lowered.values if isinstance(v.source, Inside) for b in v.source.bounds)
    spans = [sum(abs(s) * n for s, n in zip(a.strides, domain, strict=True)) for a in accesses]
    reach = max((abs(a.offset) + span for a, span in zip(accesses, spans, strict=True)), default=0)
    numbers = [abs(t.start) + abs(t.step) * (domain[t.axis] if t.axis >= 0 else 0) for t in counted]
    made = [Space(_merge(axes, domain, accesses, kept_apart), index, extent) for axes, index, extent in spaces]
    layout = Layout(made, max(reach, *numbers, *(space.size for space in made)) > INT32)
    for space in made:
        _name(layout, space, lowered.names)
    return layout


def _merge(axes: Sequence[int], domain: Shape, accesses: Sequence[Access], kept_apart: set[int]) -> list[Axis]:
    merged: list[Axis] = []
    for i in axes:
        if domain[i] == 1:
            continue
        last = merged[-1] if merged else None
        if (
            last is not None
            and not {i, *last.members} & kept_apart
            and all(a.strides[last.members[-1]] == a.strides[i] * domain[i] for a in accesses)
        ):
            merged[-1] = Axis((*last.members, i), last.extent * domain[i])
        else:
            merged.append(Axis((i,), domain[i]))
    return merged


def _name(layout: Layout, space: Space, names: Names) -> None:
    """One axis is counted by the space's index itself; of several each gets its own, and its extent is an argument."""
    axes, variable, extent = space.axes, space.variable, space.extent_name
    if len(axes) == 1:
        axes[0].variable, axes[0].extent_name = variable, extent
        return
    for k, axis in enumerate(axes):
        axis.variable = names.fresh(f"{variable}_{k}")
        if k:
            axis.extent_name = names.fresh(f"{extent}_{k}")
            layout.integers[axis.extent_name] = axis.extent


def decomposition(space: Space, divide: str, dividers: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """(variable, expression) that take a running index apart, one index an axis, by the language's division.

    `dividers`: by the names of extents calls that divide by them, `{}` being what is divided; remainders are made of
    those quotients then.
    """
    axes, variable = space.axes, space.variable
    lines: list[tuple[str, str]] = []
    rest = variable
    for k in range(len(axes) - 1, 0, -1):
        whole = rest
        extent = axes[k].extent_name
        rest = f"{variable}_rest_{k}" if k > 1 else axes[0].variable
        if dividers is None:
            lines.append((axes[k].variable, f"{whole} % {extent}"))
            lines.append((rest, f"{whole} {divide} {extent}"))
        else:
            lines.append((rest, dividers[extent].format(whole)))
            lines.append((axes[k].variable, f"{whole} - {rest} * {extent}"))
    return lines


def divider(n: int) -> tuple[int, int]:
    """The multiplier and the shift that divide by n: i // n == (i * multiplier // 2**32 + i) >> shift for all
    0 <= i < 2**31 (T. Granlund and P. L. Montgomery, Division by invariant integers using multiplication, 1994).
    By an extent of 0 no index is divided.
    """
    n = max(n, 1)
    shift = (n - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - n)) // n + 1, shift
