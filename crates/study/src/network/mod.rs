//! The networks of the questions: nodes, links and routes.

pub(crate) mod bottleneck;
pub(crate) mod cell;
pub(crate) mod relay;
pub(crate) mod stations;
