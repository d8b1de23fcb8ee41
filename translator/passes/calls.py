"""Operations that a rewrite proposes before they are built, and the definitions of the variables that it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ..ir import Apply, Atom, Aval, Const, Var
from ..ops.core import NO_ATTRS, Attrs, Op
from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """An operation that has no target yet."""

    op: Op
    args: tuple[Atom, ...]
    attrs: Attrs = NO_ATTRS

    def aval(self) -> Aval:
        (aval,) = self.op.infer([a.aval for a in self.args], self.attrs)
        return aval


@dataclass(frozen=True, slots=True)
class Nested:
    """An operation whose operands are still to be computed, all or some."""

    op: Op
    args: tuple[Atom | Call | Nested, ...]
    attrs: Attrs = NO_ATTRS

    def aval(self) -> Aval:
        (aval,) = self.op.infer([aval_of(a) for a in self.args], self.attrs)
        return aval


def aval_of(x: Atom | Call | Nested) -> Aval:
    return x.aval() if isinstance(x, Call | Nested) else x.aval


@dataclass(slots=True)
class Definitions:
    """The definitions of a program being rewritten, and how often each variable was read in it before."""

    uses: Mapping[Var, int] = field(default_factory=dict)
    made: dict[Var, Apply] = field(default_factory=dict)

    def get(self, v: Var) -> Apply | None:
        return self.made.get(v)

    def is_read_once(self, v: Var) -> bool:
        """Whether a variable is read once; variables that rewrites make are, since each is made for one use."""
        return self.uses.get(v, 1) == 1


Found = Atom | Call | Nested | None


def made_by(atom: Atom, op: Op, definitions: Definitions) -> Apply | None:
    """The statement that made the atom, if it applies `op`."""
    made = definitions.get(atom) if isinstance(atom, Var) else None
    return made if made is not None and made.op is op else None


def is_same(x: Atom, y: Atom) -> bool:
    """One variable, or constants of the same bits."""
    if isinstance(x, Const) and isinstance(y, Const):
        return x.key == y.key
    return x is y
