//! Applications, and which flows carry them.

use midflight_control::workload::AnyWorkload;
use midflight_sim::{AppConfig, ConnectionConfig};

use super::flow_id;

/// The flows of a connection: that of the data, and that of the messages of the data's receiver, which a flow over QUIC
/// carries itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionSetup {
    pub(crate) data: u32,
    pub(crate) back: Option<u32>,
}

/// An application of a run, with its random values drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AppSetup {
    pub(crate) workload: AnyWorkload,
    pub(crate) connections: Vec<ConnectionSetup>,
}

impl AppSetup {
    /// Its parts in the simulator.
    pub(super) fn config(&self) -> AppConfig {
        let connection = |of: &ConnectionSetup| ConnectionConfig {
            data: flow_id(of.data),
            back: of.back.map(flow_id),
        };
        AppConfig {
            workload: self.workload.clone(),
            connections: self.connections.iter().map(connection).collect(),
        }
    }
}
