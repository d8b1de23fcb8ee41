"""Run-time checks: what a program must verify while it runs, and the exception that a failed check becomes.

The compiled program returns one int64 more, the flag: 0 when all is well, else `index * 65536 + number` of the first
check that failed.
"""

from __future__ import annotations

from ...translator.errors import NOWHERE, Span, tell_place
from ...translator.records import dataclass

SHIFT = 16
FAILED_ELSEWHERE = 1 << SHIFT  # no number: what failed is told by the flag of another device


@dataclass(frozen=True, slots=True)
class Check:
    """One place of the program that can fail. `message` may hold `{index}`: the offending value."""

    number: int
    error: type[Exception]
    message: str
    span: Span = NOWHERE

    def exception(self, flag: int) -> Exception:
        error = self.error(self.message.format(index=flag >> SHIFT))
        if self.span.line:
            tell_place(error, self.span)
        return error


def out_of_bounds(axis: int, n: int) -> str:
    return f"index {{index}} is out of bounds for axis {axis} with size {n}"


def failed(checks: tuple[Check, ...], flag: int) -> type[Exception] | None:
    """The class of what the flag says, where it has failed on this device."""
    number = flag & ((1 << SHIFT) - 1)
    return checks[number - 1].error if number else None


def raise_failed(checks: tuple[Check, ...], flag: int) -> None:
    """Raise what the flag says, if it says anything: IndexError, ValueError or LinAlgError at the user's line."""
    if flag:
        raise checks[(flag & ((1 << SHIFT) - 1)) - 1].exception(flag)
