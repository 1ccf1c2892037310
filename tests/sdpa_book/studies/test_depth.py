"""The first gradient through many blocks: the stored measurements come out again, and the recursion
agrees with autograd.
"""

import json
import math

import pytest
import torch

from sdpa_book.studies import depth
from sdpa_book.studies.depth import Depth, first_gradient, mean_field, softmax_rows
from sdpa_book.studies.depth import decoder as decoding
from sdpa_book.studies.depth import run as making
from sdpa_book.studies.depth.decoder import passages, text, trained
from sdpa_book.studies.depth.plan import load_plan, models
from sdpa_book.studies.depth.read import STORED as FILE
from sdpa_book.studies.training import Run, make_model
from sdpa_lib.sampling import sample

STORED = depth.load_depth()[1]
PLAN = """
[tiny]
question = "?"
scalings = ["none", "sqrt_d_k"]
d_k = [4]
n_layers = [1]
norms = ["pre"]
seeds = 2
"""


def test_every_model_that_is_declared_is_stored_with_every_seed():
    for cell, seeds in models(load_plan().values()).items():
        starts = STORED[cell]
        assert len(starts.total) == len(starts.first) == seeds * cell.batches
        if cell.shape == "decoder":
            lists = starts.loss, starts.undecided, starts.without_undecided, starts.without_decided
            assert {len(numbers) for numbers in lists} == {seeds * cell.batches}
        assert len(starts.query) == len(starts.key) == cell.n_layers
        assert len(starts.gradient) == len(starts.variance) == cell.n_layers + 1


def test_a_study_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    """What is there is kept as it is, and what was made elsewhere stands beside it."""
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = load_plan(tmp_path / "plan.toml")
    making.make(tmp_path, plan)
    path = tmp_path / FILE.name
    whole = depth.load_depth(path)[1]
    assert list(whole) == list(models(plan.values()))
    content = json.loads(path.read_text())
    content["measured"].pop()
    content["provenance"]["device"] = "another device"
    path.write_text(json.dumps(content))
    measured = []
    monkeypatch.setattr(
        making, "first_gradient", lambda *run: measured.append(run) or first_gradient(*run)
    )
    making.make(tmp_path, plan)
    again = depth.load_depth(path)[1]
    assert measured == [(Depth(4, 1, "sqrt_d_k"), seed) for seed in (0, 1)]
    for cell, starts in whole.items():
        assert again[cell].total == starts.total
        assert bool(again[cell].made_with) == (cell.scaling == "sqrt_d_k")


@pytest.mark.parametrize(
    "cell",
    [
        Depth(16, 2, "sqrt_d_k"),
        Depth(64, 8, "none"),
        Depth(16, 8, "none", "post"),
        Depth(64, 2, "sqrt_d_k", "post"),
        Depth(16, 2, "none", start="nn.Linear"),
        Depth(64, 2, "none", branch="1/sqrt(L)"),
    ],
    ids=str,
)
def test_a_stored_measurement_comes_out_again(cell):
    """In double precision also undivided models repeat, from one processor to the next."""
    for seed in (0, 7):
        start = first_gradient(cell, seed)
        assert start.total == pytest.approx(STORED[cell].total[seed], rel=1e-3)
        assert start.gradient[0] == pytest.approx(STORED[cell].first[seed], rel=1e-3)


def test_stored_decoders_come_out_again():
    """Where the standard library is the one that was read."""
    cell = Depth(64, 2, "none", shape="decoder")
    there = STORED[cell]
    if there.made_with["text"] != text().sha256:
        pytest.skip("another version of the standard library")
    measured = making.measure(cell, seeds=2)
    for name in ("total", "first", "loss", "without_undecided", "without_decided"):
        assert getattr(measured, name) == pytest.approx(getattr(there, name)[:2], rel=1e-3), name


