# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import fcntl
import io
import itertools
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import martlet
from martlet.errors import ExecutableNotFound, ReportLocked, RunFailed
from martlet.progress import Counts, TerminalProgress, TqdmProgress
from martlet.rows import json_line


def urls(count: int) -> list[str]:
    return [f"http://host{number % 7}.example/{number}" for number in range(count)]


def test_each_row_is_yielded_once_with_its_columns(fake: str, tmp_path: Path) -> None:
    rows = [{"url": url, "key": f"k{number}", "label": number} for number, url in enumerate(urls(300))]
    results = list(martlet.fetch(rows, output=tmp_path / "out", executable=fake))
    assert sorted(result.row for result in results) == list(range(300))
    assert {result.key: result.columns["label"] for result in results} == {f"k{n}": n for n in range(300)}
    assert all(result.ok and result.sha256 and result.status == 200 for result in results)
    assert (tmp_path / "out" / "k7").read_text() == rows[7]["url"]


def test_failed_rows_are_results(fake: str, tmp_path: Path) -> None:
    rows = ["http://a.example/404", "http://a.example/503", "http://a.example/x"]
    results = list(martlet.fetch(rows, output=tmp_path, executable=fake))
    assert [(result.ok, result.status, result.retryable) for result in results] == [
        (False, 404, False),
        (False, 503, True),
        (True, 200, False),
    ]


def test_a_run_with_the_same_report_continues(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "report.jsonl"
    monkeypatch.setenv("FAKE_DIE_AFTER", "40")
    monkeypatch.setenv("FAKE_TORN", "1")
    with pytest.raises(RunFailed, match="signal 9"):
        list(martlet.fetch(urls(100), output=tmp_path / "out", report=report, executable=fake))
    assert not report.read_bytes().endswith(b"\n")
    assert len(list(martlet.read_report(report))) == 40
    monkeypatch.delenv("FAKE_DIE_AFTER")
    results = list(martlet.fetch(urls(100), output=tmp_path / "out", report=report, executable=fake))
    assert sorted(result.row for result in results) == list(range(100))
    assert len(report.read_bytes().splitlines()) == 100


def test_retry_from_fetches_the_retryable_rows(fake: str, tmp_path: Path) -> None:
    report = tmp_path / "first.jsonl"
    rows = [f"http://a.example/{number}/{end}" for number, end in enumerate(["404", "503", "ok", "503"])]
    list(martlet.fetch(rows, output=tmp_path / "out", report=report, executable=fake))
    again = list(martlet.fetch(None, retry_from=report, output=tmp_path / "out", executable=fake))
    assert [result.row for result in again] == [1, 3]
    every = list(
        martlet.fetch(None, retry_from=report, retry_all_failed=True, output=tmp_path / "out", executable=fake)
    )
    assert [result.row for result in every] == [0, 1, 3]


@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.jsonl"])
def test_a_table_may_be_a_file(fake: str, tmp_path: Path, name: str) -> None:
    separator = {"table.csv": ",", "table.tsv": "\t"}.get(name)
    if separator:
        text = separator.join(["url", "label"]) + "\n" + separator.join(["http://a.example/1", "one"]) + "\n"
    else:
        text = '{"url": "http://a.example/1", "label": "one"}\n'
    (tmp_path / name).write_text(text)
    [result] = martlet.fetch(tmp_path / name, output=tmp_path / "out", executable=fake)
    assert (result.url, result.columns) == ("http://a.example/1", {"label": "one"})


def test_a_table_may_be_parquet(fake: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"url": urls(50), "label": list(range(50))}), tmp_path / "t.parquet")
    results = list(martlet.fetch(tmp_path / "t.parquet", output=tmp_path / "out", executable=fake))
    assert sorted(result.columns["label"] for result in results) == list(range(50))


def test_results_appear_while_the_table_is_still_read(fake: str, tmp_path: Path) -> None:
    seen = threading.Event()

    def rows() -> Iterator[str]:
        # More than the buffers of the pipe, then the rest only after the first result.
        yield from (f"http://a.example/{number}?{'x' * 200}" for number in range(2000))
        assert seen.wait(60)
        yield "http://a.example/last"

    results = martlet.fetch(rows(), output=tmp_path / "out", executable=fake)
    next(results)
    seen.set()
    assert sum(1 for _ in results) == 2000


def test_an_endless_table_can_be_closed(fake: str, tmp_path: Path) -> None:
    def rows() -> Iterator[str]:
        for number in itertools.count():
            yield f"http://a.example/{number}?{'x' * 500}"

    report = tmp_path / "report.jsonl"
    results = martlet.fetch(rows(), output=tmp_path / "out", report=report, executable=fake)
    assert len(list(itertools.islice(results, 5))) == 5
    results.close()
    # The process has released its lock: it has ended.
    with report.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not [thread for thread in threading.enumerate() if thread.name == "martlet-process"]


