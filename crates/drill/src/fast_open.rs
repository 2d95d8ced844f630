//! TCP Fast Open (RFC 7413) as Linux 6.12 has it: the cookies of a server and of a client, and the calls that send
//! data in the SYN. Comments name the functions of the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use midflight_endpoint::{FastOpen, FastOpenOption};

use super::call::Reply;
use super::runner::Runner;
use super::script::{Call, SegmentSpec};
use super::DrillError;

/// Bits of net.ipv4.tcp_fastopen: a client; a server; a client that needs no cookie; a server that needs none; and a
/// server without the option TCP_FASTOPEN.
const CLIENT: u64 = 0x1;
const SERVER: u64 = 0x2;
const CLIENT_WITHOUT_COOKIE: u64 = 0x4;
const SERVER_WITHOUT_COOKIE: u64 = 0x200;
const SERVER_WITHOUT_OPTION: u64 = 0x400;

/// Bytes of TCP options that a SYN with data leaves free (MAX_TCP_OPTION_SPACE).
const OPTION_SPACE: u64 = 40;

/// Sizes of a cookie in bytes (RFC 7413 section 4.1.1).
const SIZES: std::ops::RangeInclusive<usize> = 4..=16;

/// The settings of a host, and the values from which a server makes its cookies.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// net.ipv4.tcp_fastopen.
    bits: u64,
    /// net.ipv4.tcp_fastopen_key; the first makes cookies, the second is accepted too.
    keys: Vec<[u64; 2]>,
    local: IpAddr,
    remote: IpAddr,
}

impl Default for Server {
    /// The kernel's bits; the addresses that packetdrill's scripts usually have; and a key of zeros, where the kernel's
    /// is random.
    fn default() -> Self {
        Self {
            bits: CLIENT,
            keys: vec![[0; 2]],
            local: Ipv4Addr::new(192, 168, 0, 1).into(),
            remote: Ipv4Addr::new(192, 0, 2, 1).into(),
        }
    }
}

impl Server {
    /// The bits and the key in the file defaults.sh of the kernel's scripts.
    pub(super) fn as_of_defaults(&mut self) {
        self.bits = 0x70403;
        self.set_keys("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4");
    }

    pub(super) fn set_bits(&mut self, text: &str) -> bool {
        let bits = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        self.bits = bits.clone().unwrap_or(self.bits);
        bits.is_ok()
    }

    /// proc_tcp_fastopen_key().
    pub(super) fn set_keys(&mut self, text: &str) -> bool {
        let key = |text: &str| {
            let words = text.trim().split('-');
            let words: Option<Vec<_>> = words
                .map(|word| u32::from_str_radix(word, 16).ok().map(u64::from))
                .collect();
            match words.as_deref() {
                Some(&[a, b, c, d]) => Some([a | b << 32, c | d << 32]),
                _ => None,
            }
        };
        let keys: Option<Vec<_>> = text.split(',').map(key).collect();
        let keys = keys.filter(|keys| keys.len() <= 2);
        let is_read = keys.is_some();
        self.keys = keys.unwrap_or_else(|| std::mem::take(&mut self.keys));
        is_read
    }