def test_queries_that_are_all_undecided_are_the_whole_gradient():
    """Of d_k / 64 the weights are nearly even: nobody decides, and all goes through the undecided;
    without them what is left is what the values hand down.
    """
    cell = Depth(64, 4, "sigma 0.01")
    model, batch = depth.started(cell, 0), depth.first_batch(cell, 0)
    whole = first_gradient(cell, 0).gradient[0]
    growth, share = depth.without(model, *batch, "decided")
    assert (growth, share) == (pytest.approx(whole), 1.0)
    wide = Depth(64, 4, "none")
    model, batch = depth.started(wide, 0), depth.first_batch(wide, 0)
    left = depth.without(model, *batch, "undecided")[0]
    for block in model.blocks:  # scores that are constants carry nothing
        scores = block.attention.scores
        block.attention.forward = lambda x, layer=block.attention, of=scores: layer.attend(
            x, torch.where(of(x).softmax(-1).amax(-1, keepdim=True) < 0.9, of(x).detach(), of(x))
        )
    assert left == pytest.approx(making.gradient_of(model, *batch).gradient[0])
    assert left < first_gradient(wide, 0).gradient[0] / 2


def test_without_whom_is_checked():
    cell = Depth(4, 1, "none")
    with pytest.raises(ValueError, match=r"who 'all' is not known.*undecided, decided"):
        depth.without(depth.started(cell, 0), *depth.first_batch(cell, 0), "all")
    post = Depth(4, 1, "none", "post")
    with pytest.raises(ValueError, match="model must be pre-norm"):
        depth.without(depth.started(post, 0), *depth.first_batch(post, 0), "decided")


def test_a_training_goes_on_where_another_moment_left_it(tmp_path, monkeypatch):
    """What is kept is used, and gives the same model."""
    cell = Depth(4, 1, "none", shape="decoder", steps=2)
    trained(cell, 0, tmp_path)
    asked = []
    monkeypatch.setattr(
        decoding, "passages", lambda *given: asked.append(given[-1]) or passages(*given)
    )
    longer = trained(cell._replace(steps=4), 0, tmp_path).state_dict()
    assert asked == [2, 3]
    whole = trained(cell._replace(steps=4), 0).state_dict()
    assert asked == [2, 3, 0, 1, 2, 3]
    for name, weight in whole.items():
        assert torch.allclose(weight, longer[name], atol=1e-6), name
    earlier = trained(cell, 0, tmp_path).state_dict()  # from its start: the state is further
    assert asked[6:] == [0, 1]
    assert not torch.equal(earlier["read_out.weight"], whole["read_out.weight"])


