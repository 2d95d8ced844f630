"""Congestion control by delay as in TCP Vegas (Brakmo & Peterson 1995): 4 to 8 segments wait."""

from midflight import CongestionController, Control, HandoffNotice, SenderView


class MyVegas(CongestionController):
    def __init__(self) -> None:
        self.least_ns: int | None = None

    def on_notice(self, _notice: HandoffNotice, _view: SenderView) -> None:
        self.least_ns = None  # that of the old path

    def on_ack(self, view: SenderView) -> Control | None:
        rtt_ns, arrived = view.latest_rtt_ns or view.srtt_ns, view.newly_delivered
        if rtt_ns is None or arrived is None:
            return None
        self.least_ns = min(rtt_ns, self.least_ns or rtt_ns)
        waiting = view.cwnd * (1 - self.least_ns / rtt_ns)
        if view.cwnd < view.ssthresh:
            cwnd, ssthresh = view.cwnd + arrived, view.cwnd if waiting > 8 else None
        else:
            step = (waiting < 4) - (waiting > 8)
            cwnd, ssthresh = max(view.cwnd + step * arrived / view.cwnd, 2), None
        return Control(cwnd=cwnd, ssthresh=ssthresh, pacing_rate=1.25 * cwnd * 1e9 / self.least_ns)
