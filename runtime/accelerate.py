"""`accelerate`: a function that is translated and compiled when it is first called with arguments of a new kind.

A call goes: key of the arguments -> entries compiled for that key -> the first whose specialised values and guards
hold -> run. When all arguments are Arrays the key is a tuple of small numbers and the rest is one call into the
backend.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..translator.errors import UnsupportedError
from ..translator.reading.reader import Reading, read
from ..translator.reading.signature import Signature
from ..translator.tree import open_node
from .arguments import Key, bind_arguments, open_arguments
from .array import Array, Spec
from .callables import BOUND, BoundMethods, bound_function, readable
from .devices import automatic_target, checked_target, device_put
from .entries import Entry, TargetEntry, make_entry
from .fastcall import specialised
from .recompiles import History

if TYPE_CHECKING:
    from .inspection import Inspection

Fun = Callable[..., Any]
Argnums = int | Sequence[int]
Argnames = str | Iterable[str]


class Accelerated:
    """What `accelerate` returns. Called, inspected, transformed and used as a method like the function it wraps."""

    __name__: str

    def __init__(self, fun: Fun, options: Options) -> None:
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.options = options
        self._entries: dict[Key, list[Entry]] = {}
        self._fast: dict[tuple[Spec | None, ...], TargetEntry] = {}
        self._history = History(getattr(fun, "__name__", repr(fun)))
        self._lock = threading.RLock()
        self._refused = ""
        self._methods: dict[int, Accelerated] = {}  # of objects without a __dict__

    @property
    def target(self) -> str:
        """The target with "auto" decided."""
        return automatic_target() if self.options.target == "auto" else self.options.target

    # ---- the call --------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and not kwargs and type(args[0]) is Array:
            entry = self._fast.get(tuple([getattr(a, "_spec", None) for a in args]))
            if entry is not None and entry.guards_hold():
                return entry.run_arrays(args)
        return self._general(args, kwargs)

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._refused:
            return self._as_is(args, kwargs)
        if self.options.static:
            args, kwargs = self.options.make_static(self.fun, args, kwargs)
        try:
            key, leaves = open_arguments(args, kwargs)
            entries = self._entries.get(key, ())
        except TypeError:
            bind_arguments(self.fun, args, kwargs)  # says what is wrong with the arguments
            raise
        for entry in entries:
            if entry.matches(leaves):
                return entry.run(leaves)
        if args and self._is_method_of(args[0]):
            return self.__get__(args[0])(*args[1:], **kwargs)
        try:
            entry = self._specialise(key, leaves, args, kwargs)
        except UnsupportedError as error:
            if self.options.fallback != "numpy":
                raise
            self._refused = str(error)
            warnings.warn(f"{self.__name__} runs as it is, with NumPy:\n{error}", stacklevel=3)
            return self._as_is(args, kwargs)
        return entry.run(leaves)

    def _specialise(self, key: Key, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        with self._lock:
            entries = self._entries.setdefault(key, [])
            for entry in entries:
                if entry.matches(leaves):
                    return entry
            binding = bind_arguments(self.fun, args, kwargs)
            entry = make_entry(self, binding, leaves)
            self._history.add(
                entry.binding.signature, entry.translation, leaves, [e for e in entries if not e.guards_hold()]
            )
            entries[:] = [entry, *(e for e in entries if e.guards_hold())]
            if isinstance(entry, TargetEntry) and not kwargs and entry.direct:
                if all(type(a) is Array for a in args):
                    self._fast[tuple([a._spec for a in args])] = entry
                self.__class__ = specialised(entry, args) or type(self)
            return entry

    def _is_method_of(self, x: Any) -> bool:
        """Whether this is a call of Class.method(x), or of a property: the class of x has this function."""
        if type(x) in (np.ndarray, Array) or not hasattr(x, "__dict__") or open_node(x) is not None:
            return False
        found = inspect.getattr_static(type(x), self.__name__, None)
        return found is self or getattr(found, "fget", getattr(found, "func", None)) is self

    def _as_is(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function itself, on NumPy arrays."""
        from . import trees

        device = next((x.device for x in trees.leaves((args, kwargs)) if isinstance(x, Array)), None)
        if device is None:
            return self.fun(*args, **kwargs)
        down = functools.partial(trees.map, lambda x: np.array(x) if isinstance(x, Array) else x)
        result = self.fun(*down(args), **down(kwargs))
        return trees.map(lambda x: device_put(x, device) if isinstance(x, np.ndarray | np.generic) else x, result)

    # ---- what else can be done with it -----------------------------------------------------------

    def __untraced_read__(self, signature: Signature) -> Reading:
        """Inside another function it is that function's own code."""
        return read(self.fun, signature)

    def inspect(self, *args: Any, compile: bool = True, **kwargs: Any) -> Inspection:
        """Translate and compile for these arguments, without running. `compile=False` stops at the backend's input
        text.
        """
        from .inspection import inspect_call

        if self.options.static:
            args, kwargs = self.options.make_static(self.fun, args, kwargs)
        return inspect_call(self, bind_arguments(self.fun, args, kwargs), compile)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated NumPy source for these arguments."""
        return self.inspect(*args, compile=False, **kwargs).source

    def explain_recompiles(self) -> str:
        """One line for each time it was translated, saying why the programs before did not do."""
        return self._history.explain()

    def clear_cache(self) -> None:
        """Forget all that was compiled."""
        with self._lock:
            self._entries.clear()
            self._fast.clear()
            if type(self) is not PlainOrDevice:
                self.__class__ = Accelerated

    def replaced(self, fun: Fun) -> Accelerated:
        """Another function accelerated with the same options but for those that name arguments."""
        return Accelerated(fun, self.options.without_arguments())

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        held = getattr(instance, "__dict__", None)
        if isinstance(held, dict):
            methods, key = held.setdefault(BOUND, BoundMethods()), id(self)
        else:  # __slots__, or a class, which a classmethod is bound to
            methods, key = self._methods, id(instance)
        found = methods.get(key)
        if found is None or found.fun.__globals__["self"] is not instance:
            found = methods[key] = Accelerated(bound_function(self.fun, instance), self.options.of_method())
        return found

    def __reduce__(self) -> Any:
        return Accelerated, (self.fun, self.options)

    def __repr__(self) -> str:
        return f"<accelerated {getattr(self.fun, '__qualname__', self.fun)} for {self.options.target}>"


class Options:
    """The arguments of `accelerate`, checked."""

    def __init__(
        self,
        target: str,
        static_argnums: Argnums,
        static_argnames: Argnames,
        donate_argnums: Argnums,
        checks: bool,
        fallback: str,
    ) -> None:
        if fallback not in ("error", "numpy"):
            raise ValueError(f'fallback must be "error" or "numpy", got {fallback!r}')
        self.target = checked_target(target)
        self.static_argnums = _numbers(static_argnums)
        self.static_argnames = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
        self.donate_argnums = _numbers(donate_argnums)
        self.checks = checks
        self.fallback = fallback
        self.static = bool(self.static_argnums or self.static_argnames)

    def without_arguments(self) -> Options:
        return Options(self.target, (), (), (), self.checks, self.fallback)

    def check(self, fun: Fun) -> None:
        """Raises ValueError for static or donated arguments that `fun` does not have."""
        if not (self.static or self.donate_argnums):
            return
        parameters = inspect.signature(fun).parameters
        kinds = {p.kind for p in parameters.values()}
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters.values())
        name = getattr(fun, "__name__", repr(fun))
        for what, numbers in (("static", self.static_argnums), ("donate", self.donate_argnums)):
            beyond = [i for i in numbers if not -count <= i < count]
            if beyond and inspect.Parameter.VAR_POSITIONAL not in kinds:
                raise ValueError(f"{what}_argnums={beyond[0]} of {name}, which accepts {count} positional arguments")
        unknown = set(self.static_argnames) - set(parameters)
        if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise ValueError(f"static_argnames={min(unknown)!r} of {name}, which has no argument of that name")

    def of_method(self) -> Options:
        """Those of the function with its first argument bound: positions count from the next one."""
        static, donated = (
            tuple(i - (i > 0) for i in numbers if i != 0) for numbers in (self.static_argnums, self.donate_argnums)
        )
        return Options(self.target, static, self.static_argnames, donated, self.checks, self.fallback)

    def make_static(
        self, fun: Fun, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with `Static` around those that are named static. Raises ValueError where one cannot be
        hashed.
        """
        numbers, names = self._static_places(fun, len(args))
        positional = tuple(_static(a, i) if i in numbers else a for i, a in enumerate(args))
        return positional, {k: _static(v, k) if k in names else v for k, v in kwargs.items()}

    def _static_places(self, fun: Fun, count: int) -> tuple[set[int], set[str]]:
        """As in JAX an argument named one way is static however it is passed."""
        parameters = list(inspect.signature(fun).parameters)
        numbers = {i if i >= 0 else count + i for i in self.static_argnums}
        names = {*self.static_argnames, *(parameters[i] for i in numbers if i < len(parameters))}
        return numbers | {i for i, n in enumerate(parameters) if n in names}, names


