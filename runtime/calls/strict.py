"""Whether NumPy is to raise, call or print on floating-point errors, as np.seterr and np.errstate say.

A compiled program does not say where it divided by zero. So where more than "ignore" and "warn" is asked for, CPython
runs the call; where there are Arrays among the arguments it is the device's, as in other libraries of device arrays.
`untraced.config.jax_debug_nans` and `jax_debug_infs` ask for it in all calls, those with Arrays too; `disable_jit` has
CPython run them, and nothing raise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy._core import umath

from ...translator.errors import Diagnostic, UnsupportedError

STATE: Any = umath._extobj_contextvar
"""NumPy's own context variable: another object after each np.seterr and in each np.errstate. np.geterr takes 20 times
as long as looking whether it is the same one as at the last call.
"""
CALM: list[Any] = [object()]  # the state last seen in which nothing is raised
DEBUGGED: dict[str, dict[str, str]] = {}
"""What is debugged, and the settings of np.errstate for it."""
SETTINGS: dict[str, dict[str, str]] = {
    "nans": {"invalid": "raise"},
    "infs": {"divide": "raise", "over": "raise"},
    "jit": {},
}


def is_asked() -> bool:
    """Whether arithmetic may do more here than warn."""
    state = STATE.get()
    if state is CALM[0]:
        return False
    if DEBUGGED or not {*np.geterr().values()} <= {"ignore", "warn"}:
        return True
    CALM[0] = state
    if DEBUGGED:  # since, by another thread
        CALM[0] = object()
    return False


def debug(what: str, wanted: bool) -> None:
    """From now on "nans" or "infs" raise FloatingPointError where they come from numbers, or no more; "jit": calls are
    CPython's.
    """
    DEBUGGED.pop(what, None)
    if wanted:
        DEBUGGED[what] = SETTINGS[what]
    CALM[0] = object()


def debugging() -> np.errstate:
    """The np.errstate that debugged calls run under."""
    told: Any = {name: how for settings in DEBUGGED.values() for name, how in settings.items()}
    return np.errstate(**told)


def reason() -> UnsupportedError:
    """Why CPython runs the call."""
    return UnsupportedError(
        Diagnostic(
            "np.seterr or np.errstate asks for more than warnings where arithmetic goes wrong",
            why="compiled programs do not look at each operation",
            instead='leave the settings at "warn" or "ignore" around the calls that shall be compiled',
        )
    )
