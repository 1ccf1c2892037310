"""What is run by which name, what is stored, and that tables are those that are stored."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks.__main__ import REPORTS, chosen, main
from benchmarks.reports import RESULTS, Report
from sdpa_lib import RESCALINGS

STORED = sorted(RESULTS.rglob("*.json"))
WITH_MEMORY = {*RESCALINGS, "torch", "textbook", "exact", "blocks", "NumPy"}


def report_of(path: Path) -> str:
    return "costs" if path.parent == RESULTS else path.parent.name


def layout(value: object) -> object:
    """Keys in their order and types, but not which contestants and numbers of threads there are."""
    if isinstance(value, dict):
        return [*dict(entry(*item) for item in value.items() if "absent" not in item[0]).items()]
    if isinstance(value, list):
        return layout(value[0])
    return type(value).__name__


def entry(key: str, value: object) -> tuple[str, object]:
    is_timing = isinstance(value, dict) and "ratio" in value
    is_contestant = is_timing or key in WITH_MEMORY
    return ("contestant" if is_contestant else "threads" if key.isdigit() else key), layout(value)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_table_is_made_of_the_numbers_beside_it(path: Path) -> None:
    assert len(STORED) > 2
    results = json.loads(path.read_bytes())
    assert (json.dumps(results, indent=1) + "\n").encode() == path.read_bytes()
    table = REPORTS[report_of(path)].table(results)
    assert table.encode() == path.with_suffix(".md").read_bytes()


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_what_is_measured_has_the_layout_that_is_stored(
    path: Path, results: dict[str, dict[str, Any]]
) -> None:
    measured = json.loads(json.dumps(results[report_of(path)]))
    stored = json.loads(path.read_bytes())
    assert list(measured) == list(stored)
    for part in measured:
        assert layout(measured[part]) == layout(stored[part]), part


@pytest.mark.parametrize("name", REPORTS)
def test_results_give_the_same_table_once_stored(
    name: str, results: dict[str, dict[str, Any]], reports: dict[str, Report]
) -> None:
    table = reports[name].table(results[name])
    assert table == reports[name].table(json.loads(json.dumps(results[name])))
    assert results[name]["device"] in table


def test_the_command_stores_whole_reports(
    reports: dict[str, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    main(["--budget", "0", "watching", "costs.limits"], reports)
    (stored,) = tmp_path.rglob("*.json")
    assert stored.parent == tmp_path / "watching"
    assert json.loads(stored.read_text("utf-8"))["budget"] == 0.0
    assert stored.with_suffix(".md").read_text("utf-8").startswith("# Watching: ")


def test_the_command_stores_parts_where_it_is_told(
    reports: dict[str, Report],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path / "not here")
    quick = reports | {"costs": reports["costs"]._replace(budget=0.0)}
    main(["--out", str(tmp_path / "here"), "costs.short", "costs.limits"], quick)
    (stored,) = tmp_path.rglob("*.json")
    assert stored.parent == tmp_path / "here"
    results = json.loads(stored.read_text("utf-8"))
    assert list(results)[-3:] == ["limits", "short", "seconds"]
    assert results["budget"] == 0.0
    printed = capsys.readouterr().out
    assert "limits ...\nshort ...\n" in printed
    assert "## Short inputs" in printed
    assert "The machine copies" in printed


@pytest.mark.parametrize(
    ("names", "runs"),
    [
        ([], {name: list(report.parts) for name, report in REPORTS.items()}),
        (["watching"], {"watching": ["memory", "equality", "speed", "shares", "training"]}),
        (
            ["costs.others", "watching.speed", "costs.attention"],
            {"costs": ["attention", "others"], "watching": ["speed"]},
        ),
    ],
)
def test_names_say_what_is_run(names: list[str], runs: dict[str, list[str]]) -> None:
    assert chosen(names, REPORTS) == runs


@pytest.mark.parametrize("name", ["costs.atention", "attention", "watching."])
def test_an_unknown_name_is_told_with_those_that_there_are(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["costs.limits", name])
    message = capsys.readouterr().err
    assert f"'{name}'" in message
    for known in ("costs", "costs.attention", "watching", "watching.training"):
        assert known in message
    if name != "watching.":
        assert "Did you mean 'costs.attention'" in message
