"""Source-to-source acceleration of NumPy programs: nothing is traced, every stage can be read.

Importing this package loads nothing: a name is looked for when it is first asked for.
"""

import sys as _sys
from functools import partial as _partial
from importlib import import_module as _import_module
from importlib.machinery import ModuleSpec as _ModuleSpec
from operator import attrgetter as _attrgetter
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from .runtime.arrays.array import Array
    from .runtime.arrays.transfer import block_until_ready, device_get, device_put
    from .runtime.calls.accelerate import accelerate
    from .runtime.calls.accelerate import accelerate as jit
    from .runtime.calls.config import config, disable_jit
    from .runtime.calls.shapes import ShapeDtypeStruct, eval_shape
    from .runtime.distribution import distributed, sharding
    from .runtime.distribution.pmap import device_put_replicated, device_put_sharded, pmap
    from .runtime.distribution.shard_map import shard_map
    from .runtime.distribution.sharding import NamedSharding, P, make_mesh, set_mesh
    from .runtime.distribution.shards import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
    )
    from .runtime.inspection import profiler, stages
    from .runtime.inspection.comparison import compare
    from .runtime.inspection.shown import make_jaxpr, typeof
    from .runtime.namespaces import (
        core,
        debug,
        dlpack,
        dtypes,
        errors,
        example_libraries,
        experimental,
        image,
        lax,
        nn,
        ops,
        optimizers,
        random,
        stax,
        streams,
        typing,
    )
    from .runtime.namespaces import unp as numpy
    from .runtime.namespaces.dtypes import float0
    from .runtime.namespaces.scopes import (
        checking_leaks,
        clear_caches,
        debug_infs,
        debug_nans,
        default_device,
        default_matmul_precision,
        effects_barrier,
        enable_x64,
        ensure_compile_time_eval,
        log_compiles,
        named_call,
        named_scope,
        numpy_rank_promotion,
        transfer_guard,
    )
    from .runtime.scipy import namespace as scipy
    from .runtime.targets.devices import (
        Device,
        default_backend,
        device_count,
        devices,
        local_device_count,
        local_devices,
        process_count,
        process_index,
    )
    from .runtime.transforms import checkpointing as ad_checkpoint
    from .runtime.transforms import custom_batching, custom_derivatives, testing
    from .runtime.transforms import testing as test_util
    from .runtime.transforms.checkpointing import checkpoint, checkpoint_policies, remat
    from .runtime.transforms.custom import custom_jvp, custom_vjp
    from .runtime.transforms.custom_derivatives import (
        closure_convert,
        custom_gradient,
        linear_transpose,
        pure_callback,
    )
    from .runtime.transforms.edited import use_gradient
    from .runtime.transforms.stopping import stop_gradient
    from .runtime.transforms.transforms import (
        grad,
        hessian,
        hvp,
        jacfwd,
        jacobian,
        jacrev,
        jvp,
        linearize,
        value_and_grad,
        vjp,
        vmap,
    )
    from .runtime.trees import flatten_util, tree, tree_util
    from .translator.errors import (
        AliasError,
        DerivativeError,
        DTypeError,
        ShapeError,
        TargetError,
        UnsupportedError,
        UntracedError,
    )
    from .translator.ops.implicit import sloped

_NAMES = {  # where each name is, as above
    name: module
    for module, names in {
        "runtime.calls.accelerate": "accelerate jit",
        "runtime.arrays.array": "Array",
        "runtime.transforms.checkpointing": "checkpoint checkpoint_policies remat",
        "runtime.inspection.comparison": "compare",
        "runtime.calls.config": "config disable_jit",
        "runtime.transforms.custom": "custom_jvp custom_vjp",
        "runtime.transforms.custom_derivatives": "closure_convert custom_gradient linear_transpose pure_callback",
        "runtime.arrays.transfer": "block_until_ready device_get device_put",
        "runtime.targets.devices": "Device default_backend device_count devices local_device_count local_devices"
        " process_count process_index",
        "runtime.namespaces.dtypes": "float0",
        "runtime.transforms.edited": "use_gradient",
        "runtime.distribution.pmap": "device_put_replicated device_put_sharded pmap",
        "runtime.namespaces.scopes": "checking_leaks clear_caches debug_infs debug_nans default_device"
        " default_matmul_precision effects_barrier enable_x64 ensure_compile_time_eval log_compiles named_call"
        " named_scope numpy_rank_promotion transfer_guard",
        "runtime.calls.shapes": "ShapeDtypeStruct eval_shape",
        "runtime.distribution.shard_map": "shard_map",
        "runtime.distribution.shards": "make_array_from_callback make_array_from_process_local_data"
        " make_array_from_single_device_arrays",
        "runtime.distribution.sharding": "NamedSharding P make_mesh set_mesh",
        "runtime.inspection.shown": "make_jaxpr typeof",
        "runtime.transforms.stopping": "stop_gradient",
        "runtime.transforms.transforms": "grad hessian hvp jacfwd jacobian jacrev jvp linearize value_and_grad"
        " vjp vmap",
        "translator.errors": "AliasError DerivativeError DTypeError ShapeError TargetError UnsupportedError"
        " UntracedError",
        "translator.ops.implicit": "sloped",
    }.items()
    for name in names.split()
}
_NAMESPACES = {  # `import untraced.random` and `untraced.random`: the module that it is
    "ad_checkpoint": "runtime.transforms.checkpointing",
    "core": "runtime.namespaces.core",
    "custom_batching": "runtime.transforms.custom_batching",
    "custom_derivatives": "runtime.transforms.custom_derivatives",
    "debug": "runtime.namespaces.debug",
    "dlpack": "runtime.namespaces.dlpack",
    "distributed": "runtime.distribution.distributed",
    "dtypes": "runtime.namespaces.dtypes",
    "errors": "runtime.namespaces.errors",
    "example_libraries": "runtime.namespaces.example_libraries",
    "experimental": "runtime.namespaces.experimental",
    "flatten_util": "runtime.trees.flatten_util",
    "image": "runtime.namespaces.image",
    "lax": "runtime.namespaces.lax",
    "nn": "runtime.namespaces.nn",
    "numpy": "runtime.namespaces.unp",
    "ops": "runtime.namespaces.ops",
    "optimizers": "runtime.namespaces.optimizers",
    "profiler": "runtime.inspection.profiler",
    "random": "runtime.namespaces.random",
    "scipy": "runtime.scipy.namespace",
    "sharding": "runtime.distribution.sharding",
    "stages": "runtime.inspection.stages",
    "stax": "runtime.namespaces.stax",
    "streams": "runtime.namespaces.streams",
    "test_util": "runtime.transforms.testing",
    "testing": "runtime.transforms.testing",
    "tree": "runtime.trees.tree",
    "tree_util": "runtime.trees.tree_util",
    "typing": "runtime.namespaces.typing",
}
_WITHIN = {
    "example_libraries": ("optimizers", "stax"),
    "experimental": ("checkify", "jet", "mesh_utils", "multihost_utils", "ode", "shard_map"),
    "lax": ("linalg",),
    "nn": ("initializers",),
    "numpy": ("fft", "linalg"),
    "scipy": (
        "cluster", "cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
        "sparse.linalg", "special", "stats",
    ),
}  # fmt: skip

