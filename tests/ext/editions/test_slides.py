"""The lecture shows what the chapters hold, and what it can't show fails the build."""

import html
import io
import re
import warnings
from pathlib import Path

import nbformat
import pytest
import torch
from bs4 import BeautifulSoup
from outputs import stored
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from sdpa_book.studies import lookup
from sdpa_lib import attention_weights

LECTURE = Path(__file__).parents[3] / "lecture"
NOTES = "\n\n```{{notes}} {}\nSay it.\n```\n"


@pytest.fixture
def lecture(tmp_path):
    """A function that builds slides: the page, and the warnings."""

    def build(text, **asked):
        (tmp_path / "index.md").write_text(text, encoding="utf-8")
        warned = io.StringIO()
        settings = {"revealjs_static_path": [], **asked}
        with warnings.catch_warnings(action="ignore"), patch_docutils(), docutils_namespace():
            folders = tmp_path, LECTURE, tmp_path / "site", tmp_path / "doctrees"
            Sphinx(*folders, "revealjs", settings, None, warned).build()
        page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
        return BeautifulSoup(page, "html.parser"), warned.getvalue()

    return build


def slide(content):
    return f"# A\n\n{content}{NOTES.format(1)}"


def test_a_number_is_the_one_that_the_chapter_has_put_out(lecture, monkeypatch):
    asked = "{number}`04 cell-14 [64, undivided]` and {number}`04 gaps: a gap of 10 is … of *`"
    page, warned = lecture(slide(asked))
    assert [number.text for number in page.select("section b")[:2]] == ["1.57", "22,026"]
    assert warned == ""
    changed = nbformat.from_dict(stored.cell("04", "cell-14"))
    changed.outputs[0].data["text/html"] = changed.outputs[0].data["text/html"].replace("1.57", "9")
    monkeypatch.setattr(stored, "cell", lambda *_: changed)
    assert stored.number("04 cell-14 [64, undivided]") == "9"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("{number}`04 gaps: random keys spreads by *`", "has printed 3 times"),
        ("{number}`04 gaps: no such words *`", "has printed 0 times"),
        ("{number}`04 cell-14 [65, undivided]`", "no table with 65"),
        ("```{shown} 04 no-such-cell\n```", "has no cell no-such-cell"),
        ("## Without notes", "a slide has one {notes}, this one 0"),
    ],
)
def test_what_a_chapter_has_not_got_fails_the_build(lecture, wrong, message):
    _, warned = lecture(slide("") + "\n" + wrong)
    assert message in warned


def test_a_poll_marks_the_right_option_a_step_after_its_question(lecture):
    page, warned = lecture(slide("```{poll} 02\n```"))
    assert warned == ""
    (question,) = page.select(".question")
    assert "fragment" not in question["class"]
    assert [li.text for li in question.select("li")] == ["1", "8", "64"]
    assert [li.text for li in page.select("li.fragment.custom.right")] == ["8"]
    assert "right one: B." in page.select_one("aside.notes").text
    assert "<!--" not in str(page)


def test_neighbours_may_talk_before_what_is_said(lecture):
    page, warned = lecture(slide("```{poll} 02\n:talk:\n```"))
    assert warned == ""
    notes = page.select_one("aside.notes").text
    assert notes.index("neighbour") < notes.index("Say it.")


def test_a_poll_may_be_the_lectures_own_and_has_one_right_answer(lecture):
    own = "```{poll} 02\nWhich of two?\n\n- this <!-- right -->\n- that\n```"
    page, warned = lecture(slide(own))
    assert warned == ""
    assert [asked.p.text for asked in page.select(".question")] == ["Which of two?"]
    assert [li.text for li in page.select("li.right")] == ["this"]
    _, warned = lecture(slide(own.replace(" <!-- right -->", "")))
    assert "0 options of a poll are right" in warned


def test_what_is_worked_out_comes_a_row_at_a_time(lecture):
    table = "| sum | |\n| --- | --- |\n| 1 + 1 | 2 |\n| e | {worked}`exp(1)` |\n"
    page, warned = lecture(slide(f"```{{steps}} 1\n{table}```"))
    assert warned == ""
    assert [row.text.split() for row in page.select("tr.fragment")] == [["e", "2.72"]]
    _, warned = lecture(slide("{worked}`open('x')`"))
    assert "open('x'): " in warned


