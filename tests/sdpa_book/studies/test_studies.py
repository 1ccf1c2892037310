"""What all studies share: the command, their plans, and what is shown of what was not measured."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from sdpa_book.drawing import plotting
from sdpa_book.studies import NAMES, __main__, depth
from sdpa_book.studies.heads.look import SWAPS
from sdpa_book.studies.making import with_known_rescalings
from sdpa_book.studies.training import load_plan, load_study, reported
from sdpa_lib.rescaling import RESCALINGS, PowerOfDk

PLANS = {name: import_module(f"sdpa_book.studies.{name}.plan") for name in NAMES}
TINY = """
[tiny]
question = "?"
scalings = ["none"]
d_k = [4]
n_layers = [1]
seeds = 2
[other]
question = "?"
scalings = ["nine"]
d_k = [4]
n_layers = [1]
"""


@pytest.mark.parametrize("name", NAMES)
def test_readme_and_makefile_say_how_long_a_study_takes(name):
    takes = PLANS[name].TAKES.removeprefix("about ")
    root = Path(__file__).parents[3]
    assert f"`{name}`, {takes}" in (root / "README.md").read_text(encoding="utf-8")
    assert f"{name} ({takes}" in (root / "Makefile").read_text(encoding="utf-8")


@pytest.fixture
def a_new_rescaling(monkeypatch):
    """A rescaling in the library of which nothing is stored."""
    monkeypatch.setitem(RESCALINGS, "k_new", PowerOfDk(0.25))


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["studies", *map(str, arguments)])
    __main__.main()


def test_the_command_makes_a_table_of_a_plan(monkeypatch, tmp_path):
    (tmp_path / "plan.toml").write_text(TINY)
    options = "--plan", tmp_path / "plan.toml", "--out", tmp_path / "out", "--workers", 1
    command(monkeypatch, "depth", *options, "--only", "tiny")
    measured = depth.load_depth(tmp_path / "out" / "depth.json")[1]
    assert [cell.norm for cell in measured] == ["pre", "post"]
    assert {len(starts.total) for starts in measured.values()} == {2}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "training"),
        (["dpth"], "'optimiser_steps'"),
        (["depth", "--plan", "x.toml"], "--plan needs --out"),
        (["depth", "--plan", "x.toml", "--out", "o"], "x.toml"),
        (["depth", "--only", "breadth"], "every rescaling"),
        (["depth", "--out", "o", "--plan", "plan.toml"], "'nine'"),
        (["heads", "--out", "o", "--scheduler", "tcp://nobody"], "scheduler"),
    ],
)
def test_a_command_that_cannot_be_says_why(monkeypatch, tmp_path, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(TINY)
    with pytest.raises(SystemExit) as ended:
        command(monkeypatch, *arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


PLAIN = {
    "lookup": 'question = "?"\nrates = [0.1]\nqueries = [4]\n',
    "training": 'question = "?"\ntask = "recall 8"\nd_k = 4\nscalings = ["none"]\n',
    "crossing": 'question = "?"\ntask = "recall 8"\nd_k = 4\nwarm_up = 0\n',
    "gradient_worth": 'question = "?"\nd_k = [4]\n',
    "depth": 'question = "?"\nscalings = ["none"]\nd_k = [4]\nn_layers = [1]\n',
    "optimiser_steps": 'question = "?"\noptimisers = ["SGD"]\npowers = [0.5]\nwidths = [4]\n',
    "heads": 'question = "?"\nruns = [["none", 8, 0]]\n',
    "published": 'question = "?"\ntitle = "T"\npackage = "p"\nversion = "1"\nweights = "w"\n'
    'origin = "o"\nstarts = [0.02]\nswaps = ["d_k"]\n',
}
SHA = f'sha256 = "{"0" * 64}"\n'


@pytest.mark.parametrize(
    ("name", "slip", "message"),
    [
        ("lookup", "d_k = 0", "d_k must be at least 1, got 0"),
        ("training", "bugdet = 3", "budget"),
        ("training", 'like = "yours"', "like of .mine."),
        ("training", 'contrasts = ["d_kk"]', "contrasts"),
        ("training", "rates = [-2.0, -3.0]", r"rates must be .* got \(-2.0, -3.0\)"),
        ("training", 'branch = "1/L"', r"branch.*1/sqrt\(L\)"),
        ("training", "choosing = 0", "choosing must be at least 1, got 0"),
        ("training", 'optimiser = "adma"', "'adam'"),
        ("training", 'start = "zero"', "1/inputs, nn.Linear"),
        ("training", "warm_up = -1", "warm_up must be at least 0, got -1"),
        ("training", "every = 3", "every must divide 20, got 3"),
        ("crossing", 'starts = ["xaviar"]', "'xavier'"),
        ("gradient_worth", 'tasks = ["recall"]', "'recall 8'"),
        ("gradient_worth", "rates = [-2.0]", "rates must be one for each"),
        ("depth", 'norms = ["after"]', "norms"),
        ("depth", 'start = "zero"', "start"),
        ("depth", 'branch = "1/L"', "branch"),
        ("depth", 'shape = "encoder"', "shape.*decoder"),
        ("depth", "steps = 5", "steps must be 0 for shape 'digits'.*got 5"),
        ("optimiser_steps", "", "must have the field 'seeds'"),
        ("optimiser_steps", "seeds = 1", "table 'mine'"),
        ("heads", "moment = [0]", "'moments'"),
        ("published", 'sha256 = "b179"\nmatched = []', "64 hexadecimal digits, got 'b179'"),
        ("published", SHA + 'matched = ["k_mean"]', r"matched must be of swaps, .'d_k'."),
    ],
)
def test_a_plan_with_a_slip_is_refused(tmp_path, name, slip, message):
    (tmp_path / "plan.toml").write_text(f"[mine]\n{PLAIN[name]}{slip}")
    with pytest.raises(ValueError, match=message):
        PLANS[name].load_plan(tmp_path / "plan.toml")


# What is not measured


def test_a_rescaling_that_no_study_has_is_listed_and_has_no_measurement(a_new_rescaling):
    measured = depth.load_depth()[1]
    listed = depth.listed_rescalings(measured)
    assert listed == list(RESCALINGS)
    assert depth.Depth(64, 24, "k_new") not in measured
    unmeasured = {name for name in listed if depth.Depth(64, 24, name) not in measured}
    assert unmeasured == set(listed) - {model.scaling for model in measured}
    runs = reported(load_study()[1], load_plan()["every rescaling"])
    assert "k_new" in with_known_rescalings(runs)
    assert "k_new" not in runs


def test_no_plan_grows_with_the_library(a_new_rescaling):
    """What is declared is a list: a new rescaling leaves no study incomplete."""
    for plan in PLANS.values():
        assert "k_new" not in repr(plan.load_plan())


def test_a_stored_name_that_the_library_lost_is_shown_as_it_is_stored(monkeypatch, tmp_path):
    monkeypatch.delitem(RESCALINGS, "k_rss")
    measured = depth.load_depth()[1]
    listed = depth.listed_rescalings(measured)
    assert listed == [*RESCALINGS, "k_rss"]
    assert plotting.style_of_stored("k_rss")["label"] == "k_rss"
    comparison = load_plan()["every rescaling"]
    assert "k_rss" in reported(load_study()[1], comparison)
    with pytest.raises(ValueError, match="k_rss"):
        plotting.style("k_rss")
    lost = replace(comparison, scalings=("of old",))  # it can be read, and not be trained
    with pytest.raises(ValueError, match="'of old'"):
        import_module("sdpa_book.studies.training.run").make(tmp_path, {"a": lost})
    assert not any(tmp_path.iterdir())


def test_every_stored_swap_is_one_that_is_listed():
    from sdpa_book.studies.heads import DecoderRun, load_results

    swaps = load_results()[DecoderRun("sqrt_d_k")].swaps
    assert list(swaps) == [name for name in SWAPS if name in swaps]
