# SPDX-License-Identifier: Apache-2.0
"""A server on many loopback addresses that counts the connections to each of them.

datasets_server.py STATISTICS ADDRESSES DELAY: listens at 127.1.0.1, 127.1.0.2, … on one port, prints the port, and
writes STATISTICS as JSON when it ends: for each address the most connections at a time, and the start of each request.
`/N` has a content that depends on N alone; `/N/404` does not exist. Each response takes about DELAY seconds.
"""

import asyncio
import contextlib
import json
import random
import signal
import socket
import sys
import time
from hashlib import sha256
from pathlib import Path


def content(number: str) -> bytes:
    """The content of a row."""
    return sha256(number.encode()).digest() * 64


def address(index: int) -> str:
    """The address of a host."""
    return f"127.1.{index // 250}.{index % 250 + 1}"


class Counter:
    """The connections and requests of each address."""

    def __init__(self) -> None:
        self.open: dict[str, set[socket.socket]] = {}
        self.most: dict[str, int] = {}
        self.requests: dict[str, list[float]] = {}

    def opened(self, host: str, connection: socket.socket) -> None:
        """Count a connection."""
        connections = self.open.setdefault(host, set())
        # A connection that its client has closed is not open, even if this loop has not seen its end yet.
        for other in list(connections):
            if self.has_ended(other):
                connections.discard(other)
        connections.add(connection)
        self.most[host] = max(self.most.get(host, 0), len(connections))

    def closed(self, host: str, connection: socket.socket) -> None:
        """The connection has ended."""
        self.open[host].discard(connection)

    @staticmethod
    def has_ended(connection: socket.socket) -> bool:
        """Whether the peer has closed a connection."""
        number = connection.fileno()
        if number < 0:
            return True
        try:
            with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as copy:
                return copy.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counter: Counter, delay: float) -> None:
    """Serve one connection."""
    host = writer.get_extra_info("sockname")[0]
    connection = writer.get_extra_info("socket")
    counter.opened(host, connection)
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            counter.requests.setdefault(host, []).append(time.time())
            path = head.split(b" ", 2)[1].decode().removeprefix("/")
            await asyncio.sleep(delay * random.uniform(0.5, 1.5))
            if path.endswith("/404") or path == "robots.txt":
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                body = content(path)
                fields = f"Content-Length: {len(body)}\r\nContent-Type: image/jpeg\r\n"
                writer.write(f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode() + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        counter.closed(host, connection)
        writer.close()


async def main(statistics: Path, addresses: int, delay: float) -> None:
    """Run until SIGTERM."""
    counter = Counter()
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    servers: list[asyncio.Server] = []
    port = 0
    for index in range(addresses):
        server = await asyncio.start_server(
            lambda reader, writer: serve(reader, writer, counter, delay), address(index), port, backlog=1024
        )
        port = server.sockets[0].getsockname()[1]
        servers.append(server)
    print(port, flush=True)
    await stopped.wait()
    statistics.write_text(json.dumps({"most": counter.most, "requests": counter.requests}))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
