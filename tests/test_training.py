"""The training study: its model, tasks and plan, and that what is stored comes out again."""

import json
import math

import pytest
import torch

from sdpa_lib import get_device
from sdpa_lib.book.training.model import SCALINGS, Transformer
from sdpa_lib.book.training.results import STORED, load_study, make_study, provenance
from sdpa_lib.book.training.study import (
    LIMITS,
    RATES,
    SEEDS,
    STUDY,
    TASKS,
    Cell,
    Record,
    Run,
    best_rate,
    make_model,
    plan,
    train,
)
from sdpa_lib.book.training.summary import at_best_rate
from sdpa_lib.book.training.tasks import Digits, Recall

SMALL = Cell("recall 8", 16, 20)


@pytest.fixture(scope="module")
def stored():
    return load_study()


def record(cell=SMALL, scaling="none", rate=-4, seed=0, loss=1.0, diverged=False):
    return Record(Run(cell, scaling, rate, seed), {"loss": [loss], "step": [0]}, {}, diverged, 0.0)


# The model


def attention_by_hand(module, x, divide):
    """One head after the other, from the module's matrices."""
    heads, outputs = module.n_heads, []
    for h in range(heads):
        q, k, v = (
            x @ matrix.weight.view(heads, -1, x.shape[-1])[h].T
            for matrix in (module.query, module.key, module.value)
        )
        outputs.append(torch.softmax(divide(q, k), -1) @ v)
    return torch.cat(outputs, -1) @ module.output.weight.T


@pytest.mark.parametrize(
    ("scaling", "divide"),
    [
        ("sqrt_d_k", lambda q, k: q @ k.mT / 4),
        ("k_total", lambda q, k: q @ k.mT / k.norm(dim=-1).sum(-1)[:, None, None]),
        ("learned", lambda q, k: 1.5 * q @ k.mT / 4),
        ("log_n", lambda q, k: 1.5 * q @ k.mT / 4),
        (
            "qk_norm",
            lambda q, k: (
                1.5 * 4 * torch.nn.functional.cosine_similarity(q[:, :, None], k[:, None], dim=-1)
            ),
        ),
        ("t5_start", lambda q, k: q @ k.mT),
    ],
)
def test_attention_against_one_head_at_a_time(scaling, divide):
    model = make_model(Run(SMALL, scaling, -4, 0))
    module = model.blocks[0].attention
    if module.log_scale is not None:
        module.log_scale.data += math.log(1.5)
    x = torch.randn(2, TASKS["recall 8"].n_tokens, 32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        module(x), attention_by_hand(module, x, divide), rtol=1e-4, atol=1e-5
    )


def test_scalings_share_their_start():
    models = {scaling: make_model(Run(SMALL, scaling, -4, 3)) for scaling in SCALINGS}
    usual = models["sqrt_d_k"].state_dict()
    for scaling, model in models.items():
        for name, parameter in model.state_dict().items():
            if name.endswith("log_scale"):
                continue
            factor = 4.0 if scaling == "t5_start" and "query" in name else 1.0
            torch.testing.assert_close(factor * parameter, usual[name])
    x = TASKS["recall 8"].batch(0, 0)[0]
    for scaling in ("learned", "log_n", "t5_start"):
        torch.testing.assert_close(
            models[scaling](*x), models["sqrt_d_k"](*x), rtol=1e-4, atol=1e-5
        )


def test_fresh_queries_and_keys_have_unit_variance():
    torch.manual_seed(0)
    model = Transformer(Recall(32).embedding(32), 40, 16, d_k=64)
    query, key, _ = model.blocks[0].attention.query_and_key(torch.randn(50, 40, 32))
    assert query.std().item() == pytest.approx(1, rel=0.05)
    assert key.std().item() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scaling": "sqrt_dk"}, "Did you mean 'sqrt_d_k'"),
        ({"n_heads": 3}, "n_heads must divide d_model = 32, got 3"),
        ({"d_k": 0}, "d_k must be at least 1, got 0"),
        ({"n_layers": 0}, "n_layers must be at least 1, got 0"),
    ],
)
def test_a_model_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Transformer(Digits().embedding(32), 16, 10, **settings)


# The tasks


def test_digits_are_split_and_cut_into_patches():
    from sklearn.datasets import load_digits

    images = load_digits().images
    task = Digits()
    (test,), answers = task.held_out("test")
    (validation,), _ = task.held_out("validation")
    assert test.shape == validation.shape == (300, 16, 4)
    assert len(set(answers.tolist())) == 10
    inside = {tuple(image.ravel()) for image in images}
    scale = (test[test > 0].max() - test.min()) / 16  # pixels go from 0 to 16
    pixels = ((test[7] - test.min()) / scale).round().view(4, 4, 2, 2).transpose(1, 2).reshape(8, 8)
    assert tuple(pixels.double().flatten().tolist()) in inside
    parts = [{tuple(patches.flatten().tolist()) for patches in part} for part in (test, validation)]
    assert not parts[0] & parts[1]


