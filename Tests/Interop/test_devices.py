"""`carillon devices`: who is registered, whether a device can be reached, and taking one out."""

import json

import nostr_sdk as sdk
import pytest

from nostr import Person, Socket, device_token, ios, secrets_in
from programs import carillon, wait_until
from subscriptions import App


def devices(router, *words):
    run = carillon("devices", *words, "--config", router.configuration_file)
    leaked = [secret for secret in router.secrets if secret in run.stdout + run.stderr]
    assert not leaked, "what was printed holds secrets"
    return run


def listed(router, *options) -> list[dict]:
    run = devices(router, "list", "--json", *options)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["devices"]


@pytest.fixture
def carol():
    return Person()


def test_devices_are_listed_with_their_push_results(router, lab, socket, alice, bob, carol):
    socket.publish(
        alice.registration(router, ios(device_token(), mode="nudge"), device="phone"),
        alice.registration(router, ios(device_token(), filters={"dm": True}), device="tablet"),
        carol.registration(router, ios(device_token())),
    )
    everybody = listed(router)
    assert [device["account"] for device in everybody] == [alice.hex, alice.hex, carol.hex]
    npub = sdk.PublicKey.parse(alice.hex).to_bech32()
    phone, tablet = listed(router, "--account", npub)
    assert (phone["name"], phone["platform"], phone["app"], phone["mode"]) == ("phone", "ios", "default", "nudge")
    assert "mode" not in tablet and tablet["signals"] == ["dm"]
    assert "last_success" not in phone

    socket.publish(bob.note("hello", alice))
    lab.accepted(1)
    show = ["show", phone["device"], "--json"]
    shown = wait_until(
        lambda: (found := json.loads(devices(router, *show).stdout)).get("last_success") and found,
        "the success is known",
        router.process,
    )
    assert shown["last_success"]["status"] == 200 and "last_error" not in shown
    text = devices(router, "show", phone["device"]).stdout
    for words in [npub, alice.hex, "nudge", "last success", "delivered (200)"]:
        assert words in text
    table = devices(router, "list").stdout.splitlines()
    assert len(table) == 4 and table[0].startswith("DEVICE  ACCOUNT")
    # Columns stand below each other.
    assert len({line.index("ios/default") for line in table[1:]}) == 1
    router.stop()
    assert [device["device"] for device in listed(router)] == [device["device"] for device in everybody]

    wrong = devices(router, "list", "--account", "alice")
    assert wrong.returncode == 64 and "npub1" in wrong.stderr
    unknown = devices(router, "show", "4711")
    assert unknown.returncode == 1 and "there is no device 4711" in unknown.stderr


@pytest.mark.parametrize("runs", [True, False], ids=["beside a router", "without one"])
def test_a_test_push_prints_the_push_services_own_answer(router, lab, socket, alice, runs):
    token = device_token()
    socket.publish(alice.registration(router, ios(token, mode="nudge")))
    [device] = listed(router)
    if not runs:
        router.stop()
    for options, push_type in [([], "alert"), (["--mode", "wake"], "background"), (["--mode", "alert"], "alert")]:
        run = devices(router, "test", device["device"], "--json", *options)
        assert run.returncode == 0, run.stderr
        answer = json.loads(run.stdout)
        assert (answer["outcome"], answer["status"]) == ("delivered", 200)
        push = lab.received()[-1]
        assert push.apns_id == answer["delivery"] and push.header("apns-push-type") == push_type
        assert push.target.endswith(token)
    assert lab.received()[-1].payload["aps"]["alert"]["body"] == "This is a test."

    lab.declare(token, "unregistered", since=2**52)
    run = devices(router, "test", device["device"])
    assert run.returncode == 1
    assert "the push service's answer: 410" in run.stdout and "left as it is" in run.stdout
    assert len(listed(router)) == 1
    loud = devices(router, "test", device["device"], "--mode", "loud")
    assert loud.returncode == 64 and "wake, nudge, sealed, alert" in loud.stderr


def test_device_preferences_are_shown(router, socket, alice):
    wishes = {
        "quiet": {"start": "01:00", "end": "02:00", "tz": "UTC+9", "dm_bypass_quiet": True},
        "batch": {"daily_cap": 40},
        "filter_plugins": {"mutes": False},
        "locale": "de",
    }
    socket.publish(alice.registration(router, ios(device_token(), **wishes)))
    [device] = listed(router)
    shown = device["wishes"]
    assert shown["quiet"] == wishes["quiet"] and shown["locale"] == "de"
    assert shown["daily_cap"] == {"requested": 40, "in_force": 40} and shown["cooldown_seconds"] == {"in_force": 0}
    assert shown["filters"] == [{"name": "mutes", "requested": False, "is_active": False}]
    text = devices(router, "show", device["device"]).stdout
    for words in ["01:00 to 02:00 (UTC+9)", "40 pushes per day, as requested", "mutes off, as requested", "language      de"]:
        assert words in text


def test_a_sealed_test_push_is_readable_only_by_the_device(router, lab, socket, alice):
    app = App()
    content = {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upAlice"), "filters": {"dm": True}}
    socket.publish(alice.registration(router, content | app.keys, device="browser"))
    [device] = listed(router)
    run = devices(router, "test", device["device"], "--mode", "sealed")
    assert run.returncode == 0, run.stdout + run.stderr
    [push] = lab.received()
    assert b"This is a test" not in push.body


def test_a_test_push_is_reduced_like_other_pushes(router, lab, socket, alice):
    # Nothing can be encrypted for a device that names no keys.
    content = {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upAlice"), "filters": {"dm": True}}
    socket.publish(alice.registration(router, content | {"mode": "sealed"}, device="browser"))
    [device] = listed(router)
    run = devices(router, "test", device["device"], "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    answer = json.loads(run.stdout)
    assert (answer["outcome"], answer["status"], answer["mode"]) == ("delivered", 200, "nudge")
    assert [reduction["mode"] for reduction in answer["reductions"]] == ["sealed"]
    [push] = lab.received()
    assert b"This is a test" in push.body


def test_a_device_is_removed_on_the_files_of_a_stopped_router(router, lab, socket, alice, bob):
    registration = alice.registration(router, ios(device_token()), device="phone")
    socket.publish(registration, alice.registration(router, ios(device_token()), device="tablet"))
    phone, tablet = listed(router)
    busy = devices(router, "remove", phone["device"])
    assert busy.returncode == 1 and "a router runs here" in busy.stderr and "api:" in busy.stderr
    assert len(listed(router)) == 2
    router.stop()
    run = devices(router, "remove", phone["device"])
    assert run.returncode == 0 and f"removed device {phone['device']}" in run.stdout
    assert [device["device"] for device in listed(router)] == [tablet["device"]]
    again = devices(router, "remove", phone["device"])
    assert again.returncode == 1 and "there is no device" in again.stderr

    router.start()
    with Socket(router) as socket:
        # The old registration does not bring it back.
        socket.send(["EVENT", registration])
        socket.receive()
        socket.publish(bob.note("hello", alice))
    lab.accepted(1)
    router.stop()
    assert len(lab.received()) == 1
    assert len(listed(router)) == 1
