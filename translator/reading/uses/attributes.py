"""x.name: what is known about arrays, the methods of values, and the attributes of objects and modules."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import types
from typing import Any

import numpy as np

from ... import make, surface
from ...errors import CutError
from ...ir import Capture, Var, const
from ...library import looping
from ..core.context import Context
from ..core.demand import refuse_undefined
from ..core.growing import Growing, Pile
from ..core.guards import meant, place_within
from ..core.values import (
    LAZY,
    Bound,
    Closure,
    Filling,
    Flat,
    Foreign,
    Frame,
    Masked,
    Method,
    Mirror,
    Partial,
    Ref,
    SharedNames,
    Super,
    Undefined,
    Update,
    UpdatePlace,
    Updater,
    Value,
    attributes_of,
    class_name,
    describe,
    is_object,
)
from ..facts import streams
from ..facts.classes import answer
from ..facts.maybes import some
from ..facts.views import strides_of
from ..parts.indexing import copy_of_line, flat_of
from ..parts.selection import attribute, concrete
from ..text.libraries import accelerated_function, is_library
from .handlers import call_handler

_OWN_METHODS = frozenset({"copy", "fill", "tolist", "view", "flatten", "sort", "partition"})


def get_attribute(ctx: Context, owner: Value, name: str, node: ast.AST) -> Value:
    owner = some(ctx, owner)
    if type(owner) is Ref or type(owner) is Var:
        return array_attribute(ctx, owner, name, node)
    if isinstance(owner, Foreign):
        return _foreign_attribute(ctx, owner, name, node)
    if _holds_attributes(owner):
        return _foreign_attribute(ctx, _of_function(ctx, owner), name, node)
    if isinstance(owner, Undefined):
        if (method := streams.method_of(owner, name)) is not None:
            return method
        refuse_undefined(ctx, owner, node)
    if isinstance(owner, Masked):
        ctx.at(node)
        known = attribute(ctx, owner, name, node)
        if known is not NotImplemented:
            return known
        if surface.method_handler(name) is not None or name in _OWN_METHODS:
            return Method(owner, name)
        return array_attribute(ctx, concrete(ctx, owner, node, f"x[mask].{name}"), name, node)
    if isinstance(owner, Growing | Filling | Pile):
        return Method(owner, name)
    if isinstance(owner, Flat):
        return get_attribute(ctx, copy_of_line(ctx, owner), name, node)
    if isinstance(owner, UpdatePlace):

        return update_of(ctx, owner, name, node)
    if isinstance(owner, Super):
        return _inherited(ctx, owner, name, node)
    if isinstance(owner, Closure | Bound | Partial):
        if name == "__name__" and isinstance(owner, Closure):
            return owner.name
        if isinstance(owner, Closure) and owner.frame.fixed:  # it may stand for an object, as a spline of SciPy's
            what = f"the attribute {name} of what a library gives, of which only calls are known here"
            ctx.cut(node, what, instead="call it, or have CPython read the attribute, outside the function")
        if isinstance(owner, Closure) and not hasattr(array_attribute, name):  # nor has any other function
            raise AttributeError(f"'function' object has no attribute {name!r}")
        ctx.cut(node, f"the attribute {name} of {describe(owner)} is not known here")
    if isinstance(owner, LAZY) or (type(owner) is list and ctx.iterator(owner) is not None):
        ctx.cut(node, f"the attribute {name} of an iterator", instead="write a `for` loop, or call list(...)")
    if isinstance(owner, tuple) and name in ("_replace", "_asdict"):
        return Method(owner, name)
    if isinstance(owner, list | dict | str | tuple | set | frozenset) and not hasattr(type(owner), "_fields"):
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
        if name == "__class__":
            return type(owner)
        if not any(isinstance(owner, c) and hasattr(c, name) for c in (list, dict, str, tuple, set, frozenset)):
            ctx.cut(node, f"the attribute {name} of a {type(owner).__name__}")
        return Method(owner, name)
    if type(owner) in (bool, int, float, complex) and not hasattr(owner, name) and _is_array(ctx):
        return get_attribute(ctx, Ref(ctx.cell(const(np.asarray(owner)))), name, node)
    if isinstance(owner, inspect.Signature) and name == "parameters":
        return dict(owner.parameters)
    return _object_attribute(ctx, owner, name, node)


def _is_array(ctx: Context) -> bool:
    """Whether a number of Python's has what arrays have, as in JAX: in what is derived or batched, in what loops of
    `lax` call, and in a module that uses JAX's names. CPython's own has not, nor what tells the two apart (hasattr)."""
    return ctx.transforms or _in_jax_loop(ctx.frame) or _names_jax(ctx.frame.scope.globals)


def _names_jax(names: dict[str, Any]) -> bool:
    return any(isinstance(v, types.ModuleType) and v.__name__ in _JAX for v in names.values())


_JAX = tuple(f"{surface.__name__.partition('.')[0]}.{room}" for room in ("numpy", "lax", "nn"))


def _in_jax_loop(frame: Frame | None) -> bool:
    """Whether this is called by a loop or branch of `lax`: what goes around there are arrays to JAX, numbers, too."""
    while frame is not None and not (frame.fixed and frame.source.file == looping.__file__):
        frame = frame.caller
    return frame is not None


def array_attribute(ctx: Context, owner: Value, name: str, node: ast.AST) -> Value:
    aval = owner.aval
    if type(owner) is Var and not ctx.frame.fixed:
        missing = aval.weak and not hasattr(aval.dtype.type(0).item(), name)
        of_jax = _is_array(ctx) if missing else _in_jax_loop(ctx.frame)
        if not of_jax:
            answer(ctx, owner, lambda cls: hasattr(cls, name))
        if missing:
            if not of_jax:
                raise AttributeError(f"{class_name(owner)!r} object has no attribute {name!r}")
            return array_attribute(ctx, make.astype(ctx.b, owner, aval.dtype), name, node)
    match name:
        case "shape":
            return aval.shape
        case "ndim":
            return len(aval.shape)
        case "size":
            return aval.size
        case "dtype" if not aval.weak:
            return _dtype(ctx, owner, node) if type(owner) is Ref else aval.dtype
        case "itemsize":
            return aval.dtype.itemsize
        case "nbytes":
            return aval.nbytes
        case "aval":
            return aval
    handler = surface.attribute_handler(name)
    if handler is not None:
        return call_handler(ctx, handler, name, [owner], {}, node)
    if name == "flat":
        return flat_of(ctx, owner)
    if name == "strides":
        return strides_of(ctx, owner, node)
    if name == "at" and (type(owner) is Ref or not aval.weak):
        return Updater(Ref(ctx.cell(ctx.read(ctx.boxed(owner)))))
    of_numbers = hasattr(np.ndarray, name) or (not aval.shape and (aval.weak or hasattr(aval.dtype.type, name)))
    if name in _OWN_METHODS or (of_numbers and surface.method_handler(name) is not None):
        return Method(owner, name)
    if not of_numbers:
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
    what = f"the array attribute .{name} is not in the language"
    why, instead = _REFUSED.get(name, ("", "use a NumPy function that gives the same array"))
    raise ctx.error(CutError, node, what, why, instead)


def _dtype(ctx: Context, array: Ref, node: ast.AST) -> np.dtype[Any]:
    """The dtype as NumPy shows it, with the order of bytes; in the library that in which it computes."""
    if ctx.frame.fixed:
        return array.aval.dtype
    if array.cell.swapped and all(array.cell is not cell for _, cell in ctx.callers.arrays):
        ctx.cut(node, "the dtype of what may have its bytes in the other order", instead="ask for that of the argument")
    return array.aval.dtype.newbyteorder() if array.cell.swapped else array.aval.dtype


_MEMORY = (
    "how the elements lie in memory is decided where the program runs, not in the program",
    "ask for it outside the function, or use shapes, dtypes and indices",
)
_FILE = ("compiled code has no files", "return the array and write it outside the function")
_REFUSED = {
    **dict.fromkeys(("flags", "setflags", "base", "data", "ctypes", "__array_interface__"), _MEMORY),
    **dict.fromkeys(("tofile", "dump", "dumps"), _FILE),
    "resize": ("arrays have one shape for life", "make a new array: np.resize(x, shape), x.reshape(shape)"),
}


_PLAIN = int | float | complex | str | bytes | None  # values that nobody can write into


def _object_attribute(ctx: Context, owner: Any, name: str, node: ast.AST) -> Value:
    """An attribute of an object that the function made, or of a module, class, dtype, ..."""
    outside = isinstance(owner, type) and not is_library(owner)
    static_part = None if isinstance(owner, np.finfo | np.iinfo) else getattr(type(owner), name, None)
    if accelerated_function(static_part) is not None and not isinstance(owner, type):
        return Bound(ctx.captures.part(type(owner), name), owner)
    _refuse_descriptor(ctx, owner if isinstance(owner, type) else type(owner), name, node)
    if isinstance(static_part, property | functools.cached_property):
        ctx.captures.part(type(owner), name)
    if isinstance(static_part, property) and hasattr(static_part.fget, "__code__"):
        return ctx.call(static_part.fget, [owner], {}, node)
    if isinstance(static_part, functools.cached_property) and name not in attributes_of(owner):
        value = ctx.call(static_part.func, [owner], {}, node)
        ctx.set_attribute(owner, name, value)
        return value
    if static_part is None and is_object(owner) and name not in attributes_of(owner):
        asked = ctx.captures.part(type(owner), "__getattr__")
        if hasattr(asked, "__code__") and not is_library(type(owner)):
            return ctx.call(asked, [owner, name], {}, node)
    value = ctx.captures.member(owner, name) if outside else getattr(owner, name)
    if name == "__dict__" and is_object(owner) and type(value) is dict:
        ctx.objects[id(value)] = owner
    if isinstance(owner, types.ModuleType) and isinstance(value, list | dict | set):  # sys.argv
        return ctx.captures.member(owner, name)
    if isinstance(owner, enum.Enum) and name in vars(owner) and not name.startswith("_"):  # what the user keeps there
        return ctx.captures.member(owner, name)
    if isinstance(owner, enum.Enum) and name in ("value", "_value_") and not isinstance(value, _PLAIN):
        return ctx.captures.member(owner, name)
    if isinstance(owner, types.ModuleType) and callable(value) and not ctx.frame.fixed:
        ctx.captures.of_module(owner, name, value)
        value = meant(value)
    if isinstance(value, types.MethodType) and value.__self__ is owner:
        ctx.captures.part(type(owner), name)
        return Bound(value.__func__, owner)
    of_class = static_part is not None and not hasattr(type(static_part), "__set__")  # not a field of a named tuple
    of_class &= name not in _OF_OBJECTS
    if of_class and is_object(owner) and name not in attributes_of(owner) and not is_library(type(owner)):
        return ctx.captures.member(type(owner), name)
    if isinstance(value, np.ndarray):
        return ctx.wrap(value)
    return value


def _inherited(ctx: Context, of: Super, name: str, node: ast.AST) -> Value:
    """super().name: looked up in the classes that come after the method's own."""
    obj = of.owner.value if isinstance(of.owner, Foreign) else of.owner
    order = type(obj).__mro__
    for cls in order[order.index(of.cls) + 1 :]:
        if name in cls.__dict__:
            ctx.captures.part(cls, name)
            found = cls.__dict__[name]
            if isinstance(obj, list | dict | set) and not hasattr(found, "__code__") and cls is not object:
                ctx.cut(node, f"super().{name} in a class derived from {cls.__name__}")
            if isinstance(found, property):
                return ctx.call(found.fget, [of.owner], {}, node)
            if isinstance(found, classmethod):
                return Bound(found.__func__, type(obj))
            if isinstance(found, staticmethod):
                return found.__func__
            return Bound(found, of.owner) if callable(found) else ctx.captures.member(cls, name)
    raise AttributeError(f"'super' object has no attribute {name!r}")


