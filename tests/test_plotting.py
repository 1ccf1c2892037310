"""What the plotting functions draw, and that its colours can be told apart."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
import torch

from sdpa_lib import RESCALINGS, PowerOfDk, plotting, sample

# Linear-RGB matrices of full-strength colour-vision deficiency, Machado et al. (2009), and the dark theme's filter in site.css,
# invert(0.93) hue-rotate(180deg).
DEFICIENCIES = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
HUE_ROTATE_180 = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
DARK_GROUND = "#121212"


@pytest.fixture
def ax():
    fig, ax = plotting.figure()
    yield ax
    plt.close(fig)


def rgb(colour):
    return np.array(mpl.colors.to_rgb(colour))


def linear(values):
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    light, dark = sorted((linear(x) @ [0.2126, 0.7152, 0.0722] + 0.05 for x in (first, second)), reverse=True)
    return light / dark


def lab(linear_rgb):
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
    xyz = to_xyz @ np.clip(linear_rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def in_the_dark(colour):
    return np.clip(HUE_ROTATE_180 @ (0.93 - 0.86 * rgb(colour)), 0, 1)


ALL_COLOURS = [
    *(colour for colour, _, _ in plotting.RESCALING_STYLES.values()),
    *plotting.ROLES.values(),
    *plotting.SEQUENCE,
    plotting.INK,
    plotting.MUTED,
]


@pytest.mark.parametrize("colour", ALL_COLOURS)
def test_colours_are_legible_on_white_and_on_dark(colour):
    assert contrast(rgb(colour), rgb("white")) >= 3
    assert contrast(in_the_dark(colour), rgb(DARK_GROUND)) >= 3


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_rescalings_differ_for_colour_blind_readers(deficiency):
    matrix = np.array(DEFICIENCIES[deficiency])
    seen = [lab(matrix @ linear(rgb(colour))) for colour, _, _ in plotting.RESCALING_STYLES.values()]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20  # 2 is just noticeable


def test_every_rescaling_has_one_style_of_its_own():
    assert set(RESCALINGS) <= set(plotting.RESCALING_STYLES)
    assert len(set(plotting.RESCALING_STYLES.values())) == len(plotting.RESCALING_STYLES)
    assert plotting.style("k_total", marker=True)["marker"] == "D"
    assert plotting.style(PowerOfDk(1 / 3))["color"] == plotting.RESCALING_STYLES["d_k^1/3"][0]
    assert plotting.style(PowerOfDk(0.9)) == plotting.style(PowerOfDk(0.9))


@pytest.mark.parametrize("rescaling", [*RESCALINGS, PowerOfDk(1 / 3)])
def test_formulas_can_be_drawn(ax, rescaling):
    ax.plot([0, 1], [0, 1], **plotting.style(rescaling))
    ax.legend()
    ax.figure.canvas.draw()


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
    assert np.trapezoid(ours, at) == pytest.approx(1.0, abs=0.01)


def test_density_draws_the_curve(ax):
    x = sample(100, seed=0)
    plotting.density(ax, x, **plotting.style("k_total"))
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), plotting.density_curve(x)[1])
    assert line.get_color() == plotting.RESCALING_STYLES["k_total"][0]
    assert ax.get_ylim()[0] == 0


def test_measured_draws_markers_and_two_standard_errors(ax):
    plotting.measured(ax, [1, 2], [3.0, 4.0], [0.5, 0.25], label="x")
    (container,) = ax.containers
    line, _, (bars,) = container
    assert line.get_marker() == "o"
    assert line.get_linestyle() == "None"
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [[2.0, 4.0], [3.5, 4.5]]


def test_heatmap_writes_each_number_in_its_cell(ax):
    plotting.heatmap(ax, torch.tensor([[0.1, 0.9], [0.5, 0.5]]), rows=["a", "b"], columns=["c", "d"])
    assert {t.get_position(): t.get_text() for t in ax.texts} == {(0, 0): "0.10", (1, 0): "0.90", (0, 1): "0.50", (1, 1): "0.50"}
    assert [t.get_text() for t in ax.get_xticklabels()] == ["c", "d"]
    for text, ground in zip(
        ax.texts, ax.images[0].cmap(ax.images[0].norm(np.array([[0.1, 0.9], [0.5, 0.5]]))).reshape(-1, 4), strict=True
    ):
        assert contrast(rgb(text.get_color()), ground[:3]) >= 4.5
