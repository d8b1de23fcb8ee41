"""The three laws for derivatives with rules of their own, after every pass; and two of them to look at."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from laws_helpers import check_l1, check_l2_l3_in_two_steps

from untraced import checkpoint, custom_jvp, custom_vjp, grad, stop_gradient, vmap
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

X = np.linspace(0.2, 1.1, 6)


@custom_vjp
def clipped(x: Any) -> Any:
    return x * 1.0


clipped.defvjp(lambda x: (x * 1.0, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))


@custom_jvp
def softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


softplus.defjvps(lambda t, y, x: t / (1.0 + np.exp(-x)))


def rules_in_a_loop(x: Any) -> Any:
    y = x
    for _ in range(4):
        if np.sum(y) > 3.0:
            y = clipped(y * x) + 0.1
        else:
            y = softplus(y) * x
    return np.sum(y)


def batch_of_rules(x: Any) -> Any:
    return np.sum(vmap(lambda v: softplus(clipped(v * v)))(x))


def stopped(x: Any) -> Any:
    return np.sum(stop_gradient(np.exp(x)) * x)


@checkpoint(memory="1 KB")
def decay(x: Any) -> Any:
    y = x
    for _ in range(100):
        y = np.sin(y) * x
    return y


def long_loop(x: Any) -> Any:
    return np.sum(decay(x) ** 2)


def layers(x: Any, w: Any) -> Any:
    layer = checkpoint(lambda h: np.tanh(h @ w))
    return np.sum(layer(layer(x)))


PROGRAMS = [
    (rules_in_a_loop, (X,)),
    (batch_of_rules, (X,)),
    (stopped, (X,)),
    (long_loop, (X,)),
    (layers, (X[None], np.outer(X, X))),
]


@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_laws(fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
    signature, leaves = abstract_with_leaves(grad(fun), args, {})
    for name, function in translate(grad(fun), signature).stages.items():
        inner = [v.aval for v in function.body.params] != list(signature.avals)  # of one element of a batch
        if name != "fuse" and not inner:
            check_l1(function, args, leaves)
            check_l2_l3_in_two_steps(function, args)


@pytest.mark.parametrize("fun", [long_loop, rules_in_a_loop], ids=lambda f: f.__name__)
def test_printed(fun: Callable[..., Any], golden: Callable[[str, str], None]) -> None:
    golden(f"{fun.__name__}_grad.py", re.sub(r"from line (\d+)", "from line ..", grad(fun).source(X)))
