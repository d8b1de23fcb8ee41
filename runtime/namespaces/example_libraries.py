"""The namespace `untraced.example_libraries`: where JAX has `stax` and `optimizers`."""

from . import optimizers, stax

__all__ = ["optimizers", "stax"]
