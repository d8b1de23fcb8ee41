"""Generated code for the hottest path: a call whose arguments are Arrays, or small NumPy arrays and numbers, of the
kinds seen last, and the guards of a program.

jax.jit answers such a call in C++; a general Python path takes as long again. So each accelerated function, once
compiled, moves to a subclass whose `__call__` is written for that one signature. Everything else falls through to
that of the class before, for the kind of arguments seen before, and at the end to the general path:

    def __call__(self, a0=None, a1=None, /, *rest, **named):
        try:
            if not rest and not named and a0._spec is s0 and a1._spec is s1 and g0["np"] is v0:
                r = new(Array)
                r._data = execute([a0._data, a1._data]).consume_with_handlers(handlers)[0]
                r._spec = t0
                return r
        except (AttributeError, LookupError, OverflowError, RuntimeError, TypeError, ValueError):
            ...
        return general(self, ...)

NumPy arrays are told apart by dtype and shape, and small results are copied out of XLA's memory into fresh ones.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...translator.ir import Root
from ...translator.spans import is_observed
from ...translator.tracebacks import trim_traceback
from ...translator.tree import ARRAY, Kind, leaf_nodes
from ..arrays.array import Array
from ..arrays.hosted import LENT, HostArray, lifted
from . import strict
from .arguments import WIDEST

if TYPE_CHECKING:
    from ...translator.reading.core.guards import Guard
    from .entries import TargetEntry

MAX_ARGUMENTS = 16
GONE = "donated"
"""What XLA says of an argument whose memory is gone, or is given away by this call; the general path says which."""
SMALL = 1 << 15  # bytes: above, arguments and results are handed over without copies, by the general path
_HOST_KINDS = frozenset({np.ndarray, HostArray})
_LEAVES = frozenset({Array, float, int, complex, *_HOST_KINDS})  # the data leaves among what a Pattern tests
_BOUNDS = (int, type(None))  # of slices that are compared as they are
_NONE: Mapping[int, Any] = {}
_ABSENT: Any = type("Absent", (), {"_spec": None})()


def guard_function(guards: Sequence[Guard]) -> Callable[[], bool]:
    """Whether all guards hold. The usual one, a name that still means the same object, costs one lookup."""
    if not guards:
        return _always
    names: dict[str, Any] = {}
    text = guard_text(guards, names)
    gone = "except (LookupError, ValueError, AttributeError, TypeError):\n        return False"
    exec(f"def hold():\n    try:\n        return {text}\n    {gone}\n", names)
    made: Callable[[], bool] = names["hold"]
    return made


def _always() -> bool:
    return True


def guard_text(guards: Sequence[Guard], names: dict[str, Any]) -> str:
    """An expression; it may raise LookupError, ValueError, AttributeError or TypeError where a name is gone."""
    terms = []
    for i, guard in enumerate(guards):
        names[f"h{i}"] = guard.holds
        direct = _direct_text(guard, i, names)
        if direct is None:
            terms.append(f"h{i}()")
        else:
            terms.append(direct if guard.kind != "equal" else f"({direct} or h{i}())")
    return " and ".join(terms)


def _direct_text(guard: Guard, i: int, names: dict[str, Any]) -> str | None:
    """The identity test of a name, or of what a way of attributes and items leads to from there; None for others."""
    if guard.kind not in ("same", "equal", "absent"):
        return None
    names[f"g{i}"], names[f"v{i}"] = guard.space, guard.expected
    if guard.kind == "absent":
        return f"{guard.capture.name!r} not in g{i}" if not guard.capture.path else None
    if guard.of_nothing:
        return None
    start = _start_text(guard, i, names)
    steps = [_step_text(how, key) for how, key in guard.capture.path]
    return f"{start}{''.join(steps)} is v{i}" if start and all(steps) else None


def _start_text(guard: Guard, i: int, names: dict[str, Any]) -> str:
    """The expression of what the guarded name means now; empty where that takes more than a lookup."""
    name = guard.capture.name
    if isinstance(guard.space, types.CellType):
        return f"g{i}.cell_contents"
    if isinstance(guard.space, Root):
        names[f"g{i}"] = guard.space.owner
        return f"g{i}.{name}" if name.isidentifier() else "" if name else f"g{i}"
    return f"g{i}[{name!r}]" if isinstance(guard.space, dict) else ""


def _step_text(how: str, key: Any) -> str:
    if how == "attr":
        return f".{key}" if str(key).isidentifier() else ""
    return f"[{key!r}]" if type(key) in (int, str) else ""


def specialised(base: type, entry: TargetEntry, args: Sequence[Any]) -> Any:
    """A subclass of `base`, Accelerated, whose `__call__` is written for such arguments; None where that cannot be."""
    from ...kernels.loops.interrupts import MESSAGE

    names: dict[str, Any] = {"new": object.__new__, "Array": Array, "assemble": entry.assemble_result}
    names |= {"gone": GONE, "stopped": MESSAGE}
    names |= {"ndarray": np.ndarray, "array": np.array, "asarray": np.asarray, "failed": np.dtype(object)}
    pattern = Pattern(names, statics=dict(entry.values))
    matched = all(pattern.add(f"a{i}", x) for i, x in enumerate(args))
    text_of_call = getattr(entry.full, "call_text", None)
    if not matched or len(args) > MAX_ARGUMENTS or text_of_call is None or not _one_kind(entry, pattern):
        return None
    if not entry.places:  # nothing but values that the program is made for
        return None
    call = text_of_call([pattern.data[s] for s in entry.places], pattern.arrays, names)
    if call is None or (pattern.arrays and call[1]):
        return None
    names |= {f"t{i}": t for i, t in enumerate(entry.outs)}
    tests = ["not rest", "not named", *pattern.tests]
    if not pattern.arrays:
        names |= {"state": strict.STATE.get, "calm": strict.CALM}
        tests.append("state() is calm[0]")
    if entry.donated:
        names["lent"] = LENT.get
        tests.append("not lent()")
    if entry.translation.guards:
        tests.append(guard_text(entry.translation.guards, names))
    hosted = ""
    if pattern.host_arrays:
        names |= {"kinds": _HOST_KINDS, "hosted": HostArray, "lifted": lifted}
        hosted = f"""
        if {" and ".join(tests).replace(" is ndarray", " in kinds")}:
            {_host_result_text(entry, call[0], call[1], hosted=True)}"""
    return class_of(
        base,
        names,
        len(args),
        f"""
    try:
        if {" and ".join(tests)}:
            {_result_text(entry, call[0]) if pattern.arrays else _host_result_text(entry, *call)}{hosted}
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        pass  # an argument of another kind, or a name that is gone: the general path says what there is to say
    except RuntimeError as error:
        if gone not in str(error) and stopped not in str(error):
            raise""",
    )


def class_of(base: type, names: dict[str, Any], count: int, attempt: str) -> type:
    """A subclass whose `__call__` makes the attempt with so many arguments; without a result the call is that of
    `base`, which may be such a subclass for arguments of another kind.
    """
    names |= {"__name__": __name__, "absent": _ABSENT, "general": base.__call__, "trim_traceback": trim_traceback}
    parameters = [f"a{i}" for i in range(count)]
    listed = ", ".join(parameters)
    others = listed if getattr(base, "takes", None) == count else f"*(a for a in ({listed},) if a is not absent)"
    text = f"""