@pytest.mark.parametrize("name", TASKS)
def test_batches_belong_to_a_seed_and_a_step(name):
    task = TASKS[name]
    (first, *_), answers = task.batch(1, 5)
    assert torch.equal(first, task.batch(1, 5)[0][0])
    assert not torch.equal(first, task.batch(1, 6)[0][0])
    assert not torch.equal(first, task.batch(2, 5)[0][0])
    assert len(first) == task.batch_size
    assert answers.max() < task.n_classes
    assert len(task.held_out("validation")[0][0]) == len(task.held_out("test")[0][0])


def test_recall_can_be_answered_by_looking_up_and_only_so():
    task = Recall(32)
    (names, values), answers = task.held_out("test")
    found = [
        [
            next(v for n, v in zip(row[:32], row_values[:32], strict=True) if n == asked)
            for asked in row[32:]
        ]
        for row, row_values in zip(names.tolist(), values.tolist(), strict=True)
    ]
    assert found == answers.tolist()
    assert all(len(set(row[:32])) == 32 for row in names.tolist())
    assert (values[:, 32:] == task.n_classes).all()
    counts = torch.nn.functional.one_hot(values[:, :32], 16).sum(
        1
    )  # what even attention gives: how often each value occurs
    guess = counts.argmax(-1, keepdim=True) == answers
    assert guess.float().mean() < 0.25


@pytest.mark.parametrize(
    ("n_pairs", "message"), [(7, "at least 8, got 7"), (257, "at most n_names = 256, got 257")]
)
def test_a_recall_that_cannot_be_is_refused(n_pairs, message):
    with pytest.raises(ValueError, match=message):
        Recall(n_pairs)


# The plan


def test_a_sweep_starts_in_the_middle_and_goes_on_at_its_edge():
    study = {SMALL: ("none",)}
    assert {run.rate for run in plan([], study)} == {-5, -4, -3}
    swept = [
        record(rate=rate, seed=seed, loss=-rate) for rate in (-5, -4, -3) for seed in (0, 1)
    ]  # lower loss at higher rates
    assert plan(swept[1:], study) == [swept[0].run]
    assert [(run.rate, run.seed) for run in plan(swept, study)] == [(-2, 0), (-2, 1)]
    worse = [*swept, *(record(rate=-2, seed=seed, loss=9) for seed in (0, 1))]
    assert [(run.rate, run.seed) for run in plan(worse, study)] == [(-3, 2), (-3, 3), (-3, 4)]
    assert plan([*worse, *(record(rate=-3, seed=seed) for seed in (2, 3, 4))], study) == []


def test_a_sweep_stops_at_its_limits():
    rates = range(LIMITS["adam"][0], -2)
    swept = [record(rate=rate, seed=seed, loss=20 + rate) for rate in rates for seed in (0, 1)]
    assert {run.rate for run in plan(swept, {SMALL: ("none",)})} == {LIMITS["adam"][0]}


def test_the_best_rate_has_the_lowest_mean_loss_and_has_not_diverged():
    rates = {
        rate: {seed: record(rate=rate, seed=seed, loss=abs(rate + 4)) for seed in (0, 1)}
        for rate in (-5, -4, -3)
    }
    assert best_rate(rates) == -4
    rates[-4][1] = record(diverged=True)
    assert best_rate(rates) == -5


def test_steps_to_an_accuracy_count_from_where_it_stays():
    curves = {"step": [0, 20, 40, 60], "accuracy": [0.1, 0.95, 0.5, 0.95], "loss": [1, 1, 1, 1]}
    one = Record(Run(SMALL, "none", -4, 0), curves, {}, False, 0.0)
    assert [one.steps_to(0.05), one.steps_to(0.9), one.steps_to(0.99)] == [0, 60, None]


def test_a_run_that_blows_up_is_recorded_as_such():
    result = train(Run(Cell("recall 8", 16, 200, optimiser="sgd"), "none", 12, 0), device="cpu")
    assert result.diverged
    assert result.mean_loss == math.inf
    assert all(math.isfinite(x) for values in result.curves.values() for x in values)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (Cell("recal 8", 16, 20), "Did you mean 'recall 8'"),
        (Cell("recall 8", 16, 20, optimiser="adma"), "'adam' or 'sgd', got 'adma'"),
    ],
)
def test_a_run_that_cannot_be_is_refused(cell, message):
    with pytest.raises(ValueError, match=message):
        train(Run(cell, "none", -4, 0))


# The file


def test_a_study_goes_on_where_it_was_interrupted(tmp_path):
    path, study = tmp_path / "study.jsonl", {SMALL: ("none",)}
    make_study(path, study)
    whole = load_study(path)[1]
    assert plan(whole, study) == []
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join(lines[:-2]) + lines[-2][:40]
    )  # the last run is missing, the one before was being written
    assert len(load_study(path)[1]) == len(whole) - 2
    make_study(path, study)
    again = load_study(path)[1]
    assert {r.run: r for r in again} == {r.run: r for r in whole}


