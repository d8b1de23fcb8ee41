"""Python's builtins that ask about, build or run over containers; those that compute are in the surface."""

from __future__ import annotations

import ast
import functools
import math
import operator
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ... import make, surface
from ...errors import DTypeError
from ...ir import Var
from ...library import mapping, support
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import as_key, follows_loops, sign_of, static
from ..core.growing import Growing, Pile, length
from ..core.values import (
    Bound,
    Closure,
    DictView,
    Enumerate,
    Flat,
    Foreign,
    Grid,
    Masked,
    Partial,
    Ref,
    Reversed,
    RunRange,
    Super,
    Undefined,
    Value,
    Zip,
    attributes_of,
    class_name,
    describe,
    is_object,
    leaves_in,
)
from ..facts.booleans import marked, python_bool
from ..facts.classes import answer, class_of, classes_shown, of_either
from ..facts.runs import count
from ..parts.known import run_known
from ..parts.listed import note_rows
from ..paths.iterables import held
from ..uses.arrays import ARRAYS
from ..uses.attributes import get_attribute, set_attribute
from ..uses.conditions import truth
from ..uses.handlers import call_handler
from ..uses.iteration import known_items, length_of
from ..uses.operators import as_number, binary, operand_of_one, operands_of_two
from ..uses.protocols import check_text, is_instance, special
from .standard import library_for

Implementation = Callable[..., Value]
STANDS_FOR = "__untraced_class__"  # in a class of the library: that of which its objects are for the user


def _len(ctx: Context, node: ast.AST, x: Value) -> Value:
    if type(x) is Ref:
        if not x.aval.shape:
            raise ctx.error(DTypeError, node, "len() of unsized object")
        return x.aval.shape[0]
    if isinstance(x, Flat):
        return x.line.aval.size
    if isinstance(x, Masked):
        ctx.at(node)
        return count(ctx, x, 0)
    if isinstance(x, Growing):
        return length(ctx, x)
    if isinstance(x, Pile):
        return x.count
    if isinstance(x, RunRange) and sign_of(ctx, x.step) is not None:
        return _turns(ctx, x)
    if isinstance(x, RunRange | Zip | Enumerate | Reversed | DictView):
        return len(known_items(ctx, x, node))
    if type(x) is Var:
        raise TypeError(f"object of type {_type(ctx, node, x).__name__!r} has no len()")
    method = ctx.captures.part(type(x.value if isinstance(x, Foreign) else x), "__len__")
    if isinstance(method, types.FunctionType):
        return ctx.call(method, [x], {}, node)
    return run_known(ctx, node, len, x)


def _turns(ctx: Context, r: RunRange) -> Value:
    """How many numbers a range has."""
    b = ctx.b
    start, stop, step = (as_python(b, ctx.atom(v)) for v in (r.start, r.stop, r.step))
    back = make.floor_divide(b, make.subtract(b, start, stop), step)
    return ctx.wrap(as_python(b, make.maximum(b, make.negative(b, back), 0)))


def _range(ctx: Context, node: ast.AST, *args: Value) -> Value:
    parts = [a.item() if isinstance(a, np.integer) else a for a in map(ctx.number, args)]
    if not any(type(a) is Var or type(a) is Ref for a in parts):
        return run_known(ctx, node, range, *parts)
    for a in parts:
        if type(a) is Ref or (type(a) is Var and a.aval.dtype.kind not in "iu"):
            raise ctx.error(DTypeError, node, "range() needs integers", why=f"this is {describe(a)}")
    start, stop, step = (0, parts[0], 1) if len(parts) == 1 else (*parts, 1) if len(parts) == 2 else parts
    if type(step) is Var and (sign_of(ctx, step) is None or not follows_loops(ctx, step)):
        static(ctx, step, node, "the step of a range")
    return RunRange(start, stop, step)


