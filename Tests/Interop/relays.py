"""Relays of other people's making, as processes: nostr-sdk's LocalRelay and nostr-relay."""

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve

from nostr import Person
from programs import PATIENCE, free_port, wait_until


class OutsideRelay:
    """A relay that can be killed and started again where it was."""

    asks_for_authentication = False

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        self.log = folder / "relay.log"
        self.port = free_port()
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)
        wait_until(self._listens, f"{type(self).__name__} listens", self.process)
        return self

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()


class LocalRelay(OutsideRelay):
    """nostr-sdk's, which forgets everything when it ends."""

    options: list[str] = []

    def command(self) -> list[str]:
        script = Path(__file__).with_name("local_relay.py")
        return [sys.executable, str(script), str(self.port), *self.options]


class GuardedLocalRelay(LocalRelay):
    """The same, and nobody reads or writes without NIP-42."""

    options = ["--nip42"]
    asks_for_authentication = True


class NostrRelay(OutsideRelay):
    """nostr-relay, in Python, which keeps everything in SQLite."""

    def command(self) -> list[str]:
        configuration = {
            "storage": {
                "sqlalchemy.url": f"sqlite+aiosqlite:///{self.folder}/relay.sqlite3",
                "validators": ["nostr_relay.validators.is_not_too_large", "nostr_relay.validators.is_signed"],
            },
            "gunicorn": {"bind": f"127.0.0.1:{self.port}", "workers": 1, "loglevel": "info"},
            "subscription_limit": 32,
            "max_limit": 500,
        }
        file = self.folder / "relay.yaml"
        file.write_text(json.dumps(configuration))
        return [str(Path(sys.executable).with_name("nostr-relay")), "-c", str(file), "serve"]

    def kill(self):
        # Its workers end with the pipe that the first process holds, and not at once: the port must be free again.
        subprocess.run(["pkill", "-KILL", "-P", str(self.process.pid)], check=False)
        super().kill()


class Client:
    """Somebody's connection to an outside relay. Proves who that is where the relay asks."""

    def __init__(self, relay: OutsideRelay, person: Person):
        self.relay, self.person = relay, person
        self._context = connect(relay.url, proxy=None, compression=None, max_size=None)
        self.connection = self._context.__enter__()
        self._authenticated = False

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_):
        self._context.__exit__(None, None, None)

    def send(self, message: list):
        self.connection.send(json.dumps(message))

    def receive(self, timeout: float = PATIENCE) -> list:
        """The next message; a challenge is answered on the way."""
        while True:
            message = json.loads(self.connection.recv(timeout=timeout))
            if message[0] != "AUTH":
                return message
            event = self.person.authentication(message[1], self.relay.url)
            self.send(["AUTH", event])

    def publish(self, *events: dict):
        """Publishes events one after the other; all must be accepted."""
        for event in events:
            for attempt in range(3):
                self.send(["EVENT", event])
                answer = self.receive()
                while answer[0] != "OK" or answer[1] != event["id"]:
                    answer = self.receive()
                if answer[2] or attempt == 2:
                    break
            assert answer[2], answer

    def query(self, *filters: dict) -> list[dict]:
        """The stored events that match, each once: one that comes in meanwhile is sent twice by some relays."""
        for _ in range(3):
            self.send(["REQ", "query", *filters])
            events: dict[str, dict] = {}
            while (answer := self.receive())[0] in ["EVENT", "OK", "NOTICE"]:
                if answer[0] == "EVENT":
                    events[answer[2]["id"]] = answer[2]
            if answer[0] == "EOSE":
                return list(events.values())
        raise AssertionError(answer)


def publish(relay: OutsideRelay, person: Person, *events: dict):
    with Client(relay, person) as client:
        client.publish(*events)


def stored(relay: OutsideRelay, *filters: dict) -> list[dict]:
    with Client(relay, Person()) as client:
        return client.query(*filters)


class ScriptedRelay:
    """Says to every subscriber whatever it is told to, and counts what it is asked."""

    def __init__(self):
        self._lock = threading.Lock()
        self._subscriptions: list[tuple] = []
        self.connections = 0
        self.requests: list[list] = []
        self._server = serve(self._serve, "127.0.0.1", free_port(), compression=None, max_size=None)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _serve(self, connection):
        with self._lock:
            self.connections += 1
        for text in connection:
            message = json.loads(text)
            if message[0] == "REQ":
                connection.send(json.dumps(["EOSE", message[1]]))
                with self._lock:
                    self.requests.append(message)
                    self._subscriptions.append((connection, message))
            if message[0] == "CLOSE":
                with self._lock:
                    self._subscriptions = [
                        other for other in self._subscriptions if other[0] != connection or other[1][1] != message[1]
                    ]

    def tell(self, *events):
        """Sends events, wrong ones included, to every subscription for notes, as one may just be about to be closed."""
        found = wait_until(lambda: [each for each in self._subscriptions if self._is_for_notes(each[1])], "a REQ")
        for event in events:
            for connection, request in found:
                connection.send(json.dumps(["EVENT", request[1], event]))

    @staticmethod
    def _is_for_notes(request: list) -> bool:
        return any("#p" in each and 1 in each.get("kinds", [1]) for each in request[2:])

    def stop(self):
        self._server.shutdown()


class CountingProxy:
    """Stands before a relay and counts connections, REQs, their bytes, and those that the relay would not have."""

    def __init__(self, relay: OutsideRelay):
        self.relay = relay
        self.connections = 0
        self.open: list = []
        """Connections that are open now."""
        self.most_open = 0
        self.published: list[dict] = []
        self.requests = 0
        self.bytes = 0
        self.refused = 0
        self._server = serve(self._serve, "127.0.0.1", free_port(), compression=None, max_size=None)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _serve(self, client):
        self.connections += 1
        self.open.append(client)
        self.most_open = max(self.most_open, len(self.open))
        try:
            self._forward(client)
        except ConnectionClosed:
            # Whoever is killed says no word.
            pass
        finally:
            self.open.remove(client)

    def _forward(self, client):
        with connect(self.relay.url, proxy=None, compression=None, max_size=None) as upstream:

            def answers():
                try:
                    for text in upstream:
                        self.refused += text.startswith('["CLOSED"')
                        client.send(text)
                except ConnectionClosed:
                    pass

            threading.Thread(target=answers, daemon=True).start()
            for text in client:
                if text.startswith('["REQ"'):
                    self.requests += 1
                    self.bytes += len(text)
                if text.startswith('["EVENT"'):
                    self.published.append(json.loads(text)[1])
                upstream.send(text)

    def stop(self):
        self._server.shutdown()
