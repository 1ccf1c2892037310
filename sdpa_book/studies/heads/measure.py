r"""What is measured of a head, from its queries, keys and scores alone.

Rows are those of queries that see at least ``LEAST`` keys, every third of them. A *normal row* is
a row of normal scores with the same number of keys and the same standard deviation: what the random
energy model of article C speaks of, drawn rather than taken from its limits.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from sdpa_lib._checks import check_count, check_finite, check_query_key, check_tensor
from sdpa_lib.sampling import sample

LEAST = 64
"""Rows with fewer keys are not looked at: a tail has to have an end and a middle."""
STRIDE = 3
"""Neighbouring rows are alike, and one in three is enough."""
DRAWN = 2**18
"""How many scores the normal rows of one length are drawn from."""
RATIOS = torch.cat((torch.arange(32) / 16, 2 + torch.arange(29) / 2)).double()
"""The standard deviations for which normal rows are drawn, over the critical one."""

FIGURES = {
    "query_mean": "root mean square over components of the mean of a query's component",
    "key_mean": "likewise of a key's",
    "query_variance": "variance of a query's component, mean over components",
    "key_variance": "likewise of a key's",
    "query_spread": "standard deviation over components of that variance, over its mean",
    "key_spread": "likewise of a key's",
    "query_shared": "|E q|² / E|q|²: the part of the queries that all of them share",
    "key_shared": "|E k|² / E|k|²: the part of the keys that all share, which softmax cancels",
    "query_rank": "effective rank of the queries' covariance, (tr C)² / tr C²",
    "key_rank": "likewise of the keys'",
    "score_rank": "effective rank of E[q qᵀ] Cov k, (tr)² over the trace of its square: among how "
    "many directions the products of queries and keys are spread, whatever basis both are written "
    "in",
    "alignment": "d_k tr(E[q qᵀ] Cov k) / (E|q|² tr Cov k): 1 where no direction is preferred",
    "dependence": "variance within a row over tr(E[q qᵀ] Cov k): 1 where queries and keys are "
    "independent",
    "length_variation": "standard deviation of the keys' lengths over their mean",
    "cosine_mean": "mean cosine of a query and a key it sees",
    "cosine_largest": "mean cosine of a query and the key of its largest weight",
    "total_std": "standard deviation of undivided scores over sqrt(d_k), of all rows together",
    "row_std": "the same within a row, root mean square over rows",
    "sigma": "standard deviation within a row of what softmax sees, mean over rows",
    "ratio": "that over the critical sqrt(2 ln n)",
    "kurtosis": "excess kurtosis of a row of scores, mean over rows; a row of n normal scores has "
    "-6/(n + 1)",
    "tail": "scale of a row's upper tail, in nats: the mean excess of its sqrt(n) largest scores "
    "over the next",
    "tail_normal": "that in units of the row's standard deviation, over a normal row's",
    "top_score": "largest score that softmax sees, of all rows",
    "largest": "largest weight of a row",
    "perplexity": "perplexity of a row, the exponential of its entropy",
    "entropy": "entropy of a row over ln n",
    "entropy_normal": "the same of a normal row",
    "squares": "sum of squared weights of a row",
    "squares_normal": "the same of a normal row",
    "squares_tail": "the same in the limit for an exponential tail of the row's scale b, 1 - 1/b",
    "first_weight": "weight on the first token",
    "first_largest": "share of the rows whose largest weight is on the first token",
}
"""What each figure is. Those of :data:`WITHOUT_FIRST` also stand with ``rest_`` before their name,
of the same rows without the first token.
"""

WITHOUT_FIRST = (
    "row_std",
    "sigma",
    "ratio",
    "kurtosis",
    "tail_normal",
    "largest",
    "entropy",
    "entropy_normal",
    "squares",
    "squares_normal",
)


def head_figures(
    query: Tensor, key: Tensor, scores: Tensor, *, least: int = LEAST, stride: int = STRIDE
) -> dict[str, Tensor]:
    """Every figure of ``FIGURES`` for each head of a layer.

    Args:
        query, key: (B, H, n, d_k), as their undivided scores are made of them.
        scores: (B, H, n, n), what goes into softmax, -inf at hidden keys.
        least: rows of queries before this one, from 1, are left out.
        stride: every so many of the others are looked at.

    Returns:
        By name (H,), float64.

    Raises:
        ValueError: shapes that do not fit, or no row that is long enough.

    Example:
        >>> q, k = (sample(1, 2, 64, 8, seed=s, dtype=torch.float64) for s in (0, 1))
        >>> figures = head_figures(q, k, q @ k.mT / 8**0.5, least=32)
        >>> figures["sigma"].round().tolist()  # both heads have what is random
        [1.0, 1.0]
    """
    check_query_key(query, key)
    for name, tensor in (("query", query), ("key", key)):
        check_finite(name, tensor)
    check_tensor("scores", scores, min_dim=4, shape="(B, H, n, n)")
    if query.dim() != 4 or scores.shape != (*query.shape[:3], key.shape[-2]):
        raise ValueError(
            f"scores must have the shape (B, H, n, n) of the dot products of queries "
            f"{tuple(query.shape)} and keys {tuple(key.shape)}, got {tuple(scores.shape)}"
        )
    if check_count("least", least, minimum=2) > query.shape[-2]:
        raise ValueError(
            f"least must be at most the {query.shape[-2]} queries that there are, got {least}"
        )
    query, key, scores = query.double(), key.double(), scores.double()
    rows = torch.arange(least - 1, query.shape[-2], check_count("stride", stride))
    top_score = scores.amax((0, 2, 3))
    scores = scores[:, :, rows]  # (B, H, R, n)
    visible = scores > -math.inf
    products = (query[:, :, rows] @ key.mT).masked_fill(~visible, -math.inf)
    figures = _of_vectors(query, key)
    figures["top_score"] = top_score
    weights = torch.softmax(scores, dim=-1)
    lengths = query[:, :, rows].norm(dim=-1, keepdim=True) * key.norm(dim=-1).unsqueeze(-2)
    cosines = products / lengths
    best = scores.argmax(-1, keepdim=True)
    figures["cosine_mean"] = _mean(_over(visible, cosines))
    figures["cosine_largest"] = _mean(cosines.gather(-1, best).squeeze(-1))
    figures |= _of_rows(scores, products, query.shape[-1])
    figures["total_std"] = torch.stack(
        [p[v].std() for p, v in zip(products.unbind(1), visible.unbind(1), strict=True)]
    ) / math.sqrt(query.shape[-1])
    figures["dependence"] = (
        figures["row_std"].square() * query.shape[-1] / figures.pop("independent_variance")
    )
    figures["first_weight"] = _mean(weights[..., 0])
    figures["first_largest"] = _mean((best.squeeze(-1) == 0).double())
    without = scores.clone()
    without[..., 0] = -math.inf
    rest = _of_rows(without, products, query.shape[-1])
    return figures | {f"rest_{name}": rest[name] for name in WITHOUT_FIRST}


def position_part(scores: Tensor, *, least: int = LEAST, stride: int = STRIDE) -> Tensor:
    """The part of the variance within rows that is the same whatever is read, and so follows from
    the places of query and key alone: the mean product of the scores of two different passages,
    each less its row's mean, over their mean square.

    Args:
        scores: (B, H, n, n), B at least 2, with the same keys hidden in each passage.
        least, stride: as in :func:`head_figures`.

    Returns:
        (H,), float64: 1 if what is read changes nothing, 0 if place does not.

    Example:
        >>> scores = sample(1, 1, 16, 16, seed=0).expand(3, 1, 16, 16)
        >>> f"{position_part(scores, least=8).item():.4f}"
        '1.0000'
    """
    check_tensor("scores", scores, min_dim=4, shape="(B, H, n, n)")
    count = len(scores)
    if count < 2:
        raise ValueError(f"scores must be of at least 2 passages, got {count}")
    rows = torch.arange(check_count("least", least) - 1, scores.shape[-2], stride)
    scores = scores[:, :, rows].double()
    visible = scores > -math.inf
    centred = (scores - _over(visible, scores).unsqueeze(-1)).masked_fill(~visible, 0.0)
    squares = centred.square().sum(0)  # (H, R, n)
    products = (centred.sum(0).square() - squares) / (count - 1)
    return products.sum((-2, -1)) / squares.sum((-2, -1))


def parted_figures(
    scores: Tensor, place: Tensor, *, least: int = LEAST, stride: int = STRIDE
) -> dict[str, Tensor]:
    """What is left of rows of scores without the part that place decides, and that part by itself.

    Both are stretched to the standard deviation that the row's scores have, so that each can be
    compared with the row and with the same normal row.

    Args:
        scores: (B, H, n, n), -inf at hidden keys.
        place: (H, n, n), the mean over other passages of scores less their row's mean.
        least, stride: as in :func:`head_figures`.

    Returns:
        By name (H,), float64: ``kurtosis``, ``tail_normal``, ``squares`` and ``entropy`` of
        ``FIGURES``, with ``read_`` before their name for scores less ``place`` and ``place_`` for
        ``place``, and ``lag``, the correlation of a key's score with that of the next key; and
        ``read_sigma``, before stretching.

    Example:
        >>> scores = sample(4, 1, 64, 64, seed=0)
        >>> figures = parted_figures(scores, sample(1, 64, 64, seed=1), least=32)
        >>> f"{figures['read_sigma'].item():.1f}"  # of the difference of what is random
        '1.4'
    """
    check_tensor("scores", scores, min_dim=4, shape="(B, H, n, n)")
    check_tensor("place", place, min_dim=3, shape="(H, n, n)")
    rows = torch.arange(check_count("least", least) - 1, scores.shape[-2], stride)
    scores, place = scores[:, :, rows].double(), place[:, rows].double()
    visible = scores > -math.inf
    place = place.expand_as(scores).masked_fill(~visible, -math.inf)
    sigma = _moment(visible, scores, 2).sqrt().unsqueeze(-1)
    figures = {}
    for name, part in (
        ("read", (scores - place).masked_fill(~visible, -math.inf)),
        ("place", place),
    ):
        own = _moment(visible, part, 2).sqrt().unsqueeze(-1)
        stretched = part * (sigma / own)
        of_rows = _of_rows(stretched, stretched, 1)
        for figure in ("kurtosis", "tail_normal", "squares", "entropy"):
            figures[f"{name}_{figure}"] = of_rows[figure]
        figures[f"{name}_lag"] = _mean(_lag(visible, part))
        if name == "read":
            figures["read_sigma"] = _mean(own.squeeze(-1))
    return figures


def unturned_figures(query: Tensor, key: Tensor) -> dict[str, Tensor]:
    """Figures of queries and keys before their places turn them, since turning alone spreads one
    query and one key over several directions.

    Args:
        query, key: (B, H, n, d_k).

    Returns:
        By name (H,), float64: ``query_shared``, ``key_shared`` and ``score_rank`` of ``FIGURES``
        and ``whole_rank``, that of E[q qᵀ] E[k kᵀ], with ``unturned_`` before their name. Once they
        are turned, softmax no longer cancels what all keys share.

    Example:
        >>> query, key = (sample(1, 1, 64, 8, seed=s) for s in (0, 1))
        >>> figures = unturned_figures(query, key + 100)
        >>> figures["unturned_whole_rank"].round().tolist()  # the shared part's
        [1.0]
    """
    query, key = query.double(), key.double()
    of_vectors = _of_vectors(query, key)
    figures = {name: of_vectors[name] for name in ("query_shared", "key_shared", "score_rank")}
    q, k = (x.transpose(0, 1).flatten(1, 2) for x in (query, key))  # (H, B n, d_k)
    product = q.mT @ q @ k.mT @ k
    figures["whole_rank"] = _trace(product).square() / _trace(product @ product)
    return {f"unturned_{name}": values for name, values in figures.items()}


def effective_rank(matrix: Tensor) -> Tensor:
    """(tr M)² / tr M² of a covariance: how many directions carry it, d if all do alike.

    Args:
        matrix: (..., d, d), symmetric, without negative eigenvalues.

    Returns:
        (...), between 1 and d.

    Example:
        >>> effective_rank(torch.eye(4))
        tensor(4.)
    """
    trace = matrix.diagonal(dim1=-2, dim2=-1).sum(-1)
    return trace.square() / matrix.square().sum((-2, -1))


def normal_rows(sigma: Tensor, n: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What rows of normal scores give: the mean entropy over ln n, the mean sum of squared weights,
    and the mean scale of the upper tail in units of the standard deviation.

    As in a row that was measured, ``sigma`` is the standard deviation of the row's own scores. The
    rows are drawn for lengths that grow by root two and for ``RATIOS``; between them is
    interpolated. Beyond sixteen times the critical standard deviation the last ones stand.

    Args:
        sigma: (...), at least 0.
        n: (...), how many keys, at least 4.

    Returns:
        Three times (...), float64.

    Example:
        >>> entropy, squares, tail = normal_rows(torch.tensor(0.0), torch.tensor(128))
        >>> round(entropy.item(), 6), round(squares.item() * 128, 6)
        (1.0, 1.0)
    """
    sigma, n = sigma.double() + 0 * n, n.double() + 0 * sigma
    if bool((n < 4).any()):
        raise ValueError(f"n must be at least 4, got {n.min().item():g}")
    place = 2 * n.log2()
    low = int(place.min().floor().item())
    high = max(low + 1, int(place.max().ceil().item()))
    table = torch.stack([_drawn(step) for step in range(low, high + 1)]).to(n.device)
    i = (place - low).floor().clamp(max=high - low - 1).long()
    along = (place - low - i).unsqueeze(-1)
    ratios = RATIOS.to(n.device)  # of the table, (N, ratios, 3)
    ratio = (sigma / (2 * n.log()).sqrt()).clamp(max=RATIOS[-1].item())
    j = torch.searchsorted(ratios, ratio, right=True).clamp(max=len(RATIOS) - 1) - 1
    across = ((ratio - ratios[j]) / (ratios[j + 1] - ratios[j])).unsqueeze(-1)
    near = table[i, j] * (1 - across) + table[i, j + 1] * across
    far = table[i + 1, j] * (1 - across) + table[i + 1, j + 1] * across
    entropy, log_squares, tail = (near * (1 - along) + far * along).unbind(-1)
    return entropy, log_squares.exp(), tail


