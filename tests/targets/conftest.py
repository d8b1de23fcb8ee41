"""What executes generated kernels without a GPU, once for all tests: Triton's interpreter takes seconds to start."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from host_cuda import GuardedNumpy, HostCuda

from untraced.kernels.launching.backend import Backend


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Backend]:
    pytest.importorskip("triton")
    from triton_interpreter import TritonInterpreter

    made = TritonInterpreter()
    yield made
    made.close()


@pytest.fixture(scope="session")
def host_cuda() -> HostCuda:
    return HostCuda()


@pytest.fixture(scope="session")
def guarded_cuda() -> HostCuda:
    """The process ends where a kernel reads behind an array that lies in this backend's memory."""
    made = HostCuda()
    made.xp = GuardedNumpy()  # type: ignore[assignment]
    return made


@pytest.fixture(scope="session")
def backends(interpreter: Backend, host_cuda: HostCuda) -> dict[str, Backend]:
    """By language."""
    return {"cuda": host_cuda, "triton": interpreter}


@pytest.fixture(params=["interpreter", "host_cuda"], ids=["triton", "cuda"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """One after the other; a module that is about one of them says so."""
    return _one(request)


@pytest.fixture(params=["interpreter", "guarded_cuda"], ids=["triton", "cuda"])
def guarded_backend(request: pytest.FixtureRequest) -> Backend:
    return _one(request)


def _one(request: pytest.FixtureRequest) -> Backend:
    if shutil.which("g++") is None:
        pytest.skip("no host compiler")
    made: Backend = request.getfixturevalue(request.param)
    return made
