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
    status, answer = console.json("/api/plugins")
    assert status == 200 and answer["refused"] == []
    return answer["processes"]


def test_a_process_that_is_killed_is_started_again_and_pushes_go_on(console, stopped_router, lab, alice, bob):
    console.start()
    [process] = processes(console)
    assert process["plugins"] == sorted(stopped_router.plugin_names) and process["state"] == "running"
    assert process["deaths"] == 0 and process["confinement"]
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("one", alice))
        lab.accepted(1)
        os.kill(process["process"], signal.SIGKILL)
        socket.publish(bob.message("two", alice))
        lab.accepted(2)
    found = wait_until(
        lambda: [each for each in processes(console) if each["deaths"] == 1 and each["state"] == "running"],
        "the process runs again",
        stopped_router.process,
    )
    assert found[0]["process"] != process["process"] and "SIGKILL" in found[0]["last_death"]
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 0 and "ended      once" in listing.stdout and "SIGKILL" in listing.stdout
    metrics = console.ask("/metrics")[1]
    assert 'carillon_plugin_process_deaths_total{plugin="libCarillonAPNs.so"} 1\n' in metrics
    assert console.json("/readyz")[0] == 200


def test_a_process_inherits_nothing(console, stopped_router, monkeypatch):
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


def test_one_that_dies_again_and_again_is_an_issue_and_others_are_ready(console, stopped_router):
    console.start()
    killed = set()

    def dies() -> bool:
        for each in processes(console):
            # One that nothing uses has no process.
            if "process" in each and each["process"] not in killed:
                killed.add(each["process"])
                os.kill(each["process"], signal.SIGKILL)
        return any(each["what"] == "plugin-paused" for each in console.json("/v1/issues")[1]["issues"])

    wait_until(dies, "a process pauses", stopped_router.process)
    paused = [each for each in processes(console) if each["state"] == "paused"]
    assert paused and all(each["deaths"] >= 5 and len(each["plugins"]) == 1 for each in paused)
    assert console.json("/healthz")[0] == 200
    assert console.json("/readyz") == (200, {"ready": True, "not_ready": []})


@pytest.mark.parametrize("isolation", ["process", {"default": "none", "libCarillonAPNs.so": "process"}, "none"])
def test_an_operator_says_where_plugins_run(console, stopped_router, lab, alice, bob, isolation):
    stopped_router.configuration["plugins"]["isolation"] = isolation
    console.start()
    expected = {"process": [[name] for name in sorted(stopped_router.plugin_names)], "none": []}
    found = sorted(each["plugins"] for each in processes(console))
    assert found == (expected[isolation] if isinstance(isolation, str) else [["libCarillonAPNs.so"]])
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("hello", alice))
    lab.accepted(1)


def test_a_missing_program_is_a_mistake_with_its_line(stopped_router):
    stopped_router.configuration["plugins"]["program"] = "nowhere/carillon-plugin-host"
    for run in [serve(stopped_router), carillon("check", "--config", stopped_router.configuration_file)]:
        assert run.returncode == 1 and "plugins.program: expected the program carillon-plugin-host" in run.stderr
        assert "nowhere/carillon-plugin-host is none" in run.stderr and "carillon.yaml:" in run.stderr
    stopped_router.configuration["plugins"]["program"] = str(built("carillon-plugin-host"))
    assert carillon("check", "--config", stopped_router.configuration_file).returncode == 0


def test_check_names_plugins_that_are_not_there(stopped_router):
    stopped_router.configuration["plugins"]["isolation"] = {"libCarillonAPN.so": "none"}
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert check.returncode == 1
    assert "there is no plugin libCarillonAPN.so in the folders; did you mean 'libCarillonAPNs.so'?" in check.stderr


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


def compiled(router, name: str, source: str, tmp_path):
    """A plugin in C in the router's folder."""
    file = tmp_path / f"{name}.c"
    file.write_text("#define _GNU_SOURCE\n#include <carillon/plugin.h>\n" + source + PLUGIN.replace("NAME", name))
    command = ["cc", "-std=c11", "-shared", "-fPIC", "-pthread", "-I", REPOSITORY / "include"]
    subprocess.run([*command, "-o", router.plugins / f"{name}.so", file], check=True)
    (router.plugins / f"{name}.so").chmod(0o755)
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


def test_what_a_plugin_writes_to_stderr_is_in_the_log(console, stopped_router, tmp_path):
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


