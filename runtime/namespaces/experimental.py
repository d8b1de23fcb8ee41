"""The namespace `untraced.experimental`, named after JAX's."""

from ..distribution import mesh_utils, multihost_utils, shard_map
from ..transforms.custom_derivatives import io_callback
from . import checkify, jet, ode
from .scopes import enable_x64

__all__ = ["checkify", "enable_x64", "io_callback", "jet", "mesh_utils", "multihost_utils", "ode", "shard_map"]
