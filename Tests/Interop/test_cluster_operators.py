"""What an operator sees of a cluster and does to it, whichever member he asks."""

import json
import signal

import pytest

from cluster import Cluster, Member, offer
from console import Console
from nostr import Person
from programs import carillon, wait_until
from relays import CountingProxy, LocalRelay
from stream import Stream
from test_api_v1 import Description
from test_me import Me

# So many people that each member has some: the one with the fewest partitions has 2 of 8.
EVERYWHERE = 40


@pytest.fixture
def cluster(tmp_path, lab):
    cluster = Cluster(tmp_path / "cluster", lab)
    yield cluster
    for member in cluster.living:
        member.process.send_signal(signal.SIGCONT)
    cluster.stop()


def run(member: Member, *words: str):
    return carillon(*words, "--config", member.configuration_file)


def answer(member: Member, *words: str, status: int = 0) -> dict:
    done = run(member, *words, "--json")
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def publish(cluster: Cluster, people: dict) -> dict[str, str]:
    """A note to everybody, each through another member; the tokens by the notes' ids."""
    return publish_among(cluster.members, people)


def publish_among(members: list[Member], people: dict) -> dict[str, str]:
    author, notes = Person(), {}
    for number, (person, token) in enumerate(people.values()):
        event = author.note(f"number {number}", person)
        member = members[number % len(members)]
        assert offer(member, [event]) == {event["id"]}
        notes[event["id"]] = token
    return notes


def failed(member: Member) -> list[dict]:
    return answer(member, "queue", "list", "--failed")["deliveries"]


def test_dead_letters_of_partitions_are_listed_requeued_and_dropped(cluster, lab):
    people = cluster.register(EVERYWHERE)
    first, second, third = cluster.members
    lab.misbehave("answer", status=400, reason="PayloadEmpty", times=0)
    publish(cluster, people)
    # In each of the modes alert, nudge and wake.
    refused = lab.attempts(3 * EVERYWHERE)
    wait_until(lambda: len(failed(first)) == EVERYWHERE, "all are dead letters")
    letters = failed(first)
    assert {letter["id"] for letter in letters} == {request.apns_id for request in refused}
    assert {letter["member"] for letter in letters} == {"member0", "member1", "member2"}
    assert all(0 <= letter["partition"] < cluster.partitions for letter in letters)
    assert [letter["id"] for letter in failed(second)] == [letter["id"] for letter in letters]
    # Page by page it is the same.
    pages, after = [], []
    while True:
        page = answer(third, "queue", "list", "--failed", "--limit", "15", *after)
        pages += [letter["id"] for letter in page["deliveries"]]
        if not page.get("next"):
            break
        after = ["--after", page["next"]]
    assert sorted(pages) == sorted(letter["id"] for letter in letters)
    other = next(letter for letter in letters if letter["member"] == "member2")
    shown = run(first, "queue", "show", other["id"])
    assert shown.returncode == 0 and "rejected (400 payload-empty)" in shown.stdout and "member2" in shown.stdout
    assert answer(second, "status", status=1 if answer_has_issues(second) else 0)["waiting"]["failed"] == EVERYWHERE

    # Whoever takes the partitions of a killed member over has them as well.
    third.kill()
    cluster.wait_until_shared()
    # Opening a partition takes a moment longer than owning it.
    taken = wait_until(lambda: all_of(letters, failed(first)), "the others have its dead letters")
    assert {letter["member"] for letter in taken} == {"member0", "member1"}
    listed = answer(first, "queue", "list", "--failed")
    assert [silent["name"] for silent in listed["members"]["silent"]] == ["member2"]
    assert "member2 is not connected: its data is missing here" in run(first, "queue", "list", "--failed").stdout

    lab.behave()
    lab.forget()
    trial = answer(second, "queue", "retry", "--failed", "--dry-run")
    assert (trial["retried"], trial["dry_run"]) == (EVERYWHERE, True) and len(failed(first)) == EVERYWHERE
    dropped = answer(first, "queue", "drop", letters[0]["id"], "--yes")
    assert (dropped["failed"], dropped["waiting"]) == (1, 0)
    assert answer(second, "queue", "retry", "--failed")["retried"] == EVERYWHERE - 1
    again = lab.accepted(EVERYWHERE - 1)
    assert {request.apns_id for request in again} == {letter["id"] for letter in letters[1:]}
    assert failed(first) == [] and answer(first, "queue", "retry", "--failed")["retried"] == 0

    # What waits is dropped at any member, too.
    lab.misbehave("answer", status=503, times=0)
    event = Person().note("in vain", next(iter(people.values()))[0])
    assert offer(first, [event]) == {event["id"]}
    waiting = wait_until(
        lambda: answer(second, "queue", "list", "--waiting", "--reason", "retry")["deliveries"], "one waits"
    )
    assert len(waiting) == 1
    wait_until(lambda: answer(second, "queue", "drop", "--all", "--yes")["waiting"] == 1, "it is dropped")
    assert answer(first, "queue", "list")["deliveries"] == []


