"""Writes registries and outboxes as earlier versions of Carillon left them: their schema is taken from the commits that
brought each migration, what is in them is made here, by nostr-sdk and `cryptography`, in the formats of that time.

    .build/venv/bin/python Tests/RegistryTests/make_fixtures.py

What was written once is data; this is here to say where it comes from, and for the next version.
"""

import hashlib
import hmac
import json
import re
import sqlite3
import struct
import subprocess
from pathlib import Path
from textwrap import dedent

import nostr_sdk as sdk
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

REPOSITORY = Path(__file__).resolve().parents[2]
REGISTRY_COMMITS = [
    "8dac3df", "b384fe2", "cf4c5e3", "607f2d4", "e12fc9a", "b526a6a", "84b4278", "a988ed7", "0e0acaf", "2593657",
    "f8fc9a3", "859c97b", "0fae4be", "f9d07073",
]
OUTBOX_COMMITS = ["be26520", "38a6135", "e82ac72", "4bbf1a9"]
IDENTITY = "11" * 32
START = 1_773_446_400
"""2026-03-14, in seconds."""


def git(*arguments: str) -> str:
    run = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, text=True, check=True)
    return run.stdout


def swift_texts(commit: str, folder: str) -> dict[str, str]:
    """The SQL in `static let name = "…"` of a folder's files."""
    texts = {}
    for path in git("ls-tree", "-r", "--name-only", commit, folder).split():
        if not path.endswith(".swift"):
            continue
        source = git("show", f"{commit}:{path}")
        found = re.findall(r'static let (\w+) = """\n(.*?)"""', source, re.DOTALL)
        texts |= {name: dedent(text) for name, text in found}
        texts |= dict(re.findall(r'static let (\w+) = "([^"\n]+)"', source))
    return texts


def registry_migration(number: int, commit: str) -> tuple[str, str]:
    """As it was first published."""
    texts = swift_texts(commit, "Sources/Registry/Store")
    pattern = rf'registerMigration\("({number} [^"]+)"\)\s*\{{([^}}]*)'
    for path in git("ls-tree", "-r", "--name-only", commit, "Sources/Registry/Store").split():
        found = re.search(pattern, git("show", f"{commit}:{path}"))
        if found:
            return found[1], "".join(texts[name] + ";\n" for name in re.findall(r"execute\(sql: (\w+)\)", found[2]))
    raise AssertionError(f"no migration {number} at {commit}")


def outbox_migrations(commit: str) -> list[tuple[str, str]]:
    source = git("show", f"{commit}:Sources/Delivery/Outbox/Outbox+Schema.swift")
    texts = swift_texts(commit, "Sources/Delivery/Pace")
    pattern = r'registerMigration\("([^"]+)"\).*?sql:\s*(?:"""\n(.*?)"""|"([^"]+)"|(\w+))'
    found = re.findall(pattern, source, re.DOTALL)
    return [(name, dedent(long) or short or texts[constant]) for name, long, short, constant in found]


class Vault:
    """AES-256-GCM as TokenVault seals."""

    def __init__(self):
        root = hmac.new(b"carillon registry", bytes.fromhex(IDENTITY), hashlib.sha256).digest()
        self.sealing = AESGCM(HKDFExpand(SHA256(), 32, b"seal 1").derive(root))
        self.finding = HKDFExpand(SHA256(), 32, b"find 1").derive(root)

    def handle(self, token: str) -> bytes:
        return hmac.new(self.finding, token.encode(), hashlib.sha256).digest()[:16]

    def seal(self, text: bytes, device: int, purpose: int) -> bytes:
        nonce = hashlib.sha256(bytes([device, purpose])).digest()[:12]
        return b"\1" + nonce + self.sealing.encrypt(nonce, text, bytes([purpose]) + struct.pack(">q", device))


def address(platform: str, token: str, registered_at: int) -> bytes:
    texts = [platform, "default", token]
    return struct.pack("<q", registered_at) + b"".join(struct.pack("<H", len(text)) + text.encode() for text in texts)


