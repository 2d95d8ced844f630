//! quinn-proto as an end of a flow.

mod dialect;

#[path = "../family/control.rs"]
mod control;
#[path = "../family/endpoint.rs"]
mod endpoint;
#[path = "../family/session.rs"]
mod session;

use quinn_proto as proto;

pub(crate) use self::endpoint::end;
