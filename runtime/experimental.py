"""The namespace `untraced.experimental`, named after JAX's."""

from . import ode

__all__ = ["ode"]
