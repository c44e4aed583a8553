"""`carillon explain`: why somebody was woken, and why not."""

import json
import sqlite3
import time
from datetime import datetime, timedelta, timezone

import nostr_sdk as sdk

from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until


def explain(router, event: str, *options):
    return carillon("explain", event, "--config", router.configuration_file, *options)


def explanation(router, event: str, *options) -> dict:
    run = explain(router, event, "--json", *options)
    assert run.returncode in [0, 3], run.stderr
    return json.loads(run.stdout)


def explained(router, event: str, condition, *options) -> dict:
    """What is told once `condition` holds of it: the trace is written a moment later."""

    def told():
        result = explanation(router, event, *options)
        return result if condition(result) else None

    return wait_until(told, f"the trace tells of {event}", router.process)


def steps(result: dict) -> list[str]:
    """Those of the only device."""
    [device] = result["accounts"][0]["devices"]
    return [step["step"] for step in device["steps"]]


def has_ended(result: dict) -> bool:
    devices = [device for account in result["accounts"] for device in account["devices"]]
    waiting = ["queued", "waiting", "retry"]
    return bool(devices) and all(device["steps"][-1]["step"] not in waiting for device in devices)


def nevent(event: dict) -> str:
    relays = [sdk.RelayUrl.parse(f"wss://relay-{number}.example.com") for number in range(3)]
    id = sdk.EventId.parse(event["id"])
    return sdk.Nip19Event(id, sdk.PublicKey.parse(event["pubkey"]), sdk.Kind(event["kind"]), relays).to_bech32()


def test_an_event_is_explained_for_each_device(router, lab, socket, alice, bob):
    socket.publish(
        alice.registration(router, ios(device_token()), device="phone"),
        alice.registration(router, ios(device_token(), filters={"dm": True, "reply": False}), device="tablet"),
    )
    reply = bob.reply("well said", alice.note("hello"))
    socket.publish(reply)
    lab.accepted(1)

    result = explained(router, reply["id"], has_ended)
    [account] = result["accounts"]
    assert account["account"] == alice.hex
    assert account["npub"] == sdk.PublicKey.parse(alice.hex).to_bech32()
    phone, tablet = sorted(account["devices"], key=lambda device: device["name"])
    assert phone["name"] == "phone" and phone["is_registered"]
    assert [step["step"] for step in phone["steps"]] == ["queued", "delivered"]
    assert phone["outcome"] == "delivered: ios/default took it (200)"
    [push] = lab.received()
    assert phone["steps"][0]["delivery"] == push.apns_id
    assert tablet["outcome"] == "not sent: the device's filters switch replies off"

    # The same in other spellings, for people, and when the router is stopped.
    note = sdk.EventId.parse(reply["id"]).to_bech32()
    router.stop()
    for name in [note, f"nostr:{note}", nevent(reply)]:
        run = explain(router, name, "--recipient", account["npub"])
        assert run.returncode == 0, run.stderr
        assert phone["outcome"] in run.stdout and tablet["outcome"] in run.stdout
        assert note in run.stdout and account["npub"] in run.stdout
        assert bob.hex not in run.stdout and "well said" not in run.stdout


def test_a_push_services_response_is_shown(router, lab, socket, alice, bob):
    token = device_token()
    socket.publish(alice.registration(router, ios(token)))
    lab.declare(token, "unregistered", since=int(time.time() * 1000) + 60_000)
    note = bob.note("hello", alice)
    socket.publish(note)
    [device] = explained(router, note["id"], has_ended)["accounts"][0]["devices"]
    assert device["steps"][-1]["status"] == 410
    assert device["outcome"].startswith("not delivered: ios/default says the device is gone (410 ")
    assert not device["is_registered"]
    shown = carillon("devices", "show", device["device"], "--config", router.configuration_file)
    assert shown.returncode == 1
    assert f"there is no device {device['device']} now; the last error of a push to it was gone (410" in shown.stderr


