"""Source-to-source acceleration of NumPy programs: nothing is traced, every stage can be read."""

import sys as _sys

from .runtime import scipy, testing
from .runtime import trees as tree
from .runtime import unp as numpy
from .runtime.accelerate import accelerate
from .runtime.array import Array
from .runtime.devices import block_until_ready, device_get, device_put, devices
from .runtime.transforms import (
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from .translator.errors import AliasError, DTypeError, ShapeError, TargetError, UnsupportedError, UntracedError

jit = accelerate
__version__ = "0.1.0"

_sys.modules[f"{__name__}.numpy"] = numpy  # import untraced.numpy as unp
_sys.modules[f"{__name__}.numpy.linalg"] = numpy.linalg
_sys.modules[f"{__name__}.numpy.fft"] = numpy.fft
_sys.modules[f"{__name__}.tree"] = tree
_sys.modules[f"{__name__}.testing"] = testing
_sys.modules[f"{__name__}.scipy"] = scipy
_sys.modules[f"{__name__}.scipy.special"] = scipy.special

__all__ = [
    "AliasError",
    "Array",
    "DTypeError",
    "ShapeError",
    "TargetError",
    "UnsupportedError",
    "UntracedError",
    "accelerate",
    "block_until_ready",
    "device_get",
    "device_put",
    "devices",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "numpy",
    "scipy",
    "stop_gradient",
    "testing",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]
