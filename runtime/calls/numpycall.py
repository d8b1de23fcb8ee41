"""Generated code for calls of programs that NumPy runs (`entries.EitherEntry`), as `fastcall` has it for compiled ones:

    def __call__(self, a0=absent, /, *rest, **named):
        try:
            if rest or named or type(a0) is not ndarray or a0.dtype is not d0 or a0.shape != (10000,):
                raise LookupError
            with errstate(all="ignore"):
                x = run(a0)
            if type(x) is scalar or (type(x) is ndarray and x.base is None and x is not a0):
                return x
            return finish(x, (a0,))
        except Exception:
            ...                                     # the general path runs it again, and says what is wrong
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...translator.ir import Var
from ...translator.spans import is_observed
from ...translator.tree import ARRAY, Kind
from . import strict
from .fastcall import MAX_ARGUMENTS, Pattern, class_of, guard_text

if TYPE_CHECKING:
    from .entries import EitherEntry

_PYTHONS = {"f": float, "i": int, "c": complex}  # the types of weak results


def of_numpy(base: type, entry: EitherEntry, args: Sequence[Any]) -> Any:
    """The subclass of `base`, Accelerated, for arguments that are NumPy arrays, numbers and tuples, lists and dicts of
    them; None where that cannot be.
    """
    function = entry.function
    own = all(isinstance(r, Var) or not r.aval.shape for r in function.body.results)
    if entry.swapped or not (entry.alone and own and 0 < len(args) <= MAX_ARGUMENTS):
        return None
    names: dict[str, Any] = {"ndarray": np.ndarray, "errstate": np.errstate, "observed": is_observed}
    names |= {"state": strict.STATE.get, "calm": strict.CALM, "run": entry.call, "finish": entry.finished}
    pattern = Pattern(names, math.inf, dict(entry.values), numbers=True)
    matched = all(pattern.add(f"a{i}", x) for i, x in enumerate(args))
    if not matched or pattern.hosted or pattern.arrays or len(pattern.data) != len(entry.binding.sources):
        return None
    tests = ["not rest", "not named", *pattern.tests, "state() is calm[0]", "not observed()"]
    if entry.translation.guards:
        tests.append(guard_text(entry.translation.guards, names))
    if entry.translation.ordered:
        tests += [f"{a}.flags.c_contiguous" for a in pattern.host_arrays]
    done = "False"
    if function.out.kind is Kind.LEAF and function.body.results:
        aval = function.body.results[0].aval
        names["scalar"] = _PYTHONS.get(aval.dtype.kind) if aval.weak else aval.dtype.type
        fresh = ["type(x) is ndarray", "x.base is None", *(f"x is not {a}" for a in pattern.host_arrays)]
        is_number = not aval.shape and function.out != ARRAY  # of which NumPy makes an array, in np.where
        done = "type(x) is scalar" if is_number else " and ".join(fresh)
    leaves = "".join(f"{x}, " for x in pattern.data)
    return class_of(
        base,
        names,
        len(args),
        f"""
    try:
        if {" and ".join(tests)}:
            with errstate(all="ignore"):
                x = run({", ".join(f"a{i}" for i in range(len(args)))})
            if {done}:
                return x
            return finish(x, ({leaves}))
    except Exception:
        pass  # nothing has been written: the general path makes the call again, and says what is wrong with it""",
    )
