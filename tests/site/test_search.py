"""The search, as somebody uses it who has the site or a folder with it."""

import gzip
import json
import re

import pytest

from tests.site.browser import AXE, SITE

ASKED = "book/people_ask.html"
TYPED = {
    "sqrt(sqrt(d)) why": "why-sqrt-sqrt-d-on-q-and-k-is-it-a-bug",
    "fp16 nan attention": "fp16-my-scores-are-nan",
    "q.shape[-1] deepseek": "which-d-k-is-it-in-mla-192-or-576",
    "absorbed mla 576": "which-d-k-is-it-in-mla-192-or-576",
    "does F.scaled_dot_product_attention divide": (
        "does-f-scaled-dot-product-attention-already-divide"
    ),
    "scale= argument": "does-f-scaled-dot-product-attention-already-divide",
    "temper transformer": "what-is-temper-in-scaleddotproductattention",
    "mup 1/d": "why-do-some-papers-use-1-d",
    "attn_mult": "what-is-attn-mult-in-mup",
    "entropy collapse": "how-should-attention-entropy-behave-in-training",
    "multiply embeddings by sqrt(d_model)": "why-are-embeddings-multiplied-by-sqrt-d-model",
    "why not divide the output softmax": "why-isn-t-the-read-out-s-softmax-divided-by-sqrt-d-model",
    "softmax in fp32": "why-is-softmax-computed-in-float32",
    "layernorm makes scaling redundant": "doesn-t-layernorm-make-the-scaling-unnecessary",
    "softmax subtract max": "softmax-subtracts-the-maximum-already-so-why-scale",
    "mask before or after scaling": (
        "is-the-mask-or-bias-added-before-or-after-scaling-why-not-multiplied"
    ),
    "qk norm still need sqrt(d)": "with-qk-norm-do-i-still-need-sqrt-d-k-or-10",
    "loss explodes": "my-loss-explodes-does-the-root-prevent-it-does-qk-norm",
    "is my head saturated": "is-my-trained-head-saturated-what-are-the-limits",
    "temperature at inference": (
        "may-i-change-the-temperature-at-inference-is-it-the-sampling-temperature"
    ),
    "head_dim or hidden_size": "is-it-the-head-s-dimension-or-the-model-s",
    "v.size(-1)": "does-d-v-count-the-code-says-sqrt-v-size-1",
    "linear attention scaling": "does-linear-attention-need-the-scale-sigmoid-attention",
    "xcit": "channel-attention-q-t-k-the-root-of-what",
    "apply_query_key_layer_scaling": "why-does-megatron-divide-by-the-layer-number",
    "why variance 1": "why-must-the-variance-be-1",
    "cosine instead of dot product": "why-not-cosine-similarity",
    "scale q or scores": "do-i-scale-q-or-the-scores",
    "rope sqrt(d_k)": "does-rope-change-the-divisor",
    "softmax off by one": "do-attention-sinks-or-softmax-off-by-one-change-the-scale",
}
"""What is typed, and the answer that has to be among the first three."""
ROOT = "people_ask#why-the-square-root-and-not-d-k-itself-is-it-only-empirical"
PYTORCH = "people_ask#does-f-scaled-dot-product-attention-already-divide"
WEIGHTS = "people_ask#can-t-w-q-simply-learn-the-factor"
FOURTH = "people_ask#why-sqrt-sqrt-d-on-q-and-k-is-it-a-bug"
WAYS = {
    "forms that no ending makes": {
        "I forgot to divide": (
            "people_ask#what-goes-wrong-in-training-if-the-division-is-forgotten"
        ),
        "why was the root chosen": ROOT,
        "a learnt scale": "people_ask#why-not-a-learned-scale",
        "training blew up": "people_ask#my-loss-explodes-does-the-root-prevent-it-does-qk-norm",
        "variance grew with dimension": (
            "02_dot_products_grow#why-do-dot-products-grow-with-dimension"
        ),
    },
    "names in code": {
        "sdpa divides": PYTORCH,
        "softmax_scale=None": PYTORCH,
        "scale=1.0": PYTORCH,
        "sm_scale": PYTORCH,
        "mha": "01_the_formula_and_its_shapes#several-heads-and-an-update",
        "q_proj absorbs the scale": WEIGHTS,
        "0.125": "people_ask#is-it-the-head-s-dimension-or-the-model-s",
        "self.head_dim": "people_ask#is-it-the-head-s-dimension-or-the-model-s",
    },
    "powers and roots": {
        "d_k ** -0.5": "people_ask#why-divide-by-sqrt-d-k-at-all",
        "d_k^(-1/2)": "people_ask#why-divide-by-sqrt-d-k-at-all",
        "q * d**-0.25": FOURTH,
        "\N{FOURTH ROOT}d": FOURTH,
        "why \N{SQUARE ROOT}d\N{LATIN SUBSCRIPT SMALL LETTER K}": (
            "people_ask#why-divide-by-sqrt-d-k-at-all"
        ),
        "\N{SQUARE ROOT}d_v": "people_ask#does-d-v-count-the-code-says-sqrt-v-size-1",
        "\N{CUBE ROOT}d": (
            "06_why_exactly_the_square_root#derive-the-power-that-makes-the-width-drop-out"
        ),
        "d\N{LATIN SUBSCRIPT SMALL LETTER K}": "people_ask#is-d-k-the-number-of-tokens",
    },
    "other verbs": {
        "merge the scale into W_Q": WEIGHTS,
        "bake the root into the projection": WEIGHTS,
        "can the weights absorb 1/sqrt(d)": WEIGHTS,
        "must I scale q manually": PYTORCH,
        "is it scaled already": PYTORCH,
        "default scale of flash attention": PYTORCH,
    },
    "experiments": {
        "demo with numpy": "02_dot_products_grow#a-key-that-matches-grows-faster",
        "simulate with numpy": "02_dot_products_grow#a-key-that-matches-grows-faster",
        "simulated variance": ("03_the_variance_derivation#softmax-sees-the-variance-within-a-row"),
    },
}
"""What is typed in one of several ways, and the place that has to be among the first three."""


