"""aioquic as an end of a flow: the stack itself, in virtual time, with every random source seeded.

The compiled core calls an `End` as it calls the QUIC stacks that are written in Rust, and holds the
interpreter's lock in each call. The calls follow aioquic's own adapter for asyncio
(`aioquic/asyncio/protocol.py`): after each event it processes the events of the connection, sends
the datagrams that are ready, and sets the timer.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import sys
import threading
from importlib import import_module
from types import SimpleNamespace
from typing import Any

__all__ = ["VERSION", "End", "check"]

#: The version that is measured: another one is another subject.
VERSION = "1.7.2"
#: Name of the copy of the package in `sys.modules`.
COPY = "midflight._aioquic"
#: What is sent at a time is written in such pieces, and so much is kept ready in each stream.
PIECE = bytes(1 << 16)
READY_BYTES = 1 << 17
#: aioquic takes an instant of 0 for none.
BASE_NS = 1_000_000_000
#: Bytes of data beyond those that can be sent, for a stream without end.
ENDLESS = (1 << 64) - 1
#: Names of aioquic's congestion controllers, by ours.
CONTROLLERS = {"newreno": "reno", "cubic": "cubic"}

_loading = threading.Lock()
_thread = threading.local()


def check() -> str | None:
    """Return why aioquic cannot run, in a sentence; None if it can."""
    get = f"expected aioquic {VERSION}, as pip install 'midflight[aioquic]' installs it"
    spec = importlib.util.find_spec("aioquic")
    try:
        version = importlib.metadata.version("aioquic")
    except importlib.metadata.PackageNotFoundError:
        version = None
    # A folder of this name that is no package has a spec without an origin.
    if spec is None or spec.origin is None or version is None:
        return f'the stack "aioquic" is not installed; {get}'
    if version != VERSION:
        return f'the stack "aioquic" is installed as version {version}; {get}'
    try:
        _modules()
    except ImportError as error:
        return f'the stack "aioquic" cannot be imported ({error}); {get}'
    return None


def _modules() -> SimpleNamespace:
    """Return the modules of a copy of aioquic whose random sources are seeded.

    The code is that of the installed package. Its modules are imported a second time under another
    name, so that a program that uses aioquic itself does not get seeded keys.
    """
    with _loading:
        done = sys.modules.get(f"{COPY}.seeded")
        if isinstance(done, SimpleNamespace):
            return done
        spec = importlib.util.find_spec("aioquic")
        assert spec is not None
        assert spec.origin is not None
        places = list(spec.submodule_search_locations or ())
        copy = importlib.util.spec_from_file_location(
            COPY, spec.origin, submodule_search_locations=places
        )
        assert copy is not None
        assert copy.loader is not None
        package = importlib.util.module_from_spec(copy)
        sys.modules[COPY] = package
        copy.loader.exec_module(package)
        names = ("configuration", "connection", "events", "logger", "packet", "crypto", "stream")
        modules = SimpleNamespace(
            **{name: import_module(f"{COPY}.quic.{name}") for name in names},
            tls=import_module(f"{COPY}.tls"),
            congestion=import_module(f"{COPY}.quic.congestion.base"),
        )
        _seed(modules)
        _observe(modules)
        sys.modules[f"{COPY}.seeded"] = modules  # type: ignore[assignment]
        return modules


def _random(count: int) -> bytes:
    """Return the next random bytes of the end that is called on this thread."""
    end: End = _thread.end
    return end.random(count)


def _seed(modules: SimpleNamespace) -> None:
    """Replace every random source of the copy, its calendar, and the order of its sets."""
    source = SimpleNamespace(urandom=_random)
    for module in (modules.connection, modules.packet, modules.tls):
        module.os = source
    tls = modules.tls
    x25519, x448, ec = tls.x25519, tls.x448, tls.ec
    orders = {
        "secp256r1": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
        "secp384r1": int(
            "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
            "C7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973",
            16,
        ),
    }

    def curve_key(curve: Any) -> Any:
        # A scalar from 1 to the order of the group - 1 (FIPS 186-5 appendix A.2.1).
        order = orders[curve.name]
        drawn = int.from_bytes(_random(curve.key_size // 8 + 8), "big")
        return ec.derive_private_key(drawn % (order - 1) + 1, curve)

    tls.x25519 = _with(
        x25519,
        X25519PrivateKey=SimpleNamespace(
            generate=lambda: x25519.X25519PrivateKey.from_private_bytes(_random(32))
        ),
    )
    tls.x448 = _with(
        x448,
        X448PrivateKey=SimpleNamespace(
            generate=lambda: x448.X448PrivateKey.from_private_bytes(_random(56))
        ),
    )
    tls.ec = _with(ec, generate_private_key=curve_key)
    # The log has dates. Certificates and tickets have too: neither is checked or made.
    modules.logger.time = SimpleNamespace(time=lambda: _thread.end.log_s)

    class Stream(modules.stream.QuicStream):  # type: ignore[misc, name-defined]
        """A stream whose place in a set does not depend on its address in memory."""

        def __hash__(self) -> int:
            return hash(self.stream_id)

        def __eq__(self, other: object) -> bool:
            return self is other

    modules.connection.QuicStream = Stream


def _with(module: Any, **replaced: Any) -> SimpleNamespace:
    """Return the names of a module, with some of them replaced."""
    return SimpleNamespace(**{**vars(module), **replaced})


def _observe(modules: SimpleNamespace) -> None:
    """Observe packets before encryption, losses, and the outcome of path validation."""

    class Pair(modules.crypto.CryptoPair):  # type: ignore[misc, name-defined]
        """The keys of both directions. Packets with a short header are behind the handshake."""

        def encrypt_packet(self, header: bytes, payload: bytes, number: int) -> bytes:
            packet: bytes = super().encrypt_packet(header, payload, number)
            if not header[0] & 0x80:
                _thread.end.sent.append((packet, number, bytes(payload)))
            return packet

        def decrypt_packet(self, packet: bytes, offset: int, expected: int) -> Any:
            opened = super().decrypt_packet(packet, offset, expected)
            if not opened[0][0] & 0x80:
                _thread.end.observed.append(("received", opened[2], opened[1]))
            return opened

    modules.connection.CryptoPair = Pair

    class Connection(modules.connection.QuicConnection):  # type: ignore[misc, name-defined]
        """A connection that notes when it gives up a path."""

        def _abandon_path_validation(self) -> None:
            _thread.end.has_abandoned = True
            super()._abandon_path_validation()

    modules.Connection = Connection
    factories = modules.congestion._factories
    for name in CONTROLLERS.values():
        factories[name] = _observed(factories[name])


def _observed(base: Any) -> Any:
    class Observed(base):  # type: ignore[misc]
        """A congestion controller that reports losses."""

        def on_packets_lost(self, *, now: float, packets: Any) -> None:
            packets = list(packets)
            end = _thread.end
            end.note_window("acked", self.congestion_window)
            super().on_packets_lost(now=now, packets=packets)
            sent_ns = max(_ns(packet.sent_time) for packet in packets)
            end.observed.append(("lost", sent_ns, len(packets)))
            end.note_window("lost", self.congestion_window)

        def on_persistent_congestion(self) -> None:
            super().on_persistent_congestion()
            _thread.end.observed.append(("persistent",))
            _thread.end.note_window("lost", self.congestion_window)

    return Observed


def _ns(seconds: float) -> int:
    """Return the first instant in whole nanoseconds that is not before one of aioquic."""
    ns = int(seconds * 1e9)
    while ns / 1e9 < seconds:
        ns += 1
    return ns - BASE_NS


class End:
    """A connection of aioquic with its application, at one end.

    Observations are appended to `observed` as tuples that begin with their kind; the caller takes
    them after each call.
    """

    def __init__(
        self,
        *,
        is_client: bool,
        server: tuple[str, int],
        server_name: str,
        protocol: str,
        certificate: bytes,
        key: bytes,
        congestion: str,
        idle_s: float | None,
        streams: list[int],
        seed: bytes,
        logs: bool,
    ) -> None:
        self._is_client = is_client
        self._server = server
        self._server_name = server_name
        self._protocol = protocol
        self._certificate, self._key = certificate, key
        self._congestion = CONTROLLERS[congestion]
        self._idle_s = idle_s
        self._sends = bool(streams)
        self._logs = logs
        self._seed, self._drawn = seed, 0
        self._connection: Any = None
        #: Bytes of streams that are not open yet, and what is left of those that are.
        self._to_open = list(streams)
        self._writing: dict[int, int] = {}
        self._is_connected = False
        self._path: Any = None
        self._is_first = self._is_validated = False
        self._window: int | None = None
        self._log: Any = None
        self.has_abandoned = False
        self.log_s = 0.0
        self.observed: list[tuple[Any, ...]] = []
        #: Packets behind the handshake that were made in this call: packet, number, payload.
        self.sent: list[tuple[bytes, int, bytes]] = []

    def random(self, count: int) -> bytes:
        """Return the next random bytes."""
        self._drawn += 1
        drawn = self._drawn.to_bytes(8, "big")
        return hashlib.shake_256(self._seed + drawn).digest(count)

    def note_window(self, by: str, window: int) -> None:
        """Report the congestion window if it is another."""
        if window != self._window:
            self._window = window
            self.observed.append(("window", window, by))

    def connect(self, now_ns: int) -> None:
        """Begin the handshake."""
        now = self._enter(now_ns)
        self._make(None)
        self._connection.connect(self._server, now=now)
        self._leave()

    def receive(self, now_ns: int, ip: str, port: int, datagram: bytes) -> None:
        """Take a datagram."""
        now = self._enter(now_ns)
        if self._connection is None:
            packet = _modules().packet
            header = packet.pull_quic_header(
                _modules().connection.Buffer(data=datagram), host_cid_length=8
            )
            if header.packet_type != packet.QuicPacketType.INITIAL:
                return
            self._make(header.destination_cid)
        self._connection.receive_datagram(datagram, (ip, port), now=now)
        self._leave()

    def timeout(self, now_ns: int) -> None:
        """Handle the timer."""
        now = self._enter(now_ns)
        if self._connection is None:
            return
        before = self._connection._loss._pto_count
        self._connection.handle_timer(now=now)
        if self._connection._loss._pto_count > before:
            self.observed.append(("said", "pto"))
        self._leave()

    def send(self, now_ns: int, size: int) -> None:
        """Send so many bytes on a stream of their own."""
        self._enter(now_ns)
        self._sends = True
        self._to_open.append(size)
        self._leave()

    def migrate(self, now_ns: int) -> None:
        """Show the new address: another connection identifier, and a packet at once.

        It is what aioquic's own interoperability tests do.
        """
        self._enter(now_ns)
        self._connection.change_connection_id()
        self._connection.send_ping(0)
        self._leave()

    def transmit(self, now_ns: int) -> tuple[list[tuple[bytes, str, int, int, bytes]], int | None]:
        """Return the datagrams that are ready, and when the timer is due.

        Of each datagram: its bytes, where to, and number and payload of its packet behind the
        handshake; -1 without one.
        """
        now = self._enter(now_ns)
        connection = self._connection
        if connection is None or not connection._network_paths:
            return [], None
        datagrams = []
        self._write()
        for datagram, (ip, port) in connection.datagrams_to_send(now=now):
            number, payload = -1, b""
            # A packet with a short header is the last one of its datagram.
            if self.sent and datagram.endswith(self.sent[0][0]):
                _, number, payload = self.sent.pop(0)
            datagrams.append((datagram, ip, port, number, payload))
        self.note_window("acked", connection._loss.congestion_window)
        timer = connection.get_timer()
        path = connection._network_paths[0]
        if self._sends and not path.is_validated and connection._amplification_blocked_timers()[1]:
            self.observed.append(("said", "amplification"))
        self._take_log()
        return datagrams, None if timer is None else _ns(timer)

    def _enter(self, now_ns: int) -> float:
        _thread.end = self
        self.log_s = now_ns / 1e9
        return (now_ns + BASE_NS) / 1e9

    def _make(self, original: bytes | None) -> None:
        """Make the connection; the server's knows the identifier to which the client sent first."""
        modules = _modules()
        settings: dict[str, Any] = {} if self._idle_s is None else {"idle_timeout": self._idle_s}
        configuration = modules.configuration.QuicConfiguration(
            is_client=self._is_client,
            alpn_protocols=[self._protocol],
            congestion_control_algorithm=self._congestion,
            secrets_log_file=self if self._is_client else None,
            quic_logger=modules.logger.QuicLogger() if self._logs else None,
            **settings,
        )
        if self._is_client:
            configuration.server_name = self._server_name
            configuration.verify_mode = modules.tls.ssl.CERT_NONE
        else:
            tls = modules.tls
            configuration.certificate = tls.x509.load_der_x509_certificate(self._certificate)
            configuration.private_key = tls.serialization.load_der_private_key(self._key, None)
        made = {} if original is None else {"original_destination_connection_id": original}
        self._connection = modules.Connection(configuration=configuration, **made)
        self._window = self._connection._loss.congestion_window
        self.observed += [("made",), ("window", self._window, "new")]
        if configuration.quic_logger is not None:
            (self._log,) = configuration.quic_logger._traces
            head = {"qlog_format": "JSON-SEQ", "qlog_version": "0.3"}
            trace = self._log.to_dict()
            self._note({**head, "trace": {key: trace[key] for key in trace if key != "events"}})

    # The file of secrets.
    def write(self, text: str) -> int:
        self.observed.append(("secret", text.rstrip("\n")))
        return len(text)

    def flush(self) -> None:
        pass

    def _note(self, record: dict[str, Any]) -> None:
        self.observed.append(("log", f"\x1e{json.dumps(record, separators=(',', ':'))}\n"))

    def _leave(self) -> None:
        """Process the events, run the application, and observe path, window and log."""
        connection, events = self._connection, _modules().events
        if connection is None:
            return
        while (event := connection.next_event()) is not None:
            if isinstance(event, events.HandshakeCompleted):
                self._is_connected = True
                if self._sends:
                    self.observed.append(("established",))
            elif isinstance(event, events.StreamDataReceived):
                if event.end_stream:
                    self.observed.append(("read", event.stream_id // 4))
            elif isinstance(event, events.ConnectionTerminated):
                self.observed.append(("closed", event.reason_phrase or f"code {event.error_code}"))
        self._write()
        self._observe_path()
        self.note_window("acked", connection._loss.congestion_window)
        self._take_log()

    def _take_log(self) -> None:
        if self._log is not None:
            while self._log._events:
                self._note(self._log._events.popleft())

    def _write(self) -> None:
        """Keep data ready in each stream."""
        connection = self._connection
        if not self._is_connected:
            return
        while self._to_open:
            stream = connection.get_next_available_stream_id(is_unidirectional=True)
            size = self._to_open.pop(0)
            self._writing[stream] = size
            connection.send_stream_data(stream, b"", end_stream=size == 0)
        for stream, left in list(self._writing.items()):
            sender = connection._streams[stream].sender
            while left > 0 and sender._buffer_stop - sender.highest_offset < READY_BYTES:
                piece = PIECE if left >= len(PIECE) else PIECE[:left]
                if left != ENDLESS:
                    left -= len(piece)
                connection.send_stream_data(stream, piece, end_stream=left == 0)
            self._writing[stream] = left
            if left == 0:
                del self._writing[stream]

    def _observe_path(self) -> None:
        paths = self._connection._network_paths
        if not paths:
            return
        path, before = paths[0], self._path
        if path is not before:
            self._path, self._is_validated = path, path.is_validated
            self.observed.append(("peer", *path.addr))
            if before is not None:
                self.observed.append(("said", "failed" if self.has_abandoned else "migration"))
            self._is_first = before is None
        elif path.is_validated and not self._is_validated:
            self._is_validated = True
            # The first path is validated by the handshake.
            if not self._is_first:
                self.observed.append(("said", "validated"))
        self.has_abandoned = False
