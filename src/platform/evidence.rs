//! Evidence of offences that somebody outside a chain has seen: what is accepted is told again to replicas that have lost it.
//!
//! Replicas keep evidence in memory until a block reports it. So that none is lost with the process, the service keeps a record of what it
//! has taken, and tells it again whenever the chain begins to run.

use alloy_primitives::{Address, hex, keccak256};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    PlatformError,
    blockchain::{Blockchain, BlockchainRecord},
    context::Context,
    records::{Index, Owner, Reach, Record, SortKey, Stored, Unit},
};
use crate::{
    consensus::{ConsensusKind, OffenceProof, dpos::ConflictingBlocks, pbft::DoubleSigning, pos::SlashingEvidence},
    node::PacedError,
    sim::OffenceError,
};

/// Time after its first refusal at which evidence that is refused again is forgotten, in milliseconds: until then the block that reports it may
/// lose to another.
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
    /// Id of the request that gave it: when that is run again it is done.
    pub(super) request: String,
    /// When the replicas first refused it since they took it, in milliseconds since the Unix epoch.
    pub(super) refused_at_ms: Option<u64>,
}

impl Record for GivenEvidence {
    const KIND: &'static str = "evidence";
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN];
}

impl GivenEvidence {
    /// What was given to a chain, the oldest first.
    pub(super) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |evidence| Some(SortKey::new().text(&evidence.value.blockchain_id)),
        |evidence| SortKey::new().number(evidence.created_at_ms()),
    );

    /// Id of the record of a proof.
    pub(super) fn id(&self) -> String {
        hex::encode(keccak256(&self.proof))
    }

    /// Keeps it, in place of the same that was kept.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] where the chain was deleted meanwhile.
    pub(super) fn keep(self, unit: &mut Unit<'_>, owner: &Owner) -> Result<(), PlatformError> {
        unit.of::<BlockchainRecord>().require(owner, &self.blockchain_id)?;
        let id = self.id();
        match unit.of::<Self>().get(owner, &id)? {
            Some(mut stored) => {
                stored.value = self;
                unit.replace(&stored)?;
            }
            None => drop(unit.insert(owner, &id, self)?),
        }
        Ok(())
    }
}

/// Reports an offence to a chain's replicas; the protocol's own rule says what is taken.
pub(super) fn report(chain: &Blockchain, offender: Address, proof: &OffenceProof) -> Result<(), PlatformError> {
    let Some(network) = chain.network() else {
        let message = "the chain makes blocks on demand, and nobody votes: make a chain with a blockTime".to_owned();
        return Err(PlatformError::Conflict { message });
    };
    network.report_offence(offender, proof).map_err(PlatformError::from_command)
}

/// Tells replicas that have just begun what was given to their chain before, once. What they refused for long is forgotten.
///
/// # Errors
/// Those of the records.
pub(super) fn report_again(context: &Context, chain: &Blockchain) -> Result<(), PlatformError> {
    let Some(network) = chain.network() else { return Ok(()) };
    let (records, kind) = (&context.records, chain.node().consensus());
    let given = records.of().of_chain(&GivenEvidence::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
    for evidence in given {
        let Some(proof) = serde_json::from_str(&evidence.value.proof).ok().and_then(|proof| read(kind, &proof).ok())
        else {
            continue;
        };
        let told = network.report_offence(evidence.value.offender, &proof);
        if matches!(told, Err(PacedError::Offence(OffenceError::Refused(_)))) {
            records.unit(|unit| note_refused(unit, evidence))?;
        }
    }
    Ok(())
}

/// Notes that evidence was refused, or forgets what was for long.
fn note_refused(unit: &mut Unit<'_>, mut evidence: Stored<GivenEvidence>) -> Result<(), PlatformError> {
    let now_ms = unit.now_ms();
    match evidence.value.refused_at_ms {
        Some(first) if now_ms.saturating_sub(first) > SETTLED_AFTER_MS => unit.delete(&evidence)?,
        Some(_) => {}
        None => {
            evidence.value.refused_at_ms = Some(now_ms);
            unit.replace(&evidence)?;
        }
    }
    Ok(())
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
