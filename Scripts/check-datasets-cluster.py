# SPDX-License-Identifier: Apache-2.0
"""The checks of Scripts/check-datasets-cluster: check-datasets-cluster.py spark|ray MARTLET."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from datasets_server import address, content  # noqa: E402

ROWS = 20_000
HOSTS = 40
PER_HOST = 6
#: One host has this share of the rows, so that it is split.
LARGEST = 0.15
DELAY = 0.1
SEED = int(os.environ.get("SEED", "0")) or random.randrange(1 << 30)


def rows(port: int) -> list[tuple[str, int]]:
    """The table: URLs and labels. One row of 50 does not exist."""
    order = random.Random(SEED)
    table = []
    for number in range(ROWS):
        host = 0 if order.random() < LARGEST else order.randrange(1, HOSTS)
        table.append((f"http://{address(host)}:{port}/{number}{'/404' if number % 50 == 0 else ''}", number))
    return table


@contextmanager
def server(directory: Path) -> Iterator[tuple[int, Path]]:
    """Run the server, and yield its port and the file of its statistics."""
    statistics = directory / "statistics.json"
    script = Path(__file__).with_name("datasets_server.py")
    process = subprocess.Popen(
        [sys.executable, script, statistics, str(HOSTS), str(DELAY)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), statistics
    finally:
        process.terminate()
        process.wait(30)


def descendants(root: int) -> dict[int, str]:
    """The processes below one, with their command lines."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    found: dict[int, str] = {}
    for process in parents:
        above = process
        while above in parents and above != root:
            above = parents[above]
        if above == root and process != root:
            try:
                found[process] = (Path("/proc") / str(process) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, UnicodeDecodeError):
                continue
    return found


