"""Trained heads: the measures, the trainings, and what is stored of them."""

import cmath
import gzip
import itertools
import json
import math
from dataclasses import asdict, replace

import matplotlib.pyplot as plt
import pytest
import torch

from sdpa_book.drawing import plotting
from sdpa_book.drawing.attended_text import DARKEST, looked_at
from sdpa_book.studies import resuming
from sdpa_book.studies.heads import train as training
from sdpa_book.studies.heads.corpus import is_held_out, load_corpus
from sdpa_book.studies.heads.look import (
    SWAPS,
    layers_of,
    model_figures,
    other_scores,
    place_losses,
    place_scores,
    swapped_losses,
    temperatures,
    uniform_losses,
    weight_rank,
)
from sdpa_book.studies.heads.measure import (
    FIGURES,
    WITHOUT_FIRST,
    head_figures,
    normal_rows,
    parted_figures,
    position_part,
    tail_scale,
    unturned_figures,
)
from sdpa_book.studies.heads.ngrams import ngram_losses
from sdpa_book.studies.heads.plan import (
    CHOOSING,
    CLIPPED,
    POSITIONS,
    SCALINGS,
    DecoderRun,
    Settings,
    Study,
    load_plan,
)
from sdpa_book.studies.heads.read import (
    STORED,
    load_causal,
    load_places,
    load_results,
    load_values,
    load_vectors,
    mean_over_heads,
)
from sdpa_book.studies.heads.run import (
    LINE,
    ORDERS,
    PLACED,
    contribution,
    make,
)
from sdpa_book.studies.heads.train import (
    clip_heads,
    held_out_loss,
    make_model,
    make_optimiser,
    passage_losses,
    train,
)
from sdpa_book.studies.transformer import turned
from sdpa_lib.attention import attention_scores, attention_weights
from sdpa_lib.rescaling import RESCALINGS
from sdpa_lib.sampling import sample

STUDIES = load_plan()
SMALL = Settings(
    d_model=16,
    n_heads=2,
    n_layers=2,
    n_tokens=16,
    batch=2,
    steps=6,
    warm_up=2,
    rates=(-3.0, -2.0),
    trial_steps=2,
    trial_d_k=8,
    moments=(0, 3, 6),
    every=2,
    passages=4,
)
ROOT = DecoderRun("sqrt_d_k", 8)
AS_PEOPLE = replace(
    SMALL, rates=(-2.0,), positions="rotary_small", start="0.02", decay=0.1, beta_2=0.95, tau=0.05
)
CLIP = DecoderRun(CLIPPED, 8)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Modules of our own: the tests depend on no version of Python's."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "test").mkdir()
    for i in range(60):
        (folder / f"module_{i}.py").write_text(f"def function_{i}(x):\n    return {i} * x\n" * 8)
    (folder / "test" / "left_out.py").write_text("1 / 0\n")
    return folder


@pytest.fixture(scope="module")
def corpus(library):
    return load_corpus(library)


@pytest.fixture(scope="module")
def model():
    """A decoder of the study's shape, at its start."""
    return make_model(ROOT, SMALL)


@pytest.fixture(scope="module", params=STUDIES)
def stored(request):
    """Each study, with its name."""
    return request.param, load_results(STORED.with_name(f"{request.param}.json.gz"))


def normal(*shape, seed):
    return sample(*shape, seed=seed, device="cpu", dtype=torch.float64)


# The text


def test_modules_are_trained_on_or_held_out_and_never_both(corpus):
    read = bytes(corpus.training.tolist())
    assert len(corpus.sizes) == 60
    assert 0 < len(corpus.held_out) < 30
    for name in corpus.sizes:
        assert (name in corpus.held_out) == is_held_out(name)
        number = name.removeprefix("module_").removesuffix(".py")
        assert (f"def function_{number}(".encode() in read) == (name not in corpus.held_out)
    assert b"1 / 0" not in read


def test_counted_pieces_predict_what_followed_them():
    """By hand: of a, b, b, a, b two are a and two followed by b; 1/256 weighs as much as the two
    different bytes, and a mean over single bytes as much as the one byte that followed a.
    """
    text = torch.tensor(list(b"abbab"), dtype=torch.uint8)
    one, two = ngram_losses(text, torch.tensor([list(b"ab")]), 2)
    of_b = (3 + 2 / 256) / (5 + 2)
    assert one == pytest.approx(-math.log(of_b))
    assert two == pytest.approx(-math.log((2 + 1 * of_b) / (2 + 1)))
    unknown = ngram_losses(text, torch.tensor([list(b"cz")]), 3)
    assert unknown == pytest.approx([-math.log(2 / 256 / 7)] * 3)
    with pytest.raises(ValueError, match="orders must be at most 8, got 9"):
        ngram_losses(text, torch.tensor([list(b"ab")]), 9)


