"""nostr-sdk's relay as a program: `python local_relay.py PORT [nip42]`. Ends when killed."""

import asyncio
import sys

import nostr_sdk as sdk


async def main(port: int, *options: str):
    builder = sdk.LocalRelayBuilder().addr("127.0.0.1").port(port)
    if "nip42" in options:
        builder = builder.nip42(sdk.LocalRelayBuilderNip42(mode=sdk.LocalRelayBuilderNip42Mode.BOTH))
    relay = builder.build()
    await relay.run()
    await asyncio.Event().wait()


asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