def _holds_attributes(f: Value) -> bool:
    """Whether it is a function of the user, accelerated, transformed or not: he may have given it attributes."""
    return not is_library(f) if isinstance(f, types.FunctionType) else hasattr(type(f), "__untraced_read__")


def _of_function(ctx: Context, f: Any) -> Foreign:
    """A function of the user as the object that holds its attributes."""
    return Foreign(f, Capture(ctx.captures.root(f), ""))


def _foreign_attribute(ctx: Context, owner: Foreign, name: str, node: ast.AST) -> Value:
    """An attribute of an object or module outside the function: guarded, or captured where it is an array."""
    obj = owner.value
    if ctx.mirrors.has_put(obj, name):
        return ctx.mirrors.by_id[id(obj)].__dict__[name]
    if name == "__dict__":
        ctx.cut(node, f"the attributes of a {type(obj).__name__} as a dict")
    if not isinstance(obj, types.ModuleType):
        own = getattr(obj, "__dict__", {})
        part = getattr(type(obj), name, None)
        if accelerated_function(part) is not None:
            return Bound(ctx.captures.part(type(obj), name), owner)
        _refuse_descriptor(ctx, type(obj), name, node)
        if name not in own and isinstance(part, property | functools.cached_property):
            ctx.captures.part(type(obj), name)
            if isinstance(part, property):
                return ctx.call(part.fget, [owner], {}, node)
            if ctx.keeps_changes:
                ctx.cut(node, f"the cached property {name} of an object outside the function is bound in it at first")
            return ctx.call(part.func, [owner], {}, node)
        if name not in own and isinstance(part, types.FunctionType):
            method = _in_class(type(obj), name)
            ctx.captures.method(owner, name)
            return part if isinstance(method, staticmethod) else Bound(part, owner)
    return ctx.captures.attribute(owner, name, getattr(obj, name))


