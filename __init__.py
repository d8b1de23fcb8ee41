"""Source-to-source acceleration of NumPy programs: nothing is traced, every stage can be read."""

import importlib as _importlib
import importlib.util as _util
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .runtime import scipy, testing, tree_util
from .runtime import trees as tree
from .runtime import unp as numpy
from .runtime.accelerate import accelerate
from .runtime.array import Array
from .runtime.config import config
from .runtime.devices import (
    block_until_ready,
    device_count,
    device_get,
    device_put,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from .translator.errors import (
    AliasError,
    DerivativeError,
    DTypeError,
    ShapeError,
    TargetError,
    UnsupportedError,
    UntracedError,
)

if _TYPE_CHECKING:
    from .runtime import distributed, flatten_util, lax, nn, ops, optimizers, profiler, random, stax
    from .runtime.checkpointing import checkpoint, checkpoint_policies, remat
    from .runtime.comparison import compare
    from .runtime.custom import custom_jvp, custom_vjp
    from .runtime.edited import use_gradient
    from .runtime.pmap import device_put_replicated, device_put_sharded, pmap
    from .runtime.shapes import ShapeDtypeStruct, eval_shape
    from .runtime.transforms import (
        grad,
        hessian,
        hvp,
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

_LATER = {  # what `import untraced` does not load: the module of each name
    name: module
    for module, names in {
        "checkpointing": "checkpoint checkpoint_policies remat",
        "comparison": "compare",
        "custom": "custom_jvp custom_vjp",
        "shapes": "ShapeDtypeStruct eval_shape",
        "edited": "use_gradient",
        "pmap": "device_put_replicated device_put_sharded pmap",
        "transforms": "grad hessian hvp jacfwd jacobian jacrev jvp linearize stop_gradient value_and_grad vjp vmap",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_importlib.import_module(f"{__name__}.runtime.{_LATER[name]}"), name)
    globals()[name] = found
    return found


def _lazy(name: str) -> _Any:
    """A module that is loaded when something in it is asked for."""
    spec = _util.find_spec(name)
    assert spec is not None and spec.loader is not None
    spec.loader = _util.LazyLoader(spec.loader)
    module = _sys.modules[name] = _util.module_from_spec(spec)
    spec.loader.exec_module(module)
    package, _, own = name.rpartition(".")
    setattr(_sys.modules[package], own, module)
    return module


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


jit = accelerate
__version__ = "0.1.0"

_sys.modules[f"{__name__}.numpy"] = numpy  # import untraced.numpy as unp
_sys.modules[f"{__name__}.numpy.linalg"] = numpy.linalg
_sys.modules[f"{__name__}.numpy.fft"] = numpy.fft
for _name in ("distributed", "flatten_util", "lax", "nn", "ops", "optimizers", "profiler", "random", "stax"):
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name] = _lazy(f"{__name__}.runtime.{_name}")
_sys.modules[f"{__name__}.nn.initializers"] = _lazy(f"{__name__}.runtime.initializers")
_sys.modules[f"{__name__}.tree"] = tree
_sys.modules[f"{__name__}.tree_util"] = tree_util
_sys.modules[f"{__name__}.testing"] = testing
_sys.modules[f"{__name__}.scipy"] = scipy
_sys.modules[f"{__name__}.scipy.special"] = scipy.special
_sys.modules[f"{__name__}.scipy.linalg"] = _lazy(f"{__name__}.translator.library.scipy_linalg")
scipy.__dict__["linalg"] = _sys.modules[f"{__name__}.scipy.linalg"]
_sys.modules[f"{__name__}.scipy.stats"] = scipy.stats

__all__ = [
    "AliasError",
    "Array",
    "DTypeError",
    "DerivativeError",
    "ShapeDtypeStruct",
    "ShapeError",
    "TargetError",
    "UnsupportedError",
    "UntracedError",
    "accelerate",
    "block_until_ready",
    "checkpoint",
    "checkpoint_policies",
    "compare",
    "config",
    "custom_jvp",
    "custom_vjp",
    "device_count",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
    "devices",
    "distributed",
    "eval_shape",
    "flatten_util",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linearize",
    "local_device_count",
    "local_devices",
    "nn",
    "numpy",
    "ops",
    "optimizers",
    "pmap",
    "process_count",
    "process_index",
    "profiler",
    "random",
    "remat",
    "scipy",
    "stax",
    "stop_gradient",
    "testing",
    "tree",
    "tree_util",
    "use_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
