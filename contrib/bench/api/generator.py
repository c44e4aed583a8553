"""The load of the API's bench, as a process of its own: readers of /v1/stream and senders at /v1/notify.

Reads one JSON object from standard input, says `ready` when all readers read, and writes what it counted as one line of JSON at the end.
It waits on plain sockets itself, so that it takes as little as it can of the machine that it shares with the router.
"""

import heapq
import json
import resource
import select
import socket
import sys
import time

# A token may ask 200 times a second; a few to spare.
PER_TOKEN = 150
CONNECTIONS_PER_TOKEN = 6


def connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Reader:
    """One who reads the stream, and counts."""

    entries = lost = bytes = ended = 0

    def __init__(self, port: int, token: str, account: str | None):
        query = f"?account={account}" if account else ""
        self.connection = connected(port)
        self.connection.sendall(
            f"GET /v1/stream{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.connection.recv(4096)
            assert part, f"a reader was turned away: {head[:100]!r}"
            head += part
        assert head.startswith(b"HTTP/1.1 200 "), head[:100]
        self.connection.setblocking(False)

    def read(self) -> bool:
        """False: it ended."""
        data = self.connection.recv(262_144)
        if not data:
            Reader.ended += 1
            return False
        Reader.bytes += len(data)
        Reader.entries += data.count(b"\nid: ")
        Reader.lost += data.count(b"event: lost")
        return True


class Sender:
    """A connection that asks at a steady rate, one request after the other."""

    times: list[float] = []
    refused: dict[str, int] = {}
    sent = 0

    def __init__(self, port: int, token: str, people: list[str], number: int):
        self.connection = connected(port)
        self.connection.setblocking(False)
        self.people, self.number = people, number
        self.head = (
            f"POST /v1/notify HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )
        self.began: float | None = None
        self.answer = b""

    def send(self) -> None:
        body = f'{{"to":{{"account":"{self.people[self.number % len(self.people)]}"}},"title":"note {self.number}"}}'
        self.number += CONNECTIONS_PER_TOKEN
        Sender.sent += 1
        self.began = time.monotonic()
        self.connection.send(f"{self.head}{len(body)}\r\n\r\n{body}".encode())

    def read(self) -> bool:
        """False: the connection ended."""
        data = self.connection.recv(65_536)
        self.answer += data
        head, mark, body = self.answer.partition(b"\r\n\r\n")
        if mark:
            lower = head.lower()
            length = lower.partition(b"content-length:")[2].partition(b"\r\n")[0]
            if len(body) >= int(length or 0):
                status = head[9:12].decode()
                if status == "202":
                    Sender.times.append((time.monotonic() - self.began) * 1000)
                else:
                    Sender.refused[status] = Sender.refused.get(status, 0) + 1
                self.began, self.answer = None, b""
        return bool(data)


def run(order: dict) -> dict:
    people, port = order["people"], order["port"]
    readers = {}
    for number in range(order["readers"]):
        # Most follow one account, some everything.
        account = None if number % 20 == 0 else people[number % len(people)]
        reader = Reader(port, order["reading"], account)
        readers[reader.connection.fileno()] = reader
    senders = [
        Sender(port, token, people, number) for token in order["tokens"] for number in range(CONNECTIONS_PER_TOKEN)
    ]
    everybody = readers | {sender.connection.fileno(): sender for sender in senders}
    poll = select.epoll()
    for number in everybody:
        poll.register(number, select.EPOLLIN)
    print("ready", flush=True)
    before = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.monotonic() + 0.5
    end = begin + order["seconds"]
    gap = len(senders) / order["rate"] if order["rate"] else 0
    due = [(begin + gap * number / len(senders),) * 2 + (number,) for number in range(len(senders))] if gap else []
    heapq.heapify(due)
    while (now := time.monotonic()) < end + 2:
        waiting = end + 2 - now
        while due and due[0][0] <= now:
            _, moment, number = heapq.heappop(due)
            if moment >= end:
                continue
            sender = senders[number]
            if sender.began is None:
                sender.send()
                moment += gap
                heapq.heappush(due, (moment, moment, number))
            else:
                # It waits for its answer, and sends what it owes afterwards.
                heapq.heappush(due, (now + 0.001, moment, number))
        if due:
            waiting = min(waiting, max(0.0005, due[0][0] - time.monotonic()))
        elif now > end and all(sender.began is None for sender in senders):
            break
        for number, _ in poll.poll(waiting):
            if not everybody[number].read():
                poll.unregister(number)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "readers": len(readers), "ended": Reader.ended, "entries": Reader.entries, "bytes": Reader.bytes, "lost": Reader.lost,
        "sent": Sender.sent, "refused": Sender.refused, "times": [round(each, 2) for each in Sender.times],
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    print(json.dumps(run(json.loads(sys.stdin.readline()))), flush=True)


if __name__ == "__main__":
    main()
