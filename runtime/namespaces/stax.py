"""The namespace `untraced.stax`: small neural networks by composition, as in `jax.example_libraries.stax`.

A layer is a pair: `init_fun(key, input_shape) -> (output_shape, params)`, where a size of -1 in the shape stands for
any, and `apply_fun(params, inputs, **kwargs) -> outputs`, NumPy source like all of this package. Parameters are tuples,
nested as the layers are. A layer that draws random numbers asks `apply_fun` for `rng=key`.

    init, predict = stax.serial(stax.Dense(64), stax.Relu, stax.Dense(10), stax.LogSoftmax)
    shape, params = init(random.key(0), (-1, 784))
    logp = predict(params, x)                                  # x of shape (n, 784), logp of shape (n, 10)
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import lax, nn, random
from .initializers import glorot_normal, normal, ones, zeros

Layer = tuple[Callable[..., Any], Callable[..., Any]]
Shape = tuple[int, ...]


_GLOROT, _SMALL, _TINY = glorot_normal(), normal(), normal(1e-6)


def Dense(out_dim: int, W_init: Any = _GLOROT, b_init: Any = _SMALL) -> Layer:
    """inputs @ W + b: the last axis becomes one of size `out_dim`."""

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        first, second = random.split(rng)
        params = W_init(first, (input_shape[-1], out_dim)), b_init(second, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return inputs @ weights + bias

    return init_fun, apply_fun


# ---- convolutions --------------------------------------------------------------------------------


def GeneralConv(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    W_init: Any = None,
    b_init: Any = _TINY,
) -> Layer:
    """A convolution with a bias for each of `out_chan` channels; axes as `lax.conv_general_dilated` names them."""
    steps = tuple(strides or (1,) * len(filter_shape))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, bias = params
        return lax.conv_general_dilated(inputs, kernel, steps, padding, dimension_numbers=dimension_numbers) + bias

    def sizes_after(sizes: Sequence[int]) -> list[int]:
        return _windows(sizes, filter_shape, steps, padding)

    return _kernel_init(dimension_numbers, out_chan, filter_shape, sizes_after, W_init, b_init), apply_fun


def GeneralConvTranspose(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    W_init: Any = None,
    b_init: Any = _TINY,
) -> Layer:
    """The transpose of a convolution (`lax.conv_transpose`), with a bias for each of `out_chan` channels."""
    steps = tuple(strides or (1,) * len(filter_shape))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, bias = params
        return lax.conv_transpose(inputs, kernel, steps, padding, dimension_numbers=dimension_numbers) + bias

    def sizes_after(sizes: Sequence[int]) -> list[int]:
        overlap = [max(width - step, 0) for width, step in zip(filter_shape, steps, strict=True)]
        outside = overlap if padding.upper() == "VALID" else [0] * len(steps)
        return [size * step + more for size, step, more in zip(sizes, steps, outside, strict=True)]

    return _kernel_init(dimension_numbers, out_chan, filter_shape, sizes_after, W_init, b_init), apply_fun


def _kernel_init(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    sizes_after: Callable[[Sequence[int]], list[int]],
    W_init: Any,
    b_init: Any,
) -> Callable[..., Any]:
    """The `init_fun` of a layer with a kernel, which moves over axes whose sizes become `sizes_after(sizes)`."""
    inputs_axes, kernel_axes, outputs_axes = dimension_numbers
    moved = [axis for axis in kernel_axes if axis not in "OI"]
    kernel_init = W_init or glorot_normal(kernel_axes.index("I"), kernel_axes.index("O"))

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        found = dict(zip(inputs_axes, input_shape, strict=True))
        made = dict(zip(moved, sizes_after([found[axis] for axis in moved]), strict=True))
        kernel = {"O": out_chan, "I": found["C"], **dict(zip(moved, filter_shape, strict=True))}
        first, second = random.split(rng)
        params = (
            kernel_init(first, tuple(kernel[axis] for axis in kernel_axes)),
            b_init(second, tuple(out_chan if axis == "C" else 1 for axis in outputs_axes)),
        )
        known = {"N": found["N"], "C": out_chan, **made}
        return tuple(known[axis] for axis in outputs_axes), params

    return init_fun


def _windows(sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], padding: str) -> list[int]:
    """How many windows there are along each axis."""
    if padding.upper() == "SAME":
        return [-(-size // step) for size, step in zip(sizes, strides, strict=True)]
    return [(size - width) // step + 1 for size, width, step in zip(sizes, window, strides, strict=True)]


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: Sequence[int] | int = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Mean 0 and variance 1 over `axis`, then gamma times that plus beta, one of each for every other index (Ioffe and
    Szegedy, 2015); the statistics are those of the batch at hand.

    `center` and `scale` say whether beta and gamma exist.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        first, second = random.split(rng)
        beta = beta_init(first, shape) if center else ()
        gamma = gamma_init(second, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        made = nn.standardize(inputs, axes, epsilon=epsilon)
        if scale:
            made = made * np.expand_dims(gamma, axes)
        return made + np.expand_dims(beta, axes) if center else made

    return init_fun, apply_fun


# ---- without parameters --------------------------------------------------------------------------


def _same_shape(rng: Any, input_shape: Shape) -> Any:
    return input_shape, ()


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """The layer `fun(inputs, **fun_kwargs)`, which keeps the shape."""

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return _same_shape, apply_fun


Tanh = elementwise(np.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(np.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
logsoftmax = nn.log_softmax  # as JAX has it beside the layer
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)


def _pooling(
    reduced: Callable[..., Any],
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: str,
    spec: str | None,
) -> Layer:
    """`reduced(inputs, window, strides)` over windows along the axes that `spec` does not call N or C."""
    axes = spec or "N" + "".join(chr(ord("a") + i) for i in range(len(window_shape))) + "C"
    outside = (axes.index("N"), axes.index("C"))

    def over_all(sizes: Sequence[int]) -> Shape:
        inner = iter(sizes)
        return tuple(1 if i in outside else next(inner) for i in range(len(axes)))

    window, steps = over_all(window_shape), over_all(strides or (1,) * len(window_shape))

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        made = _windows(input_shape, window, steps, padding)
        return tuple(input_shape[i] if i in outside else size for i, size in enumerate(made)), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return reduced(inputs, window, steps)

    return init_fun, apply_fun


def MaxPool(
    window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: str = "VALID", spec: str | None = None
) -> Layer:
    """The greatest element of each window; `spec` names the axes, "NHWC" for two by default."""

    def greatest(inputs: Any, window: Shape, steps: Shape) -> Any:
        return lax.reduce_window(inputs, -np.inf, np.maximum, window, steps, padding)

    return _pooling(greatest, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: str = "VALID", spec: str | None = None
) -> Layer:
    """The sum of each window; `spec` names the axes, "NHWC" for two by default."""

    def total(inputs: Any, window: Shape, steps: Shape) -> Any:
        return lax.reduce_window(inputs, 0.0, np.add, window, steps, padding)

    return _pooling(total, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: str = "VALID", spec: str | None = None
) -> Layer:
    """The mean of what each window holds, padding not counted; `spec` names the axes, "NHWC" for two by default."""

    def mean(inputs: Any, window: Shape, steps: Shape) -> Any:
        inside = tuple(1 if width == 1 else size for size, width in zip(inputs.shape, window, strict=True))
        count = lax.reduce_window(np.ones(inside, inputs.dtype), 0.0, np.add, window, steps, padding)
        return lax.reduce_window(inputs, 0.0, np.add, window, steps, padding) / count

    return _pooling(mean, window_shape, strides, padding, spec)


def _flatten() -> Layer:
    def init_fun(rng: Any, input_shape: Shape) -> Any:
        return (input_shape[0], functools.reduce(operator.mul, input_shape[1:], 1)), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return np.reshape(inputs, (inputs.shape[0], -1))

    return init_fun, apply_fun


def _identity() -> Layer:
    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return inputs

    return _same_shape, apply_fun


Flatten = _flatten()
Identity = _identity()


def FanOut(num: int) -> Layer:
    """The input `num` times, for `parallel`."""

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        return [input_shape] * num, ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return [inputs] * num

    return init_fun, apply_fun


def _fan_in_sum() -> Layer:
    def init_fun(rng: Any, input_shape: Any) -> Any:
        return input_shape[0], ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return functools.reduce(operator.add, inputs)

    return init_fun, apply_fun


FanInSum = _fan_in_sum()


def FanInConcat(axis: int = -1) -> Layer:
    """Several inputs behind one another along an axis."""

    def init_fun(rng: Any, input_shape: Any) -> Any:
        first = list(input_shape[0])
        first[axis] = sum(shape[axis] for shape in input_shape)
        return tuple(first), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return np.concatenate(inputs, axis)

    return init_fun, apply_fun


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Each element stays with probability `rate`, divided by it, else it is 0; in any mode but "train" all stay.

    `apply_fun` takes `rng=key`; ValueError without one.
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("Dropout draws random numbers: call apply_fun(params, inputs, rng=key)")
        if mode != "train":
            return inputs
        return np.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return _same_shape, apply_fun


# ---- composition ---------------------------------------------------------------------------------


def serial(*layers: Layer) -> Layer:
    """Layers one after another."""
    inits, applies = zip(*layers, strict=True) if layers else ((), ())

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init in inits:
            rng, own = random.split(rng)
            input_shape, param = init(own, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(applies))
        for apply, param, key in zip(applies, params, keys, strict=True):
            inputs = apply(param, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers beside one another, each with an input and an output: `serial(FanOut(2), parallel(a, b), FanInSum)`."""
    inits, applies = zip(*layers, strict=True) if layers else ((), ())

    def init_fun(rng: Any, input_shape: Any) -> Any:
        keys = random.split(rng, len(inits))
        made = [init(key, shape) for init, key, shape in zip(inits, keys, input_shape, strict=True)]
        return [shape for shape, _ in made], [params for _, params in made]

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(applies))
        parts = zip(applies, params, inputs, keys, strict=True)
        return [apply(param, x, rng=key, **kwargs) for apply, param, x, key in parts]

    return init_fun, apply_fun


def _keys(rng: Any, count: int) -> Any:
    return itertools.repeat(None, count) if rng is None else random.split(rng, count)


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """The layer that `make_layer` gives for the shape of the inputs, made anew for each."""

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun
