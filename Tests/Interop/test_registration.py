"""Whose device is registered when, over the socket (contrib/docs/registration.md)."""

import time

import nostr_sdk
import pytest

from nostr import ADDRESSABLE_REGISTRATION, REGISTRATION, Person, Socket, device_token, ios


class Phone:
    """Alice's, with ways to find out which tokens are woken."""

    def __init__(self, router, lab, alice, bob):
        self.router, self.lab, self.alice, self.bob = router, lab, alice, bob
        self.now = int(time.time())
        # Stands for everybody else, and shows that an event was worked on.
        self.witness, self.witness_token = Person(), device_token()
        with Socket(router) as socket:
            socket.publish(self.witness.registration(router, ios(self.witness_token)))

    def offer(self, event: dict) -> tuple[bool, str]:
        with Socket(self.router) as socket:
            return socket.offer(event)

    def register(self, token: str | None, at: int, **details) -> dict:
        """An event `at` seconds from now; no token deregisters."""
        content = None if token is None else ios(token)
        return self.alice.registration(self.router, content, created_at=self.now + at, **details)

    def woken(self, *expected: str):
        """Asserts that an event for Alice wakes exactly these tokens, now and after a restart."""
        for _ in range(2):
            self.lab.forget()
            with Socket(self.router) as socket:
                socket.publish(self.bob.note("hello", self.alice, self.witness))
            self.lab.accepted(len(expected) + 1)
            assert self.router.stop() == 0
            targets = sorted(push.target for push in self.lab.received())
            assert targets == sorted([*expected, self.witness_token])
            self.router.start()


@pytest.fixture
def phone(router, lab, alice, bob):
    return Phone(router, lab, alice, bob)


@pytest.mark.parametrize("kind", [REGISTRATION, ADDRESSABLE_REGISTRATION])
def test_a_registration_lasts_until_it_is_deregistered(phone, kind):
    token = device_token()
    registration = phone.register(token, -30, kind=kind)
    assert phone.offer(registration) == (True, "")
    phone.woken(token)

    assert phone.offer(phone.register(None, -20, kind=kind)) == (True, "")
    phone.woken()

    # The old copy comes by again, as relays will do.
    phone.offer(registration)
    phone.woken()
    # And one that nobody has seen, from before the deregistration.
    phone.offer(phone.register(token, -25, kind=kind))
    phone.woken()

    again = device_token()
    assert phone.offer(phone.register(again, -10, kind=kind)) == (True, "")
    phone.woken(again)


@pytest.mark.parametrize("how", ["event", "address", "vanish"])
def test_a_deletion_by_the_same_key_takes_a_registration_back(phone, how):
    token = device_token()
    registration = phone.register(token, -30, kind=ADDRESSABLE_REGISTRATION, device="phone")
    assert phone.offer(registration) == (True, "")
    us = phone.router.public_key
    kind, tags = {
        "event": (5, [["e", registration["id"]], ["k", "30062"]]),
        "address": (5, [["a", f"30062:{phone.alice.hex}:{us}:phone"]]),
        "vanish": (62, [["relay", "ALL_RELAYS"]]),
    }[how]
    # Neither somebody else nor a forged copy takes it back, nor does a request to another relay.
    deletion = phone.alice.event(kind, "", tags, phone.now - 20)
    assert phone.offer(phone.bob.event(kind, "", tags, phone.now - 20))[0]
    assert not phone.offer(deletion | {"sig": registration["sig"]})[0]
    assert phone.offer(phone.alice.event(62, "", [["relay", "wss://elsewhere.example"]], phone.now - 20))[0]
    phone.woken(token)

    assert phone.offer(deletion) == (True, "")
    phone.woken()
    accepted, words = phone.offer(registration)
    assert not accepted and words
    phone.woken()
    again = device_token()
    assert phone.offer(phone.register(again, -10, kind=ADDRESSABLE_REGISTRATION, device="phone")) == (True, "")
    phone.woken(again)


