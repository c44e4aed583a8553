"""Several routers over real NATS servers, as one operator runs them."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from websockets.exceptions import WebSocketException

from lab import Lab
from nostr import Person, Socket, device_token, ios
from programs import PATIENCE, REPOSITORY, free_ports, wait_until
from relays import Client, CountingProxy, OutsideRelay
from router import Router

SERVER = REPOSITORY / ".build/venv/bin/nats-server"


class Link:
    """A way to a port, which can be cut: what is on its way waits then, as in a network that is divided, and goes on when the way is
    whole again."""

    def __init__(self, target: int):
        self.target = target
        self._whole = threading.Event()
        self._whole.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self._whole.clear()

    def mend(self):
        self._whole.set()

    def close(self):
        self._whole.set()
        self._listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=[near], daemon=True).start()

    def _forward(self, near: socket.socket):
        self._whole.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            near.close()
            return
        for pair in [(near, far), (far, near)]:
            threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket):
        try:
            while data := source.recv(1 << 16):
                self._whole.wait()
                target.sendall(data)
        except OSError:
            pass
        for end in [source, target]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Server:
    """One nats-server, which can be killed and started again where it was."""

    def __init__(
        self, folder: Path, routes: list[int], number: int, port: int, monitoring_port: int, ways: list[int] | None = None
    ):
        """`ways` are the ports by which it reaches the others, where that is not their own."""
        self.folder = folder
        folder.mkdir(parents=True)
        self.port, self.monitoring_port = port, monitoring_port
        others = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ways or routes)
        # Whoever is to be reached by these ways only must not be found by others.
        hidden = 'no_advertise: true, advertise: "127.0.0.1:9", ' if ways else ""
        (folder / "nats.conf").write_text(
            f"""
            server_name: "{folder.name}"
            listen: "127.0.0.1:{self.port}"
            http: "127.0.0.1:{self.monitoring_port}"
            jetstream: {{ store_dir: "{folder}/store", sync_interval: always }}
            cluster: {{ {hidden}name: "test", listen: "127.0.0.1:{routes[number]}", routes: [{others}] }}
            """
        )
        self.process: subprocess.Popen | None = None

    def start(self) -> "Server":
        self.process = subprocess.Popen([SERVER, "-c", self.folder / "nats.conf", "-l", self.folder / "log"])
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    @property
    def log_text(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def monitoring(self) -> str:
        return f"http://127.0.0.1:{self.monitoring_port}"

    @property
    def has_all(self) -> bool:
        """Whether it has all that its cluster has, as it says itself: what a stream's leader says of it is seconds old."""
        try:
            with urllib.request.urlopen(f"{self.monitoring}/healthz", timeout=5) as answer:
                return json.load(answer)["status"] == "ok"
        except OSError:
            return False


class Member(Router):
    """A router that is a member of a cluster."""

    log_level = "info"
    # Three servers that start at once on a busy machine may take a few elections of 4 to 9 s until they have a leader.
    start_patience = 3 * PATIENCE

    def __init__(
        self, folder: Path, lab: Lab, servers: list[Server], partitions: int, key: Path | None, relays: list[OutsideRelay]
    ):
        super().__init__(folder, lab)
        self.configuration["cluster"] = {
            "nats": [server.url for server in servers],
            "monitoring": [server.monitoring for server in servers],
            "name": folder.name,
            "partitions": partitions,
        }
        # A test may add the witness to members that run.
        self.configuration["plugins"]["sandbox"] = False
        if relays:
            self.watch(relays)
        if key:
            shutil.copy(key, folder / "carillon.key")
            (folder / "carillon.key").chmod(0o600)

    def spawn(self, feed=None, *options, **more):
        self._born = len(self.log_text)
        if "api" in self.configuration:
            options += ("--api-port-file", self.folder / "api-port")
        super().spawn(feed, *options, **more)

    @property
    def owned(self) -> int:
        """How many partitions it owns, as far as its log says."""
        states: dict[str, str] = {}
        for line in self.log_text[self._born :].splitlines():
            state = re.search(r"(Opened|Closed) a partition", line)
            partition = re.search(r"\bpartition=(\d+)", line)
            if state and partition:
                states[partition[1]] = state[1]
        return sum(state == "Opened" for state in states.values())


