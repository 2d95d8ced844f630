"""Your own congestion controllers, in Python.

A controller is a subclass of `CongestionController`. It is given, named and copied like a policy
(`midflight.policy`), and replaces the sender's own controller: with each ACK it gets the rate
sample and returns a `midflight.Control`: a window, a threshold and a pacing rate.

    >>> from midflight import CongestionController, Control, Scenario
    >>> class Fixed(CongestionController):
    ...     def on_ack(self, view):
    ...         return Control(cwnd=20)
    >>> scenario = Scenario.read("wifi-to-lte", sets={"flows.download.scheme": "fixed"},
    ...                          policies={"fixed": Fixed})
    >>> scenario.run(policies={"fixed": Fixed}).flows.column("scheme")
    ['fixed']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from midflight._core import Control, SenderView

__all__ = ["CongestionController"]


class CongestionController:
    """The base class of congestion controllers; only `on_ack` has to be written.

    `view` is the sender's state: windows in segments, times in nanoseconds, rates in segments a
    second. Each hook returns a `midflight.Control`, or None to change nothing. A
    controller may also have the hooks of a policy for notices and recoveries, `on_notice`,
    `on_start` and `on_recovery`, which return orders.

    The initial window is the sender's. Before a rate is given, nothing is paced.
    """

    #: The controller also sets the window in a recovery. Otherwise the recovery brings the window
    #: down to the threshold, by proportional rate reduction under the profile `linux`, and of what
    #: `on_ack` returns meanwhile only the pacing rate counts.
    steers_recovery: ClassVar[bool] = False

    def on_open(self, view: SenderView) -> Control | None:
        """Return the values from the opening on: the SYN is acknowledged."""
        del view
        return None

    def on_ack(self, view: SenderView) -> Control | None:
        """Return the values after an ACK.

        Under the profile `linux` it is called for every ACK, when lost segments are found and not
        yet sent again; with other recoveries for those of new data outside fast recovery.
        """
        raise NotImplementedError(f"{type(self).__name__} has no on_ack(view)")

    def on_loss(self, view: SenderView) -> Control | None:
        """Return the values after a detected loss or an echoed mark (ECN).

        Without a threshold it is half the window.
        """
        del view
        return None

    def on_timeout(self, view: SenderView) -> Control | None:
        """Return the same when the retransmission timer has expired.

        The window is then one segment, or under the profile `linux` one segment more than may still
        be in flight, independent of the returned value. If the sender has already reduced its
        window for the outstanding data, the threshold stays too. `on_ack` is called in the slow
        start after it.
        """
        del view
        return None

    def on_undo(self, view: SenderView) -> Control | None:
        """Return the values after the last recovery or timeout has turned out to be spurious.

        The sender has restored window and threshold. Only under the profile `linux`.
        """
        del view
        return None
