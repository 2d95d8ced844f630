"""The world of Lim and Jang (2009): two radio links, a handover between them, five schemes.

What the paper does not specify is a constant here; README.md justifies it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from midflight.studies.runs import Fate, Flow, FlowTrace, Radio

#: Table 1.  Reordering on 3G as a retransmission by the link layer; see README.md.
G3 = Radio(1000, 200, loss="uniform 0.5%", reordering="linkrtx 5% 100ms")
WLAN = Radio(10_000, 20, loss="gilbert 1s 0.1% 100ms 10% 50%")
SWAP = "swap 5%"

SACK, DCR, DCR_FRTO, SCHEME_I, SCHEME_II = "sack", "dcr", "dcr-frto", "dcr-ld", "dcr-frto-ld"
SCHEMES = (SACK, DCR, DCR_FRTO, SCHEME_I, SCHEME_II)
SCHEME_NAMES = {
    SACK: "SACK",
    DCR: "DCR",
    DCR_FRTO: "DCR-FRTO",
    SCHEME_I: "proposed I",
    SCHEME_II: "proposed II",
}
#: Further schemes, run without cross traffic.
FURTHER = ("ld", "frto", "ncr-careful", "ncr-aggressive", "eifel", "dsack-undo")

RUNS = 30
AT_S, PAUSE_S, END_S = 250.0, 30.0, 500.0
#: Intervals: before the handover, the pause, after it.
MARKS_S = (AT_S, AT_S + PAUSE_S, END_S)
BEFORE, PAUSE, AFTER = 0, 1, 2

CROSS_FLOWS = 10
#: Target of the cross traffic: drops at the wired queue over all packets handed to it.
DROP_TARGET = 0.015
#: One-way delay of the cross host that meets the target, in microseconds, as
#: `midflight calibrate lim-jang-2009` finds it, and the one at which the flow itself loses that
#: share there.
CROSS_DELAY_US = 16_000
CROSS_DELAY_OWN_US = 40_000
#: The path of the cross traffic as section 5.3 describes it, "very short delay (1 millisecond)":
#: three times the losses of table 1, which excludes it.
CROSS_DELAY_TEXT_US = 1000
#: Each run draws the cross host's delay within plus or minus this, in microseconds.
CROSS_SPREAD_US = 1000
#: Longest random processing time of a host for a packet: that of one packet at the wired link.
OVERHEAD_US = 400

KNOBS = (("delayed_ack", "off"), ("min_rto", "1s"), ("segment_bytes", "1000"))
SEGMENT_BITS, ACK_BITS = 8000, 320
#: The wired link of table 1: kbit/s, ms one way, packets.
WIRED = (20_000, 1, 30)


def with_knobs(flow: Flow, **knobs: str) -> Flow:
    """The flow with these settings changed."""
    return replace(flow, knobs=tuple(sorted({**dict(flow.knobs), **knobs}.items())))


def flow(first: Radio, second: Radio, scheme: str, *, congested: bool = False) -> Flow:
    """The 30 runs of a scheme over one handover."""
    return Flow(
        first,
        scheme,
        MARKS_S,
        then=second,
        at_s=AT_S,
        pause_s=PAUSE_S,
        runs=RUNS,
        cross_flows=CROSS_FLOWS if congested else 0,
        cross_delay_us=CROSS_DELAY_US if congested else 0,
        cross_spread_us=CROSS_SPREAD_US if congested else 0,
        overhead_us=OVERHEAD_US if congested else 0,
        wired=WIRED,
        knobs=KNOBS,
    )


#: Scenario names by (handover, congested): figures 11 to 14.
TO_WLAN, TO_3G = (G3, WLAN), (WLAN, G3)
SCENARIOS = {
    "11": (TO_WLAN, False),
    "12": (TO_3G, False),
    "13": (TO_WLAN, True),
    "14": (TO_3G, True),
}
SCENARIO_NAMES = {
    "11": "3G to WLAN",
    "12": "WLAN to 3G",
    "13": "3G to WLAN, congested",
    "14": "WLAN to 3G, congested",
}


#: The exponent of the loss differentiation that is used, and the others that are shown beside it.
K, OTHER_K = 4, (1, 2, 5)


@dataclass(frozen=True)
class Congested:
    """An interpretation of figures 13 and 14: the cross host's one-way delay, and the exponent
    k."""

    delay_us: int = CROSS_DELAY_US
    k: int = K

    def __str__(self) -> str:
        cross = {
            CROSS_DELAY_US: "table 1's 1.5 % of losses at the wired link",
            CROSS_DELAY_TEXT_US: "the text's cross traffic over a path of 1 ms",
        }[self.delay_us]
        return f"{cross}, k = {self.k}"


TABLE_1, TEXT = Congested(), Congested(CROSS_DELAY_TEXT_US)
#: The interpretations with another k, for the schemes that have one.
OTHER_LD = tuple(Congested(one.delay_us, k) for one in (TABLE_1, TEXT) for k in OTHER_K)


def scenario(figure: str, scheme: str, reading: Congested = TABLE_1) -> Flow:
    """The runs of a scheme in the scenario of a figure (11 to 14)."""
    links, congested = SCENARIOS[figure]
    runs = flow(*links, scheme, congested=congested)
    if congested:
        runs = replace(runs, cross_delay_us=reading.delay_us)
    if reading.k != K and scheme in (SCHEME_I, SCHEME_II):
        runs = with_knobs(runs, ld_k=str(reading.k))
    return runs


def scenarios(figure: str, *readings: Congested) -> tuple[Flow, ...]:
    """The runs of every scheme in the scenario of a figure, under each interpretation; by default
    the one that the verdict uses, table 1's.
    """
    jobs = (scenario(figure, s, one) for one in readings or (TABLE_1,) for s in SCHEMES)
    return tuple(dict.fromkeys(jobs))


# Figures 2 and 3: no losses, no cross traffic, a pause of 3 s (section 4.1.2).
LD_AT_S, LD_PAUSE_S = 60.0, 3.0
CLEAN_3G, CLEAN_WLAN = replace(G3, loss=None, reordering=None), replace(WLAN, loss=None)


def indicators(to_wlan: bool, scheme: str, **knobs: str) -> FlowTrace:
    """The measurements of a scheme's loss differentiation around a handover without losses."""
    first, second = (CLEAN_3G, CLEAN_WLAN) if to_wlan else (CLEAN_WLAN, CLEAN_3G)
    run = Flow(
        first,
        scheme,
        (LD_AT_S + 40,),
        then=second,
        at_s=LD_AT_S,
        pause_s=LD_PAUSE_S,
        knobs=KNOBS,
    )
    events = ("ld_rtt", "ld_threshold", "ld_min", "judge", "rto", "spurious", "drop")
    return FlowTrace(with_knobs(run, **knobs), from_s=LD_AT_S - 6, events=events)


