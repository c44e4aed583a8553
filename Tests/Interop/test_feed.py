"""`carillon serve --feed`: events as lines of JSON from standard input, a file or a FIFO."""

import json
import os
import subprocess

import pytest

from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until
from test_strfry_hook import Hook


def line(message) -> str:
    return json.dumps(message, ensure_ascii=False) + "\n"


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "feed"
    os.mkfifo(path, 0o600)
    return path


@pytest.fixture
def registered(stopped_router, alice):
    """Registers Alice's phone on a router that runs, with all texts."""

    def register():
        with Socket(stopped_router) as socket:
            socket.publish(alice.registration(stopped_router, ios(device_token(), mode="alert")))

    return register


def bodies(pushes) -> list[str]:
    return sorted(push.payload["aps"]["alert"]["body"] for push in pushes)


def test_a_fifo_is_read_in_every_form_and_writers_come_and_go(stopped_router, lab, registered, fifo, alice, bob):
    router = stopped_router.start(feed=fifo)
    registered()
    notes = [bob.note(f"note {number}", alice) for number in range(4)]
    lines = [
        line(notes[0]),
        line(["EVENT", notes[1]]),
        line(["EVENT", "sub", notes[2]]) + line(["EOSE", "sub"]),
        line({"type": "new", "event": notes[3], "sourceType": "IP4", "sourceInfo": "192.0.2.1"}),
    ]
    for text in lines:
        with fifo.open("w") as writer:
            writer.write(text)
    assert bodies(lab.accepted(4)) == [f"note {number}" for number in range(4)]
    # What comes again wakes nobody again, neither here nor over the socket.
    with fifo.open("w") as writer:
        writer.writelines(lines)
    with Socket(router) as socket:
        socket.publish(*notes)
    assert router.stop() == 0
    assert len(lab.received()) == 4
    assert "192.0.2.1" not in router.log_text


def test_an_invalid_or_forged_line_is_reported_and_sends_no_push(
    stopped_router, lab, registered, fifo, alice, bob
):
    router = stopped_router.start(feed=fifo)
    registered()
    forged = bob.note("forged", alice) | {"content": "forged in transit"}
    huge = bob.note("x" * (1 << 20), alice)
    with fifo.open("w") as writer:
        writer.write(line(forged) + "nonsense\n" + line(huge) + line(bob.note("genuine", alice)))
    assert bodies(lab.accepted(1)) == ["genuine"]
    assert router.stop() == 0
    assert len(lab.received()) == 1
    assert "line=1" in router.log_text or "line=2" in router.log_text
    assert "refused=3" in router.log_text
    for secret in ["nonsense", "forged in transit", "xxxx"]:
        assert secret not in router.log_text


def test_a_file_is_read_to_its_end_and_with_feed_exit_the_router_ends_with_it(
    stopped_router, lab, registered, tmp_path, alice, bob
):
    router = stopped_router.start()
    registered()
    router.stop()
    # Many that concern nobody, and the last one without an end.
    others = "".join(line(bob.note(f"aside {number}")) for number in range(500))
    file = tmp_path / "events.jsonl"
    file.write_text(others + line(bob.note("one", alice)) + others + line(bob.note("two", alice)).rstrip())
    router.start(file, "--feed-exit")
    assert router.process.wait(timeout=60) == 0
    assert "The feed has ended" in router.log_text and "lines=1002" in router.log_text
    # They are kept, at least; what did not go out goes out at the next start.
    router.start()
    assert bodies(lab.accepted(2)) == ["one", "two"]
    router.stop()


def test_the_router_continues_after_standard_input_ends(stopped_router, lab, registered, alice, bob):
    router = stopped_router.start("-", stdin=subprocess.PIPE)
    registered()
    router.process.stdin.write(line(bob.note("by standard input", alice)).encode())
    router.process.stdin.close()
    router.wait_for_log("Continuing without the feed")
    with Socket(router) as socket:
        socket.publish(bob.note("by the socket", alice))
    assert bodies(lab.accepted(2)) == ["by standard input", "by the socket"]


@pytest.fixture
def spool(tmp_path):
    path = tmp_path / "spool"
    path.mkdir()
    return path


@pytest.fixture
def hook(spool):
    hook = Hook(spool)
    yield hook
    hook.process.kill()
    hook.process.communicate()


