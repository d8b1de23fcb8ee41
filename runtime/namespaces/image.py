"""The namespace `untraced.image`: arrays resized by interpolation, as NumPy source, with `jax.image`'s numbers.

Each axis is a product with a matrix of weights: the kernel of the method, stretched where the axis becomes shorter
(`antialias`), around where the new element lies, and normed to sum to 1. Keys (1981), Cubic convolution interpolation
for digital image processing, with a = -1/2, is "cubic"; "lanczos3" and "lanczos5" are sinc windows of radius 3 and 5.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.hosted import offer


class ResizeMethod(enum.Enum):
    """How new elements are made of old ones."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4

    @staticmethod
    def from_string(name: str) -> ResizeMethod:
        """By its name: "nearest", "linear" ("bilinear", "trilinear", "triangle"), "cubic" ("bicubic", "tricubic"),
        "lanczos3", "lanczos5". ValueError for any other.
        """
        if name not in _METHODS:
            raise ValueError(f"unknown resize method {name!r}; there are {', '.join(_METHODS)}")
        return _METHODS[name]


_METHODS = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
}


def resize(
    image: Any, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True, precision: Any = None
) -> Any:
    """`image`, of any rank, with the given shape; the dtype stays, integers become float64 unless "nearest" takes
    elements as they are. ValueError where the ranks differ.
    """
    image, kind = np.asarray(image), _method(method)
    if len(shape) != image.ndim:
        raise ValueError(f"shape must have one number for each of the {image.ndim} axes, got {tuple(shape)}")
    if kind is ResizeMethod.NEAREST:
        for axis in range(image.ndim):
            image = np.take(image, _nearest(image.shape[axis], shape[axis]), axis)
        return image
    image = image if image.dtype.kind in "fc" else image.astype(float)
    for axis in range(image.ndim):
        if image.shape[axis] != shape[axis]:
            scale = shape[axis] / image.shape[axis]
            weights = _weights(image.shape[axis], shape[axis], scale, 0.0, kind, antialias)
            image = _along(image, weights, axis)
    return image


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Any:
    """`image` scaled by `scale` and then moved by `translation`, each of shape (len(spatial_dims),), along those axes;
    0 where new elements lie outside of the old ones. `shape` is that of the result; other axes keep theirs.
    ValueError for "nearest", which has no weights.
    """
    image, kind = np.asarray(image), _method(method)
    if kind is ResizeMethod.NEAREST:
        raise ValueError('scale_and_translate interpolates: "nearest" is a method of resize')
    image = image if image.dtype.kind in "fc" else image.astype(float)
    for k, axis in enumerate(spatial_dims):
        weights = _weights(image.shape[axis], shape[axis], scale[k], translation[k], kind, antialias)
        image = _along(image, weights, axis)
    return image


def _method(method: Any) -> ResizeMethod:
    return method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)


def _nearest(old: int, new: int) -> Any:
    return np.floor((np.arange(new) + 0.5) * old / new).astype(np.int32)


def _along(image: Any, weights: Any, axis: int) -> Any:
    return np.moveaxis(np.moveaxis(image, axis, -1) @ weights.astype(image.dtype), -1, axis)


def _weights(old: int, new: int, scale: Any, translation: Any, kind: ResizeMethod, antialias: bool) -> Any:
    """What each old element counts in each new one, shape (old, new)."""
    wide = np.maximum(1.0 / scale, 1.0) if antialias else 1.0
    center = (np.arange(new) + 0.5) / scale - translation / scale - 0.5
    x = np.abs(center - np.arange(old)[:, None]) / wide
    weights = _kernel(x, kind)
    total = np.sum(weights, axis=0)
    much = np.abs(total) > 1000.0 * np.finfo(np.float32).eps
    weights = np.where(much, weights / np.where(much, total, 1.0), 0.0)
    return np.where((center >= -0.5) & (center <= old - 0.5), weights, 0.0)


def _kernel(x: Any, kind: ResizeMethod) -> Any:
    """Of distances, which are not negative."""
    if kind is ResizeMethod.LINEAR:
        return np.maximum(0.0, 1.0 - x)
    if kind is ResizeMethod.CUBIC:
        near = (1.5 * x - 2.5) * x * x + 1.0
        far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
        return np.where(x >= 2.0, 0.0, np.where(x >= 1.0, far, near))
    radius = 3.0 if kind is ResizeMethod.LANCZOS3 else 5.0
    return np.where(x > radius, 0.0, np.sinc(x) * np.sinc(x / radius))


__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

offer(globals(), __all__, "untraced.image")
