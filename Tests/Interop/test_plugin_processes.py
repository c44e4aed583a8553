"""Plugins run in processes of their own; one that dies costs nobody else anything, and operators see it."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from console import Console
from nostr import Socket, device_token, ios
from programs import REPOSITORY, built, carillon, free_port, wait_until
from test_operation import serve
from test_plugins import Webhook


@pytest.fixture
def console(stopped_router):
    return Console(stopped_router, port=free_port())


def processes(console) -> list[dict]:
    status, answer = console.json("/v1/plugins")
    assert status == 200 and answer["refused"] == []
    return answer["processes"]


def test_a_killed_process_is_restarted_and_pushes_continue(console, stopped_router, lab, alice, bob):
    console.start()
    [process] = processes(console)
    assert process["plugins"] == sorted(stopped_router.plugin_names) and process["state"] == "running"
    assert process["crashes"] == 0 and process["confinement"]
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("one", alice))
        lab.accepted(1)
        os.kill(process["process"], signal.SIGKILL)
        socket.publish(bob.message("two", alice))
        lab.accepted(2)
    found = wait_until(
        lambda: [each for each in processes(console) if each["crashes"] == 1 and each["state"] == "running"],
        "the process runs again",
        stopped_router.process,
    )
    assert found[0]["process"] != process["process"] and "SIGKILL" in found[0]["last_crash"]
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 0 and "ended      once" in listing.stdout and "SIGKILL" in listing.stdout
    metrics = console.ask("/metrics")[1]
    assert 'carillon_plugin_process_crashes_total{plugin="libCarillonAPNs.so"} 1\n' in metrics
    assert console.json("/readyz")[0] == 200


def test_a_process_inherits_no_environment_or_files(console, stopped_router, monkeypatch):
    monkeypatch.setenv("CARILLON_TEST_SECRET", "hidden")
    console.start()
    [process] = processes(console)
    own, routers = (Path(f"/proc/{number}") for number in (process["process"], stopped_router.process.pid))
    try:
        environment = (own / "environ").read_bytes()
    except PermissionError:
        pytest.skip("only root may look into a process that is not dumpable")
    names = {each.partition(b"=")[0] for each in environment.split(b"\0") if each}
    assert b"SWIFT_BACKTRACE" in names and names <= {b"SWIFT_BACKTRACE", b"LANG", b"TZ", b"LD_LIBRARY_PATH"}
    assert b"CARILLON_TEST_SECRET" in (routers / "environ").read_bytes()

    def opened(process) -> dict[str, str]:
        return {each.name: os.readlink(each) for each in (process / "fd").iterdir()}

    links = opened(own)
    assert [links[number] for number in "01"] == ["/dev/null"] * 2
    assert not {link for link in links.values() if link.startswith("/")} - {"/dev/null"}
    sockets = {link for link in links.values() if link.startswith("socket:")}
    assert {links["3"], links["4"]} == sockets and not sockets & set(opened(routers).values())


def test_a_crashing_plugin_is_an_issue_and_others_are_ready(console, stopped_router):
    console.start()
    killed = set()

    def dies() -> bool:
        for each in processes(console):
            # One that nothing uses has no process.
            if "process" in each and each["process"] not in killed:
                killed.add(each["process"])
                os.kill(each["process"], signal.SIGKILL)
        return any(each["code"] == "plugin-paused" for each in console.json("/v1/issues")[1]["issues"])

    wait_until(dies, "a process pauses", stopped_router.process)
    paused = [each for each in processes(console) if each["state"] == "paused"]
    assert paused and all(each["crashes"] >= 5 and len(each["plugins"]) == 1 for each in paused)
    assert console.json("/healthz")[0] == 200
    assert console.json("/readyz") == (200, {"ready": True, "not_ready": []})


def test_a_missing_program_is_an_error_with_its_line(stopped_router):
    stopped_router.configuration["plugins"]["program"] = "nowhere/carillon-plugin-host"
    for run in [serve(stopped_router), carillon("check", "--config", stopped_router.configuration_file)]:
        assert run.returncode == 1 and "plugins.program: expected the program carillon-plugin-host" in run.stderr
        assert "nowhere/carillon-plugin-host is not a program" in run.stderr and "carillon.yaml:" in run.stderr
    stopped_router.configuration["plugins"]["program"] = str(built("carillon-plugin-host"))
    assert carillon("check", "--config", stopped_router.configuration_file).returncode == 0


def test_a_removed_isolation_key_error_shows_the_fix(stopped_router):
    stopped_router.configuration["plugins"]["isolation"] = "none"
    for run in [serve(stopped_router), carillon("check", "--config", stopped_router.configuration_file)]:
        assert run.returncode == 1 and "plugins.isolation: this key was removed: every plugin runs in its own process" in run.stderr
        assert "Remove the key" in run.stderr and "carillon.yaml:" in run.stderr


def test_files_of_the_configuration_need_not_be_open_to_the_process(stopped_router, lab):
    """The host reads them, and says what is wrong as the plugin would."""
    ios_block = stopped_router.configuration["apps"]["default"]["ios"]
    ios_block["key_file"] = "missing.p8"
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert check.returncode == 1
    missing = stopped_router.folder / "missing.p8"
    assert f"key_file: expected a file that can be read, {missing}: No such file or directory" in check.stderr
    assert "carillon.yaml:" in check.stderr and "apps.default.ios: " in check.stderr
    missing.write_bytes(b"secret" * 11_000)
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert f"key_file: expected a file of at most 65536 bytes, {missing} holds more" in check.stderr
    assert "secret" not in check.stderr


def compiled(router, name: str, source: str, tmp_path, library: str = ""):
    """A plugin in C in the router's folder, by default called after its platform."""
    library = library or f"{name}.so"
    file = tmp_path / f"{name}.c"
    file.write_text("#define _GNU_SOURCE\n#include <carillon/plugin.h>\n" + source + PLUGIN.replace("NAME", name))
    command = ["cc", "-std=c11", "-shared", "-fPIC", "-pthread", "-I", REPOSITORY / "include"]
    subprocess.run([*command, "-o", router.plugins / library, file], check=True)
    (router.plugins / library).chmod(0o755)
    router.configuration["apps"]["default"][name] = {}


