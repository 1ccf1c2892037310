"""The first gradients of a layer, and the layer that learns to look something up."""

import math

import pytest
import torch
import torch.nn.functional as F

import sdpa_lib as sdpa
from sdpa_book.calculations.first_gradients import (
    D_MODEL,
    D_V,
    N_KEYS,
    layers_at_start,
    through_attention,
)
from sdpa_book.calculations.initialisation import INITIALISATIONS, keys_seen
from sdpa_book.studies import lookup
from sdpa_lib.sampling import sample


@pytest.mark.parametrize("c", [1.0, 8.0])
def test_the_way_back_is_autograds(c):
    q, k, v, a = (sample(3, 5, d, seed=d) for d in (8, 9, 4, 4))
    k = k[..., :8].clone()
    q, k = q.requires_grad_(), k.requires_grad_()
    scores = q @ k.mT
    out = torch.softmax(scores / c, -1) @ v
    expected = torch.autograd.grad(out, (scores, q, k), a)
    for ours, theirs in zip(through_attention(q, k, v, a, c)[1:], expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(("n_keys", "rho"), [(N_KEYS, 0.0), (5, 0.0), (N_KEYS, 0.9)])
def test_a_matrix_receives_what_its_queries_and_keys_do(n_keys, rho):
    """Of the first of two layers, by autograd from its matrices on."""
    figures = layers_at_start(16, 4.0, layers=2, n_keys=n_keys, correlation=rho)
    own, shared = sample(2, n_keys, D_MODEL, seed=4), sample(2, 1, D_MODEL, seed=4, stream=4)
    x = F.layer_norm((1 - rho) ** 0.5 * own + rho**0.5 * shared, (D_MODEL,))[0]
    W_Q, W_K, W_V = (
        (sample(2, D_MODEL, d, seed=4, stream=s)[0] / math.sqrt(D_MODEL)).requires_grad_()
        for s, d in ((1, 16), (2, 16), (3, D_V))
    )
    out = torch.softmax(x @ W_Q @ (x @ W_K).T / 4.0, -1) @ (x @ W_V)
    at_Q, at_K = torch.autograd.grad(out, (W_Q, W_K), sample(2, n_keys, D_V, seed=5)[0])
    torch.testing.assert_close(figures["W_Q"][0], at_Q.norm())
    torch.testing.assert_close(figures["W_K"][0], at_K.norm())
    assert figures["quieter W_Q"][0, 1] < figures["quieter W_Q"][0, 0] < figures["W_Q"][0]


def test_even_weights_have_the_loss_of_the_blend():
    W = torch.zeros_like(lookup.matrices(4)[0])
    losses = [lookup.lookup_loss(W, W, *batch, "none") for batch in lookup.draw_batches()]
    expected = (1 - 1 / lookup.KEYS) ** 2 + (lookup.KEYS - 1) / lookup.KEYS**2
    assert torch.stack(losses).mean().item() == pytest.approx(expected, rel=0.01)


def test_the_first_gradients_are_those_of_the_first_step():
    """One step of gradient descent, seen in the loss of the second batch."""
    losses = lookup.train("sqrt_d_k", 4, torch.optim.SGD, 0.5, 2)
    W_Q, W_K = lookup.matrices(4)
    first, second = lookup.draw_batches()[:2]
    loss = lookup.lookup_loss(W_Q, W_K, *first, "sqrt_d_k")
    at_Q, at_K = torch.autograd.grad(loss.sum(), (W_Q, W_K))
    torch.testing.assert_close(at_Q.flatten(1), lookup.first_gradients("sqrt_d_k", 4)[0])
    after = lookup.lookup_loss(W_Q - 0.5 * at_Q, W_K - 0.5 * at_K, *second, "sqrt_d_k")
    torch.testing.assert_close(losses[:, 1], after.double(), rtol=1e-5, atol=0)


def test_what_batches_share_is_counted_by_pairs():
    gradients = lookup.first_gradients("none", 4, lookup.BATCHES)
    products = torch.einsum("axd, bxd -> xab", gradients, gradients)
    lengths = products.diagonal(dim1=-2, dim2=-1).sqrt()
    cosines = products / (lengths[:, :, None] * lengths[:, None, :])
    first, second = torch.ones(lookup.BATCHES, lookup.BATCHES).triu(1).nonzero().T
    agreement = lookup.batches_agree("none", 4)
    torch.testing.assert_close(agreement["length"], lengths.mean(-1))
    torch.testing.assert_close(agreement["shared"].square(), products[:, first, second].mean(-1))
    torch.testing.assert_close(agreement["cosine"], cosines[:, first, second].mean(-1))
    half = lookup.BATCHES // 2
    between = products[:, :half, half:].sum((1, 2))
    within = [products[:, part, part].sum((1, 2)) for part in (slice(half), slice(half, None))]
    of_halves = between / (within[0] * within[1]).sqrt()
    torch.testing.assert_close(agreement["cosine of halves"], of_halves)


def test_queries_that_attend_to_their_key_are_counted_by_their_own_gradients(monkeypatch):
    monkeypatch.setattr("sdpa_book.studies.lookup.layer.BATCHES", 2)
    agreement = lookup.agreement_by_weight("none", 4, least=0.1)
    W_Q, W_K = lookup.matrices(4)
    batches = zip(*lookup.draw_batches(), strict=True)
    tokens, keys, values = (torch.cat(parts, 1) for parts in batches)
    n = tokens.shape[1]
    of_queries = [  # each alone in its batch
        torch.autograd.grad(
            lookup.lookup_loss(
                W_Q, W_K, *(x[:, [i]] for x in (tokens, keys, values)), "none"
            ).sum(),
            W_Q,
        )[0].flatten(1)
        for i in range(n)
    ]
    gradients = torch.stack(of_queries, 1).double()  # (8, n, WIDTH * 4)
    to_right = sdpa.attention_weights(tokens @ W_Q[:, None], keys @ W_K[:, None], rescaling="none")[
        ..., 0, 0
    ]
    attending = to_right >= 0.1
    torch.testing.assert_close(agreement["share"], attending.double().mean(-1))
    for sort, which in {
        "all": torch.ones_like(attending),
        "attending": attending,
        "others": ~attending,
    }.items():
        for layer, of in enumerate(which):
            products = gradients[layer][of] @ gradients[layer][of].T
            pairs = (products.sum() - products.trace()) / (len(products) * (len(products) - 1))
            square = products.diagonal().mean() / 32 + (1 - 1 / 32) * pairs
            torch.testing.assert_close(agreement[sort][layer], pairs / square, rtol=1e-4, atol=1e-6)


def test_smaller_weights_see_more_keys():
    seen = [[keys.value for keys in keys_seen(rule, layers=2)] for rule in INITIALISATIONS]
    for column in zip(*seen, strict=True):
        assert list(column) == sorted(column)
    assert all(1 < undivided < divided < 32 for undivided, divided in seen)
