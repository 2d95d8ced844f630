//! Calls of the loss classifier: the cause of a suspected loss.

use midflight_control::loss::{LossCause, RttSample};
use midflight_control::SenderView;
use midflight_units::Seq;

use super::books::Outstanding;
use super::Core;
use crate::event::{Log, SenderEvent};
use crate::state::Trigger;

impl Core {
    /// The first unacknowledged segment is suspected lost: returns the cause.
    pub(super) fn judge(&mut self, view: &SenderView, log: &mut impl Log) -> LossCause {
        if let Some(cause) = self.judged {
            return cause;
        }
        let cause = self.classifier.judge(view);
        self.judged = Some(cause);
        self.noted = Some(match cause {
            LossCause::Congestion => Trigger::Congestion,
            LossCause::Wireless => Trigger::Wireless,
        });
        log.record(self.now, SenderEvent::LossSuspected(self.books.una()));
        let segment = self.books.una();
        log.record(self.now, SenderEvent::LossJudged { segment, cause });
        cause
    }

    /// Passes an RTT to the classifier, from the first segment that the ACK covers, unless that was
    /// retransmitted.
    #[cold]
    pub(super) fn measure(&mut self, ack: Seq, log: &mut impl Log) {
        if self.books.una() == 0 {
            // The SYN is smaller than data segments, so its RTT is not comparable.
            return;
        }
        let answered = self.books.first().filter(|o| !o.retransmitted());
        let Some(sent) = answered.map(Outstanding::sent) else {
            return;
        };
        self.classifier.on_sample(&RttSample {
            rtt: self.now.since(sent),
            sent,
            snd_una: ack,
            snd_max: self.books.max(),
        });
        self.report_indicators(log);
    }

    fn report_indicators<L: Log>(&self, log: &mut L) {
        if L::DETAILED {
            if let Some(indicators) = self.classifier.indicators() {
                log.record(self.now, SenderEvent::Indicators(indicators));
            }
        }
    }
}
