"""Loads at places that integer arrays give: their addresses, and the flag where one is out of range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ...translator.bounds import Status
from ...translator.records import dataclass
from .dialects import bare
from .maps import Strides
from .values import Chosen, Look, Value

if TYPE_CHECKING:
    from .body import Body


@dataclass(slots=True)
class Choices:
    """Places given by integer arrays: (axis, name of the place), and the tests that they are within bounds."""

    lines: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    places: list[tuple[int, str]] = field(default_factory=list)
    masked: list[int] = field(default_factory=list)  # the axes whose place has the shape of the mask (Triton)


def look(body: Body, v: Value, source: Look) -> list[str]:
    """A load at places given by integers: negative ones count from the end; out of range nothing is read."""
    pointer = body.pointer("in", source.param, v.name, v.dtype)
    mask, access, strides = body.whole(v), body.accesses[id(v)], body.strides[source.param]
    address = body.layout.address(pointer.removesuffix("_ptr"), source.param, access, body.lowered.names)
    found = choices_of(body, v.name, source.param, source.chosen, v.args, mask)
    address = chosen_address(body, v.name, source.param, address, found, strides)
    if body.triton:
        is_whole = body.mask(access) == f", mask={mask}" or any(strides[axis] for axis in found.masked)
        address = body.spread(v, address, is_whole)
    return [*found.lines, *look_inside(body, v, pointer, address, found.tests, mask)]


def choices_of(
    body: Body, hint: str, array: object, chosen: Sequence[Chosen | None], args: Sequence[Value], mask: str
) -> Choices:
    """The places that integer arrays give along axes of an array: their names, and the tests of their bounds."""
    names, triton, found = body.lowered.names, body.triton, Choices()
    for axis, c in enumerate(chosen):
        if c is None:
            continue
        text = body.text(args[c.arg])
        wide = body.dialect.convert(text, args[c.arg].dtype, np.dtype(np.int64))
        wraps = c.inside is not Status.IN_RANGE
        if not wraps and wide.isidentifier():
            found.places.append((axis, wide))
            continue
        at, size = names.fresh(f"{hint}_at"), size_of(body, hint, array, axis, c) if wraps else ""
        if triton:
            found.masked.append(axis)
            found.lines.append(f"{at} = tl.where({mask}, {wide}, 0)")
            found.lines += [f"{at} = tl.where({at} < 0, {at} + {size}, {at})"] if wraps else []
        else:
            own = f"{bare(text)} < 0 ? {wide} + {size} : {wide}" if wraps else wide
            found.lines.append(f"const long long {at} = {own};")
        if c.inside is Status.UNKNOWN:
            found.tests.append(f"({at} >= 0) & ({at} < {size})" if triton else f"{at} >= 0 && {at} < {size}")
        found.places.append((axis, at))
    return found


def size_of(body: Body, hint: str, array: object, axis: int, c: Chosen) -> str:
    """The extent of an axis that is indexed by integers."""
    return body.layout.shared(f"{hint}_size", (array, "size", axis), c.size, body.lowered.names)


def chosen_address(body: Body, hint: str, array: object, address: str, found: Choices, strides: Strides) -> str:
    """An address with the offsets of the places added that integers gave."""
    terms = [] if address == "0" else [address]
    for axis, at in found.places:
        stride = strides[axis]
        if stride == 1:
            terms.append(at)
        elif stride:
            step = body.layout.shared(f"{hint}_stride", (array, "step", axis), stride, body.lowered.names)
            terms.append(f"{at} * {step}")
    return " + ".join(terms) or "0"


def look_inside(body: Body, v: Value, pointer: str, address: str, tests: Sequence[str], mask: str) -> list[str]:
    """The load, and the flag where an index is out of range."""
    if not tests:
        load = f"tl.load({pointer} + {address}, mask={mask})" if body.triton else f"{pointer}[{address}]"
        return [body.declare(v, load)]
    flag = body.pointer("partial", 0, "outside", np.dtype(np.int32))
    inside = body.lowered.names.fresh(f"{v.name}_inside")
    zero = body.dialect.literal(v.dtype.type(0), v.dtype)
    if body.triton:
        return [
            f"{inside} = {' & '.join(tests)}",
            f"tl.store({flag} + tl.zeros_like({inside}).to(tl.int32), 1, mask={mask} & ({inside} == 0))",
            body.declare(v, f"tl.load({pointer} + {address}, mask={mask} & {inside}, other=0)"),
        ]
    return [
        f"const bool {inside} = {' && '.join(tests)};",
        f"if (!{inside}) *{flag} = 1;",
        body.declare(v, f"{inside} ? {pointer}[{address}] : {zero}"),
    ]