def test_a_plugin_that_takes_too_much_of_a_processor_is_ended(console, stopped_router, lab, alice, bob, tmp_path):
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
        return [each for each in processes(console) if each["plugins"] == ["busy.so"] and each["deaths"] > 0]

    [process] = wait_until(busy, "the busy process is ended", stopped_router.process)
    assert "processor" in process["last_death"]
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
static void answered(void *context, const carillon_http_response *response) { (void)response, fall(context); }
static void closed(void *context, carillon_str failure) { (void)failure, fall(context); }
static carillon_status fall_later(const char *way) {
    if (strcmp(way, "at once") == 0) fall(&host);
    uint64_t number;
    if (strcmp(way, "timer") == 0) {
        const carillon_timers *timers = host->query(host, (carillon_str)CARILLON_STR("carillon.timer/1"));
        return timers->start(host, 1, 0, fall, &host, &number);
    }
    if (strcmp(way, "stream") == 0) {
        const carillon_streams *streams = host->query(host, (carillon_str)CARILLON_STR("carillon.stream/1"));
        carillon_stream_target target = { .struct_size = sizeof target, .host = CARILLON_STR("127.0.0.1"), .port = 1 };
        carillon_stream_events events = { .struct_size = sizeof events, .closed = closed };
        return streams->open(host, &target, &events, &host, &number);
    }
    carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
        .url = CARILLON_STR("http://127.0.0.1:1/") };
    return host->http_request(host, &request, answered, &host);
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
    compiled(router, "fragile", f'#define END {end}\n#define WAY "{way}"\n' + FRAGILE, tmp_path)
    router.configuration["plugins"]["isolation"] = {"fragile.so": "shared"}
    console.start()
    [process] = processes(console)
    assert "fragile.so" in process["plugins"] and "libCarillonAPNs.so" in process["plugins"]

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
        own, others = process_of("fragile.so"), process_of("libCarillonAPNs.so")
        assert own["plugins"] == ["fragile.so"] and own["deaths"] > 1
        assert others["plugins"] == ["libCarillonAPNs.so"] and others["deaths"] == 1 and others["state"] == "running"

        killed = set()

        def rests() -> bool:
            own = process_of("fragile.so")
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
    assert process_of("libCarillonAPNs.so")["deaths"] == 1


def test_a_registration_that_cannot_be_checked_now_may_come_again(console, stopped_router, lab, alice, bob):
    """Its plugin hangs."""
    router = stopped_router
    router.configuration["plugins"]["isolation"] = "process"
    console.start()
    [process] = [each for each in processes(console) if each["plugins"] == ["libCarillonAPNs.so"]]
    registration = alice.registration(router, ios(device_token()))
    with Socket(router) as socket:
        os.kill(process["process"], signal.SIGSTOP)
        accepted, words = socket.offer(registration)
        assert not accepted and words.startswith("error: ") and words.endswith("try again later")
        os.kill(process["process"], signal.SIGCONT)
        socket.publish(registration, bob.message("hello", alice))
    lab.accepted(1)


@pytest.mark.parametrize(
    "end, way",
    [
        ("abort()", "at once"),
        ("exit(0)", "at once"),
        ("*(volatile int *)0 = 1", "answer"),
        ("abort()", "timer"),
        ("abort()", "stream"),
    ],
)
def test_what_ends_the_router_twice_is_kept_from_a_plugin_inside_it(
    console, stopped_router, lab, alice, bob, tmp_path, end, way
):
    """The router dies with the plugin; the second start goes on without the message that it died of."""
    router = stopped_router
    # Swift's own report of a crash takes seconds.
    router.environment["SWIFT_BACKTRACE"] = "enable=no"
    compiled(router, "fragile", f'#define END {end}\n#define WAY "{way}"\n' + FRAGILE, tmp_path)
    router.configuration["plugins"]["isolation"] = "none"
    console.start()
    fragile = {"platform": "fragile", "token": device_token(), "filters": ios("")["filters"], "mode": "alert"}
    with Socket(router) as socket:
        socket.publish(
            alice.registration(router, fragile, device="fragile"),
            alice.registration(router, ios(device_token()), device="phone"),
        )
        socket.send(["EVENT", bob.note("poison", alice)])
        router.process.wait(timeout=30)
    router.spawn()
    router.process.wait(timeout=30)

    console.start()
    router.wait_for_log("plugin-crashed")
    with Socket(router) as socket:
        socket.publish(bob.note("harmless", alice))
    router.wait_for_log("outcome=delivered")
    lab.accepted(2)
    # Another plugin may have been at work when the router ended.
    [process] = [each for each in processes(console) if each["plugins"] == ["fragile.so"]]
    assert process["set_aside"] == 1 and process["deaths"] == 2
    assert "the router itself ended while it was in" in process["last_death"]


