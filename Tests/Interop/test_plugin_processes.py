"""Plugins run in processes of their own; one that dies costs nobody else anything, and operators see it."""

import os
import signal

import pytest

from console import Console
from nostr import Socket, device_token, ios
from programs import built, carillon, free_port, wait_until
from test_operation import serve


@pytest.fixture
def console(stopped_router):
    return Console(stopped_router, port=free_port())


def processes(console) -> list[dict]:
    status, answer = console.json("/api/plugins")
    assert status == 200 and answer["refused"] == []
    return answer["processes"]


def test_a_process_that_is_killed_is_started_again_and_pushes_go_on(console, stopped_router, lab, alice, bob):
    console.start()
    [process] = processes(console)
    assert process["plugins"] == sorted(stopped_router.plugin_names) and process["state"] == "running"
    assert process["deaths"] == 0 and process["confinement"]
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("one", alice))
        lab.accepted(1)
        os.kill(process["process"], signal.SIGKILL)
        socket.publish(bob.message("two", alice))
        lab.accepted(2)
    found = wait_until(
        lambda: [each for each in processes(console) if each["deaths"] == 1 and each["state"] == "running"],
        "the process runs again",
        stopped_router.process,
    )
    assert found[0]["process"] != process["process"] and "SIGKILL" in found[0]["last_death"]
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 0 and "ended      once" in listing.stdout and "SIGKILL" in listing.stdout
    metrics = console.ask("/metrics")[1]
    assert 'carillon_plugin_process_deaths_total{plugin="libCarillonAPNs.so"} 1\n' in metrics
    assert console.json("/readyz")[0] == 200


def test_one_that_dies_again_and_again_is_not_ready(console, stopped_router):
    console.start()
    killed = set()

    def dies() -> bool:
        for each in processes(console):
            if each["state"] == "running" and each["process"] not in killed:
                killed.add(each["process"])
                os.kill(each["process"], signal.SIGKILL)
        return any(each["what"] == "plugin-paused" for each in console.json("/readyz")[1]["not_ready"])

    wait_until(dies, "the process pauses", stopped_router.process)
    [process] = processes(console)
    assert process["state"] == "paused" and process["deaths"] >= 5 and console.json("/healthz")[0] == 200


@pytest.mark.parametrize("isolation", ["process", {"default": "none", "libCarillonAPNs.so": "process"}, "none"])
def test_an_operator_says_where_plugins_run(console, stopped_router, lab, alice, bob, isolation):
    stopped_router.configuration["plugins"]["isolation"] = isolation
    console.start()
    expected = {"process": [[name] for name in sorted(stopped_router.plugin_names)], "none": []}
    found = sorted(each["plugins"] for each in processes(console))
    assert found == (expected[isolation] if isinstance(isolation, str) else [["libCarillonAPNs.so"]])
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("hello", alice))
    lab.accepted(1)


def test_a_missing_program_is_a_mistake_with_its_line(stopped_router):
    stopped_router.configuration["plugins"]["program"] = "nowhere/carillon-plugin-host"
    for run in [serve(stopped_router), carillon("check", "--config", stopped_router.configuration_file)]:
        assert run.returncode == 1 and "plugins.program: expected the program carillon-plugin-host" in run.stderr
        assert "nowhere/carillon-plugin-host is none" in run.stderr and "carillon.yaml:" in run.stderr
    stopped_router.configuration["plugins"]["program"] = str(built("carillon-plugin-host"))
    assert carillon("check", "--config", stopped_router.configuration_file).returncode == 0


def test_check_names_plugins_that_are_not_there(stopped_router):
    stopped_router.configuration["plugins"]["isolation"] = {"libCarillonAPN.so": "none"}
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert check.returncode == 1
    assert "there is no plugin libCarillonAPN.so in the folders; did you mean 'libCarillonAPNs.so'?" in check.stderr


def test_files_of_the_configuration_need_not_be_open_to_the_process(stopped_router, lab):
    """The host reads them, and says what is wrong as the plugin would."""
    ios_block = stopped_router.configuration["apps"]["default"]["ios"]
    ios_block["key_file"] = "missing.p8"
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert check.returncode == 1
    missing = stopped_router.folder / "missing.p8"
    assert f"key_file: expected a file that can be read, {missing}: No such file or directory" in check.stderr
    assert "carillon.yaml:" in check.stderr and "apps.default.ios: " in check.stderr
    missing.write_bytes(b"secret" * 11_000)
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert f"key_file: expected a file of at most 65536 bytes, {missing} holds more" in check.stderr
    assert "secret" not in check.stderr
