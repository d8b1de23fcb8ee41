"""Data classes of the house: what Python's own decorator makes, without the methods that it would compile."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

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


@dataclass(slots=True)
class Line:
    first: Point
    points: list[Point] = dataclasses.field(default_factory=list)
    count: int = dataclasses.field(default=0, init=False)
    notes: list[str] = dataclasses.field(default_factory=list, init=False)
    closed: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        self.count = len(self.points)


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


def test_fields_of_every_kind() -> None:
    line = Line(Point(1.0), [Point(2.0)], closed=True)
    assert (line.count, line.notes, line.closed) == (1, [], True)
    assert Line(Point(1.0)).points is not Line(Point(1.0)).points
    with pytest.raises(TypeError, match=r"Line.__init__\(\) takes from 2 to 3 positional arguments but 4 were given"):
        Line(Point(1.0), [], True)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"Line.__init__\(\) missing 1 required positional argument: 'first'"):
        Line()  # type: ignore[call-arg]


def test_one_is_made_by_many_threads_at_first() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        x: int

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda k: Fresh(k).x, range(64))) == list(range(64))


def test_parameters_are_those_of_the_fields() -> None:
    for _ in range(2):  # before the first object is made, and after
        assert str(inspect.signature(Point)) == str(inspect.signature(Spelled)) == "(x, y=(), note='')"
        assert str(inspect.signature(Row)) == "(*, name)"
        Point(1.0), Row(name="a")
    assert not hasattr(Point(1.0), "__signature__")


def test_what_is_shared_is_not_written_out_again_and_again() -> None:
    """Of 40 levels, each of which has the next one twice."""
    chain: object = Box(1)
    for _ in range(40):
        chain = Box((chain, chain))
    assert len(repr(chain)) < 1_000 and "Box(...)" in repr(chain)
    assert repr(Box(Point(1.0))) == "Box(inside=Point(x=1.0, y=()))"