def all_of(letters: list[dict], found: list[dict]) -> list[dict] | None:
    return found if {letter["id"] for letter in found} == {letter["id"] for letter in letters} else None


def answer_has_issues(member: Member) -> bool:
    return run(member, "status").returncode == 1


def test_any_member_reports_all_and_names_unresponsive_ones(cluster, lab):
    people = cluster.register(9)
    notes = publish(cluster, people)
    lab.accepted(9)
    first, second, third = cluster.members
    for event, token in notes.items():
        for member in cluster.members:
            story = wait_until(lambda: explained(member, event), f"{member.folder.name} explains")
            [device] = [device for account in story["accounts"] for device in account["devices"]]
            assert device["outcome"].startswith("delivered") and story["members"]["silent"] == []
            assert {step["member"] for step in device["steps"]} < {"member0", "member1", "member2"}
    for member in cluster.members:
        devices = json.loads(run(member, "devices", "list", "--json").stdout)["devices"]
        assert len(devices) == 9 and all(device["last_success"] and device["pace"] for device in devices)
        assert all(device["waiting"] == 0 for device in devices)
        number = devices[0]["device"]
        assert answer(member, "devices", "show", str(number))["last_success"] == devices[0]["last_success"]
    status = answer(first, "status")
    assert status["pushes"]["total"] == 9 and status["events"]["total"] >= 9
    assert [member["name"] for member in status["member_status"]] == ["member0", "member1", "member2"]
    [today] = answer(third, "stats", "--days", "1")["rows"]
    assert (today["delivered"], today["devices"]) == (9, 9)
    relays = answer(second, "relays", "list")
    assert relays["members"]["answered"] == ["member0", "member1", "member2"]

    third.process.send_signal(signal.SIGSTOP)
    done = run(first, "status")
    assert done.returncode == 1 and "the member member2 does not answer in time" in done.stdout
    silent = answer(first, "queue", "list")["members"]["silent"]
    says = {"code": "member-late", "values": {"member": "member2"}}
    assert silent == [{"name": "member2", "reason": "does not answer in time", "says": says}]
    cluster.wait_until_shared(among=[first, second])
    assert answer(first, "cluster", "members", status=1)["members"][2]["is_living"] is False
    third.process.send_signal(signal.SIGCONT)
    wait_until(lambda: answer(first, "queue", "list")["members"]["silent"] == [], "it answers again")


def explained(member: Member, event: str) -> dict | None:
    done = run(member, "explain", event, "--json")
    story = json.loads(done.stdout) if done.returncode == 0 else None
    return story if story and "→ delivered" in run(member, "explain", event).stdout else None


