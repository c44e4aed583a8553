"""`carillon cluster check` against real servers, and what serve says where there are none."""

import json
import socket
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from programs import REPOSITORY, built, carillon, wait_until

SERVER = REPOSITORY / ".build/venv/bin/nats-server"


@contextmanager
def nats_server(folder: Path, extra: str = "", sync: str = "always", jetstream: bool = True):
    """A server on a port that the system gives it; yields its URL and that of its monitoring."""
    folder.mkdir(parents=True)
    store = f'jetstream: {{ store_dir: "{folder}/store", sync_interval: {sync} }}' if jetstream else ""
    (folder / "nats.conf").write_text(
        f'listen: "127.0.0.1:-1"\nhttp: "127.0.0.1:-1"\nports_file_dir: "{folder}"\nserver_name: "{folder.name}"\n{store}\n{extra}\n'
    )
    process = subprocess.Popen([SERVER, "-c", folder / "nats.conf", "-l", folder / "log"])
    try:
        file = folder / f"nats-server_{process.pid}.ports"

        def ports():
            try:
                return json.loads(file.read_text())
            except (OSError, ValueError):
                return None

        found = wait_until(ports, "the server's ports", process)
        yield found["nats"][0], found["monitoring"][0]
    finally:
        process.kill()
        process.wait()


def configuration(folder: Path, **cluster) -> Path:
    file = folder / "carillon.yaml"
    block = {"name": "a", "replicas": 1} | cluster
    file.write_text(yaml.safe_dump({"identity": {"key_file": "carillon.key"}, "store": {"path": "carillon.sqlite"}, "cluster": block}))
    return file


def check(file: Path, *options) -> subprocess.CompletedProcess:
    return carillon("cluster", "check", "--config", file, *options)


def test_servers_that_flush_first_are_accepted(tmp_path):
    with nats_server(tmp_path / "n1") as (url, monitoring):
        file = configuration(tmp_path, nats=[url], monitoring=[monitoring])
        done = check(file)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "server n1 at 127.0.0.1:" in done.stdout and "version 2." in done.stdout
        assert "survives a power cut" in done.stdout and "there is no cluster 'carillon' yet" in done.stdout
        assert done.stdout.endswith("the servers can carry a cluster\n")
        report = json.loads(check(file, "--json").stdout)
        assert report["problems"] == [] and report["servers"][0]["flushes_first"] is True


def test_servers_that_flush_later_need_the_operators_consent(tmp_path):
    with nats_server(tmp_path / "n1", sync="2m") as (url, monitoring):
        done = check(configuration(tmp_path, nats=[url], monitoring=[monitoring]))
        assert done.returncode == 1 and "sync_interval is not 'always'" in done.stdout, done.stdout
        # Where nothing shows it, it is not taken for granted.
        done = check(configuration(tmp_path, nats=[url]))
        assert done.returncode == 1 and "is not known" in done.stdout, done.stdout
        done = check(configuration(tmp_path, nats=[url], accept_loss_on_power_cut=True))
        assert done.returncode == 0 and "takes that" in done.stdout, done.stdout


def test_servers_that_are_unreachable_or_lack_streams_are_named(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"nats://127.0.0.1:{closed.getsockname()[1]}"
        done = check(configuration(tmp_path, nats=[nowhere]))
        assert done.returncode == 1 and "cannot be reached" in done.stdout and "no server can be used" in done.stdout
        with nats_server(tmp_path / "n1", jetstream=False) as (url, _):
            done = check(configuration(tmp_path, nats=[url, nowhere], accept_loss_on_power_cut=True))
            assert done.returncode == 1 and "JetStream is not on" in done.stdout, done.stdout
            assert "1 of 2 servers can be used" in done.stdout


@pytest.mark.parametrize("version", ["2.9.10", "2.11.99", "1"])
def test_old_servers_are_refused(tmp_path, version):
    """A server that greets as an old one does, and lets everybody in."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            info = {"server_name": "old", "version": version, "max_payload": 1 << 20, "headers": True}
            connection.sendall(b"INFO " + json.dumps(info).encode() + b"\r\n")
            while data := connection.recv(4096):
                if b"PING" in data:
                    connection.sendall(b"PONG\r\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    done = check(configuration(tmp_path, nats=[f"nats://127.0.0.1:{listener.getsockname()[1]}"]))
    listener.close()
    assert done.returncode == 1 and f"version {version} is too old; 2.12 or newer is needed" in done.stdout, done.stdout


def test_credentials_come_from_files_and_stay_there(tmp_path):
    extra = 'authorization: { users: [ { user: "u", password: "very-secret" } ] }'
    with nats_server(tmp_path / "n1", extra) as (url, monitoring):
        password = tmp_path / "password"
        password.write_text("very-secret\n")
        credentials = {"user": "u", "password_file": "password"}
        file = configuration(tmp_path, nats=[url], monitoring=[monitoring], credentials=credentials)
        done = check(file)
        assert done.returncode == 0, done.stdout + done.stderr
        password.write_text("wrong-secret\n")
        done = check(file)
        assert done.returncode == 1 and "Authorization Violation" in done.stdout, done.stdout
        assert "secret" not in done.stdout + done.stderr
        password.unlink()
        done = check(file)
        assert done.returncode == 1 and "cannot read" in done.stderr and str(password) in done.stderr


def test_serve_does_not_start_without_the_servers(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        file = configuration(tmp_path, nats=[f"nats://127.0.0.1:{closed.getsockname()[1]}"], accept_loss_on_power_cut=True)
        done = subprocess.run([built("carillon"), "serve", "--config", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "cluster: no server can be used" in done.stderr, done.stderr
    # Alone it would send what others send as well.
    assert not (tmp_path / "carillon.sqlite").exists()


def test_cluster_check_without_the_block_is_refused(tmp_path):
    file = tmp_path / "carillon.yaml"
    file.write_text("identity: { key_file: carillon.key }\nstore: { path: carillon.sqlite }\n")
    done = check(file)
    assert done.returncode == 1 and "there is no block 'cluster'" in done.stderr
