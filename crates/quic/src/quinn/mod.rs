//! quinn-proto as an end of a flow.

mod control;
mod driver;
mod session;

use quinn_proto as proto;

pub(crate) use self::driver::Driver;
