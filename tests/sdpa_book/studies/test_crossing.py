"""Divisor, start and warm-up crossed: what is declared, what is stored, and its measures."""

import json
import math
from dataclasses import replace

import pytest
import torch

from sdpa_book.calculations.initialisation import STARTS
from sdpa_book.studies import crossing
from sdpa_book.studies.crossing.read import Group
from sdpa_book.studies.tasks import CHOOSING
from sdpa_book.studies.training.plan import Record, Run, next_jobs
from sdpa_book.studies.training.read import load_study, reported
from sdpa_book.studies.training.run import make_model, provenance, train

PLAN = crossing.load_plan()
RECORDS = crossing.load_crossing()


def test_the_parts_cross_divisors_starts_and_warm_ups():
    crossed = {
        (c.cell.d_k, c.cell.start, c.cell.warm_up, c.rates, scaling)
        for c in PLAN.values()
        if c.cell.task == "recall 8"
        for scaling in c.scalings
        if not scaling.startswith("sigma")
    }
    assert len(crossed) == 2 * len(STARTS) * 3 * 2 * 3
    for comparison in PLAN.values():
        assert (comparison.reporting, comparison.cell.every, comparison.cell.stay) == (5, 5, 100)


def test_what_is_stored_is_whole_and_made_with_these_settings():
    for there in load_study(crossing.read.STORED)[0]:
        here = json.loads(json.dumps(provenance(torch.device("cpu"))))
        assert there["settings"] == here["settings"]
    assert len({r.run for r in RECORDS}) == len(RECORDS)
    assert not next_jobs(RECORDS, list(PLAN.values()))


def test_stored_runs_begin_as_they_do_here():
    for comparison in list(PLAN.values())[:4]:
        stored = reported(RECORDS, comparison)["sqrt_d_k"][1]
        again = train(stored.run, until=20, device="cpu")
        for name in ("loss", "score_std"):
            assert again.curves[name][:2] == pytest.approx(stored.curves[name][:2], rel=2e-3)


def test_spreads_that_are_said_to_be_alike_are():
    """A divisor of 3 gives the first start the scores of nn.Linear's."""
    names = "heads of 64, warm-up 20, ", "heads of 64, spread of "
    for start, other in (("nn.Linear", "1/inputs"), ("1/inputs", "nn.Linear")):
        ours, theirs = PLAN[f"{names[1]}{start}, {other}"], PLAN[f"{names[0]}{start}"]
        x = torch.randn(4, 16, 64, generator=torch.Generator().manual_seed(0))
        scores = [
            make_model(Run(c.cell, s, -2.0, 0)).blocks[0].attention.scores(x)
            for c, s in ((ours, ours.scalings[0]), (theirs, "none"))
        ]
        torch.testing.assert_close(*scores, rtol=1e-4, atol=1e-4)


def group(sigma, time, scaling="none", **cell):
    any_cell = replace(next(iter(PLAN.values())).cell, **cell)
    return Group(any_cell, scaling, -2.0, sigma, time, [])


def test_the_rank_correlation_by_hand():
    """Ranks 1 to 4 and 1, 2.5, 2.5, 4, whose squares of differences sum to 1/2."""
    some = [group(1.0, 20), group(2.0, 40), group(4.0, 40), group(8.0, math.inf)]
    assert crossing.rank_correlation(some) == pytest.approx(4.5 / math.sqrt(5 * 4.5))
    assert crossing.rank_correlation([some[0], some[3]]) == pytest.approx(1.0)
    assert math.isnan(crossing.rank_correlation(some[1:3]))


def test_the_widest_gap_is_one_of_like_spreads_in_one_setting():
    some = [
        group(1.0, 42.5),
        group(1.4, 82.5, "d_k"),
        group(2.0, 402.5, "d_k"),  # within 1.5 of its own divisor alone
        group(1.0, 800, "d_k", warm_up=0),
        group(1.0, 800, "d_k", task="recall 32"),
    ]
    gap = crossing.widest_gap(some, same_divisor=False)
    assert (gap.times, gap.sooner, gap.later) == (2.0, some[0], some[1])
    assert crossing.widest_gap(some, same_divisor=True).times == 5.0
    assert crossing.widest_gap(some[:1], same_divisor=True) is None
    late = [group(1.0, math.inf), group(1.0, math.inf, "d_k")]
    assert crossing.widest_gap(late, same_divisor=False) is None
    late[0] = some[0]
    assert crossing.widest_gap(late, same_divisor=False).times == math.inf


def test_groups_are_whole_and_of_the_rates_that_are_asked_for():
    comparison = PLAN["heads of 64, warm-up 20, xavier"]
    plain = {"loss": 1.0, "accuracy": 1.0, "worst_loss": 1.0, "worst_gradient": 1.0, "finite": True}

    def record(rate, seed, time):
        run = Run(comparison.cell, "none", rate, seed)
        curves = {"score_std": [seed + 1.0]}
        return Record(run, time, 1000, 0, **plain, curves=curves)

    chose = [record(rate, CHOOSING + i, 50) for rate in (-3.0, -2.0, -1.5) for i in (0, 1)]
    chose += [record(-2.5, CHOOSING + i, 20) for i in (0, 1)]
    report = [record(-2.5, seed, time) for seed, time in enumerate((20, 30, 40, None, None))]
    (one_group,) = crossing.groups([*chose, *report], PLAN, one_rate=False)
    assert one_group[1:5] == ("none", -2.5, 3.0, 40)
    label = "recall 8, heads of 64, warm-up 20, xavier, undivided: spread 3, rate 10^-2.5, step 40"
    assert str(one_group) == f"{label} (3 of 5 learned)"
    assert crossing.groups([*chose, *report[:4]], PLAN, one_rate=False) == []
    assert crossing.groups([*chose, *report], PLAN, one_rate=True) == []