@pytest.mark.parametrize("other", ["settings", "device"])
def test_studies_made_differently_do_not_mix(tmp_path, other):
    path = tmp_path / "study.jsonl"
    path.write_text(json.dumps(provenance(torch.device("cpu")) | {other: {}}) + "\n")
    before = path.read_text()
    with pytest.raises(ValueError, match=f"other {other}; give another path"):
        make_study(path, {})
    assert path.read_text() == before


def test_runs_of_other_versions_follow_a_line_that_says_which(tmp_path):
    path = tmp_path / "study.jsonl"
    here = json.loads(json.dumps(provenance(get_device())))
    older = here | {"versions": {"torch": "1.0"}}
    path.write_text(json.dumps(older) + "\n" + '{"cut off')
    make_study(path, {})
    make_study(path, {})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [older, here]
    assert load_study(path) == (older, [])


@pytest.mark.parametrize(
    ("text", "message"), [("", "no whole line"), ("{}\nnonsense\n{}\n", "line 2")]
)
def test_a_file_that_holds_no_study_is_refused(tmp_path, text, message):
    path = tmp_path / "study.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_study(path)


# What is stored


def test_the_stored_study_is_complete_and_made_with_these_settings(stored):
    """A scaling that was added since has no runs yet; whatever was begun is there to its end."""
    there, records = stored
    assert there["settings"] == json.loads(json.dumps(provenance(torch.device("cpu"))))["settings"]
    assert len({r.run for r in records}) == len(records)
    missing = plan(records)
    begun = {(r.run.cell, r.run.scaling) for r in records}
    assert [run for run in missing if (run.cell, run.scaling) in begun] == []
    for cell in STUDY:
        assert all(len(runs) == SEEDS for runs in at_best_rate(records, cell).values())
    if missing:
        names = sorted({run.scaling for run in missing})
        pytest.skip(f"{len(missing)} runs are missing, of {', '.join(names)}: make study")


def test_a_new_scaling_waits_for_its_runs_and_leaves_the_others_alone(stored):
    _, records = stored
    cell = Cell("digits", 64, 300)
    without = [r for r in records if r.run.scaling != "k_rss"]
    waiting = set(plan(without)) - set(plan(records))
    assert {run.scaling for run in waiting} == {"k_rss"}
    assert len(waiting) == 54  # nine cells, three rates, two seeds
    best = at_best_rate(records, cell)
    begun = [*without, best["k_rss"][0]]
    for some in (without, begun):
        assert at_best_rate(some, cell) == {n: runs for n, runs in best.items() if n != "k_rss"}


# Without division, and at wide heads with T5's start, a relative error of 1e-7 grows to a tenth in
# twenty steps. Runs under any other scaling agree to all stored digits, whatever the processor.
STEADY = [name for name in SCALINGS if name not in ("none", "t5_start")]


@pytest.mark.parametrize("cell", STUDY, ids=str)
def test_stored_runs_begin_as_they_do_here(stored, cell):
    """The first twenty steps of one run of each cell, another scaling in each."""
    rate = RATES[cell.optimiser][0]
    records = {r.run.scaling: r for r in stored[1] if r.run[:1] + r.run[2:] == (cell, rate, 1)}
    steady = [name for name in STEADY if name in records]
    chosen = records[steady[list(STUDY).index(cell) % len(steady)]]
    again = train(chosen.run, steps=20, device="cpu")
    for name, values in again.curves.items():
        within = {"abs": 0.004} if name == "accuracy" else {"rel": 1e-3}  # one answer of 300
        assert values == pytest.approx(chosen.curves[name][:2], **within), name


def test_a_stored_run_comes_out_again_to_its_end(stored):
    chosen = next(
        r for r in stored[1] if r.run == Run(Cell("digits", 16, 300), "d_k", rate=-5, seed=0)
    )
    again = train(chosen.run, device="cpu")
    assert again.test_accuracy == pytest.approx(chosen.test_accuracy, abs=0.004)
    assert again.mean_loss == pytest.approx(chosen.mean_loss, rel=1e-3)
    for name, values in again.curves.items():
        within = {"abs": 0.004} if name == "accuracy" else {"rel": 5e-3}
        assert values == pytest.approx(chosen.curves[name], **within), name


def test_scalings_that_divide_by_the_same_number_give_the_same_run(stored):
    """16 patches and d_k = 256: n sqrt(d_k) is d_k."""
    best = at_best_rate(stored[1], Cell("digits", 256, 300))
    for ours, theirs in zip(best["d_k"], best["n_sqrt_d_k"], strict=True):
        assert ours.curves == theirs.curves


def test_the_stored_file_is_small():
    assert STORED.stat().st_size < 3_000_000
