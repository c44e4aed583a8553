"""Plugins in Python: one file each, in a process of its own, beside the plugins that are shared objects."""

import json
import os
import re
import shutil
import signal
import subprocess
import textwrap
import urllib.error
import urllib.request

import pytest

from console import Console
from nostr import ALL_SIGNALS, Person, Socket, device_token, ios
from programs import REPOSITORY, built, carillon, free_port, wait_until
from readable import ReadableServer

PAGER = """
    from carillon import Invalid, Request, log

    PLATFORM = "pager"

    def validate(registration):
        if not registration.token.startswith("http"):
            raise Invalid("the token must be a URL")

    def deliver(notification, registration, app):
        log("one more")
        return Request("POST", registration.token, json={"text": notification.body, "room": app.get("room")})
"""


@pytest.fixture
def receiver():
    server = ReadableServer()
    yield server
    server.stop()


@pytest.fixture
def console(stopped_router):
    return Console(stopped_router, port=free_port())


def add(router, source: str, name: str = "pager.py"):
    path = router.plugins / name
    path.write_text(textwrap.dedent(source))
    path.chmod(0o644)
    router.configuration["apps"]["default"]["pager"] = {"room": "kitchen"}


def register(router, person, token: str, **more) -> dict:
    return person.registration(router, {"platform": "pager", "token": token, "filters": ALL_SIGNALS, "mode": "alert", **more})


def wait_for(receiver, count: int):
    wait_until(lambda: len(receiver.messages) >= count, f"{count} messages come")


def process_of(console, name: str = "pager.py") -> dict:
    status, answer = console.json("/v1/plugins")
    assert status == 200
    return next(each for each in answer["processes"] if each["plugins"] == [name])


def test_a_push_service_in_one_file(console, stopped_router, lab, alice, bob, receiver):
    add(stopped_router, PAGER)
    console.start()
    process = process_of(console)
    assert (process["state"], process["crashes"]) == ("running", 0)
    assert "files" in process["confinement"] and "system calls" in process["confinement"]
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply("Grüße aus Łódź", note))
        wait_for(receiver, 1)
    [message] = receiver.messages
    assert json.loads(message.body) == {"text": "Grüße aus Łódź", "room": "kitchen"}
    stopped_router.wait_for_deliveries(1)
    stopped_router.wait_for_log("one more")
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 0 and "python.pager 0" in listing.stdout and "platform   pager" in listing.stdout


def test_a_registration_refused_by_a_plugin_is_explained(console, stopped_router, alice):
    add(stopped_router, PAGER)
    console.start()
    with Socket(stopped_router) as socket:
        accepted, reason = socket.offer(register(stopped_router, alice, "nowhere"))
    assert not accepted and "the token must be a URL" in reason


def test_a_filter_in_one_file(stopped_router, lab, alice, bob):
    shutil.copy(REPOSITORY / "contrib/examples/plugins/wordlist.py", stopped_router.plugins / "wordlist.py")
    stopped_router.configuration["filter_plugins"] = {"wordlist": {"settings": {"words": ["casino"]}}}
    stopped_router.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token(), mode="alert")), note)
        for text in ["The CASINO is open", "hello"]:
            assert socket.offer(bob.reply(text, note))[0]
    [push] = lab.accepted(1)
    assert "hello" in push.body.decode() and stopped_router.stop() == 0
    assert "it has an unwanted word" in stopped_router.log_text
    assert len(lab.received()) == 1


STEPS = """
    from carillon import Request, gone, retry

    PLATFORM = "pager"

    def deliver(notification, registration):
        answer = yield Request("POST", registration.token + "/room", json={})
        if not answer.is_success:
            return retry("no-room")
        yield Request("POST", registration.token + "/" + answer.json()["room"], body=notification.body)
"""


def test_a_delivery_of_several_requests(stopped_router, alice, bob):
    add(stopped_router, STEPS)
    receiver = ReadableServer(lambda message: (200, {}, b'{"room": "kitchen"}'))
    stopped_router.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply("hello", note))
        wait_for(receiver, 2)
    assert [(message.path, message.body) for message in receiver.messages] == [
        ("/bell/room", b"{}"), ("/bell/kitchen", b"hello"),
    ]
    stopped_router.wait_for_deliveries(1)
    receiver.stop()


TROUBLE = """
    import os
    import time

    from carillon import Request

    PLATFORM = "pager"
    SEEN = []

    def deliver(notification, registration):
        text = notification.body
        if text == "raise":
            raise ValueError("secret " + registration.token)
        if text == "exit":
            os._exit(3)
        if text == "hang":
            while True:
                pass
        if text == "segfault":
            import ctypes
            ctypes.string_at(1)
        if text == "nothing":
            return None
        return Request("POST", registration.token, body=text)

    import ctypes
"""