def test_an_error_of_the_table_is_raised_and_ends_the_run(fake: str, tmp_path: Path) -> None:
    def rows() -> Iterator[str]:
        yield "http://a.example/1"
        raise KeyError("the source is broken")

    with pytest.raises(KeyError, match="the source is broken"):
        list(martlet.fetch(rows(), output=tmp_path / "out", executable=fake))


def test_a_second_run_on_a_report_is_refused(fake: str, tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    with report.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ReportLocked, match="another run"):
            list(martlet.fetch(urls(3), output=tmp_path / "out", report=report, executable=fake))


def test_an_error_has_the_message_of_the_executable(fake: str, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="unknown option '--bad'") as raised:
        list(martlet.fetch(urls(3), output=tmp_path / "out", executable=fake, arguments=["--bad"]))
    assert raised.value.status == 28


def test_options_become_arguments(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    list(
        martlet.fetch(
            ["http://a.example/1"],
            shards=tmp_path / "shards",
            shard_size="1G",
            shard_count=1000,
            executable=fake,
            jobs=64,
            per_host=2,
            host_interval=0.00001,
            robots=True,
            insecure=False,
            types=["image/*", "video/mp4"],
            retry_status=[500, 503],
            headers={"X-A": "b"},
        )
    )
    [line] = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    text = " ".join(line)
    for piece in (
        "--jobs 64 --per-host 2 --retry-status 500 --retry-status 503 --robots --types image/*,video/mp4",
        "--host-interval 0.00001",
        "--header X-A: b",
        f"--shards {tmp_path}/shards --shard-size 1G --shard-count 1000 --report {tmp_path}/shards/report.jsonl",
    ):
        assert piece in text
    assert "insecure" not in text


def test_unknown_options_and_contradictions_are_refused_by_the_call(fake: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no option 'per_hosts'"):
        martlet.fetch(urls(1), output=tmp_path, executable=fake, per_hosts=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="either output"):
        martlet.fetch(urls(1), executable=fake)
    with pytest.raises(ValueError, match="either rows"):
        martlet.fetch(None, output=tmp_path, executable=fake)
    with pytest.raises(ValueError, match="for one URL"):
        martlet.fetch("http://a.example/", output=tmp_path, executable=fake)
    with pytest.raises(ValueError, match="need shards"):
        martlet.fetch(urls(1), output=tmp_path, executable=fake, shard_time=5)
    with pytest.raises(ValueError, match="fixed names"):
        martlet.fetch(None, retry_from="r", url_column="URL", output=tmp_path, executable=fake)


def test_what_yields_no_rows_is_refused_by_the_call(fake: str, tmp_path: Path) -> None:
    def fetch(rows: object) -> None:
        martlet.fetch(rows, output=tmp_path, executable=fake)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match=r"not a mapping; for one row: \[row\]"):
        fetch({"url": "http://a.example/1"})
    with pytest.raises(TypeError, match="not bytes"):
        fetch(b"http://a.example/1")
    with pytest.raises(TypeError, match="not int"):
        fetch(3)
    if pandas := pytest.importorskip("pandas"):
        with pytest.raises(TypeError, match=r'DataFrame.*rows.to_dict\("records"\)'):
            fetch(pandas.DataFrame({"url": urls(2)}))
        assert len(list(martlet.fetch(pandas.Series(urls(2)), output=tmp_path, executable=fake))) == 2
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match=r"rows\.to_pylist"):
        fetch(pa.table({"url": urls(2)}))