def publish(hook, *events):
    """Has the relay take events."""
    for event in events:
        hook.send(json.dumps({"type": "new", "event": event, "sourceType": "IP6"}).encode())
        assert hook.answer()["action"] == "accept"


def is_empty(spool) -> bool:
    return not list(spool.iterdir())


def test_strfrys_hook_feeds_the_router_across_a_restart(stopped_router, lab, registered, spool, hook, alice, bob):
    router = stopped_router.start(feed=spool)
    registered()
    publish(hook, bob.note("before", alice))
    assert bodies(lab.accepted(1)) == ["before"]
    wait_until(lambda: is_empty(spool), "the router deletes what it has kept")
    router.stop()
    publish(hook, bob.note("while it is away", alice))
    router.start(feed=spool)
    publish(hook, bob.note("after", alice), bob.note("concerns nobody"))
    assert bodies(lab.accepted(3)) == ["after", "before", "while it is away"]
    wait_until(lambda: is_empty(spool), "the router deletes what it has kept")
    assert hook.end() == (0, "")


@pytest.mark.parametrize("killed_after", [40, 120, 200, 280, 360])
def test_events_strfrys_hook_accepted_survive_a_killed_router(
    stopped_router, lab, registered, spool, hook, alice, bob, killed_after
):
    router = stopped_router.start(feed=spool)
    registered()
    notes = [bob.note(f"note {number}", alice) for number in range(400)]
    for event in notes:
        hook.send(json.dumps({"type": "new", "event": event, "sourceType": "IP6"}).encode())
    for number in range(400):
        assert hook.answer()["action"] == "accept"
        if number == killed_after:
            router.kill()
    router.start(feed=spool)
    wanted = {f"note {number}" for number in range(400)}
    wait_until(lambda: wanted <= set(bodies(lab.received())), "all 400 notes are pushed")
    wait_until(lambda: is_empty(spool), "the router deletes what it has kept")
    # Only what was in flight goes out again.
    assert len(lab.received()) < 500


def test_an_incomplete_line_of_a_killed_hook_delays_no_other_file(
    stopped_router, lab, registered, spool, alice, bob
):
    (spool / "9").write_text(line(bob.note("first", alice)) + '{"content":"half')
    # Numbers, not texts, order the files.
    (spool / "10").write_text(line(bob.note("second", alice)))
    router = stopped_router.start()
    registered()
    router.stop()
    router.start(feed=spool)
    assert bodies(lab.accepted(2)) == ["first", "second"]
    wait_until(lambda: is_empty(spool), "the router deletes what it has kept")
    assert "Skipped an invalid line of the feed" in router.log_text


@pytest.mark.parametrize(
    "options, words",
    [
        (["--feed", "missing"], ["missing does not exist", "mkfifo"]),
        (["--feed", "/proc/self"], ["cannot read and delete files in the directory /proc/self"]),
        (["--feed-exit"], ["--feed"]),
    ],
)
def test_an_impossible_feed_is_explained(stopped_router, options, words):
    router = stopped_router
    run = carillon("serve", "--config", router.configuration_file, *options, cwd=router.folder)
    assert run.returncode != 0
    assert all(word in run.stderr for word in words), run.stderr


def test_help_shows_how_feeds_are_used():
    run = carillon("serve", "--help")
    assert run.returncode == 0
    for word in ["--feed -", "--feed-exit", "mkfifo", "contrib/strfry"]:
        assert word in run.stdout


def test_a_registration_over_the_feed_gets_the_events_behind_it(stopped_router, lab, fifo, alice, bob):
    """The feed passes over what concerns nobody, but not what names somebody whose registration stands in the line before."""
    router = stopped_router.start(feed=fifo)
    carol = Person()
    nobodys = [bob.note(f"nobody's {number}", carol) for number in range(200)]
    registration = alice.registration(router, ios(device_token(), mode="alert"))
    notes = [bob.note(f"note {number}", alice, carol) for number in range(3)]
    with fifo.open("w") as writer:
        writer.writelines(map(line, nobodys))
        writer.writelines(map(line, [registration, *notes, *nobodys]))
    assert bodies(lab.accepted(3)) == [f"note {number}" for number in range(3)]
    assert router.stop() == 0
