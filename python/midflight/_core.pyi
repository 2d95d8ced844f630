"""The Rust core. Times are nanoseconds from t = 0 unless a name says otherwise; rates, bit/s."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, final, type_check_only

import pandas
from numpy.typing import NDArray

OrderFields: TypeAlias = tuple[str, str, str]
LinkFields: TypeAlias = tuple[str, str | None, str | None]
EventFields: TypeAlias = tuple[
    int,
    int,
    str,
    float,
    str,
    int | None,
    int | None,
    int | None,
    str,
    str | None,
    OrderFields | None,
    LinkFields | None,
]
SenderFields: TypeAlias = tuple[
    float | None,
    float | None,
    float | None,
    float | None,
    int,
    int,
    int,
    int,
    bool,
    int | None,
    int | None,
]

MODEL_VERSION: str
"""Changes whenever the digest of a run may change."""

QUIC_STACKS: dict[str, str]
"""The QUIC stacks, by the names that flows give them, with their versions."""

QUIC_MIGRATIONS: dict[str, dict[str, str]]
"""What each value of the setting `migration` sets, by the names of the settings."""

Link: TypeAlias = tuple[int, int] | str
"""Rate in bit/s and one-way delay in nanoseconds, or a text such as "6400 kbit/s, 9 ms"."""

class MidflightError(ValueError):
    """A request that cannot be carried out; the message is one sentence for the user."""

    name: str | None
    """What the error is about: a key, a setting, or what was being read; None if it has no name."""
    value: str | None
    """What was read, if that is one value."""
    accepted: str | None
    """What is accepted, if that can be said."""

@type_check_only
class Scheme(TypedDict):
    """A complete named sender configuration."""

    name: str
    summary: str
    source: str
    parts: list[str]

@type_check_only
class Knob(TypedDict):
    """A parameter that `handoff(knobs=...)` takes."""

    name: str
    default: str
    accepts: str
    summary: str

@type_check_only
class Policy(TypedDict):
    """A policy that schemes are made of."""

    name: str
    summary: str
    source: str
    knobs: list[Knob]
    heeds: Literal["notices", "marks"]

@type_check_only
class Part(TypedDict):
    """A response, classifier, detector or handoff signal that schemes are made of."""

    name: str
    summary: str
    source: str
    knobs: list[Knob]

@type_check_only
class WorkloadMeasure(TypedDict):
    """What a workload measures: `name` of its column, `short` at the head of a printed table."""

    name: str
    short: str
    unit: str
    summary: str

@type_check_only
class Workload(Part):
    """An application at the ends of a flow."""

    measures: list[WorkloadMeasure]

@type_check_only
class Setting(TypedDict):
    """A setting of sender and receiver, with its value in each profile."""

    name: str
    accepts: str
    summary: str
    values: dict[str, str]

@type_check_only
class Profile(TypedDict):
    """A named bundle of settings."""

    name: str
    summary: str

@type_check_only
class DrillNote(TypedDict):
    """Something in a script that has no effect here, or another than elsewhere."""

    line: int
    text: str

@type_check_only
class DrillFailure(TypedDict):
    """An expectation that was not met, and the sender's state then."""

    line: int
    statement: str
    expected: str
    seen: str
    state: dict[str, str]

@type_check_only
class Drill(TypedDict):
    """One run of a script."""

    scheme: str
    profile: str
    knobs: dict[str, str]
    passed: bool
    segments: int
    end_ns: int
    notes: list[DrillNote]
    failure: DrillFailure | None

@final
class Table:
    """Columns of equal length. Speaks the Arrow PyCapsule interface."""

    def __len__(self) -> int: ...
    @property
    def digest(self) -> str:
        """Digest of a trace's run. Elsewhere it is empty, and a column has that of each run."""
    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
    @property
    def num_rows(self) -> int:
        """Number of rows."""
    @property
    def last_ns(self) -> int:
        """Of a trace, the instant of the flow's last event, also of one that is not listed."""
    @property
    def is_waiting(self) -> bool:
        """Of a trace, whether the flow is not done: packets are underway, or a video has played."""
    def column(self, name: str) -> list[Any]:
        """A column as a list; None where there is no value.

        Raises `MidflightError` for a name that is not among `column_names`.
        """
    def numpy(self, name: str) -> NDArray[Any]:
        """A column as a NumPy array of one dimension.

        It is of int64, of float64 (nan where there is no value), or of objects for texts.
        """
    def codes(self, name: str) -> tuple[list[str], NDArray[Any]]:
        """A column of texts as its different texts, and a NumPy array with the place of each row's
        text among them (uint8, or uint32 for more than 256 texts).

        It takes less memory than `numpy`. Raises `MidflightError` for another column.
        """
    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas `DataFrame`."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def parse_link(text: str) -> tuple[int, int]:
    """Read "6400 kbit/s, 9 ms" as (bit/s, nanoseconds)."""

def parse_duration(text: str) -> int:
    """Read "500ms" as nanoseconds."""

def parse_instants(text: str) -> list[int]:
    """Read "8.2s", "1s,2s" or "0.1s:20s:0.1s" (end included) as nanoseconds."""

def schemes() -> list[Scheme]:
    """Return every sender configuration by name."""

def policies() -> list[Policy]:
    """Return every policy with its knobs."""

def controllers() -> list[Part]:
    """Return every congestion controller with its knobs."""

def responses() -> list[Part]:
    """Return every response to duplicate ACKs with its knobs."""

def classifiers() -> list[Part]:
    """Return every loss classifier with its knobs."""

def detectors() -> list[Part]:
    """Return every detector of spurious retransmissions with its knobs."""

def signals() -> list[Part]:
    """Return every handoff signal of a mobile node with its knobs."""

def workloads() -> list[Workload]:
    """Return every workload with its knobs and what it measures."""

def agents() -> list[Part]:
    """Return every agent of a node on the path with its knobs."""

def quic_stacks() -> list[dict[str, Any]]:
    """The QUIC stacks of flows: `name`, `version`, as `cc` the names of the congestion controls,
    the usual one first, and as `missing` why it cannot run here, None if it can.
    """

def profiles() -> list[Profile]:
    """Return every profile."""

def settings() -> list[Setting]:
    """Return the settings of sender and receiver that `handoff(knobs=...)` takes."""

def sender_states() -> list[str]:
    """Return the states that a sender can be in."""

def sender_transitions() -> list[tuple[str, str, str]]:
    """Return the ways between the states of a sender: from, trigger, to."""

def run_drill(
    text: str,
    name: str,
    *,
    scheme: str | None = None,
    profile: Literal["ns2", "rfc", "linux"] | str | None = None,
    knobs: Mapping[str, str] | None = None,
    tolerance_ns: int | None = None,
) -> list[Drill]:
    """Run a script in packetdrill's notation, once for each sender that its header names.

    `name` is what messages call the script. What is given here has precedence over what the script
    says; `tolerance_ns` is how early or late a segment may be.
    """

def drill_fields() -> list[tuple[str, str]]:
    """Return the fields of Linux's `tcp_info` that a script may ask for: name and meaning."""

def bdp_packets(of: Link) -> int:
    """Return the bandwidth-delay product of a link by its own round trip, in 1500-byte packets."""

def a1_min_rto_ms(case: int, old: Link, new: Link, flight_size: int) -> float:
    """Return the minimum RTO of A1's case 1, 2 or 3 in milliseconds."""

