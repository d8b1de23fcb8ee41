"""`HostArray`: NumPy arrays that answer to JAX's names, and the namespaces whose functions give them.

    x = untraced.random.normal(key, (3,))
    x[0] = 0.0                         NumPy's: it lies in the host's memory and is written in place
    x.at[0].set(1.0), x.block_until_ready(), x.devices(), isinstance(x, untraced.Array)          JAX's

A function of `random`, `numpy`, `lax`, `nn`, `scipy` and their kin cannot know who calls it: the author of a NumPy
program, who may store into what he is given, in a function that is accelerated or not; or that of a JAX script, who
asks the result for what an `Array` has. A HostArray serves both. NumPy's own operations keep the class and give NumPy
scalars where they give these, so that nothing else changes; calls of accelerated and transformed functions give
HostArrays where one is among the arguments, and no Array. Plain arrays stay plain.

Scalars have a class of their own for each dtype but bool, which cannot be derived from: a NumPy scalar with the same
methods.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...translator.tree import tree_map
from ..targets.devices import Device, device_of_target
from . import eager
from .array import Array, At
from .shards import Shard, shards_of
from .transfer import device_put


class _Methods:
    """What an Array has and a NumPy array has not. All of it is answered at once: the values are there.

    `sharding` is left out: JAX takes a NumPy array that has one for its own.
    """

    __slots__ = ()

    @property
    def at(self) -> At:
        """`x.at[i].set(v)`: a new array with some elements changed; also add, multiply, min, ..., get."""
        return At(self)

    @property
    def weak_type(self) -> bool:
        """False: only Python's own numbers are weak."""
        return False

    @property
    def is_fully_addressable(self) -> bool:
        """True: this process holds all of it."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """True: it lies in one place."""
        return True

    @property
    def addressable_shards(self) -> list[Shard]:
        """One shard, which is all of it."""
        return shards_of(self, device_put)

    global_shards = addressable_shards

    def addressable_data(self, index: int) -> Any:
        """The array itself."""
        return self.addressable_shards[index].data

    def devices(self) -> set[Device]:
        """A set of the CPU."""
        return {_cpu()}

    def platform(self) -> str:
        """The kind of device that holds the data."""
        return "cpu"

    def on_device_size_in_bytes(self) -> int:
        """The same as `nbytes`."""
        return int(self.nbytes)  # type: ignore[attr-defined]

    def block_until_ready(self) -> Any:
        """The array itself: its value is computed."""
        return self

    def is_ready(self) -> bool:
        """True."""
        return True

    def copy_to_host_async(self) -> None:
        """Nothing: it is on the host."""

    def delete(self) -> None:
        """Nothing: the memory goes with the last that refers to it, as NumPy's does."""

    def is_deleted(self) -> bool:
        """False."""
        return False


class HostArray(_Methods, np.ndarray[Any, Any]):
    """A NumPy array, in every respect, with the methods of an `Array`: see the module."""

    __slots__ = ()
    __untraced_plain__ = True  # its operations are NumPy's own

    @property
    def device(self) -> Device:  # type: ignore[override]
        """The CPU."""
        return _cpu()

    def dot(
        self, b: Any, out: Any = None, *, precision: Any = None, preferred_element_type: Any = None
    ) -> Any:
        """The product with `b`, of operands converted to `preferred_element_type`."""
        if preferred_element_type is None:
            return lifted(np.dot(self, b) if out is None else np.dot(self, b, out))
        return lifted(np.dot(self.astype(preferred_element_type), np.asarray(b).astype(preferred_element_type), out))

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array itself for "cpu"; else an Array on that device."""
        if device == "cpu":
            return self
        return device_put(self, device)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if return_scalar:
            return lifted(array[()])
        return array if type(array) is HostArray else array.view(HostArray)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))


def _reducing(name: str) -> Any:
    of_numpy = getattr(np.ndarray, name)

    @functools.wraps(of_numpy)
    def method(self: HostArray, *args: Any, **options: Any) -> Any:
        return lifted(of_numpy(self, *map(_axes, args), **reduction_options(options)))

    return method


def reduction_options(options: dict[str, Any]) -> dict[str, Any]:
    """What JAX lets be told of a reduction, for NumPy: None for no mask and no first value, axes in a list."""
    given = {name: x for name, x in options.items() if x is not None or name not in ("where", "initial")}
    return {**given, "axis": _axes(given["axis"])} if "axis" in given else given


def _axes(x: Any) -> Any:
    return tuple(x) if type(x) is list else x


for _name in ("argmax", "argmin", "trace", "all", "any", "max", "mean", "min", "prod", "std", "sum", "var"):
    setattr(HostArray, _name, _reducing(_name))


def _cpu() -> Device:
    return device_of_target("cpu")


def _scalar_class(kind: type[np.generic]) -> type[Any]:
    members = {name: x for name, x in vars(_Methods).items() if not name.startswith("__")}
    shown = {"__slots__": (), "__untraced_plain__": True, "__repr__": lambda self: repr(kind(self))}
    return type(kind.__name__, (kind,), {**members, **shown, "__module__": __name__})


_SCALARS = {
    kind: _scalar_class(kind)
    for kind in (
        np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
        np.float16, np.float32, np.float64, np.complex64, np.complex128,
    )
}  # fmt: skip
KINDS = frozenset({HostArray, *_SCALARS.values()})
_WHOLE = frozenset({*KINDS, Array, np.bool_, bool, int, float, complex, str, type(None), np.dtype})


def lifted(x: Any) -> Any:
    """The tree `x` with HostArrays, of the same memory, for its NumPy arrays, and their scalars for NumPy's."""
    cls = type(x)
    if cls is np.ndarray:
        return x.view(HostArray)
    if cls in _SCALARS:
        return _SCALARS[cls](x)
    if cls in _WHOLE or callable(x):
        return x
    return tree_map(_lifted_leaf, x)


