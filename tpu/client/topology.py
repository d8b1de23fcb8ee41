"""Programs compiled by the real TPU compiler, for named chips, on a machine that has none.

    program = compile_tpu(emit(function, target="tpu"), "v5e:2x2")
    program.memory["temporary"], program.cost["optimal_seconds"], program.hlo

The process may hold the CPU client too; nothing here touches it.
"""

from __future__ import annotations

import glob
import os
import threading
from typing import Any

import numpy as np

from ...translator.errors import Diagnostic, TargetError
from ...translator.records import dataclass
from ..emit.program import Emitted
from .executable import backend_error, memory_stats
from .platform import platform

TOPOLOGIES = ("v4:2x2x1", "v5e:2x2", "v5p:2x2x1", "v6e:2x2")
_lock = threading.Lock()
_devices: dict[str, Any] = {}
_loaded = False


@dataclass(frozen=True, slots=True)
class TpuProgram:
    """A program compiled for one chip of `topology`.

    `memory` in bytes (argument, output, alias, temporary, code); `cost` is the compiler's own analysis: flops, bytes
    accessed, `optimal_seconds` as it estimates them for that chip.
    """

    topology: str
    hlo: str
    memory: dict[str, int]
    cost: dict[str, float]
    serialized: bytes


def compile_tpu(program: Emitted, topology: str = "v5e:2x2") -> TpuProgram:
    """Compile for one chip. Raises TargetError when libtpu is missing, the topology unknown or the compiler refuses.

    TPUs have no float64: the compiler emulates it (and complex128) with pairs of float32, which keeps about 48 bits of
    the significand and the exponents of float32, and costs some twenty times as much.
    """
    device = _device(topology)
    p = platform()
    options = p.xla_client.CompileOptions()
    for o in (options, options.executable_build_options):
        o.num_replicas, o.num_partitions = 1, 1
    options.device_assignment = p.xla_client.DeviceAssignment.create(np.array([[device.id]]))
    try:
        compiled = device.client.compile(_parse(program.text), p.jaxlib.DeviceList((device,)), options)
    except RuntimeError as error:
        raise backend_error(f"the TPU compiler refuses {program.name} for {topology}", error) from error
    stats, cost = compiled.get_compiled_memory_stats(), dict(compiled.cost_analysis())
    return TpuProgram(topology, compiled.hlo_modules()[0].to_string(), memory_stats(stats), cost, compiled.serialize())


def _device(topology: str) -> Any:
    """A compile-only device, made once for each topology."""
    with _lock:
        if topology not in _devices:
            _load()
            try:
                made = platform().xla_client.make_tfrt_tpu_c_api_device_topology(topology)
            except (RuntimeError, ValueError) as error:
                known = ", ".join(TOPOLOGIES)
                why = str(error).splitlines()[0]
                what = Diagnostic(f"no TPU topology is called {topology!r}", why=why, instead=f"such as {known}")
                raise TargetError(what) from error
            _devices[topology] = made._make_compile_only_devices()[0]
        return _devices[topology]


def _load() -> None:
    """Load libtpu into the process as a PJRT plugin, once; jax may have done so already."""
    global _loaded
    if _loaded:
        return
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # no look-up of a cloud metadata server
    if not glob.glob("/dev/accel*") and not glob.glob("/dev/vfio/[0-9]*"):
        os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")  # its lock guards a chip, and here there is none
        os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")  # it looks for the host's chips and complains
        os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
    os.environ.setdefault("TPU_STDERR_LOG_LEVEL", "3")
    os.environ.setdefault("TPU_MIN_LOG_LEVEL", "3")
    try:
        import libtpu
    except ImportError as error:
        raise TargetError(
            Diagnostic(
                "compiling for TPUs needs libtpu, which cannot be imported",
                why=str(error),
                instead="pip install 'untraced[tpu]'",
            )
        ) from error
    xla = platform().xla_client
    if not xla.pjrt_plugin_loaded("tpu"):
        xla.load_pjrt_plugin_dynamically("tpu", os.path.join(os.path.dirname(libtpu.__file__), "libtpu.so"))
    try:
        if not xla.pjrt_plugin_initialized("tpu"):
            xla.initialize_pjrt_plugin("tpu")
    except RuntimeError as error:
        raise backend_error("libtpu cannot be initialised", error) from error
    _loaded = True


def _parse(text: str) -> Any:
    """The compile-only client wants a module object, not text."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    context.load_all_available_dialects()
    return ir.Module.parse(text, context)
