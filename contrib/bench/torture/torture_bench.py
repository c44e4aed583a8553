"""The long form of Tests/Interop/test_torture.py, with figures. See `run`."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

from lab import Lab  # noqa: E402
from torture import Torture, TorturedRouter  # noqa: E402
from torture_verdict import judge  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rate", type=float, default=50, help="events and registrations a second")
    parser.add_argument("--accounts", type=int, default=60, help="with one to three devices each")
    parser.add_argument("--orderly", action="store_true", help="SIGTERM instead of SIGKILL, which is to repeat nothing")
    parser.add_argument("--paced", action="store_true", help="with cooldowns of a second: nobody leaves, and batches are counted")
    parser.add_argument("--scratch", help="where stores and logs lie, which then stay there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(options.scratch or temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        print(f"seed {options.seed}, in {scratch}", flush=True)
        lab = Lab(scratch / "lab")
        try:
            lab.misbehave("answer", status=503, share=0.02, seed=options.seed)
            lab.misbehave("delay", milliseconds=40, times=0)
            run = Torture(
                TorturedRouter(scratch / "router", lab),
                lab,
                seed=options.seed,
                kills=options.kills,
                rate=options.rate,
                accounts=options.accounts,
                orderly=options.orderly,
                paced=options.paced,
            )
            begin = time.monotonic()
            asyncio.run(run.run(lambda text: print(text, flush=True)))
            verdict = judge(run)
        finally:
            lab.stop()
    print()
    rows = [("kills", options.kills), ("  of these during the start", run.killed_early), *verdict.rows]
    operations = [operation for slot in run.cast.slots for operation in slot.operations]
    rows.insert(2, ("registrations and deregistrations", len(operations)))
    if options.orderly:
        rows.append(("slowest stop, seconds", round(max(run.stops), 1)))
    rows.append(("seconds", round(time.monotonic() - begin)))
    for name, value in rows:
        print(f"{name:40} {value:>8}")
    for fault in verdict.faults[:50]:
        print(f"FAULT {fault}")
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    sys.exit(main())
