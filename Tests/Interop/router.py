"""`carillon serve` as a process."""

import codecs
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import urllib.request
from contextlib import closing
from pathlib import Path

from lab import Lab
from programs import PATIENCE, built, wait_until


class Router:
    """A router with a folder of its own, that can be started, killed and started again."""

    log_level = "trace"
    start_patience = PATIENCE
    plugin_names = [
        f"libCarillon{name}.so"
        for name in ["APNs", "FCM", "Gotify", "Mutes", "Noise", "Ntfy", "UnifiedPush", "WebOfTrust", "WebPush"]
    ]

    def __init__(self, folder: Path, lab: Lab):
        self.folder = folder
        self.lab_ca_file = lab.ca_file
        self.log = folder / "router.log"
        self.plugins = folder / "plugins"
        self.secrets: set[str] = set()
        """Tokens and keys of devices: whatever a test does, they must not be in the log."""
        self.environment: dict[str, str] = {}
        """Beside the tests' own."""
        self.process: subprocess.Popen | None = None
        self.port = 0
        self._heard = 0
        self._log_text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._delivered: set[str] = set()
        self._searched = 0
        folder.mkdir()
        self.plugins.mkdir(mode=0o755)
        for name in self.plugin_names:
            self.add_plugin(name)
        # YAML is a superset of JSON.
        self.configuration = {
            "identity": {"key_file": "carillon.key"},
            "store": {"path": "carillon.sqlite"},
            "relay": {"listen": "127.0.0.1:0"},
            "plugins": {"folders": ["plugins"]},
            "http": {"ca_file": str(lab.ca_file), "allow_private": ["127.0.0.0/8", "::1/128"]},
            # Tests count pushes; those about pacing say their own.
            "defaults": {"cooldown_seconds": 0, "window_seconds": 0, "daily_cap": 0},
            "apps": {
                "default": {
                    "ios": lab.ios,
                    "android": lab.android,
                    "web": lab.web,
                    "unifiedpush": {},
                    "ntfy": {},
                    "gotify": {},
                }
            },
        }

    def add_plugin(self, name: str):
        """A library of the build, beside those that every test has."""
        shutil.copy(built(name), self.plugins / name)
        (self.plugins / name).chmod(0o755)

    @property
    def configuration_file(self) -> Path:
        path = self.folder / "carillon.yaml"
        path.write_text(json.dumps(self.configuration, indent=2))
        return path

    def watch(self, always, **more):
        """Has it go to these relays by itself."""
        self.configuration["relays"] = {"always": [relay.url for relay in always], **more}

    def start(self, feed: Path | str | None = None, *options: str, stdin=None) -> "Router":
        self.spawn(feed, *options, stdin=stdin)
        return self.wait_for_port()

    def spawn(self, feed: Path | str | None = None, *options: str, stdin=None):
        """Lets it begin, and does not wait for it."""
        self._port_file.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [built("carillon"), "serve", "--log-level", self.log_level]
                + ["--config", self.configuration_file, "--port-file", self._port_file]
                + (["--feed", feed] if feed else [])
                + list(options),
                stdin=stdin,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | self.environment,
            )

    def wait_for_port(self) -> "Router":
        wait_until(self._port_file.exists, "the router writes its port", self.process, self.start_patience)
        self.port = int(self._port_file.read_text())
        return self

    @property
    def _port_file(self) -> Path:
        return self.folder / "port"

    def kill(self):
        """As a crash would end it."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ends it in an orderly way. Returns how many deliveries stay behind; what was under way is through."""
        before = self.log.stat().st_size
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0
        with self.log.open("rb") as log:
            log.seek(before)
            stopped = re.search(r"waiting=(\d+)", log.read().decode())
        assert stopped, "the log does not say how many deliveries wait"
        return int(stopped.group(1))

    def restart(self):
        """Ends it in an orderly way and starts it on the same store."""
        self.stop()
        self.start()

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def information(self) -> dict:
        """The NIP-11 document."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}", headers={"accept": "application/nostr+json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    @property
    def public_key(self) -> str:
        return self.information["pubkey"]

    @property
    def log_text(self) -> str:
        """Everything it has said so far, also before it was started anew."""
        if self.log.exists():
            with self.log.open("rb") as log:
                log.seek(self._heard)
                new = log.read()
            self._heard += len(new)
            self._log_text += self._decoder.decode(new)
        return self._log_text

    @property
    def delivered(self) -> set[str]:
        """The names (`apns-id` where that is one) of the deliveries that ended well, as the log has them."""
        text = self.log_text
        end = text.rfind("\n") + 1
        self._delivered.update(re.findall(r"delivery=(\S+) .*outcome=delivered", text[self._searched : end]))
        self._searched = end
        return self._delivered

    def wait_for_deliveries(self, count: int):
        wait_until(lambda: len(self.delivered) >= count, f"{count} deliveries end well", self.process)

    @property
    def outbox(self) -> Path:
        return self.folder / "carillon.sqlite-outbox"

    @property
    def waiting(self) -> int:
        """How many deliveries are in its outbox: what waits, and what is under way."""
        with closing(sqlite3.connect(f"file:{self.outbox}?mode=ro", uri=True)) as database:
            return database.execute("SELECT count(*) FROM outbox_delivery").fetchone()[0]

    def wait_until_nothing_waits(self):
        """After a kill this tells more than a count of pushes, among which are repeats of those that were under way."""
        wait_until(lambda: self.waiting == 0, "nothing is in its outbox", self.process)

    def wait_for_connection(self, relay):
        """Until the router is connected to a relay of the operator's."""
        self.wait_for_log(f"[Relays] Connected to a relay relay={relay.url}")

    def wait_until_read(self, relays: int = 1):
        """Until everything is read that so many relays had stored for somebody who registered: what comes now is news."""
        wait_until(
            lambda: self.log_text.count("Read the stored events of a relay") >= relays,
            f"what {relays} relays had stored is read",
            self.process,
        )

    def wait_for_log(self, text: str):
        wait_until(lambda: text in self.log_text, f"the log says {text!r}", self.process)
