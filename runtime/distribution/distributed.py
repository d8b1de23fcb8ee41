"""The namespace `untraced.distributed`: several processes that run one program, each with its own devices.

    distributed.initialize("10.0.0.1:1234", num_processes=2, process_id=0)      on the first, process_id=1 on the other
    distributed.initialize()                                                    under srun and mpirun, which say it all

Process 0 holds XLA's coordination service; collectives go through Gloo. Where a process is lost, those that wait for it
in a collective get an exception as soon as Gloo sees the connection break. Nothing can interrupt a collective that does
not see it: when a process has not been heard of for `heartbeat_timeout_seconds`, XLA ends the others with a message.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from ...translator.records import dataclass

__all__ = [
    "initialize",
    "is_initialized",
    "shutdown",
]

HEARTBEAT_SECONDS = 10
START_SECONDS = 300
END_SECONDS = 20


@dataclass(slots=True)
class _Link:
    """The connection between the processes."""

    client: Any
    service: Any


_link: _Link | None = None


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    coordinator_bind_address: str | None = None,
    initialization_timeout: int = START_SECONDS,
    heartbeat_timeout_seconds: int = HEARTBEAT_SECONDS,
) -> None:
    """Join this process to the others; to be called in each, before the first computation. Waits for all of them.

    coordinator_address   host:port of process 0, where nothing listens yet.
    num_processes, process_id   how many there are, and which this is.
    coordinator_bind_address    where process 0 listens; by default on all its addresses, at that port.

    What is not given is taken from the environment of SLURM or Open MPI. Raises ValueError where something is missing
    or out of range, RuntimeError where it is too late, called twice, or process 0 cannot be reached in time. Where
    another process does not come in time, XLA ends this one with a message.
    """
    global _link
    from ...tpu.client import platform

    if _link is not None:
        raise RuntimeError("untraced.distributed.initialize has been called already")
    start = platform.starting()
    address, count, number = _asked(coordinator_address, num_processes, process_id)
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"distributed.initialize: coordinator_address must be host:port, not {address!r}")
    jaxlib = platform.load_jaxlib()
    service = None
    try:
        if number == 0:
            service = jaxlib.get_distributed_runtime_service(
                coordinator_bind_address or f"[::]:{port}",
                count,
                heartbeat_timeout=heartbeat_timeout_seconds,
                shutdown_timeout=END_SECONDS,
            )
        else:
            _reach(host, int(port), initialization_timeout)
        link = jaxlib.get_distributed_runtime_client(
            address,
            number,
            init_timeout=initialization_timeout,
            shutdown_timeout=END_SECONDS,
            heartbeat_timeout=heartbeat_timeout_seconds,
            use_compression=True,
        )
        link.connect()
        own = jaxlib.make_gloo_tcp_collectives(distributed_client=link, hostname=_own_address(host))
    except Exception as error:  # of jaxlib's own classes
        raise RuntimeError(f"distributed.initialize: process {number} of {count} at {address}: {error}") from error
    start.others = {"distributed_client": link, "node_id": number, "num_nodes": count, "collectives": own}
    _link = _Link(link, service)


def _asked(address: str | None, count: int | None, number: int | None) -> tuple[str, int, int]:
    """The coordinator's address, the number of processes, and this one's, as given or else as the environment says."""
    told = _environment()
    address = address or told.address
    count = told.count if count is None else count
    number = told.number if number is None else number
    asked = {"coordinator_address": address, "num_processes": count, "process_id": number}
    missing = [name for name, value in asked.items() if value is None]
    if missing:
        raise ValueError(
            f"distributed.initialize: {', '.join(missing)} must be given where neither SLURM nor Open MPI has started "
            "the processes"
        )
    assert address is not None and count is not None and number is not None
    if not 0 <= number < count:
        raise ValueError(f"distributed.initialize: process_id={number} is not in range({count})")
    return address, count, number


def _reach(host: str, port: int, seconds: float) -> None:
    """Wait until somebody listens there: XLA would end the process where nobody does. Raises OSError."""
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((host.strip("[]"), port), timeout=max(end - time.monotonic(), 0.1)).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def shutdown() -> None:
    """Leave, in order: waits until every process has come here. Does nothing where there are no others."""
    global _link
    if _link is None:
        return
    link, _link = _link, None
    link.client.shutdown()
    if link.service is not None:
        link.service.shutdown()


def is_initialized() -> bool:
    """Whether `initialize` has been called, and `shutdown` has not."""
    return _link is not None


@dataclass(frozen=True, slots=True)
class _Told:
    address: str | None = None
    count: int | None = None
    number: int | None = None


def _environment() -> _Told:
    """The settings that SLURM or Open MPI have given the processes that they started."""
    env = os.environ
    if "OMPI_COMM_WORLD_SIZE" in env and "OMPI_COMM_WORLD_RANK" in env:
        uri = env.get("OMPI_MCA_orte_hnp_uri", "")
        address = None
        if "tcp://" in uri:
            job, _, contact = uri.partition(";tcp://")
            address = f"{contact.split(',')[0].split(':')[0].strip('[]')}:{_port(int(job.split('.')[0]) >> 16)}"
        return _Told(address, int(env["OMPI_COMM_WORLD_SIZE"]), int(env["OMPI_COMM_WORLD_RANK"]))
    if "SLURM_NTASKS" in env and "SLURM_PROCID" in env and "SLURM_JOB_ID" in env:
        nodes = env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST", "")
        address = f"{_first_node(nodes)}:{_port(int(env['SLURM_JOB_ID']))}" if nodes else None
        return _Told(address, int(env["SLURM_NTASKS"]), int(env["SLURM_PROCID"]))
    return _Told()


def _port(job: int) -> int:
    """A port that the processes of a job agree on, and others hardly choose."""
    return 61_440 + job % 4_096


def _first_node(nodes: str) -> str:
    """ "node[003-007,9],other" -> "node003"."""
    head, bracket, rest = nodes.partition("[")
    if not bracket or "," in head:
        return head.split(",")[0]
    return head + rest.split("]")[0].split(",")[0].split("-")[0]


def _own_address(coordinator: str) -> str:
    """The address of this machine on the way to the coordinator, at which the others reach it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect((coordinator, 9))  # a datagram socket: nothing is sent
        except OSError:
            return socket.gethostname()
        return str(s.getsockname()[0])