class Cluster:
    """Three servers and so many routers that share a key."""

    def __init__(
        self,
        folder: Path,
        lab: Lab,
        members: int = 3,
        partitions: int = 8,
        relay: OutsideRelay | None = None,
        relays: list[OutsideRelay] | None = None,
        configuration: dict | None = None,
        can_be_cut: bool = False,
        labs: list[Lab] | None = None,
    ):
        """With `can_be_cut`, :meth:`cut` parts a machine from the others: a server and the member of its number. With `labs` each
        member sends to one of its own, so that one sees who sent."""
        self.partitions = partitions
        # All at once: none of them is given twice, as none is in use yet.
        ports = free_ports(9)
        routes, ports = ports[:3], ports[3:]
        self._links: dict[tuple[int, int], list[Link]] = {}
        ways = [
            [self._link(number, other, port) for other, port in enumerate(routes) if other != number] if can_be_cut else None
            for number in range(3)
        ]
        self.servers = [
            Server(folder / f"nats{number}", routes, number, ports[number], ports[number + 3], ways[number]).start()
            for number in range(3)
        ]
        self.can_be_cut = can_be_cut
        self.folder, self.labs = folder, labs or [lab]
        self.relays = relays or ([relay] if relay else [])
        self.configuration = configuration or {}
        self.members: list[Member] = []
        try:
            self._start(members)
        except AssertionError as error:
            states = self.states
            self.stop()
            # No test has the cluster yet, so that a report could not ask for its logs.
            raise AssertionError(f"{error}\n{states}\n{self.logs}") from error
        except BaseException:
            # Nobody has it who could stop it.
            self.stop()
            raise

    def _start(self, members: int):
        for number in range(members):
            key = self.members[0].folder / "carillon.key" if self.members else None
            member = self.add(key)
            member.spawn()
            # The first one makes the key and the cluster.
            if number == 0:
                member.wait_for_port()
        for member in self.members[1:]:
            member.wait_for_port()
        if members:
            self.wait_until_shared()

    @property
    def states(self) -> str:
        """Which programs run, and how the others ended."""
        programs = [(server.folder.name, server.process) for server in self.servers]
        programs += [(member.folder.name, member.process) for member in self.members if member.process]
        return ", ".join(f"{name} {'runs' if (end := process.poll()) is None else f'ended with {end}'}" for name, process in programs)

    @property
    def logs(self) -> str:
        """What servers and members said last."""
        said = [(server.folder.name, server.log_text) for server in self.servers]
        said += [(member.folder.name, member.log_text) for member in self.members]
        return "\n".join(f"--- {name}\n{text[-4_000:]}" for name, text in said)

    def add(self, key: Path | None) -> Member:
        """A further member, which is not started yet."""
        folder = self.folder / f"member{len(self.members)}"
        lab = self.labs[len(self.members) % len(self.labs)]
        member = Member(folder, lab, self.servers, self.partitions, key, self.relays)
        if self.can_be_cut:
            number = len(self.members)
            ports = [self._link(number, other, server.port) for other, server in enumerate(self.servers)]
            member.configuration["cluster"]["nats"] = [f"nats://127.0.0.1:{port}" for port in ports]
        for block, values in self.configuration.items():
            member.configuration.setdefault(block, {}).update(values)
        self.members.append(member)
        return member

    def _link(self, one: int, other: int, port: int) -> int:
        link = Link(port)
        self._links.setdefault((one, other), []).append(link)
        return link.port

    def revive(self):
        """Starts what does not run, wakes up what sleeps, and mends what is cut."""
        self.mend()
        for server in self.servers:
            if server.process.poll() is not None:
                server.start()
        for member in self.members:
            if member.is_running:
                member.process.send_signal(signal.SIGCONT)
            else:
                member.start()
        self.wait_until_shared()

    def cut(self, number: int):
        for (one, other), links in self._links.items():
            if one != other and number in (one, other):
                for link in links:
                    link.cut()

    def mend(self):
        for links in self._links.values():
            for link in links:
                link.mend()

    @property
    def living(self) -> list[Member]:
        return [member for member in self.members if member.is_running]

    def wait_until_shared(self, among: list[Member] | None = None, fair: bool = True) -> float:
        """Until every partition has an owner among these or the living, and with `fair` each of them has its share. Returns how
        long that took."""
        began = time.monotonic()
        owners = self.living if among is None else among
        wait_until(
            lambda: sum(member.owned for member in owners) == self.partitions
            and (not fair or all(member.owned for member in owners)),
            f"{self.partitions} partitions are owned by {[member.folder.name for member in owners]}",
        )
        return time.monotonic() - began

    def stop(self):
        for member in self.living:
            member.kill()
        for server in self.servers:
            server.kill()
        for links in self._links.values():
            for link in links:
                link.close()

    def stream(self, name: str) -> dict | None:
        """What the servers say of a stream's state."""
        found = self._from_leader(name)
        return found and found["state"]

    def _from_leader(self, name: str) -> dict | None:
        for server in self.servers:
            try:
                with urllib.request.urlopen(f"{server.monitoring}/jsz?streams=true", timeout=5) as answer:
                    details = json.load(answer).get("account_details", [])
            except OSError:
                continue
            for account in details:
                for stream in account.get("stream_detail", []):
                    if stream["name"] == name and stream.get("cluster", {}).get("leader") == server.folder.name:
                        return stream
        return None

    def register(self, count: int, devices: int = 1, **content) -> dict[str, tuple[Person, str]]:
        """People by their keys, each with the token of the first device, whose registration has `content` besides.
        Members take the registrations in turn."""
        people = {person.hex: (person, device_token()) for person in (Person() for _ in range(count))}
        for number, (person, token) in enumerate(people.values()):
            member = self.members[number % len(self.members)]
            with Socket(member) as socket:
                socket.publish(person.registration(member, ios(token, mode="alert", **content)))
                for other in range(1, devices):
                    content = ios(device_token(), mode="alert")
                    socket.publish(person.registration(member, content, device=f"device{other}"))
        # What one has accepted reaches the others within a moment.
        time.sleep(1.5)
        return people

    def warm_up(self, relay: OutsideRelay, people: dict[str, tuple[Person, str]]):
        """Until everybody hears of what is published at a relay: what it has before it is read for somebody is no news."""
        author, deaf = Person(), {token: person for person, token in people.values()}
        deadline = time.monotonic() + PATIENCE
        with Client(relay, author) as client:
            while deaf:
                assert time.monotonic() < deadline, f"{len(deaf)} of {len(people)} hear nothing from the relay"
                client.publish(*(author.note("anybody there?", person) for person in deaf.values()))
                time.sleep(0.5)
                for push in (push for lab in self.labs for push in lab.received()):
                    deaf.pop(push.target, None)
        time.sleep(1)
        for lab in self.labs:
            lab.forget()


