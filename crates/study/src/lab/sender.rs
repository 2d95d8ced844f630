//! Our sender with the kernel: it exchanges real segments with the kernel's receiver.
//!
//! It runs twice. In the guest it waits for datagrams and instants ([`drive`]) and records when it
//! acted. When the record of the guest is replayed, it gets the same datagrams at the same instants
//! and repeats its actions ([`ReplayedSender`]). So the guest records only instants, and the events of
//! the sender are those of a simulated sender.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use midflight_control::signal::AnyHandoffSignal;
use midflight_control::{PathUpdate, StartNotice};
use midflight_endpoint::{Config, Endpoint, EndpointError, Settings};
use midflight_sim::Action;
use midflight_tcp::{Log, Sender};
use midflight_units::Instant;
use midflight_wire::HEADER_BYTES;

use super::{refused, LabError};
use crate::scenario::Stack;
use crate::setup::{flow_id, FlowSetup, Setup, Step};

/// Ports of receivers (`lab/guest/init.c`) and of our senders, for the first flow; others follow.
pub(super) const FIRST_PORT: u16 = 5001;
const FIRST_SENDER: u16 = 40_001;
/// Network addresses of the kernel's nodes and of our senders. The last two bytes are the node's
/// number.
const KERNEL: [u8; 2] = [10, 77];
const OURS: [u8; 2] = [10, 76];
/// Chosen so that sequence numbers wrap in the first segments.
const ISN: u32 = u32::MAX - 9_999;
/// Size of the send buffer in bytes; larger than a receiver's window (`tcp_rmem`).
const BUFFER: u64 = 8 << 20;
/// Bytes per write.
const PIECE: usize = 1 << 18;
/// The bytes of the stream count from 0 up to this, repeatedly.
const PERIOD: u64 = 251;
/// The MTU of the devices.
const MTU: u32 = 1500;

/// The address of a node in the network `of`.
pub(super) fn address(of: [u8; 2], node: u16) -> Ipv4Addr {
    let [high, low] = (node + 1).to_be_bytes();
    Ipv4Addr::new(of[0], of[1], high, low)
}

/// Bytes of data in a full segment of a flow with our sender.
pub(super) fn payload(flow: &FlowSetup) -> u64 {
    let info = flow.info();
    u64::from(info.payload_bytes)
}

/// Refuses settings that such a flow does not support.
pub(super) fn check(flow: &FlowSetup) -> Result<(), LabError> {
    let (scheme, name) = (&flow.scheme, &flow.name);
    let built = &flow.part.built;
    if flow.stack == Stack::Linux {
        return Err(refused(
            format!("midflight's sender of flow \"{name}\", whose stack is \"linux\""),
            "flows with the stack \"midflight\", or the kernel's senders",
        ));
    }
    if !matches!(built.profile.receiver.signal, AnyHandoffSignal::Silent(_)) {
        return Err(refused(
            format!("scheme \"{scheme}\" of flow \"{name}\": its receiver has a handoff signal, which the kernel's does not"),
            "a scheme of the sender alone, such as enhanced",
        ));
    }
    let bytes = built.profile.sender.segment_bytes;
    if bytes > MTU || payload(flow) == 0 {
        return Err(refused(
            format!("segments of {bytes} bytes of flow \"{name}\""),
            format!("segment_bytes of at most {MTU}, with room for data"),
        ));
    }
    Ok(())
}

/// The handoff notices of a sender, with their times.
#[derive(Clone, Copy, Debug)]
enum SenderNotice {
    Start(StartNotice),
    Path(PathUpdate),
}

/// The sender of a flow: an endpoint, its handoff notices, and an application that writes all its data
/// at once and closes when everything is acknowledged.
#[derive(Clone, Debug)]
pub struct OurSender {
    config: Config,
    remote: SocketAddrV4,
    opens: Instant,
    notices: VecDeque<(Instant, SenderNotice)>,
    endpoint: Option<Endpoint>,
    /// Number of full segments to send, if it is limited, and number of bytes written.
    segments: Option<u64>,
    written: u64,
    data: Vec<u8>,
    is_closed: bool,
}

