"""The log: levels while the router runs, JSON, and fields for the journal."""

import json
import socket as sockets
import struct
import threading

from nostr import Socket, device_token, ios
from programs import carillon, wait_until


def test_levels_change_while_the_router_runs(stopped_router, lab, alice, bob):
    stopped_router.log_level = "info"
    router = stopped_router.start()

    def level(*words: str):
        return carillon("logs", "level", *words, "--config", router.configuration_file)

    def push(text: str):
        with Socket(router) as socket:
            socket.publish(bob.message(text, alice))

    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    push("one")
    lab.accepted(1)
    shown = level()
    assert shown.returncode == 0 and shown.stdout.startswith("level info unless set otherwise") and "Relays" in shown.stdout
    set_ = level("carillonrouter", "debug", "--for", "10m", "--json")
    assert set_.returncode == 0, set_.stderr
    [setting] = json.loads(set_.stdout)["set"]
    assert setting["component"] == "CarillonRouter" and setting["level"] == "debug" and 590 <= setting["ends_in"] <= 600
    push("two")
    router.wait_for_log("outcome=delivered")
    assert router.log_text.count("outcome=delivered") == 1
    # A reload ends it.
    assert carillon("reload", "--config", router.configuration_file).returncode == 0
    assert json.loads(level("--json").stdout)["set"] == []
    push("three")
    lab.accepted(3)
    level("all", "error")
    level("all", "default")
    for words, status in [(("nothing", "debug"), 1), (("Relays", "loud"), 64)]:
        refused = level(*words)
        assert refused.returncode == status and "expected" in refused.stderr
    assert router.log_text.count("outcome=delivered") == 1
    router.stop()
    assert level().returncode == 3


def test_a_log_of_json(stopped_router):
    stopped_router.configuration["log"] = {"format": "json"}
    router = stopped_router.start()
    router.process.terminate()
    router.process.wait()
    lines = [json.loads(line) for line in router.log.read_text().splitlines()]
    assert any(line["message"] == "Listening" and line["fields"]["npub"].startswith("npub1") for line in lines)
    assert {"time", "level", "component", "message", "fields"} == set(lines[0])


def fields(datagram: bytes) -> dict[str, str]:
    """Reads a datagram as systemd documents it (Native Journal Protocol)."""
    found = {}
    while datagram:
        line, _, rest = datagram.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            (length,) = struct.unpack("<Q", rest[:8])
            value, rest = rest[8 : 8 + length], rest[8 + length + 1 :]
        found[name.decode()] = value.decode()
        datagram = rest
    return found


def test_the_journal_gets_fields(stopped_router, lab, alice, bob, tmp_path):
    lab.misbehave(kind="answer", status=410, reason="Unregistered", times=0)
    path = tmp_path / "journal"
    journal = sockets.socket(sockets.AF_UNIX, sockets.SOCK_DGRAM)
    journal.bind(str(path))
    entries: list[dict[str, str]] = []

    def listen():
        try:
            while datagram := journal.recv(65_536):
                entries.append(fields(datagram))
        except OSError:
            pass

    threading.Thread(target=listen, daemon=True).start()
    stopped_router.log_level = "info"
    router = stopped_router.start(None, "--log-format", "journald", "--journal-socket", path)
    token = device_token()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(token)), bob.message("one", alice))
    [entry] = wait_until(
        lambda: [entry for entry in entries if entry["CARILLON_EVENT"] == "Delivery"], "the end of the delivery", router.process
    )
    assert all(entry["SYSLOG_IDENTIFIER"] == "carillon" and entry["PRIORITY"] in "23456" for entry in entries)
    assert entry["CARILLON_OUTCOME"] == "gone" and entry["CARILLON_DELIVERY"] and entry["PRIORITY"] == "5"
    assert entry["CARILLON_COMPONENT"] == "CarillonRouter" and "outcome=gone" in entry["MESSAGE"]
    assert token not in str(entries) and "Delivery" not in router.log.read_text()
    # A journal that goes away is no reason to lose lines.
    journal.shutdown(sockets.SHUT_RDWR)
    journal.close()
    path.unlink()
    carillon("reload", "--config", router.configuration_file)
    wait_until(lambda: "configuration was reloaded" in router.log.read_text(), "the log goes to standard error")
