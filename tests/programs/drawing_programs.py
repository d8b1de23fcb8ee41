"""Programs whose loops draw random numbers, one after the other, as their authors would write them."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

RNG = np.random.default_rng(7)


def area_of_circle(n, rng):
    hits = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y < 1.0:
            hits += 1
    return 4.0 * hits / n


def walk(n, rng):
    x = 0.0
    path = np.empty(n)
    for i in range(n):
        x += rng.normal(0.1, 2.0)
        path[i] = x
    return path


def walk_on_lattice(n, rng):
    x = y = 0
    for _ in range(n):
        d = rng.integers(4)
        if d == 0:
            x += 1
        elif d == 1:
            x -= 1
        elif d == 2:
            y += 1
        else:
            y -= 1
    return x, y


def ising(spins, beta, steps, rng):
    n = spins.shape[0]
    for _ in range(steps):
        i, j = rng.integers(0, n), rng.integers(0, n)
        s = spins[i, j]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        change = 2 * s * around
        if change <= 0 or rng.random() < np.exp(-beta * change):
            spins[i, j] = -s
    return spins.sum()


def ising_of_old(spins, beta, steps):
    n = len(spins)
    for _ in range(steps):
        i = np.random.randint(n)
        j = np.random.randint(0, n)
        change = 2 * spins[i, j] * (spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1])
        if change < 0 or np.random.rand() < math.exp(-beta * change):
            spins[i, j] *= -1
    return np.mean(spins)


def _log_density(x):
    return -0.5 * x * x + np.cos(x)


def _proposal(x, width, rng):
    return x + width * rng.standard_normal()


def metropolis(n, width, rng):
    x, accepted = 0.0, 0
    chain = np.zeros(n)
    for k in range(n):
        y = _proposal(x, width, rng)
        if np.log(rng.random()) < _log_density(y) - _log_density(x):
            x, accepted = y, accepted + 1
        chain[k] = x
    return chain, accepted / n


def annealing(n, rng):
    def cost(z):
        return z * z + 10 * math.sin(z)

    x, best, temperature = 5.0, 5.0, 1.0
    for _ in range(n):
        y = x + rng.uniform(-1, 1)
        if cost(y) < cost(x) or rng.random() < math.exp(-(cost(y) - cost(x)) / temperature):
            x = y
        if cost(x) < cost(best):
            best = x
        temperature *= 0.999
    return best


def percolates(n, p, rng):
    is_open = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            is_open[i, j] = rng.random() < p
    full = np.zeros((n, n), dtype=bool)
    full[0] = is_open[0]
    changed = True
    while changed:
        changed = False
        for i in range(1, n):
            for j in range(n):
                wet = full[i - 1, j] or (j > 0 and full[i, j - 1]) or (j < n - 1 and full[i, j + 1])
                if is_open[i, j] and not full[i, j] and (wet or (i < n - 1 and full[i + 1, j])):
                    full[i, j] = changed = True
    return full[-1].any()


def gibbs(n, thin, rng):
    x = y = 0.0
    samples = np.zeros((n, 2))
    for i in range(n):
        for _ in range(thin):
            x = rng.gamma(3.0, 1.0 / (y * y + 4))
            y = rng.normal(1.0 / (x + 1), 1.0 / np.sqrt(2 * x + 2))
        samples[i, 0] = x
        samples[i, 1] = y
    return samples


def first_passage(level, rng):
    x, n = 0.0, 0
    while True:
        x += rng.standard_normal()
        n += 1
        if abs(x) > level:
            return n


def waits(p, rng):
    k = 0
    while rng.random() < p:
        k += 1
    return k


def leaves_early(n, rng):
    for i in range(n):
        if rng.random() > 0.99:
            return i, rng.random()
    return -1, 0.0


def short_circuits(n, rng):
    k = 0
    for i in range(n):
        if i % 3 == 0 or rng.random() < 0.5:
            k += 1
        k += 1 if rng.random() < 0.2 else 0
    return k


def around_loops(n, rng):
    first = rng.normal()
    total = 0.0
    for _ in range(n):
        total += rng.random()
    return first, total, rng.integers(10)


def vectors(n, rng):
    total = np.zeros((2, 3))
    count = 0
    for _ in range(n):
        total += rng.standard_normal((2, 3)) * rng.random(3)
        count += rng.integers(0, 10, size=4)[2] + rng.poisson(3.0, 2)[1]
    return total, count


def vectors_of_old(n, d):
    x = np.zeros(d)
    for _ in range(n):
        x += np.random.randn(d) + np.random.rand(d) - np.random.normal(0.0, 1.0, d) * np.random.uniform(size=d)
        x[0] += np.random.randint(0, 5, d)[1]
    return x


def in_products(n, rng):
    total = 0.0
    for _ in range(n):
        a = rng.random((90, 90))
        total += (a @ a)[3, 5]
    return total


def of_old(n):
    s = 0.0
    for i in range(n):
        s += np.random.normal(1.0, 2.0)
        if i % 3 == 0:
            s += np.random.randn()
        if i % 5 == 0:
            s += np.random.uniform(3, -1) + np.random.exponential(2.0) + np.random.standard_exponential()
    return s


def of_python(n):
    s, k = 0.0, 0
    for i in range(n):
        s += random.random()
        if i % 3 == 0:
            s += random.gauss(0, 1)
        if i % 4 == 0:
            s += random.uniform(1, 2) + random.expovariate(0.5)
        k += random.randint(1, 6) + random.randrange(10) + random.randrange(3, 2**40) % 7
    return s, k


def seeded_in_python(n):
    random.seed(3)
    s = 0.0
    for _ in range(n):
        s += random.random()
    return s


def of_a_global(n):
    s = 0.0
    for _ in range(n):
        s += RNG.exponential(1.5)
    return s


def of_many_kinds(n, rng):
    s = 0.0
    for _ in range(n):
        s += rng.integers(10) + rng.integers(0, 100, endpoint=True) + rng.standard_normal()
        s += rng.standard_exponential() + rng.gamma(2.0, 3.0) + rng.beta(2, 3) + rng.poisson(4.0) + rng.poisson(20.0)
        s += rng.geometric(0.3) + rng.geometric(0.7) + rng.lognormal() + rng.laplace() + rng.logistic() + rng.gumbel()
        s += rng.rayleigh() + rng.standard_cauchy() + rng.standard_gamma(0.5) + rng.chisquare(3) + rng.standard_t(4)
        s += rng.weibull(2) + rng.pareto(3.0) + rng.integers(2**40) % 7 + rng.integers(-5, 2**33) % 5
        s += rng.integers(2**32) % 3 + rng.integers(3, 4) + rng.random(0).sum() + rng.exponential(0.0)
    return s


def as_asked(kinds, rng):
    """Draws in the order of `kinds`, so that halves of numbers are left over at any place."""
    drawn = np.zeros(len(kinds))
    for i in range(len(kinds)):
        k = kinds[i]
        if k == 0:
            drawn[i] = rng.random()
        elif k == 1:
            drawn[i] = rng.integers(1000)
        elif k == 2:
            drawn[i] = rng.standard_normal()
        elif k == 3:
            drawn[i] = rng.integers(2**40)
        else:
            drawn[i] = rng.standard_exponential()
    return drawn


def as_asked_of_old(kinds, rng):
    drawn = np.zeros(len(kinds))
    for i in range(len(kinds)):
        k = kinds[i]
        if k == 0:
            drawn[i] = rng.rand()
        elif k == 1:
            drawn[i] = rng.randint(1000)
        elif k == 2:
            drawn[i] = rng.randn()
        elif k == 3:
            drawn[i] = rng.randint(2**40)
        else:
            drawn[i] = rng.exponential(2.0)
    return drawn


def as_asked_of_python(kinds, rng):
    drawn = np.zeros(len(kinds))
    for i in range(len(kinds)):
        k = kinds[i]
        if k == 0:
            drawn[i] = rng.random()
        elif k == 1:
            drawn[i] = rng.randrange(1000)
        elif k == 2:
            drawn[i] = rng.gauss(1.0, 2.0)
        elif k == 3:
            drawn[i] = rng.randint(5, 2**40)
        else:
            drawn[i] = rng.uniform(2, 3)
    return drawn


def with_names_of_c(word, words, rng):
    source = keep = 0.0
    for below in range(words):
        polar = rng.normal(word, 1.0)
        bounded = rng.integers(5)
        random_normal = polar * bounded
        source += random_normal
        keep = below + source
    return source, keep


def refused(n, rng):
    s = 0.0
    for i in range(n):
        s += rng.normal(0.0, 50.0 - i)
    return s


def out_of_range(x, rng):
    for i in range(100):
        x[i] = rng.random()
    return x


def raises(n, rng):
    s = 0.0
    for _ in range(n):
        s += rng.random()
        if s > 20:
            raise ValueError(f"s is {s}")
    return s


def of_two(n, a, b):
    s = 0.0
    for _ in range(n):
        s += a.random() - 2 * b.random()
    return s


def twice(n, rng):
    draw = rng.random
    if rng is None or not isinstance(rng, np.random.Generator):
        return 0.0
    rng = np.random.default_rng(rng)
    s = 0.0
    for _ in range(n):
        s += draw() + rng.random()
    return s


def hands_back(n, rng):
    s = 0.0
    for _ in range(n):
        s += rng.random()
    return s, rng


class Simulation:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def step(self, x: float) -> Any:
        return x + self.rng.normal()


def simulated(simulation, n):
    x = 0.0
    for _ in range(n):
        x = simulation.step(x)
    return x
