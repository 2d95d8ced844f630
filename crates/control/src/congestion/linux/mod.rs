//! Common parts of the Linux controllers.

pub(in crate::congestion) mod control;
pub(in crate::congestion) mod hystart;
pub(in crate::congestion) mod packets;
