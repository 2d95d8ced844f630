//! Flows that run a QUIC stack.

use std::net::{Ipv4Addr, SocketAddrV4};

use midflight_sim::{End, LinkId, NodeId, StackConfig};

use crate::error::StudyError;
use crate::setup::FlowSetup;

/// A flow over QUIC. The client is the node that is not the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuicSetup {
    pub(crate) flow: midflight_quic::Flow,
    /// The client's addresses in order, each with the node where packets to it arrive.
    pub(crate) addresses: Vec<(SocketAddrV4, NodeId)>,
    /// The first links of its datagrams, by their source address, if that determines them.
    pub(crate) exits: Vec<(Ipv4Addr, LinkId)>,
}

/// The receiver's node of a flow with our own QUIC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Client {
    /// Its addresses in order, each with the node where packets to it arrive.
    pub(crate) addresses: Vec<(SocketAddrV4, NodeId)>,
    /// It detects its address changes.
    pub(crate) migrates: bool,
}

impl FlowSetup {
    /// The endpoints of a flow that runs a QUIC stack.
    pub(crate) fn stack_config(&self) -> Option<Result<StackConfig, StudyError>> {
        let QuicSetup {
            flow,
            addresses,
            exits,
        } = self.quic.as_deref()?;
        let nodes = if self.up {
            [self.from, self.to]
        } else {
            [self.to, self.from]
        };
        let config = |ends| StackConfig {
            nodes,
            ends,
            addresses: addresses.clone(),
            exits: exits.clone(),
            data: Some(flow.data()),
        };
        let refused = |why| StudyError::Stack {
            flow: self.name.to_string(),
            why,
        };
        Some(flow.ends().map(config).map_err(refused))
    }

    /// The data-sending end of a flow that runs a QUIC stack.
    pub(crate) fn stack_sender(&self) -> Option<End> {
        self.quic.as_deref().map(|quic| quic.flow.sender)
    }

    /// Whether its packets can only be read with secrets.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.quic.as_deref().is_some_and(|quic| quic.flow.tls)
    }
}
