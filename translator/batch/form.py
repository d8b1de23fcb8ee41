"""How branches and loops that differ between the lanes of a batch are run."""

from typing import Literal

Form = Literal["auto", "loop", "lockstep"]
