"""A push server of a user's choice that sends HTTP/2 frames without end."""

import os
import socket as sockets
import ssl
import threading
import time

import pytest

from authority import Authority
from nostr import ALL_SIGNALS, Socket
from programs import wait_until

SETTINGS = b"\0\0\0\4\0\0\0\0\0"
SETTINGS_ACK = b"\0\0\0\4\1\0\0\0\0"
STATUS_200 = b"\x88"
STATUS_103 = b"\x08\x03103"
TRAILER = b"\0\1a\1b"
END_STREAM, END_HEADERS = 1, 4
ENHANCE_YOUR_CALM = 11


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


FLOODS = {
    "trailers": lambda stream: (frame(1, 4, stream, STATUS_200), frame(1, 4, stream, TRAILER)),
    "interim": lambda stream: (b"", frame(1, 4, stream, STATUS_103)),
    "empty data": lambda stream: (frame(1, 4, stream, STATUS_200), frame(0, 0, stream)),
}


class FloodingServer:
    """Answers the first requests properly, and the next one with frames until the connection ends."""

    def __init__(self, certificate, flood, proper: int):
        self.flood, self.proper = flood, proper
        self.requests = 0
        self.floods = 0
        """Under way."""
        self.ends: list[int | None] = []
        """The codes with which clients said goodbye, for each flood."""
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._context.set_alpn_protocols(["h2"])
        self._listener = sockets.create_server(("127.0.0.1", 0))
        self.url = f"https://localhost:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with self._context.wrap_socket(connection, server_side=True) as stream:
                self._talk(stream)
        except OSError:
            pass

    def _talk(self, stream):
        rest = self._read(stream, 24)[24:]
        stream.sendall(SETTINGS + SETTINGS_ACK)
        for kind, flags, number, _ in self._frames(stream, rest):
            if kind != 1:
                continue
            self.requests += 1
            if self.requests > self.proper:
                return self._send_flood(stream, number)
            stream.sendall(frame(1, END_HEADERS | END_STREAM, number, STATUS_200))

    def _send_flood(self, stream, number: int):
        head, part = self.flood(number)
        self.floods += 1
        ended = threading.Event()
        goodbyes: list[int] = []

        def listen():
            try:
                for kind, _, _, payload in self._frames(stream, b""):
                    if kind == 7:
                        goodbyes.append(int.from_bytes(payload[4:8]))
            except OSError:
                pass
            ended.set()

        threading.Thread(target=listen, daemon=True).start()
        try:
            stream.sendall(head)
            while not ended.is_set():
                stream.sendall(part * 1_000)
        except OSError:
            pass
        ended.wait(5)
        self.floods -= 1
        self.ends.append(goodbyes[0] if goodbyes else None)

    @staticmethod
    def _read(stream, count: int, before: bytes = b"") -> bytes:
        while len(before) < count:
            part = stream.recv(65_536)
            if not part:
                raise ConnectionError
            before += part
        return before

    def _frames(self, stream, rest: bytes):
        while True:
            rest = self._read(stream, 9, rest)
            length = int.from_bytes(rest[:3])
            rest = self._read(stream, 9 + length, rest)
            yield rest[3], rest[4], int.from_bytes(rest[5:9]), rest[9:9 + length]
            rest = rest[9 + length:]


def cpu_seconds(process) -> float:
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("proper", [0, 8], ids=["first request", "ninth request"])
@pytest.mark.parametrize("flood", FLOODS)
def test_endless_frames_use_few_resources(stopped_router, alice, bob, tmp_path, flood, proper):
    authority = Authority(tmp_path / "authority")
    router = stopped_router
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(router.lab_ca_file.read_bytes() + authority.file.read_bytes())
    router.configuration["http"]["ca_file"] = str(bundle)
    router.start()
    server = FloodingServer(authority.server(), FLOODS[flood], proper)
    with Socket(router) as socket:
        endpoint = {"platform": "unifiedpush", "push_endpoint": f"{server.url}/up", "mode": "wake"}
        socket.publish(alice.registration(router, {**endpoint, "filters": ALL_SIGNALS}))
        for number in range(proper + 1):
            socket.publish(bob.message(f"{number}", alice))
            wait_until(lambda: server.requests > number, "the server is asked", router.process)
    before, start = cpu_seconds(router.process), time.monotonic()
    wait_until(lambda: server.ends or time.monotonic() > start + 5, "the flood ends, or five seconds pass", router.process)
    cost = cpu_seconds(router.process) - before
    print(f"{flood}: {cost:.2f} s of processor time, goodbye {server.ends}")
    server.stop()
    assert cost < 1
    assert server.ends and server.ends[0] == ENHANCE_YOUR_CALM
