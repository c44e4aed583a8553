"""Services that operators describe in the configuration, as contrib/examples/push-services has them."""

import json
import os
import re
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import apprise
import pytest
import yaml

from nostr import ALL_SIGNALS, Socket
from programs import REPOSITORY, carillon, free_port, wait_until
from readable import Message, ReadableServer


def example(name: str) -> dict:
    return yaml.safe_load((REPOSITORY / f"contrib/examples/push-services/{name}.yaml").read_text())


@pytest.fixture
def http_router(stopped_router):
    stopped_router.add_plugin("libCarillonHTTPTemplate.so")
    return stopped_router


def describe(router, *services: dict):
    block = {"services": {}}
    for service in services:
        block["services"] |= service
    router.configuration["apps"]["default"]["http"] = block


def registration(router, person, token: str, **more) -> dict:
    return person.registration(router, {"platform": "http", "token": token, "filters": ALL_SIGNALS, **more})


class PlayedAppriseAPI:
    """`POST /notify/KEY` of an Apprise API server, with Apprise itself behind it."""

    def __init__(self, services: dict[str, str]):
        self._services = {"alices-key": apprise.Apprise()}
        for tag, url in services.items():
            self._services["alices-key"].add(url, tag=tag)
        self._server = ReadableServer(self._answer)
        self.url = self._server.url
        self.stop = self._server.stop

    def _answer(self, message: Message):
        assert message.headers["content-type"] == "application/json"
        order = json.loads(message.body)
        services = self._services.get(message.path.removeprefix("/notify/"))
        if services is None:
            return 204, {}, b""
        # Without a tag these are the services without one, and where nothing has the tag that is a failure.
        went = services.notify(
            body=order["body"],
            title=order.get("title", ""),
            notify_type=order["type"],
            body_format=order["format"],
            tag=order.get("tag"),
        )
        return (200 if went else 424), {}, b"{}"


class AppriseServer:
    """The server itself, https://github.com/caronc/apprise-api. No registry has it: CARILLON_APPRISE_API names a folder with
    its source and, in `venv`, an environment with django, django-prometheus, requests, cryptography and apprise."""

    def __init__(self, services: dict[str, str], source: Path, folder: Path):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        folder.mkdir()
        command = [source / "venv/bin/python", "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"]
        environment = os.environ | {"APPRISE_CONFIG_DIR": str(folder), "APPRISE_ATTACH_DIR": str(folder)}
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=source / "apprise_api", env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        wait_until(self._is_up, "the Apprise API server answers", self._process)
        self._ask("/add/alices-key", config="\n".join(f"{tag}={url}" for tag, url in services.items()), format="text")

    def _is_up(self) -> bool:
        try:
            return urllib.request.urlopen(f"{self.url}/status", timeout=5).status == 200
        except OSError:
            return False

    def _ask(self, path: str, **order):
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(order).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200

    def stop(self):
        self._process.terminate()
        self._process.wait(timeout=30)


@pytest.fixture(params=["played", "real"])
def apprise_api(request, tmp_path):
    """A server under whose key `alices-key` there are two services, `phone` and `desk`, and what these receive."""
    target = ReadableServer()
    address = target.url.removeprefix("http://")
    services = {tag: f"json://{address}/{tag}" for tag in ["phone", "desk"]}
    source = os.environ.get("CARILLON_APPRISE_API")
    if request.param == "played":
        api = PlayedAppriseAPI(services)
    elif source is None:
        pytest.skip("no registry has the Apprise API server; CARILLON_APPRISE_API names a folder with it")
    else:
        api = AppriseServer(services, Path(source), tmp_path / "apprise")
    yield api, target
    api.stop()
    target.stop()


def test_apprise_passes_notifications_on(http_router, lab, alice, bob, apprise_api):
    api, target = apprise_api
    describe(http_router, example("apprise"))
    http_router.environment["APPRISE_URL"] = api.url
    router = http_router.start()
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "alices-key", tag="phone", mode="alert"), note)
        socket.publish(bob.reply('Grüße, "Łódź" <b>&</b>\nsecond line', note))
        [(path, _, message)] = target.wait(1)
        assert path == "/phone" and message["type"] == "info"
        assert message["title"] == f"💬 {bob.hex[:8]}... sent you a note"
        assert message["message"] == 'Grüße, "Łódź" <b>&</b>\nsecond line'
        # To all services, and that something happened and nothing more.
        socket.publish(registration(router, alice, "alices-key"))
        socket.publish(bob.message("secret", alice))
        posts = target.wait(3)[1:]
        assert sorted(post[0] for post in posts) == ["/desk", "/phone"]
        assert {post[2]["message"] for post in posts} == {"New notification"}
        # None of them has that tag.
        socket.publish(registration(router, alice, "alices-key", tag="fridge"))
        socket.publish(bob.message("secret", alice))
        router.wait_for_log("service-failed")
        # Nothing is saved under that key.
        socket.publish(registration(router, alice, "nobodys-key"))
        socket.publish(bob.message("secret", alice))
        router.wait_for_log("no-services")
    assert len(target.messages) == 3


class Homeserver:
    """Room messages of Matrix's client-server API: a repeat of a transaction is the same message."""

    token = "syt_secret"
    room = "!abcdefgh:example.org"

    def __init__(self):
        self.events: dict[str, dict] = {}
        self.is_busy = False
        self.server = ReadableServer(self._answer)

    def _answer(self, message: Message):
        if self.is_busy:
            self.is_busy = False
            return 429, {}, b'{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 20}'
        path = re.fullmatch(r"/_matrix/client/v3/rooms/([^/]+)/send/m\.room\.message/([^/?]+)", message.path)
        if message.method != "PUT" or path is None:
            return 404, {}, b'{"errcode": "M_UNRECOGNIZED"}'
        if message.headers.get("authorization") != f"Bearer {self.token}":
            return 401, {}, b'{"errcode": "M_UNKNOWN_TOKEN"}'
        if urllib.parse.unquote(path[1]) != self.room:
            return 403, {}, b'{"errcode": "M_FORBIDDEN"}'
        self.events.setdefault(path[2], json.loads(message.body))
        return 200, {}, json.dumps({"event_id": f"${path[2]}"}).encode()


