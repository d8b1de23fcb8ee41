"""scipy.fft: NumPy's transforms under SciPy's arguments, cosine and sine transforms, as NumPy source.

The cosine transforms are Fourier transforms of the elements in another order (J. Makhoul, "A fast cosine transform in
one and two dimensions", 1980); sine transforms are cosine transforms with signs. `workers` and `overwrite_x` change no
result and are passed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .spectral import fftfreq, fftshift, ifftshift, rfftfreq
from .support import axes_of, known, only_plain


def along_one(
    transform: Any,
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    return transform(x, n, axis, norm)


def along_two(
    transform: Any,
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    return transform(x, s, axes, norm)


def along_several(
    transform: Any,
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Without axes, over as many of the last ones as `s` is long."""
    if axes is None and s is not None:
        s = known(s)
        axes = tuple(range(-len(s), 0))
    return transform(x, s, axes, norm)


# ---- cosines and sines ---------------------------------------------------------------------------


def _second_cosine(x: Any) -> Any:
    """2 sum_n x[n] cos(pi k (2n + 1) / 2N), along the last axis."""
    n = x.shape[-1]
    v = np.fft.fft(np.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1))
    angle = np.pi * np.arange(n) / (2 * n)
    return 2.0 * (np.real(v) * np.cos(angle) + np.imag(v) * np.sin(angle))


def _third_cosine(x: Any) -> Any:
    """x[0] + 2 sum_n x[n] cos(pi n (2k + 1) / 2N): the second one turned back, but for a factor of 2N."""
    n = x.shape[-1]
    angle = np.pi * np.arange(n) / (2 * n)
    back = np.concatenate([np.zeros_like(x[..., :1]), x[..., :0:-1]], axis=-1)
    v = n * np.fft.ifft((x - 1j * back) * (np.cos(angle) + 1j * np.sin(angle)))
    y = np.zeros(x.shape)
    half = (n + 1) // 2
    y[..., ::2] = np.real(v)[..., :half]
    y[..., 1::2] = np.real(v)[..., half:][..., ::-1]
    return y


def _first_cosine(x: Any) -> Any:
    """x[0] + (-1)^k x[N - 1] + 2 sum_n x[n] cos(pi k n / (N - 1))."""
    return np.real(np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)))


def _fourth_cosine(x: Any) -> Any:
    """2 sum_n x[n] cos(pi (2k + 1) (2n + 1) / 4N)."""
    n = x.shape[-1]
    turns = np.exp(-0.5j * np.pi * (2 * np.arange(n) + 1) / (2 * n))
    v = np.fft.fft(x * turns, 2 * n)[..., :n]
    return 2.0 * np.real(v * np.exp(-0.5j * np.pi * np.arange(n) / n))


def _cosine(x: Any, kind: int) -> Any:
    return (_first_cosine, _second_cosine, _third_cosine, _fourth_cosine)[kind - 1](x)


def _sine(x: Any, kind: int) -> Any:
    n = x.shape[-1]
    signs = 1 - 2 * (np.arange(n) % 2)
    if kind == 1:
        zero = np.zeros_like(x[..., :1])
        return -np.imag(np.fft.rfft(np.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1)))[..., 1 : n + 1]
    if kind == 2:
        return _second_cosine(x * signs)[..., ::-1]
    if kind == 3:
        return signs * _third_cosine(x[..., ::-1])
    return signs * _fourth_cosine(x[..., ::-1])


def _ends(kind: int, sines: bool, n: int) -> tuple[slice, ...]:
    """The elements that an orthogonal transform scales by the square root of 2."""
    if kind == 1 and not sines:
        return (slice(0, 1), slice(n - 1, n))
    return (slice(n - 1, n) if sines else slice(0, 1),) if kind in (2, 3) else ()


def transformed(
    sines: bool,
    inverse: bool,
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """scipy.fft.dct, idct, dst, idst."""
    x, kind, norm = np.asarray(x), known(type), known(norm)
    only_plain("scipy.fft.dct", x.dtype.kind in "biuf" and kind in (1, 2, 3, 4) and orthogonalize is None)
    dtype = np.result_type(x, np.float32)
    x = np.moveaxis(x.astype(dtype), axis, -1)
    if n is not None:
        n = known(n)
        x = x[..., :n]
        missing = np.zeros((*x.shape[:-1], n - x.shape[-1]), dtype=dtype)
        x = np.concatenate([x, missing], axis=-1)
    n = x.shape[-1]
    whole = 2 * (n + (1 if sines else -1)) if kind == 1 else 2 * n  # what a transform and its inverse scale by
    kind = {2: 3, 3: 2}.get(kind, kind) if inverse else kind
    if norm == "ortho":
        weights = np.ones(n)
        for end in _ends(kind, sines, n):
            weights[end] = np.sqrt(2.0)
        before, after = (1.0 if kind == 2 else weights), (1.0 / weights if kind in (1, 2) else 1.0)
        y = (_sine if sines else _cosine)(x * before, kind) * after / np.sqrt(whole)
    else:
        y = (_sine if sines else _cosine)(x, kind)
        y = y / whole if (norm == "forward") is not inverse else y
    return np.moveaxis(y, -1, axis).astype(dtype)


def transformed_axes(
    sines: bool,
    inverse: bool,
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    orthogonalize: Any = None,
) -> Any:
    """scipy.fft.dctn and its kin: one axis after the other."""
    y = np.asarray(x)
    only_plain("scipy.fft.dctn", orthogonalize is None)
    sizes = None if s is None else tuple(known(s))
    axes = tuple(axes) if isinstance(axes, list) else axes
    chosen = tuple(range(-len(sizes), 0)) if axes is None and sizes is not None else axes_of(axes, y.ndim)
    for k, i in enumerate(chosen):
        y = transformed(sines, inverse, y, type, None if sizes is None else sizes[k], i, norm)
    return y


NAMES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **{f"{d}{f}fft": (along_one, (getattr(np.fft, f"{d}{f}fft"),)) for d in ("", "i") for f in ("", "r", "h")},
    **{f"{d}{f}fft2": (along_two, (getattr(np.fft, f"{d}{f}fft2"),)) for d in ("", "i") for f in ("", "r")},
    **{f"{d}{f}fftn": (along_several, (getattr(np.fft, f"{d}{f}fftn"),)) for d in ("", "i") for f in ("", "r")},
    **{f"{i}d{k}t": (transformed, (k == "s", i == "i")) for i in ("", "i") for k in "cs"},
    **{f"{i}d{k}tn": (transformed_axes, (k == "s", i == "i")) for i in ("", "i") for k in "cs"},
    "fftfreq": (fftfreq, ()),
    "rfftfreq": (rfftfreq, ()),
    "fftshift": (fftshift, ()),
    "ifftshift": (ifftshift, ()),
}
