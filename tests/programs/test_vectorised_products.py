"""Which loops of products, and of long bodies, become whole-array statements, and what of the others goes in front."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from vectorised_forms import forms, run

from untraced import accelerate
from untraced.tpu import compiler


class TestProductsAhead:
    """Loops that stay give their products of the index alone away: one product of matrices in front."""

    DATA = np.random.default_rng(4).normal(size=(150, 120))

    @staticmethod
    def covariance(data: Any) -> Any:
        m = data.shape[1]
        data -= np.mean(data, axis=0)
        cov = np.zeros((m, m))
        for i in range(m):
            cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (len(data) - 1.0)
        return cov

    @pytest.mark.parametrize("target", ["cpu", "numpy"])
    def test_covariance_by_columns(self, target: str) -> None:
        assert run(self.covariance, self.DATA, target=target, exact=False) == "in order"
        source = accelerate(self.covariance, target=target).inspect(self.DATA.copy(), compile=False).source
        assert "data.T @ data" in source.partition("for ")[0]

    def test_backwards_from_another_start(self) -> None:
        def f(data: Any) -> Any:
            last = np.zeros(data.shape[1])
            for i in range(110, 20, -1):
                last = last * 0.5 + data[:, i] @ data / (1.0 + np.abs(last[0]))
            return last

        assert run(f, self.DATA, exact=False) == "in order"
        source = accelerate(f, target="numpy").inspect(self.DATA, compile=False).source
        assert " @ " not in source.partition("for ")[2]

    def test_of_what_the_loop_changes_or_on_few_numbers_they_stay(self) -> None:
        def changed(data: Any) -> Any:
            for i in range(1, 120):
                data[:, i] -= (data[:, i - 1] @ data)[i] * 1e-3
            return data

        for f, data in ((changed, self.DATA), (self.covariance, self.DATA[:12, :9].copy())):
            assert run(f, data.copy(), exact=False) == "in order"
            source = accelerate(f, target="numpy").inspect(data.copy(), compile=False).source
            assert " @ " in source.partition("for ")[2]

    def test_what_may_fail_in_a_trip_stays_there(self) -> None:
        def f(data: Any, places: Any) -> Any:
            total = np.zeros(data.shape[1])
            for i in range(len(places)):
                total = np.tanh(total + data[:, places[i]] @ data)
            return total

        run(f, self.DATA, np.arange(30), exact=False)
        source = accelerate(f, target="numpy").inspect(self.DATA, np.arange(30), compile=False).source
        assert " @ " in source.partition("for ")[2]


@pytest.mark.skipif(not compiler.available(), reason="no C++ compiler")
def test_long_bodies_with_little_to_do_are_left_to_native_code() -> None:
    def splines(x, c):
        out = np.zeros(len(x))
        for i in range(len(x)):
            d = [c[0] * x[i], c[1] - x[i], c[2] + x[i], c[3] / (1.0 + x[i])]
            for r in range(1, 4):
                for j in range(3, r - 1, -1):
                    d[j] = (1.0 - x[i]) * d[j - 1] + x[i] * d[j]
            out[i] = d[3]
        return out

    c = np.arange(4.0)
    for n, form in ((300, "in order"), (20_000, "vectorised")):
        x = np.linspace(0.0, 1.0, n)
        assert forms(splines, x, c, target="cpu")[-1] == form
        np.testing.assert_allclose(accelerate(splines, target="cpu")(x, c), splines(x, c), rtol=1e-14)


def test_products_of_matrices_stay_in_their_loop() -> None:
    def recurrent(xs, w, h):
        for i in range(len(xs)):
            h = np.tanh(xs[i] @ w + h)
        return h

    xs, w = np.ones((40, 16, 32)) / 32, np.ones((32, 64)) / 9
    source = accelerate(recurrent).inspect(xs, w, np.zeros((16, 64)), compile=False).source
    assert "xs[i] @ w" in source
    rows = accelerate(recurrent).inspect(np.ones((40, 512)) / 512, np.ones((512, 64)), np.zeros(64), compile=False)
    assert "xs @ w" in rows.source  # of vectors: one product of matrices
