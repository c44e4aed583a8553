"""Streams of plugins in Python: SMTP with STARTTLS through a router, and what each side says of a stream."""

import base64
import gc
import textwrap

import pytest

from authority import Authority
from mail import PASSWORD, USERNAME, MailServer
from nostr import ALL_SIGNALS, Socket
from test_python_protocol import VECTORS, api, body, wire

from carillon_host.streams import WAITING, Streams  # noqa: E402  (test_python_protocol says where it is)

LETTERS = """
    import base64

    from carillon import Stream, delivered, gone, rejected

    PLATFORM = "letter"


    def deliver(notification, registration, app):
        with (yield Stream("localhost", app["port"], trusted=True, authorities=app["authorities"])) as stream:
            yield from reply(stream)
            yield from ask(stream, "EHLO push.example.org")
            yield from ask(stream, "STARTTLS")
            yield stream.start_tls()
            yield from ask(stream, "EHLO push.example.org")
            login = base64.b64encode(f"\\0{app['username']}\\0{app['password']}".encode()).decode()
            yield from ask(stream, f"AUTH PLAIN {login}")
            yield from ask(stream, "MAIL FROM:<push@example.org>")
            if (yield from ask(stream, f"RCPT TO:<{registration.token}>")) == 550:
                return gone()
            yield from ask(stream, "DATA")
            text = notification.body + "." * 200_000 + "\\n" if notification.body == "long" else notification.body
            for line in text.split("\\n"):
                for start in range(0, len(line), 900):
                    stream.write(" " + line[start:start + 900] + "\\r\\n")
            yield stream.drain()
            if (yield from ask(stream, ".")) >= 500:
                return rejected()
            yield from ask(stream, "QUIT")
        return delivered()


    def ask(stream, command):
        stream.write(command + "\\r\\n")
        return (yield from reply(stream))


    def reply(stream):
        while True:
            line = yield stream.read_line()
            if line[3:4] != b"-":
                return int(line[:3])
"""


@pytest.fixture
def server(tmp_path):
    authority = Authority(tmp_path / "authority")
    server = MailServer("starttls", authority.server(), login=True)
    server.authority = authority
    yield server
    server.stop()


def configure(router, server, source=LETTERS, **more):
    plugin = router.plugins / "letter.py"
    plugin.write_text(textwrap.dedent(source))
    plugin.chmod(0o644)
    router.configuration["apps"]["default"]["letter"] = {
        "port": server.port, "authorities": server.authority.file.read_text(), "username": USERNAME, "password": PASSWORD, **more,
    }


def registration(router, person):
    return person.registration(router, {"platform": "letter", "token": "alice@example.com", "filters": ALL_SIGNALS, "mode": "alert"})


def test_a_conversation_over_starttls(stopped_router, alice, bob, server):
    configure(stopped_router, server)
    router = stopped_router.start()
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice), note)
        socket.publish(bob.reply("Grüße aus Łódź", note))
        server.wait(1)
        socket.publish(bob.reply("long", note))
        letters = server.wait(2)
        router.wait_for_deliveries(2)
    assert all(letter.was_encrypted and letter.was_authenticated for letter in letters)
    assert letters[0].recipients == ["alice@example.com"] and "Grüße aus Łódź".encode() in letters[0].content
    assert letters[1].content.count(b".") == 200_000
    assert server.sessions and router.stop() == 0


def test_a_delivery_over_a_lost_stream_is_retried(stopped_router, alice, bob, server):
    configure(stopped_router, server)
    server.refusals.append(("MAIL", ""))
    router = stopped_router.start()
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice), note)
        socket.publish(bob.reply("once more", note))
        [letter] = server.wait(1)
        router.wait_for_deliveries(1)
    assert b"once more" in letter.content and server.refusals == []


def test_a_certificate_that_is_not_trusted(stopped_router, alice, bob, server, tmp_path):
    configure(stopped_router, server, authorities=Authority(tmp_path / "other").file.read_text())
    router = stopped_router.start()
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice), note)
        socket.publish(bob.reply("secret", note))
        router.wait_for_log("tls-untrusted")
    assert not server.letters