def connection_owner(members: list[Member], proxy: CountingProxy) -> Member:
    """The member that has the only connection to a proxy."""
    [connection] = proxy.open
    port = connection.remote_address[1]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].split(":")[1], 16) == port:
            wanted = f"socket:[{fields[9]}]"
            for member in members:
                files = Path(f"/proc/{member.process.pid}/fd").iterdir()
                if any(_target(file) == wanted for file in files):
                    return member
    raise AssertionError("the connection is nobody's")


def _target(link: Path) -> str | None:
    try:
        return os.readlink(link)
    except FileNotFoundError:
        # It was closed meanwhile.
        return None


def offer(member: Member, events: list[dict]) -> set[str]:
    """The ids of those that a member took; none of them where it dies meanwhile."""
    taken: set[str] = set()
    try:
        with Socket(member, open_timeout=2) as socket:
            for event in events:
                socket.send(["EVENT", event])
            for _ in events:
                answer = json.loads(socket.connection.recv(timeout=10))
                if answer[0] == "OK" and answer[2] is True:
                    taken.add(answer[1])
    except (OSError, EOFError, WebSocketException, TimeoutError):
        # It was killed: what it has not answered is offered elsewhere.
        pass
    return taken


class Load:
    """Notes to everybody by turns, through all members, until it is told to end. What is not answered with OK is offered to another
    member. With a relay, some notes are published there and nowhere else."""

    def __init__(
        self,
        cluster: Cluster,
        people: dict[str, tuple[Person, str]],
        relay: OutsideRelay | None = None,
        pause: float = 0,
        rate: float = 0,
    ):
        """Each of three senders pauses after four notes. With `rate` all of them offer so many a second, as far as these are taken."""
        self.cluster, self.people, self.relay, self.pause = cluster, people, relay, pause
        self._share = max(4, round(rate / 30)) if rate else 4
        """The notes that a sender offers at once: with a rate, ten times a second."""
        self._interval = 3 * self._share / rate if rate else None
        self.accepted: dict[str, str] = {}
        """The device that each accepted event is for."""
        self.pauses: list[tuple[float, float]] = []
        """Times of a second and more between two OKs: from and until when, by the monotonic clock."""
        self.is_stuck = False
        """Whether nobody took an event for a minute."""
        self._last = time.monotonic()
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._offer, args=[number]) for number in range(3)]
        if relay:
            self._threads.append(threading.Thread(target=self._publish))

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _notes(self, author: Person, turn: int, count: int) -> dict[str, tuple[dict, str]]:
        keys, notes = list(self.people), {}
        for number in range(turn, turn + count):
            person, token = self.people[keys[number % len(keys)]]
            event = author.note(f"number {number}", person)
            notes[event["id"]] = (event, token)
        return notes

    def _offer(self, number: int):
        author, turn = Person(), number
        due = time.monotonic()
        while not self._ends.is_set():
            notes = self._notes(author, turn, self._share)
            deadline = time.monotonic() + PATIENCE
            while notes:
                if time.monotonic() > deadline:
                    self.is_stuck = True
                    return
                member = self.cluster.members[turn % len(self.cluster.members)]
                turn += 1
                taken = offer(member, [event for event, _ in notes.values()])
                for id in taken & notes.keys():
                    self.accepted[id] = notes.pop(id)[1]
                if taken:
                    now = time.monotonic()
                    if now - self._last >= 1:
                        self.pauses.append((self._last, now))
                    self._last = now
                if notes:
                    time.sleep(0.05)
            turn += self._share
            if self._interval is None:
                time.sleep(self.pause)
                continue
            # What a trouble held up is not made up for.
            due = max(due + self._interval, time.monotonic() - 1)
            self._ends.wait(max(0, due - time.monotonic()))

    def _publish(self):
        author, turn = Person(), 0
        with Client(self.relay, author) as client:
            while not self._ends.is_set():
                notes = self._notes(author, turn, 1)
                turn += 1
                client.publish(*(event for event, _ in notes.values()))
                self.accepted |= {id: token for id, (_, token) in notes.items()}
                # nostr-sdk's relay takes sixty a minute.
                self._ends.wait(2)