def test_a_deletion_reaches_the_member_that_holds_the_event(cluster, lab):
    """Each account has its partition with some member, and the deletion comes to one of them."""
    first, author = cluster.members[0], Person()
    people = [person for person, _ in cluster.register(12, batch={"cooldown_seconds": 3600}).values()]
    pushed = [author.note("hello", person) for person in people]
    held = [author.note("a slip of the pen", person) for person in people]
    # Whoever is not known to a partition yet is told of nothing.
    assert offer(first, pushed) == {event["id"] for event in pushed}
    lab.accepted(12)
    assert offer(first, held) == {event["id"] for event in held}
    for event in held:
        wait_until(lambda event=event: steps(first, event) in (["held"], ["batched"]), "it is held")
    deletion = author.event(5, "", [["k", "1"], *(["e", event["id"]] for event in held)])
    assert offer(first, [deletion]) == {deletion["id"]}
    for event in held:
        wait_until(lambda event=event: steps(first, event)[1:] == ["deleted"], "it is taken back")
    assert len({member for event in held for member in holders(first, event)}) > 1, "several members held something"
    assert len(lab.received()) == 12


def devices_of(member: Member, event: dict) -> list[dict]:
    done = run(member, "explain", event["id"], "--json")
    accounts = json.loads(done.stdout)["accounts"] if done.returncode == 0 else []
    return [device for account in accounts for device in account["devices"]]


def steps(member: Member, event: dict) -> list[str]:
    """What became of it at devices, in the trace's words."""
    return [step["step"] for device in devices_of(member, event) for step in device["steps"]]


def holders(member: Member, event: dict) -> set[str]:
    return {step["member"] for device in devices_of(member, event) for step in device["steps"]}


def owners(member: Member) -> list[str | None]:
    """Of each partition, once all have one."""

    def found():
        done = run(member, "cluster", "status", "--json")
        return json.loads(done.stdout)["partitions"] if done.returncode == 0 else None

    return [partition["owner"] for partition in wait_until(found, "every partition has an owner")]


def test_a_member_is_drained_and_a_partition_moves(cluster, lab):
    people = cluster.register(6)
    first, second, third = cluster.members
    members = answer(first, "cluster", "members")["members"]
    assert [member["name"] for member in members] == ["member0", "member1", "member2"]
    assert all(member["has_same_configuration"] and member["version"] and member["since"] for member in members)
    assert len({member["configuration"] for member in members}) == 1 and {member["wire"] for member in members} == {1}

    drained = answer(first, "cluster", "drain", "member2")
    assert drained == {"member": "member2", "is_drained": True, "partitions": 0}
    assert set(owners(second)) == {"member0", "member1"} and third.is_running
    assert "member2: 0 partitions, drained" in run(second, "cluster", "status").stdout
    # It goes on taking events.
    notes = publish(cluster, people)
    assert {push.target for push in lab.accepted(6)} == set(notes.values())
    refused = run(first, "cluster", "move", "0", "member2")
    assert refused.returncode == 1 and "member2 takes no partitions" in refused.stderr

    assert answer(third, "cluster", "drain", "member2", "--undo")["is_drained"] is False
    cluster.wait_until_shared()
    partition = owners(first).index("member0")
    moved = answer(third, "cluster", "move", str(partition), "member1")
    assert moved == {"partition": partition, "to": "member1", "owner": "member1"}
    assert owners(first)[partition] == "member1"
    # It stays there.
    second.restart()
    wait_until(lambda: owners(first)[partition] == "member1", "it is back where it was wanted")
    assert answer(first, "cluster", "move", str(partition), "--undo").get("to") is None
    wait_until(lambda: owners(first)[partition] == "member0", "it is where it belongs")

    for words, why in [
        (["drain", "nobody"], "there is no member nobody: they are member0, member1, member2"),
        (["move", "99", "member1"], "there is no partition 99: they are 0 to 7"),
        (["move", "0", "nobody"], "there is no member nobody"),
    ]:
        done = run(first, "cluster", *words)
        assert done.returncode == 1 and why in done.stderr, done.stdout + done.stderr
    assert run(first, "cluster", "move", "0").returncode == 64


