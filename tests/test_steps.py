"""How far a step moves the scores: the theorem of chapter 13, and what is stored of it."""

import math

import pytest
import torch

from sdpa_book.studies import optimiser_steps as steps
from sdpa_book.studies.optimiser_steps import OPTIMISERS, POWERS, WIDTHS, Training, train

needs_muon = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch before 2.9")
EVERY = [pytest.param(name, marks=needs_muon if name == "Muon" else ()) for name in OPTIMISERS]


@pytest.fixture(scope="module")
def stored():
    return steps.load_steps()


def change(optimiser, power, d_k, rate, seed=0, d_model=steps.D_MODEL):
    """What one step does to the scores, and what the theorem says."""
    problem = steps.make_problem(d_k, seed, d_model=d_model)
    limit = steps.first_step(problem, power, optimiser, rate)
    before = steps.scores(problem, power)
    steps.excess(before, problem.partner).backward()
    OPTIMISERS[optimiser].make([problem.w_q, problem.w_k], rate).step()
    return (steps.scores(problem, power) - before).detach(), limit


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize(
    ("optimiser", "error"),
    [
        ("SGD", 0.1),
        ("momentum", 0.1),
        ("Adam", 0.1),
        # its iteration gives singular values between 0.7 and 1.2, not 1
        pytest.param("Muon", 0.3, marks=needs_muon),
    ],
)
def test_the_first_step_of_a_wide_head_is_the_theorems(optimiser, error, power):
    """Entry by entry. A small rate leaves out the term of second order."""
    moved, limit = change(optimiser, power, 4096, 1e-6)
    assert (moved - limit).norm() < error * limit.norm()
    assert limit.norm() > 0


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
def test_a_head_no_wider_than_the_model_follows_it(optimiser):
    moved, limit = change(optimiser, 0.5, 1024, 1e-6, d_model=1024)
    assert (moved - limit).norm() < 0.2 * limit.norm()


def test_the_distance_from_the_limit_falls_like_the_root_of_the_width():
    def distance(d_k):
        pairs = [change("SGD", 0.5, d_k, 1e-6, seed) for seed in range(4)]
        return sum((moved - limit).norm() / limit.norm() for moved, limit in pairs)

    assert 2.0 < distance(256) / distance(4096) < 8.0  # 4 is the root of 16


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_stored_exponents_are_the_theorems(stored, optimiser, power):
    moves = stored["moves"][optimiser][f"{power:g}"]
    assert abs(steps.exponent(WIDTHS, moves["start"]).value - (0.5 - power)) < 0.05
    first = steps.exponent(WIDTHS, moves["one step"])
    assert abs(first.value - OPTIMISERS[optimiser].step(power)) < 0.1


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
def test_first_steps_at_more_powers_are_made_again(stored, optimiser):
    first = stored["first steps"][optimiser]
    assert list(first) == [f"{power:g}" for power in steps.FIRST_POWERS]
    for power in POWERS:
        moves = stored["moves"][optimiser][f"{power:g}"]
        assert first[f"{power:g}"] == {kind: moves[kind] for kind in ("start", "one step")}
    run = train(64, 0.15, optimiser, seed=1, steps=1)
    place = 1, WIDTHS.index(64)
    for kind, made in (("start", run.start), ("one step", run.first)):
        assert made == pytest.approx(torch.tensor(first["0.15"][kind])[place].item(), rel=1e-3)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("optimiser", EVERY)
def test_stored_steps_are_made_again(stored, optimiser, power):
    run = train(64, power, optimiser, seed=1, steps=1)
    moves = stored["moves"][optimiser][f"{power:g}"]
    tolerance = 0.05 if optimiser == "Muon" else 1e-3  # Muon computes in bfloat16
    assert run.first == pytest.approx(moves["one step"][1][WIDTHS.index(64)], rel=tolerance)
    assert run.start == pytest.approx(moves["start"][1][WIDTHS.index(64)], rel=1e-3)


def test_a_stored_hundred_steps_are_made_again(stored):
    moves = stored["moves"]["Adam"]["1"]
    run = train(256, 1.0, "Adam", seed=0)
    assert run.last == pytest.approx(moves["steps"][0][WIDTHS.index(256)], rel=0.01)
    small = train(256, 1.0, "Adam", rate=OPTIMISERS["Adam"].rate / steps.STEPS, seed=0)
    assert small.last == pytest.approx(moves["small steps"][0][WIDTHS.index(256)], rel=0.01)


def test_a_stored_best_rate_is_found_again(stored):
    best = steps.best_rates(64, 0.5, "SGD")
    for criterion, rates in best.items():
        assert len(rates) == steps.RATE_SEEDS
        there = stored["rates"]["SGD"]["0.5"][criterion][0]
        assert rates == pytest.approx(there, abs=0.25)  # two places of the grid


def test_a_start_that_is_subtracted_is_not_there():
    """The first loss is that of scores of 0, and undivided, large scores are not unlearned."""
    plain, from_zero = (
        train(256, 0.0, "Adam", rate=1e-4, seed=0, from_zero=there) for there in (False, True)
    )
    nothing = steps.excess(torch.zeros(16, 16, dtype=torch.float64), torch.arange(16)).item()
    assert from_zero.losses[0] == pytest.approx(nothing)
    assert from_zero.losses[0] < plain.losses[0]
    assert from_zero.start == plain.start


def test_how_far_the_stored_matrices_moved_is_found_again(stored):
    for kind, from_zero in (("rates", False), ("rates from zero", True)):
        there = stored[kind]["Adafactor"]["0.5"]
        rate, moved = 10 ** there["end"][1][0], there["moved"][1][0]
        width = steps.RATE_WIDTHS[1]
        run = train(width, 0.5, "Adafactor", rate=rate, seed=0, from_zero=from_zero)
        assert run.moved == pytest.approx(moved, rel=0.1)


def test_what_is_stored_was_made_with_these_settings(stored):
    assert stored["provenance"]["settings"] == steps.provenance()["settings"]
    assert {"torch", "numpy", "python"} <= stored["provenance"]["versions"].keys()


def test_the_excess_is_least_at_the_wanted_weights():
    n, partner = 16, torch.arange(16)
    other = steps.SMOOTHING / n
    wanted = torch.full((n, n), other).fill_diagonal_(1 - steps.SMOOTHING + other).log().double()
    assert steps.excess(wanted, partner).item() == pytest.approx(0.0, abs=1e-6)
    assert steps.excess(1.2 * wanted, partner) > 0.001
    assert steps.excess(torch.zeros(n, n), partner).item() == pytest.approx(
        math.log(n) + (wanted[0].exp() * wanted[0]).sum().item(), abs=1e-6
    )


def test_a_training_that_blows_up_is_the_worst():
    losses = [1.0] * 50 + [math.nan]
    assert Training(1.0, 1.0, 1.0, 1.0, losses).loss("end") == math.inf
    calm = Training(1.0, 1.0, 1.0, 1.0, [2.0] * 81 + [1.0] * 20)
    assert calm.loss("end") == 1.0
    assert 1.0 < calm.loss("mean") < 2.0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="optimiser"):
        train(16, 0.5, "Adm", seed=0)
    with pytest.raises(ValueError, match="rate"):
        train(16, 0.5, "Adam", rate=0.0, seed=0)
    with pytest.raises(ValueError, match="steps"):
        train(16, 0.5, "Adam", seed=0, steps=0)
    with pytest.raises(ValueError, match="optimiser must be SGD"):
        steps.first_step(steps.make_problem(16, 0), 0.5, "Adafactor", 0.1)
