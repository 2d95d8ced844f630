//! What ICMP messages change: the path takes only smaller packets, or does not reach the other side (RFC 1191, RFC 1122
//! section 4.2.3.9, RFC 6069). Comments name the functions of Linux 6.12 whose behaviour this follows.

use midflight_tcp::{ConfigError, Log};
use midflight_units::Instant;

use super::{Connection, Over};
use crate::stream::Stream;

impl Connection {
    /// The path takes only packets with this many bytes of data and options of TCP. What is in flight in larger segments is
    /// lost, and is sent again at once in smaller ones; the windows stay (tcp_v4_mtu_reduced(), tcp_simple_retransmit()).
    /// Returns whether the segments are smaller now.
    ///
    /// # Errors
    /// [`ConfigError`] for a sender that does not work with the new size.
    pub fn reduce_path_mtu<L: Log>(
        &mut self,
        now: Instant,
        bytes: u64,
        log: &mut L,
    ) -> Result<bool, ConfigError> {
        self.path_bytes = self.path_bytes.min(bytes);
        if self.over.is_some() || !self.is_established() || self.early_data.is_responding() {
            // The size is agreed on with the handshake.
            return Ok(false);
        }
        self.bound_search();
        let size = self.present_size();
        if size >= self.stream.mss() {
            return Ok(false);
        }
        self.renumber(now, size, log)?;
        Ok(true)
    }

    /// What is not acknowledged is sent again in segments of this size, which are numbered anew.
    ///
    /// # Errors
    /// [`ConfigError`] for a sender that does not work with the new size.
    pub(super) fn renumber<L: Log>(
        &mut self,
        now: Instant,
        size: u64,
        log: &mut L,
    ) -> Result<(), ConfigError> {
        let view = self.sender.view();
        let una = self.stream.byte_of(view.snd_una).max(self.una);
        let sent = self.stream.byte_of(view.snd_max);
        // The segments are numbered anew from the first that is not acknowledged.
        let before = self.stream.clone();
        self.stream = Stream::from(una, size, before.nagle);
        self.stream.corked = before.corked;
        let fin = u64::from(before.is_closed() && una < before.end());
        self.stream.write(before.end() - fin - una, 1);
        if before.is_closed() {
            // An acknowledged FIN is not sent again.
            self.stream.close_at(fin > 0);
        }
        let profile = &self.settings.built.profile;
        let (config, parts) = (self.configuration(profile.sender), profile.parts);
        let mut checked = *profile;
        checked.sender = config;
        checked.receiver.segment_bytes = config.segment_bytes;
        checked.check()?;
        self.early_data.sent_below(sent);
        let outstanding = self.stream.covering(sent);
        self.sender.shrink(now, &config, &parts, outstanding, log);
        self.had_unsent = false;
        self.limit(now, 1, log);
        Ok(())
    }

    /// A network or a host is unreachable, says the response to the first segment that is not acknowledged: the last
    /// timeout does not mean congestion (RFC 6069, tcp_ld_RTO_revert()). Only the recovery of Linux has this. Returns
    /// whether the retransmission timer has expired.
    pub fn revert_back_off<L: Log>(&mut self, now: Instant, log: &mut L) -> bool {
        let expired = self.over.is_none() && self.sender.on_unreachable(now, log);
        self.send_more(now, log);
        expired
    }

    /// An ICMP error has ended it (tcp_v4_err(), tcp_req_err()).
    pub fn end_by_icmp(&mut self) {
        self.over = Some(Over::Unreachable);
    }
}
