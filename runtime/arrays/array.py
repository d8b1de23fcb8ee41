"""`Array`: an immutable array that lives on a device and is computed asynchronously.

An Array behaves as a NumPy array does, but for stores: operators, methods, indexing and NumPy's own functions
(`np.sin(a)`, `np.sum(a, axis=0)`) work on it and give Arrays. Each such call is a tiny function of one expression
that goes through `accelerate` (`eager`); nothing here knows an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...translator.ir import Aval, DType, Shape
from ..targets.devices import Device, Sharding, home
from .shards import Shard, shards_of

operations: Any = None
"""The module `eager`, which makes something of Arrays, and so imports this one: the package puts it here."""


class Spec:
    """The type of an Array: aval and device. There is one Spec for each, so dispatch compares them by identity."""

    __slots__ = ("aval", "device")

    def __init__(self, aval: Aval, device: Device) -> None:
        self.aval, self.device = aval, device


_specs: dict[tuple[Aval, int], Spec] = {}


class _Deleted:
    """Stands in place of the data of a deleted Array, and raises RuntimeError when it is used as data."""

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError(
            f"an Array of {self.aval} has been deleted: its memory was donated to a call (donate_argnums), or let go "
            "of by delete()"
        )

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__


def spec_of(aval: Aval, device: Device) -> Spec:
    """The one Spec of this aval, taken as strong, on this device."""
    strong = Aval(aval.shape, aval.dtype) if aval.weak else aval
    return _specs.setdefault((strong, id(device)), Spec(strong, device))


class _OfArrays(type):
    """NumPy arrays with the methods of an Array (`hosted`) are instances, too; subclasses there are none."""

    def __instancecheck__(cls, x: Any) -> bool:
        return type(x) is cls or hasattr(type(x), "__untraced_plain__")


class Array(metaclass=_OfArrays):
    """An immutable array on a device; made by `device_put` and by accelerated functions.

    `np.asarray(a)` waits for the value and gives a read-only view of it where the device shares the host's memory, a
    copy elsewhere; `np.array(a)` always gives a writable copy.
    """

    __slots__ = ("__weakref__", "_data", "_spec")
    __array_priority__ = 1000.0
    __untraced_arrays__ = True  # in a function that is read, arrays and NumPy's numbers are instances

    _data: Any
    _spec: Spec

    def __init__(self, data: Any, spec: Spec) -> None:
        self._data = data
        self._spec = spec

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        return self._spec.aval

    @property
    def device(self) -> Device:
        """The device that holds the data."""
        return self._spec.device

    @property
    def shape(self) -> Shape:
        """The number of elements along each axis."""
        return self._spec.aval.shape

    @property
    def dtype(self) -> DType:
        """NumPy's dtype of the elements."""
        return self._spec.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._spec.aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._spec.aval.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._spec.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._spec.aval.nbytes

    @property
    def at(self) -> At:
        """`a.at[i].set(v)`: a new Array with some elements changed; also add, subtract, multiply, divide, power, min,
        max, get.
        """
        return At(self)

    @property
    def weak_type(self) -> bool:
        """False: only Python's own numbers are weak."""
        return False

    @property
    def sharding(self) -> Sharding:
        """Where it is: a SingleDeviceSharding. AttributeError for the pieces of `pmap`, which `device` names."""
        from ..distribution.sharding import SingleDeviceSharding

        if home(self.device) is not self.device:
            raise AttributeError(f"an Array in pieces has no sharding: its device, {self.device}, says where they are")
        return SingleDeviceSharding(self.device)

    @property
    def is_fully_addressable(self) -> bool:
        """True: this process holds all of it."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device that has a part of it has all of it."""
        return getattr(self.device, "axis", None) is None

    @property
    def addressable_shards(self) -> list[Shard]:
        """What each device holds: `device`, `index`, `replica_id`, `data`. One shard, but for the pieces of `pmap`."""
        return shards_of(self, operations.device_put)

    global_shards = addressable_shards

    def addressable_data(self, index: int) -> Any:
        """The elements that one of its devices holds."""
        return self.addressable_shards[index].data

    @property
    def flat(self) -> Any:
        """The elements one after another, as np.ndarray.flat gives them."""
        return self.__array__().flat

    def to_device(self, device: Any) -> Array:
        """A copy on another device; itself where it is there."""
        moved: Array = operations.device_put(self, device)
        return moved

    def devices(self) -> set[Device]:
        """A set of the one device."""
        return {self.device}

    def platform(self) -> str:
        """The kind of device that holds the data: "cpu", "cuda", ..."""
        return self.device.platform

    def on_device_size_in_bytes(self) -> int:
        """The same as `nbytes`."""
        return self.nbytes

    def block_until_ready(self) -> Array:
        """Wait until the value is computed; returns the Array. An error in the computation is raised here."""
        data = self._data
        if type(data) is _Deleted:
            self.data()  # raises
        try:
            self._spec.device.wait(data)
        except RuntimeError:
            self.data()  # raises where a call has taken the memory over
            raise
        return self

    def is_ready(self) -> bool:
        """Whether the value is computed."""
        return self.device.is_ready(self.data())

    def copy_to_host_async(self) -> None:
        """Accepted for JAX's sake, without effect: `np.asarray` copies, or views memory that the host shares."""

    def delete(self) -> None:
        """Release the memory now; memory that NumPy arrays view stays until they are gone."""
        self._data = _Deleted(self.aval)

    def is_deleted(self) -> bool:
        """Whether the memory was released, by `delete` or by a call to which the Array was donated."""
        return type(self._data) is _Deleted or self.device.is_deleted(self._data)

    def data(self) -> Any:
        """The device's own handle of the data. Raises RuntimeError if the memory was released."""
        return _Deleted(self.aval).__array__() if self.is_deleted() else self._data

    # ---- to the host -----------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        host = self.device.get(self.data())
        if dtype is not None and host.dtype != dtype:
            if copy is False:
                raise ValueError(f"an array of {host.dtype} cannot become one of {np.dtype(dtype)} without a copy")
            return host.astype(dtype)
        return host.copy() if copy else host

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory where it lies, read-only, for other libraries on the GPU. Arrays elsewhere have none."""
        there: dict[str, Any] = self.data().__cuda_array_interface__
        return {**there, "data": (there["data"][0], True)}

    def __dlpack__(self, **options: Any) -> Any:
        return self.device.dlpack(self.data(), **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.dlpack_device

    def item(self, *index: int) -> Any:
        """One element as a Python number."""
        return self.__array__().item(*index)

    def tolist(self) -> Any:
        """Nested lists of Python numbers; one number where there is no axis."""
        return self.__array__().tolist()

    def tobytes(self) -> bytes:
        """The bytes of the elements in C order."""
        return self.__array__().tobytes()

    def __float__(self) -> float:
        return float(self.__array__())

    def __int__(self) -> int:
        return int(self.__array__())

    def __complex__(self) -> complex:
        return complex(self.__array__())

    def __bool__(self) -> bool:
        return bool(self.__array__())

    def __index__(self) -> int:
        if self._spec.aval.shape or self._spec.aval.dtype.kind not in "iu":
            raise TypeError("only integer scalar Arrays can be converted to an index")
        return int(self.__array__())

    def __len__(self) -> int:
        if not self._spec.aval.shape:
            raise TypeError("len() of unsized object")
        return self._spec.aval.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self._spec.aval.shape:
            raise TypeError("iteration over a 0-d array")
        place = home(self.device)
        return (Array(place.put(np.array(row)), spec_of(Aval(row.shape, row.dtype), place)) for row in self.__array__())

    def __contains__(self, x: Any) -> bool:
        return bool((self == x).any())

    def __repr__(self) -> str:
        return f"Array({np.array2string(self.__array__(), separator=', ', prefix='Array(')}, dtype={self.dtype})"

    def __str__(self) -> str:
        return str(self.__array__())

    def __format__(self, spec: str) -> str:
        return format(self.__array__()[()], spec) if not self._spec.aval.shape else format(str(self), spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.__array__().copy(),)

    def __round__(self, digits: int | None = None) -> Any:
        """A Python int of one number without digits, as round(x) gives; else an Array."""
        one = digits is None and not self._spec.aval.shape
        return round(self.__array__().item()) if one else self.round(digits or 0)  # type: ignore[attr-defined]

    def sort(self, axis: int = -1, **options: Any) -> Any:
        """A sorted copy: an Array is immutable."""
        return np.sort(self, axis=axis, **options)

    def ptp(self, axis: Any = None, **options: Any) -> Any:
        """The largest element less the smallest."""
        return np.ptp(self, axis=axis, **options)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return self.copy()

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'Array'")

    # ---- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if options.get("out") is not None:
            if any(type(x) is Array for x in options["out"]):
                raise TypeError(
                    f"an Array is immutable and np.{ufunc.__name__} cannot write into it with out=: bind the result "
                    "to a name instead"
                )
            return operations.on_host(getattr(ufunc, method), inputs, options, lift=False)
        if method == "at":
            if type(inputs[0]) is not Array:
                return operations.on_host(ufunc.at, inputs, options, lift=False)
            raise TypeError(
                f"np.{ufunc.__name__}.at writes into an Array, which is immutable: use a.at[i].add(v) and its kin"
            )
        if method != "__call__":
            return operations.on_host(getattr(ufunc, method), inputs, options)
        return operations.call(ufunc, inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        if function in _QUESTIONS:
            return operations.on_host(function, args, options, lift=False)
        if options.get("out") is not None:
            if type(options["out"]) is Array:
                raise TypeError(f"{function.__name__} cannot write into an Array with out=: bind the result to a name")
            return operations.on_host(function, args, options, lift=False)
        return operations.call(function, args, options)

    # ---- indexing --------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return operations.index(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "an Array is immutable and cannot be assigned into: write a = a.at[index].set(value), "
            "or work on a NumPy copy, np.array(a)"
        )

    def __delitem__(self, index: Any) -> None:
        raise TypeError("elements of an Array cannot be deleted")

    def copy(self) -> Array:
        """An Array of the same value in memory of its own: it stays when this one is donated or deleted."""
        copied: Array = operations.device_put(self, self.device, may_alias=False)
        return copied

    def __neg__(self) -> Any:
        return operations.expression("-x", ("x",), (self,))

    def __pos__(self) -> Any:
        return operations.expression("+x", ("x",), (self,))

    def __abs__(self) -> Any:
        return operations.expression("abs(x)", ("x",), (self,))

    def __invert__(self) -> Any:
        return operations.expression("~x", ("x",), (self,))

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self


def _restore(host: np.ndarray[Any, Any]) -> Any:
    return operations.device_put(host)


class At:
    """`a.at`; indexing it gives an `AtIndex`."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self.array, index)


