"""The rules by which a layer's weights are commonly filled before training, and the variance of its
scores then.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from sdpa_book.writing.measured import Measured, mean_and_error
from sdpa_lib._checks import check_count
from sdpa_lib.sampling import sample
from sdpa_lib.saturation import effective_keys

D_MODEL, D_K = 512, 64

STARTS: dict[str, Callable[[int, int], float]] = {
    "1/inputs": lambda inputs, outputs: 1 / inputs,
    "nn.Linear": lambda inputs, outputs: 1 / (3 * inputs),
    "xavier": lambda inputs, outputs: 2 / (inputs + outputs),
    "0.02": lambda inputs, outputs: 0.02**2,
}
"""The variance of a fresh weight by the name of a start, from the inputs and outputs of its matrix.
In the studies' models every matrix of a linear layer starts so, with normal entries and biases of
0: W_Q and W_K, values and output, perceptron, read-out, and the digits' patch embedding. Vectors
that an embedding looks up have variance 1 under every start, as PyTorch starts them.
"""


@dataclass(frozen=True)
class Initialisation:
    """A rule that fills the weights of a layer of ``D_MODEL`` inputs, of which one head has
    ``D_K`` rows.

    Attributes:
        name: what the rule is called in figures and tables.
        fill: fills a tensor in place, with a ``generator``.
        rows: of the matrix that the rule sees, ``D_K`` or more: some rules depend on its shape.
        weight_variance: of one weight, by the rule's formula. Its mean is 0.
    """

    name: str
    fill: Callable[..., Tensor]
    rows: int
    weight_variance: float

    def head(self, generator: Generator) -> Tensor:
        """Fresh weights of one head, (D_K, D_MODEL), filled as part of the whole matrix.

        Example:
            >>> INITIALISATIONS[0].head(torch.Generator().manual_seed(0)).shape
            torch.Size([64, 512])
        """
        weight = torch.empty(self.rows, D_MODEL, dtype=torch.float64)
        return self.fill(weight, generator=generator)[:D_K]


_xavier, _kaiming = nn.init.xavier_uniform_, nn.init.kaiming_normal_
_linear = partial(nn.init.kaiming_uniform_, a=math.sqrt(5))  # as in torch.nn.Linear
_small = partial(nn.init.normal_, std=0.02)

INITIALISATIONS = (
    Initialisation("Kaiming", _kaiming, D_K, 2 / D_MODEL),
    Initialisation("Xavier, one head", _xavier, D_K, STARTS["xavier"](D_MODEL, D_K)),
    Initialisation("Xavier, square", _xavier, D_MODEL, STARTS["xavier"](D_MODEL, D_MODEL)),
    Initialisation("Xavier, stacked", _xavier, 3 * D_MODEL, STARTS["xavier"](D_MODEL, 3 * D_MODEL)),
    Initialisation("nn.Linear", _linear, D_K, STARTS["nn.Linear"](D_MODEL, D_K)),
    Initialisation("std 0.02", _small, D_K, STARTS["0.02"](D_MODEL, D_K)),
)
"""Common rules, from the largest weights to the smallest."""


def measure_layer(rule: Initialisation, layers: int = 24) -> tuple[Measured, Measured]:
    """Var(q_i) and Var(q·k) / d_k in freshly filled layers.

    Queries and keys are made from 200 different tokens each, which have left a LayerNorm. The
    errors are those over ``layers``, at least 2, each with weights of its own.

    Example:
        >>> component, score = measure_layer(INITIALISATIONS[0], layers=5)
        >>> abs(component.value - 2) < 0.1 and abs(score.value - 4) < 0.4
        True
    """
    x, y = F.layer_norm(sample(2, 200, D_MODEL, seed=2, device="cpu"), (D_MODEL,))
    generator = torch.Generator().manual_seed(0)
    components, scores = [], []
    for _ in range(check_count("layers", layers, minimum=2)):
        q, k = x @ rule.head(generator).T, y @ rule.head(generator).T  # (200, D_K) each
        components.append(q.var())
        scores.append((q @ k.T).var() / D_K)
    return mean_and_error(torch.stack(components)), mean_and_error(torch.stack(scores))


def keys_seen(rule: Initialisation, layers: int = 24) -> tuple[Measured, Measured]:
    """The effective keys, of 32, of queries in freshly filled layers: undivided, and divided by the
    root. Tokens and errors are as in :func:`measure_layer`.

    Example:
        >>> undivided, divided = keys_seen(INITIALISATIONS[-1], layers=5)
        >>> undivided.value < 10 and divided.value > 30
        True
    """
    x, y = F.layer_norm(sample(2, 200, D_MODEL, seed=2, device="cpu"), (D_MODEL,))
    generator = torch.Generator().manual_seed(0)
    seen = []
    for _ in range(check_count("layers", layers, minimum=2)):
        q, k = x @ rule.head(generator).T, y[:32] @ rule.head(generator).T  # (200 or 32, D_K)
        both = (torch.softmax(q @ k.T / c, dim=-1) for c in (1.0, math.sqrt(D_K)))
        seen.append(torch.stack([effective_keys(weights).mean() for weights in both]))
    undivided, divided = torch.stack(seen).T
    return mean_and_error(undivided), mean_and_error(divided)