PLUGIN = r"""
static void destroy(void *i) { (void)i; }
static const carillon_transport t = { .struct_size = sizeof t, .platform = CARILLON_STR("NAME"), .create = create,
    .destroy = destroy, .deliver = deliver };
static const carillon_transport *const ts[] = { &t };
static const carillon_plugin p = { .struct_size = sizeof p, .id = CARILLON_STR("org.example.NAME"),
    .version = CARILLON_STR("1"), .transports = ts, .transport_count = 1 };
const carillon_plugin *carillon_plugin_entry_v1(void) { return &p; }
"""

IDLE = r"""
static carillon_status deliver(void *i, uint64_t ticket, const carillon_registration *r, const carillon_notification *n) {
    (void)i, (void)ticket, (void)r, (void)n;
    return CARILLON_UNSUPPORTED;
}
"""


def test_plugin_stderr_is_in_the_log(console, stopped_router, tmp_path):
    source = IDLE + r"""
#include <stdio.h>
static carillon_status create(const carillon_host *h, carillon_str c, void **i, carillon_error *e) {
    (void)h, (void)c, (void)e, (void)i;
    fprintf(stderr, "a line of the plugin\nand \x1b[31m another");
    return CARILLON_OK;
}
"""
    compiled(stopped_router, "wordy", source, tmp_path)
    stopped_router.log_level = "debug"
    console.start()
    stopped_router.wait_for_log("a line of the plugin")
    stopped_router.stop()
    assert "\x1b" not in stopped_router.log.read_text()


def test_a_plugin_over_its_processor_limit_is_ended(console, stopped_router, lab, alice, bob, tmp_path):
    source = IDLE + r"""
#include <pthread.h>
static void *spin(void *x) { for (volatile int i = 0;; i++) (void)x; return NULL; }
static carillon_status create(const carillon_host *h, carillon_str c, void **i, carillon_error *e) {
    (void)h, (void)c, (void)e, (void)i;
    pthread_t thread;
    return pthread_create(&thread, NULL, spin, NULL) == 0 ? CARILLON_OK : CARILLON_FAILED;
}
"""
    compiled(stopped_router, "busy", source, tmp_path)
    stopped_router.configuration["plugins"]["limits"] = {"cpu_percent": 10}
    console.start()

    def busy() -> list[dict]:
        return [each for each in processes(console) if each["plugins"] == ["busy.so"] and each["crashes"] > 0]

    [process] = wait_until(busy, "the busy process is ended", stopped_router.process)
    assert "processor" in process["last_crash"]
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("one", alice))
    lab.accepted(1)


