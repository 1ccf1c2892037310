"""What sources say of trained models, from the stored decoders of chapter 14, which are small."""

from __future__ import annotations

import torch

from sdpa_lib.attention import attention_weights
from sdpa_lib.book.heads.picture import visible
from sdpa_lib.book.heads.results import LONGER, load_results, load_vectors
from sdpa_lib.book.heads.study import DecoderRun
from sdpa_lib.book.ledger._verdict import Finding, found


def reaches_back(tokens: int) -> Finding:
    """The largest weight on a single key that many tokens back or more, over the heads and queries
    of the longer trained decoder with the root, on the line whose vectors are stored. As facts
    which head that is, what its query and its key read, and how far they are apart.
    """
    run = DecoderRun("sqrt_d_k")
    query, key = (x[-1] for x in load_vectors(run, "line", LONGER))
    weights = attention_weights(query, key, is_causal=True).tril(-tokens)  # (layers, heads, n, n)
    place = torch.unravel_index(weights.argmax(), weights.shape)
    layer, head, i, j = (int(index) for index in place)
    line = visible(load_results(LONGER).passages["line"])
    return found(
        weights[layer, head, i, j].item(),
        layer=layer + 1,
        head=head + 1,
        reads=line[i],
        seen=line[j],
        back=i - j,
    )
