"""A reader of server-sent events, as a browser's EventSource reads them."""

import http.client
import json
import queue
import socket
import threading
from dataclasses import dataclass


@dataclass
class Entry:
    kind: str
    data: dict
    id: str | None


class Stream:
    """Reads in a thread of its own until it is closed."""

    def __init__(self, port: int, query: str = "", token: str | None = None, last: str | None = None):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        if last is not None:
            headers["last-event-id"] = last
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", f"/v1/stream{query}", headers=headers)
        self.socket = self.connection.sock
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.headers = self.answer.headers
        self.entries: queue.Queue[Entry | None] = queue.Queue()
        self.comments = 0
        self.text = ""
        if self.status == 200:
            self.first_line = self.answer.readline()
            self.thread = threading.Thread(target=self._read, daemon=True)
            self.thread.start()

    def _read(self):
        fields: dict[str, str] = {}
        try:
            for line in self.answer:
                text = line.decode().rstrip("\n")
                self.text += text + "\n"
                if text.startswith(":"):
                    self.comments += 1
                elif text:
                    name, _, value = text.partition(": ")
                    fields[name] = value
                elif "data" in fields:
                    self.entries.put(Entry(fields["event"], json.loads(fields["data"]), fields.get("id")))
                    fields = {}
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass
        self.entries.put(None)

    def until(self, wanted, seconds: float = 20) -> list[Entry]:
        """All entries up to the first that is wanted."""
        found = []
        while True:
            entry = self.entries.get(timeout=seconds)
            assert entry is not None, f"the stream ended after {found}"
            found.append(entry)
            if wanted(entry):
                return found

    def ended(self, seconds: float = 20):
        """Waits for the end; what came before."""
        found = []
        while (entry := self.entries.get(timeout=seconds)) is not None:
            found.append(entry)
        return found

    def close(self):
        # Whoever reads a line holds the answer until it comes, which may take until the next comment.
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.connection.close()
        # The answer keeps the socket.
        self.answer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