class Owner:
    def __init__(self, seed: int):
        self.keys = sdk.Keys.parse(f"{seed:02x}" * 32)
        self.key = bytes.fromhex(self.keys.public_key().to_hex())

    def event(self, kind: int, content: str, tags: list[list[str]], at: int) -> dict:
        builder = sdk.EventBuilder(sdk.Kind(kind), content).tags([sdk.Tag.parse(tag) for tag in tags])
        event = builder.custom_created_at(sdk.Timestamp.from_secs(START + at)).finalize(self.keys)
        return json.loads(event.as_json())

    def registration(self, content: dict | None, device: str, at: int, *tags: list[str]) -> dict:
        us = sdk.Keys.parse(IDENTITY).public_key()
        d = us.to_hex() + (f":{device}" if device else "")
        text = "" if content is None else self.keys.nip44_encrypt(us, json.dumps(content))
        return self.event(10062, text, [["d", d], ["protocol_version", "1"], *tags], at)


def compact(event: dict) -> str:
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False)


def fill_registry(database: sqlite3.Connection, version: int):
    run = database.execute
    vault = Vault()
    owner = "account" if version == 1 else "author"
    alice, bob, carol, dave, erin = (Owner(seed) for seed in [0x21, 0x22, 0x23, 0x24, 0x25])
    run("INSERT INTO meta VALUES ('identity', ?)", [sdk.Keys.parse(IDENTITY).public_key().to_hex()])
    run("INSERT INTO routes VALUES (1, 'ios', 'default'), (2, 'ntfy', 'default')")
    wishes = {"relays": ["wss://inbox.example"], "partners": [dave.key.hex()]}
    devices = [
        (1, alice, "", 1, "ios", "token-of-alice", wishes | {"filters": {"dm": True}}),
        (3, alice, "tablet", 1, "ios", "token-of-the-tablet", {"filters": {"dm": True}, "locale": "de-AT"}),
        (7, bob, "", 2, "ntfy", "https://ntfy.example/bob", {"filters": {"dm": True}}),
    ]
    for device, person, name, route, platform, token, further in devices:
        content = {"platform": platform, "token": token, **further}
        event = person.registration(content, name, device)
        at = (START + device) * 1000
        columns = "id, {}, device_id, created_at, event_id, registered_at, route, mode, signals, further_signals"
        values = [device, person.key, name, START + device, bytes.fromhex(event["id"]), at, route, None, 1, None]
        if version >= 5:
            columns, values = columns + ", first_registered_at", [*values, at]
        if version >= 7:
            columns, values = columns + ", locale, has_sealing_key", [*values, further.get("locale"), 0]
        run(f"INSERT INTO devices ({columns.format(owner)}) VALUES ({', '.join('?' * len(values))})", values)
        seals = [vault.seal(address(platform, token, at), device, 1), vault.seal(json.dumps(content).encode(), device, 2)]
        run("INSERT INTO secrets VALUES (?, ?, ?, ?)", [device, vault.handle(token), *seals])
        run(f"INSERT INTO own_events ({owner}, slot, json) VALUES (?, ?, ?)", [person.key, f"device {name}", compact(event)])
        if version >= 2 and "relays" in further:
            run("INSERT INTO wished_relays VALUES (?, ?)", [device, "\n".join(further["relays"])])
            run("INSERT INTO partners VALUES (?, ?)", [device, dave.key])
    if version >= 2:
        run("INSERT INTO meta VALUES ('wishes', 'out')")
    if version >= 7:
        run("INSERT INTO meta VALUES ('traits', 'out')")
    farewell = carol.registration(None, "", 50)
    mark = [carol.key, "", START + 50, bytes.fromhex(farewell["id"])]
    run(f"INSERT INTO tombstones ({owner}, device_id, created_at, event_id) VALUES (?, ?, ?, ?)", mark)
    run(f"INSERT INTO own_events ({owner}, slot, json) VALUES (?, 'device ', ?)", [carol.key, compact(farewell)])
    run(f"INSERT INTO floors ({owner}, created_at) VALUES (?, ?)", [erin.key, START + 60])
    run("INSERT INTO contact_lists (author, created_at) VALUES (?, ?)", [dave.key, START])
    run("INSERT INTO follows VALUES (?, ?)", [dave.key, alice.key])
    if version >= 2:
        waiting = erin.registration({"platform": "ios", "token": "waits"}, "", 70, ["root_identity", bob.key.hex()])
        run(
            "INSERT INTO waiting (author, device_id, root, created_at, event_id, arrived_at, json) VALUES (?, '', ?, ?, ?, ?, ?)",
            [erin.key, bob.key, START + 70, bytes.fromhex(waiting["id"]), (START + 70) * 1000, compact(waiting)],
        )
        run(
            "INSERT INTO lists VALUES (?, 10050, ?, ?, ?, 'wss://messages.example')",
            [alice.key, START, bytes(32), START * 1000],
        )
        run("INSERT INTO listed_devices (root, device) VALUES (?, ?)", [alice.key, dave.key])
        run("INSERT INTO message_keys VALUES (?, ?, NULL)", [alice.key, erin.key])
        run("INSERT INTO follows_read VALUES (?)", [alice.key])
    if version >= 3:
        run("INSERT INTO watch_relays VALUES (4, 'wss://inbox.example', ?)", [START])
        run("INSERT INTO watch VALUES (?, x'', 4, 0, ?, 1)", [alice.key, START])
    if version >= 4:
        run("INSERT INTO remote_sessions VALUES (?, ?, ?)", [dave.key, START * 1000, START * 1000])
        run("INSERT INTO used_secrets VALUES (?, ?, ?)", [bytes(16), dave.key, START * 1000])
    if version >= 8:
        run("INSERT INTO ingress_devices (handle, address, used_at) VALUES (?, NULL, ?)", [bytes(16), START * 1000])
    if version >= 9:
        run("INSERT INTO followed VALUES (?, ?, ?, ?)", [alice.key, START, bytes(32), bytes(16)])
    if version >= 14:
        run("INSERT INTO access_rules VALUES ('key', ?, 1, 'spam', ?, NULL)", [dave.key.hex(), START * 1000])


