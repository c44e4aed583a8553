"""`carillon queue`: what waits and what failed, sending it again, and dropping it."""

import json

from nostr import Socket, device_token, ios
from programs import carillon, wait_until


def queue(router, command: str, *options: str, **more):
    return carillon("queue", command, *options, "--config", router.configuration_file, **more)


def answer(router, command: str, *options: str) -> dict:
    run = queue(router, command, *options, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def stats(router, *options: str):
    return carillon("stats", *options, "--config", router.configuration_file)


def counted(router) -> dict:
    [today] = json.loads(stats(router, "--json", "--days", "1").stdout)["rows"]
    return {name: today[name] for name in ["devices", "matched", "delivered", "failed", "expired"]}


def failed(router) -> list[dict]:
    return answer(router, "list", "--failed")["deliveries"]


def explained(router, event: dict, words: str) -> str:
    def told():
        run = carillon("explain", event["id"], "--config", router.configuration_file)
        return run.stdout if words in run.stdout else None

    return wait_until(told, f"the trace tells: {words}", router.process)


def test_a_failed_push_is_kept_and_requeued_once(router, lab, alice, bob):
    phone, tablet = device_token(), device_token()
    lab.misbehave("answer", status=400, reason="PayloadEmpty", times=0)
    first = bob.message("a word nobody else may read", alice)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(phone)), alice.registration(router, ios(tablet), "tablet"), first)
    refused = lab.attempts(2)
    wait_until(lambda: len(failed(router)) == 2, "both are dead letters", router.process)
    letters = failed(router)
    assert {letter["id"] for letter in letters} == {request.apns_id for request in refused}
    for letter in letters:
        assert (letter["state"], letter["platform"], letter["app"]) == ("failed", "ios", "default")
        assert (letter["outcome"], letter["status"], letter["reason"]) == ("rejected", 400, "payload-empty")
        assert (letter["attempts"], letter.get("event"), letter["mode"]) == (1, None, "wake")
    shown = queue(router, "show", letters[0]["id"]).stdout
    assert "rejected (400 payload-empty)" in shown and "npub1" in shown
    assert "not shown: wake is a mode that names none" in shown
    listed = queue(router, "list").stdout
    for secret in [phone, tablet, "nobody else may read", first["id"]]:
        assert secret not in shown + listed
    status = carillon("status", "--config", router.configuration_file)
    assert status.returncode == 0 and "failed    2 permanently; carillon queue list --failed" in status.stdout

    # They outlive the router, and can be seen without one.
    router.kill()
    assert failed(router) == letters
    assert queue(router, "show", letters[0]["id"]).stdout == shown
    alone = queue(router, "retry", "--failed")
    assert alone.returncode == 3 and "only a running router can send pushes again" in alone.stderr
    router.start()
    assert failed(router) == letters

    lab.behave()
    lab.forget()
    trial = answer(router, "retry", "--since", "2h", "--reason", "rejected", "--dry-run")
    assert (trial["dry_run"], trial["retried"]) == (True, 2) and failed(router) == letters
    assert answer(router, "retry", "--since", "2h", "--reason", "misconfigured")["retried"] == 0
    assert answer(router, "retry", "--since", "2h", "--reason", "rejected")["retried"] == 2
    again = lab.accepted(2)
    assert {request.apns_id for request in again} == {letter["id"] for letter in letters}
    router.wait_until_nothing_waits()
    assert failed(router) == [] and answer(router, "retry", "--failed")["retried"] == 0
    story = explained(router, first, "→ delivered")
    assert "rejects it permanently (400 payload-empty)" in story and "an operator had it tried again" in story
    router.restart()
    assert len(lab.received()) == 2


def test_a_failed_push_of_a_deleted_event_is_not_sent_again(router, lab, alice, bob):
    lab.misbehave("answer", status=400, reason="PayloadEmpty", times=0)
    deleted, kept = bob.note("a slip of the pen", alice), bob.note("on purpose", alice)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")), deleted, kept)
        wait_until(lambda: len(failed(router)) == 2, "both are dead letters", router.process)
        socket.publish(bob.event(5, "", [("e", deleted["id"]), ("k", "1")]))
    lab.behave()
    lab.forget()
    wait_until(lambda: [letter["event"] for letter in failed(router)] == [kept["id"]], "one is offered", router.process)
    for options in [("--dry-run",), ()]:
        retried = answer(router, "retry", "--all", *options)
        assert retried["retried"] == 1 and retried["skipped"] == [{"why": "deleted", "count": 1}]
    [pushed] = lab.accepted(1)
    assert pushed.payload["event_id"] == kept["id"]
    assert "1 left out: their authors deleted the events" in queue(router, "retry", "--failed").stdout


