"""Whatever a function reads from outside itself may change between calls; the next call sees it, or it was refused."""

from __future__ import annotations

import collections
import enum
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import UntracedError, device_put, grad, jit, vmap

X = np.ones(3)
NUMBER, ARRAY, OTHER_ARRAY = 2.0, np.ones(3), np.ones(3)
LIST, ARRAYS, DICT, SET = [1.0, 2.0], [np.ones(3), np.ones(3)], {"a": 1.0, "b": np.ones(3)}, {1, 2}
ORDERED = collections.OrderedDict(a=1.0)
SPACE = types.SimpleNamespace(v=1.0)
INNER = lambda x: x + 1


class Mode(enum.Enum):
    A = 1
    B = 2

    def __init__(self, value: int) -> None:
        self.weight = 2.0 * value


MODE = Mode.A


class Config:
    k = 2.0
    array = np.ones(3)

    @staticmethod
    def twice(x: Any) -> Any:
        return x * 2

    @classmethod
    def scaled(cls, x: Any) -> Any:
        return x * cls.k


class Model:
    scale = 1.0

    def __init__(self) -> None:
        self.v, self.items = 1.0, [1.0]

    def method(self, x: Any) -> Any:
        return x * self.v * self.scale

    def other(self, x: Any) -> Any:
        return x * self.v

    @property
    def double(self) -> Any:
        return self.v * 2

    def __call__(self, x: Any) -> Any:
        return x + self.v

    def __getitem__(self, i: int) -> Any:
        return self.items[i]

    def __add__(self, other: Any) -> Any:
        return other + self.v

    def __eq__(self, other: object) -> bool:
        return self.v == 1.0

    def __bool__(self) -> bool:
        return self.v > 5.0

    def __contains__(self, x: float) -> bool:
        return x in self.items

    __hash__ = object.__hash__


class Halved(Model):
    def method(self, x: Any) -> Any:
        return x * 0.5


MODEL = Model()
PARTIAL = functools.partial(lambda a, x: a * x, 2.0)


def helper(x: Any) -> Any:
    return x + 1


def helper_of_helper(x: Any) -> Any:
    return helper(x) * 2


def with_default(x: Any, c: Any = [1.0]) -> Any:
    return x * c[0]


def with_keyword(x: Any, *, c: Any = {"a": 1.0}) -> Any:
    return x * c["a"]


def with_array(x: Any, c: Any = np.ones(3)) -> Any:
    return x * c


def with_attribute(x: Any) -> Any:
    return x * with_attribute.k  # type: ignore[attr-defined]


with_attribute.k = 2.0  # type: ignore[attr-defined]


@jit
def fast(x: Any) -> Any:
    return x * fast.k


fast.k = 2.0
SLOPE = grad(lambda x: np.sum(x * x))
SLOPE.k = 2.0


def replaced(x: Any) -> Any:
    return x * 123.0


def put(name: str, value: Any) -> Callable[[], Any]:
    return lambda: globals().__setitem__(name, value)


def change(target: Any, key: Any, value: Any) -> Callable[[], Any]:
    return lambda: target.__setitem__(key, value)