# ---- What is said of streams -----------------------------------------------------------


class Instance:
    number = 7
    is_shut_down = False


class Bench:
    """The table of streams with a router that is played."""

    def __init__(self):
        self.sent = []
        self.streams = Streams(lambda kind, number, body=b"": self.sent.append((kind, number, body)))
        self.instance = Instance()
        self.results = []

    def begin(self, step):
        return self.streams.begin(self.instance, step, self.results.append)

    def hear(self, kind, body=b"", number=1):
        self.streams.receive(kind, number, body)

    def open(self):
        stream = api.Stream("mail.example.com", 465)
        assert self.begin(stream) is WAITING
        self.hear(wire.STREAM_OPENED, number=self.streams._last)
        assert self.results.pop() is stream
        self.sent.clear()
        return stream


def test_stream_messages_match_the_document():
    stream = api.Stream("mail.example.com", 465, tls=True, trusted=True, authorities="PEM", connect_timeout=30)
    said = {
        "streamOpen": (wire.STREAM_OPEN, 5, wire.write_stream_open(7, stream)),
        "streamWrite": (wire.STREAM_WRITE, 5, wire.text(b"QUIT\r\n")),
        "streamStartTLS": (wire.STREAM_START_TLS, 5, wire.long(11)),
        "streamClose": (wire.STREAM_CLOSE, 5, wire.number(1)),
        "streamTaken": (wire.STREAM_TAKEN, 5, wire.long(65_536)),
    }
    assert {name: wire.frame(*frame) for name, frame in said.items()} == {name: VECTORS[name] for name in said}
    assert body("streamOpened") == b""
    assert wire.read_stream_bytes(body("streamReceived")) == b"220 ready\r\n"
    assert wire.read_stream_count(body("streamDrained")) == 70_000
    assert wire.read_stream_bytes(body("streamClosed")) == b"tls-name"


def test_lines_come_in_any_pieces():
    bench = Bench()
    stream = bench.open()
    assert bench.begin(stream.read_line()) is WAITING
    bench.hear(wire.STREAM_RECEIVED, wire.text(b"220 hel"))
    assert bench.results == []
    bench.hear(wire.STREAM_RECEIVED, wire.text(b"lo\r\n250 a\nrest"))
    assert bench.results == [b"220 hello"]
    assert bench.begin(stream.read_line()) == b"250 a"
    assert bench.begin(stream.read(2)) == b"re"
    assert bench.begin(stream.read()) == b"st"
    assert bench.begin(stream.read()) is WAITING
    bench.hear(wire.STREAM_CLOSED, wire.text(b""))
    assert bench.results[-1] == b"" and bench.begin(stream.read()) == b""
    assert bench.begin(stream.read_line()).failure == "closed"
    assert bench.sent == [(wire.STREAM_CLOSE, 1, wire.number(1))] and not stream.is_open
    with pytest.raises(api.StreamError):
        stream.write(b"x")


def test_a_line_that_never_ends_closes_the_stream():
    bench = Bench()
    stream = bench.open()
    bench.hear(wire.STREAM_RECEIVED, wire.text(b"." * 9000))
    assert bench.begin(stream.read_line()).failure == "line-too-long"
    assert bench.sent == [(wire.STREAM_CLOSE, 1, wire.number(0))]


def test_only_bytes_that_were_read_are_reported():
    bench = Bench()
    stream = bench.open()
    for _ in range(3):
        bench.hear(wire.STREAM_RECEIVED, wire.text(b"." * 40_000))
    assert bench.sent == []
    for _ in range(3):
        bench.begin(stream.read(40_000))
    assert bench.sent == [(wire.STREAM_TAKEN, 1, wire.long(80_000))]


def test_bytes_waiting_to_be_sent_are_limited():
    bench = Bench()
    stream = bench.open()
    stream.write(b"." * (1 << 20))
    with pytest.raises(ValueError):
        stream.write(b".")
    assert bench.begin(stream.drain()) is WAITING
    bench.hear(wire.STREAM_DRAINED, wire.long(1000))
    assert bench.results == []
    bench.hear(wire.STREAM_DRAINED, wire.long(1 << 20))
    assert bench.results == [None]
    stream.write(b".")
    with pytest.raises(wire.ProtocolError):
        bench.hear(wire.STREAM_DRAINED, wire.long((1 << 20) + 2))