@functools.cache
def _drawn(step: int) -> Tensor:
    """Entropy over ln n, the logarithm of the mean sum of squares, and the tail of normal rows of
    n = 2^(step/2) keys, (ratios, 3).
    """
    n = round(2 ** (step / 2))
    rows = sample(max(16, DRAWN // n), n, seed=step, device="cpu", dtype=torch.float64)
    rows = (rows - rows.mean(-1, keepdim=True)) / rows.std(-1, correction=0, keepdim=True)
    tail = tail_scale(rows).mean().item()
    drawn, rows = [], rows.float()  # eight digits are more than the draws themselves leave
    for ratio in RATIOS.tolist():
        weights = torch.softmax(rows * (ratio * math.sqrt(2 * math.log(n))), dim=-1)
        entropy = torch.special.entr(weights).sum(-1).mean().item() / math.log(n)
        drawn.append([entropy, weights.square().sum(-1).mean().log().item(), tail])
    return torch.tensor(drawn, dtype=torch.float64)


def tail_scale(scores: Tensor) -> Tensor:
    r"""The scale b of each row's upper tail: the mean by which its :math:`\sqrt n` largest scores
    exceed the next, which is :cite:t:`hill1975`'s estimate for the numbers :math:`e^z`.

    Args:
        scores: (..., n), -inf at hidden keys. Each row has at least 4 others.

    Returns:
        (...). Scores with exponential tails of scale b give b, whatever n.

    Example:
        >>> tail_scale(torch.tensor([3.0, 0.0, 1.0, -1.0]))  # 3 and 1 over 0
        tensor(2.)
    """
    n = (scores > -math.inf).sum(-1)
    if bool((n < 4).any()):
        raise ValueError(f"scores must have at least 4 keys in each row, got {n.min().item()}")
    top = n.double().sqrt().floor().long()
    largest = scores.topk(int(top.max().item()) + 1, dim=-1).values
    beyond = largest.gather(-1, top.unsqueeze(-1))
    excess = (largest - beyond).clamp(min=0)  # what lies below the next counts as nothing
    return excess.sum(-1) / top


def _of_vectors(query: Tensor, key: Tensor) -> dict[str, Tensor]:
    """The figures of queries and keys (B, H, n, d_k) alone, and the variance within a row that they
    would have if they were independent.
    """
    figures, covariances, seconds = {}, {}, {}
    for name, x in (("query", query), ("key", key)):
        vectors = x.transpose(0, 1).flatten(1, 2)  # (H, B n, d_k)
        mean = vectors.mean(1, keepdim=True)
        centred = vectors - mean
        covariance = centred.mT @ centred / vectors.shape[1]
        variance = covariance.diagonal(dim1=-2, dim2=-1)  # (H, d_k)
        square = mean.squeeze(1).square()
        figures[f"{name}_mean"] = square.mean(-1).sqrt()
        figures[f"{name}_variance"] = variance.mean(-1)
        figures[f"{name}_spread"] = variance.std(-1, correction=0) / variance.mean(-1)
        figures[f"{name}_shared"] = square.sum(-1) / (square + variance).sum(-1)
        figures[f"{name}_rank"] = effective_rank(covariance)
        covariances[name], seconds[name] = covariance, vectors.mT @ vectors / vectors.shape[1]
    lengths = key.norm(dim=-1).transpose(0, 1).flatten(1)  # (H, B n)
    figures["length_variation"] = lengths.std(-1, correction=0) / lengths.mean(-1)
    product = seconds["query"] @ covariances["key"]
    together = _trace(product)
    figures["score_rank"] = together.square() / _trace(product @ product)
    apart = _trace(seconds["query"]) * _trace(covariances["key"])
    figures["alignment"] = query.shape[-1] * together / apart
    figures["independent_variance"] = together
    return figures


def _trace(matrix: Tensor) -> Tensor:
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)


def _of_rows(scores: Tensor, products: Tensor, d_k: int) -> dict[str, Tensor]:
    """The figures of rows (B, H, R, n) of scores and of their undivided scores."""
    visible = scores > -math.inf
    n = visible.sum(-1).double()  # (B, H, R)
    variance = _moment(visible, scores, 2)
    sigma = variance.sqrt()
    weights = torch.softmax(scores, dim=-1)
    entropy = torch.special.entr(weights).sum(-1)
    entropy_normal, squares_normal, tail_normal = normal_rows(sigma, n)
    tail = tail_scale(scores)
    return {
        name: _mean(values)
        for name, values in {
            "sigma": sigma,
            "ratio": sigma / (2 * n.log()).sqrt(),
            "kurtosis": _moment(visible, scores, 4) / variance.square() - 3,
            "tail": tail,
            "tail_normal": tail / sigma / tail_normal,
            "largest": weights.amax(-1),
            "perplexity": entropy.exp(),
            "entropy": entropy / n.log(),
            "entropy_normal": entropy_normal,
            "squares": weights.square().sum(-1),
            "squares_normal": squares_normal,
            "squares_tail": (1 - 1 / tail).clamp(min=0),
        }.items()
    } | {"row_std": (_mean(_moment(visible, products, 2)) / d_k).sqrt()}


def _over(visible: Tensor, values: Tensor) -> Tensor:
    """The mean over the visible entries of each row."""
    return values.masked_fill(~visible, 0.0).sum(-1) / visible.sum(-1)


def _moment(visible: Tensor, values: Tensor, power: int) -> Tensor:
    """A central moment of the visible entries of each row."""
    centred = values - _over(visible, values).unsqueeze(-1)
    return _over(visible, centred**power)


def _lag(visible: Tensor, values: Tensor) -> Tensor:
    """The correlation of neighbours along a row, the mean of both taken off."""
    centred = (values - _over(visible, values).unsqueeze(-1)).masked_fill(~visible, 0.0)
    return (centred[..., 1:] * centred[..., :-1]).sum(-1) / centred.square().sum(-1)


def _mean(values: Tensor) -> Tensor:
    """The mean over passages and rows (B, H, R) of each head, (H,)."""
    return values.mean((0, 2))