@final
class HandoffSweep:
    """What to run: a handoff at many instants with many schemes.

    `at_ns` are the instants at which the handoff starts; `gap_ns` the time without a link when
    `kind` is "bbm"; `packets` and each of `extra_packets` the numbers of new packets whose transfer
    is timed; `notice` and `notice_delay_ns` whether the sender gets a notice, and how long after
    the handoff; `wired` each of the two links behind either access link; `knobs` settings by name,
    as `midflight list` shows them; `end_ns` the end of every run, finished or not.

    `flows` bulk flows (1 to 64) with the same scheme move together, and a notice says how many;
    `residents` flows (0 to 64) with `resident_scheme` use the new link from the start of the run on
    and stay there. Flow i of either kind opens at i times `stagger_ns`. A run has one row for each
    flow (`resident` is 1 or 0) and ends when all measurements are complete. With `window_ns`,
    `acked_window` is the number of each flow's packets acknowledged in that time from the handoff
    on. With `start_notice` each moving flow gets a notice of the old link before it opens.
    `policies` are your own policies by their names in schemes.
    """

    def __new__(
        cls,
        *,
        old: Link,
        new: Link,
        kind: Literal["mbb", "bbm"] | str = "mbb",
        at_ns: Sequence[int],
        schemes: Sequence[str],
        profile: Literal["ns2", "rfc", "linux"] | str = "linux",
        gap_ns: int = 500_000_000,
        packets: int = 100,
        extra_packets: Sequence[int] = [],
        notice: bool = True,
        notice_delay_ns: int = 0,
        wired: Link = (100_000_000, 2_000_000),
        knobs: Mapping[str, str] = {},
        end_ns: int = 3_600_000_000_000,
        flows: int = 1,
        stagger_ns: int = 0,
        residents: int = 0,
        resident_scheme: str = "sack",
        window_ns: int | None = None,
        start_notice: bool = False,
        policies: Mapping[str, Callable[[], Any]] | None = None,
    ) -> HandoffSweep: ...
    def setups(self) -> list[Setup]:
        """Return each of its runs: one for each scheme and instant, in that order."""