def test_both_kinds_share_one_slot(phone):
    first, second = device_token(), device_token()
    phone.offer(phone.register(first, -30, kind=REGISTRATION))
    phone.offer(phone.register(second, -20, kind=ADDRESSABLE_REGISTRATION))
    phone.woken(second)


def test_the_newest_registration_counts_whatever_the_order(phone):
    old, new = device_token(), device_token()
    assert phone.offer(phone.register(new, -10)) == (True, "")
    accepted, words = phone.offer(phone.register(old, -20))
    assert not accepted
    assert words.startswith("invalid: created_at: ")
    phone.woken(new)


def test_the_lower_id_wins_within_a_second(phone):
    tokens = [device_token() for _ in range(4)]
    events = {token: phone.register(token, -10) for token in tokens}
    taken = []
    for token, event in events.items():
        counts = all(event["id"] < events[other]["id"] for other in taken)
        accepted, words = phone.offer(event)
        assert accepted == counts, "what takes no effect is never answered OK true"
        assert words == "" if counts else words.startswith("invalid: created_at: ")
        taken.append(token)
    phone.woken(min(tokens, key=lambda token: events[token]["id"]))


def test_an_invalid_registration_of_the_same_second_is_explained(phone):
    token = device_token()
    assert phone.offer(phone.register(token, -10)) == (True, "")
    for number in range(8):
        text = '{"platform":"ios","token":%d}' % number
        content = phone.alice.encrypt(text, phone.router.public_key)
        broken = phone.alice.event(REGISTRATION, content, [["d", phone.router.public_key]], phone.now - 10)
        accepted, words = phone.offer(broken)
        assert not accepted
        assert words.startswith("invalid: registration field `token`")
    phone.woken(token)


def test_the_same_registration_twice_is_a_duplicate(phone):
    token = device_token()
    registration = phone.register(token, -10)
    assert phone.offer(registration) == (True, "")
    accepted, words = phone.offer(registration)
    assert accepted
    assert words.startswith("duplicate: ")
    phone.woken(token)


def test_a_registration_from_the_far_future_is_refused(phone):
    accepted, words = phone.offer(phone.register(device_token(), 86_400))
    assert not accepted
    assert words.startswith("invalid: created_at")
    # So it cannot lock the slot.
    token = device_token()
    assert phone.offer(phone.register(token, 0)) == (True, "")
    phone.woken(token)


@pytest.mark.parametrize("content", ["registration", "empty"])
@pytest.mark.parametrize("d", ["another router", "something else", "longer", None])
def test_a_registration_meant_for_another_router_is_refused(phone, d, content):
    token = device_token()
    assert phone.offer(phone.register(token, -30))[0]
    us = phone.router.public_key
    text = "" if content == "empty" else phone.alice.encrypt('{"platform":"ios","token":"00"}', us)
    value = {"another router": Person().hex, "something else": "notification-relay", "longer": us + "00"}.get(d)
    tags = [] if d is None else [["d", value]]
    accepted, words = phone.offer(phone.alice.event(REGISTRATION, text, tags, phone.now - 10))
    assert not accepted
    assert words
    phone.woken(token)


@pytest.mark.parametrize(
    "tags, words",
    [
        (lambda us: [], "invalid: tag d: expected our public key, {us}; found no such tag"),
        (lambda us: [["d", nostr_sdk.PublicKey.parse(us).to_bech32()]], "invalid: tag d: expected our public key as {us}; found it as npub"),
        (lambda us: [["d", us.upper()]], "invalid: tag d: expected our public key as {us}; found it with upper-case digits"),
        (lambda us: [["d", us], ["protocol_version", "2"]], "unsupported: tag protocol_version: expected 1, which this router speaks"),
    ],
    ids=["no d", "npub", "upper case", "protocol version"],
)
def test_errors_around_the_content_are_reported(phone, tags, words):
    us = phone.router.public_key
    text = phone.alice.encrypt('{"platform":"ios","token":"00"}', us)
    assert phone.offer(phone.alice.event(REGISTRATION, text, tags(us))) == (False, words.format(us=us))


