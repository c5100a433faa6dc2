"""refcoll validate: the page, the tables, JSON."""

from __future__ import annotations

import json
from pathlib import Path

from refcoll.planning.validation_report import validation
from refcoll.planning.validation_steps import slowed

DOCS = Path(__file__).parent.parent.parent / "docs"
ROW = {
    "subject", "machine", "nodes", "ranks", "algorithm", "bytes", "quantity", "value", "unit",
    "kind", "source", "note", "use", "how", "group", "measured", "measured_unit", "predicted",
    "error",
}  # fmt: skip


def test_the_page_is_what_comes(run_refcoll, tmp_path):
    path = tmp_path / "page.md"
    status, out, _ = run_refcoll("validate", "-o", str(path))
    assert status == 0
    remedy = "refcoll validate -o docs/validation.md"
    assert path.read_text() == (DOCS / "validation.md").read_text(), remedy
    assert out.splitlines()[0] in path.read_text().replace("\n", " ")  # the verdict


def test_every_row_and_all_digits(run_refcoll, tmp_path):
    path = tmp_path / "all.json"
    status, out, _ = run_refcoll("validate", "--rows", "--json", str(path))
    assert status == 0
    content = json.loads(path.read_text())
    assert content.keys() == {
        "verdict", "rows", "groups", "held_out", "ratios", "repeated", "decline",
    }  # fmt: skip
    assert all(row.keys() == ROW for row in content["rows"])
    assert out.splitlines()[0] == content["verdict"]
    assert len(out.splitlines()) == len(content["rows"]) + 3
    for each in content["rows"]:
        if each["predicted"] is None:
            assert each["error"] is None
        else:
            assert each["error"] == each["predicted"] / each["measured"] - 1


def test_other_pages_say_the_same():
    """Of how many figures, and the medians in the middle."""
    made = validation()
    medians = {each.title: f"{each.median:.0%}".replace("%", " %") for each in made.groups}
    for page in ("../README.md", "planning.md"):
        text = (DOCS / page).read_text()
        for size in ("1 to 64 MiB", "64 MiB to 1 GiB"):
            assert medians[f"all-reduce, {size}"] in text, page
    assert f"beside {len(made.rows)} published figures" in (DOCS / "../README.md").read_text()
    (small,) = (each for each in made.rows
                if (each.row.quantity, each.row.value) == ("slowdown", 0.038))  # fmt: skip
    for said in (f"{-slowed(small.row):.1%} *faster*", f"{small.predicted:.1%} slower"):
        assert said.replace("%", " %") in (DOCS / "timeline.md").read_text()


def test_a_page_that_cannot_be_written_is_refused_first(run_refcoll, tmp_path):
    status, _, err = run_refcoll("validate", "-o", str(tmp_path / "none" / "page.md"))
    assert status == 2
    assert "markdown=" in err
