"""A signer elsewhere (NIP-46), for browsers without an extension, such as those of phones."""

import csv
import json

import pytest

from bunker import Bunker
from programs import REPOSITORY

GENERATOR = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


@pytest.fixture
def bunker(browser, alice):
    bunker = Bunker(alice, browser.certificate)
    yield bunker
    bunker.stop()


def connect(page, address: str):
    page.js("document.querySelector('#remote').open = true")
    page.choose("#bunker", address)
    page.click("#remote-form button")


def test_the_whole_way(subscriber, bunker, socket, bob, alice):
    """Connect, register, get a push; at the next visit the session is still there, and another registration needs no address."""
    page = subscriber.browser
    page.signer = None
    subscriber.open()
    assert "No signer found" in page.text("#key-words")
    connect(page, bunker.url)
    page.wait_for("!document.querySelector('#key').hidden")
    kept = page.js("return JSON.stringify(await (await import('./storage.js')).read()) + document.querySelector('#bunker').value")
    assert bunker.secret not in kept
    subscriber.turn_on("alert")
    assert bunker.asked == ["connect", "get_public_key", "nip44_encrypt", "sign_event"]
    socket.publish(bob.note("hello", alice))
    assert page.shown(1)[0]["body"] == "hello"
    subscriber.open()
    assert page.is_shown("#disconnect") and "remote signer" in page.text("#key-words")
    page.click("#ways button:last-child")
    page.wait_for("document.querySelector('#on').hidden")
    assert bunker.asked[4:] == ["get_public_key", "sign_event"]
    page.click("#disconnect")
    page.wait_for("document.querySelector('#disconnect').hidden")
    assert page.js("return (await (await import('./storage.js')).read()).signer") is None
    assert page.js("return __blocked") == []


def test_the_worker_renews_automatically(subscriber, bunker, socket, bob, alice):
    """With a remote signer a lost subscription takes no click and no open page of the router's."""
    page = subscriber.browser
    page.signer = None
    subscriber.open()
    connect(page, bunker.url)
    subscriber.turn_on("alert")
    page.lose_subscription()
    page.wait_for("__shown.some(m => m.type === 'renewed')")
    assert bunker.asked[4:] == ["nip44_encrypt", "sign_event"]
    assert page.notifications() == [] and not page.is_shown("#renewal")
    socket.publish(bob.note("hello again", alice))
    assert page.shown(1)[0]["body"] == "hello again"


def test_an_approval_is_asked_for_and_may_be_declined(subscriber, bunker):
    page = subscriber.browser
    page.signer = None
    bunker.approval = "https://signer.example.com/approve?id=1"
    subscriber.open()
    address = bunker.url
    bunker.secret = "no longer that of the address"
    connect(page, address)
    page.wait_for("!document.querySelector('#approval').hidden")
    assert page.js("return document.querySelector('#approval-link').href") == bunker.approval
    page.wait_for("!document.querySelector('#problem').hidden")
    assert "declined" in page.text("#problem")


@pytest.mark.parametrize(
    "address, words",
    [
        ("npub1abc", "whole address"),
        ("bunker://" + "a" * 64, "whole address"),
        ("bunker://" + "a" * 64 + "?relay=ws://relay.example.com", "whole address"),
        (f"bunker://{GENERATOR}?relay=wss://localhost:1", "relay does not answer"),
    ],
)
def test_unusable_signer_addresses_are_refused(subscriber, address, words):
    page = subscriber.browser
    page.signer = None
    subscriber.open()
    connect(page, address)
    page.wait_for("!document.querySelector('#problem').hidden")
    assert words in page.text("#problem")


def test_the_official_vectors(subscriber):
    """NIP-44 and BIP-340, in the browser itself."""
    page = subscriber.open().browser
    vectors = json.loads((REPOSITORY / "Tests/NostrTests/Vectors/nip44.vectors.json").read_text())["v2"]["valid"]
    keys = vectors["get_conversation_key"]
    assert [case["conversation_key"] for case in keys] == page.js(
        "const n = await import('./nip44.js'), c = await import('./secp256k1.js');"
        "return Promise.all(a[0].map(async v => c.hex(await n.conversationKey(v.sec1, v.pub2))))",
        keys,
    )
    texts = vectors["encrypt_decrypt"]
    assert [[case["payload"], case["plaintext"]] for case in texts] == page.js(
        "const n = await import('./nip44.js'), c = await import('./secp256k1.js');"
        "return Promise.all(a[0].map(async v => { const k = await n.conversationKey(v.sec1, c.publicKey(v.sec2));"
        "return [await n.encrypt(k, v.plaintext, c.bytes(v.nonce)), await n.decrypt(k, v.payload)] }))",
        texts,
    )
    with (REPOSITORY / "Tests/CipherTests/Vectors/bip340-test-vectors.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["secret key"] and len(row["message"]) == 64]
    assert len(rows) >= 4
    assert [[row["public key"], row["signature"]] for row in rows] == page.js(
        "const c = await import('./secp256k1.js');"
        "return Promise.all(a[0].map(async v =>"
        " [c.publicKey(v.key), await c.sign(v.key, c.bytes(v.message), c.bytes(v.aux))].map(t => t.toUpperCase())))",
        [{"key": row["secret key"], "message": row["message"], "aux": row["aux_rand"]} for row in rows],
    )


def test_a_changed_payload_is_refused(subscriber):
    page = subscriber.open().browser
    assert page.js(
        "const n = await import('./nip44.js'), c = await import('./secp256k1.js');"
        "const [x, y] = [c.secretKey(), c.secretKey()];"
        "const k = await n.conversationKey(x, c.publicKey(y)), l = await n.conversationKey(y, c.publicKey(x));"
        "const p = await n.encrypt(k, 'hello'); const bad = p.slice(0, 70) + (p[70] === 'A' ? 'B' : 'A') + p.slice(71);"
        "return [await n.decrypt(l, p), await n.decrypt(l, bad).then(() => 'taken', e => e.message)]"
    ) == ["hello", "not authentic"]
