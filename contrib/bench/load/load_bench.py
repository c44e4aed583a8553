"""The long form of Tests/Interop/test_flood.py, with figures. See `run`."""

import argparse
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

from flood import Flood, FloodedRouter  # noqa: E402
from lab import Lab  # noqa: E402

ROOM = 300
"""MiB that a flood may take beyond what the router had before: the intake's bound, the courier's windows, SQLite's caches."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long the flood lasts")
    parser.add_argument("--devices", type=int, default=100)
    parser.add_argument("--delay", type=int, default=1000, help="milliseconds that each push takes")
    parser.add_argument("--times", type=float, default=10, help="how many times more events than pushes")
    parser.add_argument("--apps", type=int, default=1, choices=[1, 2, 3, 4], help="queues that the devices are spread over")
    parser.add_argument("--max-waiting", type=int, default=20_000, help="store.max_waiting")
    parser.add_argument("--scratch", help="where stores and logs lie, which then stay there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(options.scratch or temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        lab = Lab(scratch / "lab")
        router = FloodedRouter(scratch / "router", lab)
        router.configuration["store"]["max_waiting"] = options.max_waiting
        try:
            router.start()
            flood = Flood(router, lab, options.devices, options.delay, options.apps)
            flood.register()
            print(f"{flood.capacity:.0f} pushes a second, {flood.capacity * options.times:.0f} events a second", flush=True)
            flood.run(options.seconds, options.times)
        finally:
            if router.is_running:
                router.kill()
            lab.stop()
    figures = flood.figures
    for name, value in [
        ("events that sources had", figures.wanted),
        ("  that they could bring", figures.accepted),
        ("  answers to try again later", figures.too_busy),
        ("slowest answer, seconds", round(figures.slowest, 1)),
        ("pushed meanwhile", figures.pushed_meanwhile),
        ("most that waited at a time", figures.most_waiting),
        ("memory before, MiB", round(figures.resident_before)),
        ("  at most", round(figures.resident_most)),
        ("  after", round(figures.resident_after)),
        ("prompt again after, seconds", round(figures.until_prompt, 2)),
        ("all pushed after, seconds", round(figures.until_empty, 1)),
        ("lost", figures.lost),
        ("repeated", figures.repeated),
    ]:
        print(f"{name:40} {value:>10}")
    print("memory every tenth of the time, MiB:", " ".join(str(round(mib)) for mib in every_tenth(figures.samples)))
    is_bounded = figures.resident_most < figures.resident_before + ROOM
    return 0 if is_bounded and figures.lost == 0 else 1


def every_tenth(samples: list[tuple[float, float]]) -> list[float]:
    return [samples[len(samples) * tenth // 10][1] for tenth in range(10)] + [samples[-1][1]]


if __name__ == "__main__":
    sys.exit(main())
