"""Copies of containers and objects, objects with slots, members of enumerations."""

from __future__ import annotations

import copy
import enum
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate, grad

CASES = Cases()

A = np.linspace(-1.0, 2.0, 6)


class Slotted:
    __slots__ = ("__hidden", "x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.__hidden = 1.0

    def __add__(self, other):
        return Slotted(self.x + other.x, self.y + other.y)

    def __neg__(self):
        return Slotted(-self.x, -self.y)

    def dot(self, other):
        self.__hidden += 1
        return (self.x * other.x + self.y * other.y) * self.__hidden


@dataclass(slots=True)
class State:
    a: Any
    b: float = 2.0

    def scale(self, k):
        self.a = self.a * k
        return self


@dataclass
class Nested:
    a: Any
    k: dict
    inner: Any = None


class Doubling:
    def __init__(self, v):
        self.v = v

    def __deepcopy__(self, memo):
        return Doubling(self.v * 2)


class Mode(enum.Enum):
    A = 1
    B = "b"


class Bits(enum.IntFlag):
    R = 1
    W = 2
    X = 4


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


OUTSIDE = Slotted(A, 2.0)


@CASES((A,))
def slots(x):
    v = Slotted(x, x + 1)
    w = v + v
    w.x = w.x * 2
    for i in range(5):
        w.y = w.y + v.x[i]
        v.x = v.x * 0.9
    if v.x[0] > 0:
        w.x = w.x * 2
    else:
        v.y = 1.0
    return (-w).dot(v), v.x, w.y, OUTSIDE.x * OUTSIDE.y, w == v


@CASES((A,))
def slots_of_dataclasses(x):
    s = State(x)
    t = s.scale(3.0)
    return t is s, s.a, s == t, s.b


@CASES(lambda: (A.copy(), State(A.copy(), 3.0)))
def slots_of_arguments(x, s):
    s.a[0] = 7.0
    return s.a * s.b + x


@CASES(lambda: (A.copy(),))
def copies_keep_what_is_shared(x):
    inner = [x[0]]
    lists = copy.deepcopy([inner, inner])
    lists[0][0] = 5.0
    arrays = copy.deepcopy([x, x])
    arrays[0][0] = 7.0
    v = Slotted(x, x)
    shallow, deep = copy.copy(v), copy.deepcopy(v)
    deep.x[1] = 9.0
    shallow.x[2] = 3.0
    return lists, arrays, inner, deep.y, v.x, shallow.y


@CASES(lambda: (A.copy(),))
def copies_of_views_and_of_what_never_changes(x):
    views = copy.deepcopy([x[:2], x[:2]])
    views[0][0] = 9.0
    t = (1, 2.0)
    return views, copy.deepcopy(t) is t


@CASES((A,))
def copies_in_a_way_of_their_own(x):
    return copy.deepcopy(Doubling(x)).v


@CASES(lambda: (A.copy(),))
def fields_are_copied(x):
    n = Nested(x, {"q": x}, Nested(1.0, {}))
    d = asdict(n)
    d["a"][0] = 4.0
    d["k"]["q"] = 2
    return n.a, n.k, d["k"], d["inner"], astuple(n)[0]


@CASES((A, Mode.A), (A, Mode.B))
def members_are_never_copied(x, m):
    n, (o,) = copy.deepcopy(m), copy.deepcopy([m])
    return x * 2 if n is Mode.B else x, o == m, Mode("b") is n, copy.copy(m) is m


@CASES((A, Bits.R | Bits.X), (A, Bits.W))
def flags(x, k):
    return x * (2 if Bits.X in k else 3) + int(k), bool(k & Bits.W), (k | Bits.W) == 7, ~Bits.R & k


@CASES((7, Level.HIGH), (7.5, Level.HIGH), (np.int8(7), Level.HIGH))
def members_are_python_numbers(a, k):
    return a // k, a * k, a + k, k is Level.HIGH


@CASES((1,), (0,))
def members_by_value(n):
    return Level(n) is Level.HIGH, Level(n).name, n in (Level.LOW,), Mode.A in Mode


def test_derivatives_of_objects_with_slots() -> None:
    def energy(x: Any) -> Any:
        v = copy.deepcopy(Slotted(x, x * 2))
        return np.sum((-(v + v)).dot(v))  # -10 x², twice: `dot` counts

    np.testing.assert_allclose(grad(energy)(A), -40 * A)
    np.testing.assert_allclose(accelerate(grad(energy))(A), -40 * A)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_copies(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
