"""A TCP proxy whose network goes bad on command."""

import select
import socket
import struct
import threading
from contextlib import suppress


class FaultProxy:
    """Passes on what comes, or what ``mode`` lets through.

    ``pass``: everything; ``hole``: nothing more, in neither direction, and nobody is told:
    the connection is half open; ``reset``: every connection is torn down; ``cut``: likewise,
    after the next few bytes for the client, most likely inside a packet; ``slow``: everything,
    by the piece and late.

    With *old* it is a broker that does not know MQTT 5: it refuses such connections as one of
    3.1.1 would, and passes on the others.
    """

    def __init__(self, port: int, *, old: bool = False) -> None:
        self.mode = "pass"
        self._old = old
        self.accepted = 0
        self._upstream = ("127.0.0.1", port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """End."""
        self._closing.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self.accepted += 1
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            while self.mode == "hole":
                if self._closing.wait(0.01):
                    return
            if self._old and client.recv(16, socket.MSG_PEEK | socket.MSG_WAITALL)[8:9] == b"\x05":
                client.sendall(b"\x20\x02\x00\x01")
                client.shutdown(socket.SHUT_WR)
                while client.recv(4096):
                    pass
                return
            with socket.create_connection(self._upstream, 5) as server:
                self._pass_on(client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        while not self._closing.is_set():
            if self.mode == "reset":
                for end in other:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            ready, _, _ = select.select(list(other), [], [], 0.02)
            if self.mode == "hole":
                self._closing.wait(0.02)
                continue
            for end in ready:
                data = end.recv(65536 if self.mode != "slow" else 512)
                if not data:
                    return
                if self.mode == "slow":
                    self._closing.wait(0.02)
                elif self.mode == "cut" and end is server:
                    client.sendall(data[: len(data) // 2 + 1])
                    self.mode = "pass"
                    return
                other[end].sendall(data)
