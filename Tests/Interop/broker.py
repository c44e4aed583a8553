"""Mosquitto, a broker for MQTT, and a subscriber by paho."""

import json
import shutil
import socket
import subprocess
from pathlib import Path

import paho.mqtt.client as paho
import pytest

from authority import Authority
from programs import free_port, wait_until

USERNAME, PASSWORD = "carillon", "correct horse battery staple"
LISTENER, LISTENERS_PASSWORD = "listener", "another password"


def program(name: str) -> str:
    """Debian keeps the broker where users do not look."""
    path = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if path is None:
        pytest.skip(f"{name} is not installed: contrib/setup --tests does it")
    return path


class Broker:
    def __init__(self, folder: Path, *settings: str, tls: bool = True):
        folder.mkdir()
        self.folder = folder
        self.port = free_port()
        self.authority = Authority(folder / "authority") if tls else None
        self.log = folder / "broker.log"
        users = folder / "users"
        users.touch(mode=0o600)
        for name, password in [(USERNAME, PASSWORD), (LISTENER, LISTENERS_PASSWORD)]:
            subprocess.run([program("mosquitto_passwd"), "-b", users, name, password], check=True, capture_output=True)
        rules = folder / "rules"
        rules.write_text(
            f"user {USERNAME}\ntopic write carillon/phones/#\nuser {LISTENER}\ntopic read carillon/#\ntopic read $SYS/#\n"
        )
        rules.chmod(0o600)
        lines = [
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous false",
            f"password_file {users}",
            f"acl_file {rules}",
            "persistence false",
            "user root",
            *settings,
        ]
        if tls:
            pem = self.authority.server()
            lines += [f"cafile {self.authority.file}", f"certfile {pem}", f"keyfile {pem}"]
        self.configuration = folder / "broker.conf"
        self.configuration.write_text("\n".join(lines) + "\n")
        self.process = None
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [program("mosquitto"), "-v", "-c", self.configuration], stdout=log, stderr=subprocess.STDOUT
            )
        wait_until(self._is_listening, "the broker listens", self.process)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=20)
            self.process = None

    def wait_for_log(self, text: str, count: int = 1):
        wait_until(lambda: self.log_text.count(text) >= count, f"the broker says {text!r}", self.process)

    @property
    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def _is_listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def block(self) -> dict:
        """The block of an app's configuration that publishes here."""
        block = {"server": "localhost", "port": self.port, "username": USERNAME, "password": PASSWORD}
        if self.authority is None:
            return {**block, "security": "none"}
        return {**block, "authority_file": str(self.authority.file)}


class Subscriber:
    """Hears all that is below `carillon/`, until it is stopped."""

    def __init__(self, broker: Broker, name: str = "", topic: str = "carillon/#"):
        """With a name the broker keeps what comes while the subscriber is away."""
        self.messages: list[paho.MQTTMessage] = []
        self._is_subscribed = False
        self._client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=name, protocol=paho.MQTTv5)
        self._client.username_pw_set(LISTENER, LISTENERS_PASSWORD)
        if broker.authority:
            self._client.tls_set(ca_certs=str(broker.authority.file))
        self._client.on_message = lambda client, userdata, message: self.messages.append(message)
        self._client.on_subscribe = self._subscribed
        properties = paho.Properties(paho.PacketTypes.CONNECT)
        if name:
            properties.SessionExpiryInterval = 600
        self._client.connect("localhost", broker.port, clean_start=not name, properties=properties)
        self._client.loop_start()
        self._client.subscribe(topic, qos=1)
        wait_until(lambda: self._is_subscribed, "the subscription stands")

    def _subscribed(self, *_):
        self._is_subscribed = True

    def wait(self, count: int) -> list[dict]:
        wait_until(lambda: len(self.messages) >= count, f"{count} messages come")
        return [json.loads(message.payload) for message in self.messages]

    def stop(self):
        self._client.disconnect()
        self._client.loop_stop()
