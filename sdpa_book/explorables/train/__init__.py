"""A lookup layer that is trained in the page, with the chosen divisor and without: how many steps
each needs, on batches of three sizes.
"""

from __future__ import annotations

from sdpa_book.drawing import plotting
from sdpa_book.studies.lookup import load_steps
from sdpa_book.writing.measured import Measured

DIVISORS = ("none", "sqrt_d_k")
BATCHES = (32, 256, 2048)

ALT = (
    "How many steps of Adam layers of 64 components need to a held-out loss of 0.3, with bars of "
    "two standard errors. On batches of 32 queries the layer without the division needs 71 ± 5 "
    "steps, and the one that divides by the root 35 ± 1; on batches of 256 they need 31 ± 2 and "
    "24 ± 1. On batches of 2,048 the delay is gone, since they need 20 ± 1 and 21 ± 1."
)


def steps(queries: int, divisor: str, d_k: int = 64) -> Measured:
    """The study's steps to a held-out loss of 0.3, at its rate of 0.003 on batches of so many
    queries: the mean over eight seeds and its standard error.
    """
    question = {16: "rates at 16", 64: "steps", 256: "steps at 256"}[d_k]
    text = load_steps(question)[f"0.003, {queries}"]["0.3"][DIVISORS.index(divisor)]
    mean, error = map(float, text.split(" ± "))
    return Measured(mean, error)


def draw() -> None:
    """These steps at each size of batch, undivided and with the root."""
    _, ax = plotting.figure(height=3.2)
    for side, name in enumerate(DIVISORS):
        at = [steps(queries, name) for queries in BATCHES]
        places = [place + 0.16 * (side - 0.5) for place in range(len(BATCHES))]
        means, errors = zip(*at, strict=True)
        line = plotting.style(name, marker=True) | {"linestyle": "none", "markersize": 8}
        plotting.measured(ax, places, means, errors, **line)
        for place, mean in zip(places, means, strict=True):
            to, align = ((-10, "right"), (10, "left"))[side]
            ax.annotate(
                f"{mean:.0f}",
                (place, mean),
                (to, 0),
                textcoords="offset points",
                ha=align,
                va="center",
            )
    ax.set_xticks(range(len(BATCHES)), [f"{queries:,}" for queries in BATCHES])
    ax.set(
        xlabel="queries in a batch",
        ylabel="steps to a loss of 0.3",
        xlim=(-0.5, 2.5),
        ylim=(0, None),
    )
    ax.grid(axis="x", visible=False)
    ax.legend()