def test_a_result_common_to_all_recipients_is_explained(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    own = alice.note("note to myself", alice)
    expired = bob.note("too late", alice, tags=[["expiration", "1700000000"]])
    socket.publish(own, expired)
    result = explained(router, own["id"], lambda result: result["accounts"])
    assert result["accounts"][0]["outcome"] == "not sent: the recipient caused it"
    result = explained(router, expired["id"], lambda result: result["steps"])
    assert [step["step"] for step in result["steps"]] == ["expired"]
    run = explain(router, expired["id"], "--recipient", alice.hex)
    assert run.returncode == 0 and "not sent: it had expired" in run.stdout
    assert "apply to all recipients" in run.stdout and "p tag" not in run.stdout
    assert lab.received() == []


def test_an_unknown_event_gets_advice(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    stranger = Person()
    unheard, elsewhere = bob.note("never sent", alice), bob.note("concerns nobody", stranger)
    mention = bob.note("for alice", alice)
    socket.publish(elsewhere, mention)
    lab.accepted(1)
    explained(router, mention["id"], has_ended)

    run = explain(router, unheard["id"])
    assert run.returncode == 3
    for words in ["There is no record", "it never came", "no recipient is registered here", "the trace goes back to 20"]:
        assert words in run.stdout
    run = explain(router, elsewhere["id"], "--recipient", stranger.hex)
    assert run.returncode == 3 and "the recipient has no device registered now" in run.stdout
    run = explain(router, unheard["id"], "--recipient", alice.hex)
    assert run.returncode == 3 and "1 of their devices are registered here" in run.stdout
    for words in ["no rule matches its kind", "it came before the recipient's first device was registered, at 20"]:
        assert words in run.stdout
    run = explain(router, mention["id"], "--recipient", stranger.hex)
    assert run.returncode == 3 and "there is no record for them" in run.stdout

    # As clients, browsers and QR codes spell events.
    note = sdk.EventId.parse(mention["id"]).to_bech32()
    for link in [f"nostr:{note}", f"web+nostr:{note}", f"https://njump.me/{note}", f"NOSTR:{note.upper()}", mention["id"]]:
        assert json.loads(explain(router, link, "--json").stdout)["event"] == mention["id"]

    for wrong in ["note1wrong", "hello", sdk.PublicKey.parse(alice.hex).to_bech32()]:
        run = explain(router, wrong)
        assert run.returncode == 64 and "expected an event's id" in run.stderr


def test_a_disabled_trace_is_reported(stopped_router, lab, alice, bob):
    router = stopped_router
    missing = explain(router, "ab" * 32)
    assert missing.returncode == 3 and "there is no router yet" in missing.stderr
    router.configuration["trace"] = "off"
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        note = bob.note("hello", alice)
        socket.publish(note)
        lab.accepted(1)
    run = explain(router, note["id"])
    assert run.returncode == 3
    assert "the configuration switches it off" in run.stdout and "It was accepted here" in run.stdout
    assert router.stop() == 0
    assert not list(router.folder.glob("carillon.sqlite-trace*"))


def test_neither_content_nor_tokens_nor_authors_are_in_its_file(router, lab, socket, alice, bob):
    token = device_token()
    socket.publish(alice.registration(router, ios(token, mode="alert"), device="phone"))
    socket.publish(bob.event(0, '{"name":"bob-the-builder"}'))
    note = alice.note("the-root-of-it-all")
    events = [bob.reply("the-cat-is-in-the-bag", note), bob.message("hello-in-secret", alice), bob.reaction("🔥", note)]
    refused = alice.registration(router, ios("no-token-at-all"), device="toaster")
    socket.publish(*events)
    with Socket(router) as other:
        other.send(["EVENT", refused])
        assert other.receive()[2] is False
    lab.accepted(1)
    explained(router, refused["id"], lambda result: result["is_known"])
    explained(router, events[0]["id"], has_ended)
    router.stop()
    files = list(router.folder.glob("carillon.sqlite-trace*"))
    assert files
    kept = b"\0".join(file.read_bytes() for file in files)
    assert bytes.fromhex(events[0]["id"]) in kept and bytes.fromhex(alice.hex) in kept
    secrets = [token, "no-token-at-all", bob.hex, "bob-the-builder", "the-cat-is-in-the-bag", "hello-in-secret"]
    for secret in secrets:
        assert secret.encode() not in kept.lower()
    for secret in [token, bob.hex, *(event["sig"] for event in events)]:
        assert bytes.fromhex(secret) not in kept
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600


def test_held_events_are_shown_with_their_time(router, lab, socket, alice, bob):
    there = datetime.now(timezone(timedelta(hours=9)))
    start, end = ((there + timedelta(hours=hours)).strftime("%H:%M") for hours in [-1, 6])
    quiet = {"start": start, "end": end, "tz": "UTC+9"}
    socket.publish(alice.registration(router, ios(device_token(), quiet=quiet), device="phone"))
    first, second = bob.note("one", alice), bob.note("two", alice)
    socket.publish(first, second)
    result = explained(router, second["id"], lambda result: result["accounts"])
    [device] = result["accounts"][0]["devices"]
    assert device["steps"][-1]["step"] == "batched"
    assert device["outcome"].startswith(f"held: quiet hours until {end} (UTC+9); goes at ")
    assert device["outcome"].endswith("; 2 events wait")
    listed = json.loads(carillon("devices", "list", "--json", "--config", router.configuration_file).stdout)
    pace = listed["devices"][0]["pace"]
    assert (pace["held"], pace["reason"]) == (2, f"quiet hours until {end} (UTC+9)")
    # Nothing limits them, so nobody counts.
    assert "pushes_today" not in pace
    assert lab.received() == []


def outcome(router, event: dict) -> str:
    devices = [device for account in explanation(router, event["id"])["accounts"] for device in account["devices"]]
    return devices[0]["outcome"] if devices else ""


def test_each_event_of_a_batch_is_explained_with_its_result(stopped_router, lab, alice, bob):
    router = stopped_router
    router.configuration["defaults"] = {"cooldown_seconds": 8, "window_seconds": 0, "daily_cap": 100}
    router.start()
    notes, messages = [bob.note(text, alice) for text in "ab"], [bob.message(text, alice) for text in "abc"]
    events = [*notes, *messages]
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token()), device="phone"), bob.note("first", alice))
        lab.accepted(1)
        router.wait_for_deliveries(1)
        socket.publish(*events)
        for event in events:
            wait_until(lambda event=event: outcome(router, event).startswith("held: "), "it is said that it is held")
        lab.accepted(2)
        router.wait_for_deliveries(2)
        # From now on there is time enough to ask.
        patient = ios(device_token(), batch={"cooldown_seconds": 3600})
        later = bob.note("later", alice)
        socket.publish(alice.registration(router, patient, device="phone"), later)
        wait_until(lambda: outcome(router, later).startswith("held: "), "it is said that it is held")
        for event in events:
            assert outcome(router, event) == "delivered: ios/default took it (200)"
        # Its phone goes, and with it what is held for it.
        socket.publish(alice.registration(router, None, device="phone"))
        left = "not sent: the device was removed while it was held"
        wait_until(lambda: outcome(router, later) == left, "it is said that it goes nowhere")
        # That the phone is gone says as much before the trace does.
        result = explained(router, later["id"], lambda result: steps(result) == ["held", "left"])
        assert not result["accounts"][0]["devices"][0]["is_registered"]
    assert len(lab.received()) == 2


