"""Who takes part in a torture run: devices that come, change and go, and notes to their owners."""

import json
import random
import time
from dataclasses import dataclass, field

from nostr import Person, device_token, ios
from router import Router


def milliseconds_now() -> float:
    return time.time() * 1000


@dataclass(eq=False)
class Offer:
    """An event on its way into the router, brought again until it is answered OK true. Times are in milliseconds since 1970."""

    event: dict
    sent: float | None = None
    """First of all."""
    answered: float | None = None
    """With OK true."""

    @property
    def message(self) -> str:
        return json.dumps(["EVENT", self.event])


@dataclass(eq=False)
class Note(Offer):
    account: "Account" = None
    is_fed: bool = False
    """Whether it came by the feed, which answers nobody."""


@dataclass(eq=False)
class Operation(Offer):
    """A registration with this token, or a deregistration without one."""

    token: str | None = None


@dataclass(eq=False)
class Slot:
    """A device's place at the router, which its owner fills, changes and empties, one operation at a time."""

    account: "Account"
    name: str
    created_at: int
    operations: list[Operation] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        return not self.operations or self.operations[-1].answered is not None

    @property
    def token(self) -> str | None:
        return self.operations[-1].token if self.operations else None

    @property
    def tokens(self) -> set[str]:
        """All that it ever had."""
        return {operation.token for operation in self.operations if operation.token}

    def change(self, router: Router, lots: random.Random) -> Operation:
        """The next operation: devices come, change their token, register it again, go, and come again."""
        lot = lots.random()
        if self.token is None:
            token = device_token()
        elif lot < 0.3 and self.account.leaves:
            token = None
        elif lot < 0.65:
            token = device_token()
        else:
            token = self.token
        self.created_at += 1
        content = None if token is None else ios(token, mode="alert")
        event = self.account.person.registration(router, content, self.name, created_at=self.created_at)
        self.operations.append(Operation(event, token=token))
        return self.operations[-1]

    def holders(self, since: float, until: float) -> bool | None:
        """Whether it was registered all the time from `since` to `until`; None when that changed or is open."""
        state = False
        for operation in self.operations:
            if operation.sent is None or operation.sent > until:
                break
            if operation.answered is None or operation.answered >= since:
                return None
            state = operation.token is not None
        return state

    def left_after(self, moment: float) -> float | None:
        """When the first deregistration after `moment` was sent."""
        for operation in self.operations:
            if operation.token is None and operation.sent is not None and operation.sent > moment:
                return operation.sent
        return None


class Account:
    def __init__(self, devices: int, now: int, leaves: bool):
        self.leaves = leaves
        self.person = Person()
        # Behind now, so that every operation can be dated later than the one before it.
        self.slots = [Slot(self, f"device-{number}", now - 500_000) for number in range(devices)]


class Cast:
    """Accounts with their devices, and authors who write to them."""

    def __init__(self, accounts: int, seed: int, now: int, leaving: bool = True):
        self.lots = random.Random(seed)
        self.accounts = [Account(1 + number % 3, now, leaving) for number in range(accounts)]
        self.slots = [slot for account in self.accounts for slot in account.slots]
        self.authors = [Person() for _ in range(8)]
        self.notes: list[Note] = []

    def note(self, account: Account | None = None) -> Note:
        account = account or self.lots.choice(self.accounts)
        author = self.lots.choice(self.authors)
        note = Note(author.note(f"note {len(self.notes)}", account.person), account=account)
        self.notes.append(note)
        return note

    def operation(self, router: Router) -> Operation | None:
        """A change of some slot that waits for no answer; None when all do."""
        for _ in range(10):
            slot = self.lots.choice(self.slots)
            if slot.is_settled:
                return slot.change(router, self.lots)
        return None
