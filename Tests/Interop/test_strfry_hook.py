"""contrib/strfry/carillon-feed, spoken to as strfry speaks to its plugins and read from as the router reads it."""

import json
import os
import select
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parents[2] / "contrib/strfry/carillon-feed"
PATIENCE = 30.0


def request(number, size=0, **more):
    """What strfry says of an event."""
    event = {
        "content": f"Grüße \u2028 {number} " + "x" * size,
        "created_at": 1,
        "id": f"{number:064x}",
        "kind": 1,
        "pubkey": "ab" * 32,
        "sig": "cd" * 64,
        "tags": [["p", "ef" * 32]],
    }
    return {"event": event, "receivedAt": 1, "sourceInfo": "192.0.2.1", "sourceType": "IP4", "type": "new", **more}


class Hook:
    """The hook as strfry runs it: one line to it, one line back."""

    def __init__(self, fifo, *policy, **environment):
        command = [sys.executable, HOOK, fifo] + (["--", *policy] if policy else [])
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def send(self, line: bytes):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict:
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready, "the hook does not answer"
        return json.loads(self.process.stdout.readline())

    def ask(self, number, size=0, **more) -> dict:
        """Shows the hook an event."""
        message = request(number, size, **more)
        self.send(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())
        answer = self.answer()
        assert answer["id"] == message["event"]["id"]
        return answer

    def end(self):
        """As strfry ends it. Returns its status and its log."""
        _, log = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, log.decode()


class Reader:
    """The router's end: holds the FIFO open on both sides, as the router does."""

    def __init__(self, fifo):
        self.descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        self.rest = b""
        self.lines: list[bytes] = []

    def read_once(self):
        ready, _, _ = select.select([self.descriptor], [], [], PATIENCE)
        assert ready, f"nothing comes after {len(self.lines)} lines"
        *lines, self.rest = (self.rest + os.read(self.descriptor, 65536)).split(b"\n")
        self.lines += [line for line in lines if line]

    def events(self, count) -> list[dict]:
        """The next events."""
        while len(self.lines) < count:
            self.read_once()
        taken, self.lines = self.lines[:count], self.lines[count:]
        return [json.loads(line) for line in taken]

    def leave(self):
        os.close(self.descriptor)


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "feed"
    os.mkfifo(path, 0o600)
    return path


@pytest.fixture
def hooks():
    hooks = []
    yield hooks
    for hook in hooks:
        hook.process.kill()
        hook.process.communicate()


@pytest.fixture
def start(fifo, hooks):
    def start(*policy, **environment):
        hooks.append(Hook(fifo, *policy, **environment))
        return hooks[-1]

    return start


def test_every_event_is_accepted_and_handed_on_as_it_is(fifo, start):
    reader = Reader(fifo)
    hook = start()
    for number in range(100):
        assert hook.ask(number) == {"id": f"{number:064x}", "action": "accept"}
    assert reader.events(100) == [request(number)["event"] for number in range(100)]
    assert hook.end() == (0, "")
    # Who wrote it, and from where, is the relay's business.
    assert b"192.0.2.1" not in reader.rest


def test_the_relay_is_answered_while_nobody_reads_and_the_router_gets_all_when_it_comes(fifo, start):
    hook = start()
    for number in range(300):
        hook.ask(number, size=1000)
    reader = Reader(fifo)
    assert [event["id"] for event in reader.events(300)] == [f"{number:064x}" for number in range(300)]
    status, log = hook.end()
    assert status == 0 and "nobody reads" in log and len(log.splitlines()) == 1


def test_memory_is_bounded_and_the_oldest_go_first(fifo, start):
    hook = start(CARILLON_FEED_BYTES=str(100_000))
    for number in range(1000):
        hook.ask(number, size=1000)
    reader = Reader(fifo)
    numbers = [int(event["id"], 16) for event in reader.events(70)]
    # The first one was in hand already when there was nobody to give it to.
    assert numbers[0] == 0
    assert numbers[1:] == list(range(numbers[1], numbers[1] + 69)) and 900 < numbers[1]
    hook.ask(1000)
    status, log = hook.end()
    assert status == 0 and "the router does not keep up" in log


def test_a_slow_router_holds_up_nobody(fifo, start):
    reader = Reader(fifo)
    hook = start()
    # Several times what a FIFO holds.
    for number in range(500):
        hook.ask(number, size=2000)
    assert [int(event["id"], 16) for event in reader.events(500)] == list(range(500))


@pytest.mark.parametrize("size", [10, 200_000])
def test_a_router_that_dies_and_comes_again_misses_nothing_that_it_had_not_read(fifo, start, size):
    first = Reader(fifo)
    hook = start()
    hook.ask(0, size)
    assert first.events(1)[0]["id"] == f"{0:064x}"
    hook.ask(1, size)
    # Of a large one this is half a line, which is lost with the reader.
    first.read_once()
    first.leave()
    read = len(first.lines)
    for number in range(2, 20):
        hook.ask(number, size)
    second = Reader(fifo)
    seen = []
    while 19 not in seen:
        second.read_once()
        for line in second.lines:
            try:
                seen.append(int(json.loads(line)["id"], 16))
            except ValueError:
                assert size > 65536, "only what does not fit into the FIFO is ever torn"
        second.lines = []
    assert seen == list(range(1 + read, 20))


