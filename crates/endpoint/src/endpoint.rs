//! The bytes of a connection: datagrams, ports, wrapping sequence numbers, the timestamp clock, and the data
//! that the application writes and reads.

use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::ops::Range;

use midflight_control::quick_start::Request;
use midflight_control::{Notice, PathUpdate};
use midflight_tcp::{ConfigError, Log, Sender};
use midflight_units::Instant;
use midflight_wire::{clock, Extra, Header, QuickStart, WireError, MOST_SHIFT};

use crate::connection::{Connection, Settings};
use crate::segment::{Arrival, Departure};

/// Segment sizes that fit into an IP packet with all possible options.
const ACCEPTED_MSS: std::ops::RangeInclusive<u64> = 64..=65_400;
/// The origin of the peer's timestamps, so that earlier ones are not negative.
const FIRST_STAMP: u64 = 1 << 32;

/// Why an endpoint cannot be created, or refuses a datagram. Its state has not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The datagram is not a segment.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A sender that needs an option that was not negotiated.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The segment belongs to another connection.
    #[error("a segment from {from} to {to} is not of this connection, which is from {local} to {remote}")]
    Elsewhere {
        /// Its source.
        from: SocketAddrV4,
        /// Its destination.
        to: SocketAddrV4,
        /// This end of the connection.
        local: SocketAddrV4,
        /// The other end, or the accepted ones.
        remote: String,
    },
    /// A connection does not begin with this segment.
    #[error("{local} listens and received a segment that is not a SYN; a SYN without ACK, FIN and RST is accepted")]
    NoSyn {
        /// This end.
        local: SocketAddrV4,
    },
    /// A number is outside its range.
    #[error("{what} of {value}; {accepted} are accepted")]
    Range {
        /// What it counts.
        what: &'static str,
        /// The number that was read.
        value: u64,
        /// The accepted range.
        accepted: String,
    },
}

/// The address of an endpoint and its initial values.
#[derive(Clone, Debug)]
pub struct Config {
    /// This end.
    pub local: SocketAddrV4,
    /// Its initial sequence number.
    pub isn: u32,
    /// Bytes that may wait for their acknowledgement.
    pub send_buffer: usize,
    /// The connection.
    pub settings: Settings,
}

impl Config {
    /// An endpoint at this address, with a buffer of 1 MiB.
    pub fn new(local: SocketAddrV4, settings: Settings) -> Self {
        Self {
            local,
            isn: 0,
            send_buffer: 1 << 20,
            settings,
        }
    }

    fn check(&self) -> Result<(), EndpointError> {
        let Settings {
            mss,
            receive_buffer,
            ..
        } = self.settings;
        let range = |what, value, accepted: String| EndpointError::Range {
            what,
            value,
            accepted,
        };
        if !ACCEPTED_MSS.contains(&mss) {
            let (least, most) = ACCEPTED_MSS.into_inner();
            return Err(range("an MSS", mss, format!("{least} to {most}")));
        }
        // With a smaller buffer a window could stay below a segment although everything has been read.
        let most = u64::from(u16::MAX) << MOST_SHIFT;
        if !(2 * mss..=most).contains(&receive_buffer) {
            let accepted = format!("{} (two segments) to {most}", 2 * mss);
            return Err(range("a receive buffer", receive_buffer, accepted));
        }
        if self.send_buffer == 0 {
            return Err(range("a send buffer", 0, "1 byte and more".into()));
        }
        Ok(())
    }
}

/// One end of a TCP connection over IPv4, without I/O.
///
/// It is driven by these calls: [`Self::on_datagram`], [`Self::poll_datagram`], [`Self::next_timeout`],
/// [`Self::on_timeout`], the application's [`Self::write`], [`Self::read`] and [`Self::close`], and
/// [`Self::is_done`]. After each call take datagrams until there is none, then call [`Self::next_timeout`].
/// Early or repeated calls do nothing.
#[derive(Clone, Debug)]
pub struct Endpoint {
    config: Config,
    link: Option<Link>,
}

