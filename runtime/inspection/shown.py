"""`make_jaxpr` and `typeof`: the program of a function to look at, as NumPy source, and types of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from ...translator.axes import named_axis
from ..calls.accelerate import accelerate
from ..calls.shapes import ShapeDtypeStruct, eval_shape


class Shown:
    """What a function computes for arguments like these, as NumPy source: `print(it)`, or `it.source`."""

    def __init__(self, source: str) -> None:
        self.source = source.rstrip()

    def __repr__(self) -> str:
        return self.source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"programs are NumPy source here, not jaxprs, and have no {name!r}: read `.source`, or ask "
            "accelerate(f).inspect(...) for stages, StableHLO and kernels"
        )


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    *,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function of the arguments of `fun` that returns its program as NumPy source; with `return_shape` also what
    it returns, with a ShapeDtypeStruct for each array.

    Arguments may be ShapeDtypeStructs. `axis_env` has the names and sizes of axes that `fun` speaks over.

    >>> print(make_jaxpr(lambda x: (np.sin(x) * 2)[::-1])(np.ones(3)))
    def function(x):
        return (np.sin(x) * 2)[::-1]
    """
    if not callable(fun):
        raise TypeError(f"make_jaxpr wants a function, not {fun!r}")
    plain = accelerate(getattr(fun, "__untraced_function__", fun), target="numpy", static_argnums=static_argnums)

    def show(*args: Any, **kwargs: Any) -> Any:
        with ExitStack() as around:
            for name, size in axis_env or ():
                around.enter_context(named_axis(name, size))
            shown = Shown(plain.inspect(*args, compile=False, **kwargs).source)
            return (shown, eval_shape(fun, *args, **kwargs)) if return_shape else shown

    return show


def typeof(x: Any) -> ShapeDtypeStruct:
    """The shape and dtype of an array or number."""
    found: ShapeDtypeStruct = eval_shape(lambda x: x, x)
    return found