SOFTMAX = "book/04_softmax_saturation.html"
BOX = ".bar .search input"
AT_MOST = 120_000  # bytes of index and finder, compressed
CALLS = 5000  # of functions, in the page


def read_index():
    script = (SITE / "searchindex.js").read_text(encoding="utf-8")
    text = json.loads(script.removeprefix("window.SEARCH_INDEX = ").removesuffix(";\n"))
    return json.loads(text)


@pytest.fixture
def search(tab, base):
    """A function that opens the search page, and gives what looks for a question there."""

    def open_search(place="served", **settings):
        page, wrong = tab(
            f"{base if place == 'served' else SITE.as_uri() + '/'}search.html", **settings
        )

        def ask(question):
            page.locator(".search-page input").fill(question)
            page.wait_for_function(
                "asked => document.querySelector('#search-results').dataset.question === asked",
                arg=question,
            )
            assert wrong == []
            urls = page.locator("#search-results a").evaluate_all(
                "links => links.map(link => link.getAttribute('href'))"
            )
            return [url.removeprefix("./") for url in urls]

        return page, ask

    return open_search


@pytest.mark.parametrize("place", ["served", "folder"])
def test_a_section_is_found_by_its_heading(search, place):
    """Of every fifth section, the notes' apart, whose heading no other has, all but one in twenty:
    some have no word of their own.
    """
    index = read_index()
    headings = [heading for _, _, heading, *_ in index["entries"]]
    explaining = [
        (f"{index['pages'][page][0]}#{anchor}", heading)
        for page, anchor, heading, *_, distance in index["entries"]
        if distance == 0 and headings.count(heading) == 1
    ]
    _, ask = search(place)
    asked = explaining[:: 5 if place == "served" else 50]
    missed = [heading for url, heading in asked if url not in ask(heading)[:3]]
    assert len(explaining) > 130
    assert len(missed) <= len(asked) / 20, missed


@pytest.mark.smoke
def test_a_slip_makes_no_difference(search):
    _, ask = search()
    for slip in ("kurtosi", "kurtsis", "kurtossis", "kurtasis"):
        assert ask(slip) == ask("kurtosis"), slip


def test_what_people_ask_is_found_in_their_words(search):
    _, ask = search()
    wanted = {typed: f"{ASKED}#{anchor}" for typed, anchor in TYPED.items()}
    missed = [typed for typed, url in wanted.items() if url not in ask(typed)[:3]]
    assert missed == []