/// The connection and its data.
#[derive(Clone, Debug)]
struct Link {
    remote: SocketAddrV4,
    connection: Connection,
    /// The other side's initial sequence number, once it has arrived.
    irs: Option<u32>,
    /// Written data that is not acknowledged, and the position of its first byte.
    sending: VecDeque<u8>,
    sending_from: u64,
    /// Arrived data that is not read, with gaps, and the position of its first byte.
    arrived: VecDeque<u8>,
    arrived_from: u64,
}

impl Endpoint {
    /// An endpoint that opens a connection now.
    ///
    /// # Errors
    /// [`EndpointError::Range`] and [`EndpointError::Config`].
    pub fn connect(
        config: Config,
        remote: SocketAddrV4,
        now: Instant,
    ) -> Result<Self, EndpointError> {
        Self::connect_logged(config, remote, now, &mut ())
    }

    /// The same, with a log for the sender's events.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_logged<L: Log>(
        config: Config,
        remote: SocketAddrV4,
        now: Instant,
        log: &mut L,
    ) -> Result<Self, EndpointError> {
        config.check()?;
        let connection = Connection::connect(config.settings.clone(), now, log)?;
        let link = Some(Link::new(remote, connection, None));
        Ok(Self { config, link })
    }

    /// An endpoint that waits for a SYN from any address.
    ///
    /// # Errors
    /// [`EndpointError::Range`].
    pub fn listen(config: Config) -> Result<Self, EndpointError> {
        config.check()?;
        Ok(Self { config, link: None })
    }

    /// The same calls, with a log for the sender's events.
    pub fn logged<'a, L: Log>(&'a mut self, log: &'a mut L) -> Logged<'a, L> {
        Logged { of: self, log }
    }

    // ---- the network -------------------------------------------------------------

    /// A datagram has arrived: an IPv4 packet.
    ///
    /// # Errors
    /// [`EndpointError`] for a datagram that does not belong to this connection; a caller on a shared
    /// network may ignore it.
    pub fn on_datagram(&mut self, now: Instant, datagram: &[u8]) -> Result<(), EndpointError> {
        self.logged(&mut ()).on_datagram(now, datagram)
    }

    fn take_datagram<L: Log>(
        &mut self,
        now: Instant,
        datagram: &[u8],
        log: &mut L,
    ) -> Result<(), EndpointError> {
        let (header, data) = Header::decode(datagram)?;
        let local = self.config.local;
        let remote = self.link.as_ref().map(|link| link.remote);
        if header.destination != local || remote.is_some_and(|r| r != header.source) {
            return Err(EndpointError::Elsewhere {
                from: header.source,
                to: header.destination,
                local,
                remote: remote.map_or("anywhere".into(), |r| r.to_string()),
            });
        }
        match &mut self.link {
            Some(link) => link.on_segment(now, self.config.isn, &header, data, log),
            None => self.accept(now, &header, log),
        }
    }

    fn accept<L: Log>(
        &mut self,
        now: Instant,
        header: &Header,
        log: &mut L,
    ) -> Result<(), EndpointError> {
        let flags = header.flags;
        if !flags.syn || flags.fin || flags.rst || header.ack.is_some() {
            let local = self.config.local;
            return Err(EndpointError::NoSyn { local });
        }
        let settings = self.config.settings.clone();
        let connection = Connection::accept(settings, now, &arrival(header, 0), log)?;
        self.link = Some(Link::new(header.source, connection, Some(header.seq)));
        Ok(())
    }

    /// The next datagram to put on the network now, if any.
    pub fn poll_datagram(&mut self, now: Instant) -> Option<Vec<u8>> {
        let link = self.link.as_mut()?;
        let departure = link.connection.poll_transmit(now)?;
        let header = link.header(now, &self.config, &departure);
        let from = departure.from.saturating_sub(link.sending_from) as usize;
        let length = departure.to.saturating_sub(departure.from) as usize;
        let data: Vec<u8> = link
            .sending
            .iter()
            .skip(from)
            .take(length)
            .copied()
            .collect();
        // Headers and data fit: `Config::check` ensures that.
        header.encode(&data).ok()
    }

    /// When to call [`Self::on_timeout`]; none if it waits only for segments.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.link.as_ref()?.connection.next_timeout()
    }

    /// Time has passed. Does nothing before [`Self::next_timeout`].
    pub fn on_timeout(&mut self, now: Instant) {
        self.logged(&mut ()).on_timeout(now);
    }

    // ---- the application -----------------------------------------------------------

    /// Takes as many bytes to send as there is room for; none before there is another end, or after it is
    /// closed.
    pub fn write(&mut self, now: Instant, bytes: &[u8]) -> usize {
        self.logged(&mut ()).write(now, bytes)
    }

    fn take_bytes<L: Log>(&mut self, now: Instant, bytes: &[u8], log: &mut L) -> usize {
        let Some(link) = self.link.as_mut().filter(|link| link.may_write()) else {
            return 0;
        };
        let room = self.config.send_buffer.saturating_sub(link.sending.len());
        let taken = &bytes[..bytes.len().min(room)];
        if !taken.is_empty() {
            link.sending.extend(taken);
            link.connection.write(now, taken.len() as u64, log);
        }
        taken.len()
    }

    /// Copies bytes that have arrived, in order; returns 0 if there are none now, or at the end of the data
    /// ([`Self::is_at_end`]).
    pub fn read(&mut self, now: Instant, into: &mut [u8]) -> usize {
        let Some(link) = &mut self.link else {
            return 0;
        };
        let length = link.readable().min(into.len());
        for (place, byte) in into.iter_mut().zip(link.arrived.drain(..length)) {
            *place = byte;
        }
        link.arrived_from += length as u64;
        if length > 0 {
            link.connection.consume(now, length as u64);
        }
        length
    }

    /// There is no more to send: the FIN follows the written data.
    pub fn close(&mut self, now: Instant) {
        self.logged(&mut ()).close(now);
    }

    /// Aborts the connection; the other side gets an RST.
    pub fn abort(&mut self) {
        if let Some(link) = &mut self.link {
            link.connection.abort();
        }
    }

    // ---- the mobile node -------------------------------------------------------------

    /// A handoff notice or throughput advice has arrived.
    pub fn on_path_update(&mut self, now: Instant, update: &PathUpdate) {
        self.logged(&mut ()).on_path_update(now, update);
    }

    /// The node has the link data of a handoff, either a predicted or a completed one. Call before
    /// [`Self::on_warning`] or [`Self::on_attached`].
    pub fn on_links(&mut self, now: Instant, notice: &Notice, is_over: bool) {
        if let Some(link) = &mut self.link {
            link.connection.on_links(now, notice, is_over);
        }
    }

    /// The node is about to leave its link.
    pub fn on_warning(&mut self, now: Instant) {
        if let Some(link) = &mut self.link {
            link.connection.on_warning(now);
        }
    }

    /// The node has detected that it is on another link.
    pub fn on_attached(&mut self, now: Instant) {
        if let Some(link) = &mut self.link {
            link.connection.on_attached(now);
        }
    }

    // ---- queries ---------------------------------------------------------------------

    /// Both sides have closed, everything is acknowledged, and TIME-WAIT is over; or the connection was
    /// reset.
    pub fn is_done(&self) -> bool {
        self.connection().is_some_and(Connection::is_done)
    }

    /// The handshake is done.
    pub fn is_established(&self) -> bool {
        self.connection().is_some_and(Connection::is_established)
    }

    /// The other side has closed, and all of its data was read.
    pub fn is_at_end(&self) -> bool {
        let at_end = |link: &Link| link.connection.has_ended() && link.readable() == 0;
        self.link.as_ref().is_some_and(at_end)
    }

    /// The connection was reset, by the other side or by this side.
    pub fn is_reset(&self) -> bool {
        self.connection().is_some_and(Connection::is_reset)
    }

    /// The sender, once there is another end.
    pub fn sender(&self) -> Option<&Sender> {
        self.connection().map(Connection::sender)
    }

    /// The connection, once there is another end.
    pub fn connection(&self) -> Option<&Connection> {
        self.link.as_ref().map(|link| &link.connection)
    }
}

