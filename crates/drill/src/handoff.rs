//! Events around a handoff, as a command in a script:
//!
//! ```text
//! +0 `midflight notice 6400kbit/s,9ms 200kbit/s,300ms`
//! ```
//!
//! `notice`: the sender gets the network's notice of a handoff between these links. `warning` and `attached` are what
//! the node itself detects, and the receiver's signal reports it to the other side. `mark` repeats the last ACK of the
//! other side with a handoff mark, `mark 500` with another window too. `report 20Mbit/s` puts the report of the last
//! train on the next ACK of the other side, `report none` that of a train with a gap. `start 50Mbit/s,15ms`, before the
//! connection, is the notice of the access link that it opens on.

use midflight_control::{LinkInfo, Notice, StartNotice};
use midflight_units::{Duration, Rate};

/// An event of a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandoffEvent {
    /// The sender gets a notice.
    Notice(Notice),
    /// The node predicts the handoff.
    Warning(Notice),
    /// The node has attached to the new link.
    Attached(Notice),
    /// The other side has sent an ACK with a mark, with this window or that of its last segment.
    Mark(Option<u64>),
    /// The next ACK of the other side reports this rate of the last train.
    Report(Option<Rate>),
}

/// The accepted words, for errors.
pub(super) const ACCEPTED: &str =
    "expected midflight notice, warning or attached with the old and the new link, such as 6400kbit/s,9ms, midflight mark with a window or without, or midflight report with a rate or none";

/// The accepted words before there is a connection.
pub(super) const ACCEPTED_BEFORE: &str =
    "there is no connection yet; expected midflight start with the access link, such as 6400kbit/s,9ms";

/// Reads the words after `midflight` before there is a connection: the notice of the link that it opens on.
pub(super) fn read_start(words: &[&str]) -> Option<StartNotice> {
    match *words {
        ["start", on] => Some(StartNotice {
            link: link(on)?,
            flows: 1,
        }),
        _ => None,
    }
}

impl HandoffEvent {
    /// Reads the words after `midflight`.
    pub(super) fn read(words: &[&str]) -> Option<Self> {
        match *words {
            ["mark"] => Some(Self::Mark(None)),
            ["mark", window] => Some(Self::Mark(Some(window.parse().ok()?))),
            ["report", "none"] => Some(Self::Report(None)),
            ["report", rate] => Some(Self::Report(Some(rate.parse().ok()?))),
            [what, old, new] => {
                let (old, new) = (link(old)?, link(new)?);
                let notice = Notice { old, new, flows: 1 };
                match what {
                    "notice" => Some(Self::Notice(notice)),
                    "warning" => Some(Self::Warning(notice)),
                    "attached" => Some(Self::Attached(notice)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn link(text: &str) -> Option<LinkInfo> {
    let (rate, delay) = text.split_once(',')?;
    let (rate, delay): (Rate, Duration) = (rate.parse().ok()?, delay.parse().ok()?);
    Some(LinkInfo { rate, delay })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_or_refused() {
        let of = |text: &str| HandoffEvent::read(&text.split(' ').collect::<Vec<_>>());
        assert_eq!(of("mark"), Some(HandoffEvent::Mark(None)));
        assert_eq!(of("mark 500"), Some(HandoffEvent::Mark(Some(500))));
        let Some(HandoffEvent::Notice(notice)) = of("notice 6400kbit/s,9ms 200kbit/s,300ms") else {
            unreachable!();
        };
        assert_eq!(notice.old.rate.as_bps(), 6_400_000);
        assert_eq!(notice.new.delay, Duration::from_millis(300));
        assert_eq!(of("report none"), Some(HandoffEvent::Report(None)));
        let rate = Some(Rate::from_mbps(20));
        assert_eq!(of("report 20Mbit/s"), Some(HandoffEvent::Report(rate)));
        let start = read_start(&["start", "50Mbit/s,15ms"]);
        assert_eq!(start.map(|s| s.link.delay), Some(Duration::from_millis(15)));
        assert_eq!(read_start(&["start"]), None);
        for wrong in [
            "",
            "start 50Mbit/s,15ms",
            "report",
            "report fast",
            "notice",
            "notice 6400kbit/s,9ms",
            "notice 6400kbit/s 200kbit/s,300ms",
            "notice 0kbit/s,9ms 1kbit/s,1ms",
            "tell 6400kbit/s,9ms 200kbit/s,300ms",
            "mark -1",
            "mark 1 2",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