def test_queries_below_two_per_cent_are_of_two_kinds_as_a_slide_in_reserve_says():
    W_Q, W_K = (W.detach() for W in lookup.matrices(64))
    tokens, keys, _ = (torch.cat(x, 1) for x in zip(*lookup.draw_batches(), strict=True))
    medians = {}
    for name in ("sqrt_d_k", "none"):
        q, k = tokens @ W_Q.unsqueeze(1), keys @ W_K.unsqueeze(1)
        right = attention_weights(q, k, rescaling=name)[..., 0, 0]
        medians[name] = float(right[right < 0.02].median())
    assert round(medians["sqrt_d_k"], 2) == 0.01
    assert medians["none"] < 1e-6


def test_the_first_slide_has_the_plan_of_the_lecture(lecture):
    late = ":late: no vote (2 minutes)\n:early: More of it\n\nSay it."
    text = slide("")
    text += "\n## B\n\n```{part} Scores spread\n```" + NOTES.format(1).replace("Say it.", late)
    text += "\n## C\n" + NOTES.format(1.5).replace("Say it.", ":late: leave it out\n\nSay it.")
    text += "\n## More of it\n" + NOTES.format("reserve").replace("Say", "word " * 500)
    page, warned = lecture(text, lecture_minutes=5)
    assert warned == ""
    rows = [[cell.text for cell in row.select("td")] for row in page.select("aside tr")[1:]]
    assert rows == [
        ["The question", "1", "", ""],
        ["Scores spread", "2.5", "B: no vote (2 minutes); C: leave it out", "More of it"],
    ]
    sums = page.select_one("aside table + p").text
    assert sums.startswith("3 slides and 1 in reserve; 3.5 minutes, and 1.5 kept free.")
    assert "about 10 words, which are 0 minutes of talk" in sums  # three times "Say it."
    _, second, _, last = page.select("aside.notes")
    assert second.text.startswith("◇ Short of time: no vote (2 minutes)")
    assert "Time left: More of it" in second.text
    assert len(page.select(".spare:not(.behind)")) == 2
    assert last.text.startswith("In reserve")
    assert page.select_one("[data-visibility=uncounted] .behind").text == "in reserve"
    assert len(page.select("[data-visibility]")) == 1


def test_slides_in_reserve_are_listed_by_their_names_and_lead_back_to_the_list(lecture):
    text = slide("") + "\n## Ask\n\n```{reserve}\n```" + NOTES.format(1)
    text += "\n## What d_k is\n" + NOTES.format("reserve")
    page, warned = lecture(text)
    assert warned == ""
    (link,) = page.select(".reserve a")
    assert link["href"] == "#/what-d-k-is"
    assert page.select_one("section#what-d-k-is .behind a")["href"] == "#/ask"
    early = NOTES.format(1).replace("Say it.", ":early: What d is\n\nSay it.")
    _, warned = lecture(text + "\n## E\n" + early)
    assert "no slide in reserve is called What d is" in warned


def test_no_clock_runs_against_the_presenter(lecture):
    page, _ = lecture((LECTURE / "index.md").read_text(encoding="utf-8"))
    assert "totalTime" not in str(page)
    assert page.select("[data-timing]") == []
    assert [one for one in page.select("aside") if re.search(r"[Mm]inutes? \d", one.text)] == []


def test_each_slide_with_a_measurement_of_learning_says_what_was_measured():
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    _, _, learning = text.partition("## Does it learn later?")
    learning, _, _ = learning.partition("## What breaks? The answer")
    slides = re.split(r"^### ", learning, flags=re.M)
    for one in slides:
        (setup,) = re.findall(r"^```\{container\} setup\n(.*)$", one, re.M)
        assert re.match(r"\*\*(Lookup layer|Random layers|Small Transformers):\*\* .* · ", setup)
        assert len(setup.split()) <= 22