/// An endpoint whose sender reports its events to a log ([`Endpoint::logged`]).
#[derive(Debug)]
pub struct Logged<'a, L> {
    of: &'a mut Endpoint,
    log: &'a mut L,
}

impl<L: Log> Logged<'_, L> {
    /// As [`Endpoint::on_datagram`].
    ///
    /// # Errors
    /// The same.
    pub fn on_datagram(&mut self, now: Instant, datagram: &[u8]) -> Result<(), EndpointError> {
        self.of.take_datagram(now, datagram, self.log)
    }

    /// As [`Endpoint::on_timeout`].
    pub fn on_timeout(&mut self, now: Instant) {
        if let Some(link) = &mut self.of.link {
            link.connection.on_timeout(now, self.log);
        }
    }

    /// As [`Endpoint::write`].
    pub fn write(&mut self, now: Instant, bytes: &[u8]) -> usize {
        self.of.take_bytes(now, bytes, self.log)
    }

    /// As [`Endpoint::close`].
    pub fn close(&mut self, now: Instant) {
        if let Some(link) = &mut self.of.link {
            link.connection.close(now, self.log);
        }
    }

    /// As [`Endpoint::on_path_update`].
    pub fn on_path_update(&mut self, now: Instant, update: &PathUpdate) {
        if let Some(link) = &mut self.of.link {
            link.connection.on_path_update(now, update, self.log);
        }
    }
}

