"""What a package asks of one above it: each is put here by `runtime/__init__`, which knows them all.

Imports among the modules of the runtime point one way. Still, each operator of an Array is an accelerated function, a
function that is refused is cut into accelerated ones, and the derivatives of what is called are checked by taking
others. The lower side of these finds the upper one here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..translator.errors import AliasError, CutError
    from .calls.options import Options
    from .calls.regions import Driver
    from .transforms.checks import Sampler

Fun = Callable[..., Any]

accelerate: Callable[..., Any]
"""For `arrays/eager`."""
plain: Callable[[Fun], Any]
"""For `arrays/eager`: what CPython runs on NumPy arrays."""
cut: Callable[[Any, CutError | AliasError, Options], Driver]
"""For `calls/accelerate`: a function cut where the error says."""
sampler: Callable[[Fun], Sampler]
"""For `calls/accelerate`: what says which calls are checked, and checks them."""
