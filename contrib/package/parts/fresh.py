#!/usr/bin/env python3
"""The story of contrib/package/test: ROOT is a fresh Debian, DIST the folder with the packages, PREVIOUS one with older ones."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

from lab import Lab  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402
from programs import free_port, wait_until  # noqa: E402

started = time.monotonic()


def step(text: str) -> None:
    print(f"== {text}  [{time.monotonic() - started:.0f} s]", flush=True)


class Machine:
    """A fresh Debian. It shares this machine's loopback, so what runs inside can be asked from outside."""

    def __init__(self, root: Path):
        self.root = root

    def run(self, *command: str, user: str = "root", status: int = 0) -> str:
        done = subprocess.run(
            ["chroot", f"--userspec={user}:", str(self.root), *command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.environment,
        )
        text = done.stdout + done.stderr
        assert done.returncode == status, f"{' '.join(command)} ended with {done.returncode}:\n{text}"
        return text

    def answer(self, answers: dict[str, str], *command: str) -> str:
        """Runs a command at a terminal. A question with one of these words gets that answer, any other gets Enter."""
        child = pexpect.spawn("chroot", [str(self.root), *command], env=self.environment, encoding="utf-8", timeout=60)
        said, asked = "", []
        while child.expect([r"[\r\n]([^\r\n]*(?:\]|q leaves)): ", pexpect.EOF]) == 0:
            question = child.match[1]
            assert question not in asked, f"asked twice: {question}\n{said}"
            asked.append(question)
            said += child.before + child.after
            child.sendline(next((answer for words, answer in answers.items() if words in question), ""))
        said += child.before
        child.close()
        assert child.exitstatus == 0, f"{' '.join(command)} ended with {child.exitstatus}:\n{said}"
        return said

    def start(self, log: str, *command: str, user: str = "root", more: dict[str, str] | None = None) -> subprocess.Popen:
        with (self.root / log).open("ab") as file:
            return subprocess.Popen(
                ["chroot", f"--userspec={user}:", str(self.root), *command],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=self.environment | (more or {}),
            )

    def install(self, *packages: Path) -> str:
        folder = self.root / "tmp/packages"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for package in packages:
            shutil.copy(package, folder)
        names = [f"/tmp/packages/{package.name}" for package in packages]
        return self.run("apt-get", "install", "-y", "--no-install-recommends", *names)

    def version(self, package: str = "carillon") -> str:
        return self.run("dpkg-query", "-W", "-f", "${Version}", package)

    def has(self, path: str) -> bool:
        return (self.root / path).exists() or (self.root / path).is_symlink()

    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root",
    }


class InstalledLab(Lab):
    """carillon-lab of the package."""

    def __init__(self, machine: Machine, program: str, folder: str):
        self.process = machine.start("tmp/lab.log", program, "serve", "--folder", f"/{folder}")
        ready = machine.root / folder / "lab.json"
        wait_until(ready.exists, "the lab writes lab.json", self.process)
        self.addresses = json.loads(ready.read_text())


class InstalledRouter:
    """carillon of the package, started as the unit starts it."""

    def __init__(self, machine: Machine, program: str, configuration: str, user: str):
        self.machine, self.program, self.configuration, self.user = machine, program, configuration, user
        self.secrets: set[str] = set()
        self.environment: dict[str, str] = {}
        self.port = int(re.search(r"listen: \"?127.0.0.1:(\d+)", (machine.root / configuration).read_text())[1])

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.log = self.machine.root / "tmp/router.log"
        self.log.unlink(missing_ok=True)
        self.process = self.machine.start(
            "tmp/router.log", self.program, "serve", "--config", f"/{self.configuration}", user=self.user,
            more=self.environment,
        )
        try:
            wait_until(lambda: "listening" in self.text.lower(), "the router listens", self.process)
        except AssertionError:
            print(self.text)
            raise
        answer = subprocess.run(
            ["curl", "-sS", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", "-H", "Accept: application/nostr+json",
             f"http://127.0.0.1:{self.port}"],
            capture_output=True, text=True, check=True,
        )
        self.public_key = json.loads(answer.stdout)["pubkey"]

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        """How many deliveries stay behind."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0, self.text
        return int(re.findall(r"waiting=(\d+)", self.text)[-1])


def lowered(packages: list[Path], folder: Path) -> list[Path]:
    """The same packages under a lower version."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in packages:
        work = folder / "work"
        subprocess.run(["dpkg-deb", "-R", package, work], check=True)
        control = work / "DEBIAN/control"
        text = control.read_text()
        version = re.search(r"^Version: (.*)$", text, re.M)[1]
        control.write_text(text.replace(version, "0.0.1"))
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zzstd", "-b", work, folder / package.name.replace(version, "0.0.1")],
            check=True, stdout=subprocess.DEVNULL,
        )
        shutil.rmtree(work)
    return sorted(folder.glob("*.deb"))


