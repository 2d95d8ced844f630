//! The log of a flow's own stack.

use std::sync::Arc;

use midflight_quic::Log;
use midflight_sim::{Event, FlowId, Observer};
use midflight_units::Instant;

use super::{play, GoOn, RunObserver};
use crate::error::StudyError;
use crate::quic::QuicSetup;
use crate::setup::Setup;

/// Maximum size of a log in bytes.
const MOST_BYTES: usize = 1 << 30;

/// There is no observer besides the stack itself.
#[derive(Clone, Debug)]
struct Unwatched(Log);

impl Observer for Unwatched {
    fn record(&mut self, _now: Instant, _flow: FlowId, _event: &Event<'_>) {}
}

impl RunObserver for Unwatched {
    type Detail = super::Plain;

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        if self.0.len() > MOST_BYTES {
            return Err(StudyError::TooLong {
                what: "bytes of a stack's log",
                most: MOST_BYTES,
                end,
            });
        }
        Ok(())
    }
}

/// The qlog that the stack of a flow of a run writes at the end that sends the data (of the first flow if none
/// is named); none for a flow without a QUIC stack. `go_on` is as for [`super::trace`].
///
/// # Errors
/// As [`super::trace`].
pub fn stack_log(
    setup: &Setup,
    flow: Option<&str>,
    go_on: GoOn<'_>,
) -> Result<Option<Vec<u8>>, StudyError> {
    let number = setup.flow_of_name(flow)?;
    let mut flows = setup.flows.to_vec();
    let Some(quic) = &flows[number].quic else {
        return Ok(None);
    };
    let log = Log::kept();
    let logged = midflight_quic::Flow {
        log: log.clone(),
        ..quic.flow.clone()
    };
    flows[number].quic = Some(Arc::new(QuicSetup {
        flow: logged,
        addresses: quic.addresses.clone(),
        exits: quic.exits.clone(),
    }));
    let setup = Setup {
        flows: flows.into(),
        ..setup.clone()
    };
    play(&setup, Unwatched(log.clone()), go_on)?;
    Ok(Some(log.take()))
}
