"""`carillon plugin dev`: a plugin is built, checked and tried, again on each save."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import BUILD, REPOSITORY, built, carillon, wait_until

EXAMPLES = REPOSITORY / "contrib/examples/plugins"


def new(folder, language: str, kind: str = "transport"):
    run = carillon("plugin", "new", "pager", "--language", language, "--kind", kind, cwd=folder)
    assert run.returncode == 0, run.stderr
    return folder / "pager"


def test_a_push_service_in_python(tmp_path):
    run = carillon("plugin", "dev", new(tmp_path, "python"), "--once", "--no-lab")
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^plugin check: \d+ passed$", run.stdout, re.MULTILINE)
    assert run.stdout.startswith(f"plugin: {tmp_path}/pager/pager.py\n")
    for text in [
        "POST https://hook.example.com/sample  (untrusted: never into a private network)",
        '"title":"Alice","body":"Hello from Carillon"',
        '"title":"New message"',
        "unsupported as sealed: the router tries it as nudge",
        '"count":12',
        r"<script>alert(\"1\")</script> \u{202e}desrever",
        "429, Retry-After: 30       retry (too-many-requests), status 429: the router tries again after 30 s",
        "410                        gone, status 410: the router forgets the device",
    ]:
        assert text in run.stdout, text


def test_one_answer_for_all(tmp_path):
    run = carillon("plugin", "dev", new(tmp_path, "python"), "--once", "--no-lab", "--skip-check", "--answer", "410")
    assert run.returncode == 0 and "plugin check" not in run.stdout and run.stdout.count("\n  ← 410") == 7


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_push_service_in_c_is_built(tmp_path):
    run = carillon("plugin", "dev", new(tmp_path, "c"), "--once", "--no-lab", "--registration", "pager=https://pager.example.com/alice")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "$ make\n" in run.stdout and f"plugin: {tmp_path}/pager/pager.so\n" in run.stdout and "POST https://pager.example.com/alice" in run.stdout


def test_plugin_dev_runs_a_filter(tmp_path):
    folder = new(tmp_path, "python", "filter")
    run = carillon("plugin", "dev", folder, "--once", "--no-lab")
    assert run.returncode == 0 and "filter pager" in run.stdout and "reply                      pass" in run.stdout
    (folder / "settings.json").write_text('{"words": ["a"]}')
    run = carillon("plugin", "dev", folder, "--once", "--no-lab", "--skip-check")
    assert run.returncode == 0 and "drop (it has an unwanted word)" in run.stdout


def test_plugin_errors_are_shown(tmp_path):
    path = tmp_path / "pager.py"
    path.write_text('PLATFORM = "pager"\n\n\ndef deliver(notification, registration):\n    return registration["token"]\n')
    run = carillon("plugin", "dev", path, "--once", "--no-lab", "--skip-check")
    assert run.returncode == 1
    assert "deliver failed: TypeError in deliver, line 5" in run.stdout
    assert 'return registration["token"]' in run.stdout and "object is not subscriptable" in run.stdout
    path.write_text("PLATFORM = pager\n")
    run = carillon("plugin", "dev", path, "--once", "--no-lab", "--skip-check")
    assert run.returncode == 1 and "failed while it was loaded: NameError: name 'pager' is not defined (line 1)" in run.stdout


def test_a_delivery_that_never_ends_ends_the_trial(tmp_path):
    path = tmp_path / "pager.py"
    path.write_text('import time\n\nPLATFORM = "pager"\n\n\ndef deliver(notification, registration):\n    while True:\n        time.sleep(1)\n')
    run = carillon("plugin", "dev", path, "--once", "--no-lab", "--skip-check")
    assert run.returncode == 1
    assert run.stdout.count("error: the plugin did not end a delivery within 10 s, and the others are not tried.") == 1
    assert "fixtures: " not in run.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_crash_is_the_plugins(tmp_path):
    """It takes along neither the program nor what is tried next, and no backtrace of the program's is shown."""
    folder = new(tmp_path, "c")
    source = (folder / "pager.c").read_text()
    (folder / "pager.c").write_text(source.replace("switch (notification->mode) {", "*(volatile int *)8 = 1;\n    switch (notification->mode) {"))
    run = carillon("plugin", "dev", folder, "--once", "--no-lab")
    assert run.returncode == 1
    assert "it crashed with SIGSEGV (signal 11)" in run.stdout
    assert "A plugin's process ended" in run.stdout and "platform pager" in run.stdout
    assert "crashed" in run.stdout.partition("platform pager")[2]
    for word in ["Backtrace", "backtrace", "Fatal error", "Program crashed"]:
        assert word not in run.stdout + run.stderr


