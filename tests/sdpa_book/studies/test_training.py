"""The training study: its model, tasks, plan and statistics, and that what is stored comes out
again.
"""

import itertools
import json
import math
import threading
import time
from dataclasses import replace

import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sdpa_book.studies import resuming
from sdpa_book.studies.tasks import CHOOSING, TASKS, Digits, LongRecall, Recall
from sdpa_book.studies.training import read
from sdpa_book.studies.training import run as making
from sdpa_book.studies.training.censoring import (
    holm,
    log_rank,
    median_time,
    ratio_of_ratios,
    step_down,
    survival,
    times_as_long,
)
from sdpa_book.studies.training.plan import (
    Cell,
    Comparison,
    Record,
    Run,
    best_rate,
    by_scaling,
    curve_steps,
    load_plan,
    next_jobs,
)
from sdpa_book.studies.training.read import STORED, contrasts, load_study, reported
from sdpa_book.studies.training.run import loss_on, make, make_model, provenance, train
from sdpa_book.studies.transformer import BRANCHES, SCALINGS, Transformer

SMALL = Cell("recall 8", d_k=4, d_model=8, n_heads=1, n_layers=1, budget=40)
TINY = Comparison(
    "tiny",
    "?",
    replace(SMALL, budget=10),
    ("none", "sqrt_d_k", "d_k"),
    rates=(-3.0, -2.5),
    reporting=2,
)
PLAN = {"tiny": TINY, "again": replace(TINY, name="again")}  # they share their runs
DECLARED = load_plan()


@pytest.fixture(scope="module")
def stored():
    return load_study()[1]


def record(learned_at=None, *, rate=-2.5, seed=0, scaling="none", cell=SMALL, until=4000, **other):
    plain = {"steps": 0, "loss": 1.0, "accuracy": 0.0, "worst_loss": 1.0, "worst_gradient": 1.0}
    run = Run(cell, scaling, rate, seed)
    return Record(run, learned_at, until, **plain | {"finite": True} | other)


# The model


def attention_by_hand(module, x, scores):
    """One head after the other, from the module's matrices."""
    heads, outputs = module.n_heads, []
    for h in range(heads):
        q, k, v = (
            x
            if isinstance(matrix, torch.nn.Identity)
            else x @ matrix.weight.view(heads, -1, x.shape[-1])[h].T
            for matrix in (module.query, module.key, module.value)
        )
        outputs.append(torch.softmax(scores(q, k, h), -1) @ v)
    return torch.cat(outputs, -1) @ module.output.weight.T


@pytest.mark.parametrize(
    ("scaling", "scores"),
    [
        ("sqrt_d_k", lambda q, k, h, m: q @ k.mT / 4),
        ("sigma 2", lambda q, k, h, m: q @ k.mT / 2),
        ("k_total", lambda q, k, h, m: q @ k.mT / k.norm(dim=-1).sum(-1)[:, None, None]),
        ("learned", lambda q, k, h, m: 1.5 * q @ k.mT / 4),
        ("log_n", lambda q, k, h, m: 1.5 * q @ k.mT / 4),
        (
            "qk_norm",
            lambda q, k, h, m: (
                1.5 * 4 * torch.nn.functional.cosine_similarity(q[:, :, None], k[:, None], dim=-1)
            ),
        ),
        ("t5_start", lambda q, k, h, m: q @ k.mT),
        ("general", lambda q, k, h, m: q @ k.mT),
        (
            "additive",
            lambda q, k, h, m: (torch.tanh(q[:, :, None] + k[:, None]) * m.direction[h]).sum(-1),
        ),
    ],
)
def test_attention_against_one_head_at_a_time(scaling, scores):
    model = make_model(Run(Cell("recall 8", 16, 32), scaling, -2.0, 0))
    module = model.blocks[0].attention
    if module.log_scale is not None:
        module.log_scale.data += math.log(1.5)
    x = torch.randn(2, TASKS["recall 8"].n_tokens, 32, generator=torch.Generator().manual_seed(0))
    by_hand = attention_by_hand(module, x, lambda q, k, h: scores(q, k, h, module))
    torch.testing.assert_close(module(x), by_hand, rtol=1e-4, atol=1e-5)


