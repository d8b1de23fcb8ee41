"""What the executor needs of a device: its array module, and a way to launch kernels on its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.ir import Shape
from ..program import Launch
from .arrays import is_host


class Backend:
    """A device. `language` is "triton" or "cuda"; `xp` is its array module, which follows NumPy."""

    language: str
    xp: Any

    @property
    def shared(self) -> int:
        """Bytes of shared memory that a block of threads may have."""
        return 227 << 10

    @property
    def uninitialised(self) -> Callable[[Shape, Any], Any]:
        """Makes an array of a shape and a dtype, in C order, that holds anything."""
        made: Callable[[Shape, Any], Any] = self.xp.empty
        return made

    def asarray(self, value: Any) -> Any:
        """The value in the device's memory."""
        return np.asarray(value)

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        """Run one kernel; `arguments` are arrays and NumPy scalars of exactly the types that the kernel takes."""
        raise AssertionError(f"{type(self).__name__} launches no kernels")

    def prepare(self, launch: Launch) -> Callable[..., None]:
        """The launch as a function of what is known only at the run: its arrays and its scalars, in order."""
        places = [k for k, a in enumerate(launch.arguments) if a.role != "number"]
        filled = [a.dtype.type(a.value) if a.role == "number" else None for a in launch.arguments]
        casts = [(k, a.dtype.type) for k, a in enumerate(launch.arguments) if a.role == "scalar"]

        def run(*given: Any) -> None:
            arguments = list(filled)
            for k, x in zip(places, given, strict=True):
                arguments[k] = x
            for k, cast in casts:
                arguments[k] = cast(arguments[k])
            self.launch(launch, arguments)

        return run

    def truths(self, flags: Sequence[Any]) -> list[bool]:
        """The conditions as bools; those on the device are fetched together."""
        there = [f for f in flags if not is_host(f)]
        answers = iter(self.fetched(self.xp.stack(there)) if there else ())
        return [bool(f if is_host(f) else next(answers)) for f in flags]

    def fetched(self, x: Any) -> np.ndarray[Any, Any]:
        """An array of the device on the host."""
        return np.asarray(x)

    def place(self) -> Any:
        """Which of several devices kernels are launched on now."""
        return 0

    def record(self, loop: Callable[..., tuple[Any, ...]], values: Sequence[Any]) -> Recording | None:
        """A recording of what the loop enqueues for values like these, to be replayed; None where that cannot be."""
        return None

    def same(self, x: Any, y: Any) -> bool:
        """Whether two results are the same to the bit."""
        if is_host(x) or is_host(y):
            return type(x) is type(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes()
        bits = [self.xp.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (x, y)]
        return bool((bits[0] == bits[1]).all())


Recording = Callable[[Sequence[Any]], tuple[Any, ...]]
"""Gives what the recorded loop would give for these values, in memory of the results' own."""
