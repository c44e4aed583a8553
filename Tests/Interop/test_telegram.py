"""Telegram, played by a Bot API whose objects and requests are judged by python-telegram-bot."""

import asyncio
import datetime
import http.client
import json
import secrets
import urllib.parse
from html.parser import HTMLParser

import pytest
import telegram
from telegram.constants import ParseMode

from console import Console
from nostr import ALL_SIGNALS, Socket
from programs import wait_until
from readable import Message, ReadableServer

TOKEN = "123456789:" + secrets.token_urlsafe(26)
CHAT = 4_503_599_627


class BotAPI:
    """What api.telegram.org answers to one bot; `blocked` are chats whose people have blocked it."""

    def __init__(self):
        self.blocked: set[int] = set()
        self.webhook: dict | None = None
        self.server = ReadableServer(self._answer)

    def _answer(self, message: Message):
        bot, method = message.path.removeprefix("/bot").rsplit("/", 1)
        if bot != TOKEN:
            return self._refuse(401, "Unauthorized")
        if method == "getMe":
            return self._result(telegram.User(123456789, "Carillon", is_bot=True, username="carillon_bot").to_dict())
        order = self.parameters(message)
        if method == "setWebhook":
            self.webhook = order
            return self._result(True)
        if int(order["chat_id"]) in self.blocked:
            return self._refuse(403, "Forbidden: bot was blocked by the user")
        sent = telegram.Message(1, datetime.datetime.now(), telegram.Chat(int(order["chat_id"]), "private"))
        return self._result(sent.to_dict())

    def _result(self, result):
        return 200, {"content-type": "application/json"}, json.dumps({"ok": True, "result": result}).encode()

    def _refuse(self, status: int, text: str):
        body = {"ok": False, "error_code": status, "description": text}
        return status, {"content-type": "application/json"}, json.dumps(body).encode()

    @staticmethod
    def parameters(message: Message) -> dict:
        """The parameters of a call, from JSON as we send it or from a form as the library does."""
        if message.headers["content-type"] == "application/json":
            return json.loads(message.body)
        form = urllib.parse.parse_qs(message.body.decode(), strict_parsing=True)
        return {name: read(values[0]) for name, values in form.items()}

    def calls(self, method: str) -> list[dict]:
        return [self.parameters(message) for message in self.server.messages if message.path.endswith("/" + method)]

    def wait(self, count: int) -> list[dict]:
        """The messages that the router sent."""
        wait_until(lambda: len(self.calls("sendMessage")) >= count, f"{count} messages come")
        return self.calls("sendMessage")

    def post(self, console: Console, text: str, chat: int = CHAT, secret: str | None = None) -> tuple[int, dict]:
        """Somebody writes to the bot, and Telegram posts that to the webhook. Status and answer."""
        person = telegram.User(chat, "Alice", is_bot=False)
        message = telegram.Message(7, datetime.datetime.now(), telegram.Chat(chat, "private"), from_user=person, text=text)
        update = telegram.Update(1, message=message).to_json().encode()
        headers = {
            "content-type": "application/json",
            "x-telegram-bot-api-secret-token": secret or self.webhook["secret_token"],
        }
        connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
        connection.request("POST", urllib.parse.urlsplit(self.webhook["url"]).path, update, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, json.loads(body) if body else {}


def read(text: str):
    try:
        return json.loads(text)
    except ValueError:
        return text


class Text(HTMLParser):
    """The text of Telegram's HTML, which knows few elements."""

    def __init__(self, html: str):
        super().__init__()
        self.text = ""
        self.elements: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def api():
    api = BotAPI()
    yield api
    api.server.stop()


@pytest.fixture
def console(stopped_router, api):
    router = stopped_router
    router.add_plugin("libCarillonTelegram.so")
    (router.folder / "bot.token").write_text(TOKEN + "\n")
    (router.folder / "bot.token").chmod(0o600)
    block = {"token_file": "bot.token", "base_url": api.server.url, "bot": "carillon_bot"}
    router.configuration["apps"]["default"]["telegram"] = block
    router.secrets.add(TOKEN)
    return Console(router, public_url="https://push.example.com/")


def registration(router, person, token: str, **more) -> dict:
    return person.registration(router, {"platform": "telegram", "token": token, "filters": ALL_SIGNALS, **more})


def as_the_library_sends_it(api: BotAPI, **order) -> dict:
    async def send():
        async with telegram.Bot(TOKEN, base_url=api.server.url + "/bot") as bot:
            await bot.send_message(**order)

    before = len(api.calls("sendMessage"))
    asyncio.run(send())
    return api.calls("sendMessage")[before]


def test_a_person_links_a_chat_and_blocks_the_bot(console, api, alice, bob):
    router = console.start().router
    wait_until(lambda: api.webhook, "the router says where Telegram is to post")
    assert api.webhook["url"] == "https://push.example.com/plugins/telegram/default/updates"
    assert api.webhook["allowed_updates"] == ["message"]
    secret = api.webhook["secret_token"]
    router.secrets.add(secret)
    assert router.information["push"]["apps"]["default"]["telegram"] == {"bot": ["carillon_bot"]}

    code = secrets.token_urlsafe(24)
    router.secrets.add(code)
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice, code, mode="alert"), note)
        assert api.post(console, f"/start {code}", secret="wrong")[0] == 403
        status, answer = api.post(console, f"/start {code}")
        assert status == 200
        assert answer["method"] == "sendMessage" and answer["chat_id"] == CHAT and "from now on" in answer["text"]
        socket.publish(bob.reply("1 < 2 & <b>bold</b>", note))
        [sent] = api.wait(1)
    text = Text(sent["text"])
    assert sent["chat_id"] == CHAT and "1 < 2 & <b>bold</b>" in text.text and text.elements == ["b"]
    library = as_the_library_sends_it(
        api,
        chat_id=CHAT,
        text=sent["text"],
        parse_mode=ParseMode.HTML,
        link_preview_options=telegram.LinkPreviewOptions(is_disabled=True),
    )
    assert sent == library
    router.wait_until_nothing_waits()

    # A new router knows the chat and its secret.
    router.stop()
    api.webhook = None
    console.start()
    wait_until(lambda: api.webhook, "the new router says so too")
    assert api.webhook["secret_token"] == secret
    before = len(api.calls("sendMessage"))
    with Socket(router) as socket:
        socket.publish(bob.reply("again", note))
        assert api.wait(before + 1)[-1]["chat_id"] == CHAT
        api.blocked.add(CHAT)
        socket.publish(bob.reply("and again", note))
        router.wait_for_log("outcome=gone")
        socket.publish(bob.reply("nobody listens", note))
    assert router.stop() == 0
    assert len(api.calls("sendMessage")) == before + 2


def test_a_chats_number_and_stop(console, api, alice, bob):
    router = console.start().router
    wait_until(lambda: api.webhook, "the router says where Telegram is to post")
    assert str(CHAT) in api.post(console, "/start")[1]["text"]
    with Socket(router) as socket:
        socket.publish(registration(router, alice, str(CHAT)))
        socket.publish(bob.message("secret", alice))
        [sent] = api.wait(1)
        assert sent["text"] == "New notification"
        assert "No more" in api.post(console, "/stop")[1]["text"]
        socket.publish(bob.message("secret", alice))
        router.wait_for_log("reason=stopped")
    assert router.stop() == 0
    assert len(api.calls("sendMessage")) == 1
