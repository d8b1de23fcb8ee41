"""The namespace `untraced.errors`: the exceptions of this package, and the classes that JAX scripts catch.

Nothing is traced, so what JAX raises for tracers never comes. Where a function cannot be read for what only the run
knows, `accelerate` leaves that to CPython, and derivatives and batches raise UnsupportedError: it has all those names.
"""

from ...translator.errors import (
    AliasError,
    AxisError,
    CutError,
    DerivativeError,
    DTypeError,
    MismatchError,
    ObjectsError,
    OutOfBoundsError,
    ShapeError,
    SourcelessError,
    SquareError,
    TargetError,
    UnboundError,
    UnsupportedError,
    UntracedError,
)
from ...translator.errors import UnsupportedError as ConcretizationTypeError
from ...translator.errors import UnsupportedError as NonConcreteBooleanIndexError
from ...translator.errors import UnsupportedError as TracerArrayConversionError
from ...translator.errors import UnsupportedError as TracerBoolConversionError
from ...translator.errors import UnsupportedError as TracerIntegerConversionError
from ...translator.errors import UnsupportedError as UnexpectedTracerError

JaxRuntimeError = RuntimeError

__all__ = [
    "AliasError",
    "AxisError",
    "ConcretizationTypeError",
    "CutError",
    "DTypeError",
    "DerivativeError",
    "JaxRuntimeError",
    "MismatchError",
    "NonConcreteBooleanIndexError",
    "ObjectsError",
    "OutOfBoundsError",
    "ShapeError",
    "SourcelessError",
    "SquareError",
    "TargetError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnboundError",
    "UnexpectedTracerError",
    "UnsupportedError",
    "UntracedError",
]