class Killer(threading.Thread):
    """Kills processes below this one at random, whenever the reports have grown: executors, workers, executables."""

    def __init__(self, output: Path, patterns: list[str], kills: int) -> None:
        super().__init__(daemon=True)
        self._output = output
        self._patterns = patterns
        self._kills = kills
        self._random = random.Random(SEED)
        self._stopped = threading.Event()
        self.killed: Counter[str] = Counter()

    def run(self) -> None:
        """Kill until enough are killed."""
        # Not before a share of the rows is done each time, so that kills are spread over the run.
        while sum(self.killed.values()) < self._kills:
            share = (sum(self.killed.values()) + self._random.random()) / (self._kills + 1)
            while self._done() < share * ROWS:
                if self._stopped.wait(0.2):
                    return
            pattern = self._patterns[sum(self.killed.values()) % len(self._patterns)]
            found = [process for process, line in descendants(os.getpid()).items() if pattern in line]
            if found:
                try:
                    os.kill(self._random.choice(found), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                self.killed[pattern] += 1
            if self._stopped.wait(0.1):
                return

    def stop(self) -> None:
        """Stop killing."""
        self._stopped.set()
        self.join()

    def _done(self) -> int:
        # Lines of about 500 bytes.
        return sum(path.stat().st_size for path in self._output.glob("part-*/report.jsonl")) // 500


def check(name: str, is_true: bool, detail: object = "") -> None:
    """Report a check."""
    print(f"{'ok  ' if is_true else 'FAIL'} {name}{f': {detail}' if detail != '' else ''}", flush=True)
    if not is_true:
        check.failures += 1  # type: ignore[attr-defined]


check.failures = 0  # type: ignore[attr-defined]


def check_reports(reports: list[dict[str, Any]], output: Path) -> None:
    """Each row once, each digest right, each content in its shard."""
    labels = Counter(row["label"] for row in reports)
    check("each row is reported once", labels == Counter(range(ROWS)), f"{len(reports)} rows, {len(labels)} different")
    failed = {row["label"] for row in reports if row["error_code"] is not None}
    check("the missing rows failed, and no others", failed == set(range(0, ROWS, 50)), f"{len(failed)} failed")
    digests = {row["label"]: row["sha256"] for row in reports if row["error_code"] is None}
    wrong = sum(1 for label, digest in digests.items() if digest != sha256(content(str(label))).hexdigest())
    check("each digest is right", wrong == 0, f"{wrong} wrong of {len(digests)}")
    keys = Counter(row["key"] for row in reports)
    check("each key is unique", max(keys.values()) == 1)
    check("the table is Parquet", any((output / "report.parquet").glob("*.parquet")))
    places: dict[str, dict[int, int]] = {}
    for row in reports:
        if row["error_code"] is None:
            places.setdefault(row["shard"], {})[row["offset"]] = row["label"]
    found = 0
    for shard, offsets in places.items():
        with tarfile.open(output / shard) as tar:
            for member in tar:
                label = offsets.get(member.offset_data)
                if label is not None:
                    file = tar.extractfile(member)
                    found += file is not None and file.read() == content(str(label))
    check("each content is at its place in its shard", found == len(digests), f"{found} in {len(places)} shards")


def check_limits(statistics: Path) -> None:
    """No host had more connections than its limit."""
    value = json.loads(statistics.read_text())
    most = max(value["most"].values())
    check(f"no host had more than {PER_HOST} connections", most <= PER_HOST, f"at most {most}")
    full = sum(1 for count in value["most"].values() if count == PER_HOST)
    check("the limit was used", full > 0, f"{full} of {len(value['most'])} hosts")
    requests = sum(len(times) for times in value["requests"].values())
    check("few rows were fetched twice", requests < 1.6 * ROWS, f"{requests} requests")


def fetched(port: int, output: Path, executable: str, engine: str) -> list[dict[str, Any]]:
    """Fetch the table, killing processes meanwhile."""
    import martlet

    arguments: dict[str, Any] = {
        "per_host": PER_HOST,
        "partitions": 16,
        "shard_count": 200,
        "pace": martlet.Pace(task_rate=20, latency=DELAY),
        "executable": executable,
    }
    run = {"spark": on_spark, "ray": on_ray}[engine]
    patterns, kills = {
        "spark": (["CoarseGrainedExecutorBackend", f"{executable} get"], 8),
        "ray": (["ray::_task", f"{executable} get"], 8),
    }[engine]
    killer = Killer(output, patterns, kills)
    started = time.monotonic()
    reports = run(rows(port), output, arguments, killer)
    killer.stop()
    plan = json.loads((output / "plan.json").read_text())["plan"]
    split = {part["domain"]: part["limits"]["per_host"] for part in plan["parts"] if part["domain"]}
    print(f"     {len(plan['parts'])} parts; split: {split}; {time.monotonic() - started:.0f} s", flush=True)
    check("processes were killed", sum(killer.killed.values()) >= kills // 2, dict(killer.killed))
    return reports


def on_spark(
    table: list[tuple[str, int]], output: Path, arguments: dict[str, Any], killer: Killer
) -> list[dict[str, Any]]:
    """Fetch on Spark, twice: the second call finds everything done."""
    from pyspark.sql import SparkSession

    import martlet.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The kills of this check are many more than a cluster's.
        "spark.task.maxFailures": "100",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.sql.shuffle.partitions": "8",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.1",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        df = spark.createDataFrame(table, ["url", "label"])
        killer.start()
        reports = martlet.spark.fetch(df, output, **arguments)
        killer.stop()
        again = martlet.spark.fetch(df, output, **arguments)
        check("a second call finds everything done", again.count() == reports.count())
        return [row.asDict() for row in reports.collect()]
    finally:
        spark.stop()


def on_ray(
    table: list[tuple[str, int]], output: Path, arguments: dict[str, Any], killer: Killer
) -> list[dict[str, Any]]:
    """Fetch on Ray, twice: the second call finds everything done."""
    import ray
    import ray.data

    import martlet.ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # 200 by default, for clusters.
    context.default_hash_shuffle_parallelism = 8
    try:
        dataset = ray.data.from_items([{"url": url, "label": label} for url, label in table])
        killer.start()
        reports = martlet.ray.fetch(dataset, output, **arguments)
        killer.stop()
        again = martlet.ray.fetch(dataset, output, **arguments)
        check("a second call finds everything done", again.count() == reports.count())
        return list(reports.take_all())
    finally:
        ray.shutdown()


def main(engine: str, executable: str) -> int:
    """Run one engine's check."""
    import pyarrow

    module = __import__({"spark": "pyspark", "ray": "ray"}[engine])
    java = ""
    if engine == "spark":
        java = ", " + subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.split("\n")[0]
    version = subprocess.run([executable, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"     {engine} {module.__version__}, pyarrow {pyarrow.__version__}, Python {sys.version.split()[0]}{java}")
    print(f"     martlet {version}; {ROWS} rows, {HOSTS} hosts, seed {SEED}", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="martlet-cluster-"))
    try:
        output = directory / "output"
        with server(directory) as (port, statistics):
            reports = fetched(port, output, str(Path(executable).absolute()), engine)
        check_reports(reports, output)
        check_limits(statistics)
    finally:
        if os.environ.get("KEEP"):
            print(f"     kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    return 1 if check.failures else 0  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
