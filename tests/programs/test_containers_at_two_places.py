"""Lists, dicts, sets and objects that a function meets at two places, and changes at one of them."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from untraced import accelerate
from untraced.runtime.calls import accelerated


@dataclasses.dataclass
class Body:
    mass: float
    place: list[float]


@dataclasses.dataclass
class World:
    """What the functions below share: each of these things stands in others as well."""

    point: list[float]
    points: list[list[float]]
    pair: tuple[list[float], float]
    body: Body
    marks: set[int]

    @staticmethod
    def new() -> World:
        point = [1.0, 2.0]
        return World(point, [point, [3.0]], (point, 5.0), Body(2.0, point), {1, 2})


def of_defaults(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def f(n, points=w.points, pair=w.pair):
        for _ in range(n):
            pair[0][0] += 1.0
            points[0][1] += pair[0][0] * 2.0
        return points[0][0] + pair[1]

    return f, (3,)


def of_a_keyword_default(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def f(n, *, points=w.points, pair=w.pair):
        pair[0][0] += n
        return points[0][0]

    return f, (3,)


def of_an_argument_and_a_default(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def f(points, pair=w.pair):
        points[0][0] = 7.0
        return pair[0][0]

    return f, (w.points,)


def of_an_argument_and_the_outside(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    pair = w.pair

    def f(points):
        points[0][0] = 7.0
        return pair[0][0]

    return f, (w.points,)


def of_an_argument_in_an_outer_list(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    points = w.points

    def f(given):
        given[0] = [9.0]
        return points[0][0]

    return f, (points,)


def of_an_object(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    body = w.body

    def f(given):
        given.mass = 5.0
        return body.mass

    return f, (body,)


def of_a_list_in_an_object(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    body = w.body

    def f(given):
        given[0] = 5.0
        return body.place[0] + body.mass

    return f, (w.point,)


def of_a_set(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def f(given, marks=w.marks):
        given.add(7)
        marks.add(8)
        return len(given), len(marks)

    return f, (w.marks,)


def of_a_default_in_a_call_of_itself(w: World) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def f(n, point=w.point):
        point[0] += 1.0
        return f(n - 1) * 2.0 if n > 0 else point[0]

    return f, (2,)


@pytest.mark.parametrize(
    "made",
    [
        of_defaults,
        of_a_keyword_default,
        of_an_argument_and_a_default,
        of_an_argument_and_the_outside,
        of_an_argument_in_an_outer_list,
        of_an_object,
        of_a_list_in_an_object,
        of_a_set,
        of_a_default_in_a_call_of_itself,
    ],
)
def test_what_is_changed_at_one_place_is_changed_at_the_other(made: Callable[[World], Any]) -> None:
    theirs, ours = World.new(), World.new()
    f, given = made(theirs)
    g, arguments = made(ours)
    g = accelerate(g, target="cpu")
    for _ in range(2):
        assert g(*arguments) == f(*given)
        assert ours == theirs


def test_things_apart_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """With defaults that are things of their own, the function is not left to CPython."""

    def f(n, points=([1.0], [2.0]), far=copy.deepcopy([[4.0]])):
        for _ in range(n):
            points[0][0] += far[0][0] * 0.5
        return points[0][0]

    expected = f(4)
    f.__defaults__[0][0][0] = 1.0
    g = accelerate(f, target="cpu")
    monkeypatch.setattr(accelerated, "on_host", lambda *given: pytest.fail("left to CPython"))
    assert g(4) == expected


def test_what_holds_itself_is_left_to_cpython() -> None:
    ring: list[Any] = [1.0]
    ring.append(ring)

    def of_argument(x):
        x[0] += 1.0
        return x[1][1][0]

    def of_outside(y):
        return ring[0] + y

    for f, argument, reason in ((of_argument, ring, "holds itself"), (of_outside, 2.0, "ring holds itself")):
        ring[0] = 1.0
        expected = f(argument)
        ring[0] = 1.0
        with pytest.warns(UserWarning, match=reason) if f is of_argument else contextlib.nullcontext():
            assert accelerate(f, target="cpu")(argument) == expected


class Holder:
    def __init__(self, items: list[float]) -> None:
        self.items = items


def test_lists_of_unequal_length_that_change_their_places() -> None:
    def swapped(x, one, other):
        if x > 0:
            one.items, other.items = other.items, one.items
        return other.items[0] + len(one.items)

    for x in (1.0, -1.0):
        theirs = Holder([1.0, 2.0]), Holder([3.0, 4.0, 5.0])
        ours = copy.deepcopy(theirs)
        assert accelerate(swapped, target="cpu")(x, *ours) == swapped(x, *theirs)
        assert [h.items for h in ours] == [h.items for h in theirs]
