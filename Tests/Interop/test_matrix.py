"""Matrix by contrib/examples/push-services/matrix.yaml, against Synapse: a notification is a message in a room."""

import pytest

from homeserver import Homeserver, interpreter
from nostr import Socket
from programs import wait_until
from test_http_services import describe, example, http_router, registration

pytestmark = pytest.mark.skipif(
    interpreter() is None, reason="there is no Synapse: Tests/Interop/requirements-matrix.txt says how to install it"
)

assert http_router  # A fixture.


@pytest.fixture(scope="module")
def homeserver(tmp_path_factory):
    server = Homeserver(tmp_path_factory.mktemp("matrix") / "server")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def bot(homeserver):
    return homeserver.register("carillon")


@pytest.fixture(scope="module")
def reader(homeserver):
    return homeserver.register("alice")


@pytest.fixture
def room(bot, reader):
    room = reader.create_room(bot)
    bot.join(room)
    return room


@pytest.fixture
def matrix_router(http_router, homeserver, bot):
    service = example("matrix")
    url = service["matrix"]["url"]
    service["matrix"]["url"] = url.replace("https://matrix.example.org", homeserver.url)
    assert service["matrix"]["url"] != url
    describe(http_router, service)
    http_router.environment["MATRIX_TOKEN"] = bot.token
    http_router.secrets.add(bot.token)
    return http_router


def test_a_push_is_a_message_that_its_reader_finds(matrix_router, lab, alice, bob, bot, reader, room):
    router = matrix_router.start()
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice, room, mode="alert"), note)
        socket.publish(bob.reply('Grüße, <b>"Łódź"</b> & @room', note))
        [message] = wait_until(lambda: reader.messages(room), "the message is in the room", router.process)
    router.wait_for_deliveries(1)
    title = f"💬 {bob.hex[:8]}... sent you a note"
    assert message["sender"] == bot.id
    assert message["content"] == {
        "msgtype": "m.text",
        "body": f'{title}\nGrüße, <b>"Łódź"</b> & @room',
        "format": "org.matrix.custom.html",
        "formatted_body": f'<strong>{title}</strong><br>Grüße, &lt;b&gt;"Łódź"&lt;/b&gt; &amp; @room',
        "m.mentions": {},
    }


def test_messages_beyond_the_servers_rate_arrive_later_and_once(matrix_router, lab, alice, bob, reader, room):
    """It answers 429 with the milliseconds to wait, and knows a repeat by its transaction."""
    router = matrix_router.start()
    note = alice.note("root")
    texts = [f"reply {number}" for number in range(4)]
    with Socket(router) as socket:
        socket.publish(registration(router, alice, room, mode="alert"), note)
        socket.publish(*(bob.reply(text, note) for text in texts))
        router.wait_for_deliveries(len(texts))
    assert "too-many-requests" in router.log_text
    bodies = [message["content"]["body"].split("\n")[1] for message in reader.messages(room)]
    assert sorted(bodies) == texts


def test_a_room_that_the_account_is_not_in(matrix_router, lab, alice, bob, reader):
    room = reader.create_room()
    router = matrix_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, room))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("not-in-room")
    assert router.stop() == 0
    assert reader.messages(room) == []


def test_a_token_that_the_server_does_not_know(matrix_router, lab, alice, bob, reader, room, bot):
    matrix_router.environment["MATRIX_TOKEN"] = "syt_nobodys_token"
    router = matrix_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, room))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("bad-access-token")
    assert router.stop() == 1
    router.environment["MATRIX_TOKEN"] = bot.token
    router.start()
    [message] = wait_until(lambda: reader.messages(room), "the message is in the room", router.process)
    assert message["content"]["body"] == "New notification"
