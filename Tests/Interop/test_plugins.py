"""Plugins that other people wrote: broken ones harm nobody, and one in C delivers."""

import datetime
import http.server
import json
import shutil
import ssl
import subprocess
import threading
from queue import Queue

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from console import Console
from nostr import ALL_SIGNALS, Socket, device_token, ios
from programs import PATIENCE, REPOSITORY, carillon, free_port

ENTRY = '#include <stddef.h>\n__attribute__((visibility("default"))) const void *{}(void) {{ return {}; }}\n'


def compile_c(source: str, target, folder):
    file = folder / (target.stem + ".c")
    file.write_text(source)
    cc(file, target)


def cc(source, target):
    subprocess.run(
        ["cc", "-std=c11", "-shared", "-fPIC", "-I", REPOSITORY / "include", "-o", target, source], check=True
    )
    target.chmod(0o755)


@pytest.fixture
def broken_plugins(stopped_router, tmp_path) -> dict:
    """Fills the router's folder; a piece of the reason by path."""
    folder = stopped_router.plugins
    sources = tmp_path / "sources"
    sources.mkdir()
    reasons = {}

    def broken(name: str, reason: str):
        path = folder / name
        reasons[str(path)] = reason
        return path

    broken("text.so", "is not an ELF file").write_text("I am a plugin, honestly.\n")
    broken("empty.so", "is empty").touch()
    compile_c(
        ENTRY.format("carillon_entry", "NULL"), broken("symbol.so", "does not export carillon_plugin_entry_v1"), sources
    )
    compile_c(ENTRY.format("carillon_plugin_entry_v1", "NULL"), broken("null.so", "returned NULL"), sources)
    compile_c(ENTRY.format("carillon_plugin_entry_v2", "NULL"), broken("newer.so", "major version 2"), sources)
    compile_c(
        "extern int nowhere(void);\n" + ENTRY.format("carillon_plugin_entry_v1", "(const void *)(size_t)nowhere()"),
        broken("unlinked.so", "nowhere"),
        sources,
    )
    compile_c(
        "#include <carillon/plugin.h>\n"
        'static const carillon_transport t = { .struct_size = sizeof t, .platform = CARILLON_STR("pager") };\n'
        "static const carillon_transport *const ts[] = { &t };\n"
        'static const carillon_plugin p = { .struct_size = sizeof p, .id = CARILLON_STR("org.example.pager"),\n'
        '    .version = CARILLON_STR("1"), .transports = ts, .transport_count = 1 };\n'
        "const carillon_plugin *carillon_plugin_entry_v1(void) { return &p; }\n",
        broken("hollow.so", "lacks the required function"),
        sources,
    )
    good = folder / "libCarillonAPNs.so"
    writable = broken("writable.so", "is writable by group or others")
    shutil.copy(good, writable)
    writable.chmod(0o777)
    cut = broken("cut.so", "")
    cut.write_bytes(good.read_bytes()[:100_000])
    cut.chmod(0o755)
    second = broken("zz-second.so", "taken by")
    shutil.copy(good, second)
    second.chmod(0o755)
    return reasons


def test_broken_plugins_are_named_with_their_reason_and_the_router_delivers(
    stopped_router, broken_plugins, lab, alice, bob
):
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        socket.publish(bob.message("hello", alice))
    lab.accepted(1)

    lines = [line for line in router.log_text.splitlines() if "Refused a plugin" in line]
    assert len(lines) == len(broken_plugins)
    for path, reason in broken_plugins.items():
        assert any(path in line and reason in line for line in lines), path


def test_the_listing_names_every_plugin_and_every_refusal(stopped_router, broken_plugins):
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 1
    for path, reason in broken_plugins.items():
        _, _, after = listing.stdout.partition(f"refused {path}\n")
        assert after, f"{path} is not listed as refused"
        assert reason in after.splitlines()[0]
    platforms = [line.split()[1] for line in listing.stdout.splitlines() if line.strip().startswith("platform ")]
    assert sorted(platforms) == ["android", "gotify", "ios", "ntfy", "unifiedpush", "web"]


