//! Evidence of offences that somebody outside a chain has seen: what is accepted is told again to replicas that have lost it.
//!
//! Replicas keep evidence in memory until a block reports it. So that none is lost with the process, the service keeps a record of what it
//! has taken, and tells it again whenever the chain begins to run.

use alloy_primitives::Address;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    PlatformError,
    blockchain::Blockchain,
    context::Context,
    records::{Index, Owner, Reach, Record, SortKey, Stored, Unit},
};
use crate::{
    consensus::{ConsensusKind, OffenceProof, dpos::ConflictingBlocks, pbft::DoubleSigning, pos::SlashingEvidence},
    node::{EngineError, PacedError},
};

/// Time after which evidence that the replicas refuse is forgotten, in milliseconds: until then the block that reports it may lose to
/// another, or its replica not have begun.
const SETTLED_AFTER_MS: u64 = 3_600_000;

/// Evidence that the replicas of a chain have accepted from an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GivenEvidence {
    /// Id of the chain.
    pub(super) blockchain_id: String,
    /// Sealing key of who is accused.
    pub(super) offender: Address,
    /// The proof, as JSON of the protocol's type.
    pub(super) proof: String,
}

impl Record for GivenEvidence {
    const KIND: &'static str = "evidence";
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN];
}

impl GivenEvidence {
    const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |evidence| Some(SortKey::new().text(&evidence.value.blockchain_id)),
        |evidence| SortKey::new().number(evidence.created_at_ms()),
    );

    /// Keeps it under a name, unless it is kept.
    pub(super) fn keep(self, unit: &mut Unit<'_>, owner: &Owner, id: &str) -> Result<(), PlatformError> {
        if unit.of::<Self>().get(owner, id)?.is_none() {
            unit.insert(owner, id, self)?;
        }
        Ok(())
    }

    /// Returns what was given to a chain, the oldest first.
    pub(super) fn of_unit(unit: &Unit<'_>, owner: &Owner, chain: &str) -> Result<Vec<Stored<Self>>, PlatformError> {
        Ok(unit.of().all(&Self::BY_BLOCKCHAIN, owner, &SortKey::new().text(chain))?)
    }
}

/// Reports an offence to a chain's replicas; the protocol's own rule says what is taken.
pub(super) fn report(chain: &Blockchain, offender: Address, proof: &OffenceProof) -> Result<(), PlatformError> {
    let Some(network) = chain.network() else {
        let message = "the chain makes blocks on demand, and nobody votes: make a chain with a blockTime".to_owned();
        return Err(PlatformError::Conflict { message });
    };
    network.report_offence(offender, proof).map_err(|cause| match cause {
        PacedError::Engine(EngineError::Halted { reason }) => {
            PlatformError::Conflict { message: format!("the chain takes no commands: {reason}") }
        }
        PacedError::Offence(cause) => PlatformError::Conflict { message: cause.to_string() },
        other => PlatformError::internal(other),
    })
}

/// Tells replicas that have just begun what was given to their chain before, and forgets what they refused for long.
pub(super) fn report_again(context: &Context, chain: &Blockchain) -> Result<(), PlatformError> {
    let (records, kind) = (&context.records, chain.node().consensus());
    let given: Vec<Stored<GivenEvidence>> =
        records.of().all(&GivenEvidence::BY_BLOCKCHAIN, chain.owner(), &SortKey::new().text(chain.id()))?;
    let mut settled = Vec::new();
    for evidence in given {
        let proof = serde_json::from_str(&evidence.value.proof).map_err(PlatformError::internal)?;
        match read(kind, &proof).and_then(|proof| report(chain, evidence.value.offender, &proof)) {
            Ok(()) => {}
            Err(cause @ PlatformError::Internal { .. }) => return Err(cause),
            Err(_) if records.clock().now_ms().saturating_sub(evidence.created_at_ms()) > SETTLED_AFTER_MS => {
                settled.push(evidence);
            }
            Err(_) => {}
        }
    }
    if settled.is_empty() {
        return Ok(());
    }
    records.unit(|unit| settled.iter().try_for_each(|evidence| Ok(unit.delete(evidence)?)))
}

/// Reads the evidence of a protocol.
///
/// # Errors
/// [`PlatformError::UnsupportedByConsensus`] where the protocol knows of no offence, [`PlatformError::Validation`] of the field `evidence`.
pub(super) fn read(kind: ConsensusKind, evidence: &Value) -> Result<OffenceProof, PlatformError> {
    Ok(match kind {
        ConsensusKind::Poa | ConsensusKind::Raft => {
            let message = format!("{} knows of no offence that evidence proves: leave evidence out", kind.name());
            return Err(PlatformError::UnsupportedByConsensus { message });
        }
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
        ConsensusKind::Pos => of_type::<SlashingEvidence>(
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
