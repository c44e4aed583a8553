"""A control for the API's bench: takes what generator.py sends, and does as little for it as a server can.

Answers each notification at once with 202, and writes `--bytes` a second to each reader of the stream. What events take longer beside it
is what the generator itself costs them, on cores that it shares with the router.
"""

import argparse
import select
import socket
import time

ACCEPTED = (
    b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n"
    b"Location: /v1/notify/00000000000000000000000000000000\r\nX-Content-Type-Options: nosniff\r\n"
    b"X-Request-Id: 000000000000000000000000\r\nContent-Length: 86\r\n\r\n"
    b'{"created_at":"2026-01-01T00:00:00.000Z","id":"00000000000000000000000000000000"}    \n'
)
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ENTRY = b"id: 00000000.0\nevent: step\ndata: " + bytes(400).replace(b"\0", b"x") + b"\n\n"


class Server:
    def __init__(self, rate: int):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.listener.setblocking(False)
        count = rate // len(ENTRY)
        self.part = f"{count * len(ENTRY):x}\r\n".encode() + count * ENTRY + b"\r\n" if count else b""
        self.connections: dict[int, socket.socket] = {}
        self.readers: list[socket.socket] = []
        self.poll = select.epoll()
        self.poll.register(self.listener, select.EPOLLIN)

    def run(self) -> None:
        turn, due = 0, time.monotonic()
        while True:
            for number, _ in self.poll.poll(0.02):
                if number == self.listener.fileno():
                    self.accept()
                else:
                    self.take(number)
            # Every reader once a second, some of them at a time.
            while self.readers and due <= time.monotonic():
                self.write(self.readers[turn % len(self.readers)])
                turn, due = turn + 1, max(due + 1 / len(self.readers), time.monotonic() - 1)

    def accept(self) -> None:
        connection, _ = self.listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        self.connections[connection.fileno()] = connection
        self.poll.register(connection, select.EPOLLIN)

    def take(self, number: int) -> None:
        connection = self.connections[number]
        try:
            # The generator sends a request at a time, in one piece.
            request = connection.recv(65_536)
        except ConnectionError:
            request = b""
        if request.startswith(b"POST "):
            connection.send(ACCEPTED)
        elif request.startswith(b"GET "):
            connection.send(STREAM)
            self.readers.append(connection)
        else:
            self.leave(connection)

    def write(self, reader: socket.socket) -> None:
        try:
            reader.send(self.part)
        except BlockingIOError:
            # It is slow; what it cannot take it does not get.
            pass
        except ConnectionError:
            self.leave(reader)

    def leave(self, connection: socket.socket) -> None:
        self.poll.unregister(connection)
        del self.connections[connection.fileno()]
        self.readers = [reader for reader in self.readers if reader is not connection]
        connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=0, help="a second to each reader")
    server = Server(parser.parse_args().bytes)
    print(server.listener.getsockname()[1], flush=True)
    server.run()


if __name__ == "__main__":
    main()