def _static(x: Any, where: Any) -> Any:
    from .statics import Static

    try:
        hash(x)
    except TypeError:
        raise ValueError(f"the static argument {where!r} must be hashable, but a {type(x).__name__} is not") from None
    return Static(x)


def _numbers(argnums: Argnums) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def accelerate(
    fun: Fun | None = None,
    *,
    target: str = "auto",
    static_argnums: Argnums = (),
    static_argnames: Argnames = (),
    donate_argnums: Argnums = (),
    checks: bool = True,
    fallback: str = "error",
) -> Any:
    """Compile a NumPy function. A decorator, with or without arguments.

    target           "auto" (a GPU if there is one, else a TPU, else the CPU), "cpu", "tpu", "triton", "cuda" or
                     "numpy".
    static_argnums, static_argnames   arguments on whose values the function is specialised; most are found by
                                      themselves.
    donate_argnums   Arrays whose memory the results may reuse; they cannot be used afterwards.
    checks           indices that cannot be proven to be in range are checked while the program runs (IndexError).
    fallback         "numpy": a function outside the language runs as it is, with one warning; "error": it raises.

    NumPy arrays and Python numbers in give NumPy arrays out, fresh and writable; any Array among the arguments gives
    Arrays, on a GPU without waiting for them. Arguments written in place are written in the caller's arrays.
    """
    options = Options(target, static_argnums, static_argnames, donate_argnums, checks, fallback)
    if fun is None:
        return functools.partial(_accelerate, options=options)
    return _accelerate(fun, options)


