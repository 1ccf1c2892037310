"""How far a step moves the scores: the theorem of article D, and what is stored of it."""

import json
import math
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from sdpa_book.studies import optimiser_steps as steps
from sdpa_book.studies.optimiser_steps import run as making
from sdpa_book.studies.optimiser_steps.plan import (
    OPTIMISERS,
    POWERS,
    SMOOTHING,
    WIDTHS,
    load_plan,
)
from sdpa_book.studies.optimiser_steps.read import STORED
from sdpa_book.studies.optimiser_steps.run import (
    Training,
    answer,
    best_rates,
    make,
    settings,
    small_step,
    train,
)

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
    for kind, size in (("start", run.start), ("one step", run.first)):
        assert size == pytest.approx(torch.tensor(first["0.15"][kind])[place].item(), rel=1e-3)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("optimiser", EVERY)
def test_stored_steps_are_made_again(stored, optimiser, power):
    run = train(64, power, optimiser, seed=1, steps=1)
    moves = stored["moves"][optimiser][f"{power:g}"]
    tolerance = 0.05 if optimiser == "Muon" else 1e-3  # Muon computes in bfloat16
    assert run.first == pytest.approx(moves["one step"][1][WIDTHS.index(64)], rel=tolerance)
    assert run.start == pytest.approx(moves["start"][1][WIDTHS.index(64)], rel=1e-3)


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
@pytest.mark.parametrize("shape", range(3))
def test_all_scores_reach_the_theorem_from_above(stored, optimiser, shape):
    """And a stored figure is made again."""
    for power in ("0.5", "1"):
        figures = stored["many tokens"][optimiser][power][steps.SHAPES[shape]]
        ratio = torch.tensor(figures["all"]).div(torch.tensor(figures["theorem"])).mean(0)
        assert (ratio.diff() < 0).all()
        assert 1.0 <= round(ratio[-1].item(), 2) < 1.03
        assert ratio[0] > 1.6
    n, d_model = load_plan()["many tokens"].shapes[shape]
    step = small_step(64, 1.0, optimiser, seed=1, n_tokens=n, d_model=d_model)
    for name, value in step.items():
        assert value == pytest.approx(figures[name][1][steps.MANY_WIDTHS.index(64)], rel=1e-3)


def test_shapes_are_given_where_they_are_used():
    question = load_plan()["many tokens"]
    with pytest.raises(ValueError, match=r"shapes must be given for 'many tokens'.*got \(\)"):
        replace(question, shapes=())
    with pytest.raises(ValueError, match=r"for no other table.*'moves'"):
        replace(load_plan()["moves"], shapes=question.shapes)
    with pytest.raises(ValueError, match="tokens of a shape must be at least 1, got 0"):
        replace(question, shapes=((0, 4),))


def test_a_stored_hundred_steps_are_made_again(stored):
    one = replace(load_plan()["moves"], widths=(256,), seeds=1)
    moves, there = answer(one, "Adam", 1.0), stored["moves"]["Adam"]["1"]
    for kind, ((figure,),) in moves.items():
        assert figure == pytest.approx(there[kind][0][WIDTHS.index(256)], rel=0.01), kind
    assert moves.keys() == there.keys()


def test_a_stored_best_rate_is_found_again(stored):
    best = best_rates(64, 0.5, "SGD", 3)
    there = stored["rates"]["SGD"]["0.5"]
    for criterion in ("end", "mean"):
        assert best[criterion] == pytest.approx(there[criterion][0], abs=0.25)  # 2 of the grid
    given = {"rate": 10 ** best["end"][1], "seed": 1, "dtype": torch.float32}
    assert best["moved"][1] == pytest.approx(train(64, 0.5, "SGD", **given).moved, rel=1e-3)


PLAN = """
["first steps"]
question = "?"
optimisers = ["SGD"]
powers = [0.0, 0.5]
widths = [16, 64]
seeds = 2
"""


def test_a_study_goes_on_where_it_was_interrupted(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = load_plan(tmp_path / "plan.toml")
    make(tmp_path, plan)
    path = tmp_path / STORED.name
    whole = json.loads(path.read_text())
    piece = whole["first steps"]["SGD"]["0"]
    assert piece["one step"][1][1] == pytest.approx(
        train(64, 0.0, "SGD", seed=1, steps=1).first, rel=1e-4
    )
    piece["start"] = "as it was"
    del whole["first steps"]["SGD"]["0.5"]
    path.write_text(json.dumps(whole))
    make(tmp_path, plan)
    again = json.loads(path.read_text())["first steps"]["SGD"]
    assert again["0"] == piece
    assert torch.tensor(again["0.5"]["start"]).shape == (2, 2)
    with pytest.raises(ValueError, match="first steps, seeds is 2 and not 3; give another folder"):
        make(tmp_path, {"first steps": replace(plan["first steps"], seeds=3)})


def test_a_search_for_rates_goes_on_after_the_widths_that_are_done(monkeypatch, tmp_path):
    asked, question = [], replace(load_plan()["rates"], widths=(64, 256, 1024))

    def best_of(d_k, *_, **__):
        asked.append(d_k)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return {"end": [d_k], "mean": [0.0], "moved": [0.0]}

    monkeypatch.setattr(making, "best_rates", best_of)
    for interrupted in (True, False):
        with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
            answered = answer(question, "SGD", 0.5, tmp_path / "state")
    assert asked == [64, 256, 256, 1024]
    assert answered["end"] == [[64], [256], [1024]]


def test_what_is_declared_is_stored_and_made_with_these_settings(stored):
    noted, plan = stored["provenance"]["settings"], load_plan()
    here = settings(plan)
    assert {name: here[name] for name in noted.keys() & here.keys()}.items() <= noted.items()
    for name, question in plan.items():
        assert list(stored[name]) == list(question.optimisers)
        for of_optimiser in stored[name].values():
            assert list(of_optimiser) == [f"{power:g}" for power in question.powers]
            for answered in of_optimiser.values():
                if question.shapes:
                    assert answered.keys() - {"made_with"} == set(question.shape_names)
                    answered = answered[question.shape_names[-1]]
                assert {(len(x), len(x[0])) for x in answered.values()} <= {
                    (len(question.widths), question.seeds),
                    (question.seeds, len(question.widths)),
                }


def test_a_start_that_is_subtracted_is_not_there():
    """The first loss is that of scores of 0, and undivided, large scores are not unlearned."""
    plain, from_zero = (
        train(256, 0.0, "Adam", rate=1e-4, seed=0, from_zero=there) for there in (False, True)
    )
    nothing = steps.excess(torch.zeros(16, 16, dtype=torch.float64), torch.arange(16)).item()
    assert from_zero.losses[0] == pytest.approx(nothing)
    assert from_zero.losses[0] < plain.losses[0]
    assert from_zero.start == plain.start


def test_the_excess_is_least_at_the_wanted_weights():
    n, partner = 16, torch.arange(16)
    other = SMOOTHING / n
    wanted = torch.full((n, n), other).fill_diagonal_(1 - SMOOTHING + other).log().double()
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
