"""What a reading relies on outside the function, and when that no longer holds."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from untraced import accelerate
from untraced.translator.evaluate import evaluate
from untraced.translator.reading.core.guards import fetch
from untraced.translator.reading.functions.results import Reading
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract

X = np.arange(3.0)
LEVEL = 2.0
WEIGHTS = np.ones(3)
OPTIONS = {"scale": 2.0, "bias": np.zeros(3), "deep": [1, (2, np.ones(3))]}


def double(x):
    return 2 * x


HELPER = double


def reading(fun: Any, *args: Any) -> Reading:
    return read(fun, abstract(fun, args, {}))


def holds(r: Reading) -> bool:
    return all(g.holds() for g in r.guards)


def f(x):
    return HELPER(x) * LEVEL + WEIGHTS


def test_numbers_are_guarded_by_value(monkeypatch: Any) -> None:
    r = reading(f, X)
    assert holds(r)
    monkeypatch.setitem(globals(), "LEVEL", 2.0)
    assert holds(r)
    monkeypatch.setitem(globals(), "LEVEL", 2)
    assert not holds(r)
    monkeypatch.setitem(globals(), "LEVEL", 3.0)
    assert not holds(r)


def test_functions_are_guarded_by_identity(monkeypatch: Any) -> None:
    r = reading(f, X)
    monkeypatch.setitem(globals(), "HELPER", lambda x: x)
    assert not holds(r)


def test_arrays_are_guarded_by_type_and_read_anew(monkeypatch: Any) -> None:
    r = reading(f, X)
    hidden = [p.capture for p in r.function.params if p.capture is not None]
    assert [c.name for c in hidden] == ["WEIGHTS"]
    monkeypatch.setitem(globals(), "WEIGHTS", np.full(3, 5.0))
    assert holds(r)
    np.testing.assert_array_equal(evaluate(r.function, [X, fetch(hidden[0])])[0], f(X))
    monkeypatch.setitem(globals(), "WEIGHTS", np.full(4, 5.0))
    assert not holds(r)
    monkeypatch.delitem(globals(), "WEIGHTS")
    assert not holds(r)


def test_containers_are_guarded_by_structure(monkeypatch: Any) -> None:
    def g(x):
        return x * OPTIONS["scale"] + OPTIONS["bias"] + OPTIONS["deep"][1][1] * OPTIONS["deep"][0]

    r = reading(g, X)
    assert holds(r)
    assert {p.capture.path for p in r.function.params if p.capture} == {
        (("item", "bias"),),
        (("item", "deep"), ("item", 1), ("item", 1)),
    }
    changed = {**OPTIONS, "scale": 3.0}
    monkeypatch.setitem(globals(), "OPTIONS", changed)
    assert not holds(r)
    monkeypatch.setitem(globals(), "OPTIONS", {**OPTIONS, "scale": 2.0, "more": 1})
    assert not holds(r)


def test_closure_cells_are_guarded() -> None:
    k, w = 2, np.ones(3)

    def g(x):
        return x * k + w

    def change() -> None:
        nonlocal k
        k = 3

    r = reading(g, X)
    assert holds(r)
    change()
    assert not holds(r)


def test_callees_bring_their_own_guards(monkeypatch: Any) -> None:
    def g(x):
        return f(x)

    r = reading(g, X)
    monkeypatch.setitem(globals(), "LEVEL", 7.0)
    assert not holds(r)


def test_modules_of_the_user_are_guarded_name_by_name() -> None:
    settings = types.ModuleType("user_settings")
    settings.RATE = 0.5  # type: ignore[attr-defined]
    settings.OTHER = 1  # type: ignore[attr-defined]
    settings.W = np.ones(3)  # type: ignore[attr-defined]

    def g(x):
        return x * settings.RATE + settings.W

    r = reading(g, X)
    settings.OTHER = 2  # type: ignore[attr-defined]
    assert holds(r)
    settings.RATE = 0.25  # type: ignore[attr-defined]
    assert not holds(r)


class Model:
    def __init__(self) -> None:
        self.w = np.ones(3)
        self.rate = 0.5

    def apply(self, x):
        return self.w * x * self.rate


MODEL = Model()


def test_attributes_of_objects_are_guarded(monkeypatch: Any) -> None:
    def g(x):
        return MODEL.apply(x)

    r = reading(g, X)
    assert holds(r)
    monkeypatch.setattr(MODEL, "w", np.full(3, 2.0))
    assert holds(r)
    monkeypatch.setattr(MODEL, "rate", 0.25)
    assert not holds(r)


def test_bound_methods_and_partials_outside() -> None:
    apply = MODEL.apply
    scaled = functools.partial(lambda a, x: a * x, np.full(3, 4.0))

    def g(x):
        return apply(x) + scaled(x)

    r = reading(g, X)
    hidden = [fetch(p.capture) for p in r.function.params if p.capture is not None]
    np.testing.assert_array_equal(evaluate(r.function, [X, *hidden])[0], g(X))


def test_an_array_outside_that_is_written_is_a_mutated_hidden_parameter() -> None:
    state = np.zeros(3)

    def g(x):
        state[0] += x[0]
        return state.sum()

    r = reading(g, X)
    assert r.function.mutated == (1,)


def test_an_ellipsis_outside() -> None:
    axes, key = (..., 0, 1), (..., 0)

    def g(x):
        return np.einsum(x, axes, x.T, [..., 1, 2], [..., 0, 2])[key] + x[0, 0]

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(evaluate(reading(g, x).function, [x])[0], g(x))


SIGNED = 0.0


def test_zeros_of_both_signs_are_two_numbers() -> None:
    global SIGNED
    f = accelerate(lambda x: np.copysign(x, SIGNED))
    assert f(np.ones(2)).tolist() == [1, 1]
    SIGNED = -0.0
    assert f(np.ones(2)).tolist() == [-1, -1]
    SIGNED = 0.0
    g = accelerate(lambda x, s: np.copysign(x, s[0]), static_argnums=1)
    assert g(np.ones(1), (0.0,)).tolist() == [1] and g(np.ones(1), (-0.0,)).tolist() == [-1]
    h = accelerate(lambda x, s: x * s[0], static_argnums=1)
    bytes_ = np.ones(1, np.int8)
    assert [h(bytes_, (n,)).dtype.name for n in (1, 1.0, 1)] == ["int8", "float64", "int8"]