    /// The addresses that packetdrill's scripts usually have with IPv6.
    pub(super) fn use_ipv6(&mut self) {
        let of_host = |host| Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, host);
        self.local = of_host(1).into();
        self.remote = Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0x8888, 0, 0, 0, 1).into();
    }

    /// Takes the address of a flag of the script, which is only used for cookies; returns false if it is none.
    pub(super) fn address(&mut self, flag: &str, value: Option<&str>) -> bool {
        let Some(address) = value.and_then(|v| v.parse().ok()) else {
            return false;
        };
        if flag == "local_ip" {
            self.local = address;
        } else {
            self.remote = address;
        }
        true
    }

    /// __tcp_fastopen_cookie_gen_cipher(): the hash of both addresses.
    fn cookie(&self, key: [u64; 2]) -> Vec<u8> {
        let octets = |address: IpAddr| match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let addresses = [octets(self.remote), octets(self.local)].concat();
        siphash(key, &addresses).to_le_bytes().to_vec()
    }

    /// The option of a segment of the script. `TFO_COOKIE` is the cookie of the first key, `TFO_COOKIE_ZERO` that of
    /// the key of zeros.
    pub(super) fn option(&self, spec: &SegmentSpec) -> Option<FastOpenOption> {
        let (text, is_experimental) = spec.options.cookie.as_ref()?;
        let cookie = match text.as_str() {
            "TFO_COOKIE" => self.cookie(self.keys[0]),
            "TFO_COOKIE_ZERO" => self.cookie([0; 2]),
            digits => (0..digits.len() / 2)
                .filter_map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok())
                .collect(),
        };
        Some(FastOpenOption {
            cookie,
            is_experimental: *is_experimental,
        })
    }

    /// tcp_try_fastopen(): the response of a listener, whose queue for TCP Fast Open has this length, to a SYN.
    pub(super) fn answer(&self, syn: &SegmentSpec, queue: u64, no_cookie: bool) -> FastOpen {
        let option = self.option(syn);
        // tcp_parse_fastopen_option(): a cookie of another size is none.
        let fits = |o: &FastOpenOption| o.cookie.is_empty() || SIZES.contains(&o.cookie.len());
        let option = option.filter(fits);
        let asks = option.is_some() || syn.to > syn.from;
        let accepted = FastOpen {
            accepts: true,
            ..FastOpen::default()
        };
        if self.bits & SERVER == 0 || queue == 0 || !asks {
            return FastOpen::default();
        }
        if self.bits & SERVER_WITHOUT_COOKIE != 0 || no_cookie {
            return accepted;
        }
        let Some(FastOpenOption {
            cookie,
            is_experimental,
        }) = option
        else {
            return FastOpen::default();
        };
        // The valid cookie, in response to another or to a request.
        let option = Some(FastOpenOption {
            cookie: self.cookie(self.keys[0]),
            is_experimental,
        });
        match self.keys.iter().position(|&key| self.cookie(key) == cookie) {
            Some(0) => accepted,
            Some(_) => FastOpen { option, ..accepted },
            None => FastOpen {
                option,
                ..FastOpen::default()
            },
        }
    }

    /// inet_listen(): the length of the queue of a listener without the option TCP_FASTOPEN.
    pub(super) fn queue(&self, backlog: u64) -> Option<u64> {
        let both = SERVER | SERVER_WITHOUT_OPTION;
        (self.bits & both == both).then_some(backlog)
    }

    pub(super) fn is_client(&self) -> bool {
        self.bits & CLIENT != 0
    }
}

/// What a client keeps of the server (tcp_fastopen_cache_get(), tcp_fastopen_cache_set()).
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    mss: Option<u64>,
    cookie: FastOpenOption,
    /// Whether the experimental option is tried: 1 is yes, 2 is not any more.
    experiment: u8,
}

/// The state of the client.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) cache: Cache,
    /// The option of our SYN, and whether that carried data.
    asked: Option<FastOpenOption>,
    had_data: bool,
    /// Bytes of the waiting call that our SYN carries.
    carried: u64,
}

impl Cache {
    /// tcp_fastopen_cookie_check(): the option of our SYN, and whether the SYN may carry data.
    fn check(&self, server: &Server, no_cookie: bool) -> (Option<FastOpenOption>, bool) {
        let mut option = self.cookie.clone();
        option.is_experimental |= option.cookie.is_empty() && self.experiment == 1;
        if server.bits & CLIENT_WITHOUT_COOKIE != 0 || no_cookie {
            return (None, true);
        }
        let has_cookie = !option.cookie.is_empty();
        (Some(option), has_cookie)
    }
}

