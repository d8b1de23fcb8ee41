"""Arrays of other libraries (CuPy, PyTorch, ...) in a GPU's memory, adopted as Arrays where they lie."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any

from ...translator.ir import Aval
from ...translator.tree import tree_map
from ..targets.devices import device_of_target
from .array import Array, spec_of

_CUDA = (2, 13)  # DLPack's kinds of memory that CuPy takes: a GPU's own, and managed; what is pinned is the host's


class OnGpu(TypeError):
    """An argument is an array of another library's in a GPU's memory."""


def is_on_gpu(x: Any) -> bool:
    """Whether another library's array can be taken where it lies. Of PyTorch's tensors those on a GPU.

    Only what has such an interface is asked for it: `__getattr__` of any other object is code of the user's.
    """
    if type(x) is Array or isinstance(x, type):
        return False
    if _has(x, "__cuda_array_interface__") and getattr(x, "__cuda_array_interface__", None) is not None:
        return True
    return _has(x, "__dlpack_device__") and _has(x, "__dlpack__") and int(x.__dlpack_device__()[0]) in _CUDA


def _has(x: Any, name: str) -> bool:
    return _may_have(x, name) and getattr_static(x, name, None) is not None


def _may_have(x: Any, name: str) -> bool:
    """Whether the object or a class of it holds the name: `getattr_static` needs ten times as long to find nothing."""
    for c in _CLASSES(type(x)):
        if name in c.__dict__:
            return True
    try:
        return name in object.__getattribute__(x, "__dict__")
    except AttributeError:  # it has slots
        return False


_CLASSES = type.__dict__["__mro__"].__get__
"""The classes of a class, without asking its metaclass."""


def adopted(tree: Any) -> Any:
    """The tree with an Array in place of each such array: the same memory, which must not be written while it is used.

    Raises TargetError where this process has no GPU or no CuPy.
    """
    return tree_map(lambda x: _adopt(x) if is_on_gpu(x) else x, tree, is_leaf=is_on_gpu)


def _adopt(x: Any) -> Array:
    device: Any = device_of_target("cuda")
    data = device.adopt(x)
    return Array(data, spec_of(Aval(tuple(data.shape), data.dtype), device))
