"""Several routers over real NATS servers, as one operator runs them."""

import re
import shutil
import subprocess
from pathlib import Path

from lab import Lab
from nostr import Socket
from programs import REPOSITORY, free_port, wait_until
from router import Router

SERVER = REPOSITORY / ".build/venv/bin/nats-server"


class Server:
    """One nats-server, which can be killed and started again where it was."""

    def __init__(self, folder: Path, routes: list[int], number: int):
        self.folder = folder
        folder.mkdir(parents=True)
        self.port, self.monitoring_port = free_port(), free_port()
        others = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
        (folder / "nats.conf").write_text(
            f"""
            server_name: "{folder.name}"
            listen: "127.0.0.1:{self.port}"
            http: "127.0.0.1:{self.monitoring_port}"
            jetstream: {{ store_dir: "{folder}/store", sync_interval: always }}
            cluster: {{ name: "test", listen: "127.0.0.1:{routes[number]}", routes: [{others}] }}
            """
        )
        self.process: subprocess.Popen | None = None

    def start(self) -> "Server":
        self.process = subprocess.Popen([SERVER, "-c", self.folder / "nats.conf", "-l", self.folder / "log"])
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def monitoring(self) -> str:
        return f"http://127.0.0.1:{self.monitoring_port}"


class Member(Router):
    """A router that is a member of a cluster."""

    log_level = "info"

    def __init__(self, folder: Path, lab: Lab, servers: list[Server], partitions: int, key: Path | None):
        super().__init__(folder, lab)
        self.configuration["cluster"] = {
            "nats": [server.url for server in servers],
            "monitoring": [server.monitoring for server in servers],
            "name": folder.name,
            "partitions": partitions,
        }
        self.configuration["plugins"]["isolation"] = "none"
        if key:
            shutil.copy(key, folder / "carillon.key")
            (folder / "carillon.key").chmod(0o600)

    def spawn(self, *arguments, **options):
        self._born = len(self.log_text)
        super().spawn(*arguments, **options)

    @property
    def owned(self) -> int:
        """How many partitions it owns, as far as its log says."""
        states: dict[str, str] = {}
        for line in self.log_text[self._born :].splitlines():
            state = re.search(r"A partition is (open|closed)", line)
            partition = re.search(r"\bpartition=(\d+)", line)
            if state and partition:
                states[partition[1]] = state[1]
        return sum(state == "open" for state in states.values())


class Cluster:
    """Three servers and so many routers that share a key."""

    def __init__(self, folder: Path, lab: Lab, members: int = 3, partitions: int = 8):
        self.partitions = partitions
        routes = [free_port() for _ in range(3)]
        self.servers = [Server(folder / f"nats{number}", routes, number).start() for number in range(3)]
        self.members: list[Member] = []
        for number in range(members):
            key = self.members[0].folder / "carillon.key" if self.members else None
            member = Member(folder / f"member{number}", lab, self.servers, partitions, key)
            self.members.append(member)
            member.spawn()
            # The first one makes the key and the cluster.
            if number == 0:
                member.wait_for_port()
        for member in self.members[1:]:
            member.wait_for_port()
        self.wait_until_shared()

    @property
    def living(self) -> list[Member]:
        return [member for member in self.members if member.is_running]

    def wait_until_shared(self, fair: bool = True):
        """Until every partition has an owner among the living, and with `fair` each of them has its share."""
        wait_until(
            lambda: sum(member.owned for member in self.living) == self.partitions
            and (not fair or all(member.owned for member in self.living)),
            f"{self.partitions} partitions are owned: {[member.owned for member in self.members]}",
        )

    def stop(self):
        for member in self.living:
            member.kill()
        for server in self.servers:
            server.kill()


def offer(member: Member, events: list[dict]) -> set[str]:
    """The ids of those that a member took; none of them where it dies meanwhile."""
    taken: set[str] = set()
    try:
        with Socket(member) as socket:
            for event in events:
                socket.send(["EVENT", event])
            for _ in events:
                answer = socket.receive()
                if answer[0] == "OK" and answer[2] is True:
                    taken.add(answer[1])
    except Exception:
        # It was killed: what it has not answered is offered elsewhere.
        pass
    return taken


def pushes(lab: Lab) -> dict[tuple[str, str], list]:
    """What was accepted by the push service, by event and device."""
    found: dict[tuple[str, str], list] = {}
    for push in lab.received():
        if push.status == 200:
            found.setdefault((push.payload["event_id"], push.target), []).append(push)
    return found
