"""What an operator does to a router, by mistake or not: none of it loses or doubles a push."""

import signal
import socket as sockets
import subprocess

from nostr import Socket, device_token, ios
from programs import built, wait_until


def serve(router) -> subprocess.CompletedProcess:
    """A further `carillon serve` with the same configuration, which is expected to refuse."""
    return subprocess.run(
        [built("carillon"), "serve", "--config", router.configuration_file],
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_a_second_router_on_the_same_store_is_refused(router):
    second = serve(router)
    assert second.returncode == 1
    assert f"another router (process {router.process.pid}) runs on" in second.stderr


def test_a_store_is_free_again_after_a_kill(router):
    router.kill()
    router.start()


def test_a_taken_port_is_named_and_no_push_is_sent(router, socket, lab, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    lab.misbehave("answer", status=503, times=0)
    socket.publish(bob.message("hello", alice))
    lab.attempts(1)
    port = router.port
    router.kill()
    lab.behave()
    with sockets.create_server(("127.0.0.1", port)):
        lab.forget()
        router.configuration["relay"]["listen"] = f"127.0.0.1:{port}"
        refused = serve(router)
    assert refused.returncode == 1
    assert f"relay.listen: cannot listen on 127.0.0.1:{port}" in refused.stderr
    assert lab.received() == []
    router.configuration["relay"]["listen"] = "127.0.0.1:0"
    router.start()
    lab.accepted(1)


def test_a_missing_key_next_to_a_store_is_not_replaced(router):
    router.stop()
    key = router.folder / "carillon.key"
    key.rename(router.folder / "elsewhere.key")
    refused = serve(router)
    assert refused.returncode == 1
    assert "restore the key file" in refused.stderr
    assert not key.exists()


def test_an_event_resent_after_a_restart_sends_no_push(router, lab, alice, bob):
    message = bob.message("once", alice)
    for end in [router.stop, router.kill]:
        with Socket(router) as socket:
            if end == router.stop:
                socket.publish(alice.registration(router, ios(device_token())), message)
                router.wait_for_deliveries(1)
        end()
        router.start()
        with Socket(router) as socket:
            assert socket.offer(message) == (True, "duplicate: already have this event")
    assert router.stop() == 0
    assert len(lab.received()) == 1


def test_a_second_interrupt_exits_immediately_and_loses_nothing(router, socket, lab, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    lab.misbehave("silence")
    message = bob.message("hello", alice)
    socket.publish(message)
    lab.attempts(1)
    router.process.send_signal(signal.SIGINT)
    router.wait_for_log("Stopping")
    # What relays said is let in before the door closes; until then the socket keeps what it accepts.
    refusal = (False, "error: shutting down, try again later")
    wait_until(lambda: socket.offer(bob.message("late", alice)) == refusal, "the socket takes no more")
    router.process.send_signal(signal.SIGINT)
    assert router.process.wait(timeout=3) == 130
    router.start()
    lab.accepted(1)
    router.kill()
