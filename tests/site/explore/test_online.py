import pytest
import torch

from .conftest import drag, read, state, wait_for_state

VALUES = torch.tensor([0.9, 0.2, 0.6, 0.1, 0.8, 0.4, 1, 0.3], dtype=torch.float64)


def scores(figure):
    now = state(figure)
    return torch.tensor([float(now[f"z{j}"]) for j in range(1, 9)], dtype=torch.float64)


def expected(z):
    """Largest score, sum, running output and quotient over the keys that were read."""
    terms = (z - z.max()).exp()
    o = terms @ VALUES[: len(z)]
    return [x.item() for x in (z.max(), terms.sum(), o, torch.softmax(z, -1) @ VALUES[: len(z)])]


def shown(figure):
    return [read(figure, name) for name in ("m", "l", "o", "output")]


@pytest.mark.parametrize("block", [1, 2, 4])
def test_every_step_agrees_with_softmax_over_what_was_read(explorable, block):
    page, figure = explorable("online", f"block={block},read=0")
    plain = expected(scores(figure))[-1]
    button = figure.get_by_role("button", name="Read the next block")
    for number in range(block, 9, block):
        button.click()
        wait_for_state(page, f"read={number},")
        assert shown(figure) == pytest.approx(expected(scores(figure)[:number]))
        assert read(figure, "plain") == pytest.approx(plain)
    assert read(figure, "output") == pytest.approx(plain)
    assert abs(read(figure, "forgotten") - plain) > 0.02
    figure.get_by_role("button", name="Start again").click()
    wait_for_state(page, "read=0,")


def test_arrow_keys_step_on_the_slider_and_on_the_button(explorable):
    page, figure = explorable("online", "block=2,read=0")
    slider = figure.get_by_label("blocks read")
    slider.press("ArrowRight")
    wait_for_state(page, "read=2,")
    figure.get_by_role("button", name="Read the next block").press("ArrowRight")
    wait_for_state(page, "read=4,")
    assert shown(figure) == pytest.approx(expected(scores(figure)[:4]))
    assert slider.get_attribute("aria-valuetext") == "2 of 4"
    slider.press("ArrowLeft")
    wait_for_state(page, "read=2,")
    figure.get_by_role("combobox", name="keys in a block").select_option("1")
    wait_for_state(page, "block=1,read=2,")
    assert slider.get_attribute("aria-valuetext") == "2 of 8"


def test_a_large_late_score_by_keyboard_and_mouse(explorable):
    page, figure = explorable("online", "block=2,read=8")
    handle = figure.get_by_role("slider", name="score of key 8")
    handle.press("End")
    wait_for_state(page, "z8=6")
    assert shown(figure) == pytest.approx(expected(scores(figure)))
    (factor,) = figure.locator("[data-panel=terms] text", has_text="×").all_text_contents()
    assert float(factor.strip("× ")) == pytest.approx(torch.tensor(3.4 - 6).exp().item(), abs=1e-4)
    drag(page, handle, 0, 40)
    assert scores(figure)[7] < 5
    assert shown(figure) == pytest.approx(expected(scores(figure)))


def test_without_a_rise_nothing_is_forgotten(explorable):
    """The largest score comes first: all factors are 1, and nothing changes without them."""
    _, figure = explorable("online", "block=2,read=8,z1=6")
    assert read(figure, "forgotten") == pytest.approx(read(figure, "output"))
    assert "m stays" in figure.locator(".explorable-formula").inner_text()
