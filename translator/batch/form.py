"""The forms in which branches and loops that differ between lanes can run."""

from typing import Literal

Form = Literal["auto", "loop", "lockstep"]