impl Runner<'_> {
    /// The response to our SYN has arrived: what is kept of it (tcp_rcv_fastopen_synack()).
    pub(super) fn keep_cookie(&mut self, spec: &SegmentSpec) {
        let client = &mut self.client;
        let was_asked = client.asked.take();
        if was_asked.is_none() && !client.had_data {
            return;
        }
        let retransmitted = self.connection.as_ref().map_or(0, |c| c.counts.syns) > 1;
        let option = self.environment.fast_open.option(spec);
        let option = option.filter(|o| was_asked.is_some() && SIZES.contains(&o.cookie.len()));
        let cache = &mut client.cache;
        cache.mss = Some(spec.options.mss.unwrap_or(536));
        if let Some(option) = option {
            cache.cookie = option;
        } else if let (Some(asked), false, false) = (was_asked, retransmitted, client.had_data) {
            let experiment = if asked.is_experimental { 2 } else { 1 };
            if cache.cookie.cookie.is_empty() && !cache.cookie.is_experimental {
                cache.experiment = cache.experiment.max(experiment);
            }
        }
    }

    /// Opens the connection with a SYN that requests a cookie, or with data of a call that writes `bytes`
    /// (tcp_send_syn_data()). `waits`: the call waits for the handshake. Returns how many bytes the SYN carries.
    fn open_fast(&mut self, line: u32, bytes: u64, waits: bool) -> Result<u64, DrillError> {
        let (option, has_cookie) = self
            .client
            .cache
            .check(&self.environment.fast_open, self.sockets.no_cookie);
        let mss = self.environment.mss;
        let mss = self.client.cache.mss.map_or(mss, |known| mss.min(known));
        let room = mss.saturating_sub(OPTION_SPACE);
        let carried = if has_cookie { room.min(bytes) } else { 0 };
        self.client.asked.clone_from(&option);
        self.client.had_data = carried > 0;
        let fast_open = FastOpen {
            option,
            bytes: carried,
            writes_next: waits && carried < bytes,
            accepts: false,
        };
        self.open(line, fast_open)?;
        Ok(carried)
    }

    /// connect() with TCP_FASTOPEN_CONNECT: with a cookie the SYN waits for data, without one it requests a cookie
    /// (tcp_fastopen_defer_connect()). Returns whether it waits.
    pub(super) fn connect_fast(&mut self, line: u32) -> Result<bool, DrillError> {
        let (_, has_cookie) = self
            .client
            .cache
            .check(&self.environment.fast_open, self.sockets.no_cookie);
        self.sockets.deferred = has_cookie;
        if !has_cookie {
            self.open_fast(line, 0, false)?;
        }
        Ok(has_cookie)
    }

    /// Writes `bytes` with MSG_FASTOPEN, or after a deferred connect() (tcp_sendmsg_fastopen()).
    pub(super) fn write_fast(
        &mut self,
        line: u32,
        call: &Call,
        bytes: u64,
        uncopied: bool,
        waits: bool,
    ) -> Result<Reply, DrillError> {
        if self.retrying {
            return self.finish_fast(line, call, bytes);
        }
        if let Some(connection) = self
            .connection
            .as_ref()
            .filter(|_| self.sockets.connected.is_some())
        {
            let is_done = connection.tcp.is_established();
            return Ok(Some(Err(if is_done { "EISCONN" } else { "EALREADY" })));
        }
        if !self.environment.fast_open.is_client() {
            return Ok(Some(Err("EOPNOTSUPP")));
        }
        self.sockets.deferred = false;
        let carried = self.open_fast(line, bytes, waits)?;
        self.client.carried = carried;
        self.sockets.buffer.begin_with(carried);
        if uncopied && carried > 0 {
            self.sockets.uncopied.send(1 + carried);
        }
        Ok(match (waits, carried) {
            (true, _) => None,
            (false, 0) => Some(Err("EINPROGRESS")),
            (false, carried) => Some(Ok(carried as i64)),
        })
    }

    /// The waiting call writes the rest when the handshake has ended.
    fn finish_fast(&mut self, line: u32, call: &Call, bytes: u64) -> Result<Reply, DrillError> {
        if let Some(error) = self.take_error() {
            return Ok(Some(Err(error)));
        }
        let rest = bytes.saturating_sub(self.client.carried);
        let Some(connection) = self.connection.as_mut() else {
            return Ok(None);
        };
        if !connection.tcp.is_established() {
            // SO_SNDTIMEO (__inet_stream_connect(), tcp_sendmsg_locked()).
            let carried = self.client.carried as i64;
            let late = if carried > 0 {
                Ok(carried)
            } else {
                Err("EINPROGRESS")
            };
            return Ok(self.patience_over.then_some(late));
        }
        if self.sockets.buffer.is_limited() {
            return self.write_limited(line, call, bytes, (false, false), (true, 0, false));
        }
        if rest > 0 && !connection.write(&[rest], (false, false), (0, false)) {
            let what = format!("{} of {bytes} bytes", call.name);
            return self.refuse(line, what, "expected at most 100000 segments in all");
        }
        Ok(Some(Ok(bytes as i64)))
    }
}

/// SipHash-2-4 (Aumasson and Bernstein 2012) of eight bytes.
fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    fn round(v: &mut [u64; 4]) {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    // The message, whose length is a multiple of eight, and the last block, which has its length.
    let blocks = bytes.chunks_exact(8).map(|chunk| {
        let mut block = [0; 8];
        block.copy_from_slice(chunk);
        u64::from_le_bytes(block)
    });
    for block in blocks.chain([(bytes.len() as u64) << 56]) {
        v[3] ^= block;
        round(&mut v);
        round(&mut v);
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_its_authors() {
        // Their vector of eight bytes: the key is 00 to 0f, the message 00 to 07.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let message = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(siphash(key, &message), 0x93f5_f579_9a93_2462);
    }

    #[test]
    fn keys_and_bits_are_read_or_refused() {
        let mut server = Server::default();
        assert!(server.set_bits("0x207") && server.set_bits("519") && !server.set_bits("all"));
        assert_eq!(server.bits, 0x207);
        assert!(server.set_keys("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4,1-2-3-4"));
        assert_eq!(server.keys[0][0], 0xb2b2_b2b2_a1a1_a1a1);
        assert!(!server.set_keys("1-2-3") && server.keys.len() == 2);
    }
}