@pytest.mark.parametrize(
    "content, words",
    [
        (
            {"filters": {"dm": True, "mentoin": True}},
            "invalid: registration field `filters.mentoin`: expected the name of a signal; did you mean 'mention'?",
        ),
        (
            {"signals": {"weather": False}},
            "invalid: registration field `signals.weather`: expected the name of a signal: "
            "dm, mention, reply, reaction, repost, follow, zap",
        ),
        ({"app": "others"}, "unsupported: registration field `app`: expected an app of this router; it has none with this name"),
        (
            {"platform": "unifiedpush", "push_endpoint": "https://10.0.0.1/up"},
            "blocked: the endpoint is at an address that is private or reserved, where this router sends nothing",
        ),
        (
            {"platform": "unifiedpush", "push_endpoint": "http://2130706433/up"},
            "invalid: ",
        ),
    ],
    ids=["a typing mistake", "an unknown signal", "an unknown app", "a private address", "an odd address"],
)
def test_errors_in_the_content_are_reported(phone, content, words):
    accepted, said = phone.offer(phone.alice.registration(phone.router, {**ios(device_token()), **content}))
    assert not accepted and said.startswith(words)


def test_several_devices_live_under_one_key(phone):
    tokens = {name: device_token() for name in ["phone", "tablet", "watch"]}
    for name, token in tokens.items():
        assert phone.offer(phone.register(token, -30, device=name)) == (True, "")
    phone.woken(*tokens.values())
    assert phone.offer(phone.register(None, -20, device="tablet")) == (True, "")
    phone.woken(tokens["phone"], tokens["watch"])


def test_a_token_registered_by_another_account_moves(phone):
    token = device_token()
    carol = Person()
    phone.offer(phone.register(token, -30))
    phone.offer(carol.registration(phone.router, ios(token), created_at=phone.now - 20))
    phone.woken()
    phone.lab.forget()
    with Socket(phone.router) as socket:
        socket.publish(phone.bob.note("hello", carol))
    [push] = phone.lab.accepted(1)
    assert push.target == token


def test_a_shared_token_stays_with_both(phone):
    token = device_token()
    carol = Person()
    for person, at in [(phone.alice, -30), (carol, -20)]:
        content = ios(token, shared=True)
        assert phone.offer(person.registration(phone.router, content, created_at=phone.now + at))[0]
    phone.woken(token)
    phone.lab.forget()
    with Socket(phone.router) as socket:
        socket.publish(phone.bob.note("hello", carol))
    assert [push.target for push in phone.lab.accepted(1)] == [token]


