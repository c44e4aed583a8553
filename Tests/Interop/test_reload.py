"""A configuration that changes under a running router."""

import os
import re
import signal
import threading
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from console import Console
from nostr import Socket, device_token, ios
from programs import carillon, free_port, wait_until

IN_FORCE = "The configuration was reloaded"
REFUSED = "The new configuration was rejected"


def hang_up(router, answer: str = IN_FORCE):
    """SIGHUP, until the log says what came of it."""
    before = router.log_text.count(answer)
    router.configuration_file  # writes it
    router.process.send_signal(signal.SIGHUP)
    wait_until(lambda: router.log_text.count(answer) > before, f"the log says {answer!r}", router.process)


def rules(router, title: str) -> None:
    (router.folder / "rules.yaml").write_text(
        f'version: 1\nrules:\n  - {{ match: {{ kinds: [1] }}, signal: mention, title: "{title}" }}\n'
    )
    router.configuration["rules"] = "rules.yaml"


def test_a_sighup_during_the_start_does_not_end_the_router(stopped_router):
    router = stopped_router
    router.spawn()
    status = Path(f"/proc/{router.process.pid}/status")

    def is_ready_for_it():
        """The loader maps libraries before the program can say anything."""
        masks = re.findall(r"^Sig(?:Ign|Cgt):\s*(\w+)$", status.read_text(), re.MULTILINE)
        return any(int(mask, 16) & 1 << signal.SIGHUP - 1 for mask in masks)

    wait_until(is_ready_for_it, "it minds SIGHUP", router.process)
    router.process.send_signal(signal.SIGHUP)
    router.wait_for_port()
    hang_up(router)
    assert router.stop() == 0


def test_reloads_during_traffic_lose_no_push(stopped_router, lab, alice, bob):
    router = stopped_router
    rules(router, "before")
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        notes = [bob.note(f"note {number}", alice) for number in range(150)]
        sender = threading.Thread(target=lambda: socket.publish(*notes))
        sender.start()
        for number in range(4):
            rules(router, f"after {number}")
            # Another name for the same key: the transport is made anew, and what the old one has goes on.
            key = router.folder / f"key-{number}.p8"
            key.write_bytes((router.folder / lab.ios["key_file"]).read_bytes())
            key.chmod(0o600)
            router.configuration["apps"]["default"]["ios"]["key_file"] = key.name
            hang_up(router)
        sender.join()
        socket.publish(bob.note("the last", alice))
        router.wait_for_deliveries(151)
    assert router.stop() == 0
    received = lab.accepted(151)
    assert len({request.apns_id for request in received}) == 151
    titles = {request.payload["aps"]["alert"]["title"] for request in received}
    assert titles <= {"before", *(f"after {number}" for number in range(4))}
    assert received[-1].payload["aps"]["alert"]["title"] == "after 3"


def test_a_broken_configuration_is_refused_with_every_error(stopped_router, lab, alice, bob):
    router = stopped_router
    rules(router, "as it was")
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        good = dict(router.configuration["apps"]["default"]["ios"])
        router.configuration["apps"]["default"]["ios"] = good | {"team_id": "no team"}
        router.configuration["apps"]["default"]["ntfy"] = {"unknown": 1}
        (router.folder / "rules.yaml").write_text("version: 1\nrules:\n  - { match: { kindz: [1] }, title: x }\n")
        hang_up(router, REFUSED)
        wait_until(lambda: router.log_text.count(REFUSED) >= 3, "all mistakes are told", router.process)
        for mistake in ["apps.default.ios: ", "team_id: expected", "apps.default.ntfy: ", "rules.yaml:3:"]:
            assert mistake in router.log_text
        socket.publish(bob.note("hello", alice))
        assert lab.accepted(1)[0].payload["aps"]["alert"]["title"] == "as it was"
        router.configuration["apps"]["default"]["ios"] = good
        router.configuration["apps"]["default"]["ntfy"] = {}
        rules(router, "as it is")
        hang_up(router)
        socket.publish(bob.note("hello again", alice))
        assert lab.accepted(2)[1].payload["aps"]["alert"]["title"] == "as it is"


def test_a_new_key_in_the_same_file_is_used(stopped_router, lab, alice, bob):
    router = stopped_router
    right = (router.folder / lab.ios["key_file"]).read_bytes()
    wrong = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    key = router.folder / "AuthKey.p8"
    key.touch(mode=0o600)
    key.write_bytes(wrong)
    router.configuration["apps"]["default"]["ios"]["key_file"] = "AuthKey.p8"
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), bob.message("hello", alice))
        router.wait_for_log("Queue paused: credentials rejected or plugin missing")
        # Without a change nothing is made anew, and the pause would go on.
        key.write_bytes(right)
        hang_up(router)
        # At once, not when the pause would have ended.
        lab.accepted(1)
    assert router.stop() == 0


def test_unchanged_filters_keep_their_state(stopped_router, lab, alice, bob):
    router = stopped_router
    router.configuration["filter_plugins"] = {"noise": {"settings": {"burst": {"events": 1, "seconds": 3600}}}}
    rules(router, "before")
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")), bob.note("the first", alice))
        lab.accepted(1)
        rules(router, "after")
        hang_up(router)
        socket.publish(bob.note("the second", alice))
        router.wait_for_log("step=filtered")
        # What changes begins anew.
        router.configuration["filter_plugins"]["noise"]["settings"]["burst"]["seconds"] = 3599
        hang_up(router)
        socket.publish(bob.note("the third", alice))
        assert lab.accepted(2)[1].payload["aps"]["alert"]["title"] == "after"
    assert router.stop() == 0
    assert len(lab.received()) == 2


