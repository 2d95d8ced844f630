//! noq-proto as an end of a flow. It is a fork of quinn-proto, whose types have the same names: the files of the family
//! are compiled for both, and a dialect has what differs.

mod dialect;
mod paths;

#[allow(clippy::duplicate_mod, reason = "of other types")]
#[path = "../family/control.rs"]
mod control;
#[allow(clippy::duplicate_mod, reason = "of other types")]
#[path = "../family/endpoint.rs"]
mod endpoint;
#[allow(clippy::duplicate_mod, reason = "of other types")]
#[path = "../family/session.rs"]
mod session;

use noq_proto as proto;

pub(crate) use self::endpoint::end;
