"""The decorator `accelerate`, and `plain`: how functions and transformations of functions are made to run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import above
from ..arrays.adopted import OnGpu
from ..arrays.array import Array
from . import strict
from .accelerated import Accelerated, accelerated
from .arguments import open_arguments
from .callables import readable
from .config import CHECKED_EVERYWHERE
from .options import Argnames, Argnums, Options, settled_target

if TYPE_CHECKING:
    from ..transforms.checks import Sampler

Fun = Callable[..., Any]


def accelerate(
    fun: Fun | None = None,
    *,
    target: str = "auto",
    static_argnums: Argnums = (),
    static_argnames: Argnames = (),
    donate_argnums: Argnums = (),
    checks: bool = True,
    fallback: str = "error",
    check_grads: bool = False,
    donate_argnames: Argnames = (),
    **of_jit: Any,
) -> Any:
    """Compile a NumPy function. A decorator, with or without arguments.

    target           "auto" (a GPU if there is one, else a TPU, else the CPU), "cpu", "tpu", "triton", "cuda" or
                     "numpy".
    static_argnums, static_argnames   arguments on whose values the function is specialised; most are found by
                                      themselves.
    donate_argnums, donate_argnames   Arrays whose memory the results may reuse; they cannot be used afterwards.
    checks           whether the program checks at run time what could not be proven before: indices, divisors of
                     Python numbers, exponents of integers. A failed check raises what NumPy raises (IndexError,
                     ZeroDivisionError, ...). The function's own `raise` and `assert` are kept in any case.
    fallback         what to do with a function outside the language: "error" raises, "numpy" runs it as it is under
                     CPython, with one warning.
    check_grads      compare the derivatives of the function (of a transformation, those that it takes) with finite
                     differences, at the first call and at samples of later ones; raises DerivativeError where they
                     differ. The environment variable UNTRACED_CHECK_GRADS=1 does so for every function.
    of_jit           further arguments of jax.jit, accepted because no result depends on them: inline, keep_unused,
                     compiler_options, in_shardings, out_shardings and device. backend names a target.

    NumPy arrays and Python numbers in give NumPy arrays out; where NumPy gives an argument itself, or a view of one, so
    does the call. With an Array among the arguments the results are Arrays, and the call returns before they are
    computed. Arguments that the function writes in place are written in the caller's arrays.

    The result is called like `fun`, and has `inspect(*args)`, `source(*args)` and `explain_recompiles()`. It is
    translated once for each tree structure, shapes and dtypes of the arguments. Errors are those that NumPy raises;
    a construct outside the language is an UnsupportedError at its line, before anything runs.

    >>> @accelerate(target="cpu")
    ... def smooth(x, n):
    ...     for _ in range(n):
    ...         x[1:-1] = 0.5 * x[1:-1] + 0.25 * (x[:-2] + x[2:])
    ...     return x
    >>> smooth(np.array([0.0, 4.0, 0.0, 0.0]), 2)
    array([0.  , 1.25, 1.  , 0.  ])
    """
    check_grads = check_grads or CHECKED_EVERYWHERE
    target = settled_target(target, of_jit)
    options = Options(
        target, static_argnums, static_argnames, donate_argnums, checks, fallback, check_grads, donate_argnames
    )
    if fun is None:
        return functools.partial(_accelerate, options=options)
    return _accelerate(fun, options)


def _accelerate(fun: Fun, options: Options) -> Accelerated:
    if isinstance(fun, staticmethod | classmethod | property):
        raise TypeError(f"write @{type(fun).__name__} above @accelerate, not below it")
    if isinstance(fun, type) or not callable(fun):
        given: Any = fun
        hint = f"; options go by name: accelerate(target={given!r})" if isinstance(given, str) else ""
        if isinstance(fun, type):
            name = fun.__name__
            hint = ": decorate its methods" if fun.__module__ != "builtins" else f": accelerate(lambda x: {name}(x))"
        raise TypeError(f"accelerate wants a function, not {given!r}{hint}")
    plain = fun.fun if isinstance(fun, Accelerated) else readable(fun)
    options.check(plain)
    return accelerated(plain, options.with_donated_names(plain))


for _made_at_translation in (accelerate, _accelerate):
    _made_at_translation.__dict__["__untraced_static__"] = True  # within a function that is read it is called then


def plain(fun: Fun) -> Accelerated:
    """Run `fun`, a transformation of a plain function: by CPython on NumPy arrays, else on the default device."""
    return PlainOrDevice(fun, Options("numpy", (), (), (), True, "error"))


class PlainOrDevice(Accelerated):
    """Runs as NumPy source on NumPy arrays, and compiled, on the default device, where there are Arrays."""

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if CHECKED_EVERYWHERE:
            self._sampler.check(args, kwargs)
        try:
            key, leaves = open_arguments(args, kwargs)
        except OnGpu:
            return self._on_device(*args, **kwargs)
        if any(type(x) is Array for x in leaves):
            return self._on_device(*args, **kwargs)
        found = next((e for e in self._entries.get(key, ()) if e.matches(leaves)), None)
        try:
            entry = found or self._specialise(key, leaves, args, kwargs)
        except Exception as error:
            raise self._placed(error) from error.__cause__
        if strict.DEBUGGED:
            with strict.debugging():
                return self._ran(entry, leaves, (args, kwargs))
        return self._ran(entry, leaves, (args, kwargs))

    @functools.cached_property
    def _sampler(self) -> Sampler:
        return above.sampler(self.fun)

    @functools.cached_property
    def _on_device(self) -> Accelerated:
        return Accelerated(self.fun, Options("auto", (), (), (), True, "error"))
