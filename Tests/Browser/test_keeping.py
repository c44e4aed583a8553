"""What keeps a subscription alive, and what ends it."""

import subprocess

from nostr import Socket

TITLES = "(await (await navigator.serviceWorker.ready).getNotifications()).map(n => n.title)"


def test_key_rotation(subscriber, socket, bob, alice):
    """The old key goes on until the person renews; then the browser has a subscription for the new one."""
    router, page = subscriber.router, subscriber.browser
    subscriber.open().turn_on("alert")
    old = router.configuration["apps"]["default"]["web"]["vapid_key_file"]
    new = router.folder / "new.pem"
    subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", new], check=True)
    new.chmod(0o600)
    router.configuration["apps"]["default"]["web"] |= {"vapid_key_file": str(new), "old_vapid_key_files": [old]}
    port = router.port
    router.configuration["relay"]["listen"] = f"127.0.0.1:{port}"
    router.restart()
    subscriber.open()
    with Socket(router) as again:
        again.publish(bob.note("by the old key", alice))
        assert page.shown(1)[0]["body"] == "by the old key"
        assert page.is_shown("#renewal") and "signing key" in page.text("#renewal-reason")
        page.click("#renew")
        page.wait_for("document.querySelector('#renewal').hidden")
        assert page.text("#progress") == "Renewed."
        again.publish(bob.note("by the new key", alice))
        assert page.shown(2)[1]["body"] == "by the new key"


def test_a_lost_subscription_is_replaced(subscriber, socket, bob, alice):
    """`pushsubscriptionchange`: the worker subscribes anew and asks for a signature; a click tells the router."""
    page = subscriber.open().turn_on("alert").browser
    page.lose_subscription()
    page.wait_for("__shown.some(m => m.type === 'renewal')")
    page.wait_for(f"({TITLES}).includes('Please renew your notifications')")
    page.wait_for("!document.querySelector('#renewal').hidden")
    assert "new push address" in page.text("#renewal-reason")
    page.click("#renew")
    page.wait_for("document.querySelector('#renewal').hidden")
    socket.publish(bob.note("hello again", alice))
    assert page.shown(1)[0]["body"] == "hello again"


def test_delayed_notifications_do_not_block_others(subscriber, socket, bob, alice):
    """Firefox says nothing of one that is to stay while too many others do; pushes go on, and the page learns what is amiss."""
    page = subscriber.open().turn_on("alert").browser
    page.js(
        "const ready = await navigator.serviceWorker.ready; globalThis.__left = 0;"
        "for (let n = 0; n < 12; n++) { __left++;"
        " ready.showNotification(`sticky ${n}`, { tag: `sticky ${n}`, requireInteraction: true }).then(() => { __left-- }) }"
    )
    if page.name == "firefox":
        assert page.wait_for("__left > 0 && __left < 12 && __left")
    socket.publish(bob.note("stays", alice))
    assert page.shown(1)[0]["title"] == "A note that stays"
    socket.publish(bob.note("hello", alice))
    assert page.shown(2)[1]["body"] == "hello"
    page.lose_subscription()
    page.wait_for("!document.querySelector('#renewal').hidden")
    if page.name == "firefox":
        assert page.js("return __left") > 0, "none was held back meanwhile"
    page.click("#renew")
    page.wait_for("document.querySelector('#renewal').hidden")
    socket.publish(bob.note("hello again", alice))
    assert "hello again" in [message["body"] for message in page.shown(3)]


def test_an_expired_subscription_ends_the_registration(subscriber, socket, lab, bob, alice):
    """The push service says 410, and the router forgets the device. The page says so, and renews it."""
    page = subscriber.open().turn_on("alert").browser
    endpoint = page.js("return (await (await navigator.serviceWorker.ready).pushManager.getSubscription()).endpoint")
    lab.expire(endpoint)
    socket.publish(bob.note("to nobody", alice))
    lab.attempts(1, "webpush")
    assert lab.received("webpush")[0].status in [404, 410]
    page.js("await (await (await navigator.serviceWorker.ready).pushManager.getSubscription()).unsubscribe()")
    subscriber.open()
    assert page.is_shown("#renewal") and "lost its subscription" in page.text("#renewal-reason")
    page.click("#renew")
    page.wait_for("document.querySelector('#renewal').hidden")
    socket.publish(bob.note("hello", alice))
    assert page.shown(1)[0]["body"] == "hello"


def test_turning_off_ends_both(subscriber, socket, lab, bob, alice):
    page = subscriber.open().turn_on("alert").browser
    page.click("#ways button:last-child")
    page.wait_for("document.querySelector('#on').hidden")
    assert page.text("#progress") == "Notifications are off."
    assert page.js("return await (await navigator.serviceWorker.ready).pushManager.getSubscription()") is None
    socket.publish(bob.note("to nobody", alice))
    subscriber.router.stop()
    assert lab.received("webpush") == []