def attribute(target: Any, name: str, value: Any) -> Callable[[], Any]:
    return lambda: setattr(target, name, value)


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "a number": (lambda x: x * NUMBER, put("NUMBER", 3.0)),
    "an array": (lambda x: x * ARRAY, put("ARRAY", 2 * np.ones(3))),
    "an array in place": (lambda x: x * OTHER_ARRAY, change(OTHER_ARRAY, 0, 7.0)),
    "a list": (lambda x: x * LIST[0], change(LIST, 0, 5.0)),
    "its length": (lambda x: x * len(LIST), lambda: LIST.append(5.0)),
    "its arrays": (lambda x: sum([x * a for a in ARRAYS]), lambda: ARRAYS.append(3 * np.ones(3))),
    "a dict": (lambda x: x * DICT["a"], change(DICT, "a", 4.0)),
    "its keys": (lambda x: x if "z" in DICT else -x, change(DICT, "z", 4.0)),
    "an ordered dict": (lambda x: x * ORDERED["a"], change(ORDERED, "a", 4.0)),
    "a set": (lambda x: x if 5 in SET else -x, lambda: SET.add(5)),
    "an enum": (lambda x: x if MODE is Mode.A else -x, put("MODE", Mode.B)),
    "a function": (lambda x: INNER(x), put("INNER", lambda x: x * 9)),
    "a helper": (lambda x: helper_of_helper(x), put("helper", lambda x: x - 5)),
    "a partial": (lambda x: PARTIAL(x), put("PARTIAL", functools.partial(lambda a, x: a * x, 3.0))),
    "a builtin": (lambda x: x * abs(-1.0), put("abs", lambda v: 40.0)),
    "a class attribute": (lambda x: x * Config.k, attribute(Config, "k", 9.0)),
    "a class method": (lambda x: Config.scaled(x), attribute(Config, "k", 11.0)),
    "an array of a class": (lambda x: x * Config.array, change(Config.array, 0, 7.0)),
    "a static method": (lambda x: Config.twice(x), attribute(Config, "twice", staticmethod(lambda x: x * 7))),
    "an attribute": (lambda x: MODEL.method(x), attribute(MODEL, "v", 4.0)),
    "an inherited one": (lambda x: MODEL.method(x), attribute(Model, "scale", 3.0)),
    "one that hides it": (lambda x: MODEL.method(x), attribute(MODEL, "scale", 5.0)),
    "a list in an object": (lambda x: x * MODEL[0], change(MODEL.items, 0, 8.0)),
    "a method": (lambda x: MODEL.method(x), attribute(Model, "method", lambda self, x: x - 100)),
    "a method of one object": (lambda x: MODEL.other(x), attribute(MODEL, "other", lambda x: x - 100)),
    "a property": (lambda x: x * MODEL.double, attribute(MODEL, "v", 6.0)),
    "its definition": (lambda x: x * MODEL.double, attribute(Model, "double", property(lambda self: 55.0))),
    "a comparison": (lambda x: x if MODEL == 1 else -x, attribute(MODEL, "v", 1.0)),
    "a truth": (lambda x: x if MODEL else -x, attribute(MODEL, "v", 7.0)),
    "a membership": (lambda x: x if 3.0 in MODEL else -x, lambda: MODEL.items.append(3.0)),
    "an operator": (lambda x: MODEL + x, attribute(Model, "__add__", lambda self, y: y * 33)),
    "a call": (lambda x: MODEL(x), attribute(Model, "__call__", lambda self, x: x + 1000)),
    "the class": (lambda x: MODEL.method(x), lambda: setattr(MODEL, "__class__", Halved)),
    "a new attribute": (lambda x: x * getattr(SPACE, "new", 1.0), attribute(SPACE, "new", 15.0)),
    "hasattr": (lambda x: x if hasattr(SPACE, "newer") else -x, attribute(SPACE, "newer", 15.0)),
    "a default": (lambda x: with_default(x), lambda: change(with_default.__defaults__[0], 0, 8.0)()),
    "all defaults": (lambda x: with_default(x), attribute(with_default, "__defaults__", ([19.0],))),
    "an own default": (with_default, lambda: change(with_default.__defaults__[0], 0, 28.0)()),
    "a keyword default": (lambda x: with_keyword(x), lambda: change(with_keyword.__kwdefaults__["c"], "a", 8.0)()),
    "an array as default": (lambda x: with_array(x), lambda: change(with_array.__defaults__[0], 0, 8.0)()),
    "a function's attribute": (with_attribute, attribute(with_attribute, "k", 3.0)),
    "an accelerated function's attribute": (fast, attribute(fast, "k", 3.0)),
    "that of another": (lambda x: x * fast.k, attribute(fast, "k", 4.0)),
    "a transformed function's attribute": (lambda x: SLOPE(x) * SLOPE.k, attribute(SLOPE, "k", 3.0)),
    "an enum's attribute": (lambda x: x * Mode.A.weight, attribute(Mode.A, "weight", 3.0)),
    "a list of a module": (lambda x: x * len(sys.argv), lambda: sys.argv.append("more")),
    "code": (lambda x: helper_of_helper(x), lambda: setattr(helper_of_helper, "__code__", replaced.__code__)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name: str) -> None:
    f, mutate = CASES[name]
    compiled, on_device, x = jit(f), jit(f), device_put(X)
    first = f(X)
    np.testing.assert_allclose(compiled(X), first)
    for _ in range(2):
        np.testing.assert_allclose(on_device(x), first)
    mutate()
    try:
        expected = f(X)
        assert not np.allclose(expected, first)
        np.testing.assert_allclose(compiled(X), expected)
        np.testing.assert_allclose(on_device(x), expected)
    finally:
        globals().pop("abs", None)


