//! A byte-level TCP endpoint without I/O: datagrams in, datagrams out, and the caller owns time. It
//! adds to `midflight_tcp`'s sender and receiver what a connection with another stack needs:
//! handshake, MSS, SACK, timestamps, window scale, both windows, FINs and resets.
//!
//! A network, a device or a simulator uses [`Endpoint`]. [`Connection`] is the layer below it, with
//! sequence numbers that do not wrap and without the bytes; scripts use it.
//!
//! Two endpoints over a network that drops every twentieth datagram:
//!
//! ```
//! use midflight_endpoint::{Config, Endpoint, Settings};
//! use midflight_tcp::scheme::Scheme;
//! use midflight_units::{Duration, Instant};
//!
//! let settings = Settings::new(Scheme::named("sack")?.build("rfc", &[])?);
//! let server = "10.1.0.1:80".parse()?;
//! let mut now = Instant::ZERO;
//! let mut ends = [
//!     Endpoint::connect(Config::new("10.0.0.1:49152".parse()?, settings.clone()), server, now)?,
//!     Endpoint::listen(Config::new(server, settings))?,
//! ];
//!
//! let data: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
//! let mut written = 0;
//! let mut read = Vec::<u8>::new();
//! let mut on_the_way: Vec<(Instant, usize, Vec<u8>)> = Vec::new();
//! let mut sent = 0;
//! while !ends.iter().all(Endpoint::is_done) {
//!     // The applications: one writes and closes, the other reads and closes.
//!     written += ends[0].write(now, &data[written..]);
//!     if written == data.len() {
//!         ends[0].close(now);
//!     }
//!     let mut some = [0; 4096];
//!     while let length @ 1.. = ends[1].read(now, &mut some) {
//!         read.extend(&some[..length]);
//!     }
//!     if ends[1].is_at_end() {
//!         ends[1].close(now);
//!     }
//!     // The network: 10 ms each way.
//!     for from in [0, 1] {
//!         while let Some(datagram) = ends[from].poll_datagram(now) {
//!             sent += 1;
//!             if sent % 20 != 0 {
//!                 on_the_way.push((now + Duration::from_millis(10), 1 - from, datagram));
//!             }
//!         }
//!     }
//!     // What comes next: a datagram or a timeout.
//!     let timeouts = ends.iter().filter_map(Endpoint::next_timeout);
//!     let arrivals = on_the_way.iter().map(|(at, _, _)| *at);
//!     let Some(next) = timeouts.chain(arrivals).min() else { break };
//!     now = next;
//!     for end in &mut ends {
//!         end.on_timeout(now);
//!     }
//!     while on_the_way.first().is_some_and(|(at, _, _)| *at <= now) {
//!         let (_, to, datagram) = on_the_way.remove(0);
//!         ends[to].on_datagram(now, &datagram)?;
//!     }
//! }
//! assert_eq!(read, data);
//! assert!(ends.iter().all(Endpoint::is_done));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod connection;
mod endpoint;
mod segment;
mod stream;

pub use connection::{
    Connection, Ecn, FastOpen, Keepalive, MtuProbing, Over, Probing, Refusal, Settings, UrgentByte,
};
pub use endpoint::{Config, Endpoint, EndpointError, Logged};
pub use segment::{Arrival, Departure, FastOpenOption};
pub use stream::Stream;
