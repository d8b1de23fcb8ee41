"""What is known of a value of a GPU program before the run: a number, or an array with given strides."""

from __future__ import annotations

from ...translator.ir import Shape
from ...translator.ops.shapes import c_strides
from ...translator.records import dataclass
from ..source.maps import Strides


@dataclass(frozen=True, slots=True)
class Number:
    """A number in the host's memory."""


@dataclass(frozen=True, slots=True)
class Strided:
    """An array in device memory, of the value's type, with these strides in elements."""

    strides: Strides


@dataclass(frozen=True, slots=True)
class Unknown:
    """A number, or an array of any strides."""


Form = Number | Strided | Unknown


def in_order(shape: Shape) -> Strided:
    """An array in C order."""
    return Strided(c_strides(shape))


def joined(a: Form, b: Form) -> Form:
    """What is known of a value that may be one or the other."""
    return a if a == b else Unknown()
