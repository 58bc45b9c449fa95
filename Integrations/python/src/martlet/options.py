# SPDX-License-Identifier: Apache-2.0
"""The options of ``martlet get`` as keyword arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict, cast

__all__ = ["Options", "RequestOptions", "command_line", "shard_arguments"]


class RequestOptions(TypedDict, total=False):
    """Options of ``martlet get`` that apply to every row. ``martlet get --help`` describes each of them.

    Sizes are bytes, or text such as ``"10M"`` (powers of 1024); times are seconds.
    """

    #: Maximum concurrent rows.
    jobs: int
    #: Maximum connections of one file.
    connections: int
    #: Respect robots.txt.
    robots: bool
    #: An address or URL for the User-Agent field, so that operators of servers can reach you.
    contact: str
    #: The algorithm of the digest in the report: ``sha256`` by default.
    digest: str
    #: With shards: fail rows with more bytes.
    max_size: int | str
    #: With shards: fail rows with fewer bytes.
    min_size: int | str
    #: With shards: fail rows whose media type matches none of these patterns, such as ``image/*``.
    types: Sequence[str]
    #: What to do if a file already exists.
    if_exists: str
    #: Retries without progress before a row fails.
    retries: int
    #: Response statuses to retry.
    retry_status: Sequence[int]
    #: Maximum seconds for name resolution, connection and TLS handshake.
    connect_timeout: float
    #: Maximum seconds without a byte received.
    stall_timeout: float
    #: Seconds to wait while the host or the network is unreachable.
    outage_timeout: float
    #: Fail rows whose server asks to retry after more seconds than this.
    max_retry_after: float
    #: Maximum seconds for one row.
    max_time: float
    #: Maximum bytes per second for the whole run.
    limit_rate: int | str
    #: Maximum redirects to follow.
    max_redirects: int
    #: Header fields for every request.
    headers: Mapping[str, str]
    #: The Referer field.
    referer: str
    #: The User-Agent field.
    user_agent: str
    #: Cookies to send, as ``name=value; name=value``.
    cookie: str
    #: Proxy as a URL, or ``none``.
    proxy: str
    #: Hosts to contact directly, separated by commas.
    no_proxy: str
    #: Trust the certificates of this PEM file instead of the system's.
    cacert: str
    #: Accept only servers with these public keys.
    pin: Sequence[str]
    #: Accept any certificate.
    insecure: bool
    #: Follow redirects from https to http.
    allow_downgrade: bool
    #: Sync every file to disk before it is reported as finished.
    durable: bool
    #: Further arguments, for options that are not in this list.
    arguments: Sequence[str]


class Options(RequestOptions, total=False):
    """The same, and the limits of one run. On a cluster, these are arguments for all tasks together."""

    #: Maximum connections to one host.
    per_host: int
    #: Maximum connections to one registered domain.
    per_domain: int
    #: Minimum seconds between two requests to one host.
    host_interval: float
    #: Minimum seconds between two requests to one registered domain.
    domain_interval: float


#: Options whose command line differs from ``--name-with-hyphens VALUE``.
_SPECIAL = frozenset({"types", "headers", "arguments"})
_REPEATED = frozenset({"retry_status", "pin"})


def command_line(options: Options) -> list[str]:
    """Return the command line of options, in the order of their names.

    Options that are ``None`` or ``False`` are left out.

    Raises:
        TypeError: an option is unknown.
        ValueError: a value cannot be an option's.
    """
    line: list[str] = []
    for name, value in sorted(cast("dict[str, object]", options).items()):
        if name not in Options.__annotations__:
            raise TypeError(f"there is no option {name!r}; arguments=[…] passes further arguments to martlet get")
        if value is None or value is False or name in _SPECIAL:
            continue
        flag = "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif name in _REPEATED:
            for one in _sequence(name, value):
                line += [flag, str(one)]
        else:
            line += [flag, _text(name, value)]
    if types := options.get("types"):
        line += ["--types", ",".join(str(one) for one in _sequence("types", types))]
    for field, text in (options.get("headers") or {}).items():
        line += ["--header", f"{field}: {text}"]
    line += [str(one) for one in _sequence("arguments", options.get("arguments") or ())]
    return line


def shard_arguments(size: int | str | None, count: int | None, time: float | None) -> list[str]:
    """Return the arguments that say when a shard is closed."""
    line: list[str] = []
    for flag, value in (("--shard-size", size), ("--shard-count", count), ("--shard-time", time)):
        if value is not None:
            line += [flag, _text(flag, value)]
    return line


def _sequence(name: str, value: object) -> list[object]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ValueError(f"{name} is a list, not {value!r}")
    return list(value)


def _text(name: str, value: object) -> str:
    if isinstance(value, float):
        # Plain notation: 1e-05 is not a number of the command line.
        return f"{value:.9f}".rstrip("0").rstrip(".")
    if isinstance(value, (int, str)):
        return str(value)
    raise ValueError(f"{name} cannot be {value!r}")