def _zip(ctx: Context, node: ast.AST, *parts: Value, strict: bool = False) -> Value:
    if all(isinstance(p, list | tuple) for p in parts):
        return list(run_known(ctx, node, lambda: list(zip(*parts, strict=strict))))
    lengths = {length_of(ctx, p, node) for p in parts} if strict else set()
    if None in lengths or len(lengths) > 1:
        why = "the error would be raised when the shortest of them is at its end"
        ctx.cut(node, "zip(..., strict=True) of what is not known to be equally long", why)
    return Zip(parts)


def _enumerate(ctx: Context, node: ast.AST, inner: Value, start: Value = 0) -> Value:
    return Enumerate(inner, start)


def _vectorize(
    ctx: Context,
    node: ast.AST,
    pyfunc: Value,
    otypes: Value = None,
    doc: Value = None,
    excluded: Value = None,
    cache: Value = False,
    signature: Value = None,
) -> Value:
    return vectorized(pyfunc, otypes, excluded, signature)


def vectorized(pyfunc: Value, otypes: Value, excluded: Value, signature: Value) -> Partial:
    """np.vectorize(pyfunc, ...), which is called as the library's source of it is."""
    return Partial(mapping.vectorized, (pyfunc, otypes, tuple(excluded or ()), signature), {})


def _settled(ctx: Context, node: ast.AST, x: Value) -> Value:
    """The value itself, unless its type depends on the data."""
    if any(type(v) is Var and v in ctx.numbers.blended for v in leaves_in(x)):
        ctx.cut(
            node,
            "np.vectorize of a function that returns numbers of different kinds is not in the language",
            why="NumPy gives the result the type of the first element's, whatever the others are",
            instead="return one kind of number, 0.0 for 0, or say otypes=[float]",
        )
    return x


def _ndindex(ctx: Context, node: ast.AST, *shape: Value) -> Value:
    sizes = static(ctx, shape, node, "a shape")
    if len(sizes) == 1 and not isinstance(sizes[0], int | np.integer):
        (sizes,) = sizes
    return Grid(tuple(operator.index(n) for n in sizes))


def _reversed(ctx: Context, node: ast.AST, inner: Value) -> Value:
    if isinstance(inner, range | RunRange | Growing | Pile) or type(inner) is Ref:
        return Reversed(inner)
    if isinstance(inner, set | frozenset):
        raise TypeError(f"{class_name(inner)!r} object is not reversible")
    return known_items(ctx, inner, node)[::-1]


def _isinstance(ctx: Context, node: ast.AST, x: Value, kinds: Value) -> Value:
    kinds = tuple(map(_shown, kinds)) if isinstance(kinds, tuple) else _shown(kinds)
    if type(x) in (Ref, Masked, Var):
        if _of_arrays(kinds) and not (type(x) is Var and x.aval.weak):
            return True
        if type(x) is Var:
            return answer(ctx, x, lambda cls: run_known(ctx, node, issubclass, cls, kinds))
        return run_known(ctx, node, issubclass, np.ndarray, kinds)
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(x, Undefined) and x.stream is not None and not x.method:
        return run_known(ctx, node, issubclass, x.cls, kinds)
    if classes := classes_shown(held(ctx, x)):
        return of_either(ctx, node, classes, lambda cls: run_known(ctx, node, issubclass, cls, kinds))
    known = x.value if isinstance(x, Foreign) else x
    if hasattr(type(known), STANDS_FOR):
        return type(known) in kinds or run_known(ctx, node, issubclass, _class_of(known), kinds)
    return run_known(ctx, node, isinstance, known, kinds)


def _shown(kind: Value) -> Value:
    """typing.Callable and its kin are objects from outside."""
    return kind.value if isinstance(kind, Foreign) else kind


def _of_arrays(kinds: Value) -> bool:
    """Whether the runtime's own class of arrays is among them: what a program computes is of it, if anybody asks."""
    given = kinds if isinstance(kinds, tuple) else (kinds,)
    return any(isinstance(k, type) and hasattr(k, "__untraced_arrays__") for k in given)