@pytest.mark.parametrize(
    "name, text, reason",
    [("x.txt", "x", "is neither a folder nor a .so or .py file"), ("new/y.txt", "x", "has no Cargo.toml, Package.swift")],
)
def test_an_invalid_plugin_is_refused(tmp_path, name, text, reason):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    run = carillon("plugin", "dev", path if name == "x.txt" else path.parent, "--once", "--no-lab")
    assert run.returncode != 0 and reason in run.stderr


def test_a_build_that_fails(tmp_path):
    folder = new(tmp_path, "c")
    (folder / "pager.c").write_text("int x = ;\n")
    run = carillon("plugin", "dev", folder, "--once", "--no-lab")
    assert run.returncode == 1 and "make failed" in run.stderr


def test_the_trial_restarts_on_each_save(tmp_path):
    path = tmp_path / "pager.py"
    source = (EXAMPLES / "webhook.py").read_text()
    path.write_text(source)
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [built("carillon"), "plugin", "dev", path, "--skip-check", "--no-lab"], stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
    try:
        wait_until(lambda: "^C ends" in output.read_text(), "the first run ends", process)
        assert "Hello from Carillon" in output.read_text()
        path.write_text(source.replace('"body": notification.body', '"words": notification.body'))
        wait_until(lambda: '"words":"Hello from Carillon"' in output.read_text(), "the second run ends", process)
        path.write_text("PLATFORM = 1")
        wait_until(lambda: "PLATFORM: expected no int" in output.read_text(), "the third run ends", process)
        path.write_text(source)
        wait_until(lambda: output.read_text().count("^C ends") == 4, "the fourth run ends", process)
    finally:
        process.kill()
        process.wait()


def lab(*arguments) -> str:
    run = subprocess.run([built("carillon-lab"), *map(str, arguments)], capture_output=True, text=True, timeout=60, check=True)
    return run.stdout


def test_plugin_dev_uses_a_running_lab(tmp_path):
    """Requests really go out and are answered, and another terminal changes the answers."""
    path = tmp_path / "pager.py"
    source = (EXAMPLES / "webhook.py").read_text()
    path.write_text(source)
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [built("carillon"), "plugin", "dev", path, "--skip-check", "--lab"],
            stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )
    try:
        wait_until(lambda: "^C ends" in output.read_text(), "the first run ends", process)
        text = output.read_text()
        [folder] = re.findall(r"carillon-lab misbehave --lab (\S+) answer", text)
        assert text.count("← 200") == text.count("POST https://hook.example.com/sample")
        for words in [
            "POST https://hook.example.com/sample  (untrusted: never into a private network)",
            r"reply .* POST https://hook\.example\.com/sample ← 200\n.*Alice.*\n +delivered, status 200",
            "gone, status 410: the router forgets the device",
        ]:
            assert words in text or re.search(words, text), words
        received = [json.loads(line) for line in lab("received", "--lab", folder, "--json").splitlines()]
        assert {each["service"] for each in received} == {"other"}
        assert {each["target"] for each in received} == {"hook.example.com"}
        assert len(received) == text.count("← 200")
        assert any("Hello from Carillon" in each["body"] for each in received)

        lab("misbehave", "--lab", folder, "answer,status=410,service=other,times=0")
        path.write_text(source + "\n")
        wait_until(lambda: output.read_text().count("^C ends") == 2, "the second run ends", process)
        assert "← 410\n  gone, status 410: the router forgets the device" in output.read_text()
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not Path(folder).exists(), "the lab ends with the program")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_plugin_dev_runs_without_a_lab(tmp_path):
    """Where carillon-lab is not installed, that is said, and answers are played."""
    plugin = new(tmp_path, "c")
    programs = BUILD.resolve() / f"without-lab-{os.getpid()}"
    programs.mkdir()
    try:
        for name in ["carillon", "carillon-plugin-host"]:
            os.link(built(name).resolve(), programs / name)
        command = [programs / "carillon", "plugin", "dev", plugin, "--once", "--skip-check"]
        environment = os.environ | {"PATH": "/usr/bin:/bin"}
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert run.returncode == 0, run.stdout + run.stderr
        assert "carillon-lab is not installed next to this program or on the PATH: responses are simulated" in run.stdout
        assert "← 200" in run.stdout
        run = subprocess.run([*command, "--lab"], capture_output=True, text=True, timeout=60, env=environment)
        assert run.returncode != 0 and "--lab: carillon-lab is not installed" in run.stderr
    finally:
        shutil.rmtree(programs)
