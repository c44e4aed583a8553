"""What other rules would have made of the last events: over the API and by `carillon rules diff`."""

import json

import pytest

from console import Console
from nostr import Socket, device_token, ios
from programs import carillon, wait_until

RULES = """
version: 1
rules:
  - name: dm
    match: { kinds: [4, 1059] }
    signal: dm
    title: "New message"
  - name: mention
    match: { kinds: [1] }
    signal: mention
    title: { default: "{{author.name}} wrote", de: "{{author.name}} schrieb" }
    body: "{{event.content}}"
  - name: like
    match: { kinds: [7] }
    signal: reaction
    title: "A reaction"
"""


@pytest.fixture
def console(stopped_router):
    stopped_router.configuration["trace"] = {"keep_events_hours": 24}
    stopped_router.configuration["rules"] = "rules.yaml"
    (stopped_router.folder / "rules.yaml").write_text(RULES)
    return Console(stopped_router)


def diff(console: Console, status: int = 200, **body) -> dict:
    got, answer = console.json("/v1/rules/diff", "POST", body=body)
    assert got == status, answer
    return answer


def command(console: Console, *arguments):
    return carillon("rules", "diff", *arguments, "--config", console.router.folder / "carillon.yaml")


def fill(console: Console, lab, alice, bob) -> dict[str, dict]:
    note = alice.note("first")
    events = {
        "note": bob.note("the-cat-is-in-the-bag", alice),
        "like": bob.reaction("+", note),
        "message": bob.message("hello-in-secret", alice),
    }
    with Socket(console.router) as socket:
        socket.publish(alice.registration(console.router, ios(device_token(), mode="alert", locale="de-DE"), device="phone"))
        socket.publish(alice.registration(console.router, ios(device_token()), device="tablet"))
        socket.publish(*events.values())
        lab.accepted(6)
    return events


def test_events_with_a_different_result_are_named(console, lab, alice, bob):
    router = console.start().router
    events = fill(console, lab, alice, bob)
    same = diff(console)
    assert (same["events"], same["differing"], same["list"], same["new_kinds"]) == (3, 0, [], [])
    assert diff(console, rules=RULES + "# a remark, which moves nothing\n")["differing"] == 0

    quiet = RULES.replace('    signal: reaction\n    title: "A reaction"', "    drop: true")
    dropped = diff(console, rules=quiet)
    assert (dropped["events"], dropped["differing"], dropped["differences"]) == (3, 1, 2)
    for each in dropped["list"]:
        assert each["event"] == events["like"]["id"] and each["account"] == alice.hex
        assert (each["before"]["result"], each["before"]["rule"], each["before"]["signal"]) == ("push", "like", "reaction")
        assert each["after"] == {"result": "dropped", "rule": "like"}
        assert each["changes"] == ["result"]
    # A text that only the phone sees, as the other device is only woken.
    worded = diff(console, rules=RULES.replace("schrieb", "sagt"), file=str(router.folder / "rules.yaml"))
    [only] = worded["list"]
    assert (only["event"], only["language"], only["changes"]) == (events["note"]["id"], "de-DE", ["title"])
    assert only["before"] == only["after"] == {
        "result": "push", "rule": "mention", "signal": "mention", "mode": "alert", "urgency": "normal"
    }
    urgent = diff(console, rules=RULES.replace("signal: dm\n", "signal: dm\n    urgency: low\n"))
    assert {(each["event"], *each["changes"]) for each in urgent["list"]} == {(events["message"]["id"], "urgency")}
    other = diff(console, rules=RULES + "  - { name: poll, match: { kinds: [1068] }, signal: mention, title: Poll }\n")
    assert (other["differing"], other["new_kinds"]) == (0, [1068])
    whole = json.dumps([dropped, worded, urgent])
    assert "cat" not in whole and "secret" not in whole

    assert diff(console, 422, rules="version: 1\nruels: []\n")["mistakes"]
    assert "file" in diff(console, 400, rules=RULES, file="/etc/passwd")["detail"]
    assert "rules as well" in diff(console, 400, file=str(router.folder / "rules.yaml"))["detail"]
    diff(console, 400, hours=0)
    diff(console, 400, rules=7)

    # What its author takes back is gone, and so is nothing else; the rest outlives a restart.
    with Socket(router) as socket:
        socket.publish(bob.event(5, "", [["e", events["like"]["id"]]]))
    wait_until(lambda: diff(console)["events"] == 2, "the reaction is forgotten")
    router.stop()
    files = b"\0".join(file.read_bytes() for file in router.folder.glob("carillon.sqlite-events*"))
    assert b"the-cat-is-in-the-bag" in files and b"hello-in-secret" not in files
    assert json.loads(json.dumps(events["message"]))["content"].encode() not in files
    assert (router.folder / "carillon.sqlite-events").stat().st_mode & 0o777 == 0o600
    console.start()
    assert diff(console, rules=RULES.replace("schrieb", "sagt"))["differing"] == 1


def test_commands_compare_files_with_the_active_rules(console, lab, alice, bob):
    router = console.start().router
    events = fill(console, lab, alice, bob)
    run = command(console)
    assert run.returncode == 0 and run.stdout == "3 events of the last 24 h, 0 would become something else\n"
    quiet = RULES.replace('    signal: reaction\n    title: "A reaction"', "    drop: true")
    new = router.folder / "new.yaml"
    new.write_text(quiet)
    run = command(console, new)
    assert run.returncode == 0, run.stderr
    assert "3 events of the last 24 h, 1 would become something else" in run.stdout
    for words in [events["like"]["id"], "before: push by 'like', reaction, wake", "after:  nothing: 'like' drops it"]:
        assert words in run.stdout
    run = command(console, new, "--in-place-of", router.folder / "rules.yaml", "--json", "--hours", "1")
    assert json.loads(run.stdout)["differing"] == 1
    # Written, and not reloaded yet: what a reload would change.
    (router.folder / "rules.yaml").write_text(quiet)
    assert json.loads(command(console, "--json").stdout)["differing"] == 1
    assert carillon("reload", "--config", router.folder / "carillon.yaml").returncode == 0
    assert json.loads(command(console, "--json").stdout)["differing"] == 0

    new.write_text("version: 1\nruels: []\n")
    run = command(console, new)
    assert run.returncode == 1 and "the rules have errors" in run.stderr and "ruels" in run.stderr
    run = command(console, "--in-place-of", new)
    assert run.returncode == 64 and "a rules file as an argument" in run.stderr
    router.stop()
    run = command(console)
    assert run.returncode == 3 and "only a running router can compare rules" in run.stderr


def test_events_are_not_kept_by_default(console, lab, alice, bob):
    router = console.start().router
    fill(console, lab, alice, bob)
    assert diff(console)["events"] == 3
    router.stop()
    del router.configuration["trace"]
    console.start()
    assert "keep_events_hours" in diff(console, 409)["detail"]
    assert not list(router.folder.glob("carillon.sqlite-events*"))
    with Socket(router) as socket:
        socket.publish(bob.note("again", alice))
        lab.accepted(8)
    router.stop()
    assert not list(router.folder.glob("carillon.sqlite-events*"))
