"""What the executor asks of a device: its array module, and how kernels of its language are launched on its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .program import Launch


class Backend:
    """A device. `language` is "triton" or "cuda"; `xp` is its array module, which follows NumPy."""

    language: str
    xp: Any

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
