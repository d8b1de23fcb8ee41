"""`f.inspect(*args)`: everything between the source and the machine, as text."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...translator.errors import AliasError, CutError
from ...translator.ir import Function
from ...translator.pipeline import Translation, translate
from ...translator.printing.printer import Printed, printed, standalone
from ...translator.purpose import purposed
from ...translator.reading.text.signature import Signature
from ...translator.routines import runs_in_cpython
from ..calls.arguments import Binding
from ..calls.uncollected import uncollected
from ..targets.programs import runs_in_loops, runs_in_numpy
from .kernels import Kernel, gpu_kernels_of, groups_of

if TYPE_CHECKING:
    from ..calls.accelerated import Accelerated
    from ..calls.regions import Driver


class Stages(Mapping[str, str]):
    """The printed source after each pass, in order, printed when it is looked at; it needs NumPy's import only."""

    def __init__(self, functions: Mapping[str, Function | str]) -> None:
        self.functions = functions
        self._printed: dict[str, Printed] = {}

    def __getitem__(self, name: str) -> str:
        made = self.printed(name)
        return made.text if isinstance(self.functions[name], str) else standalone(made)

    def printed(self, name: str) -> Printed:
        """The source with, for each line, the statements that it is made of."""
        if name not in self._printed:
            f = self.functions[name]
            self._printed[name] = Printed(f, name, {}) if isinstance(f, str) else printed(f, comments=True)
        return self._printed[name]

    def __iter__(self) -> Any:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)


class Inspection:
    """All stages of a function, for one kind of arguments and one target. Texts that a target lacks are None.

    source, stages         NumPy source: the final one, and after each pass, by name ("read", "derive", ...).
    kernels, driver        the fused groups or generated kernels, and the host source that launches them.
    stablehlo, hlo, ptx    the backend's texts.
    loops                  what became of each loop, and why.
    html(path)             all of it on one page.
    """

    def __init__(self, accelerated: Accelerated, signature: Signature, translation: Translation, compile: bool) -> None:
        self.name = getattr(accelerated.fun, "__name__", translation.source.name)
        self.target = "numpy" if runs_in_cpython(translation.source.body) else accelerated.target
        self._is_chosen = accelerated.options.target != "auto"
        self.signature = signature
        self.function = translation.source
        self._translation = translation
        self.span = translation.stages["read"].span
        self.stages = Stages(translation.stages)
        self.statics = translation.statics
        self.loops = translation.loops
        """What became of each loop (vectorised, in order), and of control flow that differs between lanes, and why."""
        self._compile = compile
        self._history = accelerated.explain_recompiles
        if compile:
            _ = self.hlo, self.ptx  # so that an error of the backend is raised here

    @property
    def source(self) -> str:
        """The final NumPy source, before fusion; statements of a derivative say which line they come from."""
        return self.stages["simplify"]

    @property
    def fused(self) -> Function:
        """The final program, whose groups are kernels."""
        return self._translation.function

    @functools.cached_property
    def runner(self) -> str:
        """The runner of a call with NumPy arrays: "xla", "triton", "cuda", or "numpy", which executes `source`.

        "numpy" also serves the target "cpu" where the program is little more than large calls of NumPy or, for "auto",
        a few operations on numbers, and "loops" where it is little more than native loops, which Python calls; calls
        with Arrays are XLA's there.
        """
        if self.target == "cpu":
            if runs_in_numpy(self.fused, printed=self._translation.stages.unfused, chosen=self._is_chosen):
                return "numpy"
            return "loops" if runs_in_loops(self.fused) else "xla"
        return "xla" if self.target == "tpu" else self.target

    @property
    def run_by(self) -> str:
        """Who runs a call with NumPy arrays, in words, where it is not the target's own compiler; else nothing."""
        by = {"numpy": "run by NumPy", "loops": "run as native loops"}
        return by.get(self.runner, "") if self.target != "numpy" else ""

    @functools.cached_property
    def _emitted(self) -> Any:
        from ...tpu.emit.program import emit

        return emit(self.fused, target="tpu" if self.target == "tpu" else "cpu")

    @property
    def stablehlo(self) -> str | None:
        """The text that XLA is given; None for targets without XLA."""
        return str(self._emitted.text) if self.target in ("cpu", "tpu") else None

    def use(self, emitted: Any, compile: Callable[[Any], Any] | None) -> None:
        """Show what was given to XLA for several devices, and what it made of that."""
        self._emitted, self._compile = emitted, compile is not None
        if compile is not None:
            self._executable = compile(emitted)

    @functools.cached_property
    def _executable(self) -> Any:
        if self.target == "tpu":
            from ...tpu.client import topology

            return topology.compile_tpu(self._emitted)
        from ...tpu.client import executable as client

        return client.compile(self._emitted)

    @property
    def hlo(self) -> str | None:
        """XLA's optimised program; None for other targets, and with `compile=False`."""
        return str(self._executable.hlo) if self.target in ("cpu", "tpu") and self._compile else None

    @property
    def memory(self) -> dict[str, int] | None:
        """Bytes of arguments, results, temporaries and code, as XLA counts them; None for other targets."""
        return dict(self._executable.memory) if self.target in ("cpu", "tpu") and self._compile else None

    @property
    def cost(self) -> dict[str, float] | None:
        """XLA's cost analysis (flops, bytes accessed, ...); None for other targets."""
        return dict(self._executable.cost) if self.target in ("cpu", "tpu") and self._compile else None

    @functools.cached_property
    def kernels(self) -> list[Kernel]:
        """The fused groups, with their source in the language of the target."""
        if self.target in ("triton", "cuda"):
            return gpu_kernels_of(self.fused, self.target, self._compile)
        return groups_of(self.fused, self.target)

    @functools.cached_property
    def driver(self) -> str | None:
        """The host source that allocates, launches the kernels and calls the library, for arrays in C order; None for
        targets without it.
        """
        if self.target not in ("triton", "cuda"):
            return None
        from ...kernels.launching.executor import driver_of

        return driver_of(self.fused, self.target).text

    @property
    def ptx(self) -> str | None:
        """The PTX of all kernels; None for other targets, and where this machine has no compiler for it."""
        if self.target not in ("triton", "cuda") or not self._compile:
            return None
        texts = [k.ptx for k in self.kernels if k.ptx is not None]
        return "\n".join(texts) if texts else None

    def explain_recompiles(self) -> str:
        return self._history()

    def html(self, path: str | Path) -> Path:
        """Write a page of its own: source, derivative, fusion and kernels side by side, cross-highlighted by line."""
        from .page import page

        out = Path(path)
        out.write_text(page(self), encoding="utf-8")
        return out

    def __repr__(self) -> str:
        runner = f", {by}" if (by := self.run_by) else ""
        return f"<inspection of {self.name} for {self.target}{runner}: {', '.join(self.stages)}>"

    def __str__(self) -> str:
        return self.source


