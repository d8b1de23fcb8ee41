"""Running programs. Each package uses those before it: trees, targets, arrays, calls, transforms, and then the others.

Where a lower one calls a higher one, the two are put together here; nothing is loaded before it is called for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..translator.offered import TRANSFORMED
from . import above

if TYPE_CHECKING:
    from ..translator.errors import AliasError, CutError
    from .calls.options import Options
    from .calls.regions import Driver
    from .transforms.checks import Sampler

Fun = Callable[..., Any]


def _accelerate(fun: Fun, checks: bool = True) -> Any:
    from .calls.accelerate import accelerate

    return accelerate(fun, checks=checks)


def _plain(fun: Fun) -> Any:
    from .calls.accelerate import plain

    return plain(fun)


def _cut(fun: Any, error: CutError | AliasError, options: Options) -> Driver:
    from .calls.regions import cut

    return cut(fun, error, options)


def _sampler(fun: Fun) -> Sampler:
    from .transforms.checks import Sampler

    return Sampler(fun)


def _roots() -> Mapping[str, Fun]:
    from .scipy import roots, solvers

    return {**roots.NAMES, **solvers.NAMES}


def _integrals() -> Mapping[str, Fun]:
    from .scipy.quadrature import NAMES

    return NAMES


above.accelerate, above.plain, above.cut, above.sampler = _accelerate, _plain, _cut, _sampler
TRANSFORMED |= {"scipy.optimize": _roots, "scipy.integrate": _integrals}
