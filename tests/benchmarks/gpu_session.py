"""All that is to be done on a GPU, in one command and a given time: the tests of `pytest -m gpu`, then the benchmark.

    python tests/benchmarks/gpu_session.py --out results                  # six minutes at most
    python tests/benchmarks/gpu_session.py --out results --seconds 300 --tests 0.3 --workers 8
    python tests/benchmarks/gpu_session.py --out results --sanitizer 240  # NVIDIA's checker behind it, for so long

    results/device.json     the card, its driver and the versions of the libraries
    results/tests.jsonl     a line a test, as it ends: its name, what became of it, its seconds, the end of what it said
    results/gpu.json        the benchmark (`gpu.py`), with its table in results/table.md
    results/sanitizer.json  what became of NVIDIA's checker, where it was asked for, and the end of what it said
    results/summary.json    how many of what, and what failed

The tests go to several processes, which share the card: most of their time is the compilers'. A process that has lost
the device (an address out of bounds makes all of its later calls fail), or says nothing for long, is ended, and another
one goes on behind the test or the program that it was at. Each part has its share of the time, and what there is of its
results when that is over stays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TESTS = "tests/targets/test_cuda_device.py"
SLOW = ("sanitizer", "test_benchmark")  # the one takes minutes, the other is what comes next here
SILENT = 75.0  # seconds without a result, after which a process is taken to hang: the first imports PyTorch and JAX
LOST = 3
FACTS = """
import json, importlib.metadata as m, platform
found = {"python": platform.python_version()}
for name in ("numpy", "cupy-cuda13x", "cupy-cuda12x", "triton", "torch", "jax"):
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
import cupy
p = cupy.cuda.runtime.getDeviceProperties(0)
found |= {k: v for k, v in p.items() if isinstance(v, int)} | {"name": str(p["name"])}
found |= {"driver": cupy.cuda.runtime.driverGetVersion(), "runtime": cupy.cuda.runtime.runtimeGetVersion()}
print(json.dumps(found, default=str))
"""

# ---- in the processes of the tests: this file is their plugin ---------------------------------------


def pytest_runtest_logstart(nodeid: str) -> None:
    _note({"test": nodeid, "outcome": "begun"})


def pytest_runtest_logreport(report: Any) -> None:
    """What became of a test; its last line says so where more than one of its phases has something to say."""
    if report.when == "call" or report.outcome != "passed":
        text = "" if report.outcome == "passed" else str(report.longrepr)[-1500:]
        _note({"test": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 2), "said": text})
    if report.failed and _is_lost():
        os._exit(LOST)


def _note(line: dict[str, Any]) -> None:
    with open(os.environ["UNTRACED_GPU_RESULTS"], "a") as file:
        file.write(json.dumps(line) + "\n")


def _is_lost() -> bool:
    if "cupy" not in sys.modules:
        return False
    try:
        sys.modules["cupy"].cuda.runtime.deviceSynchronize()
    except Exception:  # whatever it says, nothing can be launched any more
        return True
    return False


# ---- the processes -----------------------------------------------------------------------------------


class Worker:
    """Runs some tests in one process after another, until all have run."""

    def __init__(self, number: int, tests: Sequence[str], out: Path) -> None:
        self.tests, self.results = list(tests), out / f"tests-{number}.jsonl"
        self.results.write_text("")
        self.process: subprocess.Popen[bytes] | None = None
        self.spoken = 0.0

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.results.read_text().splitlines() if line.endswith("}")]

    def outcomes(self) -> dict[str, dict[str, Any]]:
        """The last line of each test."""
        return {line["test"]: line for line in self.lines()}

    def goes_on(self) -> bool:
        """Start a process where there is none and tests are left; end one that hangs. False: all have run."""
        if self.process is not None and self.process.poll() is None:
            if self.results.stat().st_mtime > self.spoken:
                self.spoken = self.results.stat().st_mtime
            if time.time() - self.spoken < SILENT:
                return True
            self.end()
        found = self.outcomes()
        if self.process is not None:
            at = [name for name, line in found.items() if line["outcome"] == "begun"]
            for name in at:
                self._lost(name, "its process ended, or hung")
            if not at and not any(name in found for name in self.tests):  # it could not even begin
                for name in self.tests:
                    self._lost(name, "no process could run it")
            found = self.outcomes()
        self.tests = [t for t in self.tests if t not in found]
        self.process = None
        if not self.tests:
            return False
        environment = {**os.environ, "UNTRACED_GPU_RESULTS": str(self.results)}
        environment["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "gpu_session", "-p", "no:xdist"]
        with open(self.results.with_suffix(".log"), "ab") as log:
            files = {"stdout": log, "stderr": log}
            self.process = subprocess.Popen([*command, *self.tests], cwd=ROOT, env=environment, **files)
        self.spoken = time.time()
        return True

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _lost(self, name: str, why: str) -> None:
        with self.results.open("a") as file:
            file.write(json.dumps({"test": name, "outcome": "lost", "said": why}) + "\n")


def collected(tests: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "gpu", "-p", "no:xdist", tests]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    return [line for line in told if "::" in line and not any(s in line for s in SLOW)]


def run_tests(tests: Sequence[str], out: Path, workers: int, end: float) -> list[dict[str, Any]]:
    """One line a test. Those that stand together need the same kernels seldom, so they go round."""
    started = [Worker(k, tests[k::workers], out) for k in range(min(workers, len(tests)))]
    while any([w.goes_on() for w in started]) and time.time() < end:
        time.sleep(0.2)
    for w in started:
        w.end()
    found = {name: line for w in started for name, line in w.outcomes().items()}
    lines = [found.get(t, {"test": t, "outcome": "not run"}) for t in tests]
    for line in lines:
        line["outcome"] = "not finished" if line["outcome"] == "begun" else line["outcome"]
    (out / "tests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return lines


def run_benchmark(out: Path, end: float, given: Sequence[str], script: Path = HERE / "gpu.py") -> None:
    """Begun again where its process ends in its midst, or says nothing new for long."""
    file = out / "gpu.json"
    with open(out / "gpu.log", "ab") as log:
        while (left := end - time.time()) > 5:
            command = [sys.executable, str(script), "--json", str(file), "--resume", "--seconds", f"{left - 5:.0f}"]
            process = subprocess.Popen([*command, *given], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
            spoken, before = time.time(), file.stat().st_mtime if file.exists() else 0.0
            while process.poll() is None and time.time() < end and time.time() - spoken < SILENT:
                time.sleep(0.2)
                now = file.stat().st_mtime if file.exists() else 0.0
                spoken, before = (time.time(), now) if now != before else (spoken, before)
            if process.poll() is None:
                process.kill()
                process.wait()
            elif process.returncode in (0, 1, 2):  # all is done, or nothing can be
                return


def run_sanitizer(out: Path, seconds: float, tests: str = TESTS) -> str:
    """The tests under NVIDIA's checker: passed, failed, skipped (it is not installed) or not finished."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-k", "sanitizer", "-p", "no:xdist", tests]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        outcome, said = "not finished", error.stdout.decode() if isinstance(error.stdout, bytes) else ""
    else:
        outcome, said = "failed" if done.returncode else "passed", done.stdout
        outcome = outcome if "passed" in said or done.returncode else "skipped"
    (out / "sanitizer.json").write_text(json.dumps({"outcome": outcome, "said": said[-4000:]}))
    return outcome


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder of the results")
    parser.add_argument("--seconds", type=float, default=345.0)
    parser.add_argument("--tests", type=float, default=0.4, help="the tests' share of the time")
    parser.add_argument("--workers", type=int, default=max(1, min(8, (os.cpu_count() or 2) - 2)))
    parser.add_argument("--sanitizer", type=float, default=0.0, help="seconds for NVIDIA's checker; default: none")
    parser.add_argument("benchmark", nargs="*", help="names of programs of gpu.py; default: all")
    options = parser.parse_args(given)
    begin, out = time.time(), options.out
    out.mkdir(parents=True, exist_ok=True)
    facts = subprocess.run([sys.executable, "-c", FACTS], capture_output=True, text=True, check=False)
    (out / "device.json").write_text(facts.stdout if facts.returncode == 0 else json.dumps({"error": facts.stderr}))
    if facts.returncode:
        sys.exit(f"no device can be used:\n{facts.stderr[-600:]}")
    lines = run_tests(collected(TESTS), out, options.workers, begin + options.tests * options.seconds)
    print(summarised(lines, out), flush=True)
    run_benchmark(out, begin + options.seconds, options.benchmark)
    print(summarised(lines, out), flush=True)
    if options.sanitizer:
        print(f"compute-sanitizer: {run_sanitizer(out, options.sanitizer)}", flush=True)


