"""Device keys, DM keys and partners: who speaks for whom is in the root's kind 10050 (contrib/docs/registration.md)."""

import time

import pytest

from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until


def device_list(root: Person, *devices: Person, dm_key: Person | None = None, at: int = 0) -> dict:
    tags = [["device", device.hex] for device in devices]
    if dm_key:
        tags.append(["dm_key", dm_key.hex])
    # Without either tag it would say nothing of devices.
    tags = tags or [["device"]]
    return root.event(10050, "", tags, int(time.time()) + at)


def test_a_device_key_registers_once_its_root_lists_it(router, lab, socket, alice, bob):
    phone, token = Person(), device_token()
    assert socket.offer(phone.registration(router, ios(token), root=alice))[0]
    socket.publish(bob.note("too early", alice))
    socket.publish(device_list(alice, phone))
    socket.publish(bob.reaction("+", alice.note("root")))
    [push] = lab.accepted(1)
    assert (push.target, push.payload["t"]) == (token, "reaction")

    # The list survives a restart, and a newer one without the phone revokes it.
    assert router.stop() == 0
    lab.forget()
    router.start()
    with Socket(router) as socket:
        socket.publish(bob.note("still there", alice))
        lab.accepted(1)
        socket.publish(device_list(alice, Person(), at=2))
        socket.publish(bob.note("no more", alice))
    router.stop()
    assert len(lab.received()) == 1


def test_an_account_cannot_register_for_another(router, lab, socket, alice, bob):
    mallory, token, stolen = Person(), device_token(), device_token()
    socket.publish(alice.registration(router, ios(token)))
    socket.publish(device_list(alice, Person()))
    # In Alice's name, with Alice's token, and for an end to Alice's device.
    socket.offer(mallory.registration(router, ios(stolen), root=alice))
    socket.offer(mallory.registration(router, ios(token), root=alice))
    socket.offer(mallory.registration(router, None, root=alice))
    socket.publish(device_list(mallory, mallory))
    socket.publish(bob.note("hello", alice))
    [push] = lab.accepted(1)
    assert push.target == token
    router.stop()
    assert len(lab.received()) == 1


def test_gift_wraps_to_the_dm_key_belong_to_the_account(router, lab, socket, alice, bob):
    dm_key, former = Person(), Person()
    socket.publish(alice.registration(router, ios(device_token())))
    socket.publish(device_list(alice, dm_key=former, at=-60))
    socket.publish(device_list(alice, dm_key=dm_key))
    socket.publish(bob.message("hello", dm_key), bob.message("to the former one", former))
    # Only gift wraps: a note that names the key says nothing to Alice.
    socket.publish(bob.note("hello", dm_key))
    assert [push.payload["t"] for push in lab.accepted(2)] == ["dm", "dm"]
    assert router.stop() == 0
    assert len(lab.received()) == 2


def test_a_list_by_an_app_that_knows_only_relays_keeps_devices_for_a_while(router, lab, socket, alice, bob):
    phone, token, now = Person(), device_token(), int(time.time())

    def said(*words, status: int = 0) -> str:
        run = carillon(*words, "--config", router.configuration_file)
        assert run.returncode == status, run.stderr
        assert not [secret for secret in router.secrets if secret in run.stdout]
        return run.stdout

    def plain(at: int) -> dict:
        return alice.event(10050, "", [["relay", "wss://inbox.example"]], now + at)

    socket.publish(phone.registration(router, ios(token), root=alice), device_list(alice, phone))
    assert "only until" not in said("devices", "list")
    socket.publish(plain(1))
    note = bob.note("hello", alice)
    socket.publish(note)
    [push] = lab.accepted(1)
    assert push.target == token
    [row] = [line for line in said("devices", "list").splitlines() if "ios/default" in line]
    until = time.strftime("%Y-%m-%dT", time.gmtime(now + 7 * 86_400))
    assert f"only until {until}" in row
    assert "the newest kind 10050" in said("devices", "show", "1")
    wait_until(lambda: "is woken until " + until in said("explain", note["id"]), "explain says so", router.process)

    # A list with a device tag counts at once, also one without a value.
    socket.publish(alice.event(10050, "", [["relay", "wss://inbox.example"], ["device"]], now + 2))
    late = bob.note("nobody hears this", alice)
    socket.publish(late)
    assert said("devices", "list").startswith("no devices\nwaiting: a registration of npub1")
    assert phone.hex in said("devices", "list")
    # Nothing else is known of what concerned nobody.
    assert "waits, and sends no notifications" in said("explain", late["id"], "--recipient", alice.hex, status=3)

    # Of a list that is older than that nothing is left.
    socket.publish(device_list(alice, phone, at=3))
    carol, tablet = Person(), Person()
    listed = carol.event(10050, "", [["device", tablet.hex]], now - 8 * 86_400)
    socket.publish(tablet.registration(router, ios(device_token()), root=carol), listed)
    socket.publish(carol.event(10050, "", [["relay", "wss://inbox.example"]], now))
    socket.publish(bob.note("hello", alice, carol))
    assert [push.target for push in lab.accepted(2)[1:]] == [token]
    assert router.stop() == 0
    assert len(lab.received()) == 2


def hint(device: Person, target: Person, signal: str = "dm", root: Person | None = None) -> dict:
    tags = [["p", target.hex], ["t", signal]]
    if root:
        tags.append(["root_identity", root.hex])
    return device.event(20062, "", tags)


def test_hints_of_known_partners_wake(router, lab, socket, alice):
    partner, server, stranger = Person(), Person(), Person()
    socket.publish(alice.registration(router, ios(device_token(), partners=[partner.hex])))
    socket.publish(device_list(partner, server))
    for event in [
        hint(stranger, alice),
        hint(stranger, alice, root=partner),
        hint(server, alice),
        hint(server, alice, "no such signal", root=partner),
    ]:
        socket.offer(event)
    socket.offer(hint(server, alice, "reply", root=partner))
    [push] = lab.accepted(1)
    assert push.payload == {"aps": {"content-available": 1}, "t": "reply"}
    assert router.stop() == 0
    assert len(lab.received()) == 1


def test_a_partner_cannot_keep_a_phone_awake(router, lab, socket, alice):
    partner = Person()
    socket.publish(alice.registration(router, ios(device_token(), partners=[partner.hex])))
    socket.publish(device_list(partner, Person()))
    for number in range(50):
        socket.offer(hint(partner, alice))
    lab.accepted(1)
    router.stop()
    assert 1 <= len(lab.received()) <= 20
