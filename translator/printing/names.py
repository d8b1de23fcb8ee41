"""Names for the variables of a printed function.

Versions of one variable share its name as long as they are not alive together; that is what makes

    y = x
    for i in range(n):
        y = np.sin(y) * x

of a program in which every `y` is another variable.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping, Set
from typing import assert_never

from ..ir import Apply, Atom, Block, Const, For, Fused, If, Invoke, Raise, Var, While
from .lifetimes import stores
from .ownership import Ownership
from .temporaries import is_adjoint, is_temporary

RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "numpy")) - {"_"}


class Names:
    """Groups variables that share a name, then names the groups in order of first definition."""

    def __init__(self, body: Block, ownership: Ownership) -> None:
        self.ownership = ownership
        self.lifetimes = lifetimes = ownership.lifetimes
        n = len(lifetimes.order)
        self._parent = list(range(n))
        self._members = [1 << i for i in range(n)]
        self._conflicts = list(lifetimes.conflicts)
        self._fixed: dict[int, str] = {}
        self._labels: dict[int, str] = {}
        self._stores(body)
        self._join(body)

    # ---- groups ----

    def _find(self, i: int) -> int:
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i

    def together(self, a: Var, b: Var) -> bool:
        return self._find(self.lifetimes.index[a]) == self._find(self.lifetimes.index[b])

    def alike(self, a: Var, b: Var) -> bool:
        """Whether the two share a name, or would like to have the same."""
        return self.together(a, b) or (bool(self._label(a)) and self._label(a) == self._label(b))

    def _label(self, v: Var) -> str:
        mask = self._members[self._find(self.lifetimes.index[v])]
        if mask not in self._labels:
            self._labels[mask] = hint_of(list(self.lifetimes.members(mask)))
        return self._labels[mask]

    def _unite(self, a: Atom, b: Atom, *, always: bool = False) -> None:
        """Let two variables share a name where their lifetimes allow it and, unless `always`, no name of the user's is
        lost."""
        if isinstance(a, Const) or isinstance(b, Const):
            return
        index = self.lifetimes.index
        if a not in index or b not in index:
            return
        i, j = self._find(index[a]), self._find(index[b])
        if i == j or self._members[i] & self._conflicts[j] or self._members[j] & self._conflicts[i]:
            return
        if not always and not is_temporary(a) and not is_temporary(b) and a.hint != b.hint:
            return
        i, j = min(i, j), max(i, j)
        self._parent[j] = i
        self._members[i] |= self._members[j]
        self._conflicts[i] |= self._conflicts[j]

    def _stores(self, block: Block) -> None:
        """First what makes stores print without a renaming: the array and its new version."""
        for s in block.statements:
            match s:
                case Apply() | Fused():
                    if stores(s) or id(s) in self.ownership.updates:
                        self._unite(s.args[0], s.targets[0], always=id(s) not in self.ownership.copied)
                case If():
                    self._stores(s.then)
                    self._stores(s.orelse)
                case For() | While():
                    params = s.body.params[1:] if isinstance(s, For) else s.body.params
                    for p, t in zip(params, s.targets, strict=True):
                        self._unite(p, t, always=True)
                    self._stores(s.body)
                case Raise():
                    self._stores(s.body)
                case Invoke():
                    pass
                case _:
                    assert_never(s)

    def _join(self, block: Block) -> None:
        for s in block.statements:
            match s:
                case If():
                    for t, a, b in zip(s.targets, s.then.results, s.orelse.results, strict=True):
                        written = self.ownership.is_written(t)
                        self._unite(t, a, always=written)
                        self._unite(t, b, always=written)
                    self._join(s.then)
                    self._join(s.orelse)
                case For() | While():
                    params = s.body.params[1:] if isinstance(s, For) else s.body.params
                    for k, (p, r, init) in enumerate(zip(params, s.body.results, s.inits, strict=True)):
                        self._unite(p, r)
                        copied = (id(s), k) in self.ownership.copied_inits
                        foreign = isinstance(init, Var) and not is_temporary(init) and is_adjoint(p) != is_adjoint(init)
                        self._unite(p, init, always=not (copied or foreign) and self.ownership.is_written(p))
                    self._join(s.body)
                case Raise():
                    self._join(s.body)
                case Apply() | Fused() | Invoke():
                    pass
                case _:
                    assert_never(s)

    # ---- names ----

    def assign(
        self, fixed: Mapping[Var, str], hints: Mapping[Var, str], unnamed: Set[Var], reserved: Iterable[str]
    ) -> dict[Var, str]:
        """A name for every variable but the `unnamed`.

        `fixed` are names already given, `hints` wishes that come before those of the variables; `reserved` are taken.
        """
        order, index = self.lifetimes.order, self.lifetimes.index
        for v, name in fixed.items():
            self._fixed[self._find(index[v])] = name
        groups: dict[int, list[Var]] = {}
        for i, v in enumerate(order):
            if v not in unnamed:
                groups.setdefault(self._find(i), []).append(v)
        taken = Allocator(reserved)
        for g, name in self._fixed.items():
            taken.give(name, self._members[g], self._conflicts[g])
        names: dict[int, str] = dict(self._fixed)
        for g, members in groups.items():
            if g not in names:
                hint = next((hints[v] for v in members if v in hints), None) or hint_of(members)
                if hint == "_" and self._members[g] & self.lifetimes.used:
                    hint = "i"
                names[g] = taken.choose(hint, self._members[g], self._conflicts[g])
        return {v: names[self._find(i)] for v, i in index.items() if v not in unnamed}


class Allocator:
    """Gives names so that groups alive together have different ones."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self.reserved = RESERVED | set(reserved)
        self.users: dict[str, list[tuple[int, int]]] = {}
        self.temporaries = 0

    def give(self, name: str, members: int, conflicts: int) -> None:
        self.users.setdefault(name, []).append((members, conflicts))

    def choose(self, hint: str, members: int, conflicts: int) -> str:
        """The hint itself, else the hint with a number; temporaries are numbered and never share."""
        if not hint:
            name = self._next_temporary()
            while name in self.reserved or name in self.users:
                name = self._next_temporary()
        else:
            name, n = hint, 0
            base = re.sub(r"(_\d+)+$", "", hint) or hint
            while not self._free(name, members, conflicts):
                n += 1
                name = f"{base}_{n}"
        self.give(name, members, conflicts)
        return name

    def _next_temporary(self) -> str:
        n = self.temporaries
        self.temporaries += 1
        return f"t{n}" if n else "t"

    def _free(self, name: str, members: int, conflicts: int) -> bool:
        if name in self.reserved:
            return False
        return not any(members & c or m & conflicts for m, c in self.users.get(name, []))


def hint_of(members: list[Var]) -> str:
    """The first name that the user gave to one of the variables; empty for temporaries."""
    for v in members:
        if not is_temporary(v):
            return identifier(v.hint)
    return ""


def identifier(hint: str) -> str:
    """A Python identifier made of a hint."""
    name = re.sub(r"\W", "_", hint)
    if keyword.iskeyword(name):
        return f"{name}_"
    return name if name.isidentifier() else f"v_{name}"