class Pushes:
    """What labs accepted, by event and device. They keep their last ten thousand requests, so whoever counts more looks at it often,
    as it does by itself between `with` and the end of that."""

    def __init__(self, labs: list[Lab]):
        self._labs, self._seen = labs, [0] * len(labs)
        self.copies: dict[tuple[str, str], list[str]] = {}
        """The `apns-id` of each copy."""
        self.times: list[list[int]] = [[] for _ in labs]
        """When each push came to each lab, in milliseconds since 1970."""
        self._lock = threading.Lock()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Pushes":
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def _look(self):
        while not self._ends.wait(1):
            self.look()

    def look(self) -> "Pushes":
        with self._lock:
            for number, lab in enumerate(self._labs):
                for push in lab.received(after=self._seen[number]):
                    sequence, seen = push.line["sequence"], self._seen[number]
                    assert sequence == seen + 1 or not seen, "a lab has forgotten requests that nobody looked at"
                    self._seen[number] = sequence
                    if push.status == 200:
                        key = (push.payload["event_id"], push.target)
                        self.copies.setdefault(key, []).append(push.apns_id)
                        self.times[number].append(push.line["received_at"])
        return self


class Verdict:
    """What became of the events of a load."""

    def __init__(self, load: Load, pushes: Lab | Pushes, timeout: float = 30):
        pushes = pushes if isinstance(pushes, Pushes) else Pushes([pushes])
        deadline = time.monotonic() + timeout
        while load.accepted.items() - pushes.look().copies.keys() and time.monotonic() < deadline:
            time.sleep(0.2)
        copies = pushes.copies
        self.is_stuck = load.is_stuck
        self.pushes = len(load.accepted)
        self.lost = load.accepted.items() - copies.keys()
        # A load that is ended has offered nothing that was not accepted in the end.
        self.unasked = copies.keys() - load.accepted.items()
        self.repeats = sum(len(ids) - 1 for ids in copies.values())
        self.renamed = [key for key, ids in copies.items() if len(set(ids)) > 1]

    def check(self):
        assert not self.is_stuck, "nobody took an event"
        assert not self.lost, f"{len(self.lost)} of {self.pushes} pushes are lost"
        assert not self.unasked, f"{len(self.unasked)} pushes that nobody asked for"
        assert not self.renamed, f"{len(self.renamed)} repeats under another apns-id"