@pytest.mark.parametrize(
    "text, log",
    [
        ("exit", "exited with status 3"),
        ("segfault", "SIGSEGV"),
        ("hang", "did not return from deliver within 1 s"),
    ],
)
def test_a_plugin_that_dies_does_not_affect_others(console, stopped_router, alice, bob, receiver, text, log):
    add(stopped_router, TROUBLE)
    stopped_router.configuration["plugins"]["deadline_seconds"] = 1
    console.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply(text, note))
        wait_until(lambda: process_of(console)["crashes"] == 2, "it dies twice", stopped_router.process)
        stopped_router.wait_for_log("plugin-crashed")
        socket.publish(bob.reply("hello", note))
        wait_for(receiver, 1)
    assert receiver.messages[0].body == b"hello"
    assert log in process_of(console)["last_crash"]


@pytest.mark.parametrize("text, reason", [("raise", "ValueError in deliver, line 13"), ("nothing", "TypeError")])
def test_an_exception_is_in_the_log_without_its_text(stopped_router, alice, bob, receiver, text, reason):
    add(stopped_router, TROUBLE)
    stopped_router.secrets.add(f"{receiver.url}/bell")
    stopped_router.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply(text, note))
        stopped_router.wait_for_log(f"deliver failed: {reason}")
        # To another device: this one waits until its first push is tried again.
        carol = Person()
        note = carol.note("root")
        socket.publish(register(stopped_router, carol, f"{receiver.url}/chime"), note, bob.reply("hello", note))
        wait_for(receiver, 1)


@pytest.mark.parametrize(
    "source, reason",
    [
        ("import nowhere", "failed while it was loaded: ModuleNotFoundError: No module named 'nowhere' (line 1)"),
        ("def deliver(:", "failed while it was loaded: SyntaxError: invalid syntax (line 1)"),
        ("x = 1", 'its descriptor is invalid: it names neither a platform (PLATFORM = "pager") nor a filter'),
        ('PLATFORM = "pager"', "its descriptor is invalid: PLATFORM and the function deliver belong together"),
        ('PLATFORM = "A"\ndef deliver(a, b): pass', "its descriptor is invalid: PLATFORM: expected 1 to 64 of a-z, 0-9, - and _"),
        ('PLATFORM = "pager"\ndef deliver(a, b, c, d): pass', "its descriptor is invalid: deliver: expected a function of notification"),
        ('PLATFORM = "pager"\nasync def deliver(a, b): pass', "its descriptor is invalid: deliver: expected no async function"),
        ("while True: pass", "while it was loaded"),
        ("import os\nos._exit(4)", "its process exited with status 4 while it was loaded"),
        ("open('/etc/passwd').read()", "failed while it was loaded: PermissionError"),
        ("", "is empty"),
    ],
)
def test_a_file_that_is_not_a_plugin_is_refused_with_the_reason(stopped_router, source, reason):
    add(stopped_router, source)
    del stopped_router.configuration["apps"]["default"]["pager"]
    stopped_router.configuration["plugins"]["deadline_seconds"] = 1
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 1 and reason in listing.stdout, listing.stdout + listing.stderr


def test_a_missing_interpreter_is_an_error_with_its_line(stopped_router):
    stopped_router.configuration["plugins"]["python"] = "nowhere/python3"
    run = carillon("check", "--config", stopped_router.configuration_file)
    assert run.returncode == 1 and "plugins.python: expected an interpreter, such as /usr/bin/python3" in run.stderr


def test_a_file_that_others_may_write_is_refused(stopped_router):
    add(stopped_router, PAGER)
    os.chmod(stopped_router.plugins / "pager.py", 0o664)
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 1 and "pager.py is writable by group or others" in listing.stdout


@pytest.mark.parametrize("name", ["webhook", "wordlist"])
def test_the_examples_pass_plugin_check(tmp_path, name):
    path = tmp_path / f"{name}.py"
    shutil.copy(REPOSITORY / f"contrib/examples/plugins/{name}.py", path)
    tmp_path.chmod(0o755)
    settings = tmp_path / "settings.json"
    settings.write_text('{"words": ["casino"]}')
    block = ["--block", f"wordlist={settings}"] if name == "wordlist" else []
    check = carillon("plugin", "check", path, *block)
    assert check.returncode == 0 and " 0 failed" in check.stdout, check.stdout


