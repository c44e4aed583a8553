"""A systemd of its own as the first process of namespaces, over this machine's root: what it writes is gone with it."""

import os
import shutil
import subprocess
from pathlib import Path

from programs import wait_until

SYSTEMD = Path("/lib/systemd/systemd")

# Arguments: a folder to mount on, a folder whose content is laid over the root, and pairs of what is shown where.
BOOT = r"""
set -eu
umask 022
place=$1 files=$2
shift 2
mount -t tmpfs tmpfs "$place"
mkdir "$place"/upper "$place"/work "$place"/root
mount -t overlay -o "lowerdir=/,upperdir=$place/upper,workdir=$place/work" overlay "$place/root"
cd "$place/root"
mount -t proc proc proc
# Nothing here may set up the machine itself.
mount --bind proc/sys proc/sys && mount -o remount,ro,bind proc/sys
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
# Nodes of its own: it sets the rights of some. Its console is a second null.
mknod -m 666 dev/null c 1 3
mknod -m 600 dev/console c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
else
    mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
    mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
    mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
fi
rm -rf etc/systemd/system && mkdir etc/systemd/system
for each in modules-load.service remount-fs.service journald-audit.socket; do
    ln -s /dev/null etc/systemd/system/systemd-$each
done
cp -r "$files"/. .
while [ $# -gt 0 ]; do
    mkdir -p ".$(dirname "$2")" && touch ".$2" && mount --bind "$1" ".$2"
    shift 2
done
mkdir old
# Not chroot: the kernel lets nobody in such a root have namespaces of users.
pivot_root . old
umount -l /old
# As a manager of containers leaves it: services get their credentials by a mount that spreads.
mount --make-rshared /
exec /lib/systemd/systemd --unit=basic.target --log-target=journal
"""
UNSHARE = ["unshare", "--pid", "--mount", "--cgroup", "--fork", "--kill-child", "--propagation", "private"]


def reason_against() -> str | None:
    """Why there can be none here."""
    if os.geteuid() != 0:
        return "takes root"
    if not SYSTEMD.exists() or not shutil.which("nsenter"):
        return "systemd or nsenter is missing"
    probe = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True)
    return None if probe.returncode == 0 else "this machine gives no namespaces, or nothing may be mounted"


class SystemdRoot:
    """`files` is laid over the root; `shown` are files of this machine, by the place where they are seen."""

    def __init__(self, folder: Path, files: Path, shown: dict[str, Path]):
        self._name = f"carillon-test-{os.getpid()}"
        place = folder / "systemd"
        place.mkdir()
        for group in self._groups():
            group.mkdir(exist_ok=True)
        # What it makes of groups is below these, and goes with them.
        enter = 'for group in $GROUPS_OF_THE_TEST; do echo $$ >"$group/cgroup.procs"; done; exec "$@"'
        pairs = [str(each) for path, file in shown.items() for each in (file, path)]
        self.log = folder / "systemd.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", enter, "enter", *UNSHARE, "bash", "-c", BOOT, "boot", place, files, *pairs],
                env={"PATH": os.environ["PATH"], "container": "test"}
                | {"GROUPS_OF_THE_TEST": " ".join(map(str, self._groups()))},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_until(self._is_up, "systemd is up", self._process)

    def _groups(self) -> list[Path]:
        root = Path("/sys/fs/cgroup")
        groups = []
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ["", "name=systemd", "memory", "pids", "devices"]:
                hierarchy = controllers.removeprefix("name=") or ("unified" if (root / "unified").exists() else "")
                groups.append(root / hierarchy / path.lstrip("/") / self._name)
        return [group for group in groups if group.parent.exists()]

    def _is_up(self) -> bool:
        first = self._first
        if first is None:
            return False
        # Degraded: something failed that this machine does not have, and that no test needs.
        return self.run("systemctl", "is-system-running").stdout.strip() in ["running", "degraded"]

    @property
    def _first(self) -> int | None:
        """Its first process, as this machine counts."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        if not children or Path(f"/proc/{children[0]}/comm").read_text().strip() != "systemd":
            return None
        return int(children[0])

    def run(self, *command: str) -> subprocess.CompletedProcess:
        """Runs a command in there."""
        enter = ["nsenter", "--target", str(self._first), "--mount", "--pid", "--cgroup", "--root", "--wd"]
        return subprocess.run([*enter, *command], capture_output=True, text=True, timeout=120)

    def number(self, inner: int) -> int:
        """A process in there, as this machine counts."""
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                numbers = next(line for line in status.read_text().splitlines() if line.startswith("NSpid:")).split()[1:]
            except (OSError, StopIteration):
                continue
            if numbers[-1] == str(inner) and len(numbers) > 1 and self._is_inside(status.parent):
                return int(status.parent.name)
        raise AssertionError(f"there is no process {inner} in there")

    def _is_inside(self, process: Path) -> bool:
        return os.readlink(process / "ns/pid") == os.readlink(f"/proc/{self._first}/ns/pid")

    def close(self):
        self._process.kill()
        self._process.wait()

        def is_removed() -> bool:
            # A group can go once the kernel has done with its processes.
            for group in self._groups():
                for each in sorted(group.glob("**/"), reverse=True):
                    try:
                        each.rmdir()
                    except OSError:
                        return False
            return True

        wait_until(is_removed, "its groups of processes are gone")