def test_keys_that_require_a_restart_are_named(stopped_router):
    router = stopped_router
    router.start()
    router.configuration["relay"]["listen"] = "127.0.0.1:1"
    router.configuration["hints"] = "ignore"
    hang_up(router)
    router.wait_for_log("keys=\"relay, hints\"")
    assert router.stop() == 0


def test_the_reload_command_reports_the_result(stopped_router):
    router = stopped_router
    Console(router, port=free_port()).start()
    good = carillon("reload", "--config", router.configuration_file)
    assert (good.returncode, good.stdout) == (0, "The configuration was reloaded and is active.\n")
    router.configuration["context"] = {"wait_milliseconds": 1}
    restart = carillon("reload", "--config", router.configuration_file)
    assert restart.returncode == 0 and restart.stdout.endswith("require a restart: context\n")
    (router.folder / "rules.yaml").write_text("version: 1\nrules: 5\n")
    router.configuration["rules"] = "rules.yaml"
    broken = carillon("reload", "--config", router.configuration_file)
    assert broken.returncode == 1
    assert "rules.yaml:2:" in broken.stderr and "the old one stays" in broken.stderr
    router.stop()
    gone = carillon("reload", "--config", router.configuration_file)
    assert gone.returncode == 3 and "check that the router runs" in gone.stderr


def test_a_signal_during_a_reload_is_not_lost(stopped_router, lab, alice, bob):
    router = stopped_router
    rules(router, "before")
    console = Console(router).start()
    # Reading this key takes until somebody writes it.
    key = router.folder / "slow.p8"
    os.mkfifo(key, 0o600)
    right = (router.folder / lab.ios["key_file"]).read_bytes()
    router.configuration["apps"]["default"]["ios"]["key_file"] = key.name
    rules(router, "for the call")
    router.configuration_file  # writes it
    answers = []
    asking = threading.Thread(target=lambda: answers.append(console.ask("/v1/reload", "POST")))
    asking.start()
    # Opens when it is read, and the rules were read before.
    with key.open("wb", buffering=0) as writer:
        assert console.ask("/v1/reload", "POST")[0] == 409
        rules(router, "for the signal")
        router.process.send_signal(signal.SIGHUP)
        router.wait_for_log("the configuration will be read again after it")
        # The second reading finds a file, and so does the first if it has not come that far.
        (router.folder / "AuthKey.p8").write_bytes(right)
        (router.folder / "AuthKey.p8").chmod(0o600)
        (router.folder / "AuthKey.p8").replace(key)
        with suppress(BrokenPipeError):
            writer.write(right)
    asking.join()
    assert answers[0][0] == 200
    assert router.log_text.count(IN_FORCE) == 2
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")), bob.note("hello", alice))
        assert lab.accepted(1)[0].payload["aps"]["alert"]["title"] == "for the signal"
    assert router.stop() == 0


def test_a_plugin_added_later_is_loaded_on_reload(stopped_router, alice):
    router = stopped_router
    plugin = router.plugins / "libCarillonNtfy.so"
    away = plugin.rename(router.folder / plugin.name)
    block = router.configuration["apps"]["default"].pop("ntfy")
    router.start()
    registration = {"platform": "ntfy", "push_endpoint": "https://ntfy.example.com/alice"}
    with Socket(router) as socket:
        assert not socket.offer(alice.registration(router, registration))[0]
        router.configuration["apps"]["default"]["ntfy"] = block
        hang_up(router, REFUSED)
        assert "no loaded plugin serves ntfy" in router.log_text
        away.rename(plugin)
        # One that is none keeps nothing else from being loaded.
        (router.plugins / "none.so").write_text("no plugin")
        hang_up(router)
        assert "is not an ELF file" in router.log_text
        assert "take effect after a restart" not in router.log_text
        socket.publish(alice.registration(router, registration))
    assert router.stop() == 0


def test_a_changed_api_token_is_read_on_sighup(stopped_router):
    router = stopped_router
    console = Console(router, port=free_port()).start()
    old = console.token
    console.token_file.write_text("a token that nobody would guess\n".replace(" ", "-"))
    assert console.ask("/metrics")[0] == 401
    # Over the API, as somebody does who cannot reach the socket.
    (router.folder / "carillon.sqlite-admin").rename(router.folder / "elsewhere")
    refused = carillon("reload", "--config", router.configuration_file)
    assert refused.returncode == 3 and "send it SIGHUP" in refused.stderr, refused.stderr
    hang_up(router)
    assert carillon("reload", "--config", router.configuration_file).returncode == 0
    assert console.ask("/metrics", token=old)[0] == 401
    # Like on a start, one is made where there is none.
    console.token_file.unlink()
    hang_up(router)
    assert console.ask("/metrics")[0] == 200
    console.token_file.write_text("short\n")
    hang_up(router, REFUSED)


def test_changed_roots_in_the_same_file_are_named(stopped_router):
    router = stopped_router
    roots = router.folder / "roots.pem"
    roots.write_bytes(router.lab_ca_file.read_bytes())
    router.configuration["http"]["ca_file"] = "roots.pem"
    router.start()
    hang_up(router)
    assert "take effect after a restart" not in router.log_text
    roots.write_bytes(roots.read_bytes() * 2)
    hang_up(router)
    router.wait_for_log("keys=http")
    assert router.stop() == 0


def test_devices_of_a_running_router_are_removed_by_the_api(stopped_router, alice):
    router = stopped_router
    console = Console(router, port=free_port()).start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    number = console.json("/v1/devices")[1]["devices"][0]["device"]
    removed = carillon("devices", "remove", number, "--config", router.configuration_file)
    assert removed.returncode == 0, removed.stderr
    assert console.json("/v1/devices")[1]["devices"] == []
    again = carillon("devices", "remove", number, "--config", router.configuration_file)
    assert again.returncode == 1 and "there is no device" in again.stderr
