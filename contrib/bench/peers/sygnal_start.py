"""Starts Sygnal with APNs at a port of this machine: `sygnal_start.py PORT`.

Its client sends to Apple and nowhere else, so the server's name and port are set here. The lab wants to be asked for
HTTP/2 (ALPN)."""

import ssl
import sys

from aioapns.connection import APNsProductionClientProtocol
from sygnal.sygnal import main

create_default_context = ssl.create_default_context


def context_for_http2(*arguments, **named) -> ssl.SSLContext:
    context = create_default_context(*arguments, **named)
    context.set_alpn_protocols(["h2"])
    return context


ssl.create_default_context = context_for_http2
APNsProductionClientProtocol.APNS_SERVER = "localhost"
APNsProductionClientProtocol.APNS_PORT = int(sys.argv.pop(1))
main()
