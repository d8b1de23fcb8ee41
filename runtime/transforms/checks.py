"""Derivatives checked while a program runs: at the first call, and at fewer and fewer of those that follow.

    @accelerate(check_grads=True)          or, for all that is accelerated or transformed,  UNTRACED_CHECK_GRADS=1
    def loss(w, x): ...

A call is checked by random projections, one argument at a time, against differences of the function as CPython runs it.
Where the differences themselves do not settle, at a kink or beside a singularity, nothing can be said, and nothing is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...translator.errors import UnsupportedError
from ...translator.reading.text.signature import signature_of
from ...translator.tree import flatten, tree_map
from ..arrays.array import Array
from . import testing
from .transformation import Transformation

Fun = Callable[..., Any]

_checking: ContextVar[bool] = ContextVar("checking", default=False)


class Sampler:
    """Says which calls of a function are checked, the 1st, 2nd, 4th, 8th, ..., and checks them."""

    def __init__(self, fun: Fun) -> None:
        self.fun, self.calls = fun, 0

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises DerivativeError where a derivative is wrong at these arguments."""
        if _checking.get():
            return
        self.calls += 1
        if self.calls & (self.calls - 1):
            return
        token = _checking.set(True)
        try:
            check_call(self.fun, args, kwargs)
        finally:
            _checking.reset(token)


def check_call(fun: Fun, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check the derivatives that `fun` has, or that it takes of another function, at the arguments of a call."""
    base, args, chosen, order, has_aux = _underneath(fun, tuple(args))
    name = getattr(base, "__name__", repr(base))
    given: tuple[Any, ...] = tree_map(_on_host, tuple(args))
    options = tree_map(_on_host, dict(kwargs))
    for i, x in enumerate(given):
        if (chosen is None or i in chosen) and any(map(testing.inexact, flatten(x)[0])):
            held = _of_one_argument(base, given, options, i, has_aux)
            _check_argument(held, x, order, f"{name} with respect to {_argument_name(base, i)}")


def _underneath(fun: Any, args: tuple[Any, ...]) -> tuple[Fun, tuple[Any, ...], set[int] | None, int, bool]:
    """The function whose derivative is taken, its arguments, which of them are asked for, the order, and has_aux."""
    order, chosen, has_aux = 0, None, False
    while isinstance(fun, Transformation) and fun.stage == "derive":
        order += 1
        has_aux = getattr(fun, "has_aux", False)
        argnums = getattr(fun, "argnums", None)
        if fun.verb == "jvp":
            args = tuple(args[0])
        if argnums is not None:
            numbers = (argnums,) if isinstance(argnums, int) else argnums
            chosen = {i % len(args) for i in numbers}
        fun = fun.fun
    return fun, args, chosen, max(order, 1), has_aux


def _of_one_argument(fun: Fun, args: tuple[Any, ...], kwargs: Any, i: int, has_aux: bool) -> Fun:
    def held(x: Any) -> Any:
        given = [tree_map(testing.copied, a) for a in args]
        out = fun(*given[:i], x, *given[i + 1 :], **kwargs)
        return out[0] if has_aux else out

    return held


def _check_argument(f: Fun, x: Any, order: int, what: str) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for mode in ("rev", "fwd"):
            try:
                testing.check_settled(f, (x,), order, mode, f"the derivative of {what}")
            except UnsupportedError:
                continue  # asked for, it would be refused, with the reason
            except TypeError as error:
                if mode == "rev" or "custom_vjp" not in str(error):
                    raise


def _argument_name(fun: Fun, i: int) -> str:
    try:
        names = list(signature_of(fun).parameters)
    except (TypeError, ValueError):
        names = []
    return f"`{names[i]}`" if i < len(names) else f"argument {i}"


def _on_host(x: Any) -> Any:
    return np.array(x) if type(x) is Array else x
