"""The public face: what it holds, how long it takes to import, and what that imports."""

from __future__ import annotations

import subprocess
import sys

import untraced


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_all_names_are_there() -> None:
    for name in untraced.__all__:
        assert hasattr(untraced, name), name
    assert untraced.jit is untraced.accelerate


def test_import_is_light() -> None:
    heavy = "('jax', 'jaxlib', 'triton', 'cupy', 'torch', 'scipy', 'astor', 'jinja2', 'matplotlib')"
    code = f"import sys, untraced; print([m for m in {heavy} if m in sys.modules])"
    assert in_a_fresh_process(code) == "[]"


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
