"""Synapse, a homeserver of Matrix, as a process of its own. It is installed apart, as requirements-matrix.txt says."""

import hashlib
import hmac
import json
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from programs import REPOSITORY, free_port, wait_until

NAME = "matrix.example.org"


@cache
def interpreter() -> str | None:
    """A Python that has Synapse; None: there is none."""
    for python in [sys.executable, REPOSITORY / ".build/synapse/bin/python"]:
        if Path(python).exists():
            found = subprocess.run([python, "-c", "import synapse"], capture_output=True)
            if found.returncode == 0:
                return str(python)
    return None


@dataclass
class Account:
    """A user, logged in."""

    server: "Homeserver"
    id: str
    token: str

    def ask(self, method: str, path: str, body: dict | None = None, **query) -> dict:
        status, answer = self.server.ask(method, f"/_matrix/client/v3/{path}", body, self.token, **query)
        assert status == 200, answer
        return answer

    def create_room(self, *guests: "Account") -> str:
        order = {"preset": "private_chat", "invite": [guest.id for guest in guests]}
        return self.ask("POST", "createRoom", order)["room_id"]

    def join(self, room: str):
        self.ask("POST", f"join/{urllib.parse.quote(room)}", {})

    def messages(self, room: str) -> list[dict]:
        """The messages of a room, the oldest first."""
        path = f"rooms/{urllib.parse.quote(room)}/messages"
        events = self.ask("GET", path, dir="b", limit="100")["chunk"]
        return [event for event in reversed(events) if event["type"] == "m.room.message"]


class Homeserver:
    """One with SQLite, on loopback, without others."""

    shared_secret = "only for tests"

    def __init__(self, folder: Path):
        folder.mkdir()
        self.port = free_port()
        self.log = folder / "homeserver.log"
        configuration = {
            "server_name": NAME,
            "listeners": [
                {
                    "port": self.port,
                    "bind_addresses": ["127.0.0.1"],
                    "type": "http",
                    "tls": False,
                    "resources": [{"names": ["client"], "compress": False}],
                }
            ],
            "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.sqlite3")}},
            "media_store_path": str(folder / "media"),
            "pid_file": str(folder / "homeserver.pid"),
            "signing_key_path": str(folder / "signing.key"),
            "registration_shared_secret": self.shared_secret,
            "macaroon_secret_key": "only for tests, too",
            "report_stats": False,
            "trusted_key_servers": [],
            # One message at once, and then two a second.
            "rc_message": {"per_second": 2, "burst_count": 1},
        }
        file = folder / "homeserver.yaml"
        file.write_text(yaml.safe_dump(configuration))
        command = [interpreter(), "-m", "synapse.app.homeserver", "--config-path", file]
        subprocess.run([*command, "--generate-keys"], check=True, capture_output=True, cwd=folder, timeout=120)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        wait_until(self._is_up, "the homeserver answers", self.process)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _is_up(self) -> bool:
        try:
            return self.ask("GET", "/_matrix/client/versions")[0] == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, body: dict | None = None, token: str | None = None, **query) -> tuple[int, dict]:
        url = self.url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
        data = json.dumps(body).encode() if body is not None else None
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def register(self, name: str) -> Account:
        """By the secret that the server shares with its administrators."""
        path = "/_synapse/admin/v1/register"
        nonce = self.ask("GET", path)[1]["nonce"]
        words = b"\0".join(word.encode() for word in [nonce, name, "a password", "notadmin"])
        mac = hmac.new(self.shared_secret.encode(), words, hashlib.sha1).hexdigest()
        order = {"nonce": nonce, "username": name, "password": "a password", "admin": False, "mac": mac}
        status, answer = self.ask("POST", path, order)
        assert status == 200, answer
        return Account(self, answer["user_id"], answer["access_token"])

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