def _accelerate(fun: Fun, options: Options) -> Accelerated:
    if isinstance(fun, staticmethod | classmethod):
        raise TypeError(f"write @{type(fun).__name__} above @accelerate, not below it")
    if isinstance(fun, type) or not callable(fun):
        raise TypeError(f"accelerate wants a function, not {fun!r}")
    made = Accelerated(fun.fun if isinstance(fun, Accelerated) else readable(fun), options)
    options.check(made.fun)
    return made


for _made_at_translation in (accelerate, _accelerate):
    _made_at_translation.__dict__["__untraced_static__"] = True  # within a function that is read it is called then


def plain(fun: Fun) -> Accelerated:
    """What calls a transformed plain function: CPython on NumPy arrays, the default device when there are Arrays."""
    return PlainOrDevice(fun, Options("numpy", (), (), (), True, "error"))


class PlainOrDevice(Accelerated):
    """Runs as NumPy source, but for Arrays, which are computed with where they live."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key, leaves = open_arguments(args, kwargs)
        if any(type(x) is Array for x in leaves):
            return self._on_device(*args, **kwargs)
        for entry in self._entries.get(key, ()):
            if entry.matches(leaves):
                return entry.run(leaves)
        return self._specialise(key, leaves, args, kwargs).run(leaves)

    @functools.cached_property
    def _on_device(self) -> Accelerated:
        return Accelerated(self.fun, Options("auto", (), (), (), True, "error"))
