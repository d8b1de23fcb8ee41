"""JAX's context managers and decorators around a piece of program: name scopes and block settings.

    with named_scope("attention"):          with enable_x64():
        ...                                     random.normal(key, (3,))      float64

Blocks of `named_scope`, `default_matmul_precision` and `ensure_compile_time_eval` are read as they stand: inside
functions that are accelerated, differentiated or batched they cost nothing. The others are for the code around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ..calls import forking
from ..calls.config import config
from ..transforms import transformation

_F = TypeVar("_F", bound=Callable[..., Any])


class Unchanged:
    """A block, or a function, that computes what it would compute anyway."""

    __untraced_context__ = True

    def __enter__(self) -> None:
        """Nothing is to be set."""

    def __exit__(self, *error: object) -> None:
        """Nothing was set."""

    def __call__(self, function: _F) -> _F:
        """As a decorator: the function itself."""
        return function


class named_scope(Unchanged):
    """`with named_scope("name"):` or `@named_scope("name")`. Profiles tell time by the user's lines, so the name is for
    the reader alone.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope wants a name, not {name!r}")
        self.name = name


class default_matmul_precision(Unchanged):
    """Accepted for JAX's sake, without effect: products always have the full precision of their dtype."""

    def __init__(self, precision: Any) -> None:
        self.precision = precision


class ensure_compile_time_eval(Unchanged):
    """Accepted for JAX's sake, without effect: what depends on constants alone is known when a function is read."""


def named_call(fun: _F, *, name: str | None = None) -> _F:
    """Return `fun` unchanged: profiles know functions by their source. Accepted for JAX's sake."""
    return fun


@contextmanager
def _setting(name: str, value: Any) -> Iterator[None]:
    before = getattr(config, name)
    config.update(name, value)
    try:
        yield
    finally:
        config.update(name, before)


def enable_x64(new_val: bool = True) -> Any:
    """A block in which random numbers drawn without a dtype are of 64 bits, or of 32 with `enable_x64(False)`."""
    return _setting("jax_enable_x64", new_val)


def debug_nans(new_val: bool = True) -> Any:
    """A block in which an operation that makes a NaN raises FloatingPointError; see `config.jax_debug_nans`."""
    return _setting("jax_debug_nans", new_val)


def debug_infs(new_val: bool = True) -> Any:
    """A block in which an operation that makes an infinity of finite numbers raises FloatingPointError."""
    return _setting("jax_debug_infs", new_val)


def clear_caches() -> None:
    """Forget all compiled programs and all cached transformations of functions."""
    for accelerated in list(forking.known):
        accelerated.forget_programs()
    transformation.forget()


def effects_barrier() -> None:
    """Return at once: printing and callbacks are done by CPython, in program order. Accepted for JAX's sake."""


class _WithoutEffect(Unchanged):
    """A block setting of JAX's about tracing, its checks or the place of arrays; results do not depend on it."""

    def __init__(self, *value: Any, **options: Any) -> None:
        self.value = value


class log_compiles(_WithoutEffect):
    """Accepted for JAX's sake, without effect: `f.explain_recompiles()` says what was translated and why."""


class checking_leaks(_WithoutEffect):
    """Accepted for JAX's sake, without effect: nothing is traced, so no tracer leaks."""


class numpy_rank_promotion(_WithoutEffect):
    """Accepted for JAX's sake, without effect: shapes are broadcast by NumPy's rules."""


class transfer_guard(_WithoutEffect):
    """Accepted for JAX's sake, without effect: Arrays are moved when they are used on another device."""


class default_device(_WithoutEffect):
    """Accepted for JAX's sake, without effect: functions compute on the device of their target."""