def test_the_paper_is_quoted_as_it_stands():
    sentence = (
        "We suspect that for large values of $d_k$, the dot products grow large in magnitude, "
        "pushing the softmax function into regions where it has extremely small gradients."
    )
    text = (LECTURE / "index.md").read_text(encoding="utf-8").replace("**", "")
    assert sentence in text
    assert sentence.partition(", ")[2].partition(", ")[2].rstrip(".") in text.replace(sentence, "")


def test_a_slide_of_the_lecture_holds_few_words(lecture):
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    page, warned = lecture(text)
    assert warned == ""
    for apart in page.select("aside, table, math, svg, .from, .parts, .setup, ol, .reserve"):
        apart.extract()
    slides = [one for one in page.select("section") if not one.find("section")]
    words = {one["id"]: len(re.findall(r"\w{2,}", one.text)) for one in slides}
    assert {name for name, count in words.items() if count > 40} == set()


def test_a_table_is_the_cells_and_a_drawing_the_part_that_a_slide_names(lecture):
    table = "```{shown} 05 starts\n```\n\n"
    cut = "```{shown} 05 late\n:crop: 0 0 100 50\n:letters: 1.2\n```"
    page, warned = lecture(slide(table + cut))
    assert warned == ""
    assert [head.text for head in page.select(".sdpa-table thead th")] == [
        "start",
        "spread",
        "÷ 1",
        "÷ 8",
        "link",
    ]
    assert page.img["src"] == "figures/05-late-0-0-100-50.svg"


def test_the_plan_has_all_parts_and_a_part_says_which_it_is(lecture):
    text = slide("```{part}\n```") + "\n## B\n\n```{part} One\n```" + NOTES.format(1)
    page, warned = lecture(text + "\n## C\n\n```{part} Two\n```" + NOTES.format(1))
    assert warned == ""
    assert [strip.text for strip in page.select(".parts")] == ["OneTwo"] * 3
    assert [part.text for part in page.select(".now")] == ["One", "Two"]


def test_what_is_shown_is_what_the_cell_has_put_out(lecture):
    page, warned = lecture(slide("```{shown} 05 late\n```\n\n```{shown} 02 movable-growth\n```"))
    assert warned == ""
    figure, on_paper = page.select("img.picture")
    assert "Heads of 64" in page.aside.text  # the caption is for the presenter
    assert "Without the division" in figure["alt"]
    assert page.iframe["data-src"] == "../explore/growth.html?theme=light&slide"
    assert on_paper["src"] == "figures/02-movable-growth.svg"


def test_a_figure_to_move_may_begin_elsewhere_and_its_own_picture_stands_for_it(lecture):
    asked = "```{shown} 09 movable-budget\n:state: stop=80\n```"
    page, warned = lecture(slide(asked))
    assert warned == ""
    assert page.iframe["data-src"] == "../explore/budget.html?theme=light&slide#budget:stop=80"
    assert page.select_one("iframe + .picture")["src"] == "figures/09-movable-budget.svg"


@pytest.mark.parametrize("address", ["", "https://a.b"])
def test_the_last_slide_says_in_letters_where_the_lab_and_the_package_are(lecture, address):
    repository = "https://c.d/e" if address else ""
    known = {"lecture_address": address, "lecture_repository": repository}
    page, warned = lecture(slide("```{book}\n```"), **known)
    assert warned == ""
    package = [line.text for line in page.select(".address")[2:]]
    assert package == ["The package: git clone https://c.d/e"] * bool(address)
    link = page.select(".address a")[1]
    assert link["href"] == "lab.ipynb"
    assert link.text == f"{address}/lecture/lab.ipynb".lstrip("/")


def test_the_lecture_types_no_number_that_was_measured():
    """Those with a point, or in thousands: what is counted by hand may be said."""
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    quoted = r"\{number\}`[^`]*`|\$[^$]*\$|^:(crop|letters):.*|^```{notes}.*"
    text = re.sub(quoted, "", html.unescape(text), flags=re.M)
    allowed = {
        "0.3",
        "1,000",
        "1,024",
        "1,920",
        "2,048",
        "4,000",
        "8,192",
        "0.02",
        "0.003",
    }  # settings
    allowed |= {"0.99", "0.01", "0.0099"}  # a product of two
    allowed |= {"3.2"}  # the beginning of a section's number
    assert set(re.findall(r"\d+[.,]\d+", text)) - allowed == set()
