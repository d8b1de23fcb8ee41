"""Devices and the names of targets. A backend is imported when a device of it is first asked for."""

from __future__ import annotations

import functools
import importlib.util
import os
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...translator.errors import Diagnostic, TargetError

TARGETS = ("auto", "cpu", "tpu", "triton", "cuda", "numpy")


@runtime_checkable
class Device(Protocol):
    """Where data lives. `data` is the backend's own handle: a PJRT buffer, a CuPy array, a NumPy array."""

    platform: str
    dlpack_device: tuple[int, int]

    @property
    def id(self) -> int: ...

    def put(self, host: np.ndarray[Any, Any]) -> Any:
        """A copy of `host` on the device."""
        ...

    def get(self, data: Any) -> np.ndarray[Any, Any]:
        """The value on the host, read-only where memory is shared. Waits for it."""
        ...

    def wait(self, data: Any) -> None: ...

    def is_ready(self, data: Any) -> bool: ...

    def is_deleted(self, data: Any) -> bool:
        """Whether a call has taken the memory."""
        ...

    def dlpack(self, data: Any, **options: Any) -> Any: ...

    def let_go(self, host: np.ndarray[Any, Any]) -> None:
        """Nobody uses this result of `Program.host` any more."""
        ...


class Sharding:
    """Where arrays are put: see the namespace `untraced.sharding`."""

    @property
    def device(self) -> Device:
        """The device that holds them."""
        raise NotImplementedError


class HostDevice:
    """Plain NumPy memory: what the target "numpy" computes in."""

    platform = "numpy"
    id = 0
    dlpack_device = (1, 0)

    def put(self, host: np.ndarray[Any, Any]) -> Any:
        return np.array(host)

    def get(self, data: Any) -> np.ndarray[Any, Any]:
        view: np.ndarray[Any, Any] = data.view()
        view.setflags(write=False)
        return view

    def wait(self, data: Any) -> None:
        """Computed already."""

    def is_ready(self, data: Any) -> bool:
        return True

    def is_deleted(self, data: Any) -> bool:
        return False

    def let_go(self, host: np.ndarray[Any, Any]) -> None:
        """The memory is NumPy's."""

    def dlpack(self, data: Any, **options: Any) -> Any:
        from .exchange import capsule_of

        return capsule_of(data, **options)

    @property
    def device_kind(self) -> str:
        return self.platform

    def __repr__(self) -> str:
        return "HostDevice"


def cuda_present() -> bool:
    """Whether this machine has an NVIDIA driver: a cheap look, which imports nothing."""
    return any(map(os.path.exists, _DRIVERS)) or (os.name == "nt" and _windows_driver())


_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvgpu")
"""What the driver shows: of a card, in containers that hide a part of it, under WSL, on a Jetson."""


def _windows_driver() -> bool:
    import ctypes.util

    return bool(ctypes.util.find_library("nvcuda"))


def _holds(folder: str, beginning: str | tuple[str, ...]) -> bool:
    return os.path.isdir(folder) and any(name.startswith(beginning) for name in os.listdir(folder))


def tpu_present() -> bool:
    return (
        (_holds("/dev", "accel") or _holds("/dev/vfio", tuple("0123456789")))
        and importlib.util.find_spec("libtpu") is not None
    )


_PLATFORMS = {"": "auto", "cpu": "cpu", "tpu": "tpu", "gpu": "auto", "cuda": "auto"}
_told: list[str] = []


def prefer(platform: str) -> None:
    """Make "auto" the first of these platforms from now on; "" for what the machine has. ValueError for others."""
    first = platform.split(",")[0]
    if first not in _PLATFORMS:
        raise ValueError(f"a platform is one of {', '.join(filter(None, _PLATFORMS))}; got {platform!r}")
    _told[:] = [] if _PLATFORMS[first] == "auto" else [_PLATFORMS[first]]
    automatic_target.cache_clear()
    device_of_target.cache_clear()


@functools.cache
def automatic_target() -> str:
    """The target of "auto": what `prefer` was told, else a GPU that CuPy sees, else a TPU, else the processor."""
    if _told:
        return _told[0]
    if cuda_present() and importlib.util.find_spec("cupy") is not None and _cupy_sees_a_device():
        return "triton" if importlib.util.find_spec("triton") is not None else "cuda"
    return "tpu" if tpu_present() else "cpu"