def test_queued_pushes_are_known_without_a_trace(stopped_router, lab, alice, bob):
    router = stopped_router
    router.configuration["trace"] = "off"
    router.configuration["defaults"] = {"cooldown_seconds": 3600, "window_seconds": 0, "daily_cap": 100}
    router.start()
    sent, held, second = (bob.note(text, alice) for text in ["sent", "held", "held too"])
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), sent)
        lab.accepted(1)
        router.wait_for_deliveries(1)
        socket.publish(held, second)
    run = explain(router, held["id"])
    assert run.returncode == 3 and "trace: off" in run.stdout
    assert "for device 1, held: the device was notified a moment ago; goes at 20" in run.stdout
    assert "2 events wait" in run.stdout
    for event in [sent, second]:
        run = explain(router, event["id"])
        assert run.returncode == 3 and "It was accepted here recently" in run.stdout
        for words in ["never came", "no recipient is registered here", "no rule", "yet"]:
            assert words not in run.stdout
    shown = carillon("devices", "show", "1", "--config", router.configuration_file).stdout
    assert "not written down (trace: off)" in shown


def test_a_push_without_a_recorded_result_is_explained(router, lab, socket, alice, bob):
    note = bob.note("hello", alice)
    socket.publish(alice.registration(router, ios(device_token())), note)
    lab.accepted(1)
    explained(router, note["id"], has_ended)
    assert router.stop() == 0
    # As if the router had been killed before that was written down.
    trace = sqlite3.connect(router.folder / "carillon.sqlite-trace")
    with trace:
        # It is the last entry of its row.
        changed = trace.execute("UPDATE entries_1 SET count = count - 1 WHERE instr(entries, CAST('delivered' AS BLOB))")
        assert changed.rowcount == 1
    trace.close()
    assert outcome(router, note).startswith("its end is not known: ")


def test_a_paused_queue_is_explained(stopped_router, lab, alice, bob):
    router = stopped_router
    app = router.configuration["apps"]["default"]
    app["ios"] = app["ios"] | {"key_id": "WRONGKEYID"}
    router.start()
    carol = Person()
    first, second = bob.note("for alice", alice), bob.note("for carol", carol)
    with Socket(router) as socket:
        socket.publish(*(person.registration(router, ios(device_token())) for person in [alice, carol]), first)
        wait_until(lambda: "refuses the router's credentials" in outcome(router, first), "it is said what is wrong")
        socket.publish(second)
        wait_until(lambda: outcome(router, second), "the second one is told of")
    told = outcome(router, second)
    assert told.startswith("waits for its turn: no attempt has ended yet; ios/default is paused since "), told
    assert "refuses the router's credentials" in told and "it is tried again from " in told
    listed = json.loads(carillon("devices", "list", "--json", "--config", router.configuration_file).stdout)
    for device in listed["devices"]:
        assert "refuses the router's credentials" in device["queue_pause"]
    assert "paused" in carillon("devices", "list", "--config", router.configuration_file).stdout