def test_a_push_waiting_for_credentials_continues_on_command(router, lab, alice, bob):
    lab.misbehave("answer", status=403, reason="InvalidProviderToken", times=0)
    message = bob.message("one", alice)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")), message)
    refused = lab.attempts(1)
    router.wait_for_log("queue paused")

    def seen():
        waiting = answer(router, "list", "--waiting", "--reason", "misconfigured")["deliveries"]
        return waiting if waiting else None

    [waiting] = wait_until(seen, "its failure is on disk", router.process)
    assert (waiting["state"], waiting["reason"]) == ("waiting", "invalid-provider-token") and waiting["mode"] == "alert"
    # This mode shows which event it came of, so the list does, too.
    assert waiting["event"] == message["id"]
    lab.behave()
    lab.forget()
    paused = answer(router, "retry", "--reason", "misconfigured")
    assert paused["retried"] == 0 and paused["paused"] == ["ios/default is paused (invalid-provider-token)"]
    assert lab.received() == []
    assert answer(router, "retry", "--reason", "misconfigured", "--unpause")["unpaused"] == ["ios/default"]
    [pushed] = lab.accepted(1)
    assert pushed.apns_id == refused[0].apns_id
    router.wait_until_nothing_waits()
    assert len(lab.received()) == 1


def test_an_unwanted_push_is_dropped(router, lab, alice, bob):
    lab.misbehave("answer", status=400, reason="PayloadEmpty", times=1)
    lost = bob.message("one", alice)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), locale="de-AT")), lost)
    wait_until(lambda: len(failed(router)) == 1, "it failed", router.process)
    lab.misbehave("answer", status=503, times=0)
    waiting = bob.message("two", alice)
    with Socket(router) as socket:
        socket.publish(waiting)
    lab.attempts(2)
    router.wait_for_log("outcome=retry")
    assert queue(router, "drop").returncode == 64
    unsure = queue(router, "drop", "--all", stdin="n\n")
    assert unsure.returncode == 1 and "1 that wait and 1 that failed" in unsure.stderr
    assert "nothing was dropped" in unsure.stderr
    assert len(answer(router, "list")["deliveries"]) == 2

    # An attempt may be under way.
    wait_until(
        lambda: answer(router, "drop", "--waiting", "--platform", "ios", "--yes")["waiting"] == 1,
        "what waits is dropped",
        router.process,
    )
    assert router.waiting == 0
    explained(router, waiting, "→ not delivered: an operator dropped it")

    router.stop()
    # What was counted outlives the router as well.
    assert counted(router) == {"devices": 1, "matched": 2, "delivered": 0, "failed": 1, "expired": 0}
    dropped = answer(router, "drop", "--failed", "--yes")
    assert (dropped["failed"], dropped["waiting"]) == (1, 0)
    assert queue(router, "list").stdout == "no such deliveries\n"
    assert "an operator dropped it" in carillon("explain", lost["id"], "--config", router.configuration_file).stdout

    # What fails for a device goes with it.
    lab.behave()
    lab.misbehave("answer", status=400, reason="PayloadEmpty", times=0)
    router.start()
    with Socket(router) as socket:
        socket.publish(bob.message("three", alice))
    wait_until(lambda: len(failed(router)) == 1, "it failed", router.process)
    router.stop()
    assert carillon("devices", "remove", "1", "--config", router.configuration_file).returncode == 0
    assert failed(router) == []
    router.start()
    assert answer(router, "retry", "--failed")["retried"] == 0
    assert counted(router) == {"devices": 0, "matched": 3, "delivered": 0, "failed": 2, "expired": 0}
    rows = [line.split() for line in stats(router, "--by", "platform").stdout.splitlines()]
    assert ["ios", "-", "0", "0", "0", "2", "0"] in rows
    rows = [line.split() for line in stats(router, "--by", "language").stdout.splitlines()]
    assert ["de", "-", "0", "0", "0", "2", "0"] in rows
    assert stats(router, "--csv", "--days", "1").stdout.splitlines()[1].endswith(",,0,3,0,0,2,0")