def test_plugin_check_names_the_check_in_which_it_died(tmp_path):
    path = tmp_path / "pager.py"
    path.write_text(textwrap.dedent(TROUBLE).replace("text = notification.body", "text = 'exit'"))
    tmp_path.chmod(0o755)
    check = carillon("plugin", "check", path)
    assert check.returncode == 1 and "its process ended: pager.py exited with status 3" in check.stdout


RAISING = """
    from carillon import Outcome, Request

    PLATFORM = "pager"

    def create(config):
        return config.get("a")

    def deliver(notification, registration):
        return Request("POST", registration.token)

    def outcome(response):
        return Outcome.of(response)
"""


@pytest.mark.parametrize(
    "before, after, check, line",
    [
        ('Request("POST", registration.token)', "registration[0]", "deliver", "return registration[0]"),
        ('Request("POST", registration.token)', "None", "deliver", "TypeError: deliver returned NoneType: expected a Request or an outcome"),
        ("Outcome.of(response)", "response.status[0]", "deliver", "return response.status[0]"),
        ('config.get("a")', 'config["a"]', "create-empty", "KeyError: 'a'"),
    ],
)
def test_an_exception_is_a_failure_with_its_traceback(tmp_path, before, after, check, line):
    path = tmp_path / "pager.py"
    tmp_path.chmod(0o755)
    source = textwrap.dedent(RAISING)
    path.write_text(source)
    run = carillon("plugin", "check", path)
    assert run.returncode == 0 and ", 0 failed" in run.stdout, run.stdout
    path.write_text(source.replace(before, after))
    run = carillon("plugin", "check", path)
    assert run.returncode == 1
    [first, *_] = re.findall(r"^failed  .*\(([a-z-]+)\)\n((?: {8}.*\n)+)", run.stdout, re.MULTILINE)
    assert first[0] == check, run.stdout
    assert "        Traceback (most recent call last):\n" in first[1] and line in first[1]


def test_a_plugin_that_honours_no_delivery_fails(tmp_path):
    path = tmp_path / "pager.py"
    tmp_path.chmod(0o755)
    path.write_text(textwrap.dedent(RAISING).replace('Request("POST", registration.token)', "rejected()").replace("Outcome,", "Outcome, rejected,"))
    run = carillon("plugin", "check", path)
    assert run.returncode == 1
    assert "no delivery led to a request (a delivery ends as CARILLON_REJECTED without a request" in run.stdout


def test_help_of_a_plugin_without_commands(stopped_router):
    add(stopped_router, PAGER)
    run = carillon("push", "--config", stopped_router.configuration_file, "pager", "help")
    assert (run.returncode, run.stdout) == (0, "the plugin of pager has no commands\n")
    run = carillon("push", "pager", "help", "--config", stopped_router.configuration_file)
    assert run.returncode != 0 and "--config comes before the platform" in run.stderr


def test_a_broken_plugin_is_reported_before_its_consequences(stopped_router, tmp_path):
    """Its own mistake first, then what follows from it, one line for all rules."""
    router = stopped_router
    add(router, PAGER.replace('PLATFORM = "pager"', "PLATFORM = pager"))
    rules = tmp_path / "own.yaml"
    rules.write_text("version: 1\nrules:\n  - match: { kinds: [1] }\n    pager: { a: 1 }\n  - match: { kinds: [7] }\n    pager: { a: 1 }\n  - pager: {}\n")
    router.configuration["rules"] = str(rules)
    cause = "pager.py: failed while it was loaded: NameError: name 'pager' is not defined"
    consequence = "own.yaml:4:5: rules[0]: unknown key 'pager', also in lines 6, 7; did you mean 'pace'? If not, no loaded plugin has a block of that name"
    for command in [["check", "--config", router.configuration_file], ["rules", "check", "--config", router.configuration_file]]:
        run = carillon(*command)
        lines = run.stderr.splitlines()
        assert run.returncode == 1 and cause in lines[0], run.stderr
        assert sum("own.yaml" in line for line in lines) == 1 and any(consequence in line for line in lines), run.stderr
    lines = carillon("serve", "--config", router.configuration_file).stderr.splitlines()
    assert next(i for i, line in enumerate(lines) if cause in line) < next(i for i, line in enumerate(lines) if consequence in line)


