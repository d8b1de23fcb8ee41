"""What all transformations share: being called, inspected, nested and cached like functions."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...translator.reading.text.signature import Signature
from ...translator.tracebacks import trim_traceback
from ..calls.accelerate import plain
from ..calls.accelerated import Accelerated
from ..calls.callables import readable
from ..calls.naming import Standing, named, place_of

if TYPE_CHECKING:
    from ...translator.errors import Span
    from ...translator.ir import Function
    from ...translator.pipeline import Positions
    from ...translator.reading.functions.results import Reading
    from ..inspection.inspection import Inspection

Fun = Callable[..., Any]


class Transformation(Standing):
    """A function made from another one by a rule that subclasses define; it has the name, docstring and parameters of
    the other.
    """

    verb = ""  # the name of the transformation, for messages: "grad"
    stage = ""  # the pass of the pipeline that applies it: "derive" or "batch"

    fun: Fun

    def __init__(self, fun: Fun, *options: Any) -> None:
        if not callable(fun):
            raise TypeError(f"{self.verb} wants a function, not {fun!r}")
        fun = readable(fun)
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun

    @classmethod
    def of_accelerated(cls, fun: Accelerated, *options: Any) -> Transformation:
        """The transformation of the function inside an accelerated one."""
        return cls(fun.fun, *options)

    def __untraced_read__(self, signature: Signature) -> Reading:
        """The program of this transformation for a signature."""
        from ...translator.pipeline import transform
        from ...translator.reading.reader import read

        return transform(
            self.stage,
            lambda inner: read(self.fun, inner, changes="dropped"),
            signature,
            lambda function, positions: self.rule(function, positions, signature),
        )

    def rule(self, function: Function, positions: Positions, signature: Signature) -> Function:
        raise TypeError(f"{type(self).__name__} has no rule of its own")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._plain(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def inspect(self, *args: Any, **kwargs: Any) -> Inspection:
        """The stages and the final source for these arguments, without running."""
        made: Inspection = self._plain.inspect(*args, **kwargs)
        return made

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated NumPy source for these arguments."""
        text: str = self._plain.inspect(*args, compile=False, **kwargs).source
        return text

    @functools.cached_property
    def _plain(self) -> Accelerated:
        return plain(self)

    @property
    def place(self) -> Span:
        """Where the user's function begins."""
        return place_of(self.fun)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_plain", "__wrapped__")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__wrapped__ = self.fun

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return f"{self.verb} of {named(self.fun)}"


def transformed(fun: Fun, kind: type[Transformation], *options: Any) -> Any:
    """`kind(fun, *options)`; accelerated where `fun` is. The same one again for the same arguments, so that what it has
    translated is found again when a step function says `grad(loss)(...)` every time."""
    try:
        return _remembered(fun, kind, options, repr(options))  # type: ignore[arg-type]  # a class is hashable
    except TypeError as error:
        if "unhashable" not in str(error):
            trim_traceback(error, told=True)
            raise
        return _made(fun, kind, options)


@functools.lru_cache(maxsize=1024)
def _remembered(fun: Fun, kind: type[Transformation], options: tuple[Any, ...], spelled: str) -> Any:
    return _made(fun, kind, options)  # `spelled` tells 0 from False, which compare equal


def forget() -> None:
    """Make transformations anew when they are next asked for."""
    _remembered.cache_clear()


def _made(fun: Fun, kind: type[Transformation], options: tuple[Any, ...]) -> Any:
    if isinstance(fun, Accelerated):
        return fun.replaced(kind.of_accelerated(fun, *options))
    return kind(fun, *options)
