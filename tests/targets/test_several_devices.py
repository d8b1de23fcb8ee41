"""Several devices, and several processes: each in processes of their own, since the number is decided at the start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from untraced.runtime.distribution import distributed
from untraced.tpu.client import platform

HERE = Path(__file__).parent


def test_with_four_devices() -> None:
    env = os.environ | {
        "UNTRACED_CPU_DEVICES": "4",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
    }
    cases = str(HERE / "several_devices_cases.py")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", cases]
    done = subprocess.run(command, env=env, cwd=HERE.parents[1], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


JOINED = """
    import os, signal, sys
    import numpy as np
    import untraced
    from untraced import lax, pmap

    rank, address, how = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    untraced.distributed.initialize(address, 2, rank, heartbeat_timeout_seconds=5)

    def share(x): return x / lax.psum(x, "i"), lax.axis_index("i")

    told = pmap(share, "i")(np.ones((1, 2)))
    print(untraced.process_index(), untraced.device_count(), untraced.local_device_count(), told)
    if rank == 1 and how == "lost":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 1 and how == "silent":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how != "well":
        for _ in range(3):
            pmap(share, "i")(np.ones((1, 2)))
    untraced.distributed.shutdown()
    print("done", untraced.distributed.is_initialized())
"""


def pair(tmp_path: Path, how: str) -> tuple[list[subprocess.Popen[str]], float]:
    """Two processes that work together, and the time at which they were started."""
    script = tmp_path / "joined.py"
    script.write_text(textwrap.dedent(JOINED))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, str(script), str(k), address, how], stdout=pipe, stderr=pipe, text=True)
        for k in range(2)
    ]
    return started, time.monotonic()


def test_two_processes(tmp_path: Path) -> None:
    (first, second), _ = pair(tmp_path, "well")
    for rank, process in enumerate((first, second)):
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert f"{rank} 2 1 (array([[0.5, 0.5]]), array([{rank}]))" in out
        assert "done False" in out


@pytest.mark.parametrize("how", ["lost", "silent"])
def test_a_lost_process_is_an_error_of_the_others(how: str, tmp_path: Path) -> None:
    (first, second), _ = pair(tmp_path, how)
    try:
        out, err = first.communicate(timeout=60)  # 30 s, and what two processes take to start on a busy machine
        assert first.returncode != 0, out
        assert "RuntimeError" in err or "unhealthy" in err, err
    finally:
        second.kill()
        second.communicate()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), ValueError, "coordinator_address, num_processes, process_id must be given"),
        (("host:1", 2, 2), ValueError, r"process_id=2 is not in range\(2\)"),
        (("host", 2, 1), ValueError, "must be host:port"),
        (("127.0.0.1:9", 2, 1), RuntimeError, "process 1 of 2 at 127.0.0.1:9"),
    ],
)
def test_processes_that_cannot_be_joined(
    arguments: tuple[object, ...], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "starting", platform.Start)  # as before the first computation
    monkeypatch.setattr(distributed, "_environment", distributed._Told)
    with pytest.raises(error, match=message):
        distributed.initialize(*arguments, initialization_timeout=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (
            {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "8", "SLURM_PROCID": "3", "SLURM_STEP_NODELIST": "n[003-007,9],m1"},
            ("n003:61517", 8, 3),
        ),
        (
            {"SLURM_JOB_ID": "4096", "SLURM_NTASKS": "2", "SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "a,b"},
            ("a:61440", 2, 0),
        ),
        (
            {
                "OMPI_COMM_WORLD_SIZE": "2",
                "OMPI_COMM_WORLD_RANK": "1",
                "OMPI_MCA_orte_hnp_uri": "131072.0;tcp://10.96.0.1,10.97.0.1:34911",
            },
            ("10.96.0.1:61442", 2, 1),
        ),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}, (None, 2, 1)),
        ({}, (None, None, None)),
    ],
)
def test_what_slurm_and_open_mpi_say(
    env: dict[str, str], told: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in os.environ if n.startswith(("SLURM_", "OMPI_"))]:
        monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    found = distributed._environment()
    assert (found.address, found.count, found.number) == told