def is_plain(x: Any) -> bool:
    """Whether `lifted` gives something else for this leaf."""
    return type(x) is np.ndarray or type(x) in _SCALARS


def _lifted_leaf(x: Any) -> Any:
    cls = type(x)
    return x.view(HostArray) if cls is np.ndarray else _SCALARS[cls](x) if cls in _SCALARS else x


def plain(x: Any) -> Any:
    """A leaf for a program: NumPy's own array, of the same memory, or scalar in place of one of these."""
    cls = type(x)
    if cls is HostArray:
        return x.view(np.ndarray)
    return x.dtype.type(x) if cls in KINDS else x


def are_hosted(leaves: Iterable[Any]) -> bool:
    """Whether one of the leaves makes the results of a call HostArrays."""
    return not KINDS.isdisjoint(map(type, leaves))


# ---- namespaces --------------------------------------------------------------------------------------

_FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, np.ufunc, functools.partial, type(np.sum)
)  # fmt: skip


LENT: ContextVar[bool] = ContextVar("lent", default=False)
"""Whether a loop or a branch of `lax` is passing arrays on: no call in it may reuse their memory (donate_argnums)."""


def offered(function: Any, module: str, name: str, compiled: bool = False) -> Any:
    """A function of NumPy, or NumPy source, as a namespace offers it: it gives Arrays where one is among the arguments,
    `compiled` or computed step by step, else HostArrays in place of NumPy's arrays. Functions among the arguments of
    NumPy's own are given HostArrays, too.

    What is no such function, or is offered already, is returned as it is.
    """
    if not isinstance(function, _FUNCTIONS) or hasattr(function, "__untraced_static__"):
        return function
    if hasattr(function, "__untraced_numpy__"):
        return function
    by_numpy = module.rpartition(".")[2] == "numpy"

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if any(map(callable, args)):
            token = LENT.set(True)
            try:
                return called(*[_meant(x, by_numpy) for x in args], **options)
            finally:
                LENT.reset(token)
        return called(*args, **options)

    def called(*args: Any, **options: Any) -> Any:
        if Array in map(type, args) or (options and Array in map(type, options.values())):
            return eager.call(function, args, options) if compiled else tree_map(_put, function(*args, **options))
        return lifted(function(*args, **options))

    call.__module__, call.__name__, call.__qualname__ = module, name.rpartition(".")[2], name
    call.__dict__["__untraced_numpy__"] = function
    if isinstance(function, np.ufunc):
        _add_methods(call, function)
    return call


def _meant(x: Any, by_numpy: bool) -> Any:
    """An argument beside a function: what that is given is JAX's, where NumPy itself calls it, too, and it is known as
    NumPy's where it is NumPy's.
    """
    if by_numpy and type(x) is types.FunctionType and not hasattr(x, "__untraced_numpy__"):
        return functools.wraps(x)(lambda *args, **options: x(*map(lifted, args), **options))
    return getattr(x, "__untraced_numpy__", x) if callable(x) else lifted(x)


def _put(x: Any) -> Any:
    if not isinstance(x, np.ndarray | np.generic):
        return x
    return device_put(x)


def _add_methods(call: Any, ufunc: np.ufunc) -> None:
    call.nin, call.nout, call.nargs, call.identity = ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.identity
    for name in ("accumulate", "outer", "reduce", "reduceat"):
        setattr(call, name, offered(getattr(ufunc, name), call.__module__, f"{call.__qualname__}.{name}"))

    @functools.wraps(ufunc.at)
    def at(a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        operands = () if b is None else (b,)
        if inplace:
            return ufunc.at(a, indices, *operands)
        changed = np.array(a)
        ufunc.at(changed, indices, *operands)
        return _put(changed) if type(a) is Array else lifted(changed)

    call.at = at


def offer(space: dict[str, Any], names: Iterable[str], module: str, compiled: bool = False) -> None:
    """Put the functions of a namespace, by their names, into it as `offered`."""
    space.update({name: offered(space[name], module, name, compiled) for name in names if name in space})