def test_held_out_passages_do_not_overlap(corpus):
    pieces = sum(len(text) // 17 for text in corpus.held_out.values())
    passages = corpus.passages(pieces, 16)
    joined = bytes(passages.flatten().tolist())
    assert joined in b"".join(
        bytes(text[: len(text) // 17 * 17].tolist()) for text in corpus.held_out.values()
    )
    with pytest.raises(ValueError, match=f"count must be at most {pieces}"):
        corpus.passages(pieces + 1, 16)


def test_passages_begin_with_one_byte_if_asked(library, corpus):
    other = load_corpus(library, fixed_first=True)
    for own, begun in (
        (corpus.passages(3, 16), other.passages(3, 16)),
        (corpus.batch(3, 16, 0, 0), other.batch(3, 16, 0, 0)),
    ):
        assert (begun[:, 0] == 0).all()
        assert (own[:, 0] != 0).any()
        assert torch.equal(begun[:, 1:], own[:, 1:])


# The measures


def plain_figures(query, key, scores, least):
    """The figures of one head by loops, from their definitions."""
    d_k, figures = query.shape[-1], {}
    rows = range(least - 1, len(query))
    seen = [scores[i][: i + 1] for i in rows]
    raw = [torch.stack([query[i] @ key[j] for j in range(i + 1)]) for i in rows]
    weights = [torch.softmax(z, 0) for z in seen]
    figures["sigma"] = [z.std(correction=0) for z in seen]
    figures["ratio"] = [z.std(correction=0) / math.sqrt(2 * math.log(len(z))) for z in seen]
    figures["kurtosis"] = [
        ((z - z.mean()) ** 4).mean() / ((z - z.mean()) ** 2).mean() ** 2 - 3 for z in seen
    ]
    figures["largest"] = [p.max() for p in weights]
    figures["entropy"] = [-(p * p.log()).sum() / math.log(len(p)) for p in weights]
    figures["squares"] = [(p * p).sum() for p in weights]
    figures["first_weight"] = [p[0] for p in weights]
    figures["tail"] = []
    for z in seen:
        top = z.sort(descending=True).values[: math.isqrt(len(z)) + 1]
        figures["tail"].append((top[:-1] - top[-1]).mean())
    figures = {name: torch.stack(values).mean() for name, values in figures.items()}
    figures["top_score"] = max(scores[i][j] for i in range(len(query)) for j in range(i + 1))
    figures["row_std"] = (torch.stack([x.var(correction=0) for x in raw]).mean() / d_k).sqrt()
    figures["total_std"] = torch.cat(raw).std() / math.sqrt(d_k)
    figures["key_shared"] = key.mean(0).square().sum() / key.square().sum(-1).mean()
    figures["key_variance"] = key.var(0, correction=0).mean()
    lengths = key.norm(dim=-1)
    figures["length_variation"] = lengths.std(correction=0) / lengths.mean()
    values = torch.linalg.eigvalsh(torch.cov(key.mT))
    figures["key_rank"] = values.sum() ** 2 / (values**2).sum()
    best = [z.argmax() for z in seen]
    figures["cosine_largest"] = torch.stack(
        [torch.cosine_similarity(query[i], key[j], 0) for i, j in zip(rows, best, strict=True)]
    ).mean()
    return figures


def test_figures_are_those_of_the_definitions():
    query, key = normal(1, 2, 40, 6, seed=1) * 2 + 0.5, normal(1, 2, 40, 6, seed=2) - 0.3
    scores = attention_scores(query, key, is_causal=True, rescaling="sqrt_d_k")
    figures = head_figures(query, key, scores, least=30, stride=1)
    for head in range(2):
        plain = plain_figures(query[0, head], key[0, head], scores[0, head], 30)
        for name, value in plain.items():
            torch.testing.assert_close(
                figures[name][head], value, msg=lambda m, n=name: f"{n}: {m}"
            )


def test_every_figure_is_named(model, corpus):
    figures = model_figures(model, corpus.passages(2, 16), least=8)
    names = {*FIGURES, *(f"rest_{name}" for name in WITHOUT_FIRST), "weight_rank"}
    names |= {f"{x}_gradient{of}" for x in ("query", "key") for of in ("", "_median")} | {
        "position"
    }
    assert set(figures) == names
    assert all(torch.tensor(values).shape == (2, 2) for values in figures.values())


def test_a_turned_decoder_is_measured_before_turning_too(corpus):
    model, passages = make_model(ROOT, replace(SMALL, positions="rotary")), corpus.passages(2, 16)
    figures = model_figures(model, passages, least=8)
    for block in model.blocks:
        block.attention.rotary = False
    plain = model_figures(model, passages, least=8)
    assert set(figures) - set(plain) == {
        f"unturned_{x}" for x in ("query_shared", "key_shared", "score_rank", "whole_rank")
    }
    for name in ("query_shared", "key_shared", "score_rank"):
        assert figures[f"unturned_{name}"][0] == pytest.approx(plain[name][0])
    assert figures["unturned_score_rank"][0] != pytest.approx(figures["score_rank"][0], rel=0.01)


def test_turning_spreads_one_query_and_one_key_over_several_directions():
    query, key = (normal(32, seed=s).expand(1, 1, 256, 32) for s in (1, 2))
    assert unturned_figures(query, key)["unturned_whole_rank"].item() == pytest.approx(1.0)
    both = turned(query), turned(key)
    assert head_figures(*both, attention_scores(*both, is_causal=True))["score_rank"] > 4


def test_random_vectors_have_what_the_argument_for_the_root_says():
    query, key = normal(64, 1, 128, 32, seed=3), normal(64, 1, 128, 32, seed=4)
    scores = attention_scores(query, key, is_causal=True)
    figures = {name: value.item() for name, value in head_figures(query, key, scores).items()}
    expected = {"row_std": 1.0, "sigma": 1.0, "alignment": 1.0, "dependence": 1.0}
    expected |= {"tail_normal": 1.0, "query_variance": 1.0, "key_variance": 1.0}
    for name, value in expected.items():
        assert figures[name] == pytest.approx(value, abs=0.05), name
    for name in ("key_shared", "query_shared", "kurtosis", "cosine_mean"):
        assert figures[name] == pytest.approx(0.0, abs=0.1), name
    assert figures["squares"] == pytest.approx(figures["squares_normal"], rel=0.05)
    assert figures["entropy"] == pytest.approx(figures["entropy_normal"], abs=0.005)


def test_what_all_keys_share_moves_scores_but_no_weight():
    query, key = normal(1, 1, 64, 8, seed=5) + 2, normal(1, 1, 64, 8, seed=6)
    plain, shifted = (
        head_figures(query, k, attention_scores(query, k, is_causal=True), least=32)
        for k in (key, key + 3)
    )
    for name in ("row_std", "sigma", "squares", "tail", "dependence", "largest", "rest_entropy"):
        torch.testing.assert_close(plain[name], shifted[name])
    assert shifted["key_shared"] > 0.8
    assert shifted["total_std"] > 1.4 * plain["total_std"]


def test_another_basis_leaves_the_scores_and_their_rank_and_not_the_alignment():
    """The products stay if queries are mapped by A and keys by the inverse of its transpose."""
    long = torch.arange(1.0, 9.0).double()
    query, key = normal(4, 1, 64, 8, seed=5) * long, normal(4, 1, 64, 8, seed=6) * long
    other = torch.diag(long)
    before, after = (
        head_figures(q, k, attention_scores(q, k, is_causal=True), least=32)
        for q, k in ((query, key), (query @ other, key @ other.inverse().mT))
    )
    for name in ("score_rank", "row_std", "squares", "dependence"):
        torch.testing.assert_close(before[name], after[name])
    assert 1 < before["score_rank"].item() < 6
    assert after["key_rank"] > 1.5 * before["key_rank"]
    assert before["alignment"] > 1.5
    assert after["alignment"].item() == pytest.approx(1.0, abs=0.1)


def test_a_sink_is_seen_and_taken_away():
    query, key = normal(1, 1, 64, 8, seed=7), normal(1, 1, 64, 8, seed=8)
    scores = attention_scores(query, key, is_causal=True)
    sunk = scores.clone()
    sunk[..., 0] += 12.0
    plain, figures = (head_figures(query, key, z, least=32) for z in (scores, sunk))
    assert figures["first_weight"] > 0.99
    assert figures["first_largest"] == 1.0
    for name in WITHOUT_FIRST:
        torch.testing.assert_close(figures[f"rest_{name}"], plain[f"rest_{name}"])


def test_what_place_alone_decides_is_told_from_what_is_read():
    place = attention_scores(normal(1, 2, 40, 8, seed=1), normal(1, 2, 40, 8, seed=2))
    read = attention_scores(normal(50, 2, 40, 8, seed=3), normal(50, 2, 40, 8, seed=4))
    hidden = torch.ones(40, 40).triu(1).bool()
    both = place + read

    def squares(scores):
        rows = (scores[:, :, i, : i + 1] for i in range(9, 40, 3))
        return sum((z.var(-1, correction=0) * z.shape[-1]).mean(0) for z in rows)

    of_both = (squares(place) / squares(both)).tolist()
    for share, scores in (([1.0] * 2, place + 0 * read), ([0.0] * 2, read), (of_both, both)):
        part = position_part(scores.masked_fill(hidden, -torch.inf), least=10)
        assert part.tolist() == pytest.approx(share, abs=0.05)  # 50 passages
    assert all(0.2 < share < 0.8 for share in of_both)
    with pytest.raises(ValueError, match="scores must be of at least 2 passages, got 1"):
        position_part(place)


def test_rows_are_parted_into_place_and_what_is_read():
    """Scores that rise evenly towards the query have short tails; what is read on top is normal."""
    place = 0.1 * torch.arange(128.0).double().expand(2, 128, 128)
    read = normal(50, 2, 128, 128, seed=3)
    hidden = torch.ones(128, 128).triu(1).bool()
    scores = (place + read).masked_fill(hidden, -torch.inf)
    figures = parted_figures(scores, place)
    assert figures["read_sigma"].tolist() == pytest.approx([1.0] * 2, abs=0.01)
    assert figures["read_tail_normal"].tolist() == pytest.approx([1.0] * 2, abs=0.02)
    assert figures["read_lag"].tolist() == pytest.approx([0.0] * 2, abs=0.02)
    assert (figures["place_lag"] > 0.9).all()
    assert figures["read_kurtosis"].tolist() == pytest.approx([-6 / 97] * 2, abs=0.03)
    assert figures["place_kurtosis"].tolist() == pytest.approx([-1.2] * 2, abs=0.01)  # uniform
    assert (figures["place_tail_normal"] < 0.5).all()
    whole = head_figures(normal(50, 2, 128, 4, seed=1), normal(50, 2, 128, 4, seed=2), scores)
    # both are as spread as the row
    assert figures["read_squares"].tolist() == pytest.approx(
        whole["squares_normal"].tolist(), rel=0.05
    )
    assert (figures["place_squares"] < 0.5 * figures["read_squares"]).all()


@pytest.mark.parametrize(("sigma", "n"), [(2.0, 100), (12.0, 70)])
def test_normal_rows_are_those_that_are_drawn(sigma, n):
    rows = normal(4000, n, seed=9)
    rows = sigma * (rows - rows.mean(-1, keepdim=True)) / rows.std(-1, correction=0, keepdim=True)
    weights = torch.softmax(rows, -1)
    entropy, squares, tail = normal_rows(torch.tensor(sigma), torch.tensor(n))
    # 4,000 rows leave errors of half a per cent, and interpolation as much again
    assert squares.item() == pytest.approx(weights.square().sum(-1).mean().item(), rel=0.02)
    own = torch.special.entr(weights).sum(-1).mean().item() / math.log(n)
    assert entropy.item() == pytest.approx(own, abs=0.005)
    assert sigma * tail.item() == pytest.approx(tail_scale(rows).mean().item(), rel=0.03)


@pytest.mark.parametrize("n", [100, 10_000])
def test_an_exponential_tail_has_its_scale_at_every_length(n):
    uniform = torch.rand(200_000 // n, n, generator=torch.Generator().manual_seed(0)).double()
    assert tail_scale(-1.5 * uniform.log()).mean().item() == pytest.approx(1.5, rel=0.05)


# The decoder


def test_turning_is_multiplication_by_complex_numbers():
    """Component i and component i + d/2 are a complex number; by its definition, one by one."""
    x = normal(2, 5, 6, seed=1)
    rotated = turned(x)
    for passage, place, i in itertools.product(range(2), range(5), range(3)):
        number = complex(x[passage, place, i], x[passage, place, i + 3])
        number *= cmath.exp(1j * place * 10_000 ** (-2 * i / 6))
        pair = rotated[passage, place, i].item(), rotated[passage, place, i + 3].item()
        assert pair == pytest.approx((number.real, number.imag), abs=1e-6)


def test_turned_scores_tell_only_how_far_apart_places_are():
    """Without what is read, the scores of a diagonal are one number, and diagonals differ."""
    query, key = (turned(normal(8, seed=s).expand(1, 1, 20, 8)) for s in (1, 2))
    scores = (query @ key.mT)[0, 0]
    diagonals = [scores.diagonal(-m) for m in range(20)]
    for diagonal in diagonals:
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5, rtol=0)
    assert torch.stack([d[0] for d in diagonals]).diff().abs().min() > 1e-3


@pytest.mark.parametrize("positions", POSITIONS)
def test_decoders_differ_at_their_start_by_how_they_know_places(positions):
    model = make_model(ROOT, SMALL)
    other = make_model(ROOT, replace(SMALL, positions=positions))
    stds, start = POSITIONS[positions], other.state_dict()
    for name, values in model.state_dict().items():
        std = dict(zip(("embedding.byte", "embedding.place"), stds, strict=True)).get(name, 1.0)
        assert (name in start) == (std > 0)
        assert std == 0 or torch.equal(start[name], std * values)
    same = torch.full((1, 16), 97)  # one byte, so that only a place tells keys apart
    scores = other.blocks[0].attention.scores(other.blocks[0].attended(other.embedded(same)))
    assert scores[0, 0, -1].std() > 1e-4


@pytest.mark.parametrize(
    ("scaling", "d_k"), [("general", 8), ("sqrt_d_k", 7)], ids=("no keys", "no pairs")
)
def test_what_cannot_be_turned_is_refused(scaling, d_k):
    with pytest.raises(ValueError, match="rotary must turn pairs of components"):
        make_model(DecoderRun(scaling, d_k), replace(SMALL, positions="rotary"))


KINDS = [(name, "learned") for name in SCALINGS] + [("sqrt_d_k", "rotary"), ("qk_norm", "rotary")]


@pytest.mark.parametrize(("scaling", "positions"), KINDS)
def test_a_decoder_sees_nothing_that_comes_later(scaling, positions):
    model = make_model(DecoderRun(scaling, 8), replace(SMALL, positions=positions))
    tokens = torch.arange(2, 18).unsqueeze(0)
    changed = tokens.clone()
    changed[0, 10:] = 99
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :10], after[:, :10])
    assert not torch.allclose(before[:, 10:], after[:, 10:])


@pytest.mark.parametrize(("scaling", "positions"), KINDS)
def test_layers_are_looked_at_as_they_are_computed(scaling, positions):
    """Attention from the scores that are measured is the attention of the model, and the products
    that are measured go into these scores.
    """
    model = make_model(DecoderRun(scaling, 8), replace(SMALL, positions=positions))
    tokens = torch.arange(16).unsqueeze(0)
    x = model.embedded(tokens)
    attention = model.blocks[0].attention
    looked_at = model.blocks[0].attended(x)
    if scaling in RESCALINGS:
        layer = next(layers_of(model, tokens))
        torch.testing.assert_close(other_scores(layer.query, layer.key, scaling), layer.scores)
    torch.testing.assert_close(
        attention.attend(looked_at, attention.scores(looked_at)), attention(looked_at)
    )


def test_weight_rank_is_that_of_the_product(model):
    attention = model.blocks[1].attention
    query, key = (m.weight.view(2, 8, 16).double() for m in (attention.query, attention.key))
    squares = torch.linalg.svdvals(query.mT @ key) ** 2
    torch.testing.assert_close(
        weight_rank(attention), squares.sum(-1) ** 2 / squares.square().sum(-1)
    )


@pytest.mark.parametrize("name", SWAPS)
def test_a_temperature_undoes_what_is_only_one(name, corpus):
    """The root and every other power of d_k differ by a temperature; the lengths of single keys and
    the number of keys are more than that.
    """
    model = make_model(ROOT, SMALL)
    for block in model.blocks:  # scores that matter
        block.attention.query.weight.data *= 4
    passages = corpus.passages(4, 16)
    own = held_out_loss(model, passages)
    factors = temperatures(model, passages, name)
    matched = swapped_losses(model, passages, name, factors).mean().item()
    if name in ("none", "sqrt_d_k", "d_k"):
        assert matched == pytest.approx(own, abs=1e-5)
    else:
        assert abs(matched - own) > 1e-5
    if name == "sqrt_d_k":
        as_it_is = swapped_losses(model, passages, name).mean().item()
        assert as_it_is == pytest.approx(own, abs=1e-6)
    assert held_out_loss(model, passages) == own  # as it was


def test_uniform_attention_gives_every_key_the_same(corpus):
    """A model without queries attends so by itself, and one head at a time is not all of them."""
    model, blind = make_model(ROOT, SMALL), make_model(ROOT, SMALL)
    for block in blind.blocks:
        block.attention.query.weight.data.zero_()
    passages = corpus.passages(4, 16)
    flat = passage_losses(blind, passages)
    every = [(layer, head) for layer in range(2) for head in range(2)]
    torch.testing.assert_close(uniform_losses(model, passages), flat)
    torch.testing.assert_close(uniform_losses(model, passages, *every), flat)
    one = uniform_losses(model, passages, (1, 0))
    model.blocks[1].attention.query.weight.data[:8] = 0.0  # of head 0
    torch.testing.assert_close(one, passage_losses(model, passages))
    assert not torch.allclose(one, flat)


def test_scores_by_place_alone_are_the_same_for_every_passage(corpus):
    model = make_model(ROOT, SMALL)
    same = corpus.passages(1, 16).expand(3, -1)
    places = place_scores(model, same, at_a_time=2)
    # the passage's own scores, but for the means of rows
    torch.testing.assert_close(place_losses(model, same, places), passage_losses(model, same))
    other = place_scores(model, corpus.passages(3, 16))
    assert not torch.allclose(place_losses(model, same, other), passage_losses(model, same))


# The trainings


@pytest.fixture(scope="module")
def trained(library, corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return train(ROOT, -2.0, SMALL, corpus, folder), folder


def test_a_short_training_learns(trained):
    done, folder = trained
    assert done["step"] == 6
    assert (len(done["training"]), len(done["held_out"])) == (3, 4)
    assert done["held_out"][-1] < done["held_out"][0]
    assert sorted(path.name for path in folder.glob("*.weights")) == [
        f"{ROOT.name}, step {step}.weights" for step in (0, 3, 6)
    ]


def test_a_training_leaves_small_numbers_as_they_were(trained):
    """What another test computes next in this process must not depend on it."""
    assert torch.tensor(1e-310, dtype=torch.float64) * 0.5 > 0


def test_an_interrupted_training_goes_on_to_the_same_end(trained, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(resuming, "SAVE_EVERY", 0.0)
    halfway = train(ROOT, -2.0, SMALL, corpus, tmp_path, until=3)
    assert halfway["step"] == 3
    done = train(ROOT, -2.0, SMALL, corpus, tmp_path)
    assert done == trained[0]
    once_more = train(ROOT, -2.0, SMALL, corpus, tmp_path)
    assert once_more == done
    for step in (3, 6):
        ours, theirs = (
            training.load_model(ROOT, step, SMALL, folder).state_dict()
            for folder in (tmp_path, trained[1])
        )
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_matrices_start_as_they_are_told():
    """The same draws, as long as the start says; vectors of bytes as the positions say."""
    start = make_model(ROOT, SMALL).state_dict()
    small = make_model(ROOT, AS_PEOPLE).state_dict()
    for name, inputs in (("blocks.0.attention.query", 16), ("blocks.1.perceptron.2", 64)):
        expected = start[f"{name}.weight"] * 0.02 * inputs**0.5
        torch.testing.assert_close(small[f"{name}.weight"], expected)
    torch.testing.assert_close(small["embedding.byte"], start["embedding.byte"] * 0.02)


def test_decay_is_taken_from_matrices_alone():
    """By one step whose gradients are all 0."""
    model = make_model(DecoderRun("qk_norm", 8), AS_PEOPLE)
    optimiser = make_optimiser(model, -2.0, AS_PEOPLE)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for parameter in model.parameters():
        parameter.data += 1 - parameter.data if parameter.dim() == 1 else 0
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    for name, after in model.named_parameters():
        value = 1.0 if after.dim() == 1 else before[name]
        decayed = (name.endswith("weight") and "norm" not in name) or name == "embedding.byte"
        expected = value * (1 - 0.01 * 0.1) if decayed else value
        torch.testing.assert_close(after.detach(), torch.zeros_like(after) + expected, msg=name)
    assert model.blocks[0].attention.log_scale is not None  # and one of another shape was there


def test_without_decay_the_optimiser_is_adam(corpus):
    models = [make_model(ROOT, SMALL) for _ in range(2)]
    own, adam = (
        make_optimiser(models[0], -2.0, SMALL),
        torch.optim.Adam(models[1].parameters(), 0.01),
    )
    for step in range(3):
        for model, optimiser in zip(models, (own, adam), strict=True):
            optimiser.zero_grad()
            passage_losses.__wrapped__(model, corpus.batch(2, 16, 0, step)).mean().backward()
            optimiser.step()
    for one, other in zip(*(m.parameters() for m in models), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_only_heads_above_tau_are_clipped_and_to_tau(positions, corpus):
    """W_Q and W_K of a head by the same factor, also where places turn what they give."""
    model = make_model(CLIP, replace(SMALL, positions=positions))
    attention = model.blocks[0].attention
    attention.query.weight.data[:8] *= 4  # head 0
    x = model.embedded(corpus.passages(2, 16)[:, :-1])
    before = attention.scores(x).amax((0, 2, 3))
    weights = [m.weight.detach().clone() for m in (attention.query, attention.key)]
    tau = before.mean().item()
    assert before[0] > tau > before[1]
    clip_heads(model, [before, before * 0 - 1.0], tau)  # no score of layer 2 is above 0
    after = attention.scores(x).amax((0, 2, 3))
    assert after.tolist() == pytest.approx([tau, before[1].item()])
    for module, weight in zip((attention.query, attention.key), weights, strict=True):
        torch.testing.assert_close(module.weight[:8], weight[:8] * (tau / before[0]).sqrt())
        assert torch.equal(module.weight[8:], weight[8:])
    start = make_model(CLIP, replace(SMALL, positions=positions)).blocks[1].attention
    assert torch.equal(model.blocks[1].attention.query.weight, start.query.weight)


def test_clipping_holds_the_largest_score(corpus, tmp_path):
    settings, tops = replace(AS_PEOPLE, decay=0.0), {}
    for run in (ROOT, CLIP):
        train(run, -1.0, settings, corpus, tmp_path)
        model = training.load_model(run, 6, settings, tmp_path)
        batch = corpus.batch(settings.batch, settings.n_tokens, 0, 5)  # the last that was seen
        tops[run] = [z.scores.amax((0, 2, 3)).max() for z in layers_of(model, batch[:, :-1])]
    assert max(tops[ROOT]) > 10 * settings.tau
    # the step in between was clipped by what it was before that step
    assert max(tops[CLIP]) < 3 * settings.tau


def test_a_clipped_training_goes_on_to_the_same_end(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(resuming, "SAVE_EVERY", 0.0)
    whole = train(CLIP, -2.0, AS_PEOPLE, corpus, tmp_path / "whole")
    train(CLIP, -2.0, AS_PEOPLE, corpus, tmp_path / "parts", until=3)
    assert train(CLIP, -2.0, AS_PEOPLE, corpus, tmp_path / "parts") == whole


def test_a_single_rate_is_taken_without_a_trial(library, tmp_path, capsys):
    plan = {"causal": Study(replace(AS_PEOPLE, fixed_first=True), (CLIP,), 0)}
    make(tmp_path, plan, library=library)
    assert capsys.readouterr().err.splitlines()[-1] == f"3 of 3 stored in {tmp_path}"
    results = load_results(tmp_path / "causal.json.gz")
    assert results[CLIP].rate == -2.0
    assert results.trials == {CLIPPED: {}}
    assert results.provenance["settings"]["start"] == "0.02"
    own = load_corpus(library, fixed_first=True)
    model = training.load_model(CLIP, 6, plan["causal"].settings, tmp_path / "state" / "causal")
    assert results[CLIP].held_out[-1] == pytest.approx(
        held_out_loss(model, own.passages(4, 16)), rel=1e-4
    )


def test_a_study_is_made_and_read_again(library, tmp_path, capsys, monkeypatch):
    path, runs = tmp_path / "out" / "heads.json.gz", (ROOT, DecoderRun("log_n", 8))
    plan = {"heads": Study(SMALL, runs, 2)}
    state = path.parent / "state" / "heads"
    make(path.parent, plan, library=library)
    lines = capsys.readouterr().err.splitlines()
    assert (lines[0], lines[-1]) == tuple(f"{k} of 9 stored in {path.parent}" for k in (0, 9))
    results = load_results(path)
    result = results[ROOT]
    assert result.moments == [0, 3, 6]
    assert result.figures["sigma"].shape == result.factors.shape == (3, 2, 2)
    assert (result.factors == 1).all()
    assert (results[runs[1]].factors != 1).all()
    assert result.rate in SMALL.rates
    assert set(results.trials) == {"sqrt_d_k", "log_n"}
    assert set(result.swaps) == set(SWAPS)
    assert set(result.changes) == {*SWAPS, "uniform", "place"}
    for name in SWAPS:  # the same differences, of losses rounded to four digits
        assert result.changes[name][0] == pytest.approx(
            result.swaps[name][1] - result.loss, abs=2e-3
        )
    assert result.parted["uniform"].shape == result.parted["read_squares"].shape == (2, 2)
    assert [len(losses) for losses in results.baselines.values()] == [ORDERS, ORDERS]
    assert result.swaps["sqrt_d_k"][0] == pytest.approx(result.loss, abs=1e-3)
    query, key = load_vectors(ROOT, "line", path)
    assert results.kept_steps[f"{ROOT.name}, line"] == [0, 6]
    assert query.shape == key.shape == (2, 2, 2, 16, 8)
    assert load_vectors(runs[1], "line", path)[0].shape == (1, 2, 2, 16, 8)
    value, output = load_values(ROOT, "line", path)
    model = training.load_model(ROOT, 6, SMALL, state)
    x = model.embedded(torch.tensor(list(LINE.encode()[:16])).unsqueeze(0))
    for layer, block in enumerate(model.blocks):
        weights = attention_weights(query[-1, layer], key[-1, layer], is_causal=True)
        added = block.attention(block.attended(x))[0]
        torch.testing.assert_close(
            (weights @ value[layer] @ output[layer]).sum(0), added, rtol=0.01, atol=0.01
        )
        x = block(x)
    places = load_places(ROOT, "line", path)
    assert places.shape == (2, 2, 2, 16, 16)
    placing = load_corpus(library).batch(PLACED, SMALL.n_tokens, CHOOSING, SMALL.steps + 1)
    means = torch.stack(place_scores(model, placing)).float()
    torch.testing.assert_close(places[-1], means, rtol=1e-3, atol=1e-3)
    for load in (load_values, load_places):
        with pytest.raises(ValueError, match="run and passage"):
            load(runs[1], "line", path)
    with pytest.raises(ValueError, match="run 'sqrt_d_k, d_k 31, seed 0'"):
        results[DecoderRun("sqrt_d_k", 31)]
    # what is stored is not made again, and nothing with other settings is written over it
    content = path.read_bytes()
    make(path.parent, plan)
    assert path.read_bytes() == content
    with pytest.raises(ValueError, match="d_model is 16 and not 128"):
        make(path.parent, {"heads": Study(Settings(), runs, 2)})
    with pytest.raises(ValueError, match="folder must hold a study with these settings"):
        training.check_folder(state, Settings(), library)
    # without the files and one measurement, that one is made again, and no decoder is trained
    path.unlink()
    (state / f"{ROOT.name}, measured.json").unlink()
    monkeypatch.setattr(training, "train", None)
    make(path.parent, plan, library=library)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"moments": (0, 601)}, "moments must lie between 0 and steps = 600"),
        ({"trial_steps": 50}, "trial_steps must be a multiple of every = 30"),
        ({"positions": "rotery"}, "'rotary'"),
        ({"start": "0.2"}, "start '0.2' is not known"),
        ({"decay": -0.1}, "decay must be a finite number of at least 0, got -0.1"),
        ({"beta_2": 1.0}, "beta_2 must be at least 0 and less than 1, got 1.0"),
        ({"tau": 0.0}, "tau must be a finite number greater than 0, got 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        Settings(**settings)


# The picture


def test_the_ground_is_as_dark_as_the_root_of_the_weight():
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.5, 0.3, 0.2]])
    _, ax = plotting.figure()
    looked_at(ax, "a \n", weights, rows=(1, 2))
    shades = [patch.get_facecolor()[3] for patch in ax.patches]
    assert shades == pytest.approx([DARKEST * math.sqrt(x) for x in (0.25, 0.75, 0.5, 0.3, 0.2)])
    assert [text.get_text() for text in ax.texts] == ["a", "·", "a", "·", "⏎"]
    with pytest.raises(ValueError, match="n = 4 characters, got"):
        looked_at(ax, "four", weights, rows=(1,))
    plt.close()


# What is stored


def test_every_declared_run_is_stored(stored):
    name, stored = stored
    assert set(stored.results) >= {run.name for run in STUDIES[name].runs}
    settings, corpus = stored.provenance["settings"], stored.provenance["corpus"]
    declared = json.loads(json.dumps(asdict(STUDIES[name].settings)))
    default = json.loads(json.dumps(asdict(Settings())))  # of what the older ones do not note
    assert declared.items() <= (default | settings).items()
    assert corpus["held_out"] == [module for module in corpus["files"] if is_held_out(module)]
    for name, result in stored.results.items():
        assert result.step == settings["steps"], name
        assert result.moments == settings["moments"]
        shape = (len(result.moments), settings["n_layers"], settings["n_heads"])
        assert {values.shape for values in result.figures.values()} == {shape}
        assert all(values.isfinite().all() for values in result.figures.values())
        trials = stored.trials[result.run.scaling] or {str(*settings["rates"]): 0.0}
        assert result.rate == training.best_rate(trials)


def test_what_holds_scores_is_read_by_start_and_decay():
    causal = load_causal()
    assert set(causal) == set(itertools.product(("1/inputs", "0.02"), (0.1, 0.0)))
    for (start, decay), results in causal.items():
        settings = results.provenance["settings"]
        assert (settings["start"], settings["decay"]) == (start, decay)
        scalings = {result.run.scaling for result in results.results.values()}
        assert scalings == {"none", "sqrt_d_k", "d_k", "qk_norm", CLIPPED}
    results = causal["1/inputs", 0.1]
    of_seeds = mean_over_heads(results, "sqrt_d_k", "sigma")
    assert of_seeds.shape == (2, 6)
    second = results[DecoderRun("sqrt_d_k", seed=1)].figures["sigma"]
    torch.testing.assert_close(of_seeds[1], second.flatten(1).mean(1))
    with pytest.raises(ValueError, match="scaling 'log_n' is not known"):
        mean_over_heads(results, "log_n", "sigma")
    with pytest.raises(ValueError, match="figure 'sigmas' is not known"):
        mean_over_heads(results, "sqrt_d_k", "sigmas")


def test_clipped_heads_stay_near_tau_where_the_root_went_beyond():
    """On passages that were not trained on, so that a score can be a little above."""
    for (_, decay), results in load_causal().items():
        tau = results.provenance["settings"]["tau"]
        clipped, root = (
            results[DecoderRun(scaling)].figures["top_score"] for scaling in (CLIPPED, "sqrt_d_k")
        )
        assert clipped.max() < 1.3 * tau, decay
        assert root.flatten(1).amax(1).max() > 2 * tau


@pytest.mark.parametrize("content", ["", '{"results": {}}'])
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "other.json.gz"
    path.write_bytes(gzip.compress(content.encode()))
    with pytest.raises(ValueError, match="path must hold results"):
        load_results(path)


@pytest.mark.parametrize("passage", ["line", "held out"])
def test_stored_figures_follow_from_stored_queries_and_keys(stored, passage):
    """Half precision rounds each component by up to 2^-11 of it; a score of 20 by about 0.01."""
    name, stored = stored
    run, path = STUDIES[name].runs[0], STORED.with_name(f"{name}.json.gz")
    assert bool(stored.kept_steps) == (STUDIES[name].kept_moments > 0)
    if not stored.kept_steps:
        return
    query, key = (x[-1] for x in load_vectors(run, passage, path))  # (layers, heads, n, d_k)
    checks = stored.checks[f"{run.name}, {passage}"]
    for layer, (q, k) in enumerate(zip(query.unsqueeze(1), key.unsqueeze(1), strict=True)):
        scores = attention_scores(q, k, is_causal=True, rescaling=run.scaling)
        figures = head_figures(q, k, scores, least=q.shape[2] // 2, stride=1)
        assert set(figures) - set(checks) <= {"top_score"}  # which the older ones lack
        for figure, values in figures.items():
            if figure not in checks:
                continue
            torch.testing.assert_close(
                values,
                checks[figure][layer],
                rtol=0.01,
                atol=0.01,
                msg=lambda message, figure=figure: f"{figure}: {message}",
            )


def test_what_heads_add_follows_from_stored_values(stored):
    name, stored = stored
    if STUDIES[name].kept_moments < 2:
        return
    run, path = STUDIES[name].runs[0], STORED.with_name(f"{name}.json.gz")
    query, key = (x[-1] for x in load_vectors(run, "line", path))
    weights = attention_weights(query, key, is_causal=True, rescaling=run.scaling)
    added = contribution(weights, *load_values(run, "line", path)).double()
    expected = stored.checks[f"{run.name}, line"]["contribution"]
    torch.testing.assert_close(added, expected, rtol=0.01, atol=0.01)


def test_the_same_model_divides_its_own_scores_in_a_swap(stored):
    for name, result in stored[1].results.items():
        own = result.run.scaling
        if own in result.swaps and own not in ("qk_norm", "log_n"):
            assert result.swaps[own][0] == pytest.approx(result.loss, abs=2e-3), name
