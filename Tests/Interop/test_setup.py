"""`carillon setup`: at a terminal, which is played here (pty(7)), and from answers files."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import yaml

from broker import Broker, PASSWORD as BROKER_PASSWORD, USERNAME as BROKER_USERNAME
from lab import Lab
from mail import MailServer, PASSWORD as MAIL_PASSWORD, USERNAME as MAIL_USERNAME
from nostr import Socket, device_token, ios
from programs import PATIENCE, built, carillon
from router import Router
from test_systemd import complaints_about_the_unit
from test_telegram import TOKEN, BotAPI


class Dialogue:
    """A program at a terminal of its own."""

    def __init__(self, *arguments, cwd: Path):
        self.seen = ""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(cwd)
            os.environ["HOME"] = str(cwd)
            os.execv(built("carillon"), ["carillon", *map(str, arguments)])

    def expect(self, text: str):
        """Waits until the program said this after what was expected before."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} does not come after {self.seen!r}"
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    data = os.read(self.terminal, 65536)
                except OSError:
                    data = b""
                assert data, f"it ended before {text!r}: {self.seen!r}"
                self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        found, self.seen = self.seen.split(text, 1)
        return found

    def say(self, text: str):
        os.write(self.terminal, (text + "\n").encode())

    def end(self) -> tuple[int, str]:
        """Its status and its last words."""
        while True:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                break
            if not data:
                break
            self.seen += data.decode(errors="replace")
        _, status = os.waitpid(self.process, 0)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status), self.seen


def answers(lab: Lab, folder: Path, **more) -> dict:
    """For a router at this lab."""
    return {
        "run": "hand",
        "folder": str(folder),
        "listen": "127.0.0.1:0",
        "monitoring": "no",
        "services": ["ios", "android", "web", "unifiedpush", "ntfy"],
        "ios": {
            "topic": lab.ios["topic"],
            "team_id": lab.ios["team_id"],
            "key_id": lab.ios["key_id"],
            "key_file": lab.ios["key_file"],
            "base_url": lab.ios["base_url"],
        },
        "android": {"service_account": lab.android["service_account"], "base_url": lab.android["base_url"]},
        "web": {"subject": "mailto:ops@example.org"},
        "rules": "social",
        "ca_file": str(lab.ca_file),
        "allow_private": ["127.0.0.0/8", "::1/128"],
        **more,
    }


def run(tmp_path: Path, given: dict, *options) -> subprocess.CompletedProcess:
    file = tmp_path / "answers.yaml"
    file.write_text(json.dumps(given, indent=1))
    return carillon("setup", "--answers", file, *options, cwd=tmp_path)


