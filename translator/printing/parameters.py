"""Parameters of nested functions in a printed one: their names, and which of them are used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir import Atom, Block, Fused, Var, blocks_of, inputs_of, walk
from .names import identifier
from .temporaries import is_temporary


def use_counts(body: Block) -> dict[Var, int]:
    """How often each variable is used in a block and in the blocks inside it."""
    counts: dict[Var, int] = {}

    def use(atoms: Iterable[Atom]) -> None:
        for a in atoms:
            if isinstance(a, Var):
                counts[a] = counts.get(a, 0) + 1

    use(body.results)
    for s in walk(body):
        use(inputs_of(s))
        if not isinstance(s, Fused):
            for b in blocks_of(s):
                use(b.results)
    return counts


def parameter_names(params: Sequence[Var]) -> list[str]:
    """Distinct names: the users', a0, a1, ... for temporaries."""
    names: list[str] = []
    for i, v in enumerate(params):
        base = identifier(v.hint) if not is_temporary(v) else f"a{i}"
        chosen, n = base, 0
        while chosen in names or chosen == "np":
            n += 1
            chosen = f"{base}_{n}"
        names.append(chosen)
    return names


def used(params: Sequence[Var], block: Block) -> list[Var]:
    counts = use_counts(block)
    return [p for p in params if counts.get(p)]
