"""MQTT through Mosquitto, to a subscriber by paho."""

import pytest

from broker import PASSWORD, Broker, Subscriber
from nostr import ALL_SIGNALS, Socket


@pytest.fixture
def broker(tmp_path):
    broker = Broker(tmp_path / "broker")
    yield broker
    broker.stop()


@pytest.fixture
def mqtt_router(stopped_router, broker):
    stopped_router.add_plugin("libCarillonMQTT.so")
    stopped_router.configuration["apps"]["default"]["mqtt"] = broker.block
    stopped_router.secrets.add(PASSWORD)
    return stopped_router


def registration(router, person, topic: str, **more) -> dict:
    return person.registration(router, {"platform": "mqtt", "token": topic, "filters": ALL_SIGNALS, **more})


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_messages_arrive_over_one_connection(mqtt_router, broker, lab, alice, bob, version):
    mqtt_router.configuration["apps"]["default"]["mqtt"]["version"] = version
    router = mqtt_router.start()
    subscriber = Subscriber(broker)
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "phones/Alice's phone", mode="alert"), note)
        for number in range(1, 6):
            socket.publish(bob.reply(f"Grüße {number}", note))
        contents = subscriber.wait(5)
        router.wait_for_deliveries(5)
    subscriber.stop()
    assert sorted(content["body"] for content in contents) == [f"Grüße {number}" for number in range(1, 6)]
    assert {content["id"] for content in contents} == router.delivered
    assert {message.topic for message in subscriber.messages} == {"carillon/phones/Alice's phone"}
    for message in subscriber.messages:
        assert message.qos == 1 and not message.retain
        if version == "5":
            assert message.properties.ContentType == "application/json"
            assert message.properties.PayloadFormatIndicator == 1
    assert broker.log_text.count("New client connected") == 2


def test_stricter_modes_show_less(mqtt_router, broker, lab, alice, bob):
    router = mqtt_router.start()
    subscriber = Subscriber(broker)
    with Socket(router) as socket:
        for count, mode in enumerate(["wake", "nudge"], start=1):
            socket.publish(registration(router, alice, "phones/alice", mode=mode))
            socket.publish(bob.message("secret", alice))
            content = subscriber.wait(count)[-1]
            assert (content["mode"], content["signal"]) == (mode, "dm") and ("title" in content) == (mode == "nudge")
    subscriber.stop()
    assert all(b"secret" not in message.payload for message in subscriber.messages)


def test_an_offline_subscriber_gets_messages_later(mqtt_router, broker, lab, alice, bob):
    Subscriber(broker, name="alices-phone").stop()
    router = mqtt_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "phones/alice"))
        socket.publish(bob.message("hello", alice))
        router.wait_for_deliveries(1)
    subscriber = Subscriber(broker, name="alices-phone")
    assert subscriber.wait(1)[0]["signal"] == "dm"
    subscriber.stop()


def test_the_last_message_is_retained_where_the_operator_wants_it(mqtt_router, broker, lab, alice, bob):
    mqtt_router.configuration["apps"]["default"]["mqtt"]["retain"] = True
    router = mqtt_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "phones/alice"))
        for count in [1, 2]:
            socket.publish(bob.message("hello", alice))
            router.wait_for_deliveries(count)
    subscriber = Subscriber(broker)
    subscriber.wait(1)
    subscriber.stop()
    assert len(subscriber.messages) == 1 and subscriber.messages[0].retain


def test_a_restarting_broker_loses_no_message(mqtt_router, broker, lab, alice, bob):
    router = mqtt_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "phones/alice"))
        socket.publish(bob.message("one", alice))
        router.wait_for_deliveries(1)
        broker.stop()
        socket.publish(bob.message("two", alice))
        router.wait_for_log("outcome=retry")
        broker.start()
        subscriber = Subscriber(broker)
        subscriber.wait(1)
        router.wait_for_deliveries(2)
    subscriber.stop()


def test_a_wrong_password_pauses_and_loses_no_message(mqtt_router, broker, lab, alice, bob):
    block = mqtt_router.configuration["apps"]["default"]["mqtt"]
    block["password"] = "wrong"
    router = mqtt_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "phones/alice"))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("the broker did not authorize the account")
    assert router.stop() == 1
    block["password"] = PASSWORD
    router.start()
    router.wait_for_deliveries(1)


def test_an_untrusted_broker_gets_no_message(mqtt_router, broker, lab, alice, bob):
    mqtt_router.configuration["apps"]["default"]["mqtt"]["authority_file"] = str(lab.ca_file)
    router = mqtt_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "phones/alice"))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("tls-untrusted")
    assert router.stop() == 1
    assert "New client connected" not in broker.log_text


def test_a_topic_refused_by_the_broker_does_not_affect_others(mqtt_router, broker, lab, alice, bob):
    router = mqtt_router.start()
    subscriber = Subscriber(broker)
    with Socket(router) as socket:
        accepted, words = socket.offer(registration(router, alice, "phones/+/xyzzy"))
        assert not accepted and "without + and #" in words
        socket.publish(registration(router, alice, "elsewhere/xyzzy"))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("not-authorized")
        socket.publish(registration(router, alice, "phones/alice"))
        socket.publish(bob.message("hello", alice))
        subscriber.wait(1)
        router.wait_for_deliveries(1)
    subscriber.stop()
    assert router.stop() == 0


def test_the_connection_is_kept_alive(mqtt_router, broker, lab, alice, bob):
    mqtt_router.configuration["apps"]["default"]["mqtt"]["keep_alive_seconds"] = 10
    router = mqtt_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, "phones/alice"))
        socket.publish(bob.message("hello", alice))
        router.wait_for_deliveries(1)
        # Longer than the broker waits for a sign of life.
        broker.wait_for_log("Received PINGREQ", count=2)
        socket.publish(bob.message("hello", alice))
        router.wait_for_deliveries(2)
    assert broker.log_text.count("New client connected") == 1
