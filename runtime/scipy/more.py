"""The namespaces `untraced.scipy.fft`, `.integrate`, `.ndimage`, `.signal` and `.special`, as NumPy source.

    fft        dct, idct, dctn, idctn
    integrate  trapezoid, cumulative_trapezoid
    ndimage    map_coordinates; gaussian_filter and its kin
    signal     convolve, correlate and their kin, lfilter, detrend; welch, stft and other spectra, hilbert, sosfilt
    special    gamma, erf, logsumexp and their kin; expn, dawsn, hyp2f1

Other names in them are SciPy's own.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...translator.library import special as _special
from ...translator.library.scipy_fft import NAMES as _TRANSFORMS
from ...translator.library.scipy_numerics import INTEGRATE_NAMES
from ...translator.library.scipy_signal import NDIMAGE_NAMES, SIGNAL_NAMES
from ...translator.library.scipy_spectral import TRANSFORMED as _SPECTRA
from ...translator.library.special_transformed import TRANSFORMED as _INTEGRALS
from .theirs import ours_first, scipys_own

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """`input` at places between its elements: `coordinates` has an array for each axis, and the result their shape.

    order  0 takes the nearest element, 1 interpolates linearly between neighbours
    mode   what lies outside: "constant" (cval), "nearest", "wrap", "mirror" (around the middle of the last element) or
           "reflect" (around its edge)

    NotImplementedError for another order or mode, ValueError where the coordinates are not as many as the axes.
    """
    x, places = np.asarray(input), [np.asarray(c) for c in coordinates]
    if len(places) != x.ndim:
        raise ValueError(f"coordinates must have one array for each of the {x.ndim} axes, got {len(places)}")
    if order not in (0, 1) or mode not in _MODES:
        raise NotImplementedError(f"map_coordinates knows order 0 and 1 and the modes {_MODES}, not {order}, {mode!r}")
    total: Any = 0.0
    ends = [_ends(c, order) for c in places]
    for corner in itertools.product(*ends):
        weight: Any = 1.0
        inside: Any = True
        where = []
        for (k, share), size in zip(corner, x.shape):
            weight = weight * share
            inside = inside & (k >= 0) & (k < size)
            where.append(_inside(k, size, mode))
        found = x[tuple(where)]
        total = total + weight * (np.where(inside, found, cval) if mode == "constant" else found)
    return np.round(total).astype(x.dtype) if x.dtype.kind in "iu" else total.astype(x.dtype)


def _ends(c: Any, order: int) -> list[tuple[Any, Any]]:
    """The neighbours along an axis, and what each counts."""
    if order == 0:
        return [(np.round(c).astype(np.int64), 1.0)]
    low = np.floor(c)
    share = c - low
    k = low.astype(np.int64)
    return [(k, 1.0 - share), (k + 1, share)]


def _inside(k: Any, size: int, mode: str) -> Any:
    if mode in ("constant", "nearest"):
        return np.clip(k, 0, size - 1)
    if mode == "wrap":
        return k % size
    if mode == "mirror":
        period = max(2 * (size - 1), 1)
        return size - 1 - np.abs(k % period - (size - 1))
    turned = k % (2 * size)
    return np.minimum(turned, 2 * size - 1 - turned)


def _namespace(name: str, **members: Any) -> Any:
    module = types.ModuleType(f"untraced.scipy.{name}", f"The namespace `untraced.scipy.{name}`.")
    vars(module)["__getattr__"] = scipys_own(name)
    vars(module).update({k: ours_first(member, name, k) for k, member in members.items()})
    vars(module)["__all__"] = [*members]
    return module


def _bound(name: str) -> Any:
    source, first = _TRANSFORMS[name]
    return functools.partial(source, *first)


def _row(name: str) -> Any:
    """What has a row among the operations, by SciPy's name; else SciPy's own."""
    return getattr(_special, name, None) or scipys_own("special")(name)


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Bessel functions of the first kind, of the orders 0 to `v`, along a new first axis. `n_iter` is JAX's own."""
    return np.stack([_special.jn(k, z) for k in range(v + 1)])


_COSINES = ("dct", "idct", "dctn", "idctn", "dst", "idst", "dstn", "idstn")
fft = _namespace("fft", **{name: _bound(name) for name in _COSINES})
integrate = _namespace("integrate", **INTEGRATE_NAMES)
_OWN = {"bessel_jn": bessel_jn, **{name: _INTEGRALS[name] for name in ("expn", "dawsn", "hyp2f1")}}
special = _namespace(
    "special", **_OWN, **{name: getattr(_special, name) for name in _special.__all__}
)
vars(special)["__getattr__"] = _row  # for printed programs
signal = _namespace("signal", **{**SIGNAL_NAMES, **_SPECTRA})
ndimage = _namespace("ndimage", map_coordinates=map_coordinates, **NDIMAGE_NAMES)
