"""Calls that do not fit are told in the words of Python, in the user's names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carets import marked

from untraced import accelerate, custom_jvp, custom_vjp, grad, jacobian, jvp, vjp, vmap
from untraced.testing import check_grads
from untraced.translator.errors import (
    DTypeError,
    ShapeError,
    TargetError,
    UntracedError,
)

X = np.arange(6.0)
A = np.ones((4, 6))
I = np.arange(6)


def inner(x: Any, a: Any) -> Any:
    return x @ a


def takes_some(x: Any, n: Any = 2, *, k: Any) -> Any:
    return x * n * k


def takes_by_position(x: Any, /) -> Any:
    return x


def calls_inner(x: Any) -> Any:
    return inner(x)  # type: ignore[call-arg]


def calls_by_name(x: Any) -> Any:
    return inner(x, a=x, x=x)  # type: ignore[misc]


def calls_closure(x: Any) -> Any:
    def closure(a: Any, *, b: Any = 1) -> Any:
        return a

    return closure(x, c=x)  # type: ignore[call-arg]


def calls_lambda(x: Any) -> Any:
    return (lambda: x)(x)  # type: ignore[call-arg,misc]


WRONG_CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (takes_some, (), {"k": 1.0}),
    (takes_some, (1.0, 2.0, 3.0), {"k": 1.0}),
    (takes_some, (1.0,), {}),
    (takes_some, (1.0,), {"k": 1.0, "m": 2}),
    (takes_some, (1.0,), {"k": 1.0, "x": 2}),
    (takes_by_position, (), {"x": 1.0}),
    (calls_inner, (1.0,), {}),
    (calls_by_name, (1.0,), {}),
]


@pytest.mark.parametrize("make", [accelerate, grad, vmap])
@pytest.mark.parametrize("f, args, kwargs", WRONG_CALLS)
def test_wrong_calls_are_told_in_the_words_of_python(make: Any, f: Any, args: Any, kwargs: Any) -> None:
    with pytest.raises(TypeError) as theirs:
        f(*args, **kwargs)
    with pytest.raises(TypeError) as ours:
        make(f)(*[np.full(2, a) for a in args] if make is vmap else args, **kwargs)
    assert str(ours.value) == str(theirs.value)
    assert marked(ours.value)


@pytest.mark.parametrize(
    "f, words",
    [
        (calls_closure, "closure() got an unexpected keyword argument 'c'"),
        (calls_lambda, "<lambda>() takes 0 positional arguments but 1 was given"),
        (lambda x: np.dot(x), "dot() missing 1 required positional argument: 'b'"),
        (lambda x: np.tril(x), "tri() missing 1 required positional argument: 'N'"),
        (lambda x: np.mean(x, axis=[0]), "'list' object cannot be interpreted as an integer"),
        (lambda x: np.subtract.accumulate(x), "cannot accumulate on a scalar"),
        (lambda x: np.sum(x, 0, None, None, False, 0, True, 3), "from 1 to 7 positional arguments but 8 were given"),
        (lambda x: np.sum(x, 0, None, None, axis=0), "sum() got multiple values for argument 'axis'"),
        (lambda x: np.imag(np.full(2, x), 3), "imag() takes 1 positional argument but 2 were given"),
        (lambda x: np.asarray(x).fill(), "fill() takes exactly 1 argument (0 given)"),
        (lambda x: max(), "max expected at least 1 argument, got 0"),
        (lambda x: np.sin(x, x, x), "sin() takes from 1 to 2 positional arguments but 3 were given"),
        (lambda x: np.add(x), "add() takes from 2 to 3 positional arguments but 1 was given"),
        (lambda x: len(x), "object of type 'float' has no len()"),
        (lambda x: getattr(x, x), "attribute name must be string, not 'float'"),
        (lambda x: hasattr(x, x), "attribute name must be string, not 'float'"),
        (lambda x: int(x, 10), "int() can't convert non-string with explicit base"),
    ],
)
def test_what_functions_do_not_take_is_told_in_the_users_names(f: Any, words: str) -> None:
    for made in (grad(f), accelerate(f)):
        with pytest.raises(TypeError) as caught:
            made(1.0)
        assert str(caught.value).splitlines()[0].endswith(words)
    assert "range() needs integers" in str(pytest.raises(TypeError, grad(lambda x: range(x)), np.ones(2)).value)


@pytest.mark.parametrize("x", [1.0, np.ones(2), None, [1.0]])
def test_stars_of_what_is_no_mapping(x: Any) -> None:
    def spreads(x: Any) -> Any:
        return {**x}

    def hands_on(x: Any) -> Any:
        return (lambda **named: 1.0)(**x)

    for f, place, theirs in ((spreads, "dict", "is not a mapping"), (hands_on, "call", "must be a mapping")):
        with pytest.raises(TypeError, match=theirs):
            accelerate(f)(x)
        with pytest.raises(UntracedError, match=f"`\\*\\*` in a {place} needs a dict, not"):
            grad(f)(x)


def sines(x: Any) -> Any:
    return np.sin(x)


@custom_jvp
def with_bad_rule(x: Any) -> Any:
    return 2 * x


@with_bad_rule.defjvp
def _bad_rule(primals: Any, tangents: Any) -> Any:
    return primals[0], tangents[0][:1]


@pytest.mark.parametrize(
    "call, place",
    [
        (lambda: jvp(sines, (X,), (X[:2],)), "def sines(x: Any) -> Any:"),
        (lambda: jvp(sines, (X,), (X.astype("f4"),)), "def sines(x: Any) -> Any:"),
        (lambda: jvp(sines, (X,), ({"a": X},)), "def sines(x: Any) -> Any:"),
        (lambda: jvp(sines, (I,), (X,)), "def sines(x: Any) -> Any:"),
        (lambda: jvp(vmap(sines), (X,), (X, X)), "def sines(x: Any) -> Any:"),
        (lambda: jvp(with_bad_rule, (X,), (X,)), "def with_bad_rule(x: Any) -> Any:"),
        (lambda: vjp(sines, X)[1](X[:2]), "def sines(x: Any) -> Any:"),
        (lambda: vjp(sines, X)[1]((X, X)), "def sines(x: Any) -> Any:"),
        (lambda: jacobian(lambda x: "a")(X), 'lambda x: "a"'),
    ],
)
def test_what_does_not_fit_a_product_shows_the_function_and_no_way_through(call: Any, place: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert marked(caught.value) == place
    assert "translator" not in "".join(str(entry.path) for entry in caught.traceback)


def test_targets_that_are_not_there_show_the_function() -> None:
    with pytest.raises(TargetError) as caught:
        accelerate(sines, target="tpu")(X)
    assert marked(caught.value) == "def sines(x: Any) -> Any:"
    assert len(caught.traceback) < 5


@pytest.mark.parametrize(
    "options, words",
    [
        ({"donate_argnums": "a"}, "donate_argnums must be an int or several, got 'a'"),
        ({"static_argnums": 1.5}, "static_argnums must be an int or several, got 1.5"),
        ({"static_argnames": 3}, "static_argnames must be a str or several, got 3"),
        ({"checks": "no"}, "checks must be True or False, got 'no'"),
    ],
)
def test_options_of_the_wrong_type(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        accelerate(sines, **options)
    assert str(caught.value) == words


def test_rules_hold_fixed_what_the_function_has() -> None:
    for kind in (custom_jvp, custom_vjp):
        with pytest.raises(ValueError, match="nondiff_argnums=5 of sines, which accepts 1 positional arguments"):
            kind(sines, nondiff_argnums=(5,))


def test_shapes_that_are_no_shapes() -> None:
    with pytest.raises(ShapeError, match="instead: name each axis once"):
        grad(lambda a: np.sum(np.transpose(a, (0, 0))))(A)
    with pytest.raises(ShapeError, match="instead: give sizes of 0 or more"):
        grad(lambda x: x * np.sum(np.zeros(-3)))(1.0)


def test_a_checker_with_nothing_to_check() -> None:
    with pytest.raises(DTypeError, match="no argument of the function holds floats"):
        check_grads(sines, (I,))
    with pytest.raises(TypeError, match="as a tuple, not as ndarray"):
        check_grads(sines, X)
