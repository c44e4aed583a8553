"""What a push costs Sygnal: its CPU time, from a request to the answer of APNs, which the lab plays. See `run`."""

import argparse
import base64
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kit import cpu_seconds, programs  # noqa: E402
from lab import Lab  # noqa: E402

APP = "com.example.app"
"""How the home server names the app; the topic is the lab's."""
CONNECTIONS = 50
"""That a home server holds, each with one request under way."""


def configuration(apns: dict, port: int) -> dict:
    app = {"type": "apns", "keyfile": apns["key_file"]} | {name: apns[name] for name in ["key_id", "team_id", "topic"]}
    root = {"handlers": ["errors"], "level": "WARNING"}
    handlers = {"errors": {"class": "logging.StreamHandler"}}
    return {
        "http": {"bind_addresses": ["127.0.0.1"], "port": port},
        "log": {"setup": {"version": 1, "disable_existing_loggers": False, "handlers": handlers, "root": root}},
        "apps": {APP: app},
    }


def request(token: str) -> bytes:
    """A message in a room, as a home server passes it on, for one iPhone."""
    device = {"app_id": APP, "pushkey": base64.b64encode(bytes.fromhex(token)).decode(), "pushkey_ts": 0, "data": {}, "tweaks": {}}
    notification = {
        "event_id": "$" + secrets.token_urlsafe(32), "room_id": "!room:example.com", "type": "m.room.message",
        "sender": "@alice:example.com", "sender_display_name": "Alice", "room_name": "A room", "prio": "high",
        "content": {"msgtype": "m.text", "body": "a text of a usual length"}, "counts": {"unread": 1}, "devices": [device],
    }
    return json.dumps({"notification": notification}).encode()


def send(url: str, body: Path, count: int) -> float:
    """Sends the request so often and returns how many a second were answered. All must be answered with 200."""
    command = ["h2load", "--h1", "-n", str(count), "-c", str(CONNECTIONS), "-d", str(body), "-H", "content-type: application/json", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate, good = re.search(r"finished in .*, ([\d.]+) req/s", text), re.search(r"status codes: (\d+) 2xx", text)
    assert rate and good and int(good[1]) == count, f"not every request was answered with 200:\n{text}"
    return float(rate[1])


def measure(python: str, pushes: int, folder: Path) -> dict[str, float]:
    """Microseconds of CPU for each push, and pushes a second. Some pushes before connect and warm everything up."""
    lab = Lab(folder / "lab", "--quiet")
    port = programs.free_port()
    (folder / "sygnal.yaml").write_text(json.dumps(configuration(lab.ios, port)))
    body = folder / "body"
    body.write_bytes(request(secrets.token_hex(32)))
    url = f"http://127.0.0.1:{port}/_matrix/push/v1/notify"
    environment = os.environ | {"SYGNAL_CONF": str(folder / "sygnal.yaml"), "SSL_CERT_FILE": str(lab.ca_file)}
    start = Path(__file__).with_name("sygnal_start.py")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([python, start, str(urlsplit(lab.ios["base_url"]).port)], env=environment, stdout=log, stderr=log)
    try:
        programs.wait_until(lambda: is_answered(f"http://127.0.0.1:{port}/health"), "Sygnal answers", process)
        send(url, body, max(CONNECTIONS, pushes // 10))
        cpu, begin = cpu_seconds(process.pid), time.monotonic()
        rate = send(url, body, pushes)
        return {"cpu": (cpu_seconds(process.pid) - cpu) * 1e6 / pushes, "rate": rate, "seconds": time.monotonic() - begin}
    except Exception:
        sys.stderr.write((folder / "log").read_text()[-4000:])
        raise
    finally:
        process.kill()
        process.wait()
        lab.stop()


def is_answered(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sygnal", required=True, metavar="PYTHON", help="an interpreter that has Sygnal")
    parser.add_argument("--build", type=Path, required=True, help="the folder with the built lab")
    parser.add_argument("--pushes", type=int, default=5_000)
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures there")
    options = parser.parse_args()
    programs.BUILD = options.build
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.sygnal, options.pushes, Path(folder))
    print(f"Sygnal     {figures['cpu']:.0f} µs CPU each, {figures['rate']:.0f}/s")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
