import math

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import read, wait_for_state


def test_phases_by_the_keyboard(explorable):
    page, figure = explorable("phases", "n=512,d_k=64")
    assert read(figure, "critical") == pytest.approx(math.sqrt(2 * math.log(512)))
    figure.get_by_label("dk, components").press("Home")
    wait_for_state(page, "d_k=1")
    assert read(figure, "undivided") == pytest.approx(1 / math.sqrt(2 * math.log(512)))
    row = figure.locator("tr[data-rescaling=k_total]")
    assert float(row.get_attribute("data-sigma")) == pytest.approx(1 / 512, rel=1e-4)


def test_every_rescaling_stands_where_the_library_puts_it(explorable):
    _, figure = explorable("phases", "n=512,d_k=64")
    keys = torch.ones(512, 64, dtype=torch.float64)  # each of length 8
    rows = figure.locator("tr[data-rescaling]").evaluate_all(
        "rows => rows.map(row => [row.dataset.rescaling, Number(row.dataset.sigma)])"
    )
    assert dict(rows) == pytest.approx(
        {name: 8 / rescaling(keys).item() for name, rescaling in sdpa.RESCALINGS.items()}, rel=1e-4
    )
    panel = figure.locator("[data-panel=plane] svg")
    assert panel.locator(".points path[transform]").count() == len(sdpa.RESCALINGS)
    assert "NaN" not in panel.inner_html()


def test_no_marker_stands_on_the_frame_for_another(explorable):
    _, figure = explorable("phases", "n=1048576,d_k=64")
    heights = figure.locator("[data-panel=plane] svg .points path[transform]").evaluate_all(
        "paths => paths.map(path => path.transform.baseVal[0].matrix.f)"
    )
    sigmas = figure.locator("tr[data-rescaling]").evaluate_all(
        "rows => rows.map(row => Number(row.dataset.sigma).toPrecision(3))"
    )
    assert len(set(heights)) == len(set(sigmas))
