//! Evidence of an offence that somebody outside the chain has seen.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Validator, orders::SlashPart, processes::refused};
use crate::{
    consensus::{ConsensusKind, OffenceProof, dpos::ConflictingBlocks, pbft::DoubleSigning, pos::SlashingEvidence},
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
    let kind = chain.node().consensus();
    if matches!(kind, ConsensusKind::Poa | ConsensusKind::Raft) {
        let message = format!("{} knows of no offence that evidence proves: leave evidence out", kind.name());
        return Err(PlatformError::UnsupportedByConsensus { message });
    }
    if part.is_some() {
        return conflict("for an offence the protocol takes what its own rule says: leave percentage and amount out");
    }
    let Some(network) = chain.network() else {
        return conflict("the chain makes blocks on demand, and nobody votes: make a chain with a blockTime");
    };
    network.report_offence(validator.sealing_key, &read(kind, evidence)?).map_err(refused)
}

/// Reads the evidence of a protocol.
fn read(kind: ConsensusKind, evidence: &Value) -> Result<OffenceProof, PlatformError> {
    Ok(match kind {
        ConsensusKind::Dpos => of_type::<ConflictingBlocks>(
            evidence,
            "two headers that the validator has sealed, as {\"first\": {\"header\": \"0x..\", \"seal\": \"0x..\"}, \"second\": ..}, each header in RLP",
        )?
        .into(),
        ConsensusKind::Pbft => of_type::<DoubleSigning>(
            evidence,
            "two votes of the validator in one phase (1 pre-prepare, 2 prepare, 3 commit), as {\"kind\": 2, \"view\": 0, \"height\": 5, \
             \"first\": \"0x..\", \"firstSignature\": \"0x..\", \"second\": \"0x..\", \"secondSignature\": \"0x..\"}, the lesser hash first",
        )?
        .into(),
        _ => of_type::<SlashingEvidence>(
            evidence,
            "two votes or two blocks of the validator, as {\"Votes\": {\"first\": .., \"second\": ..}} or {\"Proposals\": ..}",
        )?
        .into(),
    })
}

fn of_type<T: DeserializeOwned>(evidence: &Value, expected: &str) -> Result<T, PlatformError> {
    serde_json::from_value(evidence.clone())
        .map_err(|cause| PlatformError::field("evidence", expected, cause.to_string()))
}
