"""The servers and routers of contrib/docs/scaling.md: with certificates, an account of the routers' own, and the manual's files."""

import os
import shutil
import subprocess

import pytest
import yaml

from cluster import SERVER, Member
from documents import blocks
from nostr import Person, Socket, device_token, ios
from programs import REPOSITORY, carillon, free_port, wait_until

FILES = REPOSITORY / "contrib/nats"
ADDRESSES = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]


class Place:
    """What is 10.0.0.1 to 10.0.0.3 and /etc/nats in the manual."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = {port: [free_port() for _ in ADDRESSES] for port in ["4222", "6222", "8222"]}

    def text(self, text: str, number: int = 0) -> str:
        for other, address in enumerate(ADDRESSES):
            for port, ports in self.ports.items():
                text = text.replace(f"10.0.0.{other + 1}:{port}", f"{address}:{ports[other]}")
        assert "10.0.0." not in text.replace("nats-1 and 10.0.0.1", "")
        text = text.replace("/etc/nats/ca.pem", str(self.folder / "ca.pem"))
        text = text.replace("/etc/nats", str(self.folder / ADDRESSES[number]))
        return text.replace("/var/lib/nats", str(self.folder / f"store{number}"))

    def configuration(self, number: int) -> str:
        text = (FILES / "nats-server.conf").read_text()
        # What each machine has to change.
        text = text.replace("server_name: nats-1", f"server_name: nats-{number + 1}")
        for port in ["4222", "8222"]:
            text = text.replace(f": 10.0.0.1:{port}", f": 10.0.0.{number + 1}:{port}")
        text = text.replace("listen: 10.0.0.1:6222", f"listen: 10.0.0.{number + 1}:6222")
        return self.text(text, number)


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path / "nats")
    made = subprocess.run([FILES / "certificates", place.folder, *ADDRESSES], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert [line.rsplit("/", 1)[1] for line in made.stdout.split()] == ["server.pem"] * 3
    processes = []
    for number, address in enumerate(ADDRESSES):
        file = place.folder / f"server{number}.conf"
        file.write_text(place.configuration(number))
        environment = os.environ | {
            "CARILLON_PASSWORD": "5f3a9c",
            "ADMIN_PASSWORD": "07be11",
            "SERVER_KEY": str(place.folder / address / "server-key.pem"),
        }
        log = place.folder / f"log{number}"
        processes.append(subprocess.Popen([SERVER, "-c", file, "-l", log], env=environment))
    yield place
    for process in processes:
        process.kill()
        process.wait()


def the_block(place: Place) -> dict:
    page = REPOSITORY / "contrib/docs/scaling.md"
    [block] = [block for block in blocks(page) if block.language == "yaml" and block.text.startswith("cluster:")]
    return yaml.safe_load(place.text(block.text))["cluster"]


def test_the_manuals_cluster_works(tmp_path, lab, place):
    block = the_block(place) | {"partitions": 8}
    members = []
    for number in range(2):
        key = members[0].folder / "carillon.key" if members else None
        member = Member(tmp_path / f"router-{number + 1}", lab, [], 8, key, [])
        member.configuration["cluster"] = block | {"name": member.folder.name}
        (member.folder / "nats-password").write_text("5f3a9c\n")
        members.append(member)
        if number == 0:
            checked = wait_until(lambda: usable(member), "the servers can carry a cluster")
            assert checked.count("reached") == 3 and checked.count("flushes before it acknowledges") == 3
        member.start()
    try:
        wait_until(lambda: sum(member.owned for member in members) == 8 and members[1].owned, "both have their share")
        person, token = Person(), device_token()
        with Socket(members[0]) as socket:
            socket.publish(person.registration(members[0], ios(token, mode="alert")))

        def pushed() -> bool:
            note = Person().note("hello", person)
            with Socket(members[1]) as socket:
                socket.publish(note)
            return any(push.target == token for push in lab.received())

        wait_until(pushed, "the other member pushes")
    finally:
        for member in members:
            member.kill()

    # Nobody else gets in.
    (members[0].folder / "nats-password").write_text("5f3a9d\n")
    refused = carillon("cluster", "check", "--config", members[0].configuration_file)
    assert refused.returncode == 1 and "Authorization Violation" in refused.stdout, refused.stdout
    members[0].configuration["cluster"] |= {"nats": [url.replace("tls:", "nats:") for url in block["nats"]]}
    del members[0].configuration["cluster"]["tls"]
    refused = carillon("cluster", "check", "--config", members[0].configuration_file)
    assert refused.returncode == 1, refused.stdout


def usable(member) -> str | None:
    done = carillon("cluster", "check", "--config", member.configuration_file)
    return done.stdout if done.returncode == 0 else None


def test_the_unit_is_one_that_systemd_understands(tmp_path):
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "nats-server.service"
    unit.write_text((FILES / "nats-server.service").read_text().replace("/usr/local/bin/nats-server", str(SERVER)))
    done = subprocess.run([program, "verify", "--man=no", unit], capture_output=True, text=True)
    assert done.returncode == 0 and "nats-server.service" not in done.stderr, done.stderr
