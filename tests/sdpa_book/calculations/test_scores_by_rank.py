"""Rows of many normal scores, of which only the largest are drawn."""

import math

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.calculations.scores_by_rank import attend, border, largest_scores
from sdpa_lib.sampling import sample


def test_a_few_keys_are_all_drawn():
    assert largest_scores(math.log(32), rows=3).shape == (3, 32)
    assert largest_scores(math.log(1024), rows=3).shape == (3, 1024)
    assert largest_scores(math.log(1025), rows=3).shape == (3, 100)


def test_the_largest_are_those_of_full_rows():
    n = 4096
    full = sample(2000, n, seed=1, device="cpu", dtype=torch.float64).topk(100).values
    drawn = largest_scores(math.log(n), rows=2000, seed=2)
    for rank in (0, 9, 99):
        error = math.hypot(full[:, rank].std(), drawn[:, rank].std()) / math.sqrt(2000)
        assert abs((full[:, rank] - drawn[:, rank]).mean().item()) < 4 * error


@pytest.mark.parametrize("sigma", [0.5, 2.0, 4.0, 8.0])
def test_entropy_and_squares_are_those_of_full_rows(sigma):
    n, rows = 4096, 2000
    p = torch.softmax(sigma * sample(rows, n, seed=3, device="cpu", dtype=torch.float64), -1)
    entropy, squares = attend(largest_scores(math.log(n), rows, seed=4), math.log(n), sigma)
    for full, ranked in ((sdpa.entropy(p), entropy), (p.square().sum(-1), squares)):
        error = math.hypot(full.std(), ranked.std()) / math.sqrt(rows)
        assert abs(full.mean() - ranked.mean()).item() < 4 * error + 0.002 * full.mean().item()


def test_a_row_that_is_drawn_in_full_is_softmax_itself():
    x = sample(5, 64, seed=5, device="cpu", dtype=torch.float64)
    sigma = torch.linspace(1, 5, 5, dtype=torch.float64).unsqueeze(-1)
    p = torch.softmax(sigma * x, -1)
    entropy, squares = attend(x, math.log(64), sigma)
    assert torch.allclose(entropy, sdpa.entropy(p))
    assert torch.allclose(squares, p.square().sum(-1))


def test_frozen_rows_come_to_the_poisson_dirichlet_limits():
    log_n = math.log(10**100)
    entropy, squares = attend(largest_scores(log_n, 5000), log_n, 2 * border(10**100))
    assert squares.mean().item() == pytest.approx(0.5, abs=0.02)
    assert entropy.mean().item() == pytest.approx(math.log(4), abs=0.06)
