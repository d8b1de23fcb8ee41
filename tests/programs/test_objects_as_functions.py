"""Objects that are called, given to transformations, or looked at."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import untraced
from untraced import Array, accelerate, vmap


def test_what_a_program_computes_is_an_array_to_who_asks() -> None:
    def f(x: Any) -> Any:
        y = x.sum()
        return isinstance(x, Array), isinstance(y, (Array, str)), isinstance(len(x), Array), isinstance(x, np.ndarray)

    assert accelerate(f, target="numpy")(np.ones(3)) == (True, True, False, True)
    assert [bool(v) for v in vmap(f)(np.ones((1, 3)))] == [True, True, False, True]


@untraced.tree.register_dataclass
@dataclass
class Layer:
    weights: Any
    bias: Any

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.weights + self.bias)


class Model:
    def __call__(self, x: Any) -> Any:
        return self.apply(x)


@untraced.tree.register_pytree_node_class
class Chain(Model):
    def __init__(self, layers: list[Layer]) -> None:
        self.layers = layers

    def tree_flatten(self) -> Any:
        return (self.layers,), None

    @classmethod
    def tree_unflatten(cls, rest: Any, children: Any) -> Chain:
        return cls(*children)

    def apply(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.mark.parametrize(
    "apply",
    [
        lambda model, xs: untraced.vmap(model)(xs),
        lambda model, xs: untraced.lax.map(model, xs),
        lambda model, xs: untraced.checkpoint(model)(xs),
        lambda model, xs: accelerate(model)(xs),
        lambda model, xs: untraced.jacfwd(model)(xs[0]),
    ],
)
def test_objects_that_are_arguments_are_functions_of_transformations(apply: Callable[[Any, Any], Any]) -> None:
    """vmap(model)(x) where `model` is made of what derivatives are taken of."""
    r = np.random.default_rng(0)
    model = Chain([Layer(r.normal(size=(3, 4)), r.normal(size=4)), Layer(r.normal(size=(4, 2)), np.zeros(2))])
    xs = r.normal(size=(5, 3))

    def loss(model: Chain, xs: Any) -> Any:
        return np.sum(apply(model, xs) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, slopes = untraced.value_and_grad(loss)(model, xs)
        compiled = accelerate(untraced.value_and_grad(loss))(model, xs)
    np.testing.assert_allclose(value, np.sum(np.asarray(apply(model, xs)) ** 2))
    step = 1e-6
    model.layers[0].weights[0, 0] += step
    np.testing.assert_allclose((loss(model, xs) - value) / step, slopes.layers[0].weights[0, 0], rtol=1e-3)
    for x, y in zip(untraced.tree.leaves(slopes), untraced.tree.leaves(compiled[1]), strict=True):
        np.testing.assert_allclose(x, y)
