"""How wide are dot products: what the slider asks for is what the sentence says."""

from sdpa_book.explorables import template

from ..conftest import go, numbers, sentence


def test_the_width_that_is_told_is_the_one_measured(explorable):
    figure = explorable("template")
    table = template.data()
    for d_k, std in zip(table["d_k"], table["std"], strict=True):
        go(figure, f"d_k={d_k}")
        assert numbers(sentence(figure)) == [d_k, round(std, 1)]
