"""`untraced.config`: settings of the process, most of which must be made before the first computation.

    untraced.config.cpu_devices = 8          or, in the environment,  UNTRACED_CPU_DEVICES=8
    untraced.config.compilation_cache_dir = "cache"    or UNTRACED_CACHE=cache; None, or UNTRACED_CACHE=0, keeps nothing
    untraced.config.update("jax_enable_x64", True)      random numbers are of 64 bits where no dtype is given
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator

import numpy as np

from ...translator.precision import PRECISION
from ...translator.settings import switch
from ..targets import devices
from . import forking, strict

CHECKED_EVERYWHERE = switch("UNTRACED_CHECK_GRADS", False)
"""Whether all derivatives are compared with differences, see `checks`."""


class Config:
    """Settings of the process: `cpu_devices`, and with `update` those of JAX's settings that mean something here."""

    @property
    def cpu_devices(self) -> int:
        """How many devices the processor is taken for; they share its cores. RuntimeError where XLA runs already."""
        from ...tpu.client import platform

        return platform.device_count()

    @cpu_devices.setter
    def cpu_devices(self, count: int) -> None:
        from ...tpu.client import platform

        if count == platform.device_count():
            return
        platform.starting().devices = platform.checked_count("untraced.config.cpu_devices", count)

    jax_num_cpu_devices = cpu_devices

    @property
    def jax_enable_x64(self) -> bool:
        """Whether dtype=None of `untraced.random` means float64 and int64: told here, else JAX's own setting."""
        return PRECISION.x64

    @jax_enable_x64.setter
    def jax_enable_x64(self, value: bool | None) -> None:
        PRECISION.told = None if value is None else _switch("jax_enable_x64", value)

    @property
    def compilation_cache_dir(self) -> str | None:
        """The folder that keeps compiled programs, native loops and kernels for later processes; None for nowhere."""
        from ...kernels import kept

        folder = kept.root()
        return None if folder is None else str(folder)

    @compilation_cache_dir.setter
    def compilation_cache_dir(self, folder: str | os.PathLike[str] | None) -> None:
        from ...kernels import kept

        kept.TOLD.folder = "0" if folder is None else os.fspath(folder)

    jax_compilation_cache_dir = compilation_cache_dir

    @property
    def jax_debug_nans(self) -> bool:
        """Whether CPython runs every call, and FloatingPointError is raised at the operation that makes a NaN of
        numbers: sqrt(-1), 0 / 0, inf - inf.
        """
        return "nans" in strict.DEBUGGED

    @jax_debug_nans.setter
    def jax_debug_nans(self, value: bool) -> None:
        self._debug("nans", _switch("jax_debug_nans", value))

    @property
    def jax_debug_infs(self) -> bool:
        """Like `jax_debug_nans`, for operations that make an infinity of numbers: 1 / 0, exp(1000)."""
        return "infs" in strict.DEBUGGED

    @jax_debug_infs.setter
    def jax_debug_infs(self, value: bool) -> None:
        self._debug("infs", _switch("jax_debug_infs", value))

    @property
    def jax_disable_jit(self) -> bool:
        """Whether CPython runs every call: `print` and pdb see each value."""
        return "jit" in strict.DEBUGGED

    @jax_disable_jit.setter
    def jax_disable_jit(self, value: bool) -> None:
        self._debug("jit", _switch("jax_disable_jit", value))

    @property
    def jax_platforms(self) -> str:
        """Which platform `target="auto"` takes, "cpu" or "tpu"; set to "", whatever the machine has."""
        return devices.automatic_target()

    @jax_platforms.setter
    def jax_platforms(self, value: str | None) -> None:
        devices.prefer(value or "")

    jax_platform_name = jax_platforms
    x64_enabled = jax_enable_x64

    def _debug(self, what: str, wanted: bool) -> None:
        strict.debug(what, wanted)
        for accelerated in list(forking.known):
            accelerated.forget_programs()  # calls with Arrays alone would ask for nothing but their kinds

    def update(self, name: str, value: object) -> None:
        """Sets a setting by its name, as `jax.config.update` does. Those of JAX's that are about tracing, its logs and
        its checks, or about what is so here in any case, are taken without effect (`ACCEPTED`).

        AttributeError for an unknown setting, TypeError for a switch told anything but on or off, ValueError for
        a value that would ask for other numbers.
        """
        setattr(self, name, value)

    def read(self, name: str) -> object:
        """The value of the setting of this name. AttributeError for an unknown one."""
        return getattr(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ACCEPTED:
            ours, others = ACCEPTED[name]
            if others is not None and value != ours and value not in others:
                raise ValueError(f"{name} is {ours!r} here, and cannot be {value!r}")
            _told[name] = value
        elif isinstance(getattr(type(self), name, None), property):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"untraced.config has no setting {name!r}; it has {_NAMES}")

    def __getattr__(self, name: str) -> object:
        if name not in ACCEPTED:
            raise AttributeError(f"untraced.config has no setting {name!r}; it has {_NAMES}")
        return _told.get(name, ACCEPTED[name][0])


def _switch(name: str, value: object) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"untraced.config.{name} is True or False, not {value!r}")


_NAMES = ", ".join(name for name, made in vars(Config).items() if isinstance(made, property))

config = Config()

ACCEPTED: dict[str, tuple[object, tuple[object, ...] | None]] = {
    "jax_threefry_partitionable": (True, ()),
    "jax_default_prng_impl": ("threefry2x32", ()),
    "jax_numpy_dtype_promotion": ("standard", ()),
    "jax_numpy_rank_promotion": ("allow", None),
    "jax_enable_custom_prng": (False, None),
    "jax_default_matmul_precision": (None, None),
    "jax_default_device": (None, None),
    "jax_log_compiles": (False, None),
    "jax_explain_cache_misses": (False, None),
    "jax_check_tracer_leaks": (False, None),
    "jax_debug_key_reuse": (False, None),
    "jax_enable_checks": (False, None),
    "jax_traceback_filtering": ("auto", None),
    "jax_transfer_guard": (None, None),
    "jax_enable_compilation_cache": (True, None),
    "jax_persistent_cache_min_compile_time_secs": (1.0, None),
    "jax_persistent_cache_min_entry_size_bytes": (0, None),
}
"""Settings of JAX's that change nothing here: what each is by default, and which other values it may have (None: any).

Of these `jax_default_device` says where arrays lie, on which no result depends: a function computes on its target.
"""

_told: dict[str, object] = {}


class disable_jit(ContextDecorator):
    """A block, or a decorator, in which CPython runs accelerated functions as they are, in all threads.

    `disable=False` compiles them after all. Inside an accelerated function it has no effect.

    >>> with disable_jit():
    ...     pass
    """

    __untraced_context__ = True

    def __init__(self, disable: bool = True) -> None:
        self.disable = disable
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(config.jax_disable_jit)
        config.jax_disable_jit = self.disable

    def __exit__(self, *error: object) -> None:
        config.jax_disable_jit = self._before.pop()
