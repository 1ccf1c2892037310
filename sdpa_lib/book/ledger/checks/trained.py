"""What sources say of trained models, from the stored decoders of chapter 14, which are small."""

from __future__ import annotations

import torch

from sdpa_lib.attention import attention_weights
from sdpa_lib.book.heads.picture import visible
from sdpa_lib.book.heads.results import LONGER, load_results, load_vectors
from sdpa_lib.book.heads.study import DecoderRun
from sdpa_lib.book.ledger._verdict import Finding, found


def reaches_back(tokens: int) -> Finding:
    """The share of a head's queries that put more than half of their weight on one key that many
    tokens back or more, in the head where it is largest, of the longer decoder with the root, on
    the line whose vectors are stored. As facts the same before training, which head that is, the
    largest weight of all heads before and after, and what that query and its key read.
    """
    run = DecoderRun("sqrt_d_k")
    query, key = load_vectors(run, "line", LONGER)  # (steps, layers, heads, n, d_k)
    weights = attention_weights(query, key, is_causal=True).tril(-tokens)
    shares = (weights.amax(-1) > 0.5).double().mean(-1)  # (steps, layers, heads)
    trained = weights[-1]
    *_, i, j = (int(x) for x in torch.unravel_index(trained.argmax(), trained.shape))
    best = divmod(int(shares[-1].argmax()), shares.shape[-1])
    line = visible(load_results(LONGER).passages["line"])
    return found(
        shares[-1].max().item(),
        before=shares[0].max().item(),
        layer=best[0] + 1,
        head=best[1] + 1,
        largest=trained.max().item(),
        largest_before=weights[0].max().item(),
        reads=line[i],
        seen=line[j],
        back=i - j,
    )
