"""The namespace `untraced.nn`: activations and what goes with them, as NumPy source, under the names of `jax.nn`.

Activations work element by element: the result has the shape of `x`, and its dtype where that is one of floats.
What goes along axes takes one axis or a tuple of them, and raises AxisError for one that is not there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translator.library import special
from ...translator.library.special import expit, log_expit, softplus
from ...translator.library.support import one_axis as _one_axis
from ...translator.ops.special import erf
from ..arrays.hosted import offer
from . import initializers as initializers

sigmoid, log_sigmoid = expit, log_expit
identity = np.positive
tanh = np.tanh


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: Any = False, return_sign: Any = False, where: Any = None
) -> Any:
    """log(sum(b * exp(a))) along axes, without overflow, of the elements where `where` is True if that is given; with
    `return_sign` log(abs(sum)) and the sign.
    """
    return special.logsumexp(a, axis, b, keepdims, return_sign, where)


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: Any = False) -> Any:
    """The logarithm of the mean of exp(x) along axes, of the elements where `where` is True if that is given."""
    x = np.asarray(x)
    if where is None:
        count: Any = np.sum(np.ones_like(x), axis=axis, keepdims=keepdims)
        return logsumexp(x, axis, keepdims=keepdims) - np.log(count)
    count = np.sum(np.where(where, np.ones_like(x), 0.0), axis=axis, keepdims=keepdims)
    return logsumexp(np.where(where, x, -np.inf), axis, keepdims=keepdims) - np.log(count)


def relu(x: Any) -> Any:
    """max(x, 0), of derivative 0 at 0."""
    return np.where(np.asarray(x) <= 0, 0, x)  # which keeps NaN


def relu6(x: Any) -> Any:
    """min(max(x, 0), 6), of derivative 0 at 0 and 6."""
    return np.where(np.asarray(x) >= 6, 6, relu(x))


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) divided by its sum along axes, of the shape of `x`; 0 where `where` is False. The largest element is
    subtracted first, so nothing overflows.
    """
    if 0 in np.shape(x):
        return np.exp(x)
    if where is None:
        return special.softmax(x, axis)
    return np.where(where, special.softmax(np.where(where, x, -np.inf), axis), 0)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """The logarithm of `softmax`, of the shape of `x`, without overflow; -inf where `where` is False."""
    if 0 in np.shape(x):
        return np.exp(x)
    if where is None:
        return special.log_softmax(x, axis)
    return np.where(where, special.log_softmax(np.where(where, x, -np.inf), axis), -np.inf)


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x where it is not negative, else negative_slope * x."""
    return np.where(np.asarray(x) >= 0, x, negative_slope * x)


def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


def hard_silu(x: Any) -> Any:
    """x * hard_sigmoid(x)."""
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def hard_tanh(x: Any) -> Any:
    """x moved into [-1, 1]."""
    return np.where(np.asarray(x) > 1, 1, np.where(np.asarray(x) < -1, -1, x))


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where it is positive, else alpha * expm1(x)."""
    positive = np.asarray(x) > 0
    return np.where(positive, x, alpha * np.expm1(np.where(positive, 0.0, x)))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + min(0, alpha * expm1(x / alpha))."""
    return np.maximum(x, 0.0) + alpha * np.expm1(np.minimum(x, 0.0) / alpha)


def selu(x: Any) -> Any:
    """The scaled elu of Klambauer and others, "Self-normalizing neural networks", 2017."""
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution function; by tanh where `approximate` (Hendrycks and Gimpel, 2016)."""
    if approximate:
        return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    return 0.5 * x * (1.0 + erf(x * 0.7071067811865476))


def silu(x: Any) -> Any:
    """x * sigmoid(x)."""
    return x * expit(x)


swish = silu


def mish(x: Any) -> Any:
    """x * tanh(softplus(x))."""
    return x * np.tanh(softplus(x))


def soft_sign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (np.abs(x) + 1)


def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x^2 + b)) / 2."""
    return (x + np.sqrt(np.square(x) + b)) / 2


def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, between them (x + 1)^2 / 4."""
    return np.where(np.asarray(x) <= -1, 0.0, np.where(np.asarray(x) >= 1, x, (x + 1.0) ** 2 / 4))


def sparse_sigmoid(x: Any) -> Any:
    """(x + 1) / 2 moved into [0, 1]."""
    return 0.5 * np.clip(x + 1.0, 0.0, 2.0)


