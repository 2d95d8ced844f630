//! Flows that run a QUIC stack.

use std::net::SocketAddrV4;

use midflight_sim::{End, NodeId, StackConfig};

use crate::error::StudyError;
use crate::setup::FlowSetup;

/// A flow over QUIC. Its client is the one of the two nodes that is not the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuicSetup {
    pub(crate) flow: midflight_quic::Flow,
    /// The addresses that the client has in turn, and where what is sent there arrives.
    pub(crate) addresses: Vec<(SocketAddrV4, NodeId)>,
}

/// The node of a receiver of our own QUIC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Client {
    /// The addresses that it has in turn, and where what is sent there arrives.
    pub(crate) addresses: Vec<(SocketAddrV4, NodeId)>,
    /// It knows of them.
    pub(crate) migrates: bool,
}

impl FlowSetup {
    /// The ends of a flow that runs a stack.
    pub(crate) fn stack_config(&self) -> Option<Result<StackConfig, StudyError>> {
        let QuicSetup { flow, addresses } = self.quic.as_deref()?;
        let nodes = if self.up {
            [self.from, self.to]
        } else {
            [self.to, self.from]
        };
        let config = |ends| StackConfig {
            nodes,
            ends,
            addresses: addresses.clone(),
            data: Some(flow.data()),
        };
        let refused = |why| StudyError::Stack {
            flow: self.name.to_string(),
            why,
        };
        Some(flow.ends().map(config).map_err(refused))
    }

    /// The end of a flow that runs a stack which sends its data.
    pub(crate) fn stack_sender(&self) -> Option<End> {
        self.quic.as_deref().map(|quic| quic.flow.sender)
    }

    /// Whether what it sends cannot be read without secrets.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.quic.as_deref().is_some_and(|quic| quic.flow.tls)
    }
}
