# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from martlet.plot import main, measure, svg
from martlet.result import Result


def row(number: int, host: str, started: float | None, ended: float, error: str | None = None) -> Result:
    return Result(
        key=str(number), row=number, url=f"http://{host}/{number}", started=started, ended=ended, error_code=error
    )


def test_rows_and_hosts_are_counted_over_time() -> None:
    results = [
        row(0, "a.test", 0.0, 10.0),
        row(1, "a.test", 2.0, 3.0, "not-found"),
        row(2, "b.test", 4.5, 5.0),
        row(3, "c.test", None, 6.0),
    ]
    series = measure(results, intervals=10)
    assert series.interval == 1.0
    assert sum(series.rates) == 3 and series.rates[3] == 1 and series.rates[9] == 1
    assert series.failed[3] == 1 and sum(series.failed) == 1
    assert series.hosts == [1, 1, 1, 1, 2, 2, 1, 1, 1, 1]


def test_a_report_without_times_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        measure([row(0, "a.test", None, 1.0)])


def test_the_picture_is_xml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.jsonl"
    lines = [
        {"row": n, "url": f"http://h{n % 3}/", "started": n, "ended": n + 0.5, "error_code": None} for n in range(50)
    ]
    report.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"torn')
    assert main([str(report), "-o", str(tmp_path / "run.svg"), "--title", "a < b"]) == 0
    picture = ElementTree.parse(tmp_path / "run.svg").getroot()
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "a < b" in texts and "hosts in flight" in texts
    with pytest.raises(SystemExit):
        main([str(tmp_path / "none"), "-o", str(tmp_path / "x.svg")])
    assert "none" in capsys.readouterr().err


def test_one_instant_can_be_drawn() -> None:
    ElementTree.fromstring(svg(measure([row(0, "a.test", 5.0, 5.0)]), "one"))