def test_from_answers_to_a_router_that_pushes(tmp_path, lab, alice, bob):
    """The whole story: answers, credentials that the push services accept, a test notification, a router that runs."""
    folder = tmp_path / "router"
    topic_server = lab.endpoint("x").rsplit("/", 1)[0]
    given = answers(lab, folder, url="wss://notify.example.com", test_push=topic_server)
    result = run(tmp_path, given)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "no errors" in result.stdout
    assert "ios: accepted" in result.stdout and "android: accepted" in result.stdout, result.stdout
    assert f"sent: {topic_server} took it" in result.stdout, result.stdout
    for name in ["carillon.yaml", "rules.yaml", "nginx.conf", "Caddyfile"]:
        assert (folder / name).stat().st_mode & 0o777 == 0o644
    for name in ["carillon.key", "vapid.pem"]:
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    assert (folder / "rules.yaml").read_text() == (
        Path(__file__).parents[2] / "contrib/examples/rules/social.yaml"
    ).read_text()
    web_servers_take(folder, tmp_path)
    key = carillon("keys", "show", folder / "carillon.key").stdout.split()[-1]
    assert key in result.stdout

    # A second run changes nothing; other answers are refused unless --overwrite is given, and keys stay in any case.
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = run(tmp_path, given, "--offline")
    assert again.returncode == 0 and "all files are up to date" in again.stdout, again.stdout + again.stderr
    given["url"] = "wss://other.example.com"
    refused = run(tmp_path, given, "--offline")
    assert refused.returncode == 1 and "--overwrite" in refused.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert run(tmp_path, given, "--offline", "--overwrite").returncode == 0
    assert "other.example.com" in (folder / "carillon.yaml").read_text()
    assert {(folder / name).read_bytes() for name in ["carillon.key", "vapid.pem"]} == {
        before["carillon.key"],
        before["vapid.pem"],
    }

    router = Router(tmp_path / "unused", lab)
    router.folder = folder
    lab.forget()
    process = subprocess.Popen(
        [built("carillon"), "serve", "--config", folder / "carillon.yaml", "--port-file", folder / "port"],
        stdout=router.log.open("ab"),
        stderr=subprocess.STDOUT,
    )
    try:
        router.process = process
        router.wait_for_port()
        with Socket(router) as socket:
            socket.publish(alice.registration(router, ios(device_token())), bob.message("hello", alice))
        lab.accepted(1, "apns")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def web_servers_take(folder: Path, scratch: Path):
    """Where nginx and Caddy are installed, they say whether these are configurations."""
    if shutil.which("caddy"):
        words = ["caddy", "validate", "--adapter", "caddyfile", "--config", folder / "Caddyfile"]
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"HOME": str(scratch)})
        assert done.returncode == 0, done.stderr
    if shutil.which("nginx"):
        certificate = scratch / "certificate.pem"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        words += ["-subj", "/CN=notify.example.com", "-keyout", certificate, "-out", scratch / "public.pem"]
        subprocess.run(words, check=True, capture_output=True)
        site = (folder / "nginx.conf").read_text()
        site = re.sub(r"/etc/\S*privkey.pem", str(certificate), re.sub(r"/etc/\S*fullchain.pem", str(scratch / "public.pem"), site))
        site = re.sub(r"listen (\[::\]:)?443", r"listen \g<1>8443", site)
        (scratch / "site.conf").write_text(site.replace("127.0.0.1:0;", "127.0.0.1:7447;"))
        whole = f"pid {scratch}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{ access_log off; include {scratch}/site.conf; }}\n"
        (scratch / "nginx.conf").write_text(whole)
        done = subprocess.run(["nginx", "-t", "-c", scratch / "nginx.conf"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_wrong_credentials_are_found(tmp_path, lab):
    """A key that Apple does not know. The files are there, to be corrected."""
    folder = tmp_path / "router"
    other = tmp_path / "other.p8"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", other], check=True
    )
    other.chmod(0o600)
    given = answers(lab, folder, services=["ios"])
    given.pop("android"), given.pop("web")
    given["ios"]["key_file"] = str(other)
    result = run(tmp_path, given)
    assert result.returncode == 2, result.stdout + result.stderr
    assert "ios: REFUSED" in result.stdout and "invalid-provider-token" in result.stdout, result.stdout
    assert (folder / "carillon.yaml").exists() and (folder / "carillon.key").exists()


def kept(path: Path, text: str) -> str:
    """A file with a secret."""
    path.touch(mode=0o600)
    path.write_text(text)
    return str(path)


def services_of_ones_own(tmp_path, lab, mail, broker, bot, mail_password=MAIL_PASSWORD, **more) -> dict:
    """Answers for e-mail, MQTT, Telegram, webhooks and services by requests; nothing but these."""
    secrets = "pushover.token=an-application\nmatrix.token=syt_abc\n"
    return {
        "run": "hand",
        "folder": str(tmp_path / "router"),
        "url": "wss://notify.example.com",
        "listen": "127.0.0.1:0",
        "services": ["email", "telegram", "mqtt", "webhook", "http"],
        "email": {
            "server": "localhost",
            "port": mail.port,
            "security": "starttls",
            "authority_file": str(broker.authority.file),
            "username": MAIL_USERNAME,
            "password_file": kept(tmp_path / "smtp.password", mail_password + "\n"),
            "from": "push@example.org",
        },
        "telegram": {
            "bot": "@carillon_bot", "token_file": kept(tmp_path / "bot.token", TOKEN + "\n"), "base_url": bot.server.url,
        },
        "mqtt": {
            "server": "localhost",
            "port": broker.port,
            "authority_file": str(broker.authority.file),
            "username": BROKER_USERNAME,
            "password_file": kept(tmp_path / "mqtt.password", BROKER_PASSWORD + "\n"),
        },
        "webhook": {"url": "https://app.example.com/hook"},
        "http": {
            "services": ["pushover", "slack", "matrix"],
            "matrix_server": "https://matrix.example.net",
            "secrets_file": kept(tmp_path / "services.secrets", secrets),
        },
        "ca_file": str(lab.ca_file),
        "allow_private": ["127.0.0.0/8", "::1/128"],
        **more,
    }


@pytest.fixture
def own_servers(tmp_path):
    broker = Broker(tmp_path / "broker")
    mail = MailServer("starttls", broker.authority.server("localhost"), login=True)
    bot = BotAPI()
    yield {"mail": mail, "broker": broker, "bot": bot}
    broker.stop()
    mail.stop()
    bot.server.stop()


def test_further_services_accept_the_credentials(tmp_path, lab, own_servers):
    given = services_of_ones_own(tmp_path, lab, **own_servers)
    result = run(tmp_path, given)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "no errors" in result.stdout
    for platform in ["email", "telegram", "mqtt"]:
        assert f"{platform}: accepted" in result.stdout, result.stdout
    assert not own_servers["mail"].letters and not own_servers["bot"].calls("sendMessage")
    folder = tmp_path / "router"
    secret = folder / "webhook.secrets"
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=\n", secret.read_text())
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    web_servers_take(folder, tmp_path)
    written = "".join(path.read_text() for path in folder.iterdir() if path != secret and path.suffix != ".key")
    for password in [MAIL_PASSWORD, BROKER_PASSWORD, TOKEN, "an-application"]:
        assert password not in written and password not in result.stdout + result.stderr
    # The same question, later, by the command that setup names.
    asked = carillon("push", "--config", folder / "carillon.yaml", "telegram", "check")
    assert asked.returncode == 0 and asked.stdout == "accepted: @carillon_bot\n", asked.stdout + asked.stderr
    # Nothing is made anew the second time.
    before = secret.read_text()
    again = run(tmp_path, given, "--offline")
    assert again.returncode == 0 and "all files are up to date" in again.stdout, again.stdout + again.stderr
    assert secret.read_text() == before


def test_wrong_credentials_for_further_services_are_reported(tmp_path, lab, own_servers):
    given = services_of_ones_own(tmp_path, lab, mail_password="wrong", **own_servers)
    kept(tmp_path / "bot.token", "123456789:" + "a" * 35 + "\n")
    own_servers["broker"].stop()
    result = run(tmp_path, given)
    assert result.returncode == 2, result.stdout + result.stderr
    assert re.search(r"email: REFUSED \(bad-credentials \(535\)\)", result.stdout), result.stdout
    assert re.search(r"telegram: REFUSED \(bad-bot-token \(401\)\)", result.stdout), result.stdout
    assert re.search(r"mqtt: could not be asked \(.*try later: \S+carillon push --config \S+ mqtt check", result.stdout)
    assert "did not run the command" not in result.stdout
    asked = carillon("push", "--config", tmp_path / "router/carillon.yaml", "email", "check")
    assert asked.returncode == 1 and "refused: bad-credentials (535)" in asked.stderr


def test_further_services_under_systemd(tmp_path, lab, own_servers):
    folder, state = tmp_path / "etc", tmp_path / "state"
    given = services_of_ones_own(tmp_path, lab, **own_servers, run="service", folder=str(folder), state=str(state))
    result = run(tmp_path, given)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "email: accepted" in result.stdout, result.stdout
    secret = folder / "secrets/webhook.secrets"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600 and stat.S_IMODE(secret.parent.stat().st_mode) == 0o700
    drop_in = (folder / "systemd.conf").read_text()
    for name, path in [("smtp.password", tmp_path / "smtp.password"), ("webhook.secrets", secret)]:
        assert f"LoadCredential={name}:{path}\n" in drop_in
    block = yaml.safe_load((folder / "carillon.yaml").read_text())["apps"]["default"]
    assert block["email"]["password_file"] == "${CREDENTIALS_DIRECTORY}/smtp.password"
    assert block["http"]["secrets_file"] == "${CREDENTIALS_DIRECTORY}/http.secrets"


HOSTILE = {
    "an address with a line break": {"url": "wss://a.example\nhttp: {}"},
    "an address with a space": {"url": "wss://a example"},
    "a quote in a name": {"url": 'wss://a".example'},
    "a semicolon for nginx": {"url": "wss://a.example;root /"},
    "a user in an address": {"url": "wss://root@a.example"},
    "a port of none": {"listen": "127.0.0.1:99999"},
    "a name to listen at": {"listen": "localhost:80"},
    "a relay that is none": {"relays": ["javascript:alert(1)"]},
    "a relay with a quote": {"relays": ['wss://a.example/"; evil']},
    "an unknown service": {"services": ["iso"]},
    "an unknown key": {"adress": "x"},
    "a list for a text": {"contact": {"a": 1}},
    "a folder with a wildcard": {"folder": "/tmp/*"},
    "a key file that is none": {"services": ["ios"], "ios": {"topic": "a.b", "team_id": "A" * 10, "key_id": "B" * 10, "key_file": "/etc/passwd"}},
    "a fifo": {"key": "fifo"},
    "an unused block": {"ios": {"topic": "com.example.app"}},
    "a password with a second line": {
        "services": ["email"],
        "email": {"server": "a.b", "from": "a@b.org", "username": "u", "password_file": "/etc/passwd"},
    },
    "a server with a path": {"services": ["mqtt"], "mqtt": {"server": "a.b/c"}},
    "a bot with a line break": {"services": ["telegram"], "telegram": {"bot": "x\nyy", "token_file": "/etc/hostname"}},
    "a service that is none": {"services": ["http"], "http": {"services": ["rm"]}},
    "a megabyte": {"contact": "a" * 1_000_000},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_answers_write_no_files(tmp_path, what):
    os.mkfifo(tmp_path / "fifo")
    folder = tmp_path / "router"
    result = run(tmp_path, {"run": "hand", "folder": str(folder), **HOSTILE[what]}, "--offline")
    assert result.returncode == 1, result.stdout + result.stderr
    assert re.search(r"answers\.yaml(:\d+:\d+)?: ", result.stderr), result.stderr
    assert not folder.exists()
    assert len(result.stderr) < 2_000


def test_answers_that_are_not_yaml_are_refused(tmp_path):
    file = tmp_path / "answers.yaml"
    file.write_text("url: [wss://")
    result = carillon("setup", "--answers", file, "--folder", tmp_path / "router")
    assert result.returncode == 1 and "answers.yaml:2:1: not YAML" in result.stderr
    assert carillon("setup", "--answers", tmp_path / "nothing").returncode == 1
    assert "terminal" in carillon("setup", stdin="").stderr
    assert not (tmp_path / "router").exists()


def test_setup_runs_at_a_terminal(tmp_path, lab):
    """Wrong answers, help, a way back, a correction at the end, and the test notification."""
    folder = tmp_path / "carillon"
    dialogue = Dialogue("setup", cwd=tmp_path)
    dialogue.expect("by hand (hand)? [")
    dialogue.say("servise")
    dialogue.expect("did you mean 'service'?")
    dialogue.say("hand")
    dialogue.expect(f"Folder for the configuration [{folder}]: ")
    dialogue.say("")
    dialogue.expect("[none]: ")
    dialogue.say("?")
    dialogue.expect("Phones register at this address.")
    dialogue.say("notify.example.com; rm -rf /")
    dialogue.expect("expected the router's public name")
    dialogue.say("notify.example.com")
    dialogue.expect("[127.0.0.1:7447]: ")
    dialogue.say("<")
    dialogue.expect("[wss://notify.example.com]: ")
    dialogue.say("push.example.com")
    dialogue.expect("[127.0.0.1:7447]: ")
    dialogue.say("127.0.0.1:0")
    dialogue.expect("Relays that")
    dialogue.say("relay.example.com")
    dialogue.expect("e-mail address")
    dialogue.say("ops@example.org")
    dialogue.expect("Push services (")
    dialogue.say("")
    dialogue.expect("Notification texts")
    dialogue.say("3")
    dialogue.expect("health and metrics")
    dialogue.say("no")
    dialogue.expect("The router's key")
    dialogue.say("")
    dialogue.expect("test push at the end")
    dialogue.say("https://localhost:1")
    dialogue.expect("5. relays: wss://relay.example.com")
    assert not folder.exists()
    dialogue.expect("q leaves: ")
    dialogue.say("5")
    dialogue.expect("[wss://relay.example.com]: ")
    dialogue.say("none")
    dialogue.expect("5. relays: none")
    dialogue.expect("q leaves: ")
    dialogue.say("")
    dialogue.expect("no errors")
    picture = dialogue.expect("https://localhost:1/carillon-")
    assert picture.count("▀") + picture.count("▄") > 100
    dialogue.expect("Enter sends it")
    dialogue.say("")
    dialogue.expect("not sent: ")
    status, rest = dialogue.end()
    assert status == 0 and "What to do next" in rest
    configuration = yaml.safe_load((folder / "carillon.yaml").read_text())
    assert configuration["relay"]["url"] == "wss://push.example.com"
    assert configuration["rules"] == "rules.yaml" and "api" not in configuration and "relays" not in configuration
    assert carillon("check", "--config", folder / "carillon.yaml").returncode == 0


@pytest.mark.parametrize("moment", ["by hand (hand)?", "Push services (", "q leaves: "])
def test_an_aborted_setup_writes_no_files(tmp_path, moment):
    dialogue = Dialogue("setup", cwd=tmp_path)
    while moment not in dialogue.seen:
        found = select.select([dialogue.terminal], [], [], PATIENCE)[0]
        assert found
        dialogue.seen += os.read(dialogue.terminal, 65536).decode()
        if moment not in dialogue.seen and dialogue.seen.rstrip(" ").endswith(":"):
            dialogue.seen = ""
            dialogue.say("hand" if "by hand" in dialogue.seen else "")
    os.write(dialogue.terminal, b"\x03" if moment != "Push services (" else b"\x04")
    status, _ = dialogue.end()
    assert status in [-signal.SIGINT, 130, 1]
    assert list(tmp_path.iterdir()) == []


def test_setup_installs_a_service(tmp_path, lab):
    """What root gets: state elsewhere, credentials lent by systemd, a drop-in."""
    folder, state = tmp_path / "etc", tmp_path / "state"
    given = answers(lab, folder, run="service", state=str(state), url="wss://notify.example.com")
    # An old key comes along.
    carillon("keys", "new", tmp_path / "old.key")
    given["key"] = "old.key"
    result = run(tmp_path, given)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "ios: accepted" in result.stdout
    drop_in = (folder / "systemd.conf").read_text()
    assert f"LoadCredential=apns.p8:{lab.ios['key_file']}\n" in drop_in
    assert f"LoadCredential=vapid.pem:{folder}/secrets/vapid.pem\n" in drop_in
    assert f"serve --config {folder}/carillon.yaml\n" in drop_in
    assert (folder / "secrets").stat().st_mode & 0o777 == 0o700
    assert state.stat().st_mode & 0o777 == 0o700
    key = state / "carillon.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_text() == (tmp_path / "old.key").read_text()
    if shutil.which("systemd-analyze"):
        # The lab's credentials and the router are where the drop-in says.
        assert complaints_about_the_unit(tmp_path, setup=drop_in) == []
    configuration = yaml.safe_load((folder / "carillon.yaml").read_text())
    assert configuration["identity"]["key_file"] == str(key)
    assert configuration["apps"]["default"]["ios"]["key_file"] == "${CREDENTIALS_DIRECTORY}/apns.p8"


SERVICE = 61234
"""A user of a service, who owns its folders."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")


@as_root
def test_roots_setup_gives_the_key_to_the_service(tmp_path, lab):
    """A package makes the state folder for its user. Setup runs once, and everything but the key stays root's."""
    folder, state = tmp_path / "etc", tmp_path / "state"
    state.mkdir(mode=0o700)
    os.chown(state, SERVICE, SERVICE)
    given = answers(lab, folder, run="service", state=str(state))
    for _ in range(2):
        result = run(tmp_path, given, "--overwrite")
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.count(f"wrote {folder}/carillon.yaml") == 1, result.stdout
        assert result.stdout.count(f"wrote {state}/carillon.key, a new key") == 1, result.stdout
        assert "ios: accepted" in result.stdout and "no errors" in result.stdout
        key = (state / "carillon.key").stat()
        assert (key.st_uid, key.st_gid, stat.S_IMODE(key.st_mode)) == (SERVICE, SERVICE, 0o600)
        assert {path.stat().st_uid for path in folder.iterdir()} == {0}
        # The second time a key comes along, and the configuration is another one.
        (state / "carillon.key").rename(tmp_path / "old.key")
        os.chown(tmp_path / "old.key", 0, 0)
        given["key"], given["contact"] = "old.key", "ops@example.org"
        result = run(tmp_path, given, "--overwrite", "--offline")
        assert f"wrote {state}/carillon.key, a copy of" in result.stdout, result.stdout + result.stderr
        assert (state / "carillon.key").stat().st_uid == SERVICE
        (state / "carillon.key").unlink()
        given["key"], given["contact"] = "new", ""
    # Files were written, so the status is not the one that says that none was.
    (state / "carillon.key").symlink_to(tmp_path / "nowhere")
    given["contact"] = "other@example.org"
    result = run(tmp_path, given, "--overwrite", "--offline")
    assert result.returncode == 2 and f"wrote {folder}/carillon.yaml" in result.stdout, result.stdout
    assert "a file exists already" in result.stderr and not (tmp_path / "nowhere").exists()


def test_the_umask_does_not_hide_the_configuration_from_the_service(tmp_path, lab):
    given = answers(lab, tmp_path / "etc", run="service", state=str(tmp_path / "state"))
    mask = os.umask(0o077)
    try:
        assert run(tmp_path, given, "--offline").returncode == 0
    finally:
        os.umask(mask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "etc").iterdir() if path.is_file()}
    assert set(modes) >= {"carillon.yaml", "rules.yaml", "systemd.conf"} and set(modes.values()) == {0o644}, modes
    assert stat.S_IMODE((tmp_path / "etc").stat().st_mode) == 0o755


def test_a_different_existing_key_is_refused(tmp_path, lab):
    folder = tmp_path / "router"
    given = answers(lab, folder)
    assert run(tmp_path, given, "--offline").returncode == 0
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert carillon("keys", "new", tmp_path / "other.key").returncode == 0
    result = run(tmp_path, given | {"key": "other.key", "contact": "ops@example.org"}, "--offline", "--overwrite")
    assert result.returncode == 1 and "holds another key than" in result.stderr, result.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == written
    # The same key changes nothing.
    shutil.copy(folder / "carillon.key", tmp_path / "same.key")
    result = run(tmp_path, given | {"key": "same.key"}, "--offline", "--overwrite")
    assert result.returncode == 0 and f"kept {folder}/carillon.key" in result.stdout, result.stderr


def test_ctrl_c_leaves_no_copies_of_credentials(tmp_path, lab, monkeypatch):
    """While a push service is asked that never answers."""
    copies = tmp_path / "tmp"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    given = answers(lab, tmp_path / "etc", run="service", state=str(tmp_path / "state"), services=["ios"])
    del given["android"], given["web"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        given["ios"]["base_url"] = f"https://127.0.0.1:{server.getsockname()[1]}"
        (tmp_path / "answers.yaml").write_text(json.dumps(given))
        process = subprocess.Popen(
            [built("carillon"), "setup", "--answers", "answers.yaml"], cwd=tmp_path, stdout=subprocess.DEVNULL
        )
        connection, _ = server.accept()
        assert list(copies.glob("carillon-setup-*/apns.p8"))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT
        connection.close()
    assert not list(copies.glob("carillon-setup-*"))


@pytest.fixture
def reachable():
    """A folder that other users can enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@as_root
def test_roots_setup_in_another_users_folder_asks_once(tmp_path, reachable):
    folder = reachable / "router"
    folder.mkdir()
    os.chown(folder, SERVICE, SERVICE)
    dialogue = Dialogue("setup", "--folder", folder, cwd=tmp_path)
    for question, answer in [
        ("by hand (hand)?", "hand"), ("Public address", ""), ("router listens", "127.0.0.1:0"), ("Relays that", ""),
        ("e-mail address", ""), ("Push services (", "unifiedpush"), ("Notification texts", ""),
        ("health and metrics", "no"), ("The router's key", ""), ("q leaves: ", ""),
    ]:
        dialogue.expect(question)
        dialogue.say(answer)
    status, rest = dialogue.end()
    assert status == 0, rest
    assert "by hand (hand)?" not in rest and f"wrote {folder}/carillon.key, a new key" in rest, rest
    assert {path.name for path in folder.iterdir()} == {"carillon.yaml", "carillon.key"}
    assert {(path.stat().st_uid, path.stat().st_gid) for path in folder.iterdir()} == {(SERVICE, SERVICE)}


def test_plugins_next_to_the_program_are_the_default(tmp_path):
    """The configuration of start/operator.md, in a folder with nothing else."""
    carillon("keys", "new", tmp_path / "carillon.key")
    configuration = {
        "identity": {"key_file": "carillon.key"},
        "store": {"path": "carillon.sqlite"},
        "apps": {"default": {"unifiedpush": {}, "ntfy": {}}},
    }
    file = tmp_path / "carillon.yaml"
    file.write_text(json.dumps(configuration))
    checked = carillon("check", "--config", file)
    assert checked.returncode == 0, checked.stderr
    # Other settings of the block leave the folders as they are.
    file.write_text(json.dumps(configuration | {"plugins": {"deadline_seconds": 20}}))
    assert carillon("check", "--config", file).returncode == 0
    file.write_text(json.dumps(configuration | {"plugins": {"folders": ["plugins"]}}))
    assert carillon("check", "--config", file).returncode == 1


def test_obstructing_files_are_reported(tmp_path):
    """A folder that is a file, and a configuration that is a folder."""
    (tmp_path / "file").write_text("")
    result = run(tmp_path, {"run": "hand", "folder": str(tmp_path / "file")}, "--offline")
    assert result.returncode == 1 and "is not a folder" in result.stderr
    (tmp_path / "router/carillon.yaml").mkdir(parents=True)
    result = run(tmp_path, {"run": "hand", "folder": str(tmp_path / "router")}, "--offline", "--overwrite")
    assert result.returncode == 1 and "carillon.yaml" in result.stderr
    assert [path.name for path in (tmp_path / "router").iterdir()] == ["carillon.yaml"]
