"""What commands say of a running router: over the socket beside its store, without an API."""

import json
import signal
import stat

import pytest

from nostr import Socket, device_token, ios
from programs import carillon, free_port, wait_until
from relays import LocalRelay


def status(router, *options: str):
    return carillon("status", "--config", router.configuration_file, *options)


def test_status_works_without_an_api(router, lab, alice, bob):
    assert "api" not in router.configuration
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), bob.message("one", alice))
    lab.accepted(1)
    router.wait_for_log("outcome=delivered")
    shown = wait_until(
        lambda: (lambda run: run if '"pushes":{"per_second":0,' not in run.stdout else None)(status(router, "--json")),
        "the push is counted",
        router.process,
    )
    assert shown.returncode == 0, shown.stderr
    answer = json.loads(shown.stdout)
    assert answer["pushes"]["total"] == 1 and answer["pushes"]["per_second"] > 0
    assert answer["events"]["total"] == 2 and answer["issues"] == []
    assert answer["latency"]["p50_ms"] >= 0 and answer["disk"]["free"] > 0 and answer["disk"]["used"] > 0
    ours = [queue for queue in answer["queues"] if queue["platform"] == "ios"]
    assert [(queue["state"], queue["waiting"]) for queue in ours] == [("ok", 0)]
    # Those that had nothing to do as well.
    names = {(queue["platform"], queue["app"]) for queue in answer["queues"]}
    assert names == {(platform, app) for app, block in router.configuration["apps"].items() for platform in block}
    text = status(router)
    assert text.returncode == 0 and "No problems found." in text.stdout and "ios/default" in text.stdout


def test_problems_are_shown_with_their_fix(router, lab, alice, bob):
    lab.misbehave(kind="answer", status=403, reason="InvalidProviderToken", times=0)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), bob.message("one", alice))
    router.wait_for_log("misconfigured")
    shown = wait_until(
        lambda: (lambda run: run if run.returncode == 2 else None)(status(router)), "the queue pauses", router.process
    )
    assert "!! transport-paused: ios of default" in shown.stdout and "carillon reload" in shown.stdout
    assert "paused (" in shown.stdout and "waiting   1 of" in shown.stdout and "the oldest since" in shown.stdout


def test_a_relay_and_a_push_service_that_are_down_are_named(stopped_router, lab, tmp_path):
    """Beside others that are there: something to look at."""
    relay, away = LocalRelay(tmp_path / "relay").start(), f"ws://127.0.0.1:{free_port()}"
    stopped_router.watch(always=[relay])
    stopped_router.configuration["relays"]["always"].append(away)
    router = stopped_router.start()
    router.wait_for_connection(relay)
    shown = wait_until(
        lambda: (lambda run: run if "not connected" in run.stdout else None)(status(router)), "it is named", router.process
    )
    assert shown.returncode == 1 and f"!  {away} is not connected (unreachable)" in shown.stdout
    assert f"carillon relays show {away}" in shown.stdout and "plugins   " in shown.stdout
    assert [issue["code"] for issue in json.loads(status(router, "--json").stdout)["issues"]] == ["relay-down"]
    # Without any relay pushes do not go out as they should.
    relay.kill()
    gone = wait_until(
        lambda: (lambda run: run if run.returncode == 2 else None)(status(router)), "no relay is left", router.process
    )
    assert "!! no-relay" in gone.stdout and "relay-down" not in gone.stdout


def test_a_router_without_an_event_source_reports_it(router, lab, alice, bob):
    """As where an operator forgot the relays: devices register, and nothing ever comes."""
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        shown = status(router)
        assert shown.returncode == 1 and "!  no-source: no events: no relay, no feed" in shown.stdout
        assert "relays.always" in shown.stdout
        socket.publish(bob.message("one", alice))
    lab.accepted(1)
    wait_until(lambda: status(router).returncode == 0, "a client brings events")


@pytest.mark.parametrize("spoil", [lambda text: text.replace("{", '{"stroe": {},', 1), lambda text: "relay: [\n" + text])
def test_a_broken_file_does_not_block_access_to_the_running_router(router, alice, bob, spoil):
    with Socket(router) as socket:
        socket.publish(bob.note("an event", alice))
    path = router.configuration_file
    good = path.read_text()
    path.write_text(spoil(good))
    shown = carillon("status", "--config", path)
    assert shown.returncode == 1 and "carillon.yaml:" in shown.stderr, shown.stdout + shown.stderr
    assert shown.stdout.startswith("Carillon ") and "plugins   " in shown.stdout
    assert f"!  {shown.stderr.strip()}" in shown.stdout and "carillon check lists every error" in shown.stdout
    [issue] = json.loads(carillon("status", "--json", "--config", path).stdout)["issues"]
    assert issue["code"] == "configuration-invalid" and issue["severity"] == "warning"
    router.kill()
    gone = carillon("status", "--config", path)
    assert gone.returncode == 3 and "carillon.yaml:" in gone.stderr and "no response from" in gone.stderr
    path.write_text(good)
    router.start()


def test_a_refused_reload_is_shown_until_the_next_successful_one(router, alice, bob):
    with Socket(router) as socket:
        socket.publish(bob.note("an event", alice))
    good = router.configuration["relay"]
    router.configuration["relay"] = good | {"limits": {"connections": "many"}}
    assert router.configuration_file.exists()
    router.process.send_signal(signal.SIGHUP)
    router.wait_for_log("The new configuration was rejected")
    # Commands read the file as well, and have to know whom to ask.
    router.configuration["relay"] = good
    shown = status(router)
    assert shown.returncode == 1 and "!  reload-refused: the reload at " in shown.stdout, shown.stdout
    assert "relay.limits.connections" in shown.stdout and "a restart would fail: carillon check" in shown.stdout
    assert carillon("reload", "--config", router.configuration_file).returncode == 0
    assert status(router).returncode == 0


def test_a_standalone_router_reports_that_it_has_no_cluster(router):
    for words in [("cluster", "status"), ("cluster", "members")]:
        run = carillon(*words, "--config", router.configuration_file)
        assert run.returncode == 1 and "this router is not a cluster member" in run.stderr, run.stderr


def test_only_the_owner_can_reach_the_admin_socket(router):
    folder = next(router.folder.glob("*-admin"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_ISSOCK((folder / "socket").stat().st_mode)


def test_a_stopped_router_is_reported(stopped_router):
    run = status(stopped_router)
    assert run.returncode == 3 and "no router runs on this configuration" in run.stderr
    stopped_router.start()
    assert status(stopped_router).returncode in [0, 1]
    # A socket that a killed router leaves behind is in nobody's way.
    stopped_router.kill()
    run = status(stopped_router)
    assert run.returncode == 3 and "check that the router runs" in run.stderr
    stopped_router.start()
    assert status(stopped_router).returncode in [0, 1]
    stopped_router.stop()
    assert "no router runs" in status(stopped_router).stderr


def test_commands_need_no_api(router):
    run = carillon("reload", "--config", router.configuration_file)
    assert run.returncode == 0 and "is active" in run.stdout
    assert "libCarillonAPNs.so" in carillon("plugin", "list", "--config", router.configuration_file).stdout