class CutInspection(Inspection):
    """The inspection of a function that was cut: the regions compiled so far, and the driver that calls them.

    What a region computes is known once it has been called, so inspect again after a call.
    """

    def __init__(self, accelerated: Accelerated, signature: Signature, driver: Driver) -> None:
        self.name = accelerated.__name__
        self.target = accelerated.target
        self.signature = signature
        self.span = driver.span
        self.stages = Stages({"cut": driver.text()})
        self.loops = ()
        self._driver = driver
        self._compile = False
        self._history = accelerated.explain_recompiles

    @property
    def source(self) -> str:
        """The regions and the driver."""
        return self.stages["cut"]

    @property
    def runner(self) -> str:
        """CPython, with NumPy: it calls the regions."""
        return "numpy"

    @property
    def stablehlo(self) -> None:
        """None: every region has a program of its own."""

    @functools.cached_property
    def kernels(self) -> list[Kernel]:
        """The fused groups of the regions that were compiled."""
        functions = (f for region in self._driver.regions.values() for f in region.functions())
        return [k for f in functions for k in groups_of(f, self.target)]


def inspect_call(accelerated: Accelerated, binding: Binding, compile: bool) -> Inspection:
    """Translate for a signature. Raises UntracedError where the function or the target refuses it."""
    try:
        with uncollected(), purposed(draws=accelerated.target == "cpu"):
            translation = translate(accelerated.fun, binding.signature, target=accelerated.target)
    except (CutError, AliasError) as error:
        if not isinstance(accelerated.fun, types.FunctionType):
            raise
        return CutInspection(accelerated, binding.signature, accelerated.driver(error))
    return Inspection(accelerated, binding.signature, translation, compile)