def run_handoff_sweeps(
    sweeps: Sequence[HandoffSweep],
    *,
    fork: bool = True,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[Table]:
    """Run sweeps together, with common beginnings run once; one table for each.

    With `fork` off each run starts from its beginning, with the same result. `threads` is the
    number of threads, 0 for one on each processor. `progress` is called from time to time with the
    number of finished runs and of all runs. The columns are those of `handoff`.
    """

def handoff(
    *,
    old: Link,
    new: Link,
    kind: Literal["mbb", "bbm"] | str = "mbb",
    at_ns: Sequence[int],
    schemes: Sequence[str],
    profile: Literal["ns2", "rfc", "linux"] | str = "linux",
    gap_ns: int = 500_000_000,
    packets: int = 100,
    extra_packets: Sequence[int] = [],
    notice: bool = True,
    notice_delay_ns: int = 0,
    wired: Link = (100_000_000, 2_000_000),
    knobs: Mapping[str, str] = {},
    fork: bool = True,
    threads: int = 0,
    end_ns: int = 3_600_000_000_000,
    flows: int = 1,
    stagger_ns: int = 0,
    residents: int = 0,
    resident_scheme: str = "sack",
    window_ns: int | None = None,
    start_notice: bool = False,
    policies: Mapping[str, Callable[[], Any]] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Table:
    """Run one sweep: one run for each scheme and handoff instant, one row for each flow of it.

    Rows come in that order. `progress` is called from time to time with the number of finished runs
    and of all runs. The columns, in which times count from the handoff (the break, if there is one)
    unless noted:

    - `scheme`, `th_ns`: the instant of the handoff from t = 0; `flow` (from 0), `resident` (1 or 0)
    - `t_new_ns`: until `packets` segments never sent before are acknowledged, `t_new_extra0_ns` and
      so on for `extra_packets`; `t_new_make_ns`: the same from the highest segment sent at the
      make; `t_ack_ns`: until the ACK has advanced by this many; `t_newpath_ns`: until it covers so
      many that came over the new path first
    - `timeouts`; `nrto`: those that doubled the back-off, `nspur` spurious ones among them,
      `first_rto_ns`; `rto_times`: when they came, in seconds from t = 0, with "s" if spurious
    - `drops_data`: data packets lost, `drops_queue` to a full queue, `drops_break` to the break;
      `drops_all`: ACKs too; `rexmits`; `sent_in_outage`: new segments sent between break and make
    - `reordered`: first transmissions that arrived behind a higher segment; `fast_rexmits`, and
      `false_fast_rexmits`: entries into recovery for a segment of which no copy was lost
    - `loss_wait_max_ns`, `loss_wait_mean_ns`: from a loss to the segment's next transmission;
      `losses_timed_out`: losses detected by the timer
    - `cwnd`, `ssthresh`, `flight` (segments), `rto_ns`, `hiack`, `maxseq`, `dupacks`, `backoff` and
      `phase` of the sender at the handoff; `cwnd_min`, `ssthresh_min` after it
    - `in_rto_recovery_at_make` (1 or 0), and then `unused_ns`: from the make to the next
      retransmission; `orders`: how many policies gave
    - `acked_window`: packets acknowledged in the window, if there is one; `digest` of the run

    A time is None if that did not happen. Raises `MidflightError` for what is not accepted.
    """

@final
class Radio:
    """The last hop while a mobile node is in a network, the same both ways.

    `queue` is the most packets at the link in either direction, the one in transmission included.
    What goes to the mobile node meets `loss`, such as "uniform 0.5%", "burst 0.5% 3" or "gilbert 1s
    0.1% 100ms 10% 50%", and `reorder`, such as "swap 5%" or "linkrtx 5% 100ms". `script` says
    instead what happens to the packets of some numbers, ascending from 1: "lose", or nanoseconds by
    which the packet is late.
    """

    def __new__(
        cls,
        link: Link,
        *,
        queue: int = 50,
        loss: str | None = None,
        reorder: str | None = None,
        script: Sequence[tuple[int, int | Literal["lose"] | str]] = [],
    ) -> Radio: ...

@final
class LongFlow:
    """A long-lived flow to a mobile node: one run for each number in `runs`.

    `marks_ns` are the ends of the intervals that are measured apart, ascending; the last one ends
    the run. At `at_ns` the radio link pauses for `pause_ns` and resumes as `then`; unless `notice`
    is off the sender gets a notice `notice_delay_ns` after that. `wired` is the link before the
    radio link, `wired_queue` the most packets at it; `cross_flows` TCP flows use it too, from a
    host that is `cross_delay_ns` away, in each run by up to `cross_spread_ns` more or less.
    `overhead_ns` is the longest random time that a host takes over a packet it sends. With one
    `seed` all schemes have the same radio. `policies` are your own policies by their names in
    schemes.
    """

    def __new__(
        cls,
        *,
        radio: Radio,
        scheme: str,
        marks_ns: Sequence[int],
        then: Radio | None = None,
        at_ns: int | None = None,
        pause_ns: int = 0,
        wired: Link = (20_000_000, 1_000_000),
        wired_queue: int = 30,
        cross_flows: int = 0,
        cross_delay_ns: int = 13_000_000,
        cross_spread_ns: int = 0,
        overhead_ns: int = 0,
        notice: bool = True,
        notice_delay_ns: int = 0,
        profile: Literal["ns2", "rfc", "linux"] | str = "linux",
        knobs: Mapping[str, str] = {},
        seed: int = 1,
        runs: Sequence[int] = [0],
        policies: Mapping[str, Callable[[], Any]] | None = None,
    ) -> LongFlow: ...
    def setup(self, run: int = 0) -> Setup:
        """Return the run of a number."""

class Probe:
    """A path with one bottleneck, cross traffic on it, and a flow that measures it.

    The flow sends `segments` segments under `scheme` ("abest", "wbest", "probe-gap", or "probe-
    train" for a single train) over `bottleneck`, its access link, of which it gets a notice at
    its start for `notice_flows` flows. `queue` is the limit of the bottleneck in packets, including
    the one in transmission. The links of the hosts have the rate `access`. Cross traffic uses
    `share` of the bottleneck, evenly, or with random gaps if it is `irregular`. Each of the
    `runs` begins at another phase of it. The bottleneck marks packets of ECN senders that have
    waited longer than `mark_after`.
    """

    def __new__(
        cls,
        *,
        bottleneck: Link,
        scheme: str,
        queue: int = 1000,
        access: str = "10 Gbit/s",
        share: float = 0.0,
        irregular: bool = False,
        notice_flows: int = 1,
        segments: int = 100,
        profile: Literal["ns2", "rfc", "linux"] | str = "linux",
        knobs: Mapping[str, str] = {},
        seed: int = 1,
        runs: Sequence[int] = [0],
        mark_after: str | None = None,
    ) -> Probe: ...
    def setup(self, run: int = 0) -> Setup:
        """Return the run of a number."""

def run_probes(
    probes: Sequence[Probe],
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[Table]:
    """Run probes; one table for each, with one row for each train of each run.

    `threads` and `progress` are as for `run_handoff_sweeps`. The columns:

    - `run`, `train` (its number), `segments` of it
    - `measure`: "capacity" for packet pairs, "available" for a chirp
    - `sent_ns`, `reported_ns`: when its first segment left and when its report came, both since the
      SYN
    - `estimate_bps`: the reported rate; None if a segment was missing or no report came
    - `low_bps`, `high_bps`: the rates of its first and last gap, 0 for none
    - `capacity_bps`, `available_bps`: the true rate of the bottleneck and the part left by cross
      traffic; `cross_bps`: the rate of the cross traffic while the flow lasted
    - `ssthresh` at the end, in segments; `drops`: data packets of the flow that were lost;
      `duration_ns` to the last ACK, None for a flow that did not end; `digest` of the run
    """

def run_long_flows(
    flows: Sequence[LongFlow],
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[Table]:
    """Run long-lived flows; one table for each, with one row for each run and interval.

    `threads` and `progress` are as for `run_handoff_sweeps`. The columns:

    - `run`, `interval` (from 0), `from_ns`, `until_ns`
    - `acked`: data segments newly acknowledged; `sent`: segments sent, `rexmits` of them again
    - `timeouts`; `spurious_timeouts`: those that something sent before answers;
      `detected_timeouts`: those that the sender found spurious
    - `fast_rexmits`; `false_fast_rexmits`: those of a segment whose last copy was not lost;
      `undone_fast_rexmits`: those that the sender found spurious
    - `drops_queue`, `drops_radio`: data packets lost to a full queue and to the radio;
      `drops_wired` those of the first that the wired link's queue dropped
    - `reordered`: first transmissions that arrived behind a higher segment
    - `congestion_as_congestion`, `congestion_as_wireless`, `congestion_as_reordering`,
      `congestion_unanswered`, the same with `wireless_` and with `reordering_`: suspected losses by
      true cause and by the sender's classification; unanswered: a timeout came before
    - `wired_offered`, `wired_dropped`: packets of all flows handed to the wired link, and those
      that its queue dropped
    - `digest` of the run
    """

@final
class Roaming:
    """A mobile node that changes its base station: one run for each number in `runs`.

    The sender is behind `backbone`, each base station behind a router and `access`, the nodes
    behind `wireless`; `queue` is the most packets at any of these links in either direction. Every
    `every_ns` (None: never) the mobile node leaves its station for another, drawn uniformly:
    packets that still arrive for it there are lost. `gap_ns` later it is in range of the new one,
    whose advertisement it gets within `advertisement_ns`, drawn uniformly: then it can send,
    signals as its scheme says, and registers with its agent at the sender, which sends later
    packets to the new station. `residents` is the number of nodes that stay at each station; each
    has a plain flow with the same `knobs`.

    `loss` applies to packets to the nodes of a station, `up_loss` to packets from them, such as
    "uniform 1%" or "burst 0.5% 3"; `script` and `up_script` give the fate of the packets of some
    numbers at the first station instead: "lose", or nanoseconds by which one is late.

    The other arguments add faults to a scheme: `foresight_error_ns` is added to the instant of a
    warning (below zero it comes earlier), a share `foresight_missed` of handoffs is not predicted;
    a share `signal_lost` of signals is lost, of the others `signal_copies` of each packet arrive,
    and they are sent `signal_delay_ns` after the registration. Every `forged_every_ns` the sender
    gets an ACK with a handoff mark that nobody sent, if `forged` says which ACK number it has:
    "old" (below SND.UNA), "current" (SND.UNA) or "unsent" (beyond SND.MAX). `policies` are your own
    by the names that schemes may have.
    """

    def __new__(
        cls,
        *,
        scheme: str,
        end_ns: int,
        every_ns: int | None = 5_000_000_000,
        stations: int = 2,
        residents: Sequence[int] = [],
        loss: str | None = None,
        up_loss: str | None = None,
        script: Sequence[tuple[int, int | Literal["lose"] | str]] = [],
        up_script: Sequence[tuple[int, int | Literal["lose"] | str]] = [],
        backbone: Link = (100_000_000, 50_000_000),
        access: Link = (10_000_000, 3_000_000),
        wireless: Link = (2_000_000, 5_000_000),
        queue: int = 50,
        advertisement_ns: int = 100_000_000,
        gap_ns: int = 0,
        foresight_error_ns: int = 0,
        foresight_missed: float = 0.0,
        signal_lost: float = 0.0,
        signal_copies: int = 1,
        signal_delay_ns: int = 0,
        forged: Literal["old", "current", "unsent"] | str | None = None,
        forged_every_ns: int = 1_000_000_000,
        profile: Literal["ns2", "rfc", "linux"] | str = "linux",
        knobs: Mapping[str, str] = {},
        seed: int = 1,
        runs: Sequence[int] = [0],
        policies: Mapping[str, Callable[[], Any]] | None = None,
    ) -> Roaming: ...
    def setup(self, run: int = 0) -> Setup:
        """Return the run of a number."""

def run_roaming(
    nodes: Sequence[Roaming],
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[Table]:
    """Run mobile nodes; one table for each, with one row for each run, interval and node.

    Intervals end when the mobile node leaves a station, and at the end of the run. `threads` and
    `progress` are as for `run_handoff_sweeps`. The columns:

    - `run`, `interval` (from 0), `node` (0 is the mobile one, then the residents in the order of
      their stations), `station` of the node (from 0), `from_ns`, `until_ns`
    - `acked`: data segments newly acknowledged; `sent`: segments sent, `rexmits` of them again
    - `timeouts`; `spurious_timeouts`: those that something sent before answers; `fast_rexmits`:
      entries into recovery
    - `drops_queue`, `drops_radio`, `drops_break`: data packets lost to a full queue, to the radio,
      and because the node had left
    - `digest` of the run
    """

@final
class Startup:
    """The start of connections over one access link: one run for each scheme.

    `flows` bulk flows (1 to 64) open at time zero. If there are `residents` (0 to 64, with
    `resident_scheme`), these open at time zero and the flows `lead_ns` later, over the same link.
    Flow i of either kind opens i times `stagger_ns` after the first of its kind, and gets a notice
    of the link right before that, with the number of flows of its kind. `packets` are the numbers
    of data packets whose transfer is timed, ascending. With `window_ns`, `acked_window` is the
    number of each flow's packets acknowledged in that time from the first of the `flows` on.
    `wired`, `profile`, `knobs`, `end_ns` and `policies` are as for `HandoffSweep`.
    """

    def __new__(
        cls,
        *,
        link: Link,
        schemes: Sequence[str],
        flows: int = 1,
        stagger_ns: int = 0,
        residents: int = 0,
        resident_scheme: str = "sack",
        lead_ns: int = 0,
        packets: Sequence[int] = [10, 100, 200, 300, 400],
        window_ns: int | None = None,
        profile: Literal["ns2", "rfc", "linux"] | str = "linux",
        wired: Link = (100_000_000, 2_000_000),
        knobs: Mapping[str, str] = {},
        end_ns: int = 3_600_000_000_000,
        policies: Mapping[str, Callable[[], Any]] | None = None,
    ) -> Startup: ...
    def setup(self, place: int = 0) -> Setup:
        """Return the run of the scheme at a place in the list."""

def run_startups(
    startups: Sequence[Startup],
    *,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[Table]:
    """Run start-ups; one table for each, with one row for each scheme and flow.

    `threads` and `progress` are as for `run_handoff_sweeps`. The columns:

    - `scheme` of the run, `flow` (from 0, then the residents), `resident` (1 or 0), `opened_ns`
    - `t_10_ns` and so on: from the flow's SYN until the ACK that covers 10 data packets
    - `drops_data`: data packets lost, all to a full queue; `rexmits`; `timeouts`: counted from the
      flow's SYN until the last of `packets` is acknowledged and the window over; of a resident,
      from the SYN of the first of the others to the end of the run
    - `acked_window`: data packets newly acknowledged in the window
    - `digest` of the run
    """

@final
@type_check_only
class SenderThen(TypedDict):
    """A sender at some instant."""

    snd_una: int
    snd_nxt: int
    snd_max: int
    flight_size: int
    cwnd: float
    ssthresh: float
    rto_ns: int
    min_rto_ns: int
    backoff: int
    srtt_ns: int | None
    rttvar_ns: int | None
    dupacks: int
    dup_threshold: int
    in_fast_recovery: bool
    in_rto_recovery: bool
    window_closed: bool
    state: str

@type_check_only
class StallTold(TypedDict):
    """The longest time of a flow without progress."""

    from_ns: int
    until_ns: int
    digest: str

@type_check_only
class DivergenceFields(TypedDict):
    """Where two runs of a flow part."""

    at_ns: int
    events: list[tuple[int, int] | None]
    last: int | None
    orders: list[list[tuple[int, int, str, str | None, OrderFields | None]]]

@type_check_only
class FlowInfo(TypedDict):
    """What a reader of results needs to know of a flow."""

    name: str
    scheme: str
    direction: str
    moves: bool
    payload_bytes: int
    stack: str
    #: The application at its ends, if it has one.
    workload: str | None

@type_check_only
class AccessLink(TypedDict):
    """An access link: its name, and its links towards the mobile node and from it."""

    name: str
    down: int
    up: int

@type_check_only
class PathChange(TypedDict):
    """A handoff, or a change of the link that the mobile node is on."""

    kind: str
    from_link: str
    to_link: str
    at_ns: int
    make_ns: int
    breaks: bool
    notified_ns: int | None
    misstated: bool

class Setup:
    """One run, complete: a network, its flows, and everything that happens to them from outside.

    `Setup.handoff`, `Setup.flow`, `Setup.roam`, `Setup.startup`, `Setup.probe` and `Plan.setup`
    make one. The run ends where it ends when it is measured, with the same digest.
    """

    @staticmethod
    def handoff(*, scheme: str, at_ns: int | None = None, **keywords: Any) -> Setup:
        """Return a handoff with one scheme, at `at_ns`, or at no time if that is None.

        The other keywords are those of `HandoffSweep`. The flows are called "flow-0" and so on, and
        "resident-0".
        """
    @staticmethod
    def flow(*, run: int = 0, **keywords: Any) -> Setup:
        """Return a run of a long-lived flow.

        The keywords but `run` are those of `LongFlow`. The flows are called "flow", and "cross-1"
        and so on.
        """
    @staticmethod
    def roam(*, run: int = 0, **keywords: Any) -> Setup:
        """Return a run of a mobile node that moves from station to station.

        The keywords but `run` are those of `Roaming`. The flows are called "mobile", and
        "resident-1" and so on.
        """
    @staticmethod
    def startup(*, scheme: str, **keywords: Any) -> Setup:
        """Return the start of connections with one scheme.

        The other keywords are those of `Startup`. The flows are called "flow-0" and so on, and
        "resident-0".
        """
    @staticmethod
    def probe(*, run: int = 0, **keywords: Any) -> Setup:
        """Return a run of a flow that measures its path by trains.

        The keywords but `run` are those of `Probe`. The flows are called "flow", and "cross-1"
        and so on.
        """
    def lab_script(
        self,
        *,
        congestion: Sequence[str] = [],
        sysctls: Sequence[tuple[str, str]] = [],
        stack: str = "linux",
        multihomed: bool = False,
        sample_ns: int = 0,
    ) -> str:
        """Return the run as the script of a guest of the lab, for `midflight.lab.guest`.

        `congestion` are the kernel's congestion controls: one for all flows, or one for each; none
        where flows have the stack "linux", for their own schemes. `sysctls` are names and values of
        settings of the kernel at both ends of each flow. `stack` selects the senders of the flows:
        "linux" or "midflight". With `multihomed` there is another node with an interface on each
        link. `sample_ns` is the interval at which the state (TCP_INFO) of the kernel's senders is
        sampled, 0 for never. A flow of n segments sends n full segments of the kernel's. Raises
        `MidflightError` for what the lab cannot run.
        """
    def lab_tables(
        self,
        record: bytes,
        *,
        scheme: str | None = None,
        cell: int = 0,
        turns: Mapping[int, bytes] = {},
    ) -> tuple[Table, Table]:
        """Return what was measured of this run as a kernel made it: flows and phases.

        `record` is the guest's record of packets, `scheme` what the tables have as scheme, that of
        each flow if it is None. The columns are those of `run_plans`; values that the kernel does
        not report are derived from the packets. `turns` has the turns of the flows whose sender is
        midflight's, by the flows' numbers. Raises `MidflightError` for a record that is not one of
        this run.
        """
    def lab_trace(
        self,
        record: bytes,
        *,
        flow: str | None = None,
        turns: Mapping[int, bytes] = {},
        only: Sequence[str] = (),
    ) -> Table:
        """Return every event of a flow of this run as a kernel made it.

        The columns are those of `trace`. The events of the kernel's sender have the state that it
        reported with each packet. `turns` is as for `lab_tables`, `only` as for `trace`.
        """
    def lab_send(self, flow: int, origin_ns: int) -> None:
        """Run the sender of the flow of this number in a guest, until it is done or the run over.

        The standard input is a packet socket; the script begins at `origin_ns` of the monotonic
        clock. The sender's turns go to the standard output. Raises `MidflightError` for a flow that
        midflight cannot send, OSError for a device that fails.
        """
    def lab_emulate(self, devices: Sequence[tuple[int, int]], stop: int, origin_ns: int) -> bytes:
        """Carry packets between devices of this machine over the links of this run, in real time.

        `devices` are numbers of nodes and of files that are open TUN devices; the run begins at
        `origin_ns` of the monotonic clock, and is over at its end or when there is something to
        read from the file `stop`. Returns the record of packets. Raises `MidflightError` for a
        run whose links cannot be emulated, OSError for a device that fails.
        """
    def lab_payloads(self, record: bytes) -> list[int]:
        """Return the bytes of data in a full segment of each flow as a kernel sent it.

        They are 0 of a flow that sent none.
        """
    def lab_events(
        self,
        record: bytes,
        *,
        flow: str | None = None,
        turns: Mapping[int, bytes] = {},
        at_ns: int | None = None,
        before: int = 0,
        after: int = 0,
        name: str | None = None,
        find: str | None = None,
    ) -> Events:
        """Return events of a flow of this run as a kernel made it, as `events` does.

        For the kernel's own senders there are no causes, orders and states at an instant, which
        only a simulated run has. `turns` is as for `lab_tables`, the rest as for `events`.
        """
    def lab_stall(
        self, record: bytes, *, flow: str | None = None, turns: Mapping[int, bytes] = {}
    ) -> dict[str, Any] | None:
        """Return the longest time without progress of a flow of this run as a kernel made it.

        It is as `stall` has it. `turns` is as for `lab_tables`.
        """
    def lab_serve(self, file: int, *, multihomed: bool = False) -> bytes:
        """Have the links of this run for a guest, whose driver is at the other end of a socket.

        `file` is the number of that socket, which stays open; `multihomed` is as for
        `lab_script`. Returns the record of packets when the guest has ended. Raises
        `MidflightError` for a run whose links cannot be emulated, OSError for a socket that fails.
        """
    def lab_links(self, record: bytes, *, multihomed: bool = False) -> dict[str, Any]:
        """Send the packets of this run as a kernel made it over its links again.

        Each packet that a device sent is sent at the same instant. `multihomed` is as for
        `lab_script`. `packets` is how many there are; `same` how many of them were delivered, or
        lost at the same link for the same cause, at the same instant; `lost` how many of these were
        lost; `most_late_ns` how much later than the links say a packet was given to its device at
        most; `differences` the first ten that are not the same, a sentence each. Raises
        `MidflightError` for a record that is not one of this run.
        """
    def lab_capture(
        self, record: bytes, *, flow: str | None = None, about: str = "Linux"
    ) -> dict[str, bytes]:
        """Return the packets of a flow of this run as a kernel made it, at sender and receiver.

        They are pcapng files with the kernel's headers and without data, by "sender" and
        "receiver".
        """
    @property
    def address(self) -> str:
        """A hash of the setup and of the model's version: equal addresses have equal runs."""
    @property
    def run(self) -> int | None:
        """Its number, where there are several."""
    @property
    def access_links(self) -> list[AccessLink]:
        """The links that are shared at the base stations, each with its `name`, and the numbers of
        its `down` and `up` link in the table of links of `samples`.
        """
    @property
    def end_ns(self) -> int:
        """When the run ends at the latest."""
    @property
    def has_end(self) -> bool:
        """Whether it runs to its end even if the measurement is complete before."""
    @property
    def places(self) -> list[str]:
        """The places of captures, in addition to "sender" and "receiver"."""
    @property
    def flows(self) -> list[FlowInfo]:
        """The flows, each with its name, scheme and direction, whether it is the mobile node's, and
        the bytes of data in a full segment.
        """
    @property
    def path_changes(self) -> list[PathChange]:
        """The handoffs, and the changes of the link that the mobile node is on."""
    @property
    def outages(self) -> list[tuple[int, int]]:
        """From when to when, in nanoseconds, the recording that the link in use follows has a
        downward rate of zero. For a Mahimahi file these are the times without an opportunity of at
        least 0.2 s and ten times the mean distance of two.
        """
    @property
    def link_outages(self) -> list[tuple[int, int, str, bool]]:
        """The same with the name of the link, and whether packets are lost then; otherwise they
        wait.
        """
    @property
    def recorded_rates(self) -> dict[int, tuple[list[int], list[float]]]:
        """The rates of the links that follow a recording in steps: by the number of the link (as in
        `access_links`) the instants in nanoseconds from which it has which rate in bit/s. Those of
        delivery opportunities are means of at most 20,000 equal times.
        """
    def trace(
        self,
        *,
        flow: str | None = None,
        from_ns: int = 0,
        until_ns: int | None = None,
        only: Sequence[str] = [],
    ) -> Table:
        """Return every event of a flow of the run.

        The columns are `time_ns`, `event`, `value`, `detail`, and what is empty for other events:
        `by` is who changed a window ("handshake", "controller", "recovery", "timeout", "idle",
        "path" or the part whose order it was), or who gave an order; `link` is where a segment
        arrived or a packet was lost, `packet` what was lost (data, ack or datagram), `cause` why
        (queue, break, radio or node); `order` and `reason` are those of an order; `sent_ns` is
        when this copy of a segment was sent, or of an ACK the segment that caused it, and `bytes`
        the size of a packet on the wire.

        `flow` is its name; the first flow if it is None. `from_ns` and `only` leave out what
        happens before, and all but the events of these names. The run ends at `until_ns`, if that
        is before its own end.
        """
    def _repr_html_(self) -> str:
        """Return what a notebook shows: the flows, and throughput and queue over time."""
    def samples(
        self, *, every_ns: int | None = None, from_ns: int = 0, until_ns: int | None = None
    ) -> tuple[Table, Table]:
        """Return the links and the senders of the run at equal intervals: two tables.

        The links' columns are `time_ns`, `link`, `number` (of the link; names may be alike),
        `packets` (those that wait and the one in transmission), `least`, `most` and `mean` (packets
        since the sample before; the mean is of eight observations), `bytes`, `rate_bps`, `delay_ns`
        (one way), and `up` (0 while the link is down or paused). The senders' are `time_ns`,
        `flow`, `cwnd`, `ssthresh` (inf if a kernel has set none), `pipe` (the sender's estimate of
        the segments in the network), `flight` (sent and not acknowledged), `srtt_ns` and `rto_ns`;
        windows are segments. A flow that has sent nothing has no rows.

        Without `every_ns` there are 4,096 to 8,192 samples, of less than half a second fewer. The
        first one is at `from_ns`, and the run ends at `until_ns`, if that is before its own end.
        Raises `MidflightError` for an interval below 8 ns, or for more than 20 million rows.
        """
    def backlogs(
        self, *, every_ns: int | None = None, from_ns: int = 0, until_ns: int | None = None
    ) -> Table:
        """Return the packets of each flow that wait at links with a queue for each flow, at
        the instants of `samples`.

        The columns are `time_ns`, `link`, `number` (of the link), `flow` (empty for cross
        traffic) and `packets`, without the one in transmission. At each instant
        all flows up to the highest number that has had packets at the link have rows, with 0
        if none wait. Links without such queues have no rows (fq-codel has them).
        """
    def lab_samples(
        self,
        record: bytes,
        *,
        every_ns: int | None = None,
        from_ns: int = 0,
        until_ns: int | None = None,
    ) -> tuple[Table, Table]:
        """Return the links and the senders of this run as a kernel made it, as `samples` does.

        The links are the simulator's, over which the packets are replayed; a kernel's sender has a
        row for each packet that it sent, one of midflight's has none.
        """
    def lab_backlogs(
        self,
        record: bytes,
        *,
        every_ns: int | None = None,
        from_ns: int = 0,
        until_ns: int | None = None,
    ) -> Table:
        """Return the packets of each flow at links, as `backlogs` does, of a run by a kernel."""
    def causes(self, *, flow: str | None = None) -> Table:
        """Return every event of a flow of the run with its cause.

        Beside the columns of `trace`: `segment`, which caused an ACK; `sent_ns`, when this copy of
        a segment was sent, or the segment that caused the ACK; `since_ns`, when an ACK left the
        receiver or a deadline was set; `sack`, the blocks of an ACK as "first-last first-last".
        Events beside those of `trace`: "ack_sent" at the receiver, with "delayed" or "signal" if no
        arrival sent it at once; "wake", when a deadline of the sender comes, with whose it is;
        "dupacks", as the sender counts them; "srtt".
        """
    def events(
        self,
        *,
        flow: str | None = None,
        at_ns: int | None = None,
        before: int = 0,
        after: int = 0,
        name: str | None = None,
        find: str | None = None,
        to_end: bool = True,
    ) -> Events:
        """Return events of a flow of the run with their causes, for `midflight.explain`.

        With `at_ns` they are the last `before` events up to that instant and the first `after`
        later ones; with `name` all of that name; else all. `find` is the name of an event: the last
        one up to `at_ns` is looked for. Without `to_end` the run ends when the events are there,
        and there is no digest.
        """
    def stall(self, *, flow: str | None = None) -> StallTold | None:
        """Return the longest time without progress of a flow of the run: `from_ns`, `until_ns` and
        the `digest` of the run; None if the flow sent nothing.
        """
    def compare(
        self, other: Setup, flows: Sequence[str]
    ) -> tuple[list[str], list[tuple[int, DivergenceFields | None]]]:
        """Compare the run with another, flow by flow.

        Returns both digests, and for each flow how many events are the same and where the runs part
        (None if they do not): `at_ns`; `events`, the number and the instant of the first event of
        each that the other has not; `last`, the number of the last event before in this run;
        `orders` of each up to then that the other was not given, as rows.
        """
    def sender(self, at_ns: int, *, flow: str | None = None) -> SenderThen:
        """Return the sender of a flow of the run as it is after everything before `at_ns`.

        Windows are in segments, times in nanoseconds.
        """
    def stack_log(self, *, flow: str | None = None) -> bytes | None:
        """Return the qlog that a flow's QUIC stack writes at the end that sends the data.

        None for a flow without one. It is text in the stack's own version of the format (of quinn
        qlog 0.3, JSON text sequences), with times from the start of the run. `flow` is as for
        `trace`.
        """
    def capture(
        self, *, flow: str | None = None, until_ns: int | None = None, snaplen: int = 128
    ) -> dict[str, bytes]:
        """Return the packets of the run: pcapng files by the place of the capture.

        The places are "sender" and "receiver" of the flow, and the places of the network: the base
        station of each access link by the link's name ("bs1" and "bs2" of a handoff, "station0" and
        so on of a roaming node), "radio" or "bottleneck". Of each packet there are the first
        `snaplen` bytes; 0 keeps all, the payload of zeros included. Orders, timeouts, losses, break
        and make are comments of packets. A handoff mark is a TCP option for experiments (kind 253,
        RFC 6994) with identifier 0x4d46, the mark's number (2 bytes) and when it was sent in ms (4
        bytes). The capture ends at `until_ns`, if that is before the end of the run.
        """

class Document:
    """The parsed text of a scenario in JSON. Plans of it differ in the values that are set: a sweep
    parses its scenario once, not once for each cell.
    """

    def __new__(cls, text: str) -> Document: ...
    def paths(self, path: str) -> list[str]:
        """Return the paths that a path stands for: `*` in it is each entry of a table or list."""
    def plan(
        self,
        sets: Sequence[tuple[str, str]],
        policies: Mapping[str, Callable[[], Any]] | None = None,
    ) -> Plan:
        """Return the plan with these values set, as `Plan` with a text in JSON does."""

class Plan:
    """A scenario that can be run: read, checked, and with all defaults.

    `text` is TOML; errors name `name` and the line. With `name` None it is JSON. `sets` are values
    by their paths, such as ("links.lte.rate", "5 Mbit/s"), which override those of the text. Paths
    of traces are relative to the folder of `name`, for JSON to the working directory. `policies`
    are your own policies by their names in schemes. Raises `MidflightError` for what is not
    accepted, here and where a policy fails.
    """

    def __new__(
        cls,
        text: str,
        *,
        name: str | None = "scenario",
        sets: Sequence[tuple[str, str]] = [],
        policies: Mapping[str, Callable[[], Any]] | None = None,
    ) -> Plan: ...
    @property
    def canonical(self) -> str:
        """The scenario as JSON with every default, which `Plan` takes again."""
    @property
    def address(self) -> str:
        """The key of stored results: a hash of the canonical form and of the model's version."""
    def recordings(self) -> dict[str, tuple[Recording, Recording | None]]:
        """Return the recordings that links follow, by the links' names: each as in
        `read_recording`, from when the run begins, and that of the uplink, or None if it has no
        file of its own. Raises `MidflightError` if a file cannot be read any more.
        """
    @property
    def rows(self) -> int:
        """The most rows of results that its runs give: for each run one for each flow and one for
        each of its phases.
        """
    def setup(self, run: int = 0) -> Setup:
        """Return one of its runs."""
    @property
    def flows(self) -> list[FlowInfo]:
        """The flows, each with its name, scheme and direction, whether it is the mobile node's, and
        the bytes of data in a full segment.
        """
    @property
    def stack(self) -> str:
        """What the first flow runs: "midflight", "linux" (a kernel's TCP) or a QUIC stack."""
    @property
    def remarks(self) -> list[str]:
        """Remarks on values that are accepted but perhaps not intended, a sentence each."""
    @property
    def has_chance(self) -> bool:
        """Whether something is random, so that runs differ."""
    @property
    def path_changes(self) -> list[PathChange]:
        """The handoffs, and the changes of the link that the mobile node is on."""

@final
class Events:
    """Events of a flow of a run with their causes."""

    def __len__(self) -> int:
        """How many events there are."""
    @property
    def first(self) -> int:
        """Number of the first one."""
    def rows(self) -> list[EventFields]:
        """Return all events, each as its number, `time_ns`, `event`, `value`, `detail`, what else
        `Setup.causes` has of it (`segment`, `sent_ns`, `since_ns`, `sack`), `by`, of an order its
        name, what it says and why it was given, and the link, with what was lost and the cause.
        """
    def row(self, number: int) -> EventFields:
        """Return the event of a number. Raises `IndexError` for one that is not there."""
    def head(self, number: int) -> int | None:
        """Return the number of the event that reached the sender and led to this one."""
    def sender_before(self, number: int) -> SenderFields:
        """Return the sender before an event: `cwnd`, `ssthresh`, `rto`, `min_rto`, `backoff`,
        `una`, `max`, `duplicates`, `closed`, and the numbers of the fast retransmit and of the
        timeout from which it has not recovered.
        """
    def until(self, time_ns: int) -> tuple[int, int]:
        """Return how many of the events are before an instant, and how many up to it."""
    def sent(self, segment: int) -> list[int]:
        """Return the numbers of the transmissions of a segment."""
    def of_data(self, event: str, segment: int, sent_ns: int) -> int | None:
        """Return the number of the first event of a segment that was sent then: "rcv" or "data
        drop".
        """
    def of_ack(
        self, event: str, segment: int | None, since_ns: int | None, value: float
    ) -> int | None:
        """Return the number of the first event of an ACK that left then: "ack_sent", "ack" or "ack
        drop". `segment` is what caused it, `value` its number.
        """
    @property
    def digest(self) -> str | None:
        """The digest of the run; None if it was not played to its end."""
    @property
    def ended_ns(self) -> int | None:
        """When the run was over; None if it was not played to its end."""
    @property
    def is_complete(self) -> bool:
        """There is no later event."""
    @property
    def opened_ns(self) -> int | None:
        """When the first segment was sent, if that is known."""
    @property
    def marks(self) -> list[tuple[int, int, str]]:
        """Number, instant and name of each "break" and "make" so far."""
    @property
    def found(self) -> tuple[int, int] | None:
        """Number and instant of the event that was looked for, if there is one."""
    def sender(self, at_ns: int) -> SenderThen:
        """Return the sender as `Setup.sender` does; soon, if `at_ns` is near the events."""

def run_plans(
    plans: Sequence[Plan],
    *,
    fork: bool = True,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
    runs: tuple[int, int] | None = None,
) -> tuple[Table, Table]:
    """Run scenarios in parallel; a table of flows and a table of phases.

    Scenarios that are equal up to the first handoff or change share that part of the run, unless
    `fork` is off; the result is the same. `threads` and `progress` are as for `run_handoff_sweeps`.
    With `runs`, (first, end), only the runs from `first` up to `end`, which is left out, are made.
    More than 4,000,000 rows in all are refused.

    The columns of both: `cell`, the place of the scenario in the list; `run`, its number; `flow`,
    the flow's name; `acked`, data segments newly acknowledged (without the SYN); `sent`; `rexmits`;
    `timeouts` and the `spurious_timeouts` among them, in which a transmission before the timeout
    caused the ACK of the segment; `fast_rexmits` and the `false_fast_rexmits` among them, of
    segments whose last copy was not lost; data packets lost to a full queue, to a link that was
    down and to the radio, `drops_queue`, `drops_break` and `drops_radio`; `drops_early` and
    `marks`, those that the discipline of a queue dropped before it was full, and marked instead;
    `node_sent`, segments that nodes on the path sent by themselves, and `node_kept`, segments and
    ACKs that they kept back; `reordered`, segments that arrived behind a higher one.

    The table of flows also has: `entry`, the entry of the scenario that it belongs to; `scheme`;
    `direction` ("down", "up"); `moves`, 1 for the mobile node's; `opened_ns`; `finished_ns`, when
    all it had to send was acknowledged; `duration_ns` from one to the other; `goodput_bps`, bits of
    data acknowledged per second until then or the end of the run; `stall_ns` and `stalled_at_ns`,
    the longest time without an ACK of new data and when it began, of a flow with a workload only
    while messages are under way; where nodes on the path have agents, `delivered_ns` from the
    opening until all data had arrived (a flow has not finished before), and `acked_ahead`, most
    segments that were acknowledged to the sender and not by the receiver, with `acked_missing`,
    those at the end of the run; `digest` of the run. Where a flow has a workload, `workload`, its
    name, and what workloads measure (`midflight list workloads --json` has the columns), in the row
    of the first flow of each; no value elsewhere.

    The table of phases, each of which lasts from one handoff or change to the next, also has:
    `phase`, from 0; `kind`, the event at its beginning (start, handoff, or change of the mobile
    node's link); `link`, the link of the flow; `from_ns`; `until_ns`; `first_new_ns`
    and `all_new_ns`, from the start of the phase until the first segment that was never sent
    before the new link was in use is acknowledged, and until as many are as the scenario's
    `packets` says.
    """

def scenario_schema() -> str:
    """Return the JSON Schema of a scenario file, as JSON."""

@type_check_only
class Preset(TypedDict):
    """A well-known access link."""

    name: str
    summary: str
    source: str
    down_bps: int
    up_bps: int
    delay_ns: int
    queue: str
    up_queue: str

def in_column_unit(text: str) -> tuple[str, float] | None:
    """Return a value of a scenario as the unit and the number that a column of numbers has.

    Units are the ends of columns' names: `ns`, `bps`, `bytes`, `packets` and `percent`. None for
    text that is not a single quantity with a unit.
    """

def link_presets() -> list[Preset]:
    """Return the well-known links that scenarios may name."""

@type_check_only
class Discipline(TypedDict):
    """A discipline of queues."""

    name: str
    summary: str
    source: str

@type_check_only
class RecordedWay(TypedDict):
    """One direction of a recording, an entry of `read_recording`."""

    rate_bps: tuple[list[int], list[float]]
    delay_s: tuple[list[int], list[float]]
    loss: tuple[list[int], list[float]]
    opportunities_ns: list[int]

@type_check_only
class Recording(TypedDict):
    """A recording of a path; see `read_recording`."""

    format: str
    span_ns: int
    down: RecordedWay
    up: RecordedWay
    handovers: list[tuple[int, str]]
    outages: list[tuple[int, int]]
    holes: list[tuple[int, int]]
    short_holes: list[tuple[int, int, int]]
    drops: bool
    repeats: bool
    interpolation: str
    opportunity_bytes: float
    remarks: list[str]

def read_recording(
    file: str,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    dates: str | None = None,
    delay: str | None = None,
    part: Mapping[str, str] | None = None,
) -> Recording:
    """Read a recording of a path, as a link's `trace` in a scenario does.

    `format` is one of `csv`, `mahimahi`, `leo-em`, `leocc-delay`, `g-net-track` and `pensieve`, by
    default what the first lines look like; `columns`, `dates` and `delay` are those of `trace` in a
    scenario. The result has `format`, `span_ns`, `down` and `up`, `handovers` as pairs of an
    instant in nanoseconds and what changed, `outages` and `holes` (times without rows) as pairs of
    instants, `short_holes` as such a pair and the number of rows that are missing between, `drops`,
    whether outages lose packets, `repeats`, whether it starts again at its end, `interpolation`,
    "step" or "linear", and `remarks`. A direction has `rate_bps`, `delay_s` and `loss`, each a pair
    of lists, of instants in nanoseconds and of values from then on, and `opportunities_ns`,
    instants at which `opportunity_bytes` may be sent. `part` has the options `from`, `until`,
    `offset`, `repeat`, `scale`, `interpolation`, `outage` and `holes` of `trace` in a scenario as
    texts: the result is then what a link follows from its beginning on. Raises `MidflightError` for
    what cannot be read.
    """

def draw_recording(
    model: str,
    *,
    seed: int = 1,
    length: str = "600 s",
    set: Mapping[str, str] | None = None,
    part: Mapping[str, str] | None = None,
) -> Recording:
    """Generate a trace from a model, as a link's `trace` in a scenario does.

    `length` is a text such as "600 s", `set` has texts by the names of the model's knobs
    (`path_models`). `part` and the result are those of `read_recording`. Raises `MidflightError`
    for what is not accepted.
    """

def path_models() -> list[Part]:
    """Return the models that generate traces, with their knobs."""

def queue_disciplines() -> list[Discipline]:
    """Return the disciplines of queues."""

@final
class SenderView:
    """The state of a sender as a policy sees it; windows in segments, times in nanoseconds."""

    @property
    def now_ns(self) -> int:
        """The present."""
    @property
    def snd_una(self) -> int:
        """First unacknowledged segment (SND.UNA)."""
    @property
    def snd_nxt(self) -> int:
        """Next segment to send (SND.NXT); falls back to `snd_una` after a timeout."""
    @property
    def snd_max(self) -> int:
        """One past the highest segment ever sent."""
    @property
    def flight_size(self) -> int:
        """Segments sent and not acknowledged."""
    @property
    def flight_since_rewind(self) -> int:
        """The same since the window was last rewound by a timeout."""
    @property
    def pipe(self) -> int:
        """The recovery's estimate of segments in flight."""
    @property
    def cwnd(self) -> float:
        """Congestion window."""
    @property
    def ssthresh(self) -> float:
        """Slow-start threshold."""
    @property
    def initial_window(self) -> float:
        """Window at the start of a connection."""
    @property
    def bandwidth(self) -> float | None:
        """Estimated bandwidth in segments a second, if the congestion controller estimates it."""
    @property
    def in_fast_recovery(self) -> bool:
        """The sender is in fast recovery."""
    @property
    def in_rto_recovery(self) -> bool:
        """A retransmission timer has expired and no ACK for new data has come since."""
    @property
    def first_timeout(self) -> tuple[int, float] | None:
        """For which segment the timer last expired, and the threshold after its first expiry."""
    @property
    def una_sent_ns(self) -> int | None:
        """When the first unacknowledged segment was sent last, if one is outstanding."""
    @property
    def rto_ns(self) -> int:
        """Retransmission timeout with back-off."""
    @property
    def min_rto_ns(self) -> int:
        """Lower bound of the retransmission timeout in force."""
    @property
    def new_connection_rto_ns(self) -> int:
        """Retransmission timeout of a connection that has no sample: 3 s (RFC 2988), or the
        profile's initial one where that is less."""
    @property
    def delivery_rate(self) -> float | None:
        """Delivery rate in segments a second, as measured at the last ACK; None for a policy
        without `on_ack`, and if the ACK gives no valid sample."""
    @property
    def delivery_interval_ns(self) -> int | None:
        """The time of that sample, from which the rate follows."""
    @property
    def delivered(self) -> int | None:
        """Segments delivered since the connection opened, the SYN included; None as above."""
    @property
    def newly_delivered(self) -> int | None:
        """Segments that the last ACK delivers: acknowledged, or SACKed for the first time."""
    @property
    def app_limited(self) -> bool | None:
        """The application had too little to send when the segments delivered by the last ACK were
        sent."""
    @property
    def prior_delivered(self) -> int | None:
        """The value of `delivered` when the newest segment delivered by the last ACK was sent: a
        round trip ends when this reaches the value that `delivered` had at its start."""
    @property
    def newly_lost(self) -> int | None:
        """Segments that the last ACK shows to be lost; None as above."""
    @property
    def latest_rtt_ns(self) -> int | None:
        """Round-trip time of the newest segment that the last ACK delivers; None if it was sent
        more than once."""
    @property
    def window_limited(self) -> bool:
        """The congestion window limits the sender, by Linux's rule; always true with other
        recoveries than that of `linux`."""
    @property
    def paced_until_ns(self) -> int | None:
        """When the next segment may leave, if one waits because sending is paced."""
    @property
    def srtt_ns(self) -> int | None:
        """Smoothed round-trip time, if there has been a sample."""
    @property
    def rttvar_ns(self) -> int | None:
        """Mean deviation of the round-trip time, if there has been a sample."""
    @property
    def rtt_sampled(self) -> bool:
        """The ACK being processed gave an RTT sample."""
    @property
    def dupacks(self) -> int:
        """Duplicate ACKs since `snd_una` last advanced."""
    @property
    def dup_threshold(self) -> int:
        """Duplicate ACKs that start fast retransmit."""
    @property
    def unsent(self) -> int:
        """Segments available to send that were never sent before, independent of the windows."""
    @property
    def segment_bytes(self) -> int:
        """Size of a data segment on the wire, in bytes."""
    @property
    def receiver_window(self) -> int:
        """The receiver's window, in segments."""
    @property
    def sack(self) -> bool:
        """Recovery uses SACK."""

@final
class LinkInfo:
    """What a notice says of one access link."""

    @property
    def rate_bps(self) -> int:
        """Rate in bit/s."""
    @property
    def delay_ns(self) -> int:
        """One-way delay."""
    @property
    def round_trip_ns(self) -> int:
        """The link's own part of the round trip: 2 delay, a data packet and an ACK."""
    @property
    def bdp_packets(self) -> int:
        """Rate times that, in whole packets of the sender (`segment_bytes` on the wire)."""

@final
class Advice:
    """Throughput advice of the network (SCONE): a rate of the path and nothing else.

    The rate is a ceiling for a flow, and no signal of congestion. Advice within the life of lower
    advice on the same path has the lower rate (draft-ietf-scone-protocol, "Following Throughput
    Advice").
    """

    @property
    def rate_bps(self) -> int:
        """Bits a second: 100 kbit/s times 10^(n / 20)."""
    @property
    def expires_ns(self) -> int:
        """When it expires: 67 s after it came (the lowest of several)."""
    @property
    def anew(self) -> bool:
        """Whether it is of another path than earlier advice, as after a handoff."""

@final
class HandoffNotice:
    """The message that tells a sender of a handoff, or before it opens of its link.

    Of a handoff `old` is the link that the flow leaves; at the start of a connection it is None.
    """

    @property
    def old(self) -> LinkInfo | None:
        """The link that the flow leaves."""
    @property
    def new(self) -> LinkInfo:
        """The link that it moves to, or starts on."""
    @property
    def flows(self) -> int:
        """How many flows move or start together."""

@final
class Control:
    """What a congestion controller decides: windows in segments, a pacing rate in segments/s.

    What is None stays as it is. A `pacing_rate` of 0 ends pacing. Raises `MidflightError` for a
    window or threshold below one segment, and for a rate below 0.
    """

    def __new__(
        cls,
        *,
        cwnd: float | None = None,
        ssthresh: float | None = None,
        pacing_rate: float | None = None,
    ) -> Control: ...
    @property
    def cwnd(self) -> float | None:
        """Congestion window."""
    @property
    def ssthresh(self) -> float | None:
        """Slow-start threshold."""
    @property
    def pacing_rate(self) -> float | None:
        """Segments a second at which data leaves."""

@final
class Order:
    """What a policy asks of its sender, with the reason. Made by the functions of its class."""

    @staticmethod
    def set_cwnd(segments: float, *, because: str) -> Order:
        """Set the congestion window, in segments."""
    @staticmethod
    def set_ssthresh(segments: float, *, because: str) -> Order:
        """Set the slow-start threshold, in segments."""
    @staticmethod
    def set_min_rto(min_rto_ns: int, *, because: str) -> Order:
        """Set the lower bound of the retransmission timeout."""
    @staticmethod
    def restart_timer(*, because: str) -> Order:
        """Re-arm the retransmission timer from now with the timeout now in force."""
    @staticmethod
    def restart_rtt(
        *,
        initial_rto_ns: int,
        sample_since_ns: int,
        sample_retransmitted: bool = False,
        because: str,
    ) -> Order:
        """Forget the RTT estimate as for a new connection and re-arm the timer.

        The first ACK of a segment sent at `sample_since_ns` or later gives a sample at once, with
        `sample_retransmitted` also of one that was sent before.
        """
    @staticmethod
    def retransmit_now(*, because: str) -> Order:
        """Retransmit the first unacknowledged segment, drop the back-off and re-arm the timer."""
    @staticmethod
    def go_back(*, because: str) -> Order:
        """Retransmit everything from the first unacknowledged segment on, as after a timeout."""
    @staticmethod
    def rewind(*, because: str) -> Order:
        """The same, but with the window as it is and out of every recovery."""
    @staticmethod
    def keep_window(*, because: str) -> Order:
        """From `on_recovery`: enter fast recovery, but leave window and threshold alone."""
    @staticmethod
    def hold_growth(since_ns: int, *, because: str) -> Order:
        """Do not grow the window until a segment last sent then or later is acknowledged."""
    @staticmethod
    def pace_at(rate_bps: int, *, because: str) -> Order:
        """Send no faster than this from now on, counted on the wire, until a further order."""
    @staticmethod
    def pace_window(over_ns: int, *, because: str) -> Order:
        """Spread the window of now over this time, such as a round trip; then send as before."""
    @staticmethod
    def end_pacing(*, because: str) -> Order:
        """Send without an ordered rate again."""
    @staticmethod
    def pace(segments: int, *, rate_bps: int, segment_bytes: int, because: str) -> Order:
        """Send this many of the next segments at this rate instead of in a burst, what a timeout
        resends included.
        """
