import pytest
import torch

from .conftest import drag, state, wait_for_state

VALUES = torch.tensor([0.9, 0.2, 0.3, 0.1, 0.8, 1, 0.4, 0.3], dtype=torch.float64)


def scores(figure):
    """The scores that the kernel gets, of a query that the divisor has divided."""
    now = state(figure)
    products = [float(now[f"z{j}"]) for j in range(1, 9)]
    return torch.tensor(products, dtype=torch.float64) / float(now["c"])


def expected(z):
    """Largest score, sum, running output and quotient over the keys that were read."""
    terms = (z - z.max()).exp()
    o = terms @ VALUES[: len(z)]
    return [x.item() for x in (z.max(), terms.sum(), o, torch.softmax(z, -1) @ VALUES[: len(z)])]


def outputs(figure):
    """The quotient with the factors, and without, to three decimals."""
    rows = figure.locator("[data-panel=output] .bars text").all_text_contents()
    return float(rows[1]), float(rows[3])


def mark(figure):
    """Where the mark of plain softmax stands on its axis, whose ticks lie on half pixels."""
    return figure.locator("[data-panel=output] svg").evaluate("""svg => {
        const ends = [...svg.querySelectorAll(".axis .tick")]
            .map((tick) => Number(tick.getAttribute("transform").match(/[\\d.]+/)[0]));
        const at = svg.querySelector(".bars line").x1.baseVal.value;
        return (at + 0.5 - ends.at(0)) / (ends.at(-1) - ends.at(0));
    }""")


def agrees(figure, z):
    """What is drawn of the same, to its digits."""
    m = figure.locator("[data-panel=scores] .bars text", has_text="m ").text_content()
    rows = figure.locator("[data-panel=kept] .bars text").all_text_contents()
    drawn = [float(text) for text in (m.removeprefix("m "), rows[1], rows[3])]
    *sums, quotient = expected(z)
    assert drawn[0] == pytest.approx(sums[0], abs=0.051 if m[-2] == "." else 5.1e-3)
    assert drawn[1:] == pytest.approx(sums[1:], abs=5.1e-3)
    assert outputs(figure)[0] == pytest.approx(quotient, abs=5.1e-4)


@pytest.mark.parametrize("c", [1, 2.8, 8])
def test_every_step_agrees_with_softmax_over_what_was_read(still, c):
    page, figure = still("online", f"c={c},read=0")
    plain = expected(scores(figure))[-1]
    button = figure.get_by_role("button", name="Read the next block")
    for block in range(1, 5):
        button.click()
        wait_for_state(page, f"read={block},")
        agrees(figure, scores(figure)[: 2 * block])
        assert mark(figure) == pytest.approx(plain, abs=1e-3)
    assert outputs(figure)[0] == pytest.approx(plain, abs=5.1e-4)
    if c == 1:
        assert abs(outputs(figure)[1] - plain) > 0.1
    figure.get_by_role("button", name="Start again").click()
    wait_for_state(page, "read=0,")


def test_the_divisor_is_folded_into_the_query(still):
    """It moves every handle towards zero, and a handle that is dragged keeps its product."""
    page, figure = still("online", "c=1,read=4")
    handles = figure.locator("[data-panel=scores] .explorable-handle")
    places = """all => all.map(handle => Number(
        handle.getAttribute("transform").match(/,([\\d.]+)/)[1]))"""
    before = handles.evaluate_all(places)
    figure.get_by_label("divisor c").press("End")
    wait_for_state(page, "c=8,")
    agrees(figure, scores(figure))
    after = handles.evaluate_all(places)
    assert max(after) - min(after) == pytest.approx((max(before) - min(before)) / 8)
    handles.nth(7).press("End")
    wait_for_state(page, "z8=6")
    assert scores(figure)[7] == 6 / 8
    agrees(figure, scores(figure))


def test_arrow_keys_step_on_the_slider_and_on_the_button(still):
    page, figure = still("online", "read=0")
    slider = figure.get_by_label("blocks read")
    slider.press("ArrowRight")
    wait_for_state(page, "read=1,")
    figure.get_by_role("button", name="Read the next block").press("ArrowRight")
    wait_for_state(page, "read=2,")
    agrees(figure, scores(figure)[:4])
    assert slider.get_attribute("aria-valuetext") == "2 of 4"
    slider.press("ArrowLeft")
    wait_for_state(page, "read=1,")


def test_a_large_late_score_by_keyboard_and_mouse(still):
    page, figure = still("online", "read=4")
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
    _, figure = still("online", "read=4,z1=6")
    assert outputs(figure)[1] == outputs(figure)[0]
    assert "×" not in "".join(figure.locator("[data-panel=terms] text").all_text_contents())
    assert "m stays" in figure.locator(".explorable-formula").inner_text()


def test_it_opens_before_the_first_factor(explorable):
    page, figure = explorable("online")
    factor = figure.locator("[data-panel=terms] text", has_text="×")
    assert factor.count() == 0
    figure.get_by_role("button", name="Read the next block").click()
    factor.wait_for()
    page.wait_for_function(
        "document.querySelector('.explorable-formula').innerText.includes('0.686')"
    )
    first, second = outputs(figure)
    assert second - first > 0.05


def test_keys_that_follow_fast_are_all_heard(still):
    page, figure = still("online", "read=4")
    figure.get_by_role("slider", name="score of key 7").evaluate(
        """handle => {
            const event = () => new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true });
            for (let i = 0; i < 10; i++) handle.dispatchEvent(event());
        }"""
    )
    wait_for_state(page, "z7=1.8,")


def test_blocks_asked_for_fast_are_all_shown_and_words_wait_for_the_bars(explorable):
    page, figure = explorable("online", "read=2")
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
    page, figure = explorable("online", "read=2")
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
    wait_for_state(page, "read=3,")
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


@pytest.mark.parametrize("c", [1, 8])
def test_the_result_is_said_after_the_last_block_and_asked_before(still, c):
    page, figure = still("online", f"c={c},read=3")
    last = figure.locator(".explorable-line").last
    assert (
        last.inner_text()
        == "Does o/\N{SCRIPT SMALL L} reach plain softmax, though the kernel forgets its terms?"
    )
    figure.get_by_role("button", name="Read the next block").click()
    wait_for_state(page, "read=4,")
    first, second = outputs(figure)
    said = f"o/\N{SCRIPT SMALL L} = {first:.3f}, plain softmax’s; without the factors {second:.3f}."
    assert last.inner_text() == said + (" With c = 8 the factors are nearer 1." if c > 1 else "")