def _cupy_sees_a_device() -> bool:
    import cupy

    try:
        return int(cupy.cuda.runtime.getDeviceCount()) > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def checked_target(target: str) -> str:
    if target not in TARGETS:
        raise ValueError(f"target must be one of {', '.join(TARGETS)}; got {target!r}")
    return target


def target_of(name: str | None) -> str:
    """The target of a device by its name, which JAX says "gpu" for; "auto", and None, decided. ValueError for other
    names.
    """
    if name is None or name == "auto":
        return automatic_target()
    return checked_target("cuda" if name == "gpu" else name)


@functools.cache
def device_of_target(target: str) -> Device:
    """The first device of a target. Raises TargetError where the machine has none."""
    match target:
        case "auto":
            return device_of_target(automatic_target())
        case "numpy":
            return HostDevice()
        case "cpu":
            from .xla import first_device

            return first_device()
        case "triton" | "cuda":
            return _cuda_device()
        case _:
            raise TargetError(
                Diagnostic(
                    "this process has no TPU",
                    why="programs for TPUs are compiled here, and run on a machine with one",
                    instead='look at the compiled program with f.inspect(...), or use target="cpu"',
                )
            )


@functools.cache
def _cuda_device() -> Device:
    if not cuda_present():
        raise TargetError(
            Diagnostic(
                "this machine has no NVIDIA driver",
                why="kernels for the targets triton and cuda are launched through it",
                instead='look at the kernels with f.inspect(...), or use target="cpu"',
            )
        )
    if importlib.util.find_spec("cupy") is None:
        raise TargetError(
            Diagnostic(
                "CuPy is not installed", why="it loads and launches the kernels", instead="pip install untraced[gpu]"
            )
        )
    from .gpu import CudaDevice

    return CudaDevice()


def devices(target: str | None = "auto", *, backend: str | None = None) -> list[Device]:
    """The devices of a target ("auto": where accelerated functions run by default), those of this process. `backend` is
    JAX's name for the target.

    The processor is one device, or as many as `untraced.config.cpu_devices` says.
    """
    found = target_of(backend or target)
    first = device_of_target(found)
    if found != "cpu":
        return [first]
    from .xla import local_devices as of_the_processor

    return list(of_the_processor())


def local_devices(
    target: str | None = "auto", *, backend: str | None = None, process_index: int | None = None
) -> list[Device]:
    """The same as `devices`. ValueError for the number of another process."""
    if process_index not in (None, _own_index()):
        raise ValueError(f"local_devices: process {process_index} is not this one, which is {_own_index()}")
    return devices(target, backend=backend)


def local_device_count(target: str | None = "auto", *, backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(devices(target, backend=backend))


def device_count(target: str | None = "auto", *, backend: str | None = None) -> int:
    """How many devices all processes have together."""
    if target_of(backend or target) != "cpu":
        return local_device_count(target, backend=backend)
    from ...tpu.client import platform

    return int(platform.platform().client.device_count())


def default_backend() -> str:
    """Where accelerated functions run by default: "cpu", "gpu" or "tpu"."""
    found = automatic_target()
    return "gpu" if found in ("triton", "cuda") else found


def process_index() -> int:
    """The number of this process among those that `distributed.initialize` has brought together, from 0."""
    from ...tpu.client import platform

    return platform.process_index()


def process_count() -> int:
    """How many processes `distributed.initialize` has brought together; 1 where it was not called."""
    from ...tpu.client import platform

    return platform.process_count()


def platform_read_for() -> str:
    """The platform of the target of the function that is being read, "cpu" outside: CPython runs what is not read."""
    from ...translator.purpose import purpose

    target = purpose().target
    return "cuda" if target in ("triton", "cuda") else "tpu" if target == "tpu" else "cpu"


_own_index = process_index
_KNOWN = (
    devices, local_devices, platform_read_for, local_device_count, device_count, default_backend, process_index,
    process_count,
)  # fmt: skip
for _asked in _KNOWN:
    _asked.__dict__["__untraced_static__"] = True  # answered where a function is read, once


def home(device: Device) -> Device:
    """A single device, for what is made of arrays in pieces."""
    from .xla import Pieces

    return device_of_target("cpu") if isinstance(device, Pieces) else device