def test_bytes_injected_before_tls_are_not_counted():
    bench = Bench()
    stream = bench.open()
    bench.hear(wire.STREAM_RECEIVED, wire.text(b"220 go\r\n235 you are in\r\n"))
    assert bench.begin(stream.read_line()) == b"220 go"
    assert bench.begin(stream.start_tls()) is WAITING
    # The router has sent 24 bytes, so it ends the stream.
    assert bench.sent == [(wire.STREAM_START_TLS, 1, wire.long(8))]
    bench.hear(wire.STREAM_CLOSED, wire.text(b"tls"))
    assert bench.results[0].failure == "tls" and bench.begin(stream.read_line()).failure == "tls"


def test_one_delivery_waits_at_a_time_for_its_yielded_operation():
    bench = Bench()
    with pytest.raises(RuntimeError):
        bench.begin(api.Stream("x", 1).read())
    stream = bench.open()
    step = stream.read()
    assert bench.begin(step) is WAITING
    with pytest.raises(RuntimeError):
        bench.begin(stream.read())
    bench.streams.abandon(step)
    assert bench.begin(stream.read_line()) is WAITING
    with pytest.raises(RuntimeError):
        bench.begin(stream)


def test_an_unreferenced_stream_is_closed():
    bench = Bench()
    stream = bench.open()
    del stream
    gc.collect()
    bench.streams.close_dropped()
    assert bench.sent == [(wire.STREAM_CLOSE, 1, wire.number(0))]


def test_an_app_has_256_streams_and_none_once_it_is_shut_down():
    bench = Bench()
    streams = [bench.open() for _ in range(256)]
    assert bench.begin(api.Stream("x", 1)).failure == "busy"
    bench.hear(wire.STREAM_CLOSED, wire.text(b"shut-down"), 256)
    assert not streams[255].is_open and streams[0].is_open
    # A loop that connects again and again must not run for ever.
    assert bench.begin(api.Stream("x", 1)) is WAITING and bench.streams._last == 256


def test_an_invalid_stream_message_is_refused():
    for kind, said in [(wire.STREAM_OPENED, b"x"), (wire.STREAM_RECEIVED, b""), (wire.STREAM_DRAINED, b"1234")]:
        bench = Bench()
        bench.open()
        with pytest.raises(wire.ProtocolError):
            bench.hear(kind, said)
    with pytest.raises(wire.ProtocolError):
        Bench().hear(wire.STREAM_OPENED)


@pytest.mark.parametrize(
    "arguments, more",
    [(("", 1), {}), (("a b", 1), {}), (("ä.example", 1), {}), (("x" * 254, 1), {}), (("x", 0), {}), (("x", 65_536), {}), (("x", "25"), {}),
     (("x", 25), {"connect_timeout": 61}), (("x", 25), {"idle_timeout": 3601}), (("x", 25), {"authorities": "." * 262_145})],
)
def test_a_stream_the_router_would_refuse_is_invalid(arguments, more):
    with pytest.raises(api.Invalid):
        api.Stream(*arguments, **more)


def test_without_a_router_a_test_plays_the_other_end():
    namespace = {}
    exec(textwrap.dedent(LETTERS), namespace)
    app = {"port": 25, "authorities": "", "username": "u", "password": "p"}
    steps = namespace["deliver"](api.Notification(body="hello"), api.Registration("alice@example.com"), app)
    stream = next(steps)
    answers = [b"220", b"250", b"220", stream, b"250", b"235", b"250", b"550 no such user"]
    step = steps.send(stream)
    with pytest.raises(StopIteration) as end:
        for answer in answers:
            assert step.stream is stream
            step = steps.send(answer)
    assert end.value.value == api.gone() and not stream.is_open
    login = base64.b64encode(b"\0u\0p")
    assert b"AUTH PLAIN " + login in stream.written
