"""What Python asks of objects: hashes, attributes, arrays made of them, descriptors, private names."""

from __future__ import annotations

import gc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate

CASES = Cases()

A = np.arange(6.0)

M = np.arange(12.0).reshape(3, 4)


class Hashed:
    def __init__(self, x):
        self.x = x
        self.hash = None

    def __hash__(self):
        if self.hash is None:
            self.hash = hash(self.x.tobytes())
        return self.hash


@pytest.mark.parametrize("target", TARGETS)
def test_a_hash_of_the_users_is_not_called(target: str) -> None:
    half_made = object.__new__(Hashed)
    accelerate(Hashed.__init__, target=target)(half_made, A)
    assert half_made.x is not None and half_made.hash is None
    assert accelerate(lambda h: h.x.sum(), target=target)(half_made) == A.sum()
    assert half_made.hash is None


class Wrapped:
    def __init__(self, x):
        self.x = np.asarray(x, float)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.x, dtype=dtype)


IDENTITY = Wrapped(np.eye(3) * 2)


@CASES((M.T,))
def objects_that_numpy_makes_arrays_of(x):
    own = Wrapped(x)
    return x @ IDENTITY, np.dot(x[:3], IDENTITY), np.asarray(own) * 2, np.sin(x) + IDENTITY.x[0]


@pytest.mark.parametrize("target", TARGETS)
def test_functions_that_come_and_go_have_programs_of_their_own(target: str) -> None:
    """With one object as argument: each function may lie where the one before lay."""
    held = object.__new__(Hashed)
    held.x = A
    for k in range(6):
        scaled = accelerate(lambda h, k=k: h.x * k, target=target)
        np.testing.assert_array_equal(scaled(held), A * k)
        del scaled
        gc.collect()
    assert not held.__dict__.methods


@CASES(([1, 2, 1],), ((1, 3),))
def sets_of_arguments(a):
    return set(a), {v % 2 for v in a}, len(frozenset(a))


@CASES((A,))
def identical_items_are_equal(x):
    return (x, 1) == (x, 1), [x, 2] != [x, 1]


class Delegating:
    """Its attributes are another's: asked for before there is one, it fails in its own way."""

    def __init__(self, other):
        self._other = other
        self.total = other.x.sum()

    def __getattribute__(self, name):
        own = object.__getattribute__(self, "__dict__")
        if name in own or name.startswith("__"):
            return object.__getattribute__(self, name)
        return getattr(own["_other"], name)


@pytest.mark.filterwarnings("ignore:__init__ runs as it is")
@pytest.mark.parametrize("target", TARGETS)
def test_only_the_program_asks_objects_for_attributes(target: str) -> None:
    other = object.__new__(Hashed)
    other.x = A
    mine = object.__new__(Delegating)
    accelerate(Delegating.__init__, target=target)(mine, other)
    assert vars(mine)["total"] == A.sum() and mine.x is A


class Numbered:
    """Makes its objects in a way of its own, and counts them."""

    made = 0

    def __new__(cls, value):
        cls.made += 1
        return super().__new__(cls)

    def __init__(self, value):
        self.value = value * 2


class Marked(np.ndarray):
    def __new__(cls, x):
        return np.asarray(x).view(cls)


@CASES((A,))
def objects_made_in_a_way_of_their_own(x):
    before = Numbered.made
    pair = [Numbered(x), Numbered(x + 1)]
    weight = float(Fraction(1, 4))
    return np.sqrt(pair[1].value - pair[0].value) * weight, Numbered.made - before


@CASES((A,), (M,))
def arrays_of_a_class(x):
    held = np.ma.MaskedArray(x, mask=x > 3)
    return held.filled(-1) * 2, np.asarray(Marked(x)) + 1


class Proxy:
    """Of what it wraps: before that is known, whoever looks at it recurses without end, through C."""

    __slots__ = ("wrapped",)

    def __init__(self, wrapped):
        object.__setattr__(self, "wrapped", wrapped)

    @property
    def __class__(self):
        return type(self.wrapped)

    def __getattr__(self, name):
        return getattr(self.wrapped, name)


def through_a_proxy(x):
    return Proxy(x).T * 2


@pytest.mark.filterwarnings("ignore:through_a_proxy runs as it is")
@pytest.mark.parametrize("target", TARGETS)
def test_endless_recursion_of_the_users_does_not_overflow_the_stack(target: str) -> None:
    np.testing.assert_array_equal(accelerate(through_a_proxy, target=target)(M), M.T * 2)


class Account:
    __rate = 3.0

    def __init__(self, v):
        self.__v = v

    def worth(self, __scale=1.0):
        def __grown(v):
            return v * self.__rate * __scale

        return __grown(self.__v)


class Savings(Account):
    def __init__(self, v):
        super().__init__(v)
        self.__v = 100.0

    def worth(self):
        return super().worth() + self.__v


@CASES((A,))
def private_names(x):
    return Savings(x).worth(), Account(x).worth(2.0), Savings(1.0)._Account__v


def test_private_names_are_compiled() -> None:
    assert "CPython" not in accelerate(lambda x: Savings(x).worth()).source(A)


class Tripled:
    def __get__(self, instance, owner=None):
        return 5.0 if instance is None else instance.base * 3


class Doubled:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return getattr(instance, self.name) * 2

    def __set__(self, instance, value):
        setattr(instance, self.name, value + 1)


class Described:
    triple, double, base = Tripled(), Doubled(), 2.0

    def __init__(self, v):
        self.double = v


DESCRIBED = Described(3.0)


@CASES((A,))
def descriptors(x):
    d = Described(x)
    d.double = d.double + 1
    return Described.triple, d.triple * x, d.double, DESCRIBED.double * x


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_protocols(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


class Layer:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def parameters(self):
        return [v for v in self.__dict__.values() if isinstance(v, np.ndarray)]


@CASES((M, A[:4]))
def objects_that_list_their_attributes(w, b):
    """The class has a `__dict__`, too."""
    made = Layer(w, b)
    return sum(np.sum(p**2) for p in made.parameters()), len(made.__dict__), made.__class__.__name__


@CASES((M, A[:4]))
def objects_whose_attributes_are_set_by_name(w, b):
    made = Layer(w, b)
    made.__dict__["c"] = w * 2
    vars(made).update(b=b * 3)
    return made.b, made.c
