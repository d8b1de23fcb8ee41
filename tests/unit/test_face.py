"""The public face: what it holds, and what its import and the first uses load."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys

import pytest

import untraced


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_all_names_are_there() -> None:
    for name in untraced.__all__:
        assert hasattr(untraced, name), name
    assert untraced.jit is untraced.accelerate


def test_the_table_of_names_is_what_type_checkers_see() -> None:
    """For `__getattr__` where each name is, for them imports that are not run."""
    (block,) = [node for node in ast.parse(inspect.getsource(untraced)).body if isinstance(node, ast.If)]
    seen = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = {name: (module, "accelerate" if name == "jit" else name) for name, module in untraced._NAMES.items()}
    spaces = {name: tuple(module.rsplit(".", 1)) for name, module in untraced._NAMESPACES.items()}
    assert seen == names | spaces
    assert sorted(seen) == sorted(untraced.__all__)
    assert set(untraced.__all__) <= set(dir(untraced))


def test_import_loads_nothing() -> None:
    code = "import sys, untraced; print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'untraced')])"
    assert in_a_fresh_process(code) == "['untraced']"


def test_what_decorators_load() -> None:
    """The translator is loaded by the first call, and so are backends and what only they need."""
    code = (
        "import sys, untraced\n"
        "from untraced import accelerate, grad, vmap\n"
        "accelerate(grad(vmap(lambda x: x * x)))\n"
        "print(*(m.removeprefix('untraced.') for m in sys.modules if m.startswith('untraced.')))\n"
        "print(*(m for m in sys.modules))"
    )
    ours, everything = (line.split() for line in in_a_fresh_process(code).splitlines())
    light = "axes batch batch.form errors float0 ir offered precision randomness reading records settings".split()
    light += ["spans", "tracebacks", "tree"]
    light += ["reading.text", *(f"reading.text.{m}" for m in ("chains", "libraries", "nodes", "signature", "source"))]
    listening = {"kernels", "kernels.loops", "kernels.loops.interrupts"}  # every call asks it whether an alarm is set
    theirs = {m for m in ours if m.split(".")[0] != "runtime"}
    assert theirs == {"translator", *(f"translator.{m}" for m in light)} | listening
    later = {"calls.entries", *(f"transforms.{m}" for m in ("rules", "splicing", "testing"))}
    assert not {f"runtime.{m}" for m in later} & set(ours)
    assert not {"jax", "jaxlib", "triton", "cupy", "torch", "scipy", "astor", "jinja2", "matplotlib"} & set(everything)


def test_a_first_call_loads_what_its_program_needs() -> None:
    code = (
        "import os, sys, numpy as np\n"
        "os.environ['UNTRACED_CACHE'] = '0'\n"
        "from untraced import accelerate\n"
        "accelerate(lambda x: np.sum(np.sin(x) * x), target='cpu')(np.ones(100))\n"
        "print(*sys.modules)"
    )
    loaded = set(in_a_fresh_process(code).split())
    assert "untraced.tpu.client.executable" in loaded
    others = "translator.vectorise.loops translator.surface.scipy tpu.loops.forms tpu.loops.native tpu.compiler".split()
    others.append("tpu.client.profile")
    assert not {*(f"untraced.{m}" for m in others), "numpy.random", "random", "hashlib", "scipy", "gzip"} & loaded


def test_namespaces_are_modules() -> None:
    """Imported by either of their names they are one module, which keeps its own spec."""
    code = (
        "import untraced.random as r, untraced.numpy.linalg, untraced.nn.initializers, untraced.scipy.stats.norm\n"
        "import numpy, untraced\n"
        "from untraced.runtime.namespaces import random, initializers\n"
        "assert r is random is untraced.random and r.__spec__.name == 'untraced.runtime.namespaces.random'\n"
        "assert untraced.nn.initializers is initializers\n"
        "assert untraced.numpy.fft.fft.__untraced_numpy__ is numpy.fft.fft\n"
        "print(untraced.scipy.stats.norm.cdf(0.0))"
    )
    assert in_a_fresh_process(code) == "0.5"


def test_namespaces_say_the_names_that_users_know() -> None:
    spaces = "lax lax.linalg numpy numpy.linalg nn.initializers random scipy.special scipy.sparse.linalg tree".split()
    code = (
        f"for space in {spaces}:\n"
        "    exec(f'import untraced.{space}')\n"
        "    for asks in (f'untraced.{space}.nosuch', f'from untraced.{space} import nosuch'):\n"
        "        try:\n"
        "            exec(asks)\n"
        "        except (AttributeError, ImportError) as error:\n"
        "            print(str(error).split(' (')[0])"
    )
    assert in_a_fresh_process(code).splitlines() == [
        said
        for space in spaces
        for said in (
            f"module 'untraced.{space}' has no attribute 'nosuch'",
            f"cannot import name 'nosuch' from 'untraced.{space}'",
        )
    ]


def test_what_numpy_says_of_names_that_it_had() -> None:
    with pytest.raises(AttributeError, match="was removed in the NumPy 2.0 release"):
        untraced.numpy.unicode_  # noqa: B018


def test_plain_transformations_stay_light() -> None:
    code = (
        "import sys, numpy as np, untraced\n"
        "from untraced import tree\n"
        "print('jaxlib' in sys.modules, tree.leaves((1, [2])), untraced.grad(np.sum) is not None)"
    )
    assert in_a_fresh_process(code) == "False [1, 2] True"


def test_jax_is_never_imported_by_running() -> None:
    import numpy as np  # noqa: F401

    code = (
        "import sys, tempfile, importlib.util, pathlib\n"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'some_function.py'\n"
        "path.write_text('import numpy as np\\ndef f(x):\\n    return np.sum(np.sin(x) * x)\\n')\n"
        "spec = importlib.util.spec_from_file_location('some_function', path)\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "import numpy as np, untraced\n"
        "print(untraced.accelerate(module.f, target='cpu')(np.ones(3)) > 2, 'jax' in sys.modules)"
    )
    assert in_a_fresh_process(code).split()[-2:] == ["True", "False"]


def test_unknown_names() -> None:
    import pytest

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = untraced.nonsense
    with pytest.raises(ModuleNotFoundError, match=r"untraced\.nonsense"):
        importlib.import_module("untraced.nonsense")
