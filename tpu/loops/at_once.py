"""A call of native loops as Python source, for arguments that lie as the loops want them.

    p0 = address(take(a0))                      before anything is written: a TypeError for memory that is read-only
    if p0 % 8: raise LookupError
    code = loop0(all0(p0))
    if code: stopped(step0, code)

`Direct.host` does the same for any arguments, and looks at each of them anew. What is written here takes 3 us instead
of 10, half of what is left being NumPy's and ctypes' own.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...kernels.loops.interrupts import alarm_is_set
from ...translator.bounds import Interval
from ...translator.ir import Apply, Atom, Const, DType, Statement, Var
from ...translator.ops.core import At, Cast, Index, IndexAttrs
from ...translator.records import dataclass
from .direct import Call, Direct, Made, ends_by_interrupt, is_nothing


@dataclass(slots=True)
class Source:
    """Statements `before` anything is written, of which an error says
    that the call is to be made otherwise; statements that `run` loops that write arguments; the names of the arrays
    that are results of the program and made anew, by their places; what the names in all of these mean.
    """

    before: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)
    results: dict[int, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)


def source_of(
    direct: Direct, arguments: Sequence[str], known: Mapping[int, Any], assumed: Mapping[str, Interval]
) -> Source | None:
    """The call for these expressions of the arguments: names of NumPy arrays, and Python numbers, of which something is
    `assumed`. None where it is not so simple. Of the results those that are `known` are not made.
    """
    if direct.written and not direct.in_place:
        return None
    try:
        made = _Writer(direct, known).written(arguments)
    except _NotSimpleError:
        return None
    made.before[:0] = [f"if not {i.low} <= {x} <= {i.high}: raise LookupError" for x, i in assumed.items()]
    return made


class _NotSimpleError(Exception):
    pass


class _Writer:
    def __init__(self, direct: Direct, known: Mapping[int, Any]) -> None:
        self.direct, self.known = direct, known
        self.made = Source(names={"address": ctypes.addressof, "take": ctypes.c_char.from_buffer, "array": np.array})
        self._fresh = itertools.count()
        self._places: dict[Var, str] = {}  # the names of arrays and numbers
        self._addresses: dict[str, str] = {}  # of the arrays, by their names
        self._own: set[str] = set()  # arrays that nobody else has

    def written(self, arguments: Sequence[str]) -> Source:
        d = self.direct
        if d.listens:
            self.made.names |= {"ends": ends_by_interrupt, "alarmed": alarm_is_set}
            self.made.before.append(f"if {'not ends' if d.written else 'alarmed'}(): raise LookupError")
        for p, text in zip(d.params, arguments, strict=True):
            self._places[p] = text
            if p.aval.shape:
                self._addresses[text] = self._address(text, self.made.before, p.aval.dtype)
            elif not p.aval.weak:
                raise _NotSimpleError
        self._keep_apart(arguments)
        for step in d.steps:
            if isinstance(step, Made):
                self._make(step)
            elif isinstance(step, Call):
                self._call(step, step is d.first)
            else:
                self._around(step.statement)
        for p, r in d.last:
            if not isinstance(r, Var) or self._places[r] != self._places[p]:
                raise _NotSimpleError
        for k, r in enumerate(d.results[: d.leaves]):
            if k not in self.known:
                self.made.results[k] = self._result(r)
        return self.made

    def _keep_apart(self, arguments: Sequence[str]) -> None:
        """Memory that is written is nobody else's."""
        arrays = [(p, x) for p, x in zip(self.direct.params, arguments, strict=True) if p.aval.shape]
        for p, x in arrays:
            for q, y in arrays:
                if p in self.direct.written and q is not p and (q not in self.direct.written or x < y):
                    a, b = self._addresses[x], self._addresses[y]
                    self.made.before.append(
                        f"if {a} < {b} + {q.aval.nbytes} and {b} < {a} + {p.aval.nbytes}: raise LookupError"
                    )

    def _address(self, x: str, lines: list[str], dtype: DType | None = None) -> str:
        """The address of an array that is contiguous and may be written. Of an array of the caller's it is asked
        whether it is aligned."""
        p = f"p{next(self._fresh)}"
        lines.append(f"{p} = address(take({x}))")
        if dtype is not None and dtype.alignment > 1:
            lines.append(f"if {p} % {dtype.alignment}: raise LookupError")
        return p

    def _around(self, s: Statement) -> None:
        """An element of an array; a number in another type of its kind: loops get it in their own type in any case."""
        match s:
            case Apply(op=Index(), attrs=IndexAttrs(dims=dims), targets=(t,), args=(Var() as a,)) if a in self._places:
                places = [str(d.index) for d in dims if isinstance(d, At) and isinstance(d.index, int)]
                if dims and len(places) == len(dims):
                    x = self._places[t] = f"x{next(self._fresh)}"
                    lines = self.made.run if self.direct.written else self.made.before
                    lines.append(f"{x} = {self._places[a]}[{', '.join(places)}]")
                    self._own.add(x)
                    return
            case Apply(op=Cast(), targets=(t,), args=(Var() as a,)) if a in self._places and not t.aval.shape:
                same = a.aval.dtype.kind == t.aval.dtype.kind and a.aval.dtype.itemsize <= t.aval.dtype.itemsize
                if same and not a.aval.shape:
                    self._places[t] = self._places[a]
                    return
        raise _NotSimpleError

    def _make(self, step: Made) -> None:
        """An array that is filled: before the loops, since there may be no memory for it."""
        attrs, value = step.attrs, step.value
        if not attrs.shape or 0 in attrs.shape or not (value is None or isinstance(value, Const)):
            raise _NotSimpleError
        x, names = f"x{next(self._fresh)}", self.made.names
        names[f"t{x}"], how = attrs.dtype, "empty"
        arguments = f"{attrs.shape}, t{x}"
        if value is not None and is_nothing(value.value):
            how = "zeros"
        elif value is not None:
            names[f"n{x}"], how = value.value, "full"
            arguments = f"{attrs.shape}, n{x}, t{x}"
        names[how] = getattr(np, how)
        self.made.before.append(f"{x} = {how}({arguments})")
        self._places[step.target] = x
        self._addresses[x] = self._address(x, self.made.before)
        self._own.add(x)

    def _call(self, step: Call, is_first: bool) -> None:
        lines = self.made.before if is_first or not self.direct.written else self.made.run
        held = [self._held(a, dtype, free, lines, is_first) for a, dtype, free in step.carried]
        read = [self._held(a, dtype, bool(a.aval.shape), lines, is_first) for a, dtype in step.others]
        k, names = next(self._fresh), self.made.names
        names |= {f"all{k}": step.values, f"loop{k}": step.function, f"step{k}": step, "stopped": self.direct.failed}
        run = f"loop{k}(all{k}({', '.join(self._addresses[x] for x in held + read)}))"
        if self.direct.written:
            self.made.run += [f"code = {run}", f"if code: stopped(step{k}, code)"]
        else:
            self.made.before.append(f"if {run}: raise LookupError")
        for t, j in step.targets:
            x = held[j]
            self._places[t] = x

    def _held(self, a: Atom, dtype: DType, free: bool, lines: list[str], is_first: bool) -> str:
        """The name of an array that a loop may work in, or reads where it is not carried."""
        if isinstance(a, Var) and a.aval.shape and free:
            x = self._places[a]
            if x not in self._addresses:
                raise _NotSimpleError
            return x
        if a.aval.shape and self.direct.written and not is_first:  # for a copy there may be no memory then
            raise _NotSimpleError
        x, names = f"x{next(self._fresh)}", self.made.names
        names[f"t{x}"] = dtype
        given = self._places[a] if isinstance(a, Var) else f"n{x}"
        if isinstance(a, Const):
            names[given] = a.value
        lines.append(f"{x} = array({given}, t{x}" + (", order='C')" if a.aval.shape else ")"))
        self._addresses[x] = self._address(x, lines)
        self._own.add(x)
        return x

    def _result(self, r: Atom) -> str:
        """An array that nobody else has."""
        x = self._places[r] if isinstance(r, Var) else ""
        if x not in self._own:
            raise _NotSimpleError
        if r.aval.shape:
            self._own.remove(x)
        return x