PROBE = """
    import os
    import socket
    import subprocess
    import threading
    import time

    from carillon import Request, log

    PLATFORM = "pager"

    def attempt(name, body):
        try:
            body()
            log(name + ": done")
        except BaseException as error:
            log(name + ": " + type(error).__name__)

    def deliver(notification, registration):
        attempt("file", lambda: open("/etc/passwd"))
        attempt("own file", lambda: open(__file__))
        attempt("folder", lambda: os.listdir("/"))
        attempt("socket", lambda: socket.socket())
        attempt("program", lambda: subprocess.run(["/bin/true"]))
        attempt("fork", os.fork)
        attempt("signal", lambda: os.kill(os.getppid(), 0))
        attempt("module", lambda: __import__("sqlite3"))
        attempt("thread", lambda: threading.Thread(target=print).start())
        attempt("clock", lambda: (time.localtime(), time.strptime("2026", "%Y"), time.sleep(0.001)))
        attempt("random", lambda: os.urandom(16))
        return Request("POST", registration.token)
"""


def test_a_confined_plugin_has_no_files_network_or_programs(stopped_router, alice, bob, receiver):
    add(stopped_router, PROBE)
    stopped_router.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply("hello", note))
        wait_for(receiver, 1)
    stopped_router.wait_for_log("random: ")
    for line in [
        "file: FileNotFoundError", "own file: FileNotFoundError", "folder: FileNotFoundError", "socket: PermissionError",
        "program: PermissionError", "fork: PermissionError", "signal: PermissionError", "module: ModuleNotFoundError",
        "thread: done", "clock: done", "random: done",
    ]:
        assert f'line="{line}"' in stopped_router.log_text, line


AT_THE_TOP = """
    import ctypes
    import mmap
    import os
    import resource
    import time

    from carillon import Request, log

    PLATFORM = "pager"
    libc = ctypes.CDLL(None, use_errno=True)
    found = []

    def attempt(name, body):
        try:
            found.append(f"{name}: done {body()}")
        except BaseException as error:
            found.append(f"{name}: {type(error).__name__}")

    def call(function, *arguments):
        ctypes.set_errno(0)
        if getattr(libc, function)(*arguments) == -1:
            raise OSError(ctypes.get_errno(), function)

    parent = os.getppid()
    attempt("mode", lambda: os.chmod(KEY, 0o666))
    attempt("owner", lambda: os.chown(KEY, 1, 1))
    attempt("attribute", lambda: os.setxattr(KEY, "user.x", b"x"))
    attempt("times", lambda: os.utime(KEY, (1, 1)))
    attempt("length", lambda: os.truncate(KEY, 0))
    attempt("limit", lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)))
    attempt("limits", lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE))
    attempt("scheduler", lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0)))
    attempt("segment", lambda: call("shmget", 0, 1 << 30, 0o600))
    attempt("owner of a socket", lambda: call("fcntl", 3, 8, parent))
    attempt("shared memory", lambda: mmap.mmap(-1, 1 << 20))

    def deliver(notification, registration):
        for line in found:
            log(line)
        return Request("POST", registration.token)
"""


def test_top_level_code_of_a_plugin_changes_no_files(stopped_router, alice, bob, receiver):
    key = stopped_router.folder / "state of a router"
    key.write_text("secret")
    key.chmod(0o600)
    before = key.stat()
    add(stopped_router, AT_THE_TOP.replace("KEY", repr(str(key))))
    stopped_router.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply("hello", note))
        wait_for(receiver, 1)
    stopped_router.wait_for_log("shared memory: ")
    for name in [
        "mode", "owner", "attribute", "times", "length", "limit", "limits", "scheduler", "segment", "owner of a socket", "shared memory",
    ]:
        assert f'line="{name}: PermissionError"' in stopped_router.log_text, name
    after = key.stat()
    assert (before.st_mode, before.st_uid, before.st_mtime, before.st_size) == (after.st_mode, after.st_uid, after.st_mtime, after.st_size)


def test_an_unconfined_plugin_has_the_routers_rights(stopped_router, alice, bob, receiver):
    add(stopped_router, PROBE)
    stopped_router.configuration["plugins"]["sandbox"] = False
    stopped_router.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply("hello", note))
        wait_for(receiver, 1)
    stopped_router.wait_for_log("file: done")


def test_a_killed_python_plugin_is_restarted(console, stopped_router, alice, bob, receiver):
    add(stopped_router, PAGER)
    console.start()
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply("one", note))
        wait_for(receiver, 1)
        os.kill(process_of(console)["process"], signal.SIGKILL)
        socket.publish(bob.reply("two", note))
        wait_for(receiver, 2)
    assert process_of(console)["crashes"] == 1


def test_a_pinned_file_that_differs_is_refused(stopped_router):
    add(stopped_router, PAGER)
    stopped_router.configuration["plugins"]["sha256"] = {"pager.py": "0" * 64}
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 1 and "its SHA-256 differs from the pinned one" in listing.stdout