def _type(ctx: Context, node: ast.AST, x: Value) -> Value:
    if type(x) is Ref or type(x) is Masked:
        return np.ndarray
    if type(x) is Var:
        return class_of(ctx, x)
    if classes := classes_shown(held(ctx, x)):
        return of_either(ctx, node, classes, lambda cls: cls)
    return _class_of(x.value if isinstance(x, Foreign) else x)


def _class_of(known: Any) -> type:
    """The class of an object as CPython has it: the library's own classes stand for others in derivatives."""
    return getattr(type(known), STANDS_FOR, type(known))


def _bool(ctx: Context, node: ast.AST, x: Value = False) -> Value:
    known = truth(ctx, x, node)
    return known if isinstance(known, bool) else python_bool(ctx, ctx.wrap(known))


def _sequence(python: type) -> Implementation:
    def implementation(ctx: Context, node: ast.AST, *args: Value) -> Value:
        made = python(known_items(ctx, args[0], node)) if args else python()
        if python is list and args and type(args[0]) is Ref:
            note_rows(ctx, made, args[0])
        return made

    return implementation


def _set(python: type) -> Implementation:
    """Which elements of a set are equal is known when it is made."""

    def implementation(ctx: Context, node: ast.AST, *args: Value) -> Value:
        return python(as_key(ctx, known_items(ctx, args[0], node), node, "an element of a set")) if args else python()

    return implementation