@pytest.fixture
def homeserver():
    homeserver = Homeserver()
    yield homeserver
    homeserver.server.stop()


def matrix(homeserver) -> dict:
    service = example("matrix")
    url = service["matrix"]["url"]
    service["matrix"]["url"] = url.replace("https://matrix.example.org", homeserver.server.url)
    assert service["matrix"]["url"] != url
    return service


def test_a_message_into_a_room(http_router, lab, alice, bob, homeserver):
    describe(http_router, matrix(homeserver), example("slack"))
    http_router.environment["MATRIX_TOKEN"] = homeserver.token
    http_router.secrets.add(homeserver.token)
    homeserver.is_busy = True
    router = http_router.start()
    note = alice.note("root")
    with Socket(router) as socket:
        accepted, words = socket.offer(registration(router, alice, homeserver.room))
        assert not accepted and "service: expected matrix or slack" in words
        socket.publish(registration(router, alice, homeserver.room, service="matrix", mode="alert"), note)
        socket.publish(bob.reply("<b>hi</b> @room", note))
        router.wait_for_deliveries(1)
    first, second = homeserver.server.messages
    assert first.path == second.path and first.body == second.body
    [event] = homeserver.events.values()
    title = f"💬 {bob.hex[:8]}... sent you a note"
    assert event == {
        "msgtype": "m.text",
        "body": f"{title}\n<b>hi</b> @room",
        "format": "org.matrix.custom.html",
        "formatted_body": f"<strong>{title}</strong><br>&lt;b&gt;hi&lt;/b&gt; @room",
        "m.mentions": {},
    }


def test_a_wrong_operator_token_pauses_and_loses_no_push(http_router, lab, alice, bob, homeserver):
    describe(http_router, matrix(homeserver))
    http_router.environment["MATRIX_TOKEN"] = "syt_outdated"
    http_router.secrets.add("syt_outdated")
    router = http_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, homeserver.room))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("bad-access-token")
    assert router.stop() == 1
    router.environment["MATRIX_TOKEN"] = homeserver.token
    router.start()
    wait_until(lambda: homeserver.events, "the message comes", router.process)
    [event] = homeserver.events.values()
    assert event["body"] == "New notification"


def test_a_bot_token_in_the_url_is_not_logged(http_router, lab, alice, bob):
    """Telegram's, which answers a blocked bot with 403."""
    token = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
    answers = [
        (429, {}, b'{"ok": false, "error_code": 429, "parameters": {"retry_after": 1}}'),
        (200, {}, b'{"ok": true, "result": {"message_id": 7}}'),
        (403, {}, b'{"ok": false, "error_code": 403, "description": "Forbidden: bot was blocked by the user"}'),
    ]
    api = ReadableServer(lambda _: answers.pop(0))
    service = example("telegram")
    service["telegram"]["url"] = service["telegram"]["url"].replace("https://api.telegram.org", api.url)
    describe(http_router, service)
    http_router.environment["TELEGRAM_BOT_TOKEN"] = token
    http_router.secrets.add(token)
    router = http_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "987654321"))
        socket.publish(bob.message("hello", alice))
        router.wait_for_deliveries(1)
        socket.publish(bob.message("hello again", alice))
        router.wait_for_log("blocked")
        socket.publish(bob.message("and again", alice))
    assert router.stop() == 0
    api.stop()
    assert [message.path for message in api.messages] == [f"/bot{token}/sendMessage"] * 3
    assert json.loads(api.messages[0].body) == {
        "chat_id": "987654321",
        "text": "New notification",
        "disable_notification": False,
        "link_preview_options": {"is_disabled": True},
    }


def test_errors_in_a_description_are_named(http_router, monkeypatch):
    service = example("pushover")
    service["pushover"]["form"]["message"] = "{{text}}"
    describe(http_router, service)
    monkeypatch.setenv("PUSHOVER_TOKEN", "averysecretapplicationtoken")
    run = carillon("check", "--config", http_router.configuration_file)
    assert run.returncode == 1
    assert "services.pushover.form.message: {{text}} is unknown: expected one of id, signal, count" in run.stderr
    assert "averysecret" not in run.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_trial_shows_no_secret_of_the_configuration(http_router, monkeypatch, options):
    """Neither those of the environment nor those in the file, in URL, headers and body."""
    monkeypatch.setenv("PAGER_KEY", "from the environment")
    service = {
        "url": "https://pager.example.com/{{secrets.written}}/{{token}}?from={{secrets.written}}",
        "headers": {"authorization": "Bearer {{secrets.key}}", "x-key": "{{secrets.written}}"},
        "json": {"key": "{{secrets.key}}", "title": "{{title}}"},
        "secrets": {"key": "${PAGER_KEY}", "written": "in/the:file"},
    }
    describe(http_router, {"pager": service})
    run = carillon(
        "rules", "try", "--config", http_router.configuration_file, "--fixture", "dm", "--platform", "http",
        "--token", "0170-1234", *options,
    )
    assert run.returncode == 0, run.stderr
    for secret in ["environment", "the:file", "the%3Afile"]:
        assert secret not in run.stdout + run.stderr
    assert "https://pager.example.com/…/0170-1234?from=…" in run.stdout and "Bearer …" in run.stdout
    assert "throw-away" not in run.stdout.replace('"throw_away_keys":false', "")