def edit(machine: Machine, path: str, lab: InstalledLab, key_file: str) -> None:
    """What an operator writes into the shipped configuration: ports that are free here, the lab in place of Apple."""
    file = machine.root / path
    text = file.read_text()
    block = lab.ios | {"key_file": key_file}
    text = text.replace("127.0.0.1:7447", f"127.0.0.1:{free_port()}").replace("127.0.0.1:7448", f"127.0.0.1:{free_port()}")
    text = text.replace("  default:\n", f"  default:\n    ios: {json.dumps(block)}\n")
    text += f'\nhttp: {{ ca_file: {lab.addresses["ca_file"]}, allow_private: [127.0.0.0/8] }}\n'
    text += "defaults: { cooldown_seconds: 0, window_seconds: 0, daily_cap: 0 }\n"
    file.write_text(text)


def push(router: InstalledRouter, lab: InstalledLab, people: list[Person], texts: list[str]) -> None:
    with Socket(router) as socket:
        for text in texts:
            socket.publish(people[1].message(text, people[0]))


def packages(machine: Machine, dist: Path, previous: Path | None) -> None:
    new = sorted(dist.glob("carillon*.deb"))
    assert not machine.has("usr/bin/swift") and not machine.has("usr/bin/cc")

    step("The shipped packages as they are: installed, nothing started, the configuration without mistakes")
    said = machine.install(*new)
    assert "not started" in said, said
    latest = machine.version()
    print(machine.run("carillon", "--version").strip())
    checked = machine.run("carillon", "check", "--config", "/etc/carillon/carillon.yaml")
    assert "no errors" in checked, checked
    print(checked.strip())
    listed = machine.run("carillon", "plugin", "list", "--config", "/etc/carillon/carillon.yaml")
    print(f"{listed.count('    file ')} plugins loaded")
    assert listed.count("    file ") == len(list((machine.root / "usr/lib/carillon/plugins").glob("*.so"))), listed
    machine.run("carillon", "rules", "try", "--all", "--config", "/etc/carillon/carillon.yaml")
    machine.run("apt-get", "purge", "-y", "carillon", "carillon-lab", "carillon-dev")
    nothing_is_left(machine)

    step("The previous version: an event becomes a push")
    old = sorted(previous.glob("carillon*.deb")) if previous else lowered(new, REPOSITORY / ".build/package/previous")
    machine.install(*old)
    assert machine.version() != latest
    lab = laboratory(machine)
    key = "/etc/carillon/secrets/AuthKey.p8"
    machine.run("install", "-m", "600", "-o", "carillon", lab.addresses["apns"]["key_file"], key)
    edit(machine, "etc/carillon/carillon.yaml", lab, key)
    print(machine.run("carillon", "check", "--config", "/etc/carillon/carillon.yaml").strip())
    router = InstalledRouter(machine, "/usr/bin/carillon", "etc/carillon/carillon.yaml", "carillon")
    router.start()
    try:
        people = [Person(), Person()]
        with Socket(router) as socket:
            socket.publish(people[0].registration(router, ios(device_token())))
        push(router, lab, people, ["before"])
        lab.accepted(1)
        status = machine.run("carillon", "status", "--config", "/etc/carillon/carillon.yaml")
        print("\n".join(status.splitlines()[:6]))

        step("Upgrade while three deliveries wait")
        lab.misbehave("answer", status=503, times=0)
        lab.forget()
        push(router, lab, people, ["one", "two", "three"])
        lab.attempts(1)
        identity = router.public_key
        machine.install(*new)
        assert machine.version() == latest
        assert "defaults: { cooldown" in (machine.root / "etc/carillon/carillon.yaml").read_text(), "the upgrade lost the edit"
        waiting = router.stop()
        assert waiting == 3, f"{waiting} deliveries wait, and 3 should"
        lab.forget()
        lab.behave()
        router.start()
        assert router.public_key == identity
        came = lab.accepted(3, timeout=180)
        router.stop()
        names = [request.apns_id for request in lab.received() if request.status == 200]
        assert len(came) == 3 and len(names) == len(set(names)) == 3, names
        print("three pushes came, each once")

        step("Removed: configuration, keys and store stay. Purged: nothing does")
        machine.run("apt-get", "remove", "-y", "carillon", "carillon-lab", "carillon-dev")
        assert not machine.has("usr/bin/carillon")
        assert machine.has("etc/carillon/secrets/AuthKey.p8") and machine.has("var/lib/carillon/carillon.sqlite")
        machine.run("apt-get", "purge", "-y", "carillon")
        nothing_is_left(machine)
    finally:
        router.process.kill()
        lab.process.kill()


