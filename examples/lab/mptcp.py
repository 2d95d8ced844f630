"""A download by MPTCP, or by plain TCP, between two programs of `midflight lab exec`.

The server sends so many bytes to who connects. With "mptcp" the client asks the kernel to open a
subflow from each of its other addresses too, with "backup" subflows that are used when the first
fails. It prints how many bytes came, over how many seconds, and the longest time without any. Given
an instant it ends when 20 MB have come since, and prints how long 1 MB and 20 MB took from there.
"""

import ipaddress
import os
import socket
import struct
import sys
import time

PORT = 80
#: Bytes that are timed after an instant.
MARKS = (1_000_000, 20_000_000)
IPPROTO_MPTCP = 262
#: Constants of Linux's linux/genetlink.h and linux/mptcp_pm.h.
NETLINK_GENERIC, GENL_ID_CTRL, GET_FAMILY, FAMILY_ID, FAMILY_NAME = 16, 16, 3, 1, 2
ADD_ADDR, ADDR, FAMILY, ADDR4, FLAGS, IF_IDX = 1, 1, 1, 3, 6, 7
SUBFLOW, BACKUP = 2, 4
REQUEST, ANSWER = 1, 4


def attribute(kind: int, data: bytes) -> bytes:
    """Return an attribute of a netlink message."""
    return struct.pack("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def ask(link: socket.socket, family: int, command: int, version: int, data: bytes) -> bytes:
    """Send a message; return the attributes of the answer."""
    body = struct.pack("BBH", command, version, 0) + data
    head = struct.pack("IHHII", 16 + len(body), family, REQUEST | ANSWER, 1, 0)
    link.send(head + body)
    answer = link.recv(65536)
    kind = struct.unpack_from("H", answer, 4)[0]
    error = struct.unpack_from("i", answer, 16)[0] if kind == 2 else 0
    if error:
        raise OSError(-error, os.strerror(-error))
    return answer[20:]


def add_subflow(address: str, device: str, flags: int) -> None:
    """Tell the kernel to open a subflow from an address of a device to whom MPTCP connects to."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as link:
        link.bind((0, 0))
        found = ask(link, GENL_ID_CTRL, GET_FAMILY, 1, attribute(FAMILY_NAME, b"mptcp_pm\0"))
        family = 0
        while found:
            length, kind = struct.unpack_from("HH", found)
            if kind == FAMILY_ID:
                family = struct.unpack_from("H", found, 4)[0]
            found = found[length + -length % 4 :]
        entry = attribute(FAMILY, struct.pack("H", socket.AF_INET))
        entry += attribute(ADDR4, ipaddress.ip_address(address).packed)
        entry += attribute(FLAGS, struct.pack("I", flags))
        entry += attribute(IF_IDX, struct.pack("i", socket.if_nametoindex(device)))
        ask(link, family, ADD_ADDR, 1, attribute(ADDR | 1 << 15, entry))


def serve(protocol: int, size: int) -> None:
    """Send so many bytes to who connects."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as listener:
        listener.bind(("", PORT))
        listener.listen()
        connection, _ = listener.accept()
        connection.sendall(bytes(size))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def get(protocol: int, since: float | None) -> None:
    """Read until the server closes, or until enough has come since an instant, in seconds."""
    begun = last = time.monotonic()
    size, stall, before, marks = 0, 0.0, 0, list(MARKS) if since is not None else []
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as connection:
        connection.connect((os.environ["SERVER"], PORT))
        while data := connection.recv(1 << 20 if since is None else 1 << 16):
            now = time.monotonic()
            size, stall, last = size + len(data), max(stall, now - last), now
            if since is None:
                continue
            before = size if now - begun < since else before
            while marks and size - before >= marks[0]:
                print(f"{marks.pop(0)} bytes {now - begun - since:.3f} s after {since} s")
            if not marks:
                break
    print(f"{size} bytes in {last - begun:.3f} s, the longest stall {stall:.3f} s")


def main(role: str, kind: str, number: str = "") -> None:
    """Be the server (of so many bytes) or the client, with "tcp", "mptcp" or "backup"."""
    protocol = 0 if kind == "tcp" else IPPROTO_MPTCP
    if role == "server":
        serve(protocol, int(number or 3_000_000))
        return
    others = os.environ["CLIENTS"].split()[1:]
    for place, address in enumerate(others if protocol else [], 1):
        flags = SUBFLOW | (BACKUP if kind == "backup" else 0)
        add_subflow(address, f"mf{place}", flags)
    get(protocol, float(number) if number else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
