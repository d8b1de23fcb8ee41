"""The options of `accelerate`: checking them, and applying them to the arguments of a call."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...translator.reading.text.signature import signature_of
from ..targets.devices import checked_target
from .statics import Static

Fun = Callable[..., Any]
Argnums = int | Sequence[int]
Argnames = str | Iterable[str]


class Options:
    """The arguments of `accelerate`, checked."""

    def __init__(
        self,
        target: str,
        static_argnums: Argnums | None,
        static_argnames: Argnames | None,
        donate_argnums: Argnums | None,
        checks: bool,
        fallback: str,
        check_grads: bool = False,
        donate_argnames: Argnames | None = (),
    ) -> None:
        if not isinstance(checks, bool):
            raise TypeError(f"checks must be True or False, got {checks!r}")
        if fallback not in ("error", "numpy"):
            raise ValueError(f'fallback must be "error" or "numpy", got {fallback!r}')
        self.target = checked_target(target)
        self.static_argnums = numbers_of("static_argnums", static_argnums)
        self.static_argnames = _names("static_argnames", static_argnames)
        self.donate_argnames = _names("donate_argnames", donate_argnames)
        self.donate_argnums = numbers_of("donate_argnums", donate_argnums)
        self.checks = checks
        self.fallback = fallback
        self.check_grads = check_grads
        self.static = bool(self.static_argnums or self.static_argnames)

    def without_arguments(self) -> Options:
        return Options(self.target, (), (), (), self.checks, self.fallback, self.check_grads)

    def with_donated_names(self, fun: Fun) -> Options:
        """The options with donated arguments given by name turned into positions."""
        if not self.donate_argnames:
            return self
        parameters = list(signature_of(fun).parameters)
        numbers = {*self.donate_argnums, *(parameters.index(n) for n in self.donate_argnames if n in parameters)}
        kept = (self.static_argnums, self.static_argnames)
        return Options(self.target, *kept, sorted(numbers), self.checks, self.fallback, self.check_grads)

    def check(self, fun: Fun) -> None:
        """Raises ValueError for static or donated arguments that `fun` does not have."""
        if not (self.static or self.donate_argnums or self.donate_argnames):
            return
        check_numbers("static_argnums", self.static_argnums, fun)
        check_numbers("donate_argnums", self.donate_argnums, fun)
        parameters = signature_of(fun).parameters
        kinds = {p.kind for p in parameters.values()}
        name = getattr(fun, "__name__", repr(fun))
        for what, names in (("static", self.static_argnames), ("donate", self.donate_argnames)):
            unknown = set(names) - set(parameters)
            if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
                raise ValueError(f"{what}_argnames={min(unknown)!r} of {name}, which has no argument of that name")

    def without(self, fun: Fun, held: Iterable[int | str]) -> Options:
        """The options for the function with these arguments bound: positions count without them."""
        names = list(signature_of(fun).parameters)
        gone = {names.index(h) if isinstance(h, str) else h for h in held}

        def moved(numbers: tuple[int, ...]) -> tuple[int, ...]:
            counted = [i if i >= 0 else len(names) + i for i in numbers]
            return tuple(i - sum(g < i for g in gone) for i in counted if i not in gone)

        static, donated = moved(self.static_argnums), moved(self.donate_argnums)
        return Options(
            self.target, static, self.static_argnames, donated, self.checks, self.fallback, self.check_grads
        )

    def make_static(
        self, fun: Fun, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with `Static` around those that are named static. Raises ValueError where one cannot be
        hashed.
        """
        numbers, names = self.static_places(fun, len(args))
        listed = list(signature_of(fun).parameters)
        own = [repr(listed[i]) if i < len(listed) else str(i) for i in range(len(args))]
        positional = tuple(_static(fun, a, own[i]) if i in numbers else a for i, a in enumerate(args))
        return positional, {k: _static(fun, v, repr(k)) if k in names else v for k, v in kwargs.items()}

    def static_places(self, fun: Fun, count: int) -> tuple[set[int], set[str]]:
        """The static arguments, by position and by keyword. As in JAX, either name makes the argument static."""
        parameters = list(signature_of(fun).parameters)
        numbers = {i if i >= 0 else count + i for i in self.static_argnums}
        names = {*self.static_argnames, *(parameters[i] for i in numbers if i < len(parameters))}
        return numbers | {i for i, n in enumerate(parameters) if n in names}, names


def _static(fun: Fun, x: Any, where: str) -> Any:
    try:
        hash(x)
    except TypeError:
        name = getattr(fun, "__name__", repr(fun))
        raise ValueError(
            f"the static argument {where} of {name} must be hashable, and a {type(x).__name__} is not: "
            "pass a tuple, or an array as an argument that is not static"
        ) from None
    return Static(x)


_OF_JIT = ("inline", "keep_unused", "compiler_options", "in_shardings", "out_shardings", "device", "backend")


def settled_target(target: str, of_jit: dict[str, Any]) -> str:
    """The target, which jax.jit names by `backend`. TypeError for what neither function takes."""
    unknown = [name for name in of_jit if name not in _OF_JIT]
    if unknown:
        raise TypeError(f"accelerate() got an unexpected keyword argument {unknown[0]!r}")
    backend = of_jit.get("backend")
    if backend is None or target != "auto":
        return target
    return "auto" if backend in ("gpu", "cuda", "rocm") else checked_target(backend)


def _names(option: str, argnames: Argnames | None) -> tuple[str, ...]:
    names = () if argnames is None else (argnames,) if isinstance(argnames, str) else argnames
    made = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(n, str) for n in made):
        raise TypeError(f"{option} must be a str or several, got {argnames!r}")
    return made


def numbers_in(argnums: Argnums) -> tuple[int, ...]:
    """One int, or several. Raises TypeError for anything else."""
    return tuple(map(operator.index, argnums if isinstance(argnums, Iterable) else (argnums,)))


def check_numbers(option: str, numbers: Sequence[int], fun: Fun) -> None:
    """Raises ValueError for the number of an argument that `fun` does not have."""
    kinds = [p.kind for p in signature_of(fun).parameters.values()]
    count = sum(k in (k.POSITIONAL_ONLY, k.POSITIONAL_OR_KEYWORD) for k in kinds)
    beyond = [i for i in numbers if not -count <= i < count]
    if beyond and inspect.Parameter.VAR_POSITIONAL not in kinds:
        name = getattr(fun, "__name__", repr(fun))
        raise ValueError(f"{option}={beyond[0]} of {name}, which accepts {count} positional arguments")


def numbers_of(option: str, argnums: Argnums | None) -> tuple[int, ...]:
    """The numbers of arguments. Raises TypeError, which names the option, where they are none."""
    try:
        return () if argnums is None else numbers_in(argnums)
    except TypeError:
        raise TypeError(f"{option} must be an int or several, got {argnums!r}") from None