def test_what_arguments_hold() -> None:
    model, array = Model(), np.ones(3)
    f = jit(lambda x, g: g(x))
    scaled = functools.partial(lambda a, x: a * x, array)
    closure = lambda x: x * array
    for g in (model.method, model, scaled, closure):
        f(X, g)
    model.v, array[0] = 9.0, 8.0
    for g in (model.method, model, scaled, closure):
        np.testing.assert_allclose(f(X, g), g(X))
    h = jit(lambda x, m: x * m.v, static_argnums=1)
    h(X, model)
    model.v = 5.0
    np.testing.assert_allclose(h(X, model), X * 5)


def test_arrays_of_a_device_in_globals(monkeypatch: pytest.MonkeyPatch) -> None:
    held = device_put(np.arange(3.0))
    f = lambda x: np.sum((x * held) ** 2)
    np.testing.assert_allclose(grad(f)(X), 2 * np.arange(3.0) ** 2)
    np.testing.assert_allclose(vmap(lambda y: y * held)(np.ones((2, 3))), np.stack([np.arange(3.0)] * 2))


@pytest.mark.parametrize("value", [collections.deque([1.0]), collections.Counter({0: 1}), bytearray(b"a")], ids=repr)
def test_what_cannot_be_guarded_is_left_to_cpython(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SPACE", value)

    def item(x):
        return x * SPACE[0]

    def loop(x):
        return sum([x * v for v in SPACE]) + 0 * x

    def member(x):
        return x if 1 in SPACE else 2 * x

    for f in (item, loop, member):
        fast = jit(f)
        np.testing.assert_array_equal(fast(X), f(X))
        with pytest.raises(UntracedError, match="outside") as caught:
            vmap(f)(X)
        assert caught.value.diagnostic.instead
        value[0] += 1
        np.testing.assert_array_equal(fast(X), f(X))


class Listed(enum.Enum):
    A = [1.0, 2.0]  # noqa: RUF012 - what is written into
    B = {"k": 1.0}  # noqa: RUF012


def test_values_of_enums_that_are_written_into() -> None:
    f = jit(lambda x: x * Listed.A.value[0] + Listed.B.value["k"])
    for k in (1.0, 5.0):
        Listed.A.value[0] = Listed.B.value["k"] = k
        np.testing.assert_array_equal(f(X), X * k + k)


@functools.cache
def ramp(n: int) -> np.ndarray:
    return np.arange(float(n))


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_an_array_behind_a_cache_is_kept_with_what_is_written_into_it(target: str) -> None:
    def f(x):
        t = ramp(3)
        t[0] += 1.0
        return t + x

    fast, results = jit(f, target=target), []
    for function in (f, fast):
        ramp.cache_clear()
        results.append([function(X) for _ in range(3)])
    np.testing.assert_array_equal(*results)
    assert fast(X)[0] == 5.0


@pytest.mark.parametrize("value", [X, [1.0], (1, [2.0])], ids=["array", "list", "tuple"])
def test_a_cache_takes_hashable_arguments_only(value: Any) -> None:
    f = lambda x: ramp(value) + x
    with pytest.raises(TypeError, match="unhashable type") as theirs:
        f(X)
    with pytest.raises(TypeError, match=str(theirs.value)):
        jit(f)(X)


def test_counts_of_a_cache_are_refused() -> None:
    f = jit(lambda x: ramp(3) * x * ramp.cache_info().hits)
    with pytest.raises(UntracedError, match="not counted"):
        f(X)


def test_attributes_of_functions_come_and_go() -> None:
    def helper(x):
        return x

    f = jit(lambda x: x * 2.0 if hasattr(helper, "tag") else x)
    np.testing.assert_array_equal(f(X), X)
    helper.tag = 1
    np.testing.assert_array_equal(f(X), X * 2)
    del helper.tag
    np.testing.assert_array_equal(f(X), X)