def test_a_refused_plugin_shows_in_the_exit_status(stopped_router):
    router = stopped_router
    config = ["--config", router.configuration_file]
    console = Console(router, port=free_port()).start()
    trial = ["rules", "try", "--fixture", "reply", "--platform", "ios", *config]
    for command in [["check", *config], trial, ["reload", *config]]:
        run = carillon(*command)
        assert run.returncode == 0, run.stderr
    (router.plugins / "text.so").write_text("I am a plugin, honestly.\n")
    for command in [["check", *config], trial, ["reload", *config]]:
        run = carillon(*command)
        assert run.returncode == 1, command
        assert "text.so" in run.stderr and "is not an ELF file" in run.stderr, run.stderr
    # It keeps nothing else from being in force.
    status, answer = console.json("/v1/reload", "POST")
    assert status == 200 and answer["reloaded"] and "text.so" in answer["refused"][0]


def test_a_plugin_that_exits_at_its_entry_ends_no_command_and_no_router(stopped_router, tmp_path, lab, alice, bob):
    router = stopped_router
    config = ["--config", router.configuration_file]
    Console(router, port=free_port()).start()
    ends = {
        "aborts.so": "const void *carillon_plugin_entry_v1(void) { abort(); }\n",
        "exits.so": "const void *carillon_plugin_entry_v1(void) { exit(0); }\n",
        "early.so": "__attribute__((constructor)) static void begin(void) { abort(); }\n"
        "const void *carillon_plugin_entry_v1(void) { return 0; }\n",
    }
    for name, source in ends.items():
        compile_c("#include <stdlib.h>\n" + source, router.plugins / name, tmp_path)
    trial = ["rules", "try", "--fixture", "reply", "--platform", "ios", *config]
    for command in [["check", *config], ["plugin", "list", *config], trial, ["reload", *config]]:
        run = carillon(*command)
        assert run.returncode == 1, (command, run.stdout, run.stderr)
        for name in ends:
            assert name in run.stdout + run.stderr, (command, run.stdout, run.stderr)

    def push(count: int):
        with Socket(router) as socket:
            socket.publish(alice.registration(router, ios(device_token())), bob.message("hello", alice))
        lab.accepted(count)

    push(1)
    router.restart()
    push(2)
    said = [line for line in router.log_text.splitlines() if "Refused a plugin" in line]
    assert all(any(name in line for line in said) for name in ends)
    assert router.stop() == 0


def test_a_folder_of_good_plugins_is_listed_without_complaint(stopped_router):
    listing = carillon("plugin", "list", "--folder", stopped_router.plugins)
    assert (listing.returncode, listing.stderr) == (0, "")
    assert "refused" not in listing.stdout


def test_plugins_in_a_folder_that_others_may_write_to_are_refused(stopped_router):
    stopped_router.plugins.chmod(0o777)
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 1
    assert "is writable by group or others" in listing.stdout
    assert "platforms" not in listing.stdout


def test_a_plugin_that_differs_from_its_pin_is_refused(stopped_router):
    stopped_router.configuration["plugins"]["sha256"] = {"libCarillonAPNs.so": "0" * 64}
    listing = carillon("plugin", "list", "--config", stopped_router.configuration_file)
    assert listing.returncode == 1
    assert "SHA-256" in listing.stdout


class Webhook:
    """An HTTPS server of Python's own, with a certificate of its own."""

    def __init__(self, folder):
        self.received: Queue = Queue()
        self.statuses: list[int] = []
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                webhook.received.put((self.path, self.headers["content-type"], json.loads(body)))
                self.send_response(webhook.statuses.pop(0) if webhook.statuses else 204)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.certificate, key = self._certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"https://localhost:{self.server.server_address[1]}/hooks/alice"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def _certificate(folder):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
        now = datetime.datetime.now(datetime.timezone.utc)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        certificate_file, key_file = folder / "webhook.pem", folder / "webhook.key"
        certificate_file.write_bytes(certificate.public_bytes(Encoding.PEM))
        key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return certificate_file, key_file


