"""The short form of contrib/bench/load: ten times more events than can be pushed."""

import pytest

from flood import Flood, FloodedRouter


@pytest.fixture
def flooded(tmp_path, lab):
    router = FloodedRouter(tmp_path / "router", lab)
    router.configuration["store"]["max_waiting"] = 500
    yield router.start()
    if router.is_running:
        router.kill()


def test_ten_times_more_events_than_can_be_pushed(flooded, lab):
    flood = Flood(flooded, lab, devices=40, delay=250)
    flood.register()
    flood.run(seconds=5)
    figures = flood.figures
    assert figures.lost == 0 and figures.repeated == 0, figures
    # More than fits on its disk; what did not fit, sources had to wait with.
    assert 500 < figures.accepted < figures.wanted / 2, figures
    assert figures.most_waiting < 500 + Flood.connections * Flood.outstanding + 100, figures
    assert figures.resident_most < figures.resident_before + 150, figures
    assert figures.until_prompt < 10 and figures.until_empty < 20, figures
