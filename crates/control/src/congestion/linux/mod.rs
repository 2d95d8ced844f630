//! What the controllers of Linux share.

pub(in crate::congestion) mod control;
pub(in crate::congestion) mod hystart;
pub(in crate::congestion) mod packets;
