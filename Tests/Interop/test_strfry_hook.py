"""contrib/strfry/carillon-feed, spoken to as strfry speaks to its plugins."""

import fcntl
import json
import os
import resource
import select
import subprocess
import sys
import textwrap
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

    def __init__(self, folder, *policy, **environment):
        command = [sys.executable, HOOK, folder] + (["--", *policy] if policy else [])
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # What is buffered here would not be seen by select.
            bufsize=0,
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


def files(folder) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda file: int(file.name))


def lines(folder) -> list[bytes]:
    return [line for file in files(folder) for line in file.read_bytes().split(b"\n") if line]


def numbers(folder) -> list[int]:
    """Of the events that wait for the router."""
    return [int(json.loads(line)["id"], 16) for line in lines(folder)]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "feed"
    path.mkdir()
    return path


@pytest.fixture
def hooks():
    hooks = []
    yield hooks
    for hook in hooks:
        hook.process.kill()
        hook.process.communicate()


@pytest.fixture
def start(folder, hooks):
    def start(*policy, **environment):
        hooks.append(Hook(folder, *policy, **environment))
        return hooks[-1]

    return start


def test_every_event_is_accepted_and_passed_on_unchanged(folder, start):
    hook = start()
    for number in range(100):
        assert hook.ask(number) == {"id": f"{number:064x}", "action": "accept"}
    assert [json.loads(line) for line in lines(folder)] == [request(number)["event"] for number in range(100)]
    # Who wrote it, and from where, is the relay's business.
    assert b"192.0.2.1" not in files(folder)[0].read_bytes()
    assert hook.end() == (0, "")


def test_an_answered_event_is_in_the_folder_when_the_hook_is_killed(folder, start):
    hook = start()
    for number in range(50):
        hook.ask(number)
        assert numbers(folder)[-1] == number
    hook.process.kill()
    hook.process.wait()
    start().ask(50)
    assert numbers(folder) == list(range(51))


def test_the_folder_is_limited_and_the_oldest_are_dropped(folder, start):
    hook = start(CARILLON_FEED_BYTES=str(100_000))
    for number in range(1000):
        hook.ask(number, size=1000)
        assert sum(file.stat().st_size for file in files(folder)) <= 100_000
    kept = numbers(folder)
    assert len(kept) > 40 and kept == list(range(kept[0], 1000))
    status, log = hook.end()
    assert status == 0 and "the router does not keep up" in log


def test_a_file_deleted_by_the_router_gets_no_further_lines(folder, start):
    hook = start()
    hook.ask(1)
    files(folder)[0].unlink()
    hook.ask(2)
    assert numbers(folder) == [2]


def test_the_router_deletes_no_file_under_a_hook_that_writes(folder, start):
    hook = start()
    hook.ask(1)
    with files(folder)[0].open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        message = request(2)
        hook.send(json.dumps(message).encode())
        ready, _, _ = select.select([hook.process.stdout], [], [], 0.2)
        assert not ready and numbers(folder) == [1]
        files(folder)[0].unlink()
    assert hook.answer()["action"] == "accept"
    assert numbers(folder) == [2]


def test_lines_of_several_hooks_are_not_mixed(folder, start):
    hooks = [start(CARILLON_FEED_BYTES=str(8 << 20)) for _ in range(3)]
    for number in range(30):
        for index, hook in enumerate(hooks):
            hook.ask(100 * index + number, size=50_000)
    assert len(files(folder)) > 1
    assert sorted(numbers(folder)) == [100 * index + number for index in range(3) for number in range(30)]
    for index in range(3):
        of_hook = [number for number in numbers(folder) if number // 100 == index]
        assert of_hook == list(range(100 * index, 100 * index + 30))


def test_a_half_written_file_of_a_former_hook_is_harmless(folder, start):
    (folder / "7").write_bytes(b'{"content":"half')
    start().ask(1)
    half, whole = lines(folder)
    assert half == b'{"content":"half' and json.loads(whole) == request(1)["event"]


def test_an_unwritable_event_is_kept_and_written_later(folder, start):
    folder.rmdir()
    hook = start()
    for number in range(20):
        assert hook.ask(number)["action"] == "accept"
    folder.mkdir()
    hook.ask(20)
    assert numbers(folder) == list(range(21))
    status, log = hook.end()
    assert status == 0 and "No such file" in log and len(log.splitlines()) == 1


def test_a_full_disk_leaves_no_event_behind(folder, start):
    hook = start()
    hook.ask(0)
    # A limit of the size of files stands for the end of the disk: a write is cut there, and the next one fails.
    size = files(folder)[0].stat().st_size
    resource.prlimit(hook.process.pid, resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
    for number in range(1, 4):
        assert hook.ask(number)["action"] == "accept"
    assert lines(folder)[1:] == [lines(folder)[1][:100]]
    resource.prlimit(hook.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    hook.ask(4)
    first, _, *others = lines(folder)
    assert [int(json.loads(line)["id"], 16) for line in [first, *others]] == list(range(5))


def test_unwritten_events_are_reported_at_the_end(tmp_path, hooks):
    hook = Hook(tmp_path / "missing")
    hooks.append(hook)
    hook.ask(1)
    hook.ask(2)
    status, log = hook.end()
    assert status == 0 and "ended with 2 events that could not be written" in log


def test_imports_and_other_requests_are_answered_but_not_passed_on(folder, start):
    hook = start()
    assert hook.ask(1, sourceType="Import")["action"] == "accept"
    assert hook.ask(2, type="lookback")["action"] == "accept"
    assert hook.ask(3, sourceType="Sync")["action"] == "accept"
    assert numbers(folder) == [3]


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
def test_a_line_outside_the_protocol_is_skipped(folder, start, line):
    hook = start()
    hook.send(line)
    assert hook.ask(1)["action"] == "accept"
    assert numbers(folder) == [1]
    status, log = hook.end()
    assert status == 0 and "passed over" in log


def test_an_event_too_large_for_the_router_is_accepted_and_omitted(folder, start):
    hook = start()
    assert hook.ask(1, size=1 << 20)["action"] == "accept"
    hook.ask(2)
    assert numbers(folder) == [2]


def test_a_file_instead_of_the_folder_is_reported_and_untouched(tmp_path, hooks):
    path = tmp_path / "file"
    path.write_text("keep me")
    hook = Hook(path)
    hooks.append(hook)
    assert hook.ask(1)["action"] == "accept"
    status, log = hook.end()
    assert status == 0 and "Not a directory" in log
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


def test_events_rejected_by_another_plugin_are_not_passed_on(folder, start, policy):
    hook = start(*policy)
    assert [hook.ask(number)["action"] for number in range(4)] == ["accept", "reject", "accept", "reject"]
    assert hook.ask(5)["msg"] == "blocked: odd"
    assert numbers(folder) == [0, 2]
    assert hook.end() == (0, "")


def test_a_policy_that_exits_ends_the_hook(start, policy):
    hook = start(*policy)
    hook.send(json.dumps(request(13)).encode())
    status, log = hook.end()
    assert status == 1 and "the policy ended with status 7" in log