class AtIndex:
    """`a.at[index]`. Every method returns a new Array; repeated indices accumulate in all but `set`, as in JAX. With
    mode="clip", "wrap", "drop" or "fill" indices out of range are no errors.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array, self.index = array, index

    def get(self, **options: Any) -> Any:
        """The selected elements; `mode` and `fill_value` say what becomes of indices out of range."""
        if options or type(self.array) is not Array:  # of NumPy's it is no view
            return operations.store("get", self.array, self.index, None, options)
        return self.array[self.index]

    def apply(self, function: Callable[[Any], Any], **options: Any) -> Any:
        """A new Array in which the selected elements are replaced by `function` of them."""
        return self.set(function(self.array[self.index]), **options)  # type: ignore[attr-defined]


def _update(name: str) -> Callable[..., Any]:
    def update(self: AtIndex, value: Any, **options: Any) -> Any:
        return operations.store(name, self.array, self.index, value, options)

    update.__name__ = name
    return update


for _name in ("set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max"):
    setattr(AtIndex, _name, _update(_name))

# asked about an Array, these are answered by Python values
_QUESTIONS = frozenset(
    {
        np.ndim, np.shape, np.size, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.common_type,
        np.min_scalar_type, np.array_repr, np.array_str, np.array2string, np.save, np.savetxt, np.savez,
        np.shares_memory, np.may_share_memory,
    }
)  # fmt: skip

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "clip", "compress",
    "conj", "conjugate", "cumprod", "cumsum",
    "diagonal", "dot",
    "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "searchsorted",
    "squeeze", "std",
    "sum", "swapaxes", "take", "trace", "transpose", "var", "view",
)  # fmt: skip
ATTRIBUTES = ("T", "mT", "real", "imag")


def _binary(symbol: str, reflected: bool) -> Callable[[Array, Any], Any]:
    text, names = (f"y {symbol} x" if reflected else f"x {symbol} y"), ("x", "y")

    def operator(self: Array, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return NotImplemented
        return operations.expression(text, names, (self, other))

    return operator


def _method(name: str) -> Callable[..., Any]:
    def method(self: Array, *args: Any, **options: Any) -> Any:
        return operations.method(name, self, args, options)

    method.__name__ = name
    method.__doc__ = getattr(np.ndarray, name).__doc__
    return method


def _attribute(name: str) -> property:
    doc = getattr(np.ndarray, name, np.ndarray.T).__doc__
    return property(lambda self: operations.expression(f"x.{name}", ("x",), (self,)), doc=doc)


for _name, _symbol in BINARY.items():
    setattr(Array, f"__{_name}__", _binary(_symbol, reflected=False))
    setattr(Array, f"__r{_name}__", _binary(_symbol, reflected=True))
for _name, _symbol in COMPARISONS.items():
    setattr(Array, f"__{_name}__", _binary(_symbol, reflected=False))
for _name in METHODS:
    setattr(Array, _name, _method(_name))
for _name in ATTRIBUTES:
    setattr(Array, _name, _attribute(_name))

OPERANDS = (int, float, complex, np.ndarray, np.generic, Array)