def test_scalings_share_their_start():
    cell = Cell("recall 8", 16, 32)
    models = {scaling: make_model(Run(cell, scaling, -2.0, 3)) for scaling in SCALINGS}
    usual = models["sqrt_d_k"].state_dict()
    for scaling, model in models.items():
        if scaling in ("general", "additive"):  # they have other parameters
            continue
        for name, parameter in model.state_dict().items():
            if name.endswith("log_scale"):
                continue
            factor = 4.0 if scaling == "t5_start" and "query" in name else 1.0
            torch.testing.assert_close(factor * parameter, usual[name])
    x = TASKS["recall 8"].batch(0, 0)[0]
    for scaling in ("learned", "log_n", "t5_start", "sigma 1"):
        other = make_model(Run(cell, scaling, -2.0, 3))
        torch.testing.assert_close(other(*x), models["sqrt_d_k"](*x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("scaling", "low", "high"),
    [
        ("sqrt_d_k", 0.85, 1.1),
        ("general", 0.85, 1.1),
        ("additive", 0.4, 1.1),
        ("sigma 4", 3.4, 4.4),
    ],
)
def test_fresh_scores_have_the_spread_that_is_said(scaling, low, high):
    torch.manual_seed(0)
    model = Transformer(Recall(32).embedding(32), 40, 16, d_model=32, d_k=64, scaling=scaling)
    attention = model.blocks[0].attention
    spread = attention.scores(torch.randn(50, 40, 32)).std(-1).mean().item()
    assert low < spread < high


def test_normalisation_after_the_sum():
    model = make_model(Run(replace(SMALL, norm="post"), "sqrt_d_k", -2.0, 0))
    block = model.blocks[0]
    x = torch.randn(2, 16, 8, generator=torch.Generator().manual_seed(0))
    y = block.norm_1(x + block.attention(x))
    torch.testing.assert_close(block(x), block.norm_2(y + block.perceptron(y)))
    assert torch.equal(block.attended(x), x)
    inputs = TASKS["recall 8"].batch(0, 0)[0]
    embedded = model.norm(model.embedding(*inputs))
    torch.testing.assert_close(model(*inputs), model.read_out(block(embedded)))


@pytest.mark.parametrize(
    ("start", "variances"),
    [
        ("1/inputs", (1 / 64, 1 / 64, 1 / 256)),
        ("nn.Linear", (1 / 192, 1 / 192, 1 / 768)),
        ("xavier", (2 / 576, 2 / 320, 2 / 320)),
        ("0.02", (0.0004, 0.0004, 0.0004)),
    ],
)
def test_a_start_scales_every_matrix_and_leaves_the_embedding(start, variances):
    """Two heads of 256 make W_Q 512 by 64, and the perceptron goes from 64 to 256 and back."""
    cell = Cell("recall 8", 256)
    usual, model = (make_model(Run(c, "none", -2.0, 0)) for c in (cell, replace(cell, start=start)))
    block = model.blocks[0]
    matrices = block.attention.query, block.perceptron[0], block.perceptron[2]
    for matrix, variance in zip(matrices, variances, strict=True):
        assert matrix.weight.var().item() == pytest.approx(variance, rel=0.05)
        assert matrix.bias is None or not matrix.bias.any()
    for name, parameter in model.embedding.named_parameters():
        assert torch.equal(parameter, usual.embedding.get_parameter(name))
    factor = (variances[0] * 64) ** 0.5
    query = usual.blocks[0].attention.query.weight
    torch.testing.assert_close(block.attention.query.weight, factor * query)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_shrunk_branches_add_less_and_leave_the_first_scores(norm):
    """In a model of four blocks each branch adds a half of its output."""
    cell = replace(SMALL, norm=norm, n_layers=4)
    usual, shrunk = (
        make_model(Run(replace(cell, branch=branch), "none", -2.0, 0)) for branch in BRANCHES
    )
    x = usual.embedded(*TASKS["recall 8"].batch(0, 0)[0])
    block, other = usual.blocks[0], shrunk.blocks[0]
    assert torch.equal(
        block.attention.scores(block.attended(x)), other.attention.scores(other.attended(x))
    )
    for each, factor in ((block, 1.0), (other, 0.5)):
        y = x + factor * each.attention(each.attended(x))
        if norm == "pre":
            by_hand = y + factor * each.perceptron(each.norm_2(y))
        else:
            y = each.norm_1(y)
            by_hand = each.norm_2(y + factor * each.perceptron(y))
        torch.testing.assert_close(each(x), by_hand)


# The tasks


def test_digits_are_images_cut_into_patches():
    from sklearn.datasets import load_digits

    images = load_digits().images
    (held_out,), answers = Digits().held_out(3)
    assert len(set(answers.tolist())) == 10
    inside = {tuple(image.ravel()) for image in images}
    scale = (held_out.max() - held_out.min()) / 16  # pixels go from 0 to 16
    pixels = ((held_out[7] - held_out.min()) / scale).round()
    pixels = pixels.view(4, 4, 2, 2).transpose(1, 2).reshape(8, 8)
    assert tuple(pixels.double().flatten().tolist()) in inside


def test_five_seeds_hold_out_every_image_once_and_no_rate_is_chosen_by_what_reports():
    task = Digits()
    held_out = [set(task.places(seed)[1].tolist()) for seed in range(5)]
    assert sorted(image for fold in held_out for image in fold) == list(range(1797))
    for seed in range(10):
        training, measured = (set(part.tolist()) for part in task.places(seed))
        assert training == set(range(1797)) - measured
        training, chosen_on = (set(part.tolist()) for part in task.places(CHOOSING + seed))
        assert not training & chosen_on
        assert not measured & (training | chosen_on)


@pytest.mark.parametrize("name", TASKS)
def test_batches_belong_to_a_seed_and_a_step(name):
    task = TASKS[name]
    (first, *_), answers = task.batch(1, 5)
    assert torch.equal(first, task.batch(1, 5)[0][0])
    assert not torch.equal(first, task.batch(1, 9)[0][0])
    assert not torch.equal(first, task.batch(2, 5)[0][0])
    assert len(first) == task.batch_size
    assert answers.max() < task.n_classes
    held_out = task.held_out(1)[0][0]
    assert held_out.shape[1:] == task.batch(1, 3)[0][0].shape[1:]
    assert not torch.equal(held_out, task.held_out(2)[0][0])


def test_long_recall_trains_on_its_lengths_in_turn():
    lengths = [LongRecall().batch(0, step)[0][1].shape[1] - 8 for step in (0, 1, 3, 4)]
    assert lengths == [8, 16, 64, 8]


@pytest.mark.parametrize("task", [Recall(32), LongRecall((32,))])
def test_recall_can_be_answered_by_looking_up_and_only_so(task):
    (names, values), answers = task.held_out(0)
    if names.dim() == 3:
        names = names[..., 0]  # a component says which name it is
    looked_up = [
        [
            next(v for n, v in zip(row[:32], row_values[:32], strict=True) if n == asked)
            for asked in row[32:]
        ]
        for row, row_values in zip(names.tolist(), values.tolist(), strict=True)
    ]
    assert looked_up == answers.tolist()
    assert all(len(set(row[:32])) == 32 for row in names.tolist())
    assert (values[:, 32:] == task.n_classes).all()
    counts = torch.nn.functional.one_hot(values[:, :32], 16).sum(
        1
    )  # what even attention gives: how often each value occurs
    guess = counts.argmax(-1, keepdim=True) == answers
    assert guess.float().mean() < 0.25


# One run


def run_with(monkeypatch, accuracies, *, until=None, budget=1000, **cell):
    """A run whose measurements give these accuracies, one every 20 steps."""
    values = iter(accuracies)
    monkeypatch.setattr(making, "measure", lambda *_: (1.0, next(values)))
    return train(
        Run(replace(SMALL, budget=budget, **cell), "none", -3.0, 0), until=until, device="cpu"
    )


def test_the_time_to_learn_counts_from_where_it_stays(monkeypatch):
    run = run_with(monkeypatch, [0.1, 0.95, 0.5, *[0.9] * 20])
    assert (run.learned_at, run.steps, run.time) == (60, 260, 60)


def test_a_run_that_falls_back_is_censored(monkeypatch):
    run = run_with(monkeypatch, [0.1, *[0.95] * 10, 0.5, *[0.1] * 50], budget=300)
    assert (run.learned_at, run.censored_at, run.steps, run.time) == (None, 300, 300, 300)


def test_a_run_is_censored_where_it_is_given_up_unless_it_is_there(monkeypatch):
    late = run_with(monkeypatch, [0.1] * 5 + [1.0] * 20, until=80)
    assert (late.learned_at, late.censored_at, late.steps) == (None, 80, 80)
    there = run_with(monkeypatch, [0.1] * 4 + [1.0] * 20, until=80)
    assert (there.learned_at, there.censored_at, there.steps) == (80, 80, 280)


def test_a_whole_run_goes_on_to_its_budget_and_still_says_when_it_learned(monkeypatch):
    run = run_with(monkeypatch, [0.1, *[1.0] * 30], budget=400, whole=True)
    assert (run.learned_at, run.steps) == (20, 400)
    given_up = run_with(monkeypatch, [0.1] * 30, until=80, budget=400, whole=True)
    assert (given_up.learned_at, given_up.censored_at, given_up.steps) == (None, 80, 80)


def test_runs_that_report_keep_their_course_and_those_that_choose_do_not():
    run = train(Run(SMALL, "sqrt_d_k", -3.0, 0), device="cpu")
    assert run.curves["step"] == [0, 20, 40] == list(curve_steps(40))
    assert {len(values) for values in run.curves.values()} == {3}
    assert 0 < run.curves["entropy"][0] <= 1
    assert train(Run(SMALL, "sqrt_d_k", -3.0, CHOOSING), device="cpu").curves == {}


def test_a_blow_up_is_flagged_whenever_it_happens():
    run = train(Run(replace(SMALL, optimiser="sgd"), "none", 6.0, 0), device="cpu")
    assert run.blew_up
    assert not run.finite
    assert run.time == 40
    assert not record(60).blew_up
    assert record(60, worst_loss=2.1).blew_up
    assert record(60, worst_gradient=1001.0).blew_up


def test_clipping_and_rates_of_their_own_do_something():
    usual, clipped, apart, momentum = (
        train(Run(replace(SMALL, optimiser="sgd", **options), "none", 0.0, 0), device="cpu")
        for options in ({}, {"clip": 1e-3}, {"other_rate": -9.0}, {})
    )
    assert usual == momentum  # runs repeat
    assert clipped.loss == pytest.approx(clipped.curves["loss"][0], rel=1e-2)
    assert usual.loss < clipped.loss - 0.01
    assert apart.loss == pytest.approx(apart.curves["loss"][0], rel=0.05)
    quick = train(Run(replace(SMALL, optimiser="momentum"), "none", -1.0, 0), device="cpu")
    slow = train(Run(replace(SMALL, optimiser="sgd"), "none", -1.0, 0), device="cpu")
    assert quick.loss != slow.loss


def test_looks_and_how_long_to_stay_are_the_cells(monkeypatch):
    values = iter([0.1, 0.1, 0.1, 0.95, *[0.9] * 20])
    monkeypatch.setattr(making, "measure", lambda *_: (1.0, next(values)))
    cell = replace(SMALL, budget=100, every=5, stay=30)
    run = train(Run(cell, "none", -3.0, 0), device="cpu")
    assert (run.learned_at, run.steps, run.curves["step"]) == (15, 45, [0, 20, 40])


def test_a_batch_is_as_large_as_the_cell_says(monkeypatch):
    sizes = []

    def seen(task, *rest):
        sizes.append(len(rest[-1]))  # the answers
        return loss_on(task, *rest)

    monkeypatch.setattr(making, "loss_on", seen)
    for batch in (None, 5):
        train(Run(replace(SMALL, batch=batch), "none", -3.0, 0), until=0, device="cpu")
    assert sizes == [TASKS[SMALL.task].batch_size, 5]


@pytest.mark.parametrize(("warm_up", "shares"), [(0, [1, 1, 1]), (4, [1 / 4, 2 / 4, 3 / 4])])
def test_the_rate_rises_over_the_warm_up(warm_up, shares):
    """A step of gradient descent is as long as its rate."""
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([{"params": [weight], "full": 2.0}], lr=0.0)
    weight.grad, places = torch.ones(1), [0.0]
    for step in range(3):
        making.take_step(optimiser, step, warm_up)
        places.append(-weight.item())
    assert [b - a for a, b in itertools.pairwise(places)] == [2 * s for s in shares]


def test_a_longer_warm_up_makes_other_first_steps():
    quick, usual, slow = (
        train(Run(replace(SMALL, warm_up=warm_up), "none", -2.0, 0), device="cpu").curves["loss"]
        for warm_up in (0, 20, 200)
    )
    assert quick[0] == usual[0] == slow[0]
    assert quick[1] < usual[1] < slow[1] < slow[0]


@pytest.mark.parametrize("step", [1, 23, 38])
@pytest.mark.parametrize("optimiser", ["adam", "momentum"])
def test_an_interrupted_run_goes_on_bit_by_bit(monkeypatch, tmp_path, optimiser, step):
    monkeypatch.setattr(resuming, "SAVE_EVERY", 0.0)
    run, steps = Run(replace(SMALL, optimiser=optimiser), "learned", -2.0, 0), []

    def take_step(optimiser, number, warm_up):
        if number == interrupted:
            raise KeyboardInterrupt
        steps.append(number)
        making.take_step.before(optimiser, number, warm_up)

    take_step.before = making.take_step
    monkeypatch.setattr(making, "take_step", take_step)
    interrupted = None
    whole = train(run, device="cpu", checkpoint=tmp_path / "whole")
    interrupted = step
    with pytest.raises(KeyboardInterrupt):
        train(run, device="cpu", checkpoint=tmp_path / "parts")
    interrupted = None
    again = train(run, device="cpu", checkpoint=tmp_path / "parts")
    assert steps == [*range(40), *range(40)]  # none is made twice
    assert again == whole
    ours, theirs = (torch.load(tmp_path / name) for name in ("parts", "whole"))
    for name, there in theirs["model"].items():
        assert torch.equal(ours["model"][name], there)
    for number, there in theirs["optimiser"]["state"].items():
        for name, value in there.items():
            assert torch.equal(ours["optimiser"]["state"][number][name], value)


# The plan

FIVE = Comparison(
    "five",
    "?",
    replace(SMALL, budget=400),
    ("none",),
    rates=(-4.0, -3.5, -3.0, -2.5, -2.0),
    limits=(-5.0, -1.0),
    reporting=3,
)


def carried_out(comparison, time_of):
    """The records of a plan carried out, with the times to learn that a function gives, and the
    number of steps they took.
    """
    records = []
    for _ in range(1000):
        jobs = next_jobs(records, [comparison])
        if not jobs:
            return records
        for run, until in jobs:
            true = time_of(run.rate, run.seed)
            learned = true if true <= until else None
            records.append(
                record(
                    learned,
                    rate=run.rate,
                    seed=run.seed,
                    until=until,
                    cell=run.cell,
                    loss=abs(run.rate),
                )
            )
    raise AssertionError("the plan has no end")


def test_a_sweep_starts_in_the_middle_and_gives_up_what_cannot_win():
    assert [(j.run.rate, j.run.seed, j.until) for j in next_jobs([], [FIVE])] == [
        (-3.0, CHOOSING, 400),
        (-3.0, CHOOSING + 1, 400),
    ]
    records = carried_out(FIVE, lambda rate, seed: 100 + 40 * round(abs(rate + 3) * 2))
    until = {r.run.rate: r.censored_at for r in records if r.run.chooses}
    assert until == {-3.0: 400, -3.5: 200, -2.5: 200, -4.0: 200, -2.0: 200}
    assert {(r.run.rate, r.run.seed, r.censored_at) for r in records if not r.run.chooses} == {
        (-3.0, seed, 400) for seed in range(3)
    }


def test_a_sweep_goes_on_beyond_its_edges_up_to_its_limits():
    rising = carried_out(FIVE, lambda rate, seed: round(-rate * 40))
    assert {r.run.rate for r in rising} == {-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0}
    assert {r.run.rate for r in rising if not r.run.chooses} == {-1.0}
    further = replace(FIVE, limits=(-5.0, 1.0))
    assert (
        max(r.run.rate for r in carried_out(further, lambda rate, seed: round(100 - rate * 40)))
        == 1.0
    )
    inside = carried_out(FIVE, lambda rate, seed: round(abs(rate + 4) * 40) + 20)
    assert min(r.run.rate for r in inside) == -4.5
    assert best_rate(FIVE, by_scaling(inside, FIVE.cell)["none"]) == -4.0


def test_where_nothing_learns_the_lowest_loss_chooses():
    records = carried_out(FIVE, lambda rate, seed: 9999)  # losses here are lowest at high rates
    assert {r.run.rate for r in records if not r.run.chooses} == {-1.0}
    late, censored = [record(400)] * 2, [record(None, until=400)] * 2  # which took longer
    rates = {rate: dict(enumerate(late, CHOOSING)) for rate in (-4.0, -3.5, -3.0)}
    rates |= {rate: dict(enumerate(censored, CHOOSING)) for rate in (-5.0, -4.5, -2.5, -2.0)}
    assert best_rate(FIVE, rates) == -4.0


@given(
    times=st.lists(st.integers(1, 30).map(lambda x: 20 * x), min_size=18, max_size=18),
)
@settings(max_examples=200, deadline=None)
def test_giving_up_early_changes_no_choice(times):
    rates = [-5.0 + 0.5 * i for i in range(9)]
    table = {(rate, CHOOSING + s): times[2 * i + s] for i, rate in enumerate(rates) for s in (0, 1)}
    raced = carried_out(FIVE, lambda rate, seed: table.get((rate, seed), 20))
    tried = {r.run.rate for r in raced}
    sums = {rate: sum(min(400, table[rate, CHOOSING + s]) for s in (0, 1)) for rate in tried}
    chosen = best_rate(FIVE, by_scaling(raced, FIVE.cell)["none"])
    assert sums[chosen] == min(sums.values())


def test_folds_choose_their_rates_by_themselves():
    cell = replace(SMALL, task="digits", budget=400)
    comparison = replace(FIVE, cell=cell, choosing=1, reporting=10)
    favourite = {0: -4.0, 1: -3.5, 2: -3.0, 3: -2.5, 4: -2.0}
    records = carried_out(comparison, lambda rate, seed: 20 if rate == favourite[seed % 5] else 100)
    chosen = {r.run.seed: r.run.rate for r in records if not r.run.chooses}
    assert chosen == {seed: favourite[seed % 5] for seed in range(10)}
    runs = reported(records, comparison)["none"]
    assert [r.run.seed for r in runs] == list(range(10))


# The file


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The lines of a whole study, as one process makes it."""
    out = tmp_path_factory.mktemp("whole")
    make(out, PLAN)
    return (out / STORED.name).read_text().splitlines(keepends=True)


def runs_once(records, comparisons):
    assert next_jobs(records, comparisons) == []
    assert len({r.run for r in records}) == len(records)


def test_a_study_goes_on_where_it_was_interrupted(tmp_path, whole):
    path = tmp_path / STORED.name
    path.write_text("".join(whole))
    records = load_study(path)[1]
    runs_once(records, [TINY])
    path.write_text(
        "".join(whole[:-2]) + whole[-2][:40]
    )  # the last run is missing, the one before was being written
    assert len(load_study(path)[1]) == len(records) - 2
    make(tmp_path, PLAN, workers=2)
    again = load_study(path)[1]
    assert {r.run: r for r in again} == {r.run: r for r in records}


def test_studies_with_other_settings_do_not_mix(tmp_path):
    path = tmp_path / STORED.name
    before = provenance(torch.device("cpu"))
    before["settings"]["stay"] = 100
    path.write_text(json.dumps(before) + "\n")
    with pytest.raises(ValueError, match="stay is 100 and not 200; give another folder"):
        make(tmp_path, PLAN)
    assert json.loads(path.read_text()) == before


@pytest.mark.parametrize(
    ("other", "missing"),
    [({"versions": {"torch": "1.0"}}, 1), ({"device": "another device"}, 0)],
)
def test_runs_made_elsewhere_are_kept_and_say_where(tmp_path, whole, other, missing):
    path = tmp_path / STORED.name
    here, *runs = whole
    there = json.dumps(json.loads(here) | other) + "\n"
    lines = [there, *runs[: len(runs) - missing]]
    path.write_text("".join(lines))
    make(tmp_path, PLAN)
    # what is made here comes after a line that says so, and where nothing is made nothing changes
    assert path.read_text().startswith("".join([*lines, here][: len(lines) + missing]))
    provenances, records = load_study(path)
    assert provenances == [json.loads(line) for line in (there, here)[: 1 + missing]]
    runs_once(records, [TINY])
    make(tmp_path, PLAN)
    assert load_study(path)[0] == provenances


def test_a_run_comes_back_from_its_line_as_it_was():
    cell = replace(
        SMALL,
        norm="post",
        branch="1/sqrt(L)",
        clip=1.0,
        start="xavier",
        warm_up=0,
        every=10,
        batch=8,
    )
    run = train(Run(cell, "d_k", -2.5, 1), device="cpu")
    back = read._record(json.loads(making._to_line(run)))
    assert (back, back.device, back.torch) == (run, run.device, torch.__version__)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "no whole line"), ('{}\n{"task": "recall 8"}\n{}\n', "line 2")],
)
def test_a_file_that_holds_no_study_is_refused(tmp_path, text, message):
    path = tmp_path / STORED.name
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_study(path)


@pytest.mark.tools
def test_a_cluster_that_loses_a_worker_loses_no_run_and_makes_none_twice(tmp_path, whole):
    """Two workers, of which one is killed in the middle of the study."""
    import distributed
    import psutil  # comes with distributed

    path, alone = tmp_path / STORED.name, tmp_path / "alone.jsonl"
    alone.write_text("".join(whole))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        victim = psutil.Process(cluster.workers[0].pid)

        def kill():
            while not path.exists() or len(path.read_text().splitlines()) < 4:
                time.sleep(0.01)
            victim.kill()

        killer = threading.Thread(target=kill, daemon=True)  # a study that fails ends the test
        killer.start()
        make(tmp_path, PLAN, scheduler=cluster.scheduler_address)
        killer.join()
    records = load_study(path)[1]
    runs_once(records, [TINY])
    assert {r.run: r for r in load_study(alone)[1]} == {r.run: r for r in records}


# The statistics

# Remission times in weeks of the trial in which censoring is usually taught (Freireich et al. 1963)
TREATED = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
PLACEBO = "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23"


def trial(times):
    return [
        record(None, until=int(t[:-1])) if t.endswith("+") else record(int(t))
        for t in times.split()
    ]


def test_medians_and_intervals_of_a_published_trial():
    treated, placebo = (median_time(trial(times)) for times in (TREATED, PLACEBO))
    assert treated == (23, 13, math.inf)
    assert placebo == (8, 4, 11)
    assert str(treated) == "23 (13 to ∞)"
    steps, share, low, high = survival(trial(TREATED))
    at = steps.index(10)
    assert share[at] == pytest.approx(0.753, abs=5e-4)
    assert (low[at], high[at]) == pytest.approx((0.503, 0.889), abs=5e-4)


def test_the_log_rank_test_of_a_published_trial():
    ours, theirs = (
        [replace(r, run=r.run._replace(seed=i, scaling=s)) for i, r in enumerate(trial(times))]
        for s, times in (("none", TREATED), ("sqrt_d_k", PLACEBO))
    )
    comparison = Comparison(
        "trial", "?", SMALL, ("none", "sqrt_d_k"), ("none",), rates=(-2.5, -2.0), reporting=21
    )
    chosen = [
        record(20 if rate == -2.5 else 400, rate=rate, seed=CHOOSING + s, scaling=name)
        for rate in (-3.0, -2.5, -2.0)
        for s in (0, 1)
        for name in ("none", "sqrt_d_k")
    ]
    (contrast,) = contrasts([*ours, *theirs, *chosen], {"trial": comparison})
    excess, p_value = log_rank(ours, theirs)
    assert excess == pytest.approx(9 - 19.25, abs=0.005)  # events seen and expected
    assert contrast.p_value == p_value
    assert 1 / 200_001 <= p_value < 2 * scipy.stats.chi2.sf(16.79, 1)
    assert (contrast.median.steps, contrast.other.steps, contrast.verdict) == (23, 8, "later")


def test_holms_correction_counts_what_is_still_to_come():
    assert holm([0.01], declared=5) == pytest.approx([0.05])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_the_log_rank_test_by_hand():
    """Of four runs, one learns at each of four steps: hazards of 1/4, 1/3, 1/2 and 1, and scores of
    3/4, 5/12, -1/12 and -13/12. Six relabelings have an excess of ±7/6, ±2/3 and ±1/3.
    """
    ours, theirs = [record(20), record(40)], [record(60), record(80)]
    assert log_rank(ours, theirs) == pytest.approx((7 / 6, 2 / 6))
    assert log_rank(theirs, ours) == pytest.approx((-7 / 6, 2 / 6))
    between = [record(20), record(80)], [record(40), record(60)]
    assert log_rank(*between) == pytest.approx((-1 / 3, 1.0))
    # Swaps within (20, 60) and (40, 80) have ±7/6 and ±1/3, and those within (20, 40), (80, 60)
    # -1/3, 2/3, -2/3 and 1/3: all as large as the first
    assert log_rank(ours, theirs, paired=True) == pytest.approx((7 / 6, 2 / 4))
    assert log_rank(*between, paired=True) == pytest.approx((-1 / 3, 1.0))


def test_the_log_rank_test_of_censored_runs_by_hand():
    """Hazards are 1/3 and 1/2, so the scores are 2/3, 1/6 and, of the censored run, -5/6."""
    ours, theirs = [record(20)], [record(40), record(None, until=60)]
    assert log_rank(ours, theirs) == pytest.approx((2 / 3, 2 / 3))
    assert log_rank([record(None)] * 3, [record(None)] * 3) == (0.0, 1.0)
    assert log_rank([record(60)] * 3, [record(60)] * 3) == pytest.approx((0.0, 1.0))


def test_the_step_down_correction_by_hand():
    """Swaps within (20, 60) and (40, 80) have an excess of 7/6, 1/3, 1/3 and 7/6. A second test of
    four equal times has none; one that is the same as the first costs nothing.
    """
    clear = [record(20), record(40)], [record(60), record(80)]
    level = [record(60)] * 2, [record(60)] * 2
    assert step_down([level, clear]) == pytest.approx([1.0, 2 / 4])
    assert step_down([clear, clear]) == pytest.approx([2 / 4, 2 / 4])
    # a test that is less clear leaves the clearest one as it is, where its own excess, of
    # 0.63 to 1.26 standard deviations, does not exceed the other's 1.36
    less = [record(20), record(80)], [record(40), record(60)]
    assert step_down([less, clear]) == pytest.approx([1.0, 2 / 4])


def test_how_many_times_as_long():
    """Looks at 120 and 60 mean about 110 and 50 steps, and 100 to 120 over 40 to 60."""
    ratio = times_as_long([record(120)] * 5, [record(60)] * 5)
    assert ratio.times == pytest.approx(110 / 50)
    assert 100 / 60 < ratio.low < ratio.times < ratio.high < 120 / 40
    finer = replace(SMALL, every=5)
    ratio = times_as_long(*([record(t, cell=finer)] * 5 for t in (120, 60)))
    assert ratio.times == pytest.approx(117.5 / 57.5)
    with pytest.raises(ValueError, match=r"theirs.*censored"):
        times_as_long([record(120)], [record(None)])
    late = [record(80)] * 3 + [record(None)] * 2  # the middle one is known all the same
    assert times_as_long(late, [record(60)] * 5, censored=True).times == pytest.approx(70 / 50)


def test_how_many_times_as_large_one_ratio_is_as_another():
    """3 over 1.5, and intervals that hold it."""
    first, second = ([[record(t)] * 5 for t in times] for times in ((160, 60), (100, 70)))
    ratio = ratio_of_ratios(tuple(first), tuple(second))
    assert ratio.times == pytest.approx((150 / 50) / (90 / 60))
    assert ratio.low < ratio.times < ratio.high
    assert ratio.low > (140 / 60) / (100 / 50)


def test_what_is_concluded_where_all_or_none_have_learned():
    """Ten of ten say where the median is, four of four do not."""
    assert median_time([record(None)] * 10) == (math.inf, math.inf, math.inf)
    assert median_time([record(None)] * 4) == (math.inf, 0, math.inf)
    assert median_time([record(60)] * 10) == (60, 60, 60)
    assert median_time([record(60)] * 5 + [record(100)] * 5).steps == 80
    assert median_time([record(60)] * 4) == (60, 0, math.inf)
    assert survival([record(60)] * 10).low == pytest.approx([0.025**0.1, 0.0])
    assert survival([record(60)] * 4).share == [1.0, 0.0]


# What is stored


def test_the_stored_study_is_complete_and_made_with_these_settings(stored):
    """What was declared is there, and every declared contrast is tested."""
    for there in load_study()[0]:
        here = json.loads(json.dumps(provenance(torch.device("cpu"))))
        assert there["settings"] == here["settings"]
    runs_once(stored, DECLARED.values())
    for comparison in DECLARED.values():
        runs = reported(stored, comparison)
        assert set(runs) == set(comparison.scalings)
        assert not any(r.run.chooses for group in runs.values() for r in group)
    tested = contrasts(stored, DECLARED)
    assert len(tested) == sum(len(c.contrasts) for c in DECLARED.values()) > 20
    assert max(t.adjusted / t.p_value for t in tested) == pytest.approx(len(tested))


# Under these scalings a relative error of 1e-7 stays small for the first steps, and runs agree to
# the digits below whatever the processor. Without division, at high rates and in deep models they
# are chaotic: what they give is a distribution.
STEADY = ("sqrt_d_k", "d_k", "k_total", "qk_norm", "sigma 1")


# A cell once, and none of the largest batches, of which a step takes half a second.
CELLS = {c.cell: [n for n, d in DECLARED.items() if d.cell == c.cell] for c in DECLARED.values()}
OF_TWO_LAYERS = [x for c, x in CELLS.items() if c.n_layers == 2 and (c.batch or 0) <= 256]


@pytest.mark.parametrize("names", OF_TWO_LAYERS, ids=lambda names: names[0])
def test_stored_runs_begin_as_they_do_here(stored, names):
    """The first twenty steps of one run of each cell. Where several comparisons have the cell it is
    that of the lowest rate: a run that has nearly learned by then shows each processor's rounding.
    """
    tables = [reported(stored, DECLARED[name]) for name in names]
    firsts = [runs[next(s for s in STEADY if s in runs)][1] for runs in tables]
    chosen = min(firsts, key=lambda record: record.run.rate)
    again = train(chosen.run, until=20, device="cpu")
    for curve, values in again.curves.items():
        within = {"abs": 0.01} if curve == "accuracy" else {"rel": 2e-3}
        assert values[:2] == pytest.approx(chosen.curves[curve][:2], **within), curve
