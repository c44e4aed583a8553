"""What push services got, read piece by piece: a long run's record does not fit into the lab's memory."""

import json
import threading
import urllib.error
import urllib.request

from lab import Lab, Received
from programs import PATIENCE


class Collector:
    """Reads the lab's record on a thread of its own until it is stopped."""

    def __init__(self, lab: Lab):
        self.received: list[Received] = []
        """Everything so far, in its order."""
        self._url = lab.addresses["control_url"]
        self._last = 0
        self._stopping = threading.Event()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def accepted(self) -> list[Received]:
        return [request for request in self.received if request.status in [200, 201]]

    def stop(self):
        """Reads what is left, and no more."""
        self._stopping.set()
        self._thread.join(timeout=PATIENCE)
        assert not self._thread.is_alive(), "the lab's record cannot be read to its end"
        if self.failure is not None:
            raise self.failure
        self._read(milliseconds=0)

    def _run(self):
        try:
            while not self._stopping.is_set():
                self._read(milliseconds=300)
        except Exception as failure:
            self.failure = failure

    def _read(self, milliseconds: int):
        query = f"{self._url}/received?wait=1&timeout_ms={milliseconds}&after={self._last}"
        try:
            with urllib.request.urlopen(query, timeout=PATIENCE) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            assert error.code == 408, f"{query}: {error.code}"
            text = error.read().decode()
        for line in text.split("\n"):
            if not line:
                continue
            message = json.loads(line)
            # Numbers have no gaps: one means that the lab's memory was too small.
            assert message["sequence"] == self._last + 1, "the lab forgot requests before they were read"
            self._last = message["sequence"]
            self.received.append(Received(message))