def test_lines_of_several_hooks_are_not_mixed(fifo, start):
    reader = Reader(fifo)
    hooks = [start() for _ in range(3)]
    for number in range(30):
        for index, hook in enumerate(hooks):
            hook.ask(100 * index + number, size=50_000)
    numbers = [int(event["id"], 16) for event in reader.events(90)]
    assert sorted(numbers) == [100 * index + number for index in range(3) for number in range(30)]
    for index in range(3):
        assert [number for number in numbers if number // 100 == index] == list(range(100 * index, 100 * index + 30))


def test_what_a_former_hook_left_half_written_spoils_nothing(fifo, start):
    reader = Reader(fifo)
    os.write(reader.descriptor, b'{"content":"half')
    hook = start()
    hook.ask(1)
    while len(reader.lines) < 2:
        reader.read_once()
    assert reader.lines[0] == b'{"content":"half'
    assert json.loads(reader.lines[1]) == request(1)["event"]


def test_ends_when_the_relay_does_even_if_nobody_ever_reads(fifo, start):
    hook = start()
    hook.ask(1)
    hook.ask(2)
    began = time.monotonic()
    status, log = hook.end()
    assert status == 0 and time.monotonic() - began < 10
    assert "ended with 2 events that nobody read" in log


def test_what_is_kept_goes_out_before_it_ends(fifo, start):
    reader = Reader(fifo)
    hook = start()
    # No more than a FIFO holds.
    for number in range(50):
        hook.ask(number)
    assert hook.end() == (0, "")
    assert len(reader.events(50)) == 50


def test_imports_and_other_requests_are_answered_but_no_news(fifo, start):
    reader = Reader(fifo)
    hook = start()
    assert hook.ask(1, sourceType="Import")["action"] == "accept"
    assert hook.ask(2, type="lookback")["action"] == "accept"
    assert hook.ask(3, sourceType="Sync")["action"] == "accept"
    assert [event["id"] for event in reader.events(1)] == [f"{3:064x}"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"type":"new","event":7}',
        b'{"type":"new","event":{"kind":1}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_none_of_the_protocol_is_passed_over(fifo, start, line):
    reader = Reader(fifo)
    hook = start()
    hook.send(line)
    assert hook.ask(1)["action"] == "accept"
    assert reader.events(1) == [request(1)["event"]]
    status, log = hook.end()
    assert status == 0 and "passed over" in log


def test_an_event_too_large_for_the_router_is_accepted_and_left_out(fifo, start):
    reader = Reader(fifo)
    hook = start()
    assert hook.ask(1, size=1 << 20)["action"] == "accept"
    hook.ask(2)
    assert [event["id"] for event in reader.events(1)] == [f"{2:064x}"]


def test_a_path_that_is_no_fifo_is_told_and_the_relay_goes_on(tmp_path, hooks):
    for path, word in [(tmp_path / "missing", "No such file"), (tmp_path / "file", "is no FIFO")]:
        if word == "is no FIFO":
            path.write_text("keep me")
        hook = Hook(path)
        hooks.append(hook)
        assert hook.ask(1)["action"] == "accept"
        status, log = hook.end()
        assert status == 0 and word in log
    assert path.read_text() == "keep me"


@pytest.fixture
def policy(tmp_path):
    """Another plugin: rejects odd numbers, ends at number 13."""
    path = tmp_path / "policy"
    path.write_text(
        textwrap.dedent(
            """\
            import json, sys
            for line in sys.stdin:
                id = json.loads(line)["event"]["id"]
                number = int(id, 16)
                if number == 13: sys.exit(7)
                odd = {"action": "reject", "msg": "blocked: odd"}
                print(json.dumps({"id": id, **(odd if number % 2 else {"action": "accept"})}), flush=True)
            """
        )
    )
    return [sys.executable, path]


def test_another_plugin_decides_and_what_it_rejects_goes_no_further(fifo, start, policy):
    reader = Reader(fifo)
    hook = start(*policy)
    assert [hook.ask(number)["action"] for number in range(4)] == ["accept", "reject", "accept", "reject"]
    assert hook.ask(5)["msg"] == "blocked: odd"
    assert [int(event["id"], 16) for event in reader.events(2)] == [0, 2]
    assert hook.end() == (0, "")


def test_a_policy_that_ends_ends_the_hook_so_that_the_relay_notices(fifo, start, policy):
    hook = start(*policy)
    hook.send(json.dumps(request(13)).encode())
    status, log = hook.end()
    assert status == 1 and "the policy ended with status 7" in log