CONFIGURATION = "etc/carillon/carillon.yaml"
KEY = "var/lib/carillon/carillon.key"


def setups(machine: Machine, dist: Path) -> None:
    """The way of README.md: install, answer the questions of `carillon setup`, serve."""
    new = sorted(dist.glob("carillon*.deb"))

    step("carillon setup at a terminal, on the installed package")
    machine.install(*new)
    lab = laboratory(machine)
    try:
        said = machine.answer(
            {"Where the router listens": f"127.0.0.1:{free_port()}", "health and metrics": "no", "test push": "no",
             "Replace them?": "yes"},
            "carillon", "setup",
        )
        is_set_up(machine, said)
        # Setup asks for no certificates of a lab.
        with (machine.root / CONFIGURATION).open("a") as file:
            file.write(f'\nhttp: {{ ca_file: {lab.addresses["ca_file"]}, allow_private: [127.0.0.0/8, "::1/128"] }}\n')
            file.write("defaults: { cooldown_seconds: 0, window_seconds: 0, daily_cap: 0 }\n")
        device = {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upAlice")}
        serves_and_pushes(machine, lab, device, {})
    finally:
        lab.process.kill()
    machine.run("apt-get", "purge", "-y", "carillon", "carillon-lab", "carillon-dev")
    nothing_is_left(machine)

    step("carillon setup with a file of answers, on the installed package")
    machine.install(*new)
    lab = laboratory(machine)
    try:
        block = {key: lab.ios[key] for key in ["topic", "team_id", "key_id", "key_file", "base_url"]}
        answers = {
            "listen": f"127.0.0.1:{free_port()}", "monitoring": "no", "services": ["ios", "unifiedpush"], "ios": block,
            "ca_file": lab.addresses["ca_file"], "allow_private": ["127.0.0.0/8", "::1/128"],
        }
        (machine.root / "root/answers.yaml").write_text(json.dumps(answers))
        setup = ["carillon", "setup", "--answers", "/root/answers.yaml"]
        refused = machine.run(*setup, status=1)
        assert "--overwrite" in refused and not machine.has(KEY), refused
        said = machine.run(*setup, "--overwrite")
        is_set_up(machine, said)
        assert "ios: accepted" in said, said
        again = machine.run(*setup, "--overwrite")
        assert "all files are up to date" in again and "kept /" in again, again
        serves_and_pushes(machine, lab, ios(device_token()), credentials(machine))
    finally:
        lab.process.kill()
    machine.run("apt-get", "purge", "-y", "carillon", "carillon-lab", "carillon-dev")
    nothing_is_left(machine)


def by_hand(machine: Machine, dist: Path) -> None:
    """The lines of start/operator.md, as somebody who is neither root nor the service."""
    step("A configuration by hand, as the documents have it")
    machine.install(*sorted(dist.glob("carillon*.deb")))
    folder = machine.root / "tmp/by hand"
    folder.mkdir()
    folder.chmod(0o777)
    text = (REPOSITORY / "contrib/docs/start/operator.md").read_text()
    script = re.search(r"^```sh\n(.*?)^```", text, re.M | re.S)[1]
    said = machine.run("sh", "-ec", f"cd '/tmp/by hand'\n{script}", user="nobody")
    assert "no errors" in said, said
    lab = laboratory(machine)
    try:
        with (folder / "carillon.yaml").open("a") as file:
            file.write(f"relay: {{ listen: 127.0.0.1:{free_port()} }}\n")
            file.write(f'http: {{ ca_file: {lab.addresses["ca_file"]}, allow_private: [127.0.0.0/8, "::1/128"] }}\n')
        router = InstalledRouter(machine, "/usr/bin/carillon", "tmp/by hand/carillon.yaml", "nobody")
        device = {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upByHand")}
        registers_and_pushes(router, lab, device)
    finally:
        lab.process.kill()
    machine.run("apt-get", "purge", "-y", "carillon", "carillon-lab", "carillon-dev")
    nothing_is_left(machine)


def laboratory(machine: Machine) -> InstalledLab:
    shutil.rmtree(machine.root / "tmp/lab", ignore_errors=True)
    lab = InstalledLab(machine, "/usr/bin/carillon-lab", "tmp/lab")
    machine.run("chmod", "755", "/tmp/lab")
    return lab


def is_set_up(machine: Machine, said: str) -> None:
    """Every file is named, the key is the service's, and root's configuration has no errors."""
    for line in [f"wrote /{CONFIGURATION}", f"wrote /{KEY}, a new key", "no errors", "What to do next"]:
        assert said.count(line) == 1, f"{line!r} is not there once:\n{said}"
    user = int(machine.run("id", "-u", "carillon"))
    status = (machine.root / KEY).stat()
    assert (status.st_uid, status.st_mode & 0o777) == (user, 0o600), status
    assert (machine.root / CONFIGURATION).stat().st_uid == 0
    assert not machine.has("root/carillon")
    machine.run("carillon", "check", "--config", f"/{CONFIGURATION}", status=machine_check_status(machine))
    print("the files are there, and the key is the service's")


def machine_check_status(machine: Machine) -> int:
    """`check` misses what systemd lends to the service alone."""
    return 1 if "CREDENTIALS_DIRECTORY" in (machine.root / CONFIGURATION).read_text() else 0


def credentials(machine: Machine) -> dict[str, str]:
    """What systemd lends by the drop-in that setup wrote."""
    folder = machine.root / "tmp/credentials"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    user = int(machine.run("id", "-u", "carillon"))
    loans = re.findall(r"^LoadCredential=([^:]+):(.+)$", (machine.root / "etc/carillon/systemd.conf").read_text(), re.M)
    assert loans
    for name, path in loans:
        (folder / name).write_bytes((machine.root / path[1:]).read_bytes())
        (folder / name).chmod(0o400)
        os.chown(folder / name, user, user)
    return {"CREDENTIALS_DIRECTORY": "/tmp/credentials"}


def serves_and_pushes(machine: Machine, lab: InstalledLab, device: dict, environment: dict[str, str]) -> None:
    """As the service's user: a registration and a push, a restart, another push."""
    router = InstalledRouter(machine, "/usr/bin/carillon", CONFIGURATION, "carillon")
    router.environment = environment
    people = [Person(), Person()]
    lab.forget()
    router.start()
    try:
        with Socket(router) as socket:
            socket.publish(people[0].registration(router, device))
        push(router, lab, people, ["first"])
        lab.accepted(1)
        listed = machine.run("carillon", "devices", "list", "--config", f"/{CONFIGURATION}")
        assert device["platform"] in listed, listed
        identity = router.public_key
        router.stop()
        lab.forget()
        router.start()
        assert router.public_key == identity
        # Another sender, for whom no cooldown runs.
        push(router, lab, [people[0], Person()], ["second"])
        lab.accepted(1)
        router.stop()
        owners = {path.stat().st_uid for path in (machine.root / "var/lib/carillon").iterdir()}
        assert owners == {int(machine.run("id", "-u", "carillon"))}, owners
        print("a registration, a push, a restart, another push")
    finally:
        router.process.kill()


def registers_and_pushes(router: InstalledRouter, lab: InstalledLab, device: dict) -> None:
    people = [Person(), Person()]
    try:
        router.start()
        with Socket(router) as socket:
            socket.publish(people[0].registration(router, device))
        push(router, lab, people, ["moved"])
        lab.accepted(1)
        assert router.stop() == 0
        print("an event became a push")
    finally:
        router.process.kill()


def nothing_is_left(machine: Machine) -> None:
    left = machine.run("find", "/", "-xdev", "-path", "/proc", "-prune", "-o", "-path", "/tmp", "-prune", "-o",
                       "-name", "*carillon*", "-print")
    assert not left.strip(), left
    assert "carillon" not in machine.run("getent", "passwd")


def tarball(machine: Machine, dist: Path) -> None:
    step("The tarball, unpacked and then moved")
    archive = next(iter(dist.glob("carillon-*.tar.*")), None)
    if archive is None:
        return print("there is none")
    folder = machine.root / "opt/first"
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-C", folder, "--strip-components=1", "-xf", archive], check=True)
    # What its README.txt says has to be there is enough.
    machine.run("apt-get", "autoremove", "--purge", "-y")
    needs = re.search(r"^ +(apt-get install .*)$", (folder / "README.txt").read_text(), re.M)[1].split()
    machine.run(*needs, "-y", "--no-install-recommends")
    machine.run("/opt/first/bin/carillon", "check", "--config", "/opt/first/carillon.yaml")
    shutil.move(folder, machine.root / "srv/a second place")
    inside = "/srv/a second place"
    lab = InstalledLab(machine, f"{inside}/bin/carillon-lab", "tmp/other-lab")
    edit(machine, f"{inside[1:]}/carillon.yaml", lab, lab.addresses["apns"]["key_file"])
    router = InstalledRouter(machine, f"{inside}/bin/carillon", f"{inside[1:]}/carillon.yaml", "root")
    try:
        registers_and_pushes(router, lab, ios(device_token()))
    finally:
        lab.process.kill()


if __name__ == "__main__":
    root, dist, previous = sys.argv[1:]
    machine = Machine(Path(root))
    machine.run("apt-get", "update", "-qq")
    setups(machine, Path(dist))
    by_hand(machine, Path(dist))
    packages(machine, Path(dist), Path(previous) if previous else None)
    tarball(machine, Path(dist))
    step("All passed")
