"""The gradient that passes two rows of six scores, along the divisor."""

from __future__ import annotations

import torch

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting

ALT = (
    "Norm of the Jacobian over r against the divisor: below the root it rises and then "
    "vanishes in an ordinary row; where the two best keys are nearly level it rises longer."
)


def data() -> dict[str, list[float]]:
    """Of many rows of six normal scores, the largest first, the one whose two best keys are as far
    apart as half of the rows' are, and the one in which they are nearer than in 19 of 20 others.
    """
    drawn = sdpa.sample(2001, 6, seed=0, device="cpu").sort(-1, descending=True).values
    by_gap = drawn[(drawn[:, 0] - drawn[:, 1]).argsort()]
    return {
        name: [round(z, 3) for z in by_gap[at].tolist()]
        for name, at in (("decided", 1000), ("level", 100))
    }


def draw() -> None:
    """What is left of the gradient in two rows, against the divisor."""
    _, ax = plotting.figure(height=3.0)
    ratios = 2.0 ** torch.linspace(-5, 5, 101)
    for name, label, at in (
        ("decided", "an ordinary row", (0.07, 3e-3)),
        ("level", "two best keys nearly level", (0.2, 7.0)),
    ):
        scores = torch.tensor(data()[name])
        weights = torch.softmax(scores / ratios.unsqueeze(-1), -1)
        ax.plot(ratios, sdpa.jacobian_norm(weights) / ratios, color=plotting.ROLES["weights"])
        ax.text(*at, label)
    ax.set(xscale="log", yscale="log", xlabel="$r = c / \\sqrt{d_k}$", ylim=(1e-5, 30))
    ax.set_ylabel("norm of J, over r")
