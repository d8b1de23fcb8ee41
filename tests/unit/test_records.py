"""Data classes of the house: what Python's own decorator makes, without the methods that it would compile."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from untraced.translator.records import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: tuple[int, ...] = ()
    note: str = dataclasses.field(default="", compare=False, repr=False)


@dataclass(slots=True)
class Box:
    """A box."""

    inside: object


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Row:
    name: str


class Spelled(Point):
    def __repr__(self) -> str:
        return "spelled"


def test_values() -> None:
    p = Point(1.0, (2,), "here")
    assert p == Point(1.0, (2,)) != Point(1.0) and hash(p) == hash(Point(1.0, (2,)))
    assert p != (1.0, (2,)) and p != Spelled(1.0, (2,))
    assert repr(p) == "Point(x=1.0, y=(2,))" and repr(Spelled(1.0)) == "spelled"
    assert not hasattr(p, "__dict__")
    assert dataclasses.replace(p, x=3.0) == Point(3.0, (2,)) and dataclasses.astuple(p) == (1.0, (2,), "here")
    assert pickle.loads(pickle.dumps(p)) == copy.copy(p) == p
    match p:
        case Point(x, y):
            assert (x, y) == (1.0, (2,))


def test_what_changes_has_no_hash() -> None:
    box = Box(1)
    box.inside = box
    assert repr(box) == "Box(inside=...)" and Box.__doc__ == "A box."
    with pytest.raises(TypeError, match="unhashable"):
        hash(box)
    assert Box(nan := float("nan")) == Box(nan)  # as tuples are compared


def test_identity() -> None:
    row = Row(name="sin")
    assert row == row != Row(name="sin") and hash(row) == object.__hash__(row)
    with pytest.raises(TypeError):
        Row("sin")  # type: ignore[misc]