def delivery(sequence: int) -> str:
    return f"00000000-0000-8000-8000-{sequence:012}"


def fill_outbox(database: sqlite3.Connection, version: int):
    run = database.execute
    # Version 1 of a notification: a wake-up for "dm" without any text.
    blob = bytes([1, 0, 1, 1, 0, 2]) + b"dm" + bytes(10)
    run("INSERT INTO outbox_queue VALUES (1, 'ios', 'default'), (2, 'ntfy', 'default')")
    for queue, sequence, device, attempts, due in [(1, 5, 1, 0, None), (1, 6, 3, 2, START * 1000), (2, 7, 7, 0, None)]:
        values = [queue << 44 | sequence, queue, delivery(sequence), device, START * 1000, attempts, due, blob]
        run("INSERT INTO outbox_delivery VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    if version >= 2:
        run("INSERT INTO outbox_cause VALUES (40, ?), (41, ?)", [bytes([1] * 32), bytes([2] * 32)])
    if version >= 3:
        now = START * 1000
        pace = "INSERT INTO outbox_pace (device, pushed, window_start, matches, day, pushes, under_way, released)"
        run(f"{pace} VALUES (1, ?, ?, 2, ?, 3, ?, ?)", [now, now, START // 86_400, delivery(5), now])
        # One event for a device, and several for another, of which the first expires.
        columns = "number, account, event, is_message, has_overflowed, signal, mode, urgency, count, since, expires, notification"
        held = f"INSERT INTO outbox_held ({columns}) VALUES (?, ?, ?, 0, 0, 'dm', 0, 1, ?, ?, ?, ?)"
        run(held, [1 << 2, bytes([3] * 32), bytes([4] * 32), 1, now, now + 60_000, blob])
        expires = now + 60_000 if version < 4 else 0
        run(held, [7 << 2 | 1, bytes([5] * 32), bytes([6] * 32), 5, now, expires, None])


def write(folder: str, name: str, commit: str, migrations: list[tuple[str, str]], fill):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
    for identifier, sql in migrations:
        database.executescript(sql)
        database.execute("INSERT INTO grdb_migrations VALUES (?)", [identifier])
    fill(database, len(migrations))
    database.commit()
    source = f"-- As of commit {commit}: {git('log', '-1', '--format=%s', commit).strip()}.\n-- Made by make_fixtures.py.\n"
    path = REPOSITORY / "Tests" / folder / "Fixtures" / name
    path.write_text(source + "\n".join(database.iterdump()) + "\n")
    print(path.relative_to(REPOSITORY), path.stat().st_size)


def main():
    migrations = [registry_migration(number, commit) for number, commit in enumerate(REGISTRY_COMMITS, 1)]
    for number, commit in enumerate(REGISTRY_COMMITS, 1):
        write("RegistryTests", f"registry-{number}.sql", commit, migrations[:number], fill_registry)
    for number, commit in enumerate(OUTBOX_COMMITS, 1):
        migrations = outbox_migrations(commit)[:number]
        assert len(migrations) == number, commit
        write("DeliveryTests", f"outbox-{number}.sql", commit, migrations, fill_outbox)


if __name__ == "__main__":
    main()
