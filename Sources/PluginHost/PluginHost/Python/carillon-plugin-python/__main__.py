"""`carillon-plugin-python`: runs plugins in Python for the Carillon push router, which starts it instead of
carillon-plugin-host."""

import os
import stat
import sys

if sys.version_info < (3, 9):
    sys.exit("carillon-plugin-python: Python 3.9 or newer is needed")

from carillon_host import wire
from carillon_host.process import Process

HELP = """usage: python3 -I carillon-plugin-python

Runs a plugin in Python for the Carillon push router in a separate process. The router starts it: descriptors 3 and
4 are sockets, 5 is a pipe. Do not run it yourself; "carillon plugin check" tests a plugin.

options:
  --tracebacks  Write exceptions to standard error with their texts, which may hold secrets: for authors of plugins.
  --version     Show the versions of protocol and plugin ABI.
  --help        Show this help.
"""


def is_socket(descriptor):
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False


if "--version" in sys.argv[1:]:
    print(f"protocol {wire.VERSION}, plugin ABI 1.{wire.ABI_MINOR}")
elif "--help" in sys.argv[1:] or "-h" in sys.argv[1:]:
    print(HELP, end="")
elif sys.argv[1:] not in ([], ["--tracebacks"]) or not is_socket(3) or not is_socket(4):
    sys.exit("carillon-plugin-python: the router starts this program, and hands it two sockets\n" + HELP)
else:
    Process(deliveries=3, questions=4, crashes=5, shows_errors="--tracebacks" in sys.argv).run()
