"""`lax.conv_general_dilated` with groups, dilations and odd sizes, and its derivatives, against JAX; its source."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad, lax

R = Drawn(1)


@pytest.mark.parametrize(
    ("shape", "kernel", "padding", "options"),
    [
        ((2, 3, 8, 7), (4, 3, 3, 2), "SAME", {}),
        ((2, 4, 8, 7), (6, 2, 3, 2), "VALID", {"feature_group_count": 2}),
        ((2, 4, 8, 7), (8, 1, 3, 2), "SAME", {"feature_group_count": 4}),
        ((4, 3, 8, 7), (6, 3, 3, 2), "SAME", {"batch_group_count": 2}),
        ((2, 3, 4, 5, 6), (4, 3, 2, 2, 3), "VALID", {"rhs_dilation": (1, 2, 1)}),
        ((2, 3, 9), (4, 3, 3), "SAME", {}),
        ((2, 3), (4, 3), "VALID", {}),
        ((0, 3, 8, 7), (4, 3, 3, 2), "SAME", {}),
        ((2, 0, 8, 7), (4, 0, 3, 2), "VALID", {}),
        ((2, 3, 8, 7), (4, 3, 9, 2), "VALID", {}),
    ],
)
def test_values_and_derivatives_are_those_of_jax(shape: Any, kernel: Any, padding: str, options: Any) -> None:
    x, w = R.normal(size=shape), R.normal(size=kernel)
    strides = (2, 1, 1)[: len(shape) - 2]

    def loss(module: Any, sin: Any, w: Any, x: Any) -> Any:
        return sin(module.conv_general_dilated(x, w, strides, padding, **options)).sum()

    with jax.enable_x64(True):
        expected = jax.value_and_grad(lambda w, x: loss(jax.lax, jax.numpy.sin, w, x), (0, 1))(w, x)
    gradient = grad(lambda w, x: loss(lax, np.sin, w, x), (0, 1))
    np.testing.assert_allclose(accelerate(lambda w, x: loss(lax, np.sin, w, x))(w, x), expected[0], atol=1e-10)
    for ours, theirs in zip(gradient(w, x), expected[1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "options", "why"),
    [
        ((4, 2, 3, 3), {}, "does not fit 4 features"),
        ((5, 2, 3, 3), {"feature_group_count": 2}, "do not divide features out"),
        ((4, 4, 3, 3), {"batch_group_count": 3}, "do not divide"),
        ((4, 2, 3, 3), {"feature_group_count": 2, "batch_group_count": 2}, "cannot both"),
    ],
)
def test_sizes_that_do_not_fit(kernel: Any, options: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        lax.conv_general_dilated(np.ones((2, 4, 8, 8)), np.ones(kernel), (1, 1), "VALID", **options)


def test_a_row_of_the_kernel_is_one_product() -> None:
    def convolved(k: Any, x: Any) -> Any:
        return lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    source = accelerate(convolved).inspect(np.ones((2, 3, 4, 5)), np.ones((1, 8, 8, 4)), compile=False).source
    assert source.splitlines()[1:] == [
        "    t = np.concatenate([x[:, :, :-2], x[:, :, 1:-1], x[:, :, 2:]], axis=3)",
        "    t1 = k.reshape(2, 12, 5)",
        "    return t[:, :-1] @ t1[0] + t[:, 1:] @ t1[1]",
    ]