# Ends whatever process it is in, where it is given the word.
FRAGILE_EVERYWHERE = r"""
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>
static void look(carillon_str text) { if (memmem(text.ptr, text.len, "poison", 6) != NULL) abort(); }
static char farewell;
static carillon_status create(const carillon_host *h, carillon_str config, void **i, carillon_error *e) {
    (void)h, (void)e;
    look(config);
    *i = memmem(config.ptr, config.len, "farewell", 8) != NULL ? &farewell : NULL;
    return CARILLON_OK;
}
static carillon_status validate(void *i, const carillon_registration *registration, carillon_error *e) {
    (void)i, (void)e;
    look(registration->token);
    return CARILLON_OK;
}
static carillon_status deliver(void *i, uint64_t ticket, const carillon_registration *r, const carillon_notification *n) {
    (void)i, (void)ticket, (void)r, (void)n;
    return CARILLON_UNSUPPORTED;
}
static carillon_status decide(void *i, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)i, (void)verdict;
    look(call->event);
    return CARILLON_OK;
}
static void destroy(void *i) { if (i == &farewell) abort(); }
static const carillon_transport t = { .struct_size = sizeof t, .platform = CARILLON_STR("fragile"), .create = create,
    .destroy = destroy, .validate = validate, .deliver = deliver };
static const carillon_transport *const ts[] = { &t };
static const carillon_filter f = { .struct_size = sizeof f, .name = CARILLON_STR("fragile"), .create = create,
    .destroy = destroy, .decide = decide };
static const carillon_filter *const fs[] = { &f };
static const carillon_plugin p = { .struct_size = sizeof p, .id = CARILLON_STR("org.example.fragile"),
    .version = CARILLON_STR("1"), .transports = ts, .transport_count = 1, .filters = fs, .filter_count = 1 };
const carillon_plugin *carillon_plugin_entry_v1(void) { return &p; }
"""


@pytest.fixture
def fragile_router(stopped_router, tmp_path):
    """One that runs the plugin inside itself."""
    (tmp_path / "fragile.c").write_text("#define _GNU_SOURCE\n" + FRAGILE_EVERYWHERE)
    library = stopped_router.plugins / "fragile.so"
    command = ["cc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", "-I", REPOSITORY / "include"]
    subprocess.run([*command, "-o", library, tmp_path / "fragile.c"], check=True)
    library.chmod(0o755)
    stopped_router.configuration["plugins"]["isolation"] = {"fragile.so": "none"}
    # Swift's own report of a crash takes seconds.
    stopped_router.environment["SWIFT_BACKTRACE"] = "enable=no"
    stopped_router.configuration["apps"]["default"]["fragile"] = {}
    return stopped_router


def test_a_configuration_that_ended_the_router_twice_is_left_out(fragile_router, lab, alice, bob):
    fragile_router.configuration["apps"]["default"]["fragile"] = {"key": "poison"}
    for _ in range(2):
        fragile_router.spawn()
        fragile_router.process.wait(timeout=30)
    router = fragile_router.start()
    router.wait_for_log("the router ended twice while the plugin took this configuration")
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), bob.message("hello", alice))
    lab.accepted(1)


def test_a_registration_that_ended_the_router_twice_is_refused(fragile_router, lab, alice, bob):
    registration = {"platform": "fragile", "token": "poison", "filters": ios("")["filters"]}
    for _ in range(2):
        router = fragile_router.start()
        event = alice.registration(router, registration)
        with Socket(router) as socket:
            socket.send(["EVENT", event])
            router.process.wait(timeout=30)
    router = fragile_router.start()
    with Socket(router) as socket:
        accepted, words = socket.offer(event)
        assert not accepted and "the router ended twice while the plugin checked this registration" in words
        socket.publish(alice.registration(router, ios(device_token())), bob.message("hello", alice))
    lab.accepted(1)


def test_an_event_that_ended_the_router_twice_goes_by_on_error(fragile_router, lab, alice, bob):
    """The event is not kept when the router ends, so its sender offers it again."""
    fragile_router.configuration["filters"] = {"fragile": {}}
    router = fragile_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    note = bob.note("poison", alice)
    for _ in range(2):
        with Socket(router) as socket:
            socket.send(["EVENT", note])
            router.process.wait(timeout=30)
        router.start()
    with Socket(router) as socket:
        socket.publish(note)
    lab.accepted(1)


def test_a_plugin_that_ends_the_router_at_its_own_end_is_named(fragile_router, lab, alice, bob):
    """Nothing is kept from it: it is at its end anyway. What was sent is not sent again."""
    block = fragile_router.configuration["apps"]["default"]["fragile"]
    block["key"] = "farewell"
    router = fragile_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), bob.message("one", alice))
    lab.accepted(1)
    router.process.send_signal(signal.SIGTERM)
    assert router.process.wait(timeout=30) == -signal.SIGABRT

    def named() -> list[str]:
        lines = [line for line in router.log_text.splitlines() if "a plugin was at work in the router's own process" in line]
        return [line for line in lines if "plugin=fragile.so" in line and "function=destroy" in line]

    assert named() == []
    router.start()
    assert len(named()) == 1
    with Socket(router) as socket:
        socket.publish(bob.message("two", alice))
    lab.accepted(2)
    block["key"] = "another"
    router.configuration_file  # writes it
    router.process.send_signal(signal.SIGHUP)
    assert router.process.wait(timeout=30) == -signal.SIGABRT

    router.start()
    assert len(named()) == 2
    with Socket(router) as socket:
        socket.publish(bob.message("three", alice))
    lab.accepted(3)
    assert router.stop() == 0
