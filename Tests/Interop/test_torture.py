"""The short form of contrib/bench/torture: nothing that was promised is lost to kills."""

import asyncio
import time

import pytest

from torture import Torture, TorturedRouter
from torture_verdict import judge


@pytest.fixture
def tortured(tmp_path, lab):
    router = TorturedRouter(tmp_path / "router", lab)
    yield router
    if router.is_running:
        router.kill()
    leaked = [secret for secret in router.secrets if secret in router.log_text]
    assert not leaked, f"{len(leaked)} secrets of devices are in the router's log"


def test_promised_pushes_survive_six_kills(tortured, lab):
    lab.misbehave("answer", status=503, share=0.02, seed=7)
    lab.misbehave("delay", milliseconds=40, times=0)
    run = Torture(tortured, lab, seed=int(time.time()), kills=6, rate=50, accounts=40)
    asyncio.run(run.run())
    verdict = judge(run)
    assert not verdict.faults, (run.seed, verdict.faults[:10])
    assert verdict.owed > 100 and verdict.excused < verdict.owed / 2, verdict.rows
    assert all(slot.operations for slot in run.cast.slots[:5])


def test_an_orderly_stop_loses_and_repeats_no_push(tortured, lab):
    lab.misbehave("delay", milliseconds=150, times=0)
    run = Torture(tortured, lab, seed=int(time.time()), kills=4, rate=50, accounts=40, orderly=True)
    asyncio.run(run.run())
    verdict = judge(run)
    assert not verdict.faults, (run.seed, verdict.faults[:10])
    assert verdict.owed > 100 and verdict.repeats == 0, verdict.rows


def test_held_pushes_are_neither_lost_nor_counted_twice(tortured, lab):
    lab.misbehave("delay", milliseconds=40, times=0)
    run = Torture(tortured, lab, seed=int(time.time()), kills=4, rate=60, accounts=15, paced=True)
    asyncio.run(run.run())
    verdict = judge(run)
    assert not verdict.faults, (run.seed, verdict.faults[:10])
    assert verdict.batches > 10, verdict.rows
