"""The namespace `untraced.experimental`, named after JAX's."""

from . import mesh_utils, ode, shard_map
from .custom_derivatives import io_callback
from .scopes import enable_x64

__all__ = ["enable_x64", "io_callback", "mesh_utils", "ode", "shard_map"]
