//! Evidence of an offence that somebody outside the chain has seen.

use serde_json::Value;

use super::{Validator, orders::SlashPart, processes::refused};
use crate::{
    consensus::{ConsensusKind, pos::SlashingEvidence},
    platform::{PlatformError, blockchain::Blockchain},
};

/// Passes evidence against a validator to the chain's replicas; the protocol's own rule says what is taken.
pub(super) fn report(
    chain: &Blockchain,
    validator: &Validator,
    part: Option<SlashPart>,
    evidence: &Value,
) -> Result<(), PlatformError> {
    let conflict = |message: &str| Err(PlatformError::Conflict { message: message.to_owned() });
    if chain.node().consensus() != ConsensusKind::Pos {
        return conflict(
            "the protocol takes no evidence from outside: its replicas report what they see themselves; leave evidence out",
        );
    }
    if part.is_some() {
        return conflict("for an offence the protocol takes what its own rule says: leave percentage and amount out");
    }
    let Some(network) = chain.network() else {
        return conflict("the chain makes blocks on demand, and nobody votes: make a chain with a blockTime");
    };
    let expected = "two votes or two blocks of the validator, as {\"Votes\": {\"first\": .., \"second\": ..}} or {\"Proposals\": ..}";
    let offence: SlashingEvidence = serde_json::from_value(evidence.clone())
        .map_err(|cause| PlatformError::field("evidence", expected, cause.to_string()))?;
    network.report_offence(validator.sealing_key, &offence).map_err(refused)
}