@pytest.mark.parametrize(
    "content, said",
    [
        ({"platform": "ios"}, "token"),
        ({"platform": "ios", "token": "not hex at all, not hex at all, not hex at all"}, "token"),
        ({"token": "00" * 32}, "platform"),
        ({"platform": "pager", "token": "00" * 32}, "platform"),
        ({"platform": "ios", "token": "00" * 32, "app": "unheard-of"}, "app"),
        ({"platform": "ios", "token": "00" * 32, "mode": "loud"}, "mode"),
        ({"platform": "ios", "token": "00" * 32, "filters": {"dm": "yes"}}, "filters"),
        ({"platform": "ios", "token": "00" * 32, "quiet": {"start": "25:00", "end": "07:00", "tz": "UTC"}}, "quiet"),
        ({"platform": "ios", "token": "00" * 32, "quiet": {"start": "23:00", "end": "07:00", "tz": "Europe/Atlantis"}}, "quiet.tz"),
        ({"platform": "unifiedpush"}, "push_endpoint"),
        ({"platform": "unifiedpush", "push_endpoint": "javascript:alert(1)"}, "push_endpoint"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unusable_registration_is_refused_with_the_expected_value(phone, content, said):
    event = phone.alice.registration(phone.router, content)
    accepted, words = phone.offer(event)
    assert not accepted
    assert words.split(":")[0] in ["invalid", "unsupported"]
    assert said in words
    token = content.get("token")
    assert not token or token not in words


def test_a_registration_that_is_not_encrypted_to_us_is_refused(phone):
    us = phone.router.public_key
    for text in ['{"platform":"ios"}', phone.alice.encrypt("{}", Person().hex), "AAAA", "#future"]:
        accepted, words = phone.offer(phone.alice.event(REGISTRATION, text, [["d", us]]))
        assert not accepted
        assert words.startswith("invalid: content")


def test_a_forged_registration_moves_no_token(phone):
    token = device_token()
    assert phone.offer(phone.register(token, -30))[0]
    mallory = Person()
    forged = mallory.registration(phone.router, ios(device_token())) | {"pubkey": phone.alice.hex}
    accepted, words = phone.offer(forged)
    assert not accepted
    assert words.startswith("invalid: ")
    phone.woken(token)


def test_no_secret_and_no_content_is_in_the_log(router, lab, socket, alice, bob):
    """At `--log-level trace`, through success, retry, refusal and loss."""
    carol, dave = Person(), Person()
    phone, gone = device_token(), device_token()
    app = {
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    }
    endpoint = lab.endpoint("upCarolsSecretTopic")
    socket.publish(
        alice.registration(router, ios(phone, mode="alert", nickname="alices-unknown-field")),
        carol.registration(router, {"platform": "unifiedpush", "subscription": {"endpoint": endpoint, "keys": app}}),
        dave.registration(router, ios(gone)),
    )
    socket.offer(bob.registration(router, {"platform": "pager", "token": "bobs-pager-number"}))
    lab.declare(gone, "unregistered", since=int(time.time() * 1000))
    lab.misbehave("answer", service="apns", target=phone, status=500)
    note = alice.note("the-root-of-it-all", carol)
    events = [
        note,
        bob.event(0, '{"name":"bob-the-builder"}'),
        bob.reply("the-cat-is-in-the-bag", note),
        bob.message("hello-in-secret", carol),
        bob.message("hello-in-secret", dave),
    ]
    socket.publish(*events)
    socket.ask("the-garbage-I-typed")
    socket.offer(bob.note("the-forgery") | {"content": "the-forged-content"})
    router.wait_for_deliveries(3)
    router.wait_for_log("outcome=gone")
    assert router.stop() == 0

    secrets = [phone, gone, endpoint, "upCarolsSecretTopic", *app.values(), "alices-unknown-field", "bobs-pager-number"]
    contents = [event["content"] for event in events]
    contents += ["bob-the-builder", "the-garbage-I-typed", "the-forgery", "the-forged-content"]
    assert [word for word in secrets + contents if word in router.log_text] == []

    assert router.folder.joinpath("carillon.key").stat().st_mode & 0o077 == 0


def test_tokens_are_sealed_on_disk_while_the_router_runs_and_after_a_crash(router, lab, socket, alice, bob):
    token = device_token()
    endpoint = lab.endpoint("upAlicesSecretTopic")
    socket.publish(
        alice.registration(router, ios(token, nickname="alices-unknown-field"), device="phone"),
        alice.registration(router, {"platform": "unifiedpush", "push_endpoint": endpoint}, device="degoogled"),
    )
    lab.misbehave("answer", status=503, times=0)
    socket.publish(bob.message("hello", alice))
    lab.attempts(2)
    needles = [word.encode() for word in [token, endpoint, "upAlicesSecretTopic", "alices-unknown-field"]]
    needles += [bytes.fromhex(token), router.folder.joinpath("carillon.key").read_bytes().strip()]
    needles.append(bytes.fromhex(nostr_sdk.Keys.parse(needles[-1].decode()).secret_key().to_hex()))
    for end in [lambda: None, router.kill, lambda: (router.start(), router.stop())]:
        end()
        files = [file for file in router.folder.iterdir() if file.name.startswith("carillon.sqlite") and file.is_file()]
        assert len(files) >= 2
        for file in files:
            assert file.stat().st_mode & 0o077 == 0, file.name
            data = file.read_bytes()
            assert [needle for needle in needles if needle in data] == [], file.name