__version__ = "0.1.0"


def __getattr__(name: str) -> _Any:
    if name in _NAMESPACES:
        return _import_module(f"{__name__}.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(f"{__name__}.{_NAMES[name]}")
    found = globals()[name] = getattr(module, "accelerate" if name == "jit" else name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def _missing(module: _ModuleType, known_as: str, name: str) -> _Any:
    raise AttributeError(f"module {known_as!r} has no attribute {name!r}", name=name, obj=module)


def _list_offered(module: _ModuleType, parts: _Any) -> None:
    """Lets `dir` of a module of ours list what it offers and the namespaces in it, and nothing that it has imported."""
    offered = getattr(module, "__all__", None)
    if offered is not None and module.__name__.startswith(_OURS):
        own = [name for name in vars(module) if name.startswith("__")]
        listed = sorted({*offered, *own, *(part for part in parts if "." not in part)})
        vars(module).setdefault("__dir__", lambda: listed)


class _Namespaces:
    """Finds the namespaces under their names for Python's import, which asks it after its own finders."""

    @staticmethod
    def find_spec(name: str, path: _Any = None, target: _Any = None) -> _ModuleSpec | None:
        package, _, own = name.partition(".")
        loader: _Any = _Namespaces
        return _ModuleSpec(name, loader) if package == __name__ and own in _NAMESPACES else None

    @staticmethod
    def create_module(spec: _ModuleSpec) -> _ModuleType:
        own = spec.name.partition(".")[2]
        module = _import_module(f"{__name__}.{_NAMESPACES[own]}")
        vars(module).setdefault("__getattr__", _partial(_missing, module, spec.name))
        spec.loader_state = module.__spec__  # which Python overwrites
        _name(module, spec.name)
        parts = _WITHIN.get(own, ())
        _list_offered(module, parts)
        for part in parts:
            inner = _sys.modules[f"{spec.name}.{part}"] = _attrgetter(part)(module)
            _name(inner, f"{spec.name}.{part}")
            _list_offered(inner, ())
        return module

    @staticmethod
    def exec_module(module: _ModuleType) -> None:
        """The module has been executed under its own name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _name(module: _ModuleType, name: str) -> None:
    """Lets a module of ours say, where a name is looked for in vain, the name by which users know it."""
    if module.__spec__ is not None and module.__name__ == module.__spec__.name and module.__name__.startswith(_OURS):
        module.__name__ = name


_OURS = f"{__name__}."
_finder: _Any = _Namespaces
_sys.meta_path[:] = [f for f in _sys.meta_path if getattr(f, "__module__", "") != __name__] + [_finder]  # reloads

__all__ = [
    "AliasError",
    "Array",
    "DTypeError",
    "DerivativeError",
    "Device",
    "NamedSharding",
    "P",
    "ShapeDtypeStruct",
    "ShapeError",
    "TargetError",
    "UnsupportedError",
    "UntracedError",
    "accelerate",
    "ad_checkpoint",
    "block_until_ready",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "compare",
    "config",
    "core",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "device_count",
    "device_get",
    "device_put",
    "device_put_replicated",
    "device_put_sharded",
    "devices",
    "disable_jit",
    "distributed",
    "dlpack",
    "dtypes",
    "effects_barrier",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "example_libraries",
    "experimental",
    "flatten_util",
    "float0",
    "grad",
    "hessian",
    "hvp",
    "image",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "numpy_rank_promotion",
    "ops",
    "optimizers",
    "pmap",
    "process_count",
    "process_index",
    "profiler",
    "pure_callback",
    "random",
    "remat",
    "scipy",
    "set_mesh",
    "shard_map",
    "sharding",
    "sloped",
    "stages",
    "stax",
    "stop_gradient",
    "streams",
    "test_util",
    "testing",
    "transfer_guard",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "use_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
