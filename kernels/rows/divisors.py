"""Quotients of a row's elements by one number: its reciprocal is made once, and each quotient from that.

    y = e / np.sum(e, axis=1, keepdims=True)          const Divisor t_divides = divisor(t);
                                                      const float y = quotient(e, t_divides);

In Triton `y = quotient(e, t)` does both; the compiler makes one reciprocal for the row.

With r = 1/d and q = x*r, q - (q*d - x)*r is the quotient as IEEE 754 rounds it: all float32 quotients that lie within 8
units of 2^-49 of a midpoint between floats, which the error stays far below, were compared with division. Instead of 10
instructions, two of them for the unit of special functions, a quotient is 7; one of 0 no longer calls a function.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ...translator.records import dataclass
from ..source.values import Call, Number, Value

if TYPE_CHECKING:
    from ..source.body import Body


def is_by_one_number(body: Body, v: Value) -> bool:
    """Whether a value is the exact quotient, in float32, of a row's elements by a number of the row."""
    if not isinstance(v.source, Call) or v.source.op.name != "divide" or v in body.loose:
        return False
    x, y = v.args
    return v.along and not (y.along or isinstance(y.source, Number) or any(a.dtype != np.float32 for a in (v, x, y)))


@dataclass(slots=True)
class Divisors:
    """Of one walk along a row: the names of divisors by value, and lines that make those of the pass under way."""

    names: dict[int, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def quotient(self, body: Body, v: Value) -> str:
        """The expression for a quotient by a number of the row; empty for another value."""
        if not is_by_one_number(body, v):
            return ""
        x, y = v.args
        if id(y) not in self.names:
            self.names[id(y)] = name = body.lowered.names.fresh(f"{y.name}_divides")
            self.lines.append(f"const Divisor {name} = divisor({body.text(y)});")
        return f"quotient({body.text(x)}, {self.names[id(y)]})"

    def made(self) -> list[str]:
        """The lines, to stand before the pass that was written last."""
        lines, self.lines = self.lines, []
        return lines
