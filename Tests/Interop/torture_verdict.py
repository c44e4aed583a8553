"""What a torture run proves, from what the senders know and what the push service recorded."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from lab import Received
from torture import Torture
from torture_cast import Note, Slot

GRACE = 5_000
"""Milliseconds that a push may take that was under way when its device left."""
STOPPING = 10
"""Seconds that container engines wait before they kill."""


SUMMARY = re.compile(r"(\d+) new notifications")
"""The built-in rules' title of a batch."""


@dataclass
class Verdict:
    events: int = 0
    owed: int = 0
    """Pairs of an accepted event and a device that was registered all the time while it was accepted."""
    excused: int = 0
    """Of these, the ones whose device left before the push could be made."""
    open: int = 0
    """Pairs whose device came or left just then: a push may be made or not."""
    pushes: int = 0
    batches: int = 0
    repeats: int = 0
    left: int = 0
    """Deliveries that the kills left behind, altogether."""
    faults: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[tuple[str, object]]:
        return [
            ("events accepted", self.events),
            ("pushes owed", self.owed),
            ("  of devices that left meanwhile", self.excused),
            ("pushes that may or may not be", self.open),
            ("pushes accepted by the push service", self.pushes),
            ("  of these for several events", self.batches),
            ("repeats", self.repeats),
            ("deliveries left behind by kills", self.left),
            ("faults", len(self.faults)),
        ]


def judge(run: Torture) -> Verdict:
    verdict = Verdict(left=sum(map(len, run.left)))
    verdict.faults += [f"refused: {text}" for text in run.refusals]
    verdict.faults += [f"it took {took:.1f} s to stop" for took in run.stops if took > STOPPING]
    accepted = run.collector.accepted
    verdict.pushes = len(accepted)
    owners = {token: slot for slot in run.cast.slots for token in slot.tokens}
    pushed: dict[str, dict[Slot, list[Received]]] = defaultdict(lambda: defaultdict(list))
    for push in accepted:
        slot = owners.get(push.target)
        if slot is None:
            verdict.faults.append("a push to a token that nobody ever had")
            continue
        # A batch says no more than how many it stands for.
        pushed[push.payload.get("event_id", push.apns_id)][slot].append(push)
    if run.paced:
        _judge_counts(run, accepted, owners, verdict)
    else:
        _judge_losses(run, pushed, verdict)
    _judge_repeats(run, pushed, verdict)
    _judge_lateness(run, accepted, owners, verdict)
    _judge_registry(run, pushed, verdict)
    return verdict


def _judge_losses(run: Torture, pushed, verdict: Verdict):
    known = {note.event["id"] for note in run.cast.notes}
    verdict.faults += [f"a push for an unknown event {event}" for event in pushed if event not in known]
    for note in run.cast.notes:
        if note.answered is None:
            verdict.faults.append("an event was never answered")
            continue
        verdict.events += 1
        for slot in note.account.slots:
            _judge_pair(run, note, slot, pushed[note.event["id"]][slot], verdict)
        for slot in pushed[note.event["id"]]:
            if slot.account is not note.account:
                verdict.faults.append("a push to somebody else's device")


def _judge_pair(run: Torture, note: Note, slot: Slot, pushes: list[Received], verdict: Verdict):
    holds = slot.holders(note.sent, note.answered)
    if holds is None:
        verdict.open += 1
    elif holds:
        verdict.owed += 1
        if pushes:
            return
        left = slot.left_after(note.answered)
        waited = max([note.answered, *(at for at, events in run.waiting if note.event["id"] in events)])
        if left is not None and left < waited + GRACE:
            verdict.excused += 1
        else:
            kind = "fed" if note.is_fed else "sent"
            later = "stayed" if left is None else f"left {(left - waited) / 1000:.1f} s after it last waited"
            verdict.faults.append(f"no push for {note.event['id']} ({kind}) to {slot.name}, which {later}")
    elif pushes:
        verdict.faults.append(f"a push for {note.event['id']} to {slot.name}, which was not registered")


def _judge_counts(run: Torture, accepted: list[Received], owners: dict[str, Slot], verdict: Verdict):
    """Every event of a device is in one of its pushes, and in one only: a batch says how many it stands for."""
    counts: dict[Slot, dict[str, int]] = defaultdict(dict)
    for push in accepted:
        if push.target not in owners:
            continue
        names = counts[owners[push.target]]
        summary = SUMMARY.match(push.payload["aps"]["alert"]["title"])
        count = int(summary[1]) if summary else 1
        if names.setdefault(push.apns_id, count) != count:
            verdict.faults.append(f"{push.apns_id} stood for {names[push.apns_id]} events and then for {count}")
        verdict.batches += count > 1
    for account in run.cast.accounts:
        notes = [note for note in run.cast.notes if note.account is account]
        verdict.events += len(notes)
        for slot in account.slots:
            since = slot.operations[0].answered
            owed = sum(note.sent > since for note in notes)
            open_ones = len(notes) - owed
            verdict.owed += owed
            verdict.open += open_ones
            pushed = sum(counts[slot].values())
            if not owed <= pushed <= owed + open_ones:
                verdict.faults.append(f"{slot.name} was owed {owed} to {owed + open_ones} events and got {pushed}")


def _judge_repeats(run: Torture, pushed, verdict: Verdict):
    """A repeat is of what the last kill left in the outbox, and keeps its name."""
    for slots in pushed.values():
        for pushes in slots.values():
            names = Counter(push.apns_id for push in pushes)
            if len(names) > 1:
                verdict.faults.append(f"one event came under {len(names)} apns-ids to one device")
            for name, count in names.items():
                verdict.repeats += count - 1
                if count - 1 > (0 if run.orderly else sum(name in left for left in run.left)):
                    verdict.faults.append(f"{name} came {count} times, and no kill explains that")
    # A device's pushes go one at a time.
    in_flight = sum(min(len(run.cast.slots), len(left)) for left in run.left)
    if verdict.repeats > in_flight:
        verdict.faults.append(f"{verdict.repeats} repeats, but at most {in_flight} were in flight at the kills")


def _judge_lateness(run: Torture, accepted: list[Received], owners: dict[str, Slot], verdict: Verdict):
    """After a token was given up, and that was acknowledged, only what was under way may still come."""
    given_up: dict[str, float] = {}
    for slot in run.cast.slots:
        for before, after in zip(slot.operations, slot.operations[1:]):
            if before.token and before.token != after.token and after.answered is not None:
                given_up[before.token] = after.answered
    for push in accepted:
        moment = given_up.get(push.target)
        if moment is not None and push.line["received_at"] > moment + GRACE:
            late = (push.line["received_at"] - moment) / 1000
            verdict.faults.append(f"a push {late:.1f} s after its token was given up")


def _judge_registry(run: Torture, pushed, verdict: Verdict):
    """The last events, when nothing is under way any more, reach each device that is registered, at its token, and no other."""
    for probe in run.probes:
        for slot in probe.account.slots:
            tokens = {push.target for push in pushed[probe.event["id"]][slot]}
            expected = {slot.token} - {None}
            if tokens != expected:
                verdict.faults.append(
                    f"{slot.name} of {slot.account.person.hex}: expected {len(expected)} tokens to be woken, got {len(tokens)}"
                )