# ---- obj.name = value ----------------------------------------------------------------------------


def set_attribute(ctx: Context, owner: Value, name: str, value: Value, node: ast.AST) -> None:
    """`owner.name = value`: a property's setter is called, else the object holds the value."""
    if _holds_attributes(owner) and not name.startswith("__"):
        ctx.set_attribute(_mirror(ctx, _of_function(ctx, owner), name, node), name, value)
        return
    cls = type(owner.value) if isinstance(owner, Foreign) else type(owner)
    _refuse_descriptor(ctx, cls, name, node)
    fixed = is_library(cls) and (isinstance(owner, Foreign) or not is_object(owner))
    part = None if fixed else getattr(cls, name, None)
    if isinstance(part, property) and hasattr(part.fset, "__code__"):
        ctx.captures.part(cls, name)
        ctx.call(part.fset, [owner, value], {}, node)
    elif not fixed and _is_plain(owner, cls, name, part):
        ctx.set_attribute(_mirror(ctx, owner, name, node) if isinstance(owner, Foreign) else owner, name, value)
    else:
        what = f"how {describe(owner)} takes a new attribute {name} is not known here"
        ctx.cut(node, what, why="its class has a way of its own to do that, or it is no instance of a class of yours")


def _refuse_descriptor(ctx: Context, cls: type, name: str, node: ast.AST) -> None:
    """Attributes by a descriptor of the user's are left to CPython: what it does at each access is its own affair."""
    found = None if is_library(cls) else _in_class(cls, name)
    if found is not None and not is_library(type(found)) and hasattr(type(found), "__get__"):
        ctx.cut(node, f"the attribute {name} of a {cls.__name__}, by a descriptor", why="it runs code at each access")


