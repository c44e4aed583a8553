"""E-mail through a mail server of somebody else's making."""

import re
from email.utils import parsedate_to_datetime

import pytest

from authority import Authority
from mail import PASSWORD, USERNAME, MailServer
from nostr import ALL_SIGNALS, Socket
from programs import carillon

ADDRESS = "alice@example.com"


@pytest.fixture
def server():
    server = MailServer()
    yield server
    server.stop()


@pytest.fixture
def mail_router(stopped_router):
    stopped_router.add_plugin("libCarillonEmail.so")
    return stopped_router


def configure(router, server: MailServer, **more):
    router.configuration["apps"]["default"]["email"] = {
        "server": "localhost",
        "port": server.port,
        "security": "none",
        "from": "push@example.org",
        **more,
    }


def registration(router, person, address: str = ADDRESS, **more) -> dict:
    return person.registration(router, {"platform": "email", "token": address, "filters": ALL_SIGNALS, **more})


def test_a_message_is_complete(mail_router, lab, alice, bob, server):
    configure(
        mail_router,
        server,
        from_name="Glocken für alle",
        list_id="push.example.org",
        unsubscribe_url="https://example.org/leave?address={address}",
        unsubscribe_mailto="leave@example.org",
        return_path="bounces@example.org",
    )
    router = mail_router.start()
    note = alice.note("root")
    words = "Grüße aus Łódź,\n.\n..and a line that begins with a dot\n" + "long " * 5
    with Socket(router) as socket:
        socket.publish(registration(router, alice, mode="alert"), note)
        socket.publish(bob.reply(words, note))
        [letter] = server.wait(1)
        router.wait_for_deliveries(1)
    assert letter.sender == "bounces@example.org" and letter.recipients == [ADDRESS]
    assert f"SIZE={len(letter.content)}" in letter.options and "BODY=8BITMIME" in letter.options
    message = letter.message
    assert message["from"].addresses[0].display_name == "Glocken für alle"
    assert message["from"].addresses[0].addr_spec == "push@example.org"
    assert message["to"].addresses[0].addr_spec == ADDRESS
    assert message["subject"] == f"💬 {bob.hex[:8]}... sent you a note"
    assert words.strip() in letter.text
    assert re.fullmatch(r"<[0-9a-f-]{36}@example\.org>", message["message-id"])
    assert parsedate_to_datetime(message["date"]).utcoffset().total_seconds() == 0
    assert message["auto-submitted"] == "auto-generated" and message["list-id"] == "<push.example.org>"
    assert message["list-unsubscribe"].split(", ") == [
        "<https://example.org/leave?address=alice%40example.com>",
        "<mailto:leave@example.org?subject=unsubscribe>",
    ]
    assert message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    assert not message.defects and message.get_content_type() == "text/plain"


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_over_tls_with_a_login_and_one_connection_for_many(mail_router, lab, alice, bob, tmp_path, security):
    authority = Authority(tmp_path / "authority")
    server = MailServer(security, authority.server(), login=True)
    configure(
        mail_router,
        server,
        security=security,
        authority_file=str(authority.file),
        username=USERNAME,
        password=PASSWORD,
        connections=1,
    )
    mail_router.secrets.add(PASSWORD)
    router = mail_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice))
        for count in range(1, 4):
            socket.publish(bob.message(f"secret {count}", alice))
            server.wait(count)
        router.wait_for_deliveries(3)
    server.stop()
    assert all(letter.was_encrypted and letter.was_authenticated for letter in server.letters)
    assert len({letter.session for letter in server.letters}) == 1
    assert {letter.message["subject"] for letter in server.letters} == {"New notification"}
    assert all(b"secret" not in letter.content for letter in server.letters)


@pytest.mark.parametrize("trusted", [True, False])
def test_an_untrusted_server_or_wrong_password_gets_no_message(
    mail_router, lab, alice, bob, tmp_path, trusted
):
    authority = Authority(tmp_path / "authority")
    server = MailServer("starttls", authority.server(), login=True)
    right = {"security": "starttls", "username": USERNAME, "password": PASSWORD, "authority_file": str(authority.file)}
    wrong = {"password": "wrong"} if trusted else {"authority_file": str(lab.ca_file)}
    configure(mail_router, server, **(right | wrong))
    router = mail_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("bad-credentials" if trusted else "tls-untrusted")
    assert router.stop() == 1 and not server.letters
    configure(router, server, **right)
    router.start()
    server.wait(1)
    server.stop()


def test_a_restarting_server_loses_no_message(mail_router, lab, alice, bob, server):
    configure(mail_router, server, connections=1)
    router = mail_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice))
        socket.publish(bob.message("one", alice))
        server.wait(1)
        router.wait_for_deliveries(1)
        server.stop()
        server.start()
        # The old connection is gone; the router finds out with the next message at the latest.
        socket.publish(bob.message("two", alice))
        server.wait(2)
        router.wait_for_deliveries(2)
        # In the middle of a message.
        server.refusals += [("RCPT", "421 4.3.2 shutting down"), ("DATA", "")]
        socket.publish(bob.message("three", alice))
        server.wait(3)
        router.wait_for_deliveries(3)
    assert len(server.letters) == 3
    assert len({letter.message["message-id"] for letter in server.letters}) == 3


def test_a_repeat_has_the_same_message_id(mail_router, lab, alice, bob, server):
    configure(mail_router, server)
    router = mail_router.start()
    server.refusals += [("RCPT", "450 4.7.1 greylisted"), ("DATA", "451 4.3.0 try again")]
    with Socket(router) as socket:
        socket.publish(registration(router, alice))
        socket.publish(bob.message("hello", alice))
        server.wait(1)
        router.wait_for_deliveries(1)
    [delivery] = router.delivered
    assert server.letters[0].message["message-id"] == f"<{delivery}@example.org>"
    assert "greylisted" in router.log_text and "server-busy" in router.log_text


def test_an_unknown_mailbox_is_forgotten_and_a_refusal_is_not(mail_router, lab, alice, bob, server):
    configure(mail_router, server)
    router = mail_router.start()
    server.refusals += [("RCPT", "550 relay not permitted"), ("RCPT", "550 5.1.1 unknown")]
    with Socket(router) as socket:
        socket.publish(registration(router, alice))
        socket.publish(bob.message("one", alice))
        router.wait_for_log("mailbox-refused")
        socket.publish(bob.message("two", alice))
        router.wait_for_log("outcome=gone")
        socket.publish(bob.message("three", alice))
    assert router.stop() == 0
    assert not server.letters


def test_addresses_are_checked(mail_router, lab, alice, server):
    configure(mail_router, server, domains=["example.com"])
    router = mail_router.start()
    with Socket(router) as socket:
        for address in ["xyzzy-at-example.com", "xyzzy@example.org", "<xyzzy@example.com>"]:
            accepted, words = socket.offer(registration(router, alice, address))
            assert not accepted and "token: expected an" in words, words
        accepted, _ = socket.offer(registration(router, alice, "xyzzy@example.com\r\nRCPT TO:<plugh@example.com>"))
        assert not accepted
    router.configuration["apps"]["default"]["email"]["from"] = "nobody"
    run = carillon("check", "--config", router.configuration_file)
    assert run.returncode == 1 and "from: expected an address such as push@example.com" in run.stderr
