"""The lecture shows what the chapters hold, and what it can't show fails the build."""

import html
import io
import re
import warnings
from pathlib import Path

import nbformat
import pytest
import stored
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

LECTURE = Path(__file__).parents[2] / "lecture"
NOTES = "\n\n```{{notes}} {}\nSay it.\n```\n"


@pytest.fixture
def lecture(tmp_path):
    """A function that builds slides: the page, and the warnings."""

    def build(text, minutes):
        (tmp_path / "index.md").write_text(text, encoding="utf-8")
        warned = io.StringIO()
        settings = {"lecture_minutes": minutes, "revealjs_static_path": []}
        with warnings.catch_warnings(action="ignore"), patch_docutils(), docutils_namespace():
            folders = tmp_path, LECTURE, tmp_path / "site", tmp_path / "doctrees"
            Sphinx(*folders, "revealjs", settings, None, warned).build()
        page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
        return BeautifulSoup(page, "html.parser"), warned.getvalue()

    return build


def slide(content, minutes=1):
    return f"# A\n\n{content}{NOTES.format(minutes)}"


def test_a_number_is_the_one_that_the_chapter_has_put_out(lecture, monkeypatch):
    asked = "{number}`04 cell-14 [64, undivided]` and {number}`04 backwards: a gap of 10 is … of *`"
    page, warned = lecture(slide(asked), 1)
    assert [number.text for number in page.select("section b")[:2]] == ["1.57", "22,026"]
    assert warned == ""
    changed = nbformat.from_dict(stored.cell("04", "cell-14"))
    changed.outputs[0].data["text/html"] = changed.outputs[0].data["text/html"].replace("1.57", "9")
    monkeypatch.setattr(stored, "cell", lambda *_: changed)
    assert stored.number("04 cell-14 [64, undivided]") == "9"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("{number}`04 backwards: needs gaps of *`", "has printed 2 times"),
        ("{number}`04 backwards: no such words *`", "has printed 0 times"),
        ("{number}`04 cell-14 [65, undivided]`", "no table with 65"),
        ("```{shown} 04 no-such-cell\n```", "has no cell no-such-cell"),
        ("```{box} 04 Theorem\n```", "has no box Theorem"),
        ("## Without notes", "a slide has one {notes}, this one 0"),
        ("", "the slides take 1 minutes, not 2"),
    ],
)
def test_what_a_chapter_has_not_got_fails_the_build(lecture, wrong, message):
    _, warned = lecture(slide("") + "\n" + wrong, 1 if wrong else 2)
    assert message in warned


def test_a_poll_marks_the_right_option_a_step_after_its_question(lecture):
    page, warned = lecture(slide("```{poll} 02\n```"), 1)
    assert warned == ""
    first, second = page.select(".question")
    assert "fragment" not in first["class"]
    assert "fragment" in second["class"]
    assert [li.text for li in page.select("li.fragment.custom.right")] == [
        "8",
        "by more standard deviations",
    ]
    assert "right one: B, then A." in page.select_one("aside.notes").text
    assert "<!--" not in str(page)


def test_what_is_shown_is_what_the_cell_has_put_out(lecture):
    page, warned = lecture(slide("```{shown} 05 late\n```\n\n```{shown} 02 movable-growth\n```"), 1)
    assert warned == ""
    figure, on_paper = page.select("img.picture")
    assert "In batches of 32" in page.aside.text  # the caption is for the presenter
    assert "Undivided" in figure["alt"]
    assert page.iframe["data-src"] == "../explore/growth.html?theme=light"
    assert on_paper["src"] == "figures/02-movable-growth.svg"


def test_the_lecture_types_no_number_that_was_measured():
    """Those with a point, or in thousands: what is counted by hand may be said."""
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    text = re.sub(r"\{number\}`[^`]*`|\$[^$]*\$", "", html.unescape(text), flags=re.M)
    allowed = {"0.3", "1,024", "2,048", "0.02", "2.7"}  # settings, and e
    assert set(re.findall(r"\d+[.,]\d+", text)) - allowed == set()
