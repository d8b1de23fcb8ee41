"""XLA's CPU clients: for Arrays, whose calls return before the result is computed, and for NumPy's arrays.

jaxlib is imported at the first use, never before. The `jax` package is neither needed nor imported; where a program has
imported it, before or after, both work side by side.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...translator.errors import Diagnostic, TargetError
from ...translator.records import dataclass
from ...translator.settings import switch

ASYNCHRONOUS = switch("UNTRACED_CPU_ASYNCHRONOUS", True)
"""Calls with Arrays return before the result is computed, unless UNTRACED_CPU_ASYNCHRONOUS=0. XLA hands all but trivial
programs to another thread for it, which costs 20 to 60 us a call: a loop over many small programs is faster without.
"""
MOST_DEVICES = 4_096


class Platform:
    """jaxlib, a CPU client of it, and the pieces that are used at every call."""

    def __init__(self, asynchronous: bool, devices: int | None, others: Mapping[str, Any]) -> None:
        _jax = load_jaxlib()
        import jaxlib.xla_client as xla

        xla_client: Any = xla
        self.jaxlib: Any = _jax
        self.xla_client = xla_client
        _register_states(_jax)
        self.client = xla_client.make_cpu_client(asynchronous=asynchronous, num_devices=devices, **others)
        self.local = tuple(self.client.local_devices())
        self.device = self.local[0]
        self.devices = _jax.DeviceList((self.device,))
        self.sharding = one_device(_jax, xla_client, self.device)
        self.trees = _jax.pytree.default_registry()
        self.buffer_type = _jax.ArrayImpl
        self.put = _jax.batched_device_put
        self.copying = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
        self.lending = _jax.HostBufferSemantics.ZERO_COPY
        self.jax_x64: Any = None

    def find_jax_x64(self) -> Any:
        """jax's switch between 32 and 64 bits; None until jax is imported."""
        self.jax_x64 = getattr(sys.modules.get("jax._src.config"), "enable_x64", None)
        return self.jax_x64


def load_jaxlib() -> Any:
    """Import jaxlib's C++ module. Raises TargetError where it is missing."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    try:
        import jaxlib._jax as _jax
        import jaxlib.xla_client  # noqa: F401  # missing together
    except ImportError as error:
        raise TargetError(
            Diagnostic(
                "the cpu target needs jaxlib, which cannot be imported",
                why=str(error),
                instead="pip install 'jaxlib>=0.10.2,<0.11'",
            )
        ) from error
    return _jax


@functools.cache
def _register_states(_jax: Any) -> None:
    """jaxlib's argument parser wants three switches registered once a process; jax registers its own."""
    if "jax._src.config" in sys.modules:
        return
    config = _jax.config.Config
    _jax.jax_jit.set_enable_x64_state(config("enable_x64", True, include_in_jit_key=True))
    _jax.jax_jit.set_disable_jit_state(config("disable_jit", False, include_in_jit_key=False))
    _jax.jax_jit.set_post_hook_state(config("post_hook", None, include_in_jit_key=False))


def one_device(_jax: Any, xla_client: Any, device: Any) -> Any:
    """A sharding of jaxlib's own class: its dispatch takes 0.2 us longer for a subclass.

    The C++ side asks it for two things that jax, when it is imported later, replaces by its own.
    """
    cls = _jax.SingleDeviceSharding
    if "_to_xla_hlo_sharding" not in vars(cls):
        cls.memory_kind = None
        cls._to_xla_hlo_sharding = lambda self, ndim: xla_client.HloSharding.replicate()
    return cls(device)


def _asked_for() -> int | None:
    """The number of devices that the environment asks for; one by default."""
    said = os.environ.get("UNTRACED_CPU_DEVICES", "")
    return checked_count("UNTRACED_CPU_DEVICES", int(said) if said.isdecimal() else said) if said else None


def checked_count(where: str, count: object) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_DEVICES:
        raise ValueError(f"{where} must be an int from 1 to {MOST_DEVICES}, not {count!r}")
    return count


@dataclass(slots=True)
class Start:
    """How the client is started: as how many devices the processor counts, and the link to other processes."""

    devices: int | None = field(default_factory=_asked_for)
    others: dict[str, Any] = field(default_factory=dict)


@functools.cache
def _start() -> Start:
    return Start()


def starting() -> Start:
    """The settings that the client will start with, to be changed. RuntimeError once it has been started."""
    if False in _platforms:
        raise RuntimeError(
            "XLA has been started by a computation or a question for devices before this: set the number of devices "
            "and initialize untraced.distributed first thing in the program"
        )
    return _start()


def device_count() -> int:
    """The devices of this process, without starting the client for it."""
    p = _platforms.get(False)
    return (_start().devices or 1) if p is None else len(p.local)


def linked() -> bool:
    """Whether there are other processes."""
    return bool(_start().others)


def process_index() -> int:
    return int(_start().others.get("node_id", 0))


def process_count() -> int:
    return int(_start().others.get("num_nodes", 1))


_platforms: dict[bool, Platform] = {}  # by whether its programs run in the calling thread alone
_lock = threading.Lock()


def platform(waits: bool = False) -> Platform:
    """The process's client, made at the first call. Raises TargetError when jaxlib is missing.

    `waits`: a second one, of one device, for calls that wait for their results. Its programs run in the calling thread,
    without the 20 to 60 us that another thread takes to wake up; where ASYNCHRONOUS is off, all do.
    """
    apart = waits and ASYNCHRONOUS
    if apart not in _platforms:
        with _lock:
            if apart not in _platforms:
                start = _start()
                _platforms[apart] = (
                    Platform(False, 1, {}) if apart else Platform(ASYNCHRONOUS, start.devices, start.others)
                )
    return _platforms[apart]


def started() -> list[Platform]:
    """The clients that have been made."""
    return list(_platforms.values())