impl OurSender {
    /// The sender of the flow with this number.
    ///
    /// # Errors
    /// [`LabError::Unsupported`].
    pub fn new(setup: &Setup, number: usize) -> Result<Self, LabError> {
        let Some(flow) = setup.flows.get(number) else {
            let what = format!("flow {number}");
            let last = setup.flows.len().saturating_sub(1);
            return Err(refused(what, format!("a number from 0 to {last}")));
        };
        check(flow)?;
        let port = |first: u16| first + number as u16;
        let local = SocketAddrV4::new(address(OURS, flow.from.0), port(FIRST_SENDER));
        let remote = SocketAddrV4::new(address(KERNEL, flow.to.0), port(FIRST_PORT));
        let mut built = flow.part.built.clone();
        built.profile.sender = built.profile.sender.of_flow(number);
        let mut settings = Settings::new(built);
        settings.mss = u64::from(settings.built.profile.sender.segment_bytes - HEADER_BYTES);
        let mut config = Config::new(local, settings);
        config.isn = ISN;
        config.send_buffer = BUFFER as usize;
        let id = flow_id(number as u32);
        let notice_of = |&(at, step): &(Instant, Step)| match step {
            Step::Act(Action::NotifyStart(of, notice)) if of == id => {
                Some((at, SenderNotice::Start(notice)))
            }
            Step::Act(Action::Notify(of, notice)) if of == id => {
                Some((at, SenderNotice::Path(notice)))
            }
            _ => None,
        };
        Ok(Self {
            config,
            remote,
            opens: flow.opens,
            notices: setup.timeline.iter().filter_map(notice_of).collect(),
            endpoint: None,
            segments: flow.end.map(|end| end.saturating_sub(1)),
            written: 0,
            data: (0..PIECE as u64 + PERIOD)
                .map(|i| (i % PERIOD) as u8)
                .collect(),
            is_closed: false,
        })
    }

    /// The next deadline; none if it waits only for datagrams.
    pub fn next(&self) -> Option<Instant> {
        let due = match &self.endpoint {
            None => Some(self.opens),
            Some(endpoint) => endpoint.next_timeout(),
        };
        let notice = self.notices.front().map(|(at, _)| *at);
        due.into_iter().chain(notice).min()
    }

    /// Processes an instant, and a datagram if one has arrived.
    ///
    /// # Errors
    /// [`EndpointError`] for a datagram that is not a segment of this connection.
    pub fn turn<L: Log>(
        &mut self,
        now: Instant,
        datagram: Option<&[u8]>,
        log: &mut L,
    ) -> Result<(), EndpointError> {
        while let Some((_, notice)) = self.notices.front().copied().filter(|(at, _)| *at <= now) {
            self.notices.pop_front();
            match (notice, &mut self.endpoint) {
                (SenderNotice::Start(notice), None) => {
                    self.config.settings.start_notice = Some(notice);
                }
                (SenderNotice::Path(update), Some(end)) => {
                    end.logged(log).on_path_update(now, &update);
                }
                _ => {}
            }
        }
        if self.endpoint.is_none() && self.opens <= now {
            let end = Endpoint::connect_logged(self.config.clone(), self.remote, now, log)?;
            self.endpoint = Some(end);
        }
        let Some(end) = &mut self.endpoint else {
            return Ok(());
        };
        if let Some(datagram) = datagram {
            end.logged(log).on_datagram(now, datagram)?;
        }
        end.logged(log).on_timeout(now);
        self.application(now, log);
        Ok(())
    }

    fn application<L: Log>(&mut self, now: Instant, log: &mut L) {
        let Some(end) = &mut self.endpoint else {
            return;
        };
        let Some(connection) = end.connection().filter(|of| of.is_established()) else {
            return;
        };
        // Both ends have agreed on the size of a full segment.
        let (una, stream) = (connection.sender().view().snd_una, connection.stream());
        let una = stream.byte_of(una).saturating_sub(1);
        let bytes = self.segments.map(|segments| segments * stream.mss());
        loop {
            let left = bytes.map_or(u64::MAX, |all| all - self.written);
            let some = left.min(PIECE as u64);
            if some == 0 || self.written + some > una + BUFFER {
                break;
            }
            let from = (self.written % PERIOD) as usize;
            let data = self.data.get(from..from + some as usize);
            let taken = end.logged(log).write(now, data.unwrap_or_default());
            self.written += taken as u64;
            if (taken as u64) < some {
                break;
            }
        }
        if !self.is_closed && bytes.is_some_and(|all| una >= all) {
            end.logged(log).close(now);
            self.is_closed = true;
        }
    }

    /// The next datagram to send now, if any.
    pub fn poll(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.endpoint.as_mut()?.poll_datagram(now)
    }

    /// Everything including the FIN is acknowledged, or the connection was reset.
    pub fn is_done(&self) -> bool {
        let Some(end) = &self.endpoint else {
            return false;
        };
        let all = |end: &Endpoint| {
            let connection = end.connection()?;
            let una = connection.sender().view().snd_una;
            Some(una >= connection.stream().segments_end())
        };
        end.is_reset() || (self.is_closed && all(end).unwrap_or(false))
    }
}

/// What has ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The instant has come.
    Time,
    /// A datagram of this many bytes.
    Datagram(usize),
    /// The device is down: the run is over.
    Over,
}

/// A network device and a clock.
pub trait Line {
    /// Its error type.
    type Error: std::fmt::Display;

    /// The time since the script's beginning.
    fn now(&mut self) -> Instant;

