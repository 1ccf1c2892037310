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
    """What is drawn of the same, to its digits, and the readout of the quotient."""
    m = figure.locator("[data-panel=scores] .bars text").last.text_content().removeprefix("m ")
    rows = figure.locator("[data-panel=kept] .bars text").all_text_contents()
    return [float(text) for text in (m, rows[1], rows[3])] + [read(figure, "output")]


def agrees(figure, z):
    *drawn, output = shown(figure)
    *sums, quotient = expected(z)
    assert drawn == pytest.approx(sums, abs=5.1e-3)
    assert output == pytest.approx(quotient)


def forgotten(figure):
    """The output without the factors, to three decimals."""
    return float(figure.locator("[data-panel=output] .bars text").nth(3).text_content())


@pytest.fixture
def still(explorable):
    """The explorable for those who want no motion."""

    def begin(setting):
        page, figure = explorable("online", "read=0")
        page.emulate_media(reduced_motion="reduce")
        page.evaluate("setting => (location.hash = `#online:${setting}`)", setting)
        wait_for_state(page, setting)
        return page, figure

    return begin


@pytest.mark.parametrize("block", [1, 2, 4])
def test_every_step_agrees_with_softmax_over_what_was_read(still, block):
    page, figure = still(f"block={block},read=0")
    plain = expected(scores(figure))[-1]
    button = figure.get_by_role("button", name="Read the next block")
    for number in range(block, 9, block):
        button.click()
        wait_for_state(page, f"read={number},")
        agrees(figure, scores(figure)[:number])
        assert read(figure, "plain") == pytest.approx(plain)
    assert read(figure, "output") == pytest.approx(plain)
    assert abs(forgotten(figure) - plain) > 0.02
    figure.get_by_role("button", name="Start again").click()
    wait_for_state(page, "read=0,")


def test_arrow_keys_step_on_the_slider_and_on_the_button(still):
    page, figure = still("block=2,read=0")
    slider = figure.get_by_label("blocks read")
    slider.press("ArrowRight")
    wait_for_state(page, "read=2,")
    figure.get_by_role("button", name="Read the next block").press("ArrowRight")
    wait_for_state(page, "read=4,")
    agrees(figure, scores(figure)[:4])
    assert slider.get_attribute("aria-valuetext") == "2 of 4"
    slider.press("ArrowLeft")
    wait_for_state(page, "read=2,")
    figure.get_by_role("combobox", name="keys in a block").select_option("1")
    wait_for_state(page, "block=1,read=2,")
    assert slider.get_attribute("aria-valuetext") == "2 of 8"


def test_a_large_late_score_by_keyboard_and_mouse(still):
    page, figure = still("block=2,read=8")
    handle = figure.get_by_role("slider", name="score of key 8")
    handle.press("End")
    wait_for_state(page, "z8=6")
    agrees(figure, scores(figure))
    (factor,) = figure.locator("[data-panel=terms] text", has_text="×").all_text_contents()
    assert float(factor.strip("× ")) == pytest.approx(torch.tensor(3.4 - 6).exp().item(), abs=1e-4)
    drag(page, handle, 0, 40)
    assert scores(figure)[7] < 5
    agrees(figure, scores(figure))


def test_without_a_rise_nothing_is_forgotten(still):
    """The largest score comes first: all factors are 1, and nothing changes without them."""
    _, figure = still("block=2,read=8,z1=6")
    assert forgotten(figure) == pytest.approx(read(figure, "output"), abs=5.1e-4)
    assert "×" not in "".join(figure.locator("[data-panel=terms] text").all_text_contents())
    assert "m stays" in figure.locator(".explorable-formula").inner_text()


def test_it_opens_where_the_factors_have_mattered(explorable):
    _, figure = explorable("online")
    first, second = figure.locator("[data-panel=output] .bars text").all_text_contents()[1:4:2]
    assert float(second) - float(first) > 0.02
    assert "×" in "".join(figure.locator("[data-panel=terms] text").all_text_contents())


def test_keys_that_follow_fast_are_all_heard(still):
    page, figure = still("block=2,read=8")
    figure.get_by_role("slider", name="score of key 7").evaluate(
        """handle => {
            const event = () => new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true });
            for (let i = 0; i < 10; i++) handle.dispatchEvent(event());
        }"""
    )
    wait_for_state(page, "z7=1.8,")


def test_blocks_asked_for_fast_are_all_shown_and_words_wait_for_the_bars(explorable):
    page, figure = explorable("online", "block=2,read=4")
    page.evaluate(
        """() => {
            window.seen = [];
            const words = document.querySelector("[data-explorable=online] .explorable-formula");
            const kept = document.querySelector("[data-panel=kept]");
            const look = () => {
                seen.push([words.textContent, kept.querySelectorAll(".bars text")[1].textContent]);
                requestAnimationFrame(look);
            };
            look();
            const button = document.querySelector(".explorable-step");
            button.click();
            button.click();
        }"""
    )
    earlier, total = (f"{expected(scores(figure)[:n])[1]:.3f}" for n in (4, 8))
    page.wait_for_function(f"seen.at(-1)[0].includes('= {total}')")
    seen = page.evaluate("seen")
    assert any(f"· {earlier}" in words for words, _ in seen)  # the block that came first
    assert {kept for words, kept in seen if total in words} == {f"{float(total):.2f}"}


def test_a_block_comes_in_two_beats(explorable):
    """First what is kept shrinks and no new term is there, then the new terms grow."""
    page, figure = explorable("online", "block=2,read=4")
    heights = """() => [...document.querySelectorAll("[data-panel=terms] .bars rect")]
        .filter(bar => bar.style.fill.includes("weights")).map(bar => bar.height.baseVal.value)"""
    page.wait_for_function(  # the step to the setting of the address is drawn in two beats, too
        f"""() => {{
            const bars = ({heights})(), before = window.bars;
            window.bars = String(bars);
            return bars.length === 4 && bars.every(x => x > 0) && window.bars === before;
        }}"""
    )
    page.evaluate(
        f"""() => {{
            window.seen = [];
            const look = () => (window.seen.push(({heights})()), requestAnimationFrame(look));
            look();
        }}"""
    )
    figure.get_by_role("button", name="Read the next block").click()
    wait_for_state(page, "read=6,")
    kept = figure.locator("[data-panel=kept] .bars text").nth(1)
    kept.filter(has_text=f"{expected(scores(figure)[:6])[1]:.2f}").wait_for()
    page.wait_for_function(  # to the end of the second beat, however slow the machine
        "() => { const [a, b] = [seen.at(-1), seen.at(-20)]; "
        "return a[5] > 0 && b && String(a) === String(b); }"
    )
    seen = page.evaluate("window.seen")
    first, last = seen[0], seen[-1]
    assert len(first) == 4
    assert last[2] == pytest.approx(first[2] * torch.tensor(2 - 3.4).exp().item(), rel=1e-3)
    coming = [bars for bars in seen if len(bars) == 6]
    assert any(bars[2] > 1.1 * last[2] for bars in coming)
    assert all(bars[5] == 0 for bars in coming if bars[2] > 1.001 * last[2])
