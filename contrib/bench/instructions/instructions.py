"""How many instructions a push takes the router, by how many cores it finds. See `run`."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "whole"))

from kit import DELIVERED, MeasuredRouter, Server, programs  # noqa: E402
from loads import Load, crowd, reactions  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402

SLOWNESS = 100
"""How much slower at most a program is under callgrind."""
SMALL_SHARE = 0.02
"""A thread with less than that of all instructions is not counted as one that worked."""


class StrippedBuild:
    """Copies of a build and of the libraries of Swift's runtime, without what only debuggers read: valgrind knows older forms of that, and
    gives up. Names of functions are there still."""

    def __init__(self, build: Path, folder: Path):
        self.folder = folder
        folder.mkdir()
        for name in ["carillon", "carillon-plugin-host", *MeasuredRouter.plugin_names]:
            self._copy(build / name)
        for line in self._libraries(build / "carillon"):
            library = re.search(r"=> (/\S*/swift/linux/\S+)", line)
            if library:
                self._copy(Path(library[1]))

    @staticmethod
    def _libraries(program: Path) -> list[str]:
        return subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.splitlines()

    def _copy(self, file: Path):
        subprocess.run(["strip", "--strip-debug", "-o", self.folder / file.name, file], check=True)


class CountedRouter(MeasuredRouter):
    """A router under callgrind, from its start with a feed on."""

    def __init__(self, folder: Path, server: Server, build: StrippedBuild, preload: Path, cores: int):
        self.counts = folder / "counts"
        environment = [f"CORES={cores}", f"LD_PRELOAD={preload.resolve()}", f"LD_LIBRARY_PATH={build.folder}"]
        callgrind = ["--instr-atstart=no", "--separate-threads=yes", "--fair-sched=try", f"--callgrind-out-file={self.counts}"]
        super().__init__(folder, server, "none", ["env", *environment, "valgrind", "--quiet", "--tool=callgrind", *callgrind])
        self.start_patience *= SLOWNESS

    def _ask(self, *words: str):
        subprocess.run(["vgdb", f"--pid={self.process.pid}", *words], check=True, capture_output=True, timeout=120)

    def count(self):
        """Begins to count."""
        self._ask("instrumentation", "on")

    def counted(self) -> list[int]:
        """The instructions of each thread since then."""
        self._ask("dump")
        totals = [re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE) for file in self.folder.glob(f"{self.counts.name}.*-*")]
        return sorted((int(total[1]) for total in totals if total), reverse=True)


class Bench:
    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options = options
        self.folder = folder
        self.build = StrippedBuild(options.build, folder / "build")
        self.people = [Person() for _ in range(options.devices)]
        self.tokens = [device_token() for _ in self.people]
        authors = [Person() for _ in range(20)]
        self.warm = reactions(max(512, len(self.people)), authors, self.people)
        if options.crowd:
            self.load = crowd(max(1, options.events // len(self.people)), authors, self.people)
        else:
            self.load = reactions(options.events, authors, self.people)

    def measure(self, cores: int) -> dict[str, float]:
        programs.BUILD = self.build.folder
        folder = self.folder / str(cores)
        (folder / "server").mkdir(parents=True)
        server = Server(folder / "server", self.tokens)
        router = CountedRouter(folder / "router", server, self.build, self.options.preload, cores)
        try:
            self._register(router)
            pipe = folder / "feed"
            os.mkfifo(pipe)
            router.begin(pipe)
            with pipe.open("wb") as writer:
                self._send(writer, router, self.warm, self.warm.pushes)
                router.count()
                self._send(writer, router, self.load, self.warm.pushes + self.load.pushes)
                threads = router.counted()
        finally:
            router.kill()
            server.stop()
            shutil.rmtree(folder)
        total = sum(threads)
        working = sum(1 for count in threads if count >= total * SMALL_SHARE)
        return {"cores": cores, "instructions": total / self.load.pushes, "threads": working, "largest": threads[0] / total}

    def _register(self, router: MeasuredRouter):
        router.begin(None)
        for first in range(0, len(self.people), 100):
            with Socket(router) as socket:
                for person, token in list(zip(self.people, self.tokens))[first : first + 100]:
                    socket.publish(person.registration(router, ios(token, mode="alert")))
        router.stop()

    @staticmethod
    def _send(writer, router: MeasuredRouter, load: Load, pushes: int):
        writer.write(load.bytes)
        writer.flush()
        router.wait_for(*DELIVERED, pushes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a folder with a release build")
    parser.add_argument("--preload", type=Path, required=True, help="the library that cores.c makes")
    parser.add_argument("--cores", default="1,2,4,8")
    parser.add_argument("--events", type=int, default=4_000)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--crowd", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures there")
    options = parser.parse_args()
    figures: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options, Path(temporary))
        print(f"{bench.load.pushes} pushes of {bench.load.events} events")
        print("cores  instructions a push  of those with the first  threads that worked  the largest share of a thread")
        for cores in map(int, options.cores.split(",")):
            figure = bench.measure(cores)
            figures.append(figure)
            ratio = figure["instructions"] / figures[0]["instructions"]
            print(f"{cores:5}  {figure['instructions']:19,.0f}  {ratio:23.3f}  {figure['threads']:19}  {figure['largest']:29.0%}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
