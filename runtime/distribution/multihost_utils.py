"""The namespace `untraced.experimental.multihost_utils`: what processes tell each other, under JAX's names.

For scripts that run in one process as well as in several. In several of them these are refused: `lax.psum` and its kin
under `pmap` or `shard_map` reach the other processes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.transfer import device_get
from ..targets.devices import process_count
from ..trees.tree import map as tree_map


def _in_one_process(what: str) -> None:
    if process_count() > 1:
        raise NotImplementedError(f"{what} among several processes: use lax.psum or lax.all_gather under pmap")


def sync_global_devices(name: str) -> None:
    """Waits for the other processes. NotImplementedError where there are any."""
    _in_one_process("sync_global_devices")


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The leaves of all processes, one after another: stacked, or joined along the first axis where they are `tiled`.
    NotImplementedError where there are other processes.
    """
    _in_one_process("process_allgather")
    return tree_map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], device_get(in_tree))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The leaves of the first process, in all. NotImplementedError where there are others."""
    _in_one_process("broadcast_one_to_all")
    return tree_map(np.asarray, device_get(in_tree))


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """AssertionError where a process has another tree. NotImplementedError where there are other processes."""
    _in_one_process("assert_equal")


__all__ = ["assert_equal", "broadcast_one_to_all", "process_allgather", "sync_global_devices"]
