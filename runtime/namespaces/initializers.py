"""The namespace `untraced.nn.initializers`: first values of parameters, JAX's numbers for the same keys.

Each function here but `zeros` and `ones` gives an initializer: a function (key, shape, dtype=None) -> array, NumPy
source over `untraced.random`, like everything there; no dtype means what it means there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.precision import PRECISION
from ..arrays.hosted import offer
from . import random

Initializer = Callable[..., Any]
Axes = int | Sequence[int]

_SPREAD_WITHIN_TWO = 0.87962566103423978  # standard deviation of a standard normal cut off at -2 and 2


def _dtype(dtype: Any) -> Any:
    return (np.float64 if PRECISION.x64 else np.float32) if dtype is None else dtype


def zeros(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
    """An array of zeros; the key is not used."""
    return np.zeros(shape, _dtype(dtype))


def ones(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
    """An array of ones; the key is not used."""
    return np.ones(shape, _dtype(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Arrays that hold `value`, a number or an array that broadcasts to the shape."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        return np.full(shape, value, _dtype(default if dtype is None else dtype))

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Uniform in [0, scale)."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        return random.uniform(key, shape, default if dtype is None else dtype) * scale

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Normal of mean 0 and standard deviation `stddev`."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        return random.normal(key, shape, default if dtype is None else dtype) * stddev

    return init


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """`stddev` times a standard normal within [lower, upper]."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        return random.truncated_normal(key, lower, upper, shape, default if dtype is None else dtype) * stddev

    return init


def _fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """How many inputs an output has, and outputs an input: the sizes of their axes times those of the window's axes."""
    if len(shape) < 2:
        raise ValueError(f"an array of shape {tuple(shape)} has no axes of inputs and outputs: it needs at least two")
    axes = [(axis,) if isinstance(axis, int) else tuple(axis) for axis in (in_axis, out_axis, batch_axis)]
    inputs, outputs, batch = (math.prod(shape[axis] for axis in group) for group in axes)
    window = math.prod(shape) / inputs / outputs / batch
    return inputs * window, outputs * window


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Draws of mean 0 and variance scale / n, n by `mode`: the number of inputs of an output (`fan_in`), of outputs of
    an input (`fan_out`), their arithmetic (`fan_avg`) or geometric (`fan_geo_avg`) mean.

    `distribution` is "truncated_normal", "normal" or "uniform". A size of zero gives an empty array.
    """
    counts: dict[str, Callable[[float, float], float]] = {
        "fan_in": lambda inputs, outputs: inputs,
        "fan_out": lambda inputs, outputs: outputs,
        "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
        "fan_geo_avg": lambda inputs, outputs: math.sqrt(inputs * outputs),
    }
    if mode not in counts:
        raise ValueError(f"mode is one of {', '.join(counts)}, not {mode!r}")
    if distribution not in ("truncated_normal", "normal", "uniform"):
        raise ValueError(f"distribution is truncated_normal, normal or uniform, not {distribution!r}")
    count, default = counts[mode], dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        kind = _dtype(default if dtype is None else dtype)
        if math.prod(shape) == 0:
            return np.zeros(shape, kind)
        inputs, outputs = _fans(shape, in_axis, out_axis, batch_axis)
        stddev = math.sqrt(scale / count(inputs, outputs))
        if distribution == "normal":
            return random.normal(key, shape, kind) * stddev
        if distribution == "uniform":
            return random.uniform(key, shape, kind, -1) * (math.sqrt(3) * stddev)
        return random.truncated_normal(key, -2, 2, shape, kind) * (stddev / _SPREAD_WITHIN_TWO)

    return init


def glorot_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Uniform, of variance 2 / (inputs + outputs) (Glorot and Bengio, 2010)."""
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Truncated normal, of variance 2 / (inputs + outputs) (Glorot and Bengio, 2010)."""
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def lecun_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Uniform, of variance 1 / inputs (LeCun, Bottou, Orr and Müller, 1998)."""
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Truncated normal, of variance 1 / inputs (LeCun, Bottou, Orr and Müller, 1998)."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Uniform, of variance 2 / inputs (He, Zhang, Ren and Sun, 2015)."""
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Truncated normal, of variance 2 / inputs (He, Zhang, Ren and Sun, 2015)."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """`scale` times a random matrix of orthonormal columns (or rows, where these are fewer), by the QR factors of a
    normal one with R's diagonal made positive. All axes but `column_axis` together count the rows."""
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        if len(shape) < 2:
            raise ValueError(f"an orthogonal array has at least two axes, not the shape {tuple(shape)}")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        drawn = random.normal(key, (max(rows, columns), min(rows, columns)), default if dtype is None else dtype)
        q, r = np.linalg.qr(drawn)
        q = q * np.sign(np.diagonal(r))
        if rows < columns:
            q = q.T
        others = [size for axis, size in enumerate(shape) if axis != column_axis % len(shape)]
        return scale * np.moveaxis(q.reshape((*others, columns)), -1, column_axis)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Kernels of convolutions with 1 to 3 window axes in front: an orthogonal matrix in the middle, zeros around it
    (Xiao and others, "Dynamical isometry and a mean field theory of CNNs", 2018). Outputs are not fewer than inputs."""
    matrix = orthogonal(scale, column_axis, dtype)
    default = dtype

    def init(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"a kernel has 3, 4 or 5 axes, not the shape {tuple(shape)}")
        if shape[-1] < shape[-2]:
            raise ValueError(f"a kernel of shape {tuple(shape)} has fewer outputs (its last axis) than inputs")
        kernel = np.zeros(shape, _dtype(default if dtype is None else dtype))
        middle = tuple((size - 1) // 2 for size in shape[:-2])
        kernel[middle] = matrix(key, shape[-2:], dtype)
        return kernel

    return init


offer(globals(), ("ones", "zeros"), "untraced.nn.initializers")