@pytest.fixture
def installed(tmp_path):
    """The programs as contrib/docs/building.md installs them, without the library for the sandbox."""
    folder = tmp_path / "installed"
    (folder / "libexec/carillon").mkdir(parents=True)
    (folder / "bin").mkdir()
    shutil.copy(built("carillon"), folder / "bin/carillon")
    shutil.copy(built("carillon-plugin-host"), folder / "libexec/carillon/carillon-plugin-host")
    program = "Sources/PluginHost/PluginHost/Python/carillon-plugin-python"
    shutil.copytree(REPOSITORY / program, folder / "libexec/carillon/carillon-plugin-python")
    return folder


def test_without_the_library_for_the_sandbox_it_is_refused(stopped_router, installed):
    add(stopped_router, PAGER)
    command = [installed / "bin/carillon", "plugin", "list", "--config", stopped_router.configuration_file]
    listing = subprocess.run(command, capture_output=True, text=True)
    assert listing.returncode == 1 and "libcarillon-confinement.so is missing beside carillon-plugin-python" in listing.stdout
    shutil.copy(built("libcarillon-confinement.so"), installed / "libexec/carillon")
    listing = subprocess.run(command, capture_output=True, text=True)
    assert listing.returncode == 0 and "python.pager" in listing.stdout


def test_running_unconfined_requires_the_operators_consent(stopped_router, installed):
    add(stopped_router, PAGER)
    stopped_router.configuration["plugins"]["sandbox"] = False
    command = [installed / "bin/carillon", "plugin", "list", "--config", stopped_router.configuration_file]
    assert subprocess.run(command, capture_output=True).returncode == 0


SERVICES = """
    from carillon import Answer, Busy, Invalid, Request, after, every, inbound_url, state

    PLATFORM = "pager"

    def create(config):
        state["starts"] = state.get("starts", 0) + 1
        after(0, log_in, config)
        every(0.05, tick)
        return config

    def log_in(config):
        answer = yield Request("POST", config["url"] + "/login", json={"hook": inbound_url()}, trusted=True)
        state["token"] = answer.json()["token"]

    def tick():
        state["ticks"] = state.get("ticks", 0) + 1

    def deliver(notification, registration, app):
        body = {"text": notification.body, "token": state.get("token"), "starts": state["starts"]}
        return Request("POST", registration.token, json=body)

    def receive(request, app):
        if request.path == "/busy":
            raise Busy
        if request.path == "/invalid":
            raise Invalid
        if request.path == "/broken":
            return 1 / 0
        if request.path == "/ticks":
            return Answer(json=state.get("ticks", 0))
        if request.path == "/ask":
            answer = yield Request("POST", app["url"] + "/login", body=request.body, trusted=True)
            return Answer(202, answer.json()["token"], headers={"X-Method": request.method})
        return None
"""


def test_timers_state_and_requests_from_outside(stopped_router, lab, alice, bob):
    receiver = ReadableServer(lambda message: (200, {}, b'{"token": "renewed"}'))
    add(stopped_router, SERVICES)
    stopped_router.configuration["apps"]["default"]["pager"] = {"url": receiver.url}
    console = Console(stopped_router, port=free_port(), public_url="https://push.example.com/").start()

    def ask(path: str, body: bytes | None = None):
        request = urllib.request.Request(f"http://127.0.0.1:{console.port}/plugins/pager/default{path}", body)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.headers, ""

    [login] = receiver.wait(1)
    assert login[2] == {"hook": "https://push.example.com/plugins/pager/default"}
    status, headers, body = ask("/ask", b"{}")
    assert (status, headers["x-method"], body) == (202, "POST", "renewed")
    assert [ask(path)[0] for path in ["/busy", "/invalid", "/broken", "/nothing"]] == [503, 400, 500, 404]
    wait_until(lambda: int(ask("/ticks")[2]) > 3, "the timer fires again and again")
    stopped_router.wait_for_log("receive failed: ZeroDivisionError in receive")

    # A new process, and then a new router, have what was kept.
    os.kill(process_of(console)["process"], signal.SIGKILL)
    wait_until(lambda: process_of(console)["crashes"] == 1 and process_of(console)["state"] == "running", "it runs again")
    wait_until(lambda: len(receiver.messages) >= 3, "the new process logs in")
    stopped_router.stop()
    console.start()
    wait_until(lambda: len(receiver.messages) >= 4, "the new router logs in")
    note = alice.note("root")
    with Socket(stopped_router) as socket:
        socket.publish(register(stopped_router, alice, f"{receiver.url}/bell"), note)
        socket.publish(bob.reply("hello", note))
        wait_for(receiver, 5)
    assert json.loads(receiver.messages[-1].body) == {"text": "hello", "token": "renewed", "starts": 3}
    receiver.stop()
