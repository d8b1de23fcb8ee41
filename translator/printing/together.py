"""Assignments that stand in one line: those that the user wrote so, those of the tapes of a loop, and the
zeros that its adjoints start from.

    x, y = y, x + y                 x_tape[i], y_tape[i] = x, y                x, y = x_tape[i], y_tape[i]
                                    d_x, d_y = np.zeros_like(x), np.zeros_like(y)

They are joined where none reads what another on the line gives a new value.
"""

from __future__ import annotations

import re

from .. import ops
from ..errors import NOWHERE, Span
from ..ir import Apply, Var, is_number
from ..ops.core import Index, Put
from ..records import dataclass
from .sourcetext import Line
from .temporaries import is_adjoint, is_temporary

WIDE = 80  # columns: a longer line stays apart
_TAPE = "_tape"


@dataclass(slots=True)
class _Open:
    """The line that was written last, if another assignment may join it. `kind`: what it does with tapes; `changed`:
    the names that it binds or stores into.
    """

    line: Line
    span: Span
    kind: str
    targets: list[str]
    values: list[str]
    changed: set[str]


class Together:
    """Joins lines as they are written."""

    def __init__(self) -> None:
        self.open: _Open | None = None

    def join(self, lines: list[Line], s: Apply, target: str, value: str) -> None:
        """The last line is `target = value`: let it stand in the one before it, if it may."""
        line = lines[-1]
        name = target.partition("[")[0]
        kind = _kind(s, name, value)
        before = self.open
        place = s.span if _is_written_there(s) else NOWHERE
        self.open = _Open(line, place, kind, [target], [value], {name})
        if before is None or before.line is not lines[-2:][0] or before.kind != kind or line.comment:
            return  # it is the first of a block, perhaps
        if before.line.indent != line.indent:  # the one before it ends a block
            return
        reads = re.findall(r"\w+", f"{target} {value}")
        if not before.changed.isdisjoint(reads) or not (kind or _beside(before.span, place)):
            return
        targets, values = [*before.targets, target], [*before.values, value]
        text = f"{', '.join(targets)} = {', '.join(values)}"
        if len(text) + 4 * line.indent <= WIDE:
            both = Line(line.indent, text, before.line.comment, (*before.line.origins, *line.origins))
            lines[-2:] = [both]
            self.open = _Open(both, place, kind, targets, values, before.changed | {name})


def is_joinable(s: Apply, name: str) -> bool:
    """Whether it gives a name of the user's a value, or makes a tape, an entry of one or zeros to add to; `name`: what
    it is called.
    """
    (t,) = s.targets
    if name.startswith("d_") and s.op is ops.FULL:
        return is_number(s.args[0], 0)
    if isinstance(s.op, Put):
        return name.endswith(_TAPE) and isinstance(s.args[1], Var)
    return name.endswith(_TAPE) or not (is_temporary(t) or is_adjoint(t))


def _kind(s: Apply, name: str, value: str) -> str:
    """What it does with a tape or an adjoint; empty where it has to do with none."""
    if name.endswith(_TAPE):
        return "store" if isinstance(s.op, Put) else "new"
    if s.op is ops.FULL and name.startswith("d_"):
        return "zeros"
    return "read" if isinstance(s.op, Index) and value.partition("[")[0].endswith(_TAPE) else ""


def _is_written_there(s: Apply) -> bool:
    """Whether the user wrote `s` where its span says. A view is read where it is first used, maybe far from there."""
    return s.op is not ops.INDEX or "[" in s.span.text


def _beside(x: Span, y: Span) -> bool:
    """Whether the user wrote one behind the other on one line."""
    same = (x.file, x.line, x.end_line) == (y.file, y.end_line, y.line) and x.line > 0
    return same and (x.end_column < y.column or y.end_column < x.column)