@pytest.fixture
def webhook(tmp_path):
    webhook = Webhook(tmp_path)
    yield webhook
    webhook.stop()


@pytest.fixture
def router_with_webhooks(stopped_router, lab, webhook, tmp_path):
    router = stopped_router
    cc(REPOSITORY / "contrib/examples/plugins/webhook.c", router.plugins / "webhook.so")
    roots = tmp_path / "roots.pem"
    roots.write_bytes(lab.ca_file.read_bytes() + b"\n" + webhook.certificate.read_bytes())
    router.configuration["http"]["ca_file"] = str(roots)
    router.configuration["apps"]["default"]["webhook"] = {}
    return router.start()


def hook(url: str, **more) -> dict:
    return {"platform": "webhook", "token": url, "filters": ALL_SIGNALS, **more}


def test_a_third_partys_platform_is_known_like_a_built_in_one(stopped_router, tmp_path):
    router = stopped_router
    cc(REPOSITORY / "contrib/examples/plugins/webhook.c", router.plugins / "webhook.so")
    router.configuration["apps"]["default"]["webhook"] = {}
    config = ["--config", router.configuration_file]

    schema = carillon("rules", "schema", *config)
    properties = json.loads(schema.stdout)["$defs"]["rule"]["properties"]
    assert {"webhook", "apns"} <= properties.keys() and "tone" in properties["webhook"]["properties"]
    assert "webhook" in carillon("check", "--schema", *config).stdout

    rules = tmp_path / "own.yaml"
    rules.write_text("version: 1\nrules:\n  - title: hi\n    webhook: { ton: chime }\n")
    check = carillon("rules", "check", rules, *config)
    assert check.returncode == 1
    assert "own.yaml:4:16: rules[0].webhook: unknown key 'ton'; did you mean 'tone'?" in check.stdout + check.stderr

    rules.write_text("version: 1\nrules:\n  - title: hi\n    webhook: { tone: chime }\n")
    shown = carillon("rules", "try", "--rules", rules, "--fixture", "reply", "--platform", "webhook", *config)
    assert shown.returncode == 0 and "POST https://hook.example.com/sample" in shown.stdout


def test_the_example_in_c_delivers_to_a_server_in_python(router_with_webhooks, webhook, alice, bob):
    router = router_with_webhooks
    note = alice.note("root")
    reply = bob.reply('She said "no\\yes"\n\tand left', note)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, hook(webhook.url, mode="alert")), note, reply)
    path, content_type, message = webhook.received.get(timeout=PATIENCE)
    assert path == "/hooks/alice"
    assert content_type == "application/json"
    delivery = message.pop("id")
    assert delivery
    assert message == {
        "count": 1,
        "signal": "reply",
        "title": f"💬 {bob.hex[:8]}... sent you a note",
        "body": 'She said "no\\yes"\n\tand left',
    }


def test_the_example_in_c_is_retried_and_tells_when_a_device_is_gone(router_with_webhooks, webhook, lab, alice, bob):
    router = router_with_webhooks
    webhook.statuses = [503, 204, 410]
    with Socket(router) as socket:
        socket.publish(
            alice.registration(router, hook(webhook.url), device="hook"),
            alice.registration(router, ios(device_token()), device="phone"),
        )
        socket.publish(bob.message("one", alice))
        first, again = (webhook.received.get(timeout=PATIENCE)[2] for _ in range(2))
        assert first == again
        assert first == {"count": 1, "id": first["id"], "signal": "dm"}
        socket.publish(bob.message("two", alice))
        assert webhook.received.get(timeout=PATIENCE)[2]["id"] != first["id"]
        router.wait_for_log("outcome=gone")
        socket.publish(bob.message("three", alice))
    lab.accepted(3)
    assert router.stop() == 0
    assert webhook.received.empty()


def test_the_example_in_c_explains_refused_registrations(router_with_webhooks, alice):
    router = router_with_webhooks
    with Socket(router) as socket:
        answer = socket.offer(alice.registration(router, hook("ftp://example.com/")))
    assert not answer[0]
    assert answer[1].startswith("invalid: ")
    assert "an https:// URL" in answer[1]
