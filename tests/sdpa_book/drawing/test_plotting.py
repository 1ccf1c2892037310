"""What the plotting functions draw, and that its colours can be told apart."""

import itertools
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
import torch
from colours import contrast, linear, rgb

from sdpa_book.drawing import plotting, svg
from sdpa_lib import RESCALINGS, PowerOfDk, get_rescaling, key_lengths
from sdpa_lib.sampling import sample

# Linear-RGB matrices of full-strength colour-vision deficiency, Machado et al. (2009).
DEFICIENCIES = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
DARK_GROUND = svg.in_the_dark("white")


@pytest.fixture
def ax():
    fig, ax = plotting.figure()
    yield ax
    plt.close(fig)


def lab(linear_rgb):
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    xyz = to_xyz @ np.clip(linear_rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


LOOKS = plotting.LOOKS | {f"spare {i}": look for i, look in enumerate(plotting.SPARE)}

ALL_COLOURS = [
    *(look.color for look in LOOKS.values()),
    *plotting.ROLES.values(),
    *plotting.SEQUENCE,
    *plotting.DIMENSIONS,
    plotting.INK,
    plotting.MUTED,
]


def legible(colour):
    return (
        contrast(rgb(colour), rgb("white")) >= 3
        and contrast(rgb(svg.in_the_dark(colour)), rgb(DARK_GROUND)) >= 3
    )


def test_colours_are_legible_on_white_and_on_dark():
    assert [colour for colour in ALL_COLOURS if not legible(colour)] == []


def test_letters_have_a_contrast_of_4_5_on_white_and_on_dark():
    for colour in ALL_COLOURS:
        letters = svg.for_letters(colour)
        assert contrast(rgb(letters), rgb("white")) >= 4.5, colour
        assert contrast(rgb(svg.in_the_dark(letters)), rgb(DARK_GROUND)) >= 4.5, colour


@cache
def as_seen(colour):
    """A colour in CIELAB as each kind of eye sees it, (kinds of eye, 3)."""
    return np.array([lab(np.array(m) @ linear(rgb(colour))) for m in DEFICIENCIES.values()])


def distance(first, second):
    """Between two colours for those who see them least apart; 2 is just noticeable."""
    return np.linalg.norm(as_seen(first) - as_seen(second), axis=1).min()


def colour_apart_from(others):
    """The legible colour farthest from all others, for every kind of eye."""
    steps = range(0, 256, 17)
    candidates = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in itertools.product(steps, repeat=3)]
    return max(
        filter(legible, candidates),
        key=lambda colour: min(distance(colour, other) for other in others),
    )


@pytest.mark.parametrize("name", LOOKS)
def test_every_look_is_one_that_every_reader_can_tell_apart(name):
    others = [look for other, look in LOOKS.items() if other != name]
    colours = [look.color for look in others]
    look = LOOKS[name]
    apart = 15 if look in plotting.SPARE else 20
    if apart == 20:
        colours = [
            colour
            for colour, other in zip(colours, others, strict=True)
            if other not in plotting.SPARE
        ]
    good = legible(look.color) and min(distance(look.color, colour) for colour in colours) > apart
    assert good, (
        f"{name} needs a Look({colour_apart_from(colours)!r}, line, marker): this is the colour "
        "that everyone can tell best from the others"
    )
    assert look[1:] not in [other[1:] for other in others], (
        f"{name}: line and marker together must differ from all others"
    )


def test_every_reader_can_tell_the_letters_of_rescalings_apart():
    letters = [svg.for_letters(look.color) for look in plotting.LOOKS.values()]
    assert min(itertools.starmap(distance, itertools.combinations(letters, 2))) > 15


def test_rescalings_without_a_look_get_different_ones_and_keep_them():
    names = [PowerOfDk(0.1 * i + 0.03) for i in range(len(plotting.SPARE))]
    styles = [plotting.style(rescaling, marker=True) for rescaling in names]
    assert len({style["color"] for style in styles}) == len(names)
    assert [plotting.style(rescaling, marker=True) for rescaling in names] == styles


