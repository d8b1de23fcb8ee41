"""Shared by all tests: the flag that refreshes golden files, and Hypothesis profiles."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Generator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from untraced.kernels import kept

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # the oracle must not look for a TPU because libtpu is installed
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # and runs once what it compiles
if (_kept := kept.root()) is not None:  # which took half of the time of the tests that ask it: the next run loads it
    _oracle = sha256(kept.machine().encode()).hexdigest()[:8]  # code for this processor
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_kept / f"oracle-{_oracle}"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

if sys.dont_write_bytecode:  # the processes that tests start would compile the package anew, a second or two each
    _compiled = tempfile.TemporaryDirectory()
    os.environ["PYTHONPYCACHEPREFIX"] = _compiled.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

GOLDEN = Path(__file__).parent / "golden"

settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "long", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _has_device():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="CuPy sees no CUDA device"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()  # what is imported stays, and looking through it again and again took a third of the time
    try:
        return (yield)
    finally:
        gc.enable()
        settle()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is not None and nextitem.path != item.path:
        settle()


def settle() -> None:
    """What has been imported and compiled stays: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def compiled() -> None:
    """Tests of what XLA makes of a program are about arrays of less than 2 MB, on which NumPy may be faster."""
    from untraced.tpu import by_numpy

    by_numpy.LEAST = 1 << 21


def _has_device() -> bool:
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except Exception:  # no CuPy, or no driver for it
        return False


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares with tests/golden/<name>; with --update-golden it writes the file."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"{path.name} does not exist yet: run pytest --update-golden and read it"
        assert text == path.read_text(), f"{path.name} has changed; if that is meant, run pytest --update-golden"

    return check
