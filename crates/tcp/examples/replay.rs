//! Feeds a sender with ACKs at given instants, and prints what it sends. Reads lines
//! `ACK_NS ACK ECHO_NS [LEFT RIGHT]...` from standard input, in segments of which the SYN is the
//! first; arguments: profile, segments of the flow, and settings as `NAME=VALUE`.

use std::io::{BufRead, Write};

use midflight_tcp::{profile, Ack, SackBlock, SackBlocks, Says, Sender};
use midflight_units::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut p = profile(&arguments.next().ok_or("a profile")?)?;
    let end: u64 = arguments.next().ok_or("the number of segments")?.parse()?;
    for setting in arguments {
        let (name, value) = setting.split_once('=').ok_or("NAME=VALUE")?;
        p.set(name, value)?;
    }
    let mut sender = Sender::new(&p.sender, []);
    sender.set_end(end);
    let out = &mut std::io::stdout().lock();
    let mut open_at = Instant::from_nanos(3);
    let mut lines = std::io::stdin().lock().lines().peekable();
    if let Some(Ok(first)) = lines.peek() {
        if let Some(at) = first.strip_prefix("open ") {
            open_at = Instant::from_nanos(at.parse()?);
            lines.next();
        }
    }
    sender.open(open_at, &mut ());
    send(&mut sender, open_at, out)?;
    for line in lines {
        let line = line?;
        let numbers: Vec<u64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let [at, ack, echo, blocks @ ..] = &numbers[..] else {
            return Err("a line of an ACK".into());
        };
        let now = Instant::from_nanos(*at);
        wake(&mut sender, now, out)?;
        let mut sack = SackBlocks::default();
        for block in blocks.chunks(2) {
            sack.push(
                *ack,
                SackBlock {
                    left: block[0],
                    right: block[1],
                },
            );
        }
        let ack = Ack {
            ack: *ack,
            sack,
            echo: Some(Instant::from_nanos(*echo)),
            cause_sent: now,
            says: Says::Nothing,
        };
        sender.on_ack(now, &ack, &mut ());
        send(&mut sender, now, out)?;
    }
    wake(&mut sender, Instant::from_nanos(u64::MAX / 4), out)?;
    Ok(())
}

/// Timers up to `now`; no more than some, as nobody answers.
fn wake(sender: &mut Sender, now: Instant, out: &mut impl Write) -> std::io::Result<()> {
    for _ in 0..20 {
        match sender.poll_timer() {
            Some((due, _)) if due < now => {
                sender.on_timer(due, &mut ());
                send(sender, due, out)?;
            }
            _ => break,
        }
    }
    Ok(())
}

fn send(sender: &mut Sender, now: Instant, out: &mut impl Write) -> std::io::Result<()> {
    while let Some(segment) = sender.poll_transmit(now) {
        let view = sender.view();
        let micros = |d: Option<midflight_units::Duration>| d.map_or(0, |d| d.as_nanos() / 1000);
        writeln!(
            out,
            "{} {} {} {} {} {} {} {}",
            now.as_nanos(),
            segment.seq,
            u8::from(segment.retransmission),
            view.cwnd,
            view.ssthresh,
            micros(view.srtt),
            micros(view.rttvar),
            view.rto.as_nanos() / 1000,
        )?;
    }
    Ok(())
}