@pytest.mark.parametrize("name", [*RESCALINGS, "k_new"])
def test_every_rescaling_of_the_book_has_a_look_of_its_own_or_a_spare_one(name, monkeypatch):
    """A new one needs nothing but its class: CONTRIBUTING.md, *Add a rescaling*."""

    def k_new(key, visible):
        return visible.max(key_lengths(key))

    monkeypatch.setattr(plotting, "_GIVEN", {})
    monkeypatch.setitem(RESCALINGS, "k_new", get_rescaling(k_new))
    colours = {other: plotting.style(other)["color"] for other in RESCALINGS}
    assert colours[name] in {look.color for look in LOOKS.values()}
    assert list(colours.values()).count(colours[name]) == 1


def test_shades_of_dimensions_differ_and_are_no_colour_of_the_root_or_of_undivided_scores():
    shades = plotting.DIMENSIONS
    assert min(itertools.starmap(distance, itertools.pairwise(shades))) > 10
    for name in ("none", "sqrt_d_k"):
        assert min(distance(shade, LOOKS[name].color) for shade in shades) > 15


@pytest.mark.parametrize("rescaling", [*RESCALINGS, PowerOfDk(1 / 3)])
def test_formulas_can_be_drawn(ax, rescaling):
    ax.plot([0, 1], [0, 1], **plotting.style(rescaling))
    ax.legend()
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("rescaling", "label"),
    [
        ("none", "undivided"),
        ("sqrt_d_k", r"$\sqrt{d_k}$"),
        ("n_sqrt_d_k", r"$n\sqrt{d_k}$"),
        ("k_total", r"$k_\mathrm{total}$"),
        ("k_norm_4", r"$k_\mathrm{4}$"),
        (2 * PowerOfDk(), r"$2\,\sqrt{d_k}$"),
    ],
)
def test_a_rescaling_is_called_as_the_text_calls_it(rescaling, label):
    assert plotting.style(rescaling)["label"] == label


def test_figures_are_white_and_leave_the_settings_alone():
    before = dict(mpl.rcParams)
    fig, axes = plotting.figure(2, 2)
    assert axes.shape == (2, 2)
    assert fig.get_facecolor() == (1, 1, 1, 1)
    assert dict(mpl.rcParams) == before
    plt.close(fig)


def test_density_curve_is_the_kernel_estimate_of_r():
    x = sample(200, seed=0, device="cpu", distribution="laplace")
    at, ours = plotting.density_curve(x)
    data = x.numpy()
    spread = min(data.std(ddof=1), (np.percentile(data, 75) - np.percentile(data, 25)) / 1.34)
    kernel = scipy.stats.norm(loc=data[:, None], scale=0.9 * spread * 200**-0.2)
    np.testing.assert_allclose(ours, kernel.pdf(at).mean(0))
    assert ours.sum() * (at[1] - at[0]) == pytest.approx(1.0, abs=0.01)


def test_measured_draws_markers_and_two_standard_errors(ax):
    plotting.measured(ax, [1, 2], [3.0, 4.0], [0.5, 0.25], label="x")
    (container,) = ax.containers
    line, _, (bars,) = container
    assert line.get_marker() == "o"
    assert line.get_linestyle() == "None"
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [[2.0, 4.0], [3.5, 4.5]]


def test_heatmap_writes_each_number_in_its_cell(ax):
    plotting.heatmap(
        ax, torch.tensor([[0.1, 0.9], [0.5, 0.5]]), rows=["a", "b"], columns=["c", "d"]
    )
    assert {t.get_position(): t.get_text() for t in ax.texts} == {
        (0, 0): "0.10",
        (1, 0): "0.90",
        (0, 1): "0.50",
        (1, 1): "0.50",
    }
    assert [t.get_text() for t in ax.get_xticklabels()] == ["c", "d"]
    for text, ground in zip(
        ax.texts,
        ax.images[0].cmap(ax.images[0].norm(np.array([[0.1, 0.9], [0.5, 0.5]]))).reshape(-1, 4),
        strict=True,
    ):
        assert contrast(rgb(text.get_color()), ground[:3]) >= 4.5
