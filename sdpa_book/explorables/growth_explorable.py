"""Densities of q·k, for few components and for more."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import scipy.fft
import scipy.interpolate
import scipy.stats
import torch

from sdpa_book.drawing import plotting
from sdpa_lib.moments import normal_dot_product_density
from sdpa_lib.sampling import DISTRIBUTIONS

ALT = (
    "Two densities of undivided dot products on the same axes: of 4 components, high and narrow, "
    "with standard deviation 2, and of 64, low and wide, with 8."
)

LAWS: dict[str, Any] = {
    "normal": scipy.stats.norm(),
    "uniform": scipy.stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    "rademacher": None,
    "laplace": scipy.stats.laplace(scale=1 / math.sqrt(2)),
    "student_t": scipy.stats.t(10, scale=math.sqrt(0.8)),
}
"""Of one component of each of ``DISTRIBUTIONS``; None where it takes -1 and 1 alone."""

STEP = 1 / 2000
"""Of the lattice on which densities are convolved, in standard deviations of q·k."""

REACH = 40
"""How far the lattice goes, in the same unit: beyond, nothing is left of any of them."""

GRID = 4 + np.round((5 / STEP - 4) * np.linspace(0, 1, 49) ** 2).astype(int)
"""Where densities are given, in steps: densest near 0, where those of few components are peaked;
not at 0, where that of one is infinite.
"""


def data() -> dict[str, Any]:
    """For each distribution and d_k the density of q·k over its standard deviation: on a grid of
    half of it, or, at -1 and 1, the heights of the lattice's upper half.
    """
    d_k = [2**e for e in range(10)]
    return {
        "d_k": d_k,
        "grid": [round(x, 5) for x in (GRID * STEP).tolist()],
        "density": {
            name: [[round(x, 3) for x in density(name, d)] for d in d_k] for name in DISTRIBUTIONS
        },
    }


def density(distribution: str, d_k: int) -> np.ndarray:
    """Density of q·k / sqrt(d_k) on the grid; at -1 and 1 its probabilities over their spacing."""
    root = math.sqrt(d_k)
    if LAWS[distribution] is None:
        sums = np.arange(d_k % 2, min(d_k, 5 * root) + 1, 2)
        return np.asarray(scipy.stats.binom.pmf((d_k + sums) / 2, d_k, 0.5)) * root / 2
    if d_k == 1:
        return product_density(distribution, GRID * STEP)
    # Probabilities of the lattice's cells for one product, then the d_k-fold convolution.
    cells = np.arange(int(REACH / STEP) + 1)
    below = product_probability(distribution, (cells + 0.5) * STEP * root)
    half = np.diff(below, prepend=-below[0])  # the cell around 0 has two halves
    transformed = np.asarray(scipy.fft.rfft(np.concatenate([half, half[:0:-1]])))
    convolved = scipy.fft.irfft(transformed**d_k, 2 * len(half) - 1)
    return np.asarray(convolved[GRID]) / STEP


def widest(distribution: str) -> float:
    """The largest value that a component takes, or that matters in double precision."""
    law = LAWS[distribution]
    _, end = law.support()
    return float(law.isf(1e-16) if math.isinf(end) else end)


def product_density(distribution: str, z: np.ndarray) -> np.ndarray:
    """Density of a product of two components at z > 0: the integral of f(x) f(z/x) / x over x on
    both sides of 0, in ln x, as far as both factors have a density.
    """
    law, end = LAWS[distribution], widest(distribution)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    low, high = np.log(z / end)[:, None], math.log(end)
    x = np.exp(low + (high - low) * (nodes + 1) / 2)
    inside = np.minimum(x, end), np.minimum(z[:, None] / x, end)
    integral = (law.pdf(inside[0]) * law.pdf(inside[1])) @ weights * (high - low[:, 0]) / 2
    return np.where(z < end**2, 2 * integral, 0.0)


@cache
def product_probabilities(distribution: str) -> scipy.interpolate.PPoly:
    """The probability that a product of two components lies between 0 and z, in ln z."""
    end = widest(distribution)
    log_z = np.linspace(-25, 2 * math.log(end), 2001)
    z = np.exp(log_z)
    return scipy.interpolate.CubicSpline(
        log_z, z * product_density(distribution, z)
    ).antiderivative()


def product_probability(distribution: str, z: np.ndarray) -> np.ndarray:
    """The same at z."""
    spline = product_probabilities(distribution)
    return np.asarray(spline(np.clip(np.log(z), spline.x[0], spline.x[-1])))


def draw() -> None:
    """Densities of q·k for few components and for more, on the same axes."""
    _, axes = plotting.figure(columns=2, height=3.0, share_y=True)
    x = torch.linspace(-30, 30, 401, dtype=torch.float64)
    for ax, d_k in zip(axes, (4, 64), strict=True):
        density = normal_dot_product_density(x, d_k)
        ax.plot(x, density, color=plotting.ROLES["key"])
        ax.set(title=f"undivided, $d_k = {d_k}$", xlabel="q·k")
    axes[0].set_ylabel("density")
