"""`carillon-lab` as a process: push services on loopback that record what they get."""

import base64
import functools
import json
import secrets
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from programs import PATIENCE, built, wait_until
from subscriptions import base64url


class Received:
    """One request that reached a push service."""

    def __init__(self, line: dict):
        self.line = line
        self.target: str = line["target"]
        self.status: int | None = line.get("status")
        self.headers: list[tuple[str, str]] = [tuple(header) for header in line["headers"]]
        if "body_base64" in line:
            self.body = base64.b64decode(line["body_base64"])
        else:
            self.body = line["body"].encode()

    @property
    def payload(self):
        """The body read as JSON here, not by the lab."""
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def apns_id(self) -> str | None:
        return self.header("apns-id")

    @property
    def everything_but_path(self) -> str:
        fields = [value for header in self.headers if header[0] != ":path" for value in header]
        return "\n".join([*fields, self.body.decode("latin-1")])

    def __repr__(self) -> str:
        return json.dumps(self.line, ensure_ascii=False)


@functools.cache
def service_account() -> str:
    """A service account that labs keep when they find it: a key of RSA's takes longer to make than all else in a lab."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "carillon-lab",
            "private_key_id": secrets.token_hex(20),
            "private_key": pem,
            "client_email": "push@carillon-lab.iam.gserviceaccount.com",
            "token_uri": "https://localhost/token",
        }
    )


class Lab:
    def __init__(self, folder: Path, *options: str):
        self.folder = folder
        self.log = folder / "lab.log"
        folder.mkdir()
        account = folder / "service-account.json"
        account.touch(mode=0o600)
        account.write_text(service_account())
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [built("carillon-lab"), "serve", "--folder", folder, *options], stdout=log, stderr=subprocess.STDOUT
            )
        ready = folder / "lab.json"
        wait_until(ready.exists, "the lab writes lab.json", self.process)
        self.addresses = json.loads(ready.read_text())
        self.ca_file = Path(self.addresses["ca_file"])

    def stop(self):
        self.process.kill()
        self.process.wait()

    @property
    def ios(self) -> dict:
        """The block of an app's configuration that sends to this lab."""
        apns = self.addresses["apns"]
        return {
            "topic": apns["topic"],
            "team_id": apns["team_id"],
            "key_id": apns["key_id"],
            "key_file": apns["key_file"],
            "base_url": apns["url"],
        }

    @property
    def android(self) -> dict:
        fcm = self.addresses["fcm"]
        return {"service_account": fcm["service_account"], "base_url": fcm["url"]}

    @staticmethod
    def android_token() -> str:
        """A new registration token, as Google's look."""
        return f"{secrets.token_urlsafe(16)}:APA91b{secrets.token_urlsafe(96)}"

    @property
    def web(self) -> dict:
        return {"vapid_key_file": self.addresses["webpush"]["key_file"], "subject": "mailto:operator@example.com"}

    def subscribe(self, app, name: str) -> str:
        """A browser's subscription whose keys only the test has; returns its endpoint."""
        answer = self._control(
            "POST",
            "/subscriptions",
            {"id": name, "private_key": base64url(app.secret), "auth": base64url(app.auth)},
        )
        return json.loads(answer)["endpoint"]

    def endpoint(self, topic: str) -> str:
        """A UnifiedPush endpoint."""
        return f"{self.addresses['unifiedpush_url']}/{topic}"

    def received(self, service: str | None = None, after: int = 0) -> list[Received]:
        """What came so far, after the request that the lab numbers so."""
        return self._received(service, wait=0, milliseconds=0, after=after)

    def accepted(self, count: int, service: str | None = None, timeout: float = PATIENCE) -> list[Received]:
        """Waits until so many requests were answered with success. Returns these and any beyond."""
        deadline = time.monotonic() + timeout
        known = 0
        while True:
            left = max(0, int((deadline - time.monotonic()) * 1000))
            requests = self._received(service, wait=known + 1, milliseconds=left)
            accepted = [request for request in requests if request.status in [200, 201]]
            if len(accepted) >= count:
                return accepted
            assert left > 0, f"expected {count} accepted requests, got {len(accepted)}, of all: {requests}"
            known = len(requests)

    def attempts(self, count: int, service: str | None = None, timeout: float = PATIENCE) -> list[Received]:
        """Waits for so many requests, whatever they were answered."""
        requests = self._received(service, wait=count, milliseconds=int(timeout * 1000))
        assert len(requests) >= count, f"expected {count} requests, got {requests}"
        return requests

    def misbehave(self, kind: str, **details):
        self._control("POST", "/misbehave", {"kind": kind, **details})

    def behave(self):
        """Withdraws every misbehaviour ordered."""
        self._control("DELETE", "/misbehave")

    def declare(
        self, token: str, state: str, since: int = 0, environment: str = "production", service: str = "apns"
    ):
        """What a service knows of a device token; for APNs in which environment, and `since` in milliseconds since 1970."""
        device = {"token": token, "state": state}
        if service == "apns":
            device |= {"since": since, "environment": environment}
        else:
            device["service"] = service
        self._control("POST", "/tokens", device)

    def forget(self):
        """Empties the record."""
        self._control("DELETE", "/received")

    def _received(self, service: str | None, wait: int, milliseconds: int, after: int = 0) -> list[Received]:
        query = f"/received?wait={wait}&timeout_ms={milliseconds}&after={after}" + (f"&service={service}" if service else "")
        return [Received(json.loads(line)) for line in self._control("GET", query).split("\n") if line]

    def reset(self):
        """As after the start: without requests, misbehaviours and what was declared."""
        self._control("POST", "/reset")

    def expire(self, endpoint: str):
        """Answers 410 from now on, as if the browser had dropped its subscription."""
        self._control("DELETE", f"/subscriptions?id={endpoint.rsplit('/', 1)[1]}")

    def browsers(self) -> dict:
        """How many are connected, with how many subscriptions, and Firefox's codes for messages."""
        return json.loads(self._control("GET", "/browsers"))

    def forget_browsers(self):
        """Mozilla's service forgets every Firefox, which therefore loses its subscriptions."""
        self._control("DELETE", "/browsers")

    def _control(self, method: str, path: str, body: dict | None = None) -> str:
        request = urllib.request.Request(
            self.addresses["control_url"] + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE + 10) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            assert error.code == 408, f"{method} {path}: {error.code} {text}"
            return text