def _in_class(cls: type, name: str) -> Any:
    """What stands under the name in a class, its bases or its own class: `inspect.getattr_static`, in a tenth of the
    time.
    """
    around: type = type(cls)
    return next((vars(c)[name] for c in (*cls.__mro__, *around.__mro__) if name in vars(c)), None)


def _is_plain(owner: Value, cls: type, name: str, part: Any) -> bool:
    """Whether an assignment does no more than to bind the name in the object."""
    if isinstance(owner, type | types.FunctionType | types.ModuleType) or cls.__flags__ & _FIXED:
        return isinstance(owner, SharedNames)
    slot = isinstance(part, types.MemberDescriptorType)
    return not _defines(cls, "__setattr__") and name not in _OF_OBJECTS and (slot or not hasattr(part, "__set__"))


def _defines(cls: type, name: str) -> bool:
    return any(name in c.__dict__ for c in cls.__mro__[:-1])


_FIXED = 1 << 8  # in the __flags__ of a class: CPython's Py_TPFLAGS_IMMUTABLETYPE
_OF_OBJECTS = frozenset({"__class__", "__dict__"})


def _mirror(ctx: Context, owner: Foreign, name: str, node: ast.AST) -> Mirror:
    """The mirror of an outer object that the function changes, holding the initial value of its attribute `name`.

    A number is read at every call from then on, lest every value have a program of its own. A derivative or a batch
    works with the mirror as with its copies of arguments, and warns.
    """
    obj, capture = owner.value, owner.capture
    called = capture.name or getattr(obj, "__name__", "an object")
    if isinstance(obj, types.ModuleType) or not (ctx.keeps_changes or ctx.transforms):
        ctx.refuse(
            node,
            f"an attribute of {called}, which lives outside the function, cannot be assigned",
            why="the assignment would have to happen at every call, outside the compiled program",
            instead="return the new value and assign it where the function is called",
        )
    ctx.note_outside(f"{called}.{name}")
    mirror = ctx.mirror(obj, capture)
    if name not in mirror.__dict__ and hasattr(obj, name):
        mirror.__dict__[name] = ctx.captures.attribute(owner, name, getattr(obj, name))
        ctx.captures.vary(place_within(capture, name))
    elif name not in mirror.__dict__:
        ctx.captures.absent(owner, name)
    return mirror


UPDATES: dict[str, np.ufunc] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "mul": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


def update_of(ctx: Context, place: UpdatePlace, name: str, node: ast.AST) -> Update:
    """Raises AttributeError for a name that x.at[i] does not have."""
    if name in ("apply", "get", "set") or name in UPDATES:
        return Update(place, name)
    raise AttributeError(f"x.at[...] has no attribute {name!r}")
