"""Signatures: structure, shapes and dtypes of a call."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untraced.translator.errors import DTypeError
from untraced.translator.ir import Aval
from untraced.translator.reading.text.signature import (
    abstract,
    abstract_with_leaves,
    bind,
    signature_of,
    specialise,
    static_value,
)
from untraced.translator.tree import Kind


def f(x, y=2.0, *rest, flag=True, **named):
    return x


def test_binding_fills_defaults_and_collects() -> None:
    assert [n for n, _ in bind(f, (1,), {})] == ["x", "y", "rest", "flag", "named"]
    s, leaves = abstract_with_leaves(f, (np.ones(3), 1, 4.0, 5), {"z": np.float32(2)})
    assert [n for n, _ in s.params] == ["x", "y", "rest", "flag", "named"]
    assert [str(a) for a in s.avals] == ["float64[3]", "int64~", "float64~", "int64~", "float32"]
    assert len(leaves) == 5
    assert s.params[3][1].kind is Kind.STATIC


def test_wrong_calls_raise_as_python_does() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        abstract(f, (), {})
    with pytest.raises(TypeError, match="multiple values"):
        abstract(f, (1,), {"x": 2})


def test_values_are_kept_but_not_compared() -> None:
    a, b = abstract(f, (1,), {}), abstract(f, (2,), {})
    assert a == b and hash(a) == hash(b)
    assert a.values[0] == 1 and b.values[0] == 2
    assert a != abstract(f, (1.0,), {})
    assert a != abstract(f, (True,), {})
    assert abstract(f, (1,), {"flag": False}) != a


def test_containers_and_none() -> None:
    @dataclasses.dataclass
    class P:
        a: Any
        b: Any

    s = abstract(f, ({"b": np.ones(2), "a": (1, None)},), {})
    assert [str(v) for v in s.avals[:2]] == ["int64~", "float64[2]"]
    s = abstract(f, (P(np.ones(2), [1, 2]),), {})
    assert s.params[0][1].kind is Kind.DATACLASS


def test_abstract_leaves_and_device_arrays() -> None:
    class Device:
        aval = Aval((4,), np.dtype(np.float32))

    s = abstract(f, (Aval((2, 3), np.dtype(np.int8)),), {"z": Device()})
    assert s.avals[0].shape == (2, 3)
    assert s.avals[-1] == Device.aval


@pytest.mark.parametrize(
    "bad", [np.array(["a"]), np.array([object()]), np.ma.masked_array([1.0]), np.array(["2020-01-01"], "M8[D]")]
)
def test_arrays_of_no_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(DTypeError) as caught:
        abstract(f, (bad,), {})
    assert caught.value.diagnostic.instead


def test_matrix_is_refused() -> None:
    with pytest.warns(PendingDeprecationWarning):
        m = np.matrix([[1.0]])
    with pytest.raises(DTypeError, match="matrix"):
        abstract(f, (m,), {})


def test_classes_of_arrays_are_refused_but_for_memmap(tmp_path: Path) -> None:
    class Metres(np.ndarray):
        pass

    with pytest.raises(DTypeError, match="a Metres cannot be an argument"):
        abstract(f, (np.ones(3).view(Metres),), {})
    mapped = np.memmap(tmp_path / "numbers", shape=(3,), dtype="f4", mode="w+")
    assert [str(a) for a in abstract(f, (mapped,), {}).avals] == ["float32[3]", "float64~"]


def test_objects_that_hold_anything_are_known_by_their_class() -> None:
    class Box:
        pass

    assert abstract(f, (Box(),), {}) == abstract(f, (Box(),), {})
    assert abstract(f, (Box(),), {}) != abstract(f, (object(),), {})
    assert abstract(f, ({1, 2},), {}) != abstract(f, ({1, 3},), {})  # sets are part of the program


def test_functions_dtypes_and_slices_are_static() -> None:
    s = abstract(f, (np.sin, np.float32, slice(1, 2), np.dtype("f4")), {})
    assert not s.avals
    assert s == abstract(f, (np.sin, np.float32, slice(1, 2), np.dtype("f4")), {})
    assert s != abstract(f, (np.sin, np.float32, slice(1, 3), np.dtype("f4")), {})
    assert static_value(s.params[2][1].children[0]) == slice(1, 2)


def test_specialising_leaves() -> None:
    s = abstract(f, ((1, np.ones(2)), 3), {})
    params = dict(specialise(s, frozenset({0, 2})))
    assert params["x"].children[0].aux == 1
    assert params["x"].children[1].kind is Kind.LEAF
    assert params["y"].aux == 3


def test_parameters_are_those_of_the_code_that_a_function_has_now() -> None:
    def f(x: Any) -> Any:
        return x

    def g(x: Any, y: Any) -> Any:
        return x + y

    def h(x: Any, y: Any = 2.0) -> Any:
        return x * y

    assert list(signature_of(f).parameters) == ["x"]
    f.__code__ = g.__code__
    assert list(signature_of(f).parameters) == ["x", "y"]
    f.__defaults__ = (5.0,)
    assert signature_of(f).parameters["y"].default == 5.0
    f.__defaults__ = None
    assert signature_of(f).parameters["y"].default is inspect.Parameter.empty
    assert signature_of(h).parameters["y"].default == 2.0