    /// Waits for a datagram, until an instant if one is given.
    ///
    /// # Errors
    /// An error of the device.
    fn wait(&mut self, until: Option<Instant>, into: &mut [u8]) -> Result<Woken, Self::Error>;

    /// Sends a datagram.
    ///
    /// # Errors
    /// An error of the device.
    fn send(&mut self, datagram: &[u8]) -> Result<(), Self::Error>;
}

/// Drives a sender until it is done or the run is over; returns its turns, from which a second
/// instance replays it.
///
/// # Errors
/// The reason as a sentence: an error of the device, or a datagram that cannot be parsed.
pub fn drive<L: Line>(sender: &mut OurSender, line: &mut L) -> Result<Vec<u8>, String> {
    let mut turns = Vec::new();
    let mut buffer = vec![0; 65_536];
    while !sender.is_done() {
        let woken = line.wait(sender.next(), &mut buffer);
        let datagram = match woken.map_err(|e| format!("cannot receive: {e}"))? {
            Woken::Over => break,
            Woken::Time => None,
            Woken::Datagram(length) => buffer.get(..length),
        };
        let now = line.now();
        let word = now.as_nanos() << 1 | u64::from(datagram.is_some());
        turns.extend(word.to_le_bytes());
        let turned = sender.turn(now, datagram, &mut ());
        turned.map_err(|e| format!("a datagram cannot be read: {e}"))?;
        while let Some(datagram) = sender.poll(now) {
            let sent = line.send(&datagram);
            sent.map_err(|e| format!("cannot send: {e}"))?;
        }
    }
    Ok(turns)
}

/// A turn of a sender: its instant, and whether a datagram arrived.
fn turn_of(word: [u8; 8]) -> (Instant, bool) {
    let word = u64::from_le_bytes(word);
    (Instant::from_nanos(word >> 1), word & 1 == 1)
}

/// A sender that repeats its actions in a guest while the guest's record is replayed.
#[derive(Debug)]
pub(super) struct ReplayedSender<'a> {
    sender: OurSender,
    turns: std::iter::Peekable<std::slice::ChunksExact<'a, u8>>,
    /// Delivered datagrams that have not been processed yet, as far as they were recorded.
    arrived: VecDeque<&'a [u8]>,
    /// Datagrams that it has sent and that have not appeared in the record yet.
    sent: VecDeque<Vec<u8>>,
}

impl<'a> ReplayedSender<'a> {
    pub(super) fn new(setup: &Setup, flow: usize, turns: &'a [u8]) -> Result<Self, LabError> {
        Ok(Self {
            sender: OurSender::new(setup, flow)?,
            turns: turns.chunks_exact(8).peekable(),
            arrived: VecDeque::new(),
            sent: VecDeque::new(),
        })
    }

    /// A datagram with these headers has been delivered to it.
    pub(super) fn deliver(&mut self, headers: &'a [u8]) {
        self.arrived.push_back(headers);
    }

    /// Repeats its turns before an instant.
    pub(super) fn go_on<L: Log>(&mut self, before: Instant, log: &mut L) -> Result<(), String> {
        while self.is_due(|at| at < before) {
            self.turn(log)?;
        }
        Ok(())
    }

    /// According to the record it has sent a datagram with these headers now.
    pub(super) fn sent<L: Log>(
        &mut self,
        now: Instant,
        headers: &[u8],
        log: &mut L,
    ) -> Result<(), String> {
        while self.sent.is_empty() && self.is_due(|at| at <= now) {
            self.turn(log)?;
        }
        let Some(datagram) = self.sent.pop_front() else {
            return Err("it sends no segment where the record has one".into());
        };
        if datagram.get(..headers.len()) != Some(headers) {
            return Err("it sends a segment that differs from the record".into());
        }
        Ok(())
    }

    /// The sender, once the flow has opened.
    pub(super) fn sender(&self) -> Option<&Sender> {
        self.sender.endpoint.as_ref()?.sender()
    }

    fn is_due(&mut self, is_it: impl Fn(Instant) -> bool) -> bool {
        let next = self.turns.peek().and_then(|word| word.first_chunk());
        next.is_some_and(|&word| {
            let (at, is_datagram) = turn_of(word);
            is_it(at) && !(is_datagram && self.arrived.is_empty())
        })
    }

    fn turn<L: Log>(&mut self, log: &mut L) -> Result<(), String> {
        let word = self.turns.next().and_then(|word| word.first_chunk());
        let Some((now, is_datagram)) = word.map(|&word| turn_of(word)) else {
            return Ok(());
        };
        let datagram = is_datagram.then(|| self.arrived.pop_front()).flatten();
        let turned = self.sender.turn(now, datagram, log);
        turned.map_err(|e| e.to_string())?;
        while let Some(datagram) = self.sender.poll(now) {
            self.sent.push_back(datagram);
        }
        Ok(())
    }
}