impl Link {
    fn new(remote: SocketAddrV4, connection: Connection, irs: Option<u32>) -> Self {
        Self {
            remote,
            connection,
            irs,
            sending: VecDeque::new(),
            sending_from: 1,
            arrived: VecDeque::new(),
            arrived_from: 1,
        }
    }

    fn may_write(&self) -> bool {
        !self.connection.stream().is_closed() && !self.connection.is_reset()
    }

    /// Bytes that have arrived in order and have not been read.
    fn readable(&self) -> usize {
        let received = self.connection.received().max(1);
        let fin = u64::from(self.connection.has_ended());
        (received - fin).saturating_sub(self.arrived_from) as usize
    }

    fn on_segment<L: Log>(
        &mut self,
        now: Instant,
        isn: u32,
        header: &Header,
        data: &[u8],
        log: &mut L,
    ) -> Result<(), EndpointError> {
        let connection = &self.connection;
        let irs = self.irs.unwrap_or(header.seq);
        let una = connection
            .stream()
            .byte_of(connection.sender().view().snd_una);
        let number = |value: u32| relative(una, isn, value);
        let Some(from) = relative(connection.received(), irs, header.seq) else {
            // It is from before the connection.
            return Ok(());
        };
        let mut segment = arrival(header, connection.recent());
        let Some(ack) = header
            .ack
            .map(number)
            .map_or(Some(None), |ack| ack.map(Some))
        else {
            return Ok(());
        };
        segment.ack = ack;
        segment.from = from;
        segment.to = from + data.len() as u64;
        let timestamps = header.options.timestamps;
        segment.echo = timestamps.and_then(|(_, echo)| left_at(now, echo));
        let edges = |(left, right)| number(left).zip(number(right));
        segment.sack = header.options.sack.iter().filter_map(edges).collect();
        let connecting = connection.is_connecting();
        if header.flags.syn {
            // The SYN takes the first number; data in it is ignored.
            segment.to = from;
        }
        let kept = self.connection.on_segment(now, &segment, log)?;
        if connecting && !self.connection.is_connecting() {
            self.irs = Some(header.seq);
        }
        self.keep(kept, from, data);
        let view = self.connection.sender().view();
        let stream = self.connection.stream();
        let una = stream
            .byte_of(view.snd_una)
            .clamp(self.sending_from, self.end_of_data());
        self.sending.drain(..(una - self.sending_from) as usize);
        self.sending_from = una;
        Ok(())
    }

    fn end_of_data(&self) -> u64 {
        self.sending_from + self.sending.len() as u64
    }

    /// Stores the bytes of this range; those of `data` start at `from`.
    fn keep(&mut self, range: Range<u64>, from: u64, data: &[u8]) {
        let left = range.start.max(self.arrived_from);
        if left >= range.end {
            return;
        }
        let at = (left - self.arrived_from) as usize;
        let bytes = &data[(left - from) as usize..(range.end - from) as usize];
        let end = at + bytes.len();
        if self.arrived.len() < end {
            self.arrived.resize(end, 0);
        }
        for (place, byte) in self.arrived.range_mut(at..end).zip(bytes) {
            *place = *byte;
        }
    }

