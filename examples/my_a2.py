"""A2 of Daniel and Kojo (2008, section 5.3) as a policy of one's own; see docs/policies.md."""

from midflight import HandoffNotice, Order, SenderView


class MyA2:
    """With more than twice in flight of what the new link holds, the window becomes that."""

    def __init__(self) -> None:
        self.reduced_below = 0

    def on_notice(self, notice: HandoffNotice, view: SenderView) -> list[Order]:
        holds = notice.new.bdp_packets // notice.flows
        if view.in_rto_recovery or view.flight_since_rewind <= 2 * holds:
            return []
        self.reduced_below = view.snd_max
        window = min(max(holds, 2), view.cwnd)
        because = f"{view.flight_since_rewind} are in flight, and the new link holds {holds}"
        return [
            Order.set_cwnd(window, because=because),
            Order.set_ssthresh(max(window, 2), because=because),
        ]

    def on_recovery(self, view: SenderView) -> list[Order]:
        if view.snd_una >= self.reduced_below:
            return []
        return [Order.keep_window(because="the handoff has reduced the window already")]
