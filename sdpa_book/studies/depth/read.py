"""What is stored of the first gradients."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdpa_book.studies.depth.plan import Depth
from sdpa_book.studies.depth.recursion import mean_field, relative_divisor
from sdpa_book.studies.making import with_known_rescalings

STORED = Path(__file__).parent / "results" / "depth.json"
"""The measurements that come with the book."""


@dataclass(frozen=True, kw_only=True)
class ByBlock:
    """Measurements block by block.

    The lists of the residual stream have n_layers + 1 entries: what goes into each block, and what
    comes out of the last one. Gradients there are over the gradient that the read-out sends into
    the last normalisation's output, root mean square over root mean square.

    Attributes:
        query: in each block, the norm of the gradient of W_Q.
        key: of W_K.
        perceptron: of the perceptron's second matrix.
        gradient: at the residual stream, the root mean square over the batch.
        typical: at the residual stream, the root mean square in the median sequence of the batch.
        variance: of a component of the residual stream.
        apart: one minus the correlation of two tokens of a sequence, once they are normalised.
    """

    query: list[float]
    key: list[float]
    perceptron: list[float]
    gradient: list[float]
    typical: list[float]
    variance: list[float]
    apart: list[float]


@dataclass(frozen=True, kw_only=True)
class Starts(ByBlock):
    """The first gradients of one model over the seeds: block by block their medians.

    Attributes:
        cell: the model.
        total: the norm of the gradient of all parameters, one number a seed; of a trained model
            one number for each of its batches, seed by seed, as in what follows.
        first: ``gradient`` at the first block, one number a seed.
        loss: in nats a byte, of decoders.
        undecided: of a decoder's queries the share that gives no key nine tenths of the weight.
        without_undecided: ``first``, of decoders, where these pass nothing on through their scores.
        without_decided: the same, where the others do not.
        made_with: versions and device, where they are others than the file's.
    """

    cell: Depth
    total: list[float]
    first: list[float]
    loss: list[float] | None = None
    undecided: list[float] | None = None
    without_undecided: list[float] | None = None
    without_decided: list[float] | None = None
    made_with: dict[str, Any] | None = None


def load_depth(path: Path = STORED) -> tuple[dict[str, Any], dict[Depth, Starts]]:
    """The provenance and the measurements, by model.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> provenance, measured = load_depth()
        >>> provenance["dtype"], len(measured[Depth(64, 48, "none")].total)
        ('float64', 30)
    """
    stored = json.loads(path.read_text(encoding="utf-8"))
    cells = (Starts(cell=Depth(*line.pop("cell")), **line) for line in stored["measured"])
    return stored["provenance"], {measured.cell: measured for measured in cells}


def predicted(starts: Starts, *, n_tokens: int = 16) -> float:
    """What the recursion has for ``first``, from the variance and correlation of the model's own
    embedded tokens. Nothing is fitted.

    Example:
        >>> kind = Depth(64, 2, "sqrt_d_k")
        >>> round(predicted(load_depth()[1][kind]), 1)
        1.7
    """
    kind = starts.cell
    return mean_field(
        kind.n_layers,
        relative_divisor(kind.scaling, n_tokens, kind.d_k),
        n_tokens=n_tokens,
        norm=kind.norm,
        variance=starts.variance[0],
        correlation=1 - starts.apart[0],
    ).gradient[0]


def listed_rescalings(measured: Iterable[Depth]) -> list[str]:
    """What a table of all rescalings lists: those of the library, which may not be measured yet,
    and then those that were measured and that the library no longer has.

    Example:
        >>> listed_rescalings([Depth(64, 24, "of old")])[-1]
        'of old'
    """
    return with_known_rescalings(model.scaling for model in measured)
