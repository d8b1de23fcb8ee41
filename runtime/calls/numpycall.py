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
from ...translator.tree import Kind
from . import strict
from .fastcall import MAX_ARGUMENTS, Pattern, class_of, guard_text

if TYPE_CHECKING:
    from .entries import EitherEntry


def of_numpy(base: type, entry: EitherEntry, args: Sequence[Any]) -> Any:
    """The subclass of `base`, Accelerated, for arguments that are NumPy arrays and numbers and a result that is one;
    None where that cannot be.
    """
    function = entry.function
    single = function.out.kind is Kind.LEAF and isinstance(function.body.results[0], Var)
    if entry.swapped or not (entry.alone and single and 0 < len(args) <= MAX_ARGUMENTS):
        return None
    names: dict[str, Any] = {"ndarray": np.ndarray, "errstate": np.errstate, "observed": is_observed}
    names |= {"state": strict.STATE.get, "calm": strict.CALM, "run": entry.call, "finish": entry.finished}
    pattern = Pattern(names, math.inf, dict(entry.values))
    leaves = all(type(x) in (np.ndarray, float, int, complex) for x in args)
    matched = leaves and all(pattern.add(f"a{i}", x) for i, x in enumerate(args))
    if not matched or pattern.hosted or not pattern.host_arrays:
        return None
    tests = ["not rest", "not named", *pattern.tests, "state() is calm[0]", "not observed()"]
    if entry.translation.guards:
        tests.append(guard_text(entry.translation.guards, names))
    arrays = [a for a, x in zip(pattern.data, args, strict=True) if isinstance(x, np.ndarray)]
    if entry.translation.ordered:
        tests += [f"{a}.flags.c_contiguous" for a in arrays]
    given = ", ".join(pattern.data)
    names["scalar"] = function.body.results[0].aval.dtype.type
    own = " and ".join(["type(x) is ndarray", "x.base is None", *(f"x is not {a}" for a in arrays)])
    return class_of(
        base,
        names,
        len(args),
        f"""
    try:
        if {" and ".join(tests)}:
            with errstate(all="ignore"):
                x = run({given})
            if type(x) is scalar or ({own}):
                return x
            return finish(x, ({given},))
    except Exception:
        pass  # nothing has been written: the general path makes the call again, and says what is wrong with it""",
    )
