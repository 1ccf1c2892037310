"""``python -m sdpa_lib`` where no model is read: what it refuses, in one line, and its help. The
models are in tests/hugging_face.
"""

import json
import math
import subprocess
import sys

import pytest

from sdpa_lib.__main__ import _finite, main


def refusal(capsys, *arguments):
    """The one line that it says."""
    assert main([*map(str, arguments)]) == 2
    printed, message = capsys.readouterr()
    assert printed == ""
    assert message.count("\n") == 1
    return message


def test_help_names_every_option_and_what_it_measures():
    help_text = subprocess.run(
        [sys.executable, "-m", "sdpa_lib", "--help"], check=True, capture_output=True, text=True
    ).stdout
    assert help_text.startswith("usage: python -m sdpa_lib")
    for word in ("MODEL", "--text", "--swap", "--heads", "--json", "--length", "GGUF", "k_mean"):
        assert word in help_text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--swap", "d_k", "k_totel"], "Did you mean 'k_total'"),
        (["--length", "0"], "--length must be at least 1, got 0"),
        (["--passages", "-2"], "--passages must be at least 1, got -2"),
    ],
)
def test_an_argument_that_can_not_be_is_named(arguments, message, capsys):
    assert message in refusal(capsys, "nowhere", *arguments)


def test_a_text_that_can_not_be_read_is_named(tmp_path, capsys):
    path = tmp_path / "text.txt"
    assert "can not be read" in refusal(capsys, "nowhere", "--text", path)
    path.write_bytes(b"\xff\xfe\xff")
    assert "can not be read as UTF-8" in refusal(capsys, "nowhere", "--text", path)
    path.write_text(" \n")
    assert f"--text {path} is empty" in refusal(capsys, "nowhere", "--text", path)


def test_a_device_that_is_not_there_is_named(monkeypatch, capsys):
    monkeypatch.setenv("SDPA_DEVICE", "abacus")
    assert "SDPA_DEVICE must name a device" in refusal(capsys, "nowhere")


def test_without_transformers_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "pip install transformers" in refusal(capsys, "nowhere")


def test_json_has_null_where_there_is_no_number():
    report = {"spread": math.nan, "heads": [{"largest_score": -math.inf, "queries": 3}]}
    assert json.dumps(_finite(report), allow_nan=False) == (
        '{"spread": null, "heads": [{"largest_score": null, "queries": 3}]}'
    )