def test_accounts_users_listeners_and_plugins_of_all_members_are_shown(tmp_path, lab):
    relay = LocalRelay(tmp_path / "relay").start()
    proxy = CountingProxy(relay)
    api = {"api": {"listen": "127.0.0.1:0", "token_file": "api.token"}}
    cluster = Cluster(tmp_path / "cluster", lab, relays=[proxy], configuration=api)
    try:
        people = cluster.register(6)
        cluster.warm_up(proxy.relay, people)
        notes = publish(cluster, people)
        lab.accepted(6)
        asked = [Me(Console(member), next(iter(people.values()))[0]) for member in cluster.members]
        person = asked[0].person
        [event] = [id for id, token in notes.items() if token == people[person.hex][1]]

        def own(me: Me) -> dict | None:
            report = me.ask()
            return report if any(found["event"] == event for found in report["events"]) else None

        reports = [wait_until(lambda me=me: own(me), "the event is known") for me in asked]
        for me, report in zip(asked, reports):
            [device] = report["devices"]
            assert device["last_success"] and device["waiting"] == 0 and device["pace"] and "is_partial" not in report
            [own_relay] = report["relays"]
            assert own_relay["state"] == "connected"
            story = me.ask(f"/v1/me/events/{event}")
            [pushed] = story["devices"]
            assert pushed["outcome"].startswith("delivered")
            me.ask(f"/v1/me/events/{'0' * 64}", status=404)
        assert len({report["devices"][0]["last_success"]["at"] for report in reports}) == 1
        changed = asked[1].ask(f"/v1/me/devices/{reports[0]['devices'][0]['id']}", "PATCH", {"locale": "de"})
        assert changed["device"]["last_success"] == reports[0]["devices"][0]["last_success"]

        description = asked[2].description
        for member in cluster.members:
            shown = answer(member, "users", "show", person.hex)
            assert shown["user"]["last_push"] and shown["devices"][0]["pace"], shown
            assert shown["members"]["answered"] == ["member0", "member1", "member2"]
        listeners = description.ask("/v1/listeners")
        sockets = [listener for listener in listeners["listeners"] if listener["listener"] == "socket"]
        assert [listener["member"] for listener in sockets] == ["member0", "member1", "member2"]
        assert sum(listener["events"] for listener in sockets) >= 12 and listeners["members"]["silent"] == []
        assert sum(listener["connections"] for listener in listeners["listeners"] if listener["listener"] == "relays") == 1
        assert description.ask("/v1/plugins")["members"]["answered"] == ["member0", "member1", "member2"]

        # Whose part is missing is said, without a name to the account.
        cluster.members[2].process.send_signal(signal.SIGSTOP)
        assert asked[0].ask()["is_partial"] is True
        assert asked[0].description.ask("/v1/listeners")["members"]["silent"][0]["name"] == "member2"
    finally:
        for member in cluster.living:
            member.process.send_signal(signal.SIGCONT)
        cluster.stop()
        proxy.stop()
        relay.kill()



RULES = """
version: 1
rules:
  - name: note
    match: { kinds: [1] }
    signal: mention
    title: "A note"
"""


@pytest.fixture
def keeping(tmp_path, lab):
    """Members that keep events, with an API each."""
    configuration = {"trace": {"keep_events_hours": 24}, "api": {"listen": "127.0.0.1:0", "token_file": "api.token"}}
    cluster = Cluster(tmp_path / "cluster", lab, configuration=configuration)
    yield cluster
    cluster.stop()


def api_port(member: Member) -> int:
    return int((member.folder / "api-port").read_text())


def repeats(members: list[Member]) -> int:
    """What the members say in their metrics, together."""
    lines = [line for member in members for line in Console(member).ask("/metrics")[1].splitlines()]
    return sum(int(line.split()[-1]) for line in lines if line.startswith("carillon_cluster_duplicates_total{"))


def test_pushes_in_flight_at_a_lost_member_are_resent_and_counted(keeping, lab):
    people = keeping.register(EVERYWHERE)
    first, second, third = keeping.members
    # A connection takes one request until APNs has answered one.
    publish(keeping, people)
    lab.accepted(EVERYWHERE)
    lab.forget()
    lab.misbehave("silence", times=0)
    publish(keeping, people)
    sent = {request.apns_id for request in lab.attempts(EVERYWHERE)}
    deliveries = answer(first, "queue", "list")["deliveries"]
    assert {delivery["id"] for delivery in deliveries} == sent
    lost = {delivery["id"] for delivery in deliveries if delivery["member"] == "member2"}
    assert lost and repeats(keeping.members) == 0
    lab.behave()
    lab.forget()
    third.kill()
    keeping.wait_until_shared()
    wait_until(lambda: lost <= {push.apns_id for push in lab.received()}, "the others send it again")
    assert repeats([first, second]) == len(lost)