def __call__(self, {", ".join(f"{a}=absent" for a in parameters)}, /, *rest, **named):{attempt}
    try:
        return general(self, {others}, *rest, **named)
    except Exception as error:
        trim_traceback(error)
        raise
"""
    exec(compile(text, "<untraced call>", "exec"), names)
    members = {"__call__": names["__call__"], "__module__": base.__module__, "__slots__": ()}
    members |= {"shortened": getattr(base, "shortened", 0) + 1, "takes": count}
    return type(base.__name__, (base,), members)


def of_loops(base: type, entry: TargetEntry, args: Sequence[Any], leaves: Sequence[Any]) -> Any:
    """The subclass for native loops, which work where the caller's NumPy arrays lie; None where that cannot be.

    def __call__(self, a0=absent, /, *rest, **named):
        try:
            if rest or named or type(a0) is not ndarray or a0.dtype is not d0 or a0.shape != (150, 150):
                raise LookupError
            p0 = address(take(a0))
        except (AttributeError, BufferError, LookupError, MemoryError, OverflowError, TypeError, ValueError):
            pass
        else:
            code = loop0(all0(p0))
            if code: stopped(step0, code)
            return a0
        ...
    """
    write, handed = getattr(entry.program, "source", None), entry.handed
    if write is None or handed is None or not entry.alone or not 0 < len(args) <= MAX_ARGUMENTS:
        return None
    names: dict[str, Any] = {"ndarray": np.ndarray, "assemble": entry.assemble_result, "observed": is_observed}
    names |= {"state": strict.STATE.get, "calm": strict.CALM}
    pattern = Pattern(names, math.inf, dict(entry.values))
    if not all(pattern.add(f"a{i}", x) for i, x in enumerate(args)) or pattern.arrays or pattern.hosted:
        return None
    data = [pattern.data[s] if type(s) is int else "" for s in entry.sources]
    source = write(data, entry.given(leaves), handed) if all(data) else None
    if source is None:
        return None
    names |= source.names
    tests = ["not rest", "not named", *pattern.tests, "state() is calm[0]", "not observed()"]
    if entry.translation.guards:
        tests.append(guard_text(entry.translation.guards, names))
    leaves = []
    for k, (result, node) in enumerate(zip(entry.function.body.results, leaf_nodes(entry.result), strict=False)):
        number = "" if result.aval.shape or node == ARRAY else ".item()" if result.aval.weak else "[()]"
        leaves.append(data[handed[k]] if k in handed else f"{source.results[k]}{number}")
    value = leaves[0] if entry.result.kind is Kind.LEAF else f"assemble([{', '.join(leaves)}])"
    before = "\n        ".join([f"if not ({' and '.join(tests)}): raise LookupError", *source.before])
    run = "\n        ".join([*source.run, f"return {value}"])
    return class_of(
        base,
        names,
        len(args),
        f"""
    try:
        {before}
    except (AttributeError, BufferError, LookupError, MemoryError, OverflowError, TypeError, ValueError):
        pass
    else:
        {run}""",
    )


class Pattern:
    """Tests that arguments are of the kinds seen, and the expressions of their data, in the order of the leaves. There
    is none for arrays of more bytes than `largest`. The leaves among the `statics` have these values. With `numbers`
    there are tests of NumPy's own.
    """

    def __init__(
        self,
        names: dict[str, Any],
        largest: float = SMALL,
        statics: Mapping[int, Any] = _NONE,
        numbers: bool = False,
    ) -> None:
        self.names, self.largest, self.statics = names, largest, statics
        self.tests: list[str] = []
        self.data: list[str] = []
        self.arrays = 0
        self.host_arrays: list[str] = []
        self.hosted = False
        self.children = 0
        self.numbers = numbers

    def add(self, path: str, x: Any, given: str = "") -> bool:
        """False where there is no quick test for something like `x`. `path` is a name; where it is not bound before,
        `given` is the expression that binds it, and stands for it in the first test.
        """
        cls, given = type(x), given or path
        if len(self.data) in self.statics and (cls in _LEAVES or isinstance(x, np.generic)):
            return self._static(path, x, given)
        if cls is Array:
            self.names[f"s{self.arrays}"] = x._spec
            self.arrays += 1
            return self._leaf(f"{path}._data", f"{given}._spec is s{self.arrays - 1}")
        if cls in _HOST_KINDS:
            return self._host_array(path, x, given)
        if self.numbers and isinstance(x, np.number | np.bool):
            self.names[f"t_{path}"] = cls
            return self._leaf(path, f"type({given}) is t_{path}")
        if cls in (float, int, complex):
            fits = f" and {-WIDEST} <= {path} <= {WIDEST}" if cls is int else ""
            return self._leaf(path, f"type({given}) is {cls.__name__}{fits}")
        return self._known(path, x, given) or self._container(path, x, given)

    def _static(self, path: str, x: Any, given: str) -> bool:
        """A leaf that the program is made for the value of; 0.0 == -0.0, so there are quick tests of integers only."""
        if type(x) is np.timedelta64 or not isinstance(x, int | np.integer):  # 5 s and 5 min are of one class
            return False
        self.names[f"t_{path}"] = type(x)
        return self._leaf(path, f"type({given}) is t_{path} and {path} == {int(x)}")

    def _leaf(self, data: str, test: str) -> bool:
        self.tests.append(test)
        self.data.append(data)
        return True

    def _host_array(self, path: str, x: Any, given: str) -> bool:
        if x.nbytes > self.largest or not x.dtype.isnative or not x.itemsize:
            return False
        dtype = f"d{len(self.host_arrays)}"
        self.names[dtype] = x.dtype
        self.host_arrays.append(path)
        self.hosted |= type(x) is HostArray
        return self._leaf(path, f"type({given}) is ndarray and {path}.dtype is {dtype} and {path}.shape == {x.shape}")

    def _known(self, path: str, x: Any, given: str) -> bool:
        """What is no leaf: the program is made for its value."""
        cls = type(x)
        if x is None:
            self.tests.append(f"{given} is None")
        elif cls in (bool, str) or (cls is slice and all(type(b) in _BOUNDS for b in (x.start, x.stop, x.step))):
            self.tests.append(f"type({given}) is {cls.__name__} and {path} == {x!r}")
        elif isinstance(x, type):
            self.names[f"t_{path}"] = x
            self.tests.append(f"{given} is t_{path}")
        else:
            return False
        return True

    def _container(self, path: str, x: Any, given: str) -> bool:
        cls = type(x)
        if cls not in (tuple, list, dict) or (cls is dict and not all(type(k) is str for k in x)):
            return False
        same = f"len({path}) == {len(x)}"
        if cls is dict:  # keys in order, against a list that is made once: a third of the cost of matching a tree
            self.names[f"k_{path}"] = list(x)
            same = f"[*{path}] == k_{path}"
        self.tests.append(f"type({given}) is {cls.__name__} and {same}")
        keys = sorted(x) if cls is dict else range(len(x))
        return all(self._child(f"{path}[{k!r}]", x[k]) for k in keys)

    def _child(self, path: str, x: Any) -> bool:
        name = f"c{self.children}"
        self.children += 1
        return self.add(name, x, f"({name} := {path})")


def _one_kind(entry: TargetEntry, pattern: Pattern) -> bool:
    """Whether all arguments are Arrays or numbers, or all NumPy's or numbers, with results that are worth copying."""
    if pattern.arrays:
        return not pattern.host_arrays
    outs = [spec.aval for spec in entry.outs]
    return bool(pattern.data) and all(a.size * a.dtype.itemsize <= SMALL and a.dtype.kind != "V" for a in outs)