def test_a_client_certificate_is_presented_out_of_create(console, stopped_router, tmp_path, lab):
    certificate, key = Webhook._certificate(tmp_path)
    names = {"certificate": certificate, "key": key}
    source = "".join(f"static const char {name}[] = {json.dumps(file.read_text())};" for name, file in names.items())
    source += IDLE + r"""
#include <string.h>
static carillon_status create(const carillon_host *h, carillon_str c, void **i, carillon_error *e) {
    (void)c, (void)i;
    const carillon_client_certificates *s = h->query(h, (carillon_str)CARILLON_STR("carillon.client-certificate/1"));
    carillon_str word = CARILLON_STR("mine"), cert = { certificate, strlen(certificate) }, k = { key, strlen(key) };
    carillon_status status = s->present(h, word, cert, k, e);
    if (status != CARILLON_OK) return status;
    k.len -= 40;
    if (s->present(h, word, cert, k, e) != CARILLON_INVALID) return CARILLON_FAILED;
    h->log(h, CARILLON_WARNING, (carillon_str)CARILLON_STR("presented, and half a key refused"));
    return CARILLON_OK;
}
"""
    compiled(stopped_router, "certified", source, tmp_path)
    console.start()
    stopped_router.wait_for_log("presented, and half a key refused")


FRAGILE = r"""
#include <stdlib.h>
#include <string.h>
static const carillon_host *host;
static carillon_status create(const carillon_host *h, carillon_str c, void **i, carillon_error *e) {
    (void)c, (void)e;
    host = h, *i = &host;
    return CARILLON_OK;
}
static void fall(void *context) { if (context != NULL) END; }
static carillon_status fall_later(const char *way) {
    if (strcmp(way, "at once") == 0) fall(&host);
    uint64_t number;
    const carillon_timers *timers = host->query(host, (carillon_str)CARILLON_STR("carillon.timer/1"));
    return timers->start(host, 1, 0, fall, &host, &number);
}
static carillon_status deliver(void *i, uint64_t ticket, const carillon_registration *r, const carillon_notification *n) {
    (void)i, (void)r;
    if (memmem(n->body.ptr, n->body.len, "poison", 6) != NULL) return fall_later(WAY);
    carillon_outcome outcome = { .struct_size = sizeof outcome, .kind = CARILLON_DELIVERED };
    host->complete(host, ticket, &outcome);
    return CARILLON_OK;
}
"""


@pytest.mark.parametrize("end, way", [("abort()", "at once"), ("exit(0)", "at once"), ("abort()", "timer")])
def test_a_plugin_that_keeps_dying_rests_alone(console, stopped_router, lab, alice, bob, tmp_path, end, way):
    """It shares the process of the others at first."""
    router = stopped_router
    # By its name it comes with Carillon.
    name = "libCarillonMQTT.so"
    compiled(router, "fragile", f'#define END {end}\n#define WAY "{way}"\n' + FRAGILE, tmp_path, name)
    console.start()
    [process] = processes(console)
    assert name in process["plugins"] and "libCarillonAPNs.so" in process["plugins"]

    def process_of(name: str) -> dict:
        [found] = [each for each in processes(console) if name in each["plugins"]]
        return found

    def registration(number: int) -> dict:
        return alice.registration(router, ios(device_token()), device=f"phone{number}")

    fragile = {"platform": "fragile", "token": device_token(), "filters": ios("")["filters"], "mode": "alert"}
    with Socket(router) as socket:
        socket.publish(alice.registration(router, fragile, device="fragile"), registration(0))
        pushes = 0
        for number in range(1, 5):
            begin = time.monotonic()
            socket.publish(bob.note(f"poison {number}", alice))
            # Each of them registers at a time when the plugin dies.
            socket.publish(registration(number))
            pushes += number
            lab.accepted(pushes)
            assert time.monotonic() - begin < 5, number
        own, others = process_of(name), process_of("libCarillonAPNs.so")
        assert own["plugins"] == [name] and own["crashes"] > 1
        assert others["plugins"] == ["libCarillonAPNs.so"] and others["crashes"] == 1 and others["state"] == "running"

        killed = set()

        def rests() -> bool:
            own = process_of(name)
            if "process" in own and own["process"] not in killed:
                killed.add(own["process"])
                # It may have died of a message meanwhile.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(own["process"], signal.SIGKILL)
            return own["state"] == "paused"

        wait_until(rests, "the plugin rests", router.process)
        begin = time.monotonic()
        socket.publish(bob.note("harmless", alice), registration(5))
        lab.accepted(pushes + 5)
        assert time.monotonic() - begin < 5
    assert process_of("libCarillonAPNs.so")["crashes"] == 1


def test_an_uncheckable_registration_may_be_resent(console, stopped_router, lab, alice, bob):
    """Its plugin hangs."""
    router = stopped_router
    console.start()
    [process] = processes(console)
    registration = alice.registration(router, ios(device_token()))
    with Socket(router) as socket:
        os.kill(process["process"], signal.SIGSTOP)
        accepted, words = socket.offer(registration)
        assert not accepted and words.startswith("error: ") and words.endswith("try again later")
        os.kill(process["process"], signal.SIGCONT)
        socket.publish(registration, bob.message("hello", alice))
    lab.accepted(1)