def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) of positive x (Maechler, "Accurately computing log(1 - exp(-|a|))", 2012)."""
    small = np.asarray(x) < 0.6931471805599453
    near = np.log(-np.expm1(-np.where(small, x, 1.0)))
    return np.where(small, near, np.log1p(-np.exp(-np.where(small, 1.0, x))))


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second, so half as long (Dauphin and others, "Language
    modeling with gated convolutional networks", 2017). ValueError for an odd length.
    """
    if x.shape[axis] % 2:
        raise ValueError(f"glu: the axis must have an even number of elements, not {x.shape[axis]}")
    first, second = np.split(x, 2, axis)
    return first * expit(second)


def one_hot(x: Any, num_classes: int, *, dtype: Any = np.float64, axis: Any = -1) -> Any:
    """1 at the place that each integer names, along a new axis; integers out of range give zeros.

    The shape is that of `x` with `num_classes` at `axis`. AxisError for an axis that the result does not have,
    ValueError for less than no classes.
    """
    if num_classes < 0:
        raise ValueError(f"one_hot of {num_classes} classes")
    places = np.asarray(x)
    ndim = places.ndim + 1
    at = _one_axis(axis, ndim)
    count = np.reshape(np.arange(num_classes), (*(1,) * at, num_classes, *(1,) * (ndim - at - 1)))
    return (np.expand_dims(places, at) == count).astype(dtype)


def standardize(
    x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5, where: Any = True
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) along axes, of the shape of `x`; mean and variance are taken of `x`, of its
    elements where `where` is True, unless they are given.
    """
    centre = np.mean(x, axis, keepdims=True, where=where) if mean is None else mean
    if variance is None:
        variance = np.mean(np.square(x), axis, keepdims=True, where=where) - np.square(centre)
    return (x - centre) / np.sqrt(variance + epsilon)


normalize = standardize


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(scale * query key^T + bias) value, head by head.

    query, key, value   (..., length, heads, features) each; the heads of `query` may be a multiple of those of the
                        others, each of which then serves several
    bias, mask          broadcast to (..., heads, query length, key length); where the mask is False nothing is seen
    scale               1 / sqrt(features) by default
    query_seq_lengths, key_value_seq_lengths   how many places of each sequence (batch,) count: of the query the others
                        give 0, of the others nothing is seen
    local_window_size   how many places before and after its own each place sees: a pair, or one number for both
    implementation      "xla" or "cudnn", accepted for JAX's sake

    NotImplementedError for `return_residual`.
    """
    if return_residual:
        raise NotImplementedError("dot_product_attention: return_residual is not implemented")
    share = query.shape[-2] // key.shape[-2]
    k = np.repeat(key, share, axis=-2) if share > 1 else key
    v = np.repeat(value, share, axis=-2) if share > 1 else value
    factor = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale
    logits = np.einsum("...qhd,...khd->...hqk", query, k) * factor
    if bias is not None:
        logits = logits + bias
    if mask is not None:
        logits = np.where(mask, logits, np.finfo(logits.dtype).min * 0.7)
    if is_causal:
        seen = np.tri(logits.shape[-2], logits.shape[-1], dtype=np.bool_)
        logits = np.where(seen, logits, np.finfo(logits.dtype).min * 0.7)
    if local_window_size is not None:
        logits = np.where(_near(logits, local_window_size), logits, np.finfo(logits.dtype).min * 0.7)
    if key_value_seq_lengths is not None:
        counted = np.arange(logits.shape[-1]) < key_value_seq_lengths[:, None, None, None]
        logits = np.where(counted, logits, np.finfo(logits.dtype).min * 0.7)
    out = np.einsum("...hqk,...khd->...qhd", softmax(logits, axis=-1), v).astype(query.dtype)
    if query_seq_lengths is not None:
        out = np.where(np.arange(out.shape[-3])[:, None, None] < query_seq_lengths[:, None, None, None], out, 0)
    return out


def _near(logits: Any, window: int | tuple[int, int]) -> Any:
    """Which places of the keys each place of the queries sees."""
    before, after = window if isinstance(window, tuple) else (window, window)
    q, k = np.arange(logits.shape[-2])[:, None], np.arange(logits.shape[-1])
    return (k >= q - before) & (k <= q + after)


__all__ = [
    "celu", "dot_product_attention", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "identity", "leaky_relu", "log1mexp", "log_sigmoid", "log_softmax", "logmeanexp", "logsumexp", "mish", "normalize",
    "one_hot", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus", "sparse_plus",
    "sparse_sigmoid", "squareplus", "standardize", "swish", "tanh",
]  # fmt: skip

offer(globals(), __all__, "untraced.nn")
