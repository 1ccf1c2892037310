"""What Sphinx writes for an EPUB is put right, so that epubcheck finds nothing in it."""

from zipfile import ZIP_STORED, ZipFile

from editions import epub
from lxml import etree

PAGE = """<?xml version="1.0"?><!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>A</title><script src="a.js"></script></head>
<body><p id="a">one<wbr>two <a href="../lecture/index.html" download>lecture</a></p>
<p id="a"><a href="b.xhtml#b">b</a> <a href="https://example.org">c</a></p>
<math><mi stretchy="false" form="prefix">|</mi></math><form><input required></form></body></html>"""
PACKAGE = """<item id="x" href="book/a.xhtml" media-type="application/xhtml+xml" />
<item id="y" href="book/b.xhtml" media-type="application/xhtml+xml" />
<item id="z" href="_static/a.js" media-type="text/javascript" />"""


def test_a_page_becomes_xhtml_and_says_that_it_has_formulas(tmp_path):
    original, right = tmp_path / "made.epub", tmp_path / "right.epub"
    with ZipFile(original, "w") as file:
        file.writestr("mimetype", "application/epub+zip")
        file.writestr("book/a.xhtml", PAGE)
        file.writestr("book/b.xhtml", "<html><head></head><body><p id='b'>b</p></body></html>")
        file.writestr("_static/a.js", "")
        file.writestr("_images/a.svg", '<svg><path id="s"/><path d="M1 1"/></svg>')
        file.writestr("content.opf", PACKAGE)
    epub.put_right(original, right)
    with ZipFile(right) as file:
        assert file.infolist()[0].compress_type == ZIP_STORED
        assert "_static/a.js" not in file.namelist()
        page = etree.fromstring(file.read("book/a.xhtml"))  # which has to be well-formed
        package = file.read("content.opf").decode()
        assert file.read("_images/a.svg").count(b" d=") == 2
    names = {None: epub.XHTML, "m": epub.MATHML}
    assert page.findall(".//script", names) + page.findall(".//form", names) == []
    assert [link.get("href") for link in page.iterfind(".//a", names)] == [
        None,
        "b.xhtml#b",
        "https://example.org",
    ]
    assert [part.get("id") for part in page.iterfind(".//p", names)] == ["a", None]
    assert page.find(".//m:math/m:mi", names).attrib == {}
    assert package.count('properties="mathml"') == 1
    assert "_static" not in package