def test_what_trainings_went_on_from_is_removed_once_all_is_stored(tmp_path):
    """A decoder's state is as large as three models, and two questions share it."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN + 'shape = "decoder"\nsteps = 1\n')
    making.make(tmp_path, load_plan(plan))
    assert len(depth.load_depth(tmp_path / FILE.name)[1]) == 2
    assert not list(tmp_path.rglob("*.state"))


def test_the_gradients_norm_is_that_of_a_finite_difference():
    """Along the gradient at W_Q of the first block, the loss rises by its norm."""
    cell = Depth(16, 2, "none")
    model = make_model(Run(cell.in_study, cell.scaling, 0.0, 3)).double()
    (patches,), answers = depth.TASK.batch(3, 0)

    def loss():
        features = depth.TASK.logits(model(patches.double()))
        return torch.nn.functional.cross_entropy(features, answers)

    weight = model.blocks[0].attention.query.weight
    (gradient,) = torch.autograd.grad(loss(), weight)
    step = 1e-5 * gradient / gradient.norm()
    with torch.no_grad():
        weight += step
        above = loss().item()
        weight -= 2 * step
        below = loss().item()
    rise = (above - below) / 2e-5
    assert first_gradient(cell, 3).query[0] == pytest.approx(rise, rel=1e-5)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(
    ("norm", "scaling"), [("pre", "none"), ("pre", "sqrt_d_k"), ("post", "none")]
)
def test_the_recursion_is_what_one_block_does(norm, scaling, correlation):
    n, d_k, models, batch = 16, 64, 40, 8
    measured = []
    for seed in range(models):
        block = make_model(Run(Depth(d_k, 1, scaling, norm).in_study, scaling, 0.0, seed)).blocks[0]
        own, common, upstream = (
            sample(batch, tokens, 64, seed=seed, stream=stream, dtype=torch.float64, device="cpu")
            for stream, tokens in enumerate((n, 1, 1), start=10)
        )
        x = math.sqrt(1 - correlation) * own + math.sqrt(correlation) * common
        out = block.double()(x.requires_grad_())
        (gradient,) = torch.autograd.grad(out, x, upstream.expand_as(out))
        measured.append((gradient.square().mean() / upstream.square().mean()).item())
    r = depth.relative_divisor(scaling, n, d_k)
    first, last = mean_field(1, r, n_tokens=n, norm=norm, correlation=correlation).gradient
    assert (first / last) ** 2 == pytest.approx(sum(measured) / models, rel=0.12)


def test_the_stream_grows_and_tokens_become_alike_as_the_recursion_says():
    cell = Depth(64, 24, "sqrt_d_k")
    starts = STORED[cell]
    predicted = mean_field(
        24, 1.0, n_tokens=16, variance=starts.variance[0], correlation=1 - starts.apart[0]
    )
    assert predicted.variance[-1] == pytest.approx(starts.variance[-1], rel=0.3)
    assert predicted.correlation[-1] == pytest.approx(1 - starts.apart[-1], abs=0.15)


def test_softmax_rows_have_their_limits():
    even = softmax_rows(0.0, 0.3, 8)
    assert even == pytest.approx((1 / 8, 1 / 8, 7 / 64, 7 / 64))
    sharp = softmax_rows(64.0, 1.0, 16, n_rows=100_000)
    assert sharp.response == pytest.approx(depth.gap_density(16) / (3 * 64), rel=0.05)
    assert sharp.shared == pytest.approx(sharp.repeated)


def test_the_gap_density_is_what_a_draw_has():
    best = sample(400_000, 16, seed=1, dtype=torch.float64, device="cpu").topk(2).values
    close = (best[:, 0] - best[:, 1] < 0.02).double().mean().item() / 0.02
    assert depth.gap_density(16) == pytest.approx(close, rel=0.05)


@pytest.mark.parametrize("gradients", [0.0, 0.5, 1.0])
def test_an_attention_among_equal_tokens_hands_on_what_it_gets(gradients):
    """All weights are 1/n, and nothing goes through queries and keys, whatever the divisor."""
    n = 4
    for divisor in (1.0, 8.0):
        like = {"n_tokens": n, "models": 400, "correlation": 1.0, "gradients": gradients}
        measured = depth.attention_gain(64, divisor, **like)
        assert abs(measured.value - (1 + (n - 1) * gradients) / n) < 4 * measured.error


def test_what_an_attention_hands_down_is_computed():
    for d_k, divisor in ((16, 1.0), (64, 8.0)):
        r = divisor / math.sqrt(d_k)
        rows = softmax_rows(1 / r, 0.0, 16)
        measured = depth.attention_gain(d_k, divisor, width=128, models=100)
        computed = rows.repeated + 2 * rows.response / r**2
        assert measured.value == pytest.approx(computed, rel=0.1)


def test_perceptron_products_at_no_correlation():
    """The squares of the means of GELU, 1/(2 sqrt(pi)), and of its slope, 1/2."""
    assert depth.perceptron_products(0.0) == pytest.approx((1 / (4 * math.pi), 1 / 4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"r": 0.0}, "r must be"),
        ({"norm": "before"}, "norm"),
        ({"correlation": 1.5}, r"correlation must lie in \[-1, 1\], got 1.5"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        mean_field(**{"n_layers": 2, "r": 1.0, "n_tokens": 16} | change)
