"""The namespace `untraced.errors`: the classes that JAX scripts catch.

Nothing is traced, so what JAX raises for tracers never comes. Where a function cannot be read for what only the run
knows, `accelerate` leaves that to CPython, and derivatives and batches raise UnsupportedError: it has all those names.
"""

from ..translator.errors import (
    AliasError,
    DerivativeError,
    DTypeError,
    ShapeError,
    TargetError,
    UnsupportedError,
    UntracedError,
)
from ..translator.errors import UnsupportedError as ConcretizationTypeError
from ..translator.errors import UnsupportedError as NonConcreteBooleanIndexError
from ..translator.errors import UnsupportedError as TracerArrayConversionError
from ..translator.errors import UnsupportedError as TracerBoolConversionError
from ..translator.errors import UnsupportedError as TracerIntegerConversionError
from ..translator.errors import UnsupportedError as UnexpectedTracerError

JaxRuntimeError = RuntimeError

__all__ = [
    "AliasError",
    "ConcretizationTypeError",
    "DTypeError",
    "DerivativeError",
    "JaxRuntimeError",
    "NonConcreteBooleanIndexError",
    "ShapeError",
    "TargetError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "UnsupportedError",
    "UntracedError",
]