def test_columns_may_have_other_names(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    rows = [{"URL": "http://a.example/1", "ID": "k"}, {"URL": "http://a.example/404", "ID": "l"}]
    results = list(martlet.fetch(rows, output=tmp_path / "o", executable=fake, url_column="URL", columns={"key": "ID"}))
    assert [(result.url, result.key) for result in results] == [(row["URL"], row["ID"]) for row in rows]
    [plain] = martlet.fetch(["http://a.example/2"], output=tmp_path / "o", executable=fake, url_column="URL")
    assert plain.url == "http://a.example/2"
    assert '"--column", "url=URL", "--column", "key=ID"' in (tmp_path / "log").read_text()


def test_a_table_without_rows_has_no_results(fake: str, tmp_path: Path) -> None:
    assert list(martlet.fetch([], output=tmp_path, executable=fake)) == []


def test_rows_of_an_open_shard_are_counted_before_they_are_results(
    fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    monkeypatch.setenv("FAKE_SHARD", str(closed))

    class Bar:
        added = 0
        seen: list[tuple[int, Counts]] = []  # noqa: RUF012

        def add(self, result: martlet.Result) -> None:
            self.added += 1

        def counts(self, counts: Counts) -> None:
            self.seen.append((self.added, counts))
            if counts.ended == 3:
                # The shard is closed only when all its rows were counted.
                closed.touch()

        def close(self) -> None:
            pass

    bar = Bar()
    rows = ["http://a.example/1", "http://a.example/404", "http://a.example/2"]
    results = list(martlet.fetch(rows, shards=tmp_path / "s", executable=fake, progress=bar))
    assert len(results) == bar.added == 3
    added, counts = next((added, counts) for added, counts in bar.seen if counts.ended == 3)
    assert (added, counts.stored, counts.failed, counts.reasons()) == (0, 2, {"http-404": 1}, {"http-404": 1})


def test_the_terminal_shows_rows_of_an_open_shard_and_reasons() -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream, total=100, width=120)
    progress.counts(Counts(rows=60, stored=40, failed={"timeout": 2, "not-found": 8}, bytes=2048, row_rate=7.0))
    progress.add(martlet.Result(key="k", row=0, url="u", bytes=1))
    progress.close()
    last = stream.getvalue().split("\r")[-1]
    assert last.startswith("50/100 rows, 10 failed, 2.0 KiB, 7 rows/s")
    assert last.rstrip().endswith("; not-found 8, timeout 2")


def test_the_executable_is_found(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ExecutableNotFound, match="build it with"):
        martlet.find_executable()
    monkeypatch.setenv("PATH", str(Path(fake).parent))
    assert martlet.find_executable() == fake
    monkeypatch.setenv("MARTLET", str(tmp_path / "none"))
    with pytest.raises(ExecutableNotFound, match="given by MARTLET, was not found"):
        martlet.find_executable()
    (tmp_path / "plain").touch()
    with pytest.raises(ExecutableNotFound, match="is not executable"):
        martlet.find_executable(tmp_path / "plain")
    assert martlet.find_executable(fake) == fake


def test_values_of_data_frames_become_json() -> None:
    numpy = pytest.importorskip("numpy")
    row = {"url": "u", "a": float("nan"), "b": [float("inf"), 1], "c": numpy.int64(3), "d": b"\x01", "e": "\ud800"}
    value = json.loads(json_line(row))
    assert value == {"url": "u", "a": None, "b": [None, 1], "c": 3, "d": "01", "e": "?"}
    with pytest.raises(TypeError):
        json_line(3)  # type: ignore[arg-type]


def test_the_terminal_shows_counts_at_most_five_times_a_second() -> None:
    stream, clock = io.StringIO(), itertools.count(0, 0.01)
    progress = TerminalProgress(stream, total=100, clock=lambda: next(clock))
    result = martlet.Result(key="k", row=0, url="u", bytes=1024)
    for _ in range(100):
        progress.add(result)
    progress.close()
    draws = stream.getvalue().split("\r")[1:]
    assert 3 <= len(draws) <= 7
    assert draws[-1].startswith("100/100 rows, 0 failed, 100.0 KiB")


def test_the_bar_of_tqdm_counts_each_row_once(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    bar = TqdmProgress(total=10)
    bar.counts(Counts(rows=8, stored=5, failed={"not-found": 2}))
    assert bar._bar.n == 7
    for row in range(8):
        bar.add(martlet.Result(key="k", row=row, url="u", error_code="not-found" if row < 3 else None))
    assert bar._bar.n == 8
    bar.close()
    assert "failed=3, not-found=2" in capsys.readouterr().err


def test_the_process_ends_with_the_program_that_started_it(fake: str, tmp_path: Path) -> None:
    """A killed program leaves no executable that continues with its table."""
    import signal
    import subprocess
    import sys

    report, table = tmp_path / "report.jsonl", tmp_path / "table.jsonl"
    table.write_text("".join(json.dumps({"url": url}) + "\n" for url in urls(100_000)))
    program = (
        "import martlet, sys\n"
        "for r in martlet.fetch(sys.argv[1], output=sys.argv[2], report=sys.argv[3], executable=sys.argv[4]):\n"
        "    print(r.row, flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, table, tmp_path / "out", report, fake],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(martlet.__file__).parent.parent), "FAKE_DELAY": "0.001"},
    )
    assert child.stdout is not None
    with child.stdout:
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    child.wait()
    with report.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert len(list(martlet.read_report(report))) < 100_000
