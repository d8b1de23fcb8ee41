"""The targets "triton" and "cuda": programs and data on an NVIDIA GPU, through CuPy."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.facts import facts_of
from ...kernels.launching.executor import GpuExecutor
from ...translator.errors import errors_at
from ...translator.ir import Function
from .exchange import bits_of, capsule_of, is_bfloat16

if TYPE_CHECKING:
    from .devices import Device


class CudaDevice:
    """CuPy's current device. Data are CuPy arrays. Raises TargetError where CuPy sees no device."""

    platform = "cuda"

    def __init__(self) -> None:
        from ...kernels.launching.launch import usable_cupy

        self.cupy = usable_cupy()
        self.id = int(self.cupy.cuda.runtime.getDevice())
        self.dlpack_device = (2, self.id)

    @property
    def device_kind(self) -> str:
        """The name of the card."""
        return str(self.cupy.cuda.runtime.getDeviceProperties(self.id)["name"].decode())

    def let_go(self, host: np.ndarray[Any, Any]) -> None:
        """Its memory is NumPy's."""

    def memory_stats(self) -> dict[str, int]:
        """Bytes in use and bytes there are."""
        free, total = self.cupy.cuda.runtime.memGetInfo()
        return {"bytes_in_use": int(total - free), "bytes_limit": int(total)}

    def put(self, host: np.ndarray[Any, Any]) -> Any:
        backend = backend_of("cuda")
        with backend.refusals_told():
            return backend.asarray(np.asarray(host, order="C"))

    def adopt(self, x: Any) -> Any:
        """Another library's array on this device as a CuPy array of the same memory. Its stream is waited for."""
        if isinstance(x, self.cupy.ndarray):
            return x
        if is_bfloat16(x):
            import ml_dtypes

            return self.adopt(bits_of(x)).view(ml_dtypes.bfloat16)
        return self.cupy.from_dlpack(x) if hasattr(x, "__dlpack__") else self.cupy.asarray(x)

    def get(self, data: Any) -> np.ndarray[Any, Any]:
        host: np.ndarray[Any, Any] = self.cupy.asnumpy(data)
        host.setflags(write=False)
        return host

    def wait(self, data: Any) -> None:
        """Wait for all streams: the array may have been made on another one than the current."""
        self.cupy.cuda.Device(self.id).synchronize()

    def is_ready(self, data: Any) -> bool:
        return bool(self.cupy.cuda.get_current_stream().done)

    def is_deleted(self, data: Any) -> bool:
        return False

    def dlpack(self, data: Any, **options: Any) -> Any:
        return capsule_of(data, **options)

    def __repr__(self) -> str:
        return f"CudaDevice({self.id})"


@functools.cache
def backend_of(language: str) -> Any:
    """One backend for each language, so that kernels are loaded once."""
    from ...kernels.launching.launch import CupyBackend

    return CupyBackend(language)


class GpuProgram:
    """A fused program run group by group. Scalars stay on the host, as arguments of kernels."""

    def __init__(self, device: Device, function: Function, target: str, checks: bool) -> None:
        self.device = device
        self.backend = backend_of(target)
        self.avals = [p.aval for p in function.body.params]
        self.results = [r.aval for r in function.body.results]
        with errors_at(function.span):
            self.run = GpuExecutor(function, self.backend, facts_of(self.backend.architecture), checks)

    def _leaf(self, x: Any, place: int) -> Any:
        aval = self.avals[place]
        if isinstance(x, self.backend.xp.ndarray):
            return x
        if aval.shape:
            return self.backend.asarray(np.ascontiguousarray(x, aval.dtype))
        return x if aval.weak else aval.dtype.type(x)

    def outputs(self, values: Sequence[Any]) -> list[Any]:
        with self.backend.refusals_told():
            return self.run([self._leaf(x, i) for i, x in enumerate(values)])

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        outs = self.outputs(values)
        with self.backend.refusals_told():  # what is not contiguous is copied on the device first
            return [self._to_host(o, a.dtype) for o, a in zip(outs, self.results, strict=True)]

    def _to_host(self, x: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        host = self.backend.xp.asnumpy(x) if isinstance(x, self.backend.xp.ndarray) else np.asarray(x)
        return np.array(host, dtype)

    def on_device(self, values: Sequence[Any]) -> Sequence[Any]:
        outs = self.outputs(values)
        return [
            o if isinstance(o, self.backend.xp.ndarray) else self.backend.asarray(np.asarray(o, a.dtype))
            for o, a in zip(outs, self.results, strict=True)
        ]
