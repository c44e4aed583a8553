"""nostr-sdk's relay as a program, which forgets everything when it is killed.

    python local_relay.py PORT [URL-FILE] [--nip42] [--unlimited]

Port 0 stands for any free one. Once it listens, its URL is written to the file.
"""

import argparse
import asyncio
from pathlib import Path

import nostr_sdk as sdk


async def main(port: int, url_file: Path | None, nip42: bool, unlimited: bool):
    builder = sdk.LocalRelayBuilder().addr("127.0.0.1")
    if port:
        builder = builder.port(port)
    if nip42:
        builder = builder.nip42(sdk.LocalRelayBuilderNip42(mode=sdk.LocalRelayBuilderNip42Mode.BOTH))
    if unlimited:
        builder = builder.rate_limit(sdk.RateLimit(max_reqs=1_000_000, notes_per_minute=1_000_000_000))
    relay = builder.build()
    await relay.run()
    if url_file:
        url_file.write_text(str(await relay.url()))
    await asyncio.Event().wait()


parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("url_file", type=Path, nargs="?")
parser.add_argument("--nip42", action="store_true")
parser.add_argument("--unlimited", action="store_true", help="takes as many events as come")
asyncio.run(main(**vars(parser.parse_args())))
