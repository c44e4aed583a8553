"""Sends with aioapns, a sender in Python, over one connection: `aioapns_sender.py ORIGIN CA KEY TOKEN REQUESTS`. It sends to Apple and
nowhere else, so that its server's name and port are set here. Prints what `run` wants of a sender."""

import asyncio
import resource
import ssl
import sys
import time
from urllib.parse import urlsplit

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

CONCURRENT = 500


async def main(origin: str, ca: str, key: str, token: str, count: int):
    address = urlsplit(origin)
    APNsProductionClientProtocol.APNS_SERVER = address.hostname
    APNsProductionClientProtocol.APNS_PORT = address.port
    context = ssl.create_default_context(cafile=ca)
    with open(key) as file:
        secret = file.read()
    client = APNs(key=secret, key_id="ABCDEFGHIJ", team_id="TEAMID1234", topic="com.example.app", ssl_context=context, max_connections=1)
    left = iter(range(count))
    failed = 0

    async def send():
        nonlocal failed
        for number in left:
            message = {"aps": {"alert": {"title": "title", "body": "b" * 150}}, "number": number}
            answer = await client.send_notification(
                NotificationRequest(device_token=token, message=message, push_type=PushType.ALERT, priority=10)
            )
            failed += not answer.is_successful

    cpu, begin = time.process_time(), time.monotonic()
    await asyncio.gather(*(send() for _ in range(CONCURRENT)))
    took, used = time.monotonic() - begin, time.process_time() - cpu
    print(f"{count / took:.0f} {used * 100_000 / count:.4f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} {failed}")


asyncio.run(main(*sys.argv[1:5], int(sys.argv[5])))