@pytest.mark.parametrize("way", WAYS)
def test_a_thing_is_found_in_whichever_way_it_is_typed(search, way):
    _, ask = search()
    wanted = {
        typed: "book/{}.html#{}".format(*place.split("#")) for typed, place in WAYS[way].items()
    }
    missed = [typed for typed, url in wanted.items() if url not in ask(typed)[:3]]
    assert missed == []


def test_the_list_of_questions_leaves_the_first_places_to_the_questions(search):
    _, ask = search()
    for asked in ("dividing by \N{SQUARE ROOT}d_k", "what people ask about the root of d_k"):
        of_page = [url for url in ask(asked) if url.startswith(ASKED)]
        assert of_page
        assert not any("#what-people-ask" in url for url in ask(asked)[:3]), asked


def test_a_question_comes_first_by_its_heading(search):
    _, ask = search()
    index = read_index()
    pages = [page for page, _ in index["pages"]]
    asked = {
        heading: f"{ASKED}#{anchor}"
        for page, anchor, heading, *_ in index["entries"]
        if pages[page] == ASKED and heading.endswith("?")
    }
    assert len(asked) > 40
    missed = [heading for heading, url in asked.items() if url not in ask(heading)[:2]]
    assert missed == []


def test_synonyms_lead_to_the_same_section(search):
    _, ask = search()
    assert ask("bf16")[0] == ask("bfloat16")[0]


def test_a_claim_and_an_object_are_found_by_name(search):
    _, ask = search()
    assert ask("S3-23")[0] == "book/ledger.html#S3-23"
    for name in ("decoding.RunningDivisor", "attention.scaled_dot_product_attention"):
        module, _, called = name.partition(".")
        assert ask(called)[0] == f"book/reference/{module}.html#sdpa_lib.{name}"


def test_what_is_looked_up_comes_last(search):
    _, ask = search()
    urls = ask("Bernhard")
    assert len(urls) > 2
    assert not any(page in urls[0] for page in ("reference", "bibliography", "ledger"))


@pytest.mark.smoke
def test_a_result_shows_its_chapter_and_the_words(search):
    page, ask = search()
    ask("kurtosis")
    result = page.locator("#search-results li").first
    assert (
        result.locator("a").inner_text().count(" \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} ")
        == 1
    )
    assert "kurtosis" in result.locator("mark").first.inner_text().lower()
    ask("zzzzzzzzzz")
    assert "Nothing in the book matches" in page.locator("#search-count").inner_text()


@pytest.mark.smoke
def test_the_index_is_loaded_when_somebody_turns_to_the_search(tab, base):
    page, _ = tab(base + SOFTMAX)
    loaded = (
        "performance.getEntriesByType('resource').filter(({name}) => /search/.test(name)).length"
    )
    assert page.evaluate(loaded) == 0
    page.locator(BOX).focus()
    page.wait_for_function(f"{loaded} === 2")
    page.goto(f"{base}search.html?q=kurtosis")
    page.wait_for_selector("#search-results a")
    assert page.locator(".search-page input").input_value() == "kurtosis"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_results_are_accessible_and_fit(search, theme, width):
    page, ask = search(width=width, theme=theme)
    assert len(ask("scaled dot product attention")) == 20
    page.evaluate(AXE)
    violations = page.evaluate(
        "axe.run().then(result => result.violations.map(v => v.id + ': ' + v.nodes[0].html))"
    )
    assert violations == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_two_forms_have_names_of_their_own(search):
    page, _ = search()
    forms = page.get_by_role("search")
    names = forms.evaluate_all("forms => forms.map(form => form.getAttribute('aria-label'))")
    assert len(set(names)) == len(names) == 2
    assert None not in names


@pytest.mark.smoke
def test_results_are_reached_by_the_keyboard(search):
    page, ask = search()
    first, *_ = ask("convex hull")
    page.keyboard.press("Tab")  # the button
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{first}")


def test_results_set_indices_and_exponents(search):
    page, ask = search()
    results = page.locator("#search-results")
    for question in ("variance", "border of concentration", "closed form for many keys", "entropy"):
        ask(question)
        text = results.inner_text()
        assert not re.search(r"\b\w_|\^", text), text  # std_q is a name in code
    ask("variance")
    assert "k" in results.locator("sub").all_text_contents()
    assert "2" in results.locator("sup").all_text_contents()