def _dict(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
    if args and not isinstance(args[0], dict):
        pairs = [known_items(ctx, pair, node) for pair in known_items(ctx, args[0], node)]
        args = ([(as_key(ctx, pair[0], node, "a dict key"), *pair[1:]) for pair in pairs],)
    return run_known(ctx, node, lambda: dict(*args, **kwargs))


def _map(ctx: Context, node: ast.AST, function: Value, *parts: Value) -> Value:
    columns = [known_items(ctx, p, node) for p in parts]
    return [ctx.call(function, list(row), {}, node) for row in zip(*columns, strict=False)]


def _reduce(ctx: Context, node: ast.AST, function: Value, items: Value, *initial: Value) -> Value:
    rest = [*initial, *known_items(ctx, items, node)]
    if not rest:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = rest[0]
    for item in rest[1:]:
        total = ctx.call(function, [total, item], {}, node)
    return total


def _prod(ctx: Context, node: ast.AST, items: Value, *, start: Value = 1) -> Value:
    return _reduce(ctx, node, operator.mul, items, start)


def _getattr(ctx: Context, node: ast.AST, x: Value, name: Value, *default: Value) -> Value:
    _check_name(ctx, node, name)
    try:
        return get_attribute(ctx, x, name, node)
    except AttributeError:
        if default:
            ctx.captures.absent(x, name)
            return default[0]
        raise


def _vars(ctx: Context, node: ast.AST, *x: Value) -> Value:
    if not x:
        refuse_names(ctx.refuse, "vars", node)
    try:
        return get_attribute(ctx, x[0], "__dict__", node)
    except AttributeError:
        raise TypeError("vars() argument must have __dict__ attribute") from None


def refuse_names(refuse: Callable[..., NoReturn], label: str, node: ast.AST) -> NoReturn:
    refuse(
        node,
        f"`{label}` is not in the language",
        why="which names it reads or binds cannot be told from the source",
        instead="write the code out, or pass the values as arguments",
    )


def _check_name(ctx: Context, node: ast.AST, name: Value) -> None:
    """Raises Python's TypeError for the name of an attribute that is no str."""
    if not isinstance(name, str):
        raise TypeError(f"attribute name must be string, not {_type(ctx, node, name).__name__!r}")


def _setattr(ctx: Context, node: ast.AST, x: Value, name: Value, value: Value) -> None:
    if type(x) is Ref or type(x) is Var or not isinstance(name, str):
        ctx.cut(node, f"setattr of {describe(x)}")
    set_attribute(ctx, x, name, value, node)


def _hasattr(ctx: Context, node: ast.AST, x: Value, name: Value) -> Value:
    _check_name(ctx, node, name)
    if type(x) is Ref:
        return hasattr(np.ndarray, name)
    if type(x) is Var:
        return answer(ctx, x, lambda cls: hasattr(cls, name))
    if isinstance(x, Closure):
        return hasattr(_hasattr, name)
    if isinstance(x, Foreign) and ctx.mirrors.has_put(x.value, name):
        return True
    found = hasattr(x.value if isinstance(x, Foreign) else x, name)
    if not found:
        ctx.captures.absent(x, name)
    elif isinstance(x, Foreign):
        ctx.captures.attribute(x, name, getattr(x.value, name))
    elif isinstance(x, types.FunctionType):
        ctx.captures.member(x, name)
    else:
        ctx.captures.part(x if isinstance(x, type) else type(x), name)
    return found


def _asking(builtin: Callable[..., Any], *names: str) -> Implementation:
    """A builtin that asks the class of an object by its special methods; of all else the surface knows it."""

    def implementation(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
        for name in names if args and is_instance(args[0]) else ():
            result = special(ctx, args[0], name, list(args[1:]), node)
            if result is not NotImplemented:
                return result
        if builtin is round and args and type(args[0]) is Ref:
            raise TypeError("type numpy.ndarray doesn't define __round__ method")
        if builtin in (abs, divmod) and any(isinstance(a, range | RunRange) for a in args):
            raise TypeError(f"bad operand type for {builtin.__name__}(): 'range'")
        if builtin is abs and len(args) == 1:
            args = (operand_of_one(ctx, args[0]),)
        if builtin is divmod and len(args) == 2:
            args = operands_of_two(ctx, *args)
        return call_handler(ctx, surface.handler_for(builtin), builtin, list(args), kwargs, node)

    return implementation


def _question(function: Callable[..., Any]) -> Implementation:
    """A function whose answer is Python's bool."""

    def implementation(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
        answer = call_handler(ctx, surface.handler_for(function), function, list(args), kwargs, node)
        return python_bool(ctx, answer)

    return implementation


def _pow(ctx: Context, node: ast.AST, base: Value, exp: Value, mod: Value = None) -> Value:
    if mod is None:
        return binary(ctx, ast.Pow, base, exp, node)
    return call_handler(ctx, surface.handler_for(pow), pow, [base, exp, mod], {}, node)


def _gathering(builtin: Callable[..., Any]) -> Implementation:
    """sum, any and all: of whatever can be iterated over."""

    def implementation(ctx: Context, node: ast.AST, items: Value, *start: Value, **kwargs: Value) -> Value:
        given = items if type(items) in (list, tuple, Ref, Masked) else known_items(ctx, items, node)
        if builtin is sum and type(given) in (list, tuple) and any(map(is_object, given)):
            return _reduce(ctx, node, operator.add, given, *(start or kwargs.values() or (0,)))
        if builtin is sum and type(given) in (list, tuple) and not given and start:
            return start[0]  # itself, not a copy
        if builtin is sum and type(given) is list:
            given = [as_number(ctx, x) for x in given]
        result = call_handler(ctx, surface.handler_for(builtin), builtin, [given, *start], kwargs, node)
        return result if builtin is sum else marked(ctx, result)

    return implementation


def _text(python: Callable[..., str], *names: str) -> Implementation:
    """str and repr: of known values."""

    def implementation(ctx: Context, node: ast.AST, *args: Value, **kwargs: Value) -> Value:
        given = (*args, kwargs["object"]) if python is str and "object" in kwargs else args
        if len(given) != 1 or len(args) + len(kwargs) > 1:  # none, or bytes and how to read them
            return run_known(ctx, node, lambda: python(*args, **kwargs))
        return text_of(ctx, given[0], node, python, names)

    return implementation


def text_of(
    ctx: Context, x: Value, node: ast.AST, python: Callable[..., str], names: tuple[str, ...] = ("__str__", "__repr__")
) -> Value:
    for name in names:
        result = special(ctx, x, name, [], node) if is_object(x) else NotImplemented
        if result is not NotImplemented:
            return result
    inside = list(attributes_of(x).values()) if is_object(x) else x
    check_text(ctx, inside, node)
    static(ctx, inside, node, "a formatted value")
    return run_known(ctx, node, python, x)


def format_of(ctx: Context, x: Value, spec: str, node: ast.AST) -> Value:
    """format(x, spec) of an object. Raises TypeError for a spec that its class has no `__format__` for."""
    result = special(ctx, x, "__format__", [spec], node)
    if result is not NotImplemented:
        return result
    if spec:
        raise TypeError(f"unsupported format string passed to {class_name(x)}.__format__")
    return text_of(ctx, x, node, str)


def _hash(ctx: Context, node: ast.AST, x: Value) -> Value:
    return run_known(ctx, node, hash, as_key(ctx, x, node, "what is hashed"))


def _callable(ctx: Context, node: ast.AST, x: Value) -> Value:
    return isinstance(x, Closure | Bound | Partial) or callable(x.value if isinstance(x, Foreign) else x)


def _slice(ctx: Context, node: ast.AST, *args: Value) -> Value:
    return slice(*args)


def _id(ctx: Context, node: ast.AST, x: Value) -> Value:
    why = "where an object lies only CPython knows"
    ctx.cut(node, "`id` is not in the language", why, instead="compare with `is`")


def _super(ctx: Context, node: ast.AST, cls: Value = None, owner: Value = None) -> Value:
    """super() in a method: of the class that defines it and of its first argument."""
    frame = ctx.frame
    if cls is None:
        cell = frame.scope.cells.get("__class__")
        arguments = frame.source.node.args
        if cell is None or not (*arguments.posonlyargs, *arguments.args):
            raise RuntimeError("super(): no arguments")
        cls = cell.cell_contents
        owner = frame.env[(*arguments.posonlyargs, *arguments.args)[0].arg]
    return Super(cls, owner)


BUILTINS: dict[Any, Implementation] = {
    super: _super,
    **ARRAYS,
    len: _len,
    range: _range,
    zip: _zip,
    enumerate: _enumerate,
    reversed: _reversed,
    np.ndindex: _ndindex,
    np.vectorize: _vectorize,
    support.settled: _settled,
    isinstance: _isinstance,
    type: _type,
    bool: _bool,
    tuple: _sequence(tuple),
    list: _sequence(list),
    set: _set(set),
    frozenset: _set(frozenset),
    dict: _dict,
    map: _map,
    getattr: _getattr,
    setattr: _setattr,
    hasattr: _hasattr,
    vars: _vars,
    callable: _callable,
    slice: _slice,
    divmod: _asking(divmod, "__divmod__"),
    id: _id,
    functools.reduce: _reduce,
    math.prod: _prod,
    abs: _asking(abs, "__abs__"),
    round: _asking(round, "__round__"),
    float: _asking(float, "__float__"),
    int: _asking(int, "__int__", "__index__", "__trunc__"),
    pow: _pow,
    **{f: _question(f) for f in (math.isnan, math.isinf, math.isfinite)},
    sum: _gathering(sum),
    any: _gathering(any),
    all: _gathering(all),
    hash: _hash,
    str: _text(str, "__str__", "__repr__"),
    repr: _text(repr, "__repr__"),
}


def builtin_for(f: Any) -> Implementation | None:
    """The meaning of a call of one of Python's own functions; None for all else."""
    return BUILTINS.get(f) or library_for(f)