# Figures 5 to 9 and section 4.3: scripted exchanges, with so few segments in flight that a figure
# shows them: slow start ends at this window.
SCRIPT_LINK = Radio(1000, 50)
WINDOW = "10"
#: The packet that is lost or late: in the window's steady state.
VICTIM = 60


def scripted(*script: tuple[int, Fate], limit: int = 50, window: str = WINDOW) -> FlowTrace:
    """A run in which these packets of the radio link are lost or late."""
    radio = replace(SCRIPT_LINK, script=tuple(script), limit=limit)
    run = Flow(radio, SCHEME_II, (8.0,), knobs=KNOBS)
    return FlowTrace(with_knobs(run, initial_ssthresh=window))


REORDERED = scripted((VICTIM, 0.06))
LOST = scripted((VICTIM, "lose"))
#: Small queue and slow start until it is full: the loss is the queue's.
OVERFLOW = scripted(limit=6, window="10000")
#: The whole window is lost.
OUTAGE = scripted(*((n, "lose") for n in range(VICTIM, VICTIM + 14)))
HANDOVER_AT_S = 2.0
HANDOVER = FlowTrace(
    with_knobs(
        Flow(
            SCRIPT_LINK,
            SCHEME_II,
            (8.0,),
            then=CLEAN_WLAN,
            at_s=HANDOVER_AT_S,
            pause_s=3.0,
            knobs=KNOBS,
        ),
        initial_ssthresh=WINDOW,
    )
)
#: Section 4.3: 1-3-2, and 1-5-4-2-3 within a round trip and beyond one.  A packet takes 8 ms.
SWAPPED = scripted((VICTIM, 0.009))
SHUFFLED = scripted((VICTIM, 0.026), (VICTIM + 1, 0.019), (VICTIM + 2, 0.009))
SHUFFLED_LATE = scripted((VICTIM, 0.4), (VICTIM + 1, 0.4), (VICTIM + 2, 0.009))

# Section 4.1.1: one flow over a drop-tail bottleneck with a buffer of a fifth of its
# bandwidth-delay product (51 packets of 1000 bytes on the 3G link, 54 on the WLAN link).


def bottleneck(radio: Radio, k: int, waiting: int) -> Flow:
    """SACK with loss differentiation over a link whose only losses are those of its queue, which
    holds this many packets besides the one in transmission.
    """
    run = Flow(replace(radio, limit=waiting + 1), "ld", (END_S,), knobs=KNOBS)
    return with_knobs(run, ld_k=str(k))