@pytest.mark.smoke
def test_a_term_and_a_symbol_are_landed_on(search):
    page, ask = search(width=390)
    for name, target in (("perplexity", "term-perplexity-of-a-row"), ("d_v", "symbol-d-v")):
        page.goto(page.url.partition("book/")[0].partition("search.html")[0] + "search.html")
        urls = ask(name)
        assert f"book/notation.html#{target}" in urls[:3]
        page.locator(f"#search-results a[href$='#{target}']").click()
        page.wait_for_url(f"**/notation.html#{target}")
        place = page.locator(f"#{target}").bounding_box()
        assert 0 < place["y"] < 450


def suggestions(page):
    return page.locator("#suggestions li")


def type_and_wait(page, text):
    page.locator(BOX).press_sequentially(text)
    page.wait_for_function(
        "asked => document.querySelector('#suggestions')?.dataset.question === asked", arg=text
    )


@pytest.mark.smoke
@pytest.mark.parametrize("place", ["served", "folder"])
def test_places_are_suggested_while_somebody_types(tab, base, place):
    page, wrong = tab((base if place == "served" else SITE.as_uri() + "/") + SOFTMAX)
    page.keyboard.press("/")
    type_and_wait(page, "convex hull of values")
    box = page.locator(BOX)
    assert suggestions(page).count() == 6
    assert box.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    chosen = page.locator("#suggestions [aria-selected='true']")
    assert chosen.get_attribute("id") == box.get_attribute("aria-activedescendant")
    assert chosen.get_attribute("id") == suggestions(page).first.get_attribute("id")
    page.keyboard.press("Escape")
    assert page.locator("#suggestions").is_hidden()
    assert box.input_value() == "convex hull of values"
    assert box.get_attribute("aria-activedescendant") is None
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/07_what_at_v_does.html#*")
    assert wrong == []


@pytest.mark.smoke
def test_enter_goes_to_the_search_page_and_a_click_to_a_place(tab, base):
    page, _ = tab(base + SOFTMAX)
    page.keyboard.press("Control+k")
    type_and_wait(page, "kurtosis")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=kurtosis")
    type_and_wait(page, "convex hull")
    suggestions(page).first.click()
    page.wait_for_url("**/07_what_at_v_does.html#*")


def test_a_slash_is_typed_where_one_types(tab, base):
    page, _ = tab(f"{base}search.html")
    page.locator(".search-page input").focus()
    page.keyboard.type("1/d")
    assert page.locator(".search-page input").input_value() == "1/d"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_suggestions_are_accessible_and_fit(tab, base, theme, width):
    page, _ = tab(base + SOFTMAX, width=width, theme=theme)
    page.locator(BOX).focus()
    type_and_wait(page, "scaled dot product attention")
    page.keyboard.press("ArrowDown")
    page.evaluate(AXE)
    violations = page.evaluate(
        "axe.run().then(result => result.violations.map(v => v.id + ': ' + v.nodes[0].html))"
    )
    assert violations == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator("#suggestions").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_index_and_finder_are_small():
    files = (SITE / "searchindex.js", SITE / "_static" / "search" / "search.min.js")
    assert sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) <= AT_MOST


def test_the_page_has_little_to_do_with_the_search(tab, base):
    """From the first touch of the box to the places that are shown, the page's own scripts make few
    calls: who reads the index and looks in it, a million and more, is the worker.
    """
    page, _ = tab(base + SOFTMAX)
    session = page.context.new_cdp_session(page)
    session.send("Profiler.enable")
    session.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})
    page.locator(BOX).focus()
    type_and_wait(page, "saturation of softmax")
    scripts = session.send("Profiler.takePreciseCoverage")["result"]
    calls = {
        script["url"].rpartition("/")[2]: sum(
            function["ranges"][0]["count"] for function in script["functions"]
        )
        for script in scripts
    }
    assert 0 < calls["search.min.js"] + calls["searchindex.js"] < CALLS


def test_the_section_that_explains_a_thing_stands_before_its_definition(search):
    """Both are among the first, where both say it."""
    _, ask = search()
    for asked, explains, defines in (
        ("temperature", "04_softmax_saturation", "term-temperature"),
        ("QK-norm", "08_alternative_scalings", "term-qk-norm"),
        ("effective number of keys", "04_softmax_saturation", "term-effective-number-of-keys"),
    ):
        urls = ask(asked)[:3]
        assert explains in urls[0], asked
        assert f"book/notation.html#{defines}" in urls, asked