    fn header(&self, now: Instant, config: &Config, departure: &Departure) -> Header {
        let connection = &self.connection;
        let settings = connection.settings();
        let mut header = Header::new(config.local, self.remote);
        header.flags.syn = departure.syn;
        header.flags.fin = departure.fin;
        header.flags.rst = departure.rst;
        header.flags.ece = departure.ece;
        header.flags.cwr = departure.cwr;
        header.flags.psh = departure.to > departure.from && connection.unsent_bytes() == 0;
        let number = |base: u32, offset: u64| base.wrapping_add(offset as u32);
        let irs = self.irs.unwrap_or(0);
        header.seq = number(config.isn, departure.from);
        header.ack = departure.ack.map(|ack| number(irs, ack));
        let buffer = settings.receive_buffer;
        let fits = |shift: &u8| u16::try_from(buffer >> shift).is_ok();
        let shift = (0..=MOST_SHIFT).find(fits).unwrap_or(MOST_SHIFT);
        let scaled = connection.has_window_scaling() && !departure.syn;
        let window = departure.window >> if scaled { shift } else { 0 };
        header.window = u16::try_from(window).unwrap_or(u16::MAX);
        let options = &mut header.options;
        if departure.syn {
            options.mss = u16::try_from(settings.mss).ok();
            options.window_scale = connection.has_window_scaling().then_some(shift);
            options.sack_permitted = connection.has_sack();
        }
        options.timestamps = departure.echo.map(|echo| (clock(now), echo as u32));
        options.extra = Extra::of(departure.ack_option);
        let room = options.room_for_blocks();
        for &(left, right) in departure.sack.iter().take(room) {
            options.sack.push(number(irs, left), number(irs, right));
        }
        if let Some(option) = departure.option {
            header.carry(option);
        }
        header
    }
}

/// The fields of a header, except its sequence numbers. `recent` is the last timestamp, 0 before the first.
fn arrival(header: &Header, recent: u64) -> Arrival {
    let options = &header.options;
    let timestamp = options.timestamps.map(|(value, _)| {
        let ahead = value.wrapping_sub(recent as u32) as i32;
        match recent {
            0 => FIRST_STAMP + u64::from(value),
            recent => recent.saturating_add_signed(i64::from(ahead)),
        }
    });
    let request = header.quick_start.and_then(|option| match option {
        QuickStart::Request { rate, ttl, nonce } => Some(Request {
            rate,
            ip_ttl: header.ttl,
            qs_ttl: ttl,
            nonce,
        }),
        QuickStart::Report { .. } => None,
    });
    Arrival {
        syn: header.flags.syn,
        fin: header.flags.fin,
        rst: header.flags.rst,
        push: header.flags.psh,
        ece: header.flags.ece,
        cwr: header.flags.cwr,
        window: u64::from(header.window),
        mss: options.mss.map(u64::from),
        window_scale: options.window_scale.map(|s| u64::from(s.min(MOST_SHIFT))),
        sack_permitted: options.sack_permitted,
        timestamp,
        option: options.extra.and_then(Extra::option).unwrap_or_default(),
        request,
        ..Arrival::default()
    }
}

/// The position of a byte with the sequence number `value`, the one nearest to `near`; none for a byte
/// before the SYN, whose sequence number is `first`.
fn relative(near: u64, first: u32, value: u32) -> Option<u64> {
    let ahead = value.wrapping_sub(first.wrapping_add(near as u32)) as i32;
    near.checked_add_signed(i64::from(ahead))
}

/// When we sent the segment with this timestamp, to the tick of the clock; none for a future one.
fn left_at(now: Instant, echo: u32) -> Option<Instant> {
    let tick = now.as_nanos() / 1_000_000;
    let ago = clock(now).wrapping_sub(echo);
    let left = tick.checked_sub(u64::from(ago))?;
    Some(Instant::from_nanos(left * 1_000_000))
}