def summarised(lines: Sequence[dict[str, Any]], out: Path) -> str:
    """Written to summary.json and table.md, and as text."""
    counts = Counter(line["outcome"] for line in lines)
    failed = [line for line in lines if line["outcome"] in ("failed", "lost", "not finished")]
    told = {"tests": counts, "failed": [line["test"] for line in failed]}
    text = [f"tests: {', '.join(f'{n} {what}' for what, n in counts.most_common())}"]
    text += [f"  {line['test']}: {line.get('said', '').strip().splitlines()[-1:]}" for line in failed]
    if (out / "gpu.json").exists():
        from gpu import table

        found = json.loads((out / "gpu.json").read_text())
        rows = table(found["results"], ["triton", "cuda"], found["device"], found["limits"])
        errors = [f"{r['name']}, {k}: {e}" for r in found["results"] for k, e in r["errors"].items()]
        (out / "table.md").write_text(rows + "\n")
        told["reached"] = sum(s >= r["wanted"] for r in found["results"] for s in r["shares"].values())
        told["measured"], told["errors"] = sum(len(r["shares"]) for r in found["results"]), errors
        text += [rows, *errors]
    (out / "summary.json").write_text(json.dumps(told, indent=1))
    return "\n".join(text)


if __name__ == "__main__":
    main()
