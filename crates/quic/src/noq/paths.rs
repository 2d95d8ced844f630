//! Several paths of a connection (draft-ietf-quic-multipath): when the client opens and closes them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use midflight_sim::TransportEvent;

use super::proto::{
    Connection, Event, FourTuple, PathEvent, PathId, PathStatus, Side, TransportConfig, VarInt,
};

/// How many paths an end allows at a time: what noq itself sets where a program allows several without a number
/// (`TransportConfig::max_remote_nat_traversal_addresses`).
const MOST: u32 = 8;

/// The number of a path.
pub(super) fn number(path: PathId) -> u64 {
    // It has no public number, and can be compared. Paths are numbered from 0 as they are opened.
    let number = (0..u32::MAX).find(|&number| PathId::from(number) == path);
    u64::from(number.unwrap_or(u32::MAX))
}

/// What an application does with the paths of its connection.
#[derive(Default)]
pub(super) struct Paths {
    /// The client's address on each path, as long as it is open.
    open: BTreeMap<PathId, SocketAddr>,
    /// The newest of them so far.
    newest: Option<PathId>,
    /// The path to which the client will change when it is validated.
    next: Option<PathId>,
    /// The statuses that the client has set and the server has not: the path is not there yet.
    wanted: BTreeMap<PathId, PathStatus>,
    validated: Vec<PathId>,
    abandoned: Vec<PathId>,
}

impl Paths {
    /// Both ends of a connection allow several paths.
    pub(super) fn allow(config: &mut TransportConfig) {
        config.max_concurrent_multipath_paths(MOST);
    }

    /// The client opens a path from an address to the server's, as a backup: data stay on the old path until the new one is
    /// validated. False if the stack refuses.
    pub(super) fn open(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        (local, server): (SocketAddr, SocketAddr),
    ) -> bool {
        let ends = FourTuple::new(server, Some(local.ip()));
        // A status given here is not sent to the other end, one that is set later is.
        let Ok(path) = connection.open_path(ends, PathStatus::Available, now) else {
            return false;
        };
        // The path exists.
        let _ = connection.set_path_status(path, PathStatus::Backup);
        self.open.insert(path, local);
        (self.next, self.newest) = (Some(path), Some(path));
        true
    }

    /// What the connection reports.
    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            Event::Path(PathEvent::Established { id, .. }) => self.validated.push(*id),
            Event::Path(PathEvent::Abandoned { id, .. }) => self.abandoned.push(*id),
            Event::Path(PathEvent::RemoteStatus { id, status, .. }) => {
                self.wanted.insert(*id, *status);
            }
            _ => {}
        }
    }

    /// Does what follows from the reports: the client changes to its new path and closes the others; the server uses the
    /// paths as the client does (section 3.3 of the draft leaves that to it).
    pub(super) fn settle(
        &mut self,
        connection: &mut Connection,
        now: Instant,
        local: SocketAddr,
        events: &mut Vec<TransportEvent>,
    ) {
        let is_server = connection.side() == Side::Server;
        if !is_server {
            // Those that the connection has opened itself, from the present address.
            for path in connection.paths() {
                if Some(path) > self.newest {
                    self.newest = Some(path);
                    self.open.insert(path, local);
                }
            }
        }
        for path in std::mem::take(&mut self.validated) {
            if self.next == Some(path) {
                self.next = None;
                let _ = connection.set_path_status(path, PathStatus::Available);
                let others = self.open.keys().filter(|id| **id != path);
                for &other in &others.copied().collect::<Vec<_>>() {
                    let _ = connection.set_path_status(other, PathStatus::Backup);
                    // It may be closed already.
                    let _ = connection.close_path(now, other, VarInt::from_u32(0));
                    self.close(other, events);
                }
            }
        }
        for path in std::mem::take(&mut self.abandoned) {
            self.close(path, events);
            self.wanted.remove(&path);
        }
        let set = |path: &PathId, status: &mut PathStatus| {
            connection.set_path_status(*path, *status).is_err()
        };
        self.wanted.retain(set);
    }

    /// The client's path is closed.
    fn close(&mut self, path: PathId, events: &mut Vec<TransportEvent>) {
        if let Some(address) = self.open.remove(&path) {
            events.push(TransportEvent::PathClosed(address.to_string().into()));
        }
        self.next = self.next.filter(|next| *next != path);
    }
}
