# SPDX-License-Identifier: Apache-2.0
"""Spark and Ray with the double of the executable: the columns of tables and of reports."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import martlet

SOURCES = str(Path(martlet.__file__).parent.parent)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    os.environ["PYTHONPATH"] = SOURCES
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1").config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.sql.session.timeZone", "Asia/Kolkata").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": SOURCES}})
    yield ray
    ray.shutdown()


def test_spark_compares_names_without_case_and_keeps_all_values(spark: Any, fake: str, tmp_path: Path) -> None:
    from martlet.spark import fetch

    when = datetime.datetime(2026, 11, 27, 3, 4, 5, 123456)
    rows = [("http://a.example/1", "x", "s", "t", when, when, Decimal("1.250000000000000000"), b"\x00\xff", None, "p")]
    schema = (
        "URL string, TEXT string, Status string, status_ string, seen timestamp, local timestamp_ntz, "
        "price decimal(38,18), thumb binary, empty void, __part string"
    )
    table = spark.createDataFrame(rows, schema)
    reports = fetch(table, tmp_path / "o", executable=fake, url_column="URL", partitions=1)
    [row] = [row.asDict() for row in reports.collect()]
    assert (row["url"], row["status"], row["Status__"], row["status_"]) == ("http://a.example/1", 200, "s", "t")
    assert (row["seen"], row["local"], row["price"]) == (when, when, rows[0][6])
    assert (bytes(row["thumb"]), row["empty"], row["TEXT"], row["__part"]) == (b"\x00\xff", None, "x", "p")
    # Without the argument, too: to Spark the name is the same.
    [again] = fetch(table, tmp_path / "p", executable=fake, partitions=1).collect()
    assert again["Status__"] == "s"


def test_spark_names_keys_and_keeps_columns_that_are_called_like_a_meaning(
    spark: Any, fake: str, tmp_path: Path
) -> None:
    from martlet.spark import fetch

    table = spark.createDataFrame(
        [("http://a.example/1", "page", "k7", "other")], "link string, url string, ID string, key string"
    )
    reports = fetch(table, tmp_path / "o", executable=fake, url_column="link", columns={"key": "id"}, partitions=1)
    [row] = reports.collect()
    assert (row["url"], row["key"], row["url_"], row["key_"]) == ("http://a.example/1", "k7", "page", "other")


def test_spark_refuses_columns_before_anything_is_fetched(spark: Any, fake: str, tmp_path: Path) -> None:
    from martlet.spark import fetch

    table = spark.createDataFrame([("http://a.example/1",)], "link string")
    with pytest.raises(ValueError, match="url_column=… names it among"):
        fetch(table, tmp_path / "o", executable=fake)
    interval = spark.sql("select 'http://a.example/1' as url, make_interval(1, 2) as age")
    with pytest.raises(Exception, match=r"(?i)interval"):
        fetch(interval, tmp_path / "o", executable=fake, partitions=1)
    assert not list((tmp_path / "o").glob("part-*"))


def test_ray_keeps_all_values_and_adds_no_column(ray: Any, fake: str, tmp_path: Path) -> None:
    from martlet.ray import fetch

    when = datetime.datetime(2026, 11, 27, 3, 4, 5, 123456)
    rows = [
        {"link": "http://a.example/1", "Status": "S", "status": "s", "status_": "t", "ID": "k7", "seen": when, "n": 1}
    ]
    dataset = ray.data.from_items(rows)
    reports = fetch(dataset, tmp_path / "o", executable=fake, url_column="link", columns={"key": "ID"}, partitions=1)
    [row] = reports.take_all()
    assert (row["url"], row["key"], row["status"], row["status__"], row["status_"], row["Status"], row["n"]) == (
        "http://a.example/1",
        "k7",
        200,
        "s",
        "t",
        "S",
        1,
    )
    assert "link" not in row and "ID" not in row
    assert row["seen"] == when.isoformat()
    with pytest.raises(ValueError, match="url_column=… names it among"):
        fetch(dataset, tmp_path / "p", executable=fake)