def test_rules_are_compared_on_the_events_of_all_members(keeping, lab, tmp_path):
    people = keeping.register(EVERYWHERE)
    notes = publish(keeping, people)
    lab.accepted(EVERYWHERE)
    rules = tmp_path / "other.yaml"
    rules.write_text(RULES)
    for member in keeping.members:
        diff = answer(member, "rules", "diff", str(rules))
        assert {each["event"] for each in diff["list"]} == set(notes)
        assert (diff["events"], diff["differing"]) == (EVERYWHERE, EVERYWHERE)
        assert diff["members"] == {"answered": ["member0", "member1", "member2"], "silent": []}
    # No member has all of them.
    third = keeping.members[2]
    third.kill()
    keeping.wait_until_shared()
    diff = answer(keeping.members[0], "rules", "diff", str(rules))
    assert 0 < diff["events"] < EVERYWHERE and [silent["name"] for silent in diff["members"]["silent"]] == ["member2"]
    assert "member2 is not connected: its data is missing here" in run(keeping.members[0], "rules", "diff", str(rules)).stdout
    # What a member refuses keeps its code on the way through another one.
    third.configuration["trace"] = {}
    third.start()
    keeping.wait_until_shared()
    asked = Description(Console(keeping.members[0]))
    [refusing] = asked.ask("/v1/rules/diff", "POST", body={})["members"]["silent"]
    assert refusing["name"] == "member2" and refusing["reason"].startswith("says: no events are kept")
    assert refusing["says"] == {"code": "no-kept-events", "values": {}}
    # The same where it is asked itself, and nobody else is there.
    for member in keeping.members[:2]:
        member.kill()
    problem = Description(Console(third)).ask("/v1/rules/diff", "POST", 409, body={})
    assert problem["says"] == refusing["says"]


def test_a_reader_of_one_member_sees_events_of_all(keeping, lab):
    people = keeping.register(EVERYWHERE)
    first, third = keeping.members[0], keeping.members[2]
    token = (first.folder / "api.token").read_text().strip()
    with Stream(api_port(first), "?kind=outcome", token) as stream:
        assert stream.status == 200
        delivered, members, notes = {}, set(), {}
        # What happens before the others have heard that somebody reads is not shown.
        while members != {"member0", "member1", "member2"}:
            notes |= publish(keeping, people)
            wait_until(lambda: len(lab.received()) >= len(notes), "the pushes arrive")
            members |= {entry.data["member"] for entry in seen(stream)}
        notes = publish(keeping, people)
        while set(delivered) != set(notes):
            entry = stream.entries.get(timeout=20)
            assert entry.kind == "outcome", entry
            if entry.data.get("event") in notes:
                assert entry.data["event"] not in delivered, "shown twice"
                delivered[entry.data["event"]] = entry.data["member"]
        assert len(set(delivered.values())) == 3
        # Who goes away without a word is missed, and the rest goes on.
        third.kill()
        keeping.wait_until_shared()
        [*_, gap] = stream.until(lambda entry: entry.kind == "lost")
        assert gap.data == {"why": "member", "member": "member2"}
        notes = publish_among(keeping.living, people)
        remaining = set(notes)
        while remaining:
            entry = stream.entries.get(timeout=20)
            assert entry.data.get("member") in ("member0", "member1")
            remaining.discard(entry.data.get("event"))
    with Stream(api_port(first), "?kind=outcome&member=member1", token) as stream:
        members = set()
        while not members:
            publish_among(keeping.living, people)
            members |= {entry.data["member"] for entry in seen(stream)}
        assert members == {"member1"}


def seen(stream: Stream) -> list:
    entries = []
    while not stream.entries.empty():
        entries.append(stream.entries.get())
    return entries