def _host_result_text(entry: TargetEntry, call: str, flagged: bool, hosted: bool = False) -> str:
    """Statements that return fresh NumPy values, unless a check has failed: the general path says which. `hosted`: with
    the methods of HostArrays.
    """
    leaves = []
    nodes = leaf_nodes(entry.result)
    for i, (result, node) in enumerate(zip(entry.function.body.results, nodes, strict=False)):
        if result.aval.shape or node == ARRAY:
            leaves.append((f"array(r[{i}])", ".view(hosted)" if hosted else ""))
        else:
            leaves.append((f"asarray(r[{i}])", ".item()" if result.aval.weak else "[()]"))
    first = leaves[0][0] if leaves else "asarray(r[0])"
    values = [f"{'x' if made == first else made}{taken}" for made, taken in leaves]
    if hosted:
        values = [f"lifted({v})" if v.endswith("[()]") else v for v in values]
    value = values[0] if entry.result.kind is Kind.LEAF else f"assemble([{', '.join(values)}])"
    flag = f"if not asarray(r[{len(entry.function.body.results)}]): " if flagged else ""
    lines = [f"r = {call}"]
    if leaves or flag:
        lines += [f"x = {first}", "if x.dtype is failed: r[0].block_until_ready()"]
    return "\n            ".join([*lines, f"{flag}return {value}"])


def _result_text(entry: TargetEntry, call: str) -> str:
    """Statements that return the result. Array(...) is written out for the usual single one: it saves 0.1 us of 4."""
    if entry.result.kind is Kind.LEAF:
        lines = ["r = new(Array)", f"r._data = {call}[0]", "r._spec = t0", "return r"]
    else:
        arrays = ", ".join(f"Array(r[{i}], t{i})" for i in range(entry.result.leaf_count))
        lines = [f"r = {call}", f"return assemble([{arrays}])"]
    return "\n            ".join(lines)
