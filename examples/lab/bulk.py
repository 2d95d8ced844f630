"""A bulk transfer between two programs of `midflight lab exec`, as iperf3 makes one.

The server sends for so many seconds to who connects; the client prints what it got in each second
of its clock, and in all.
"""

import os
import socket
import sys
import time

PORT = 5201
PIECE = bytes(1 << 16)


def serve(seconds: float) -> None:
    """Send to who connects."""
    with socket.create_server(("", PORT)) as listener:
        connection, _ = listener.accept()
        with connection:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                connection.send(PIECE)


def get() -> None:
    """Read until the server closes."""
    each: list[int] = []
    with socket.create_connection((os.environ["SERVER"], PORT)) as connection:
        begun = last = time.monotonic()
        while data := connection.recv(1 << 20):
            last = time.monotonic()
            second = int(last - begun)
            each += [0] * (second + 1 - len(each))
            each[second] += len(data)
    for second, size in enumerate(each):
        print(f"{second:3}-{second + 1:<3} s {8 * size / 1e6:10.3f} Mbit/s")
    print(f"  all {8 * sum(each) / 1e6 / (last - begun):10.3f} Mbit/s")


if __name__ == "__main__":
    if sys.argv[1] == "server":
        serve(float(sys.argv[2]))
    else:
        get()
