"""Products: which print as `x @ y` or as np.tensordot, and the formula of np.einsum for the others."""

from __future__ import annotations

from ..ops.core import ContractAttrs


def flipped(labels: tuple[int, ...]) -> tuple[int, ...]:
    """The labels of `x.mT`."""
    return (*labels[:-2], labels[-1], labels[-2])


def is_matmul(lhs: tuple[int, ...], rhs: tuple[int, ...], out: tuple[int, ...]) -> bool:
    """Whether `x @ y` with these labels gives `out`."""
    if not lhs or not rhs:
        return False
    inner = lhs[-1]
    rows, columns = lhs[-2:-1], rhs[-1:] if len(rhs) > 1 else ()
    if inner != (rhs[-2] if len(rhs) > 1 else rhs[0]) or inner in out:
        return False
    left, right = lhs[:-2], rhs[:-2]
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    if shorter and longer[-len(shorter) :] != shorter:
        return False
    core = (*rows, *columns)
    return out == (*longer, *core) and len(set(core)) == len(core) and not set(core) & set(longer)


def einsum_formula(attrs: ContractAttrs) -> str:
    """ "ij,jk->ik": letters in order of appearance."""
    letters: dict[int, str] = {}
    alphabet = iter("ijklmnopqrstuvwxyzabcdefghIJKLMNOPQRSTUVWXYZABCDEFGH")
    for label in (*attrs.lhs, *attrs.rhs):
        if label not in letters:
            letters[label] = next(alphabet)

    def spell(labels: tuple[int, ...]) -> str:
        return "".join(letters[x] for x in labels)

    return f"{spell(attrs.lhs)},{spell(attrs.rhs)}->{spell(attrs.out)}"


LEAST_TENSORDOT = 1 << 14
"""Multiplications from which BLAS, which np.tensordot calls, is worth what it does before."""


def tensordot_axes(lhs: tuple[int, ...], rhs: tuple[int, ...], out: tuple[int, ...]) -> int | list[list[int]] | None:
    """The axes that np.tensordot sums where it gives the product; None where it does not, as of batches. np.einsum does
    not call BLAS by itself: the sum of the squares of 200 matrices of 150 x 150 takes 7 times as long.
    """
    summed = [label for label in lhs if label not in out]
    free = (*(label for label in lhs if label in out), *(label for label in rhs if label in out))
    if not summed or out != free:
        return None
    n = len(summed)
    if list(lhs[-n:]) == summed == list(rhs[:n]):
        return n
    return [[side.index(label) for label in summed] for side in (lhs, rhs)]
