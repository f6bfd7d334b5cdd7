//! Errors of building and running a network.

use core::fmt;

use super::chain_options::ChainOptionsError;
use crate::{
    chain::{ChainError, PoolError},
    consensus::{BlockId, ConsensusError, Rejection, ReplicaId},
    primitives::{Height, Timestamp},
    sim::{
        check::violation::Violation,
        engine::{clock::SimTime, scheduler::SchedulerError},
        faults::plan::{FaultId, FaultKind, PlanError},
    },
    store::StoreError,
};

/// A failure of the simulator. Inputs that a replica rejects are no error; see [`ReplicaCounters`](crate::sim::ReplicaCounters).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The protocol cannot be set up.
    #[error(transparent)]
    Consensus(#[from] ConsensusError),
    /// A pool refused a transaction.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Options of the network that contradict each other or are out of bounds.
    #[error(transparent)]
    Options(#[from] NetworkOptionsError),
    /// Options of the chain that contradict each other or its genesis.
    #[error(transparent)]
    ChainOptions(#[from] ChainOptionsError),
    /// A replica's chain failed, for instance because of its store.
    #[error("{replica}: chain failed")]
    Chain {
        /// The replica.
        replica: ReplicaId,
        /// The cause.
        #[source]
        source: ChainError,
    },
    /// Stored consensus records that the network can't go on from.
    #[error(transparent)]
    StoredRecords(#[from] StoredRecordsError),
    /// The store holds a chain of another protocol.
    #[error("the store holds a chain of {stored}, {asked} is asked for: ask for {stored}, or take another store")]
    OtherProtocol {
        /// The protocol that the chain began with.
        stored: &'static str,
        /// The requested protocol.
        asked: &'static str,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The protocol rejected an admin command.
    #[error(transparent)]
    Refused(Rejection),
    /// An invariant is violated.
    #[error(transparent)]
    Violated(Box<Violation>),
    /// The replica is stopped or paused.
    #[error("{replica} does not run")]
    Down {
        /// The replica.
        replica: ReplicaId,
    },
    /// The fault plan does not fit this network.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Too many events share one instant.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The queue is empty before the awaited condition holds.
    #[error("the event queue is empty at {at}; the lowest head is at height {height}")]
    Stalled {
        /// Virtual time.
        at: SimTime,
        /// Lowest head of all replicas.
        height: Height,
    },
    /// The awaited condition did not hold in time.
    #[error("timed out at {at}: {progress}")]
    TimedOut {
        /// Virtual time.
        at: SimTime,
        /// How far every replica came, and what was in its way.
        progress: RunProgress,
    },
    /// A network that makes blocks automatically is asked to come to rest.
    #[error(
        "the network makes blocks automatically and never comes to rest: run it for a time or until a condition holds"
    )]
    NeverRests,
    /// No replica may make the next block.
    #[error("no replica waits to be asked for a block at height {height}")]
    NobodyBuilds {
        /// Height of the requested block.
        height: Height,
    },
    /// The ordered timestamp is earlier than the chain allows.
    #[error("timestamp {got} is before {earliest}, the earliest time of the next block")]
    TooEarly {
        /// The ordered timestamp.
        got: Timestamp,
        /// The earliest allowed timestamp.
        earliest: Timestamp,
    },
    /// The produced block did not become the head.
    #[error("the block made at height {height} did not become the head: {reason}")]
    NotAdopted {
        /// Its height.
        height: Height,
        /// The rejection.
        reason: String,
    },
    /// No replica has this number.
    #[error(transparent)]
    UnknownReplica(#[from] UnknownReplica),
}

/// How far the replicas of a network came, and the faults under way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunProgress {
    /// Every replica's head, by number.
    pub heads: Vec<(ReplicaId, Height)>,
    /// Faults that have begun and not ended.
    pub faults: Vec<(FaultId, FaultKind)>,
}

impl fmt::Display for RunProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = self.heads.iter().map(|(replica, height)| format!("{replica} at height {height}"));
        f.write_str(&heads.collect::<Vec<_>>().join(", "))?;
        let faults = self.faults.iter().map(|(id, kind)| match kind.replica() {
            Some(replica) => format!("{} ({}, of {replica})", id.get(), kind.label()),
            None => format!("{} ({})", id.get(), kind.label()),
        });
        match self.faults.len() {
            0 => f.write_str("; no fault is under way"),
            _ => write!(f, "; faults under way: {}", faults.collect::<Vec<_>>().join(", ")),
        }
    }
}

/// Why [`NetworkBuilder::build`](crate::sim::NetworkBuilder::build) refuses the network's options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkOptionsError {
    /// Genesis gives the chain's parameters another block time than the protocol has.
    #[error("genesis has a block time of {got:?} s among the parameters, the protocol one of {want:?} s; leave it out")]
    BlockTime {
        /// Seconds in genesis.
        got: Option<u64>,
        /// Seconds of the protocol; `None` on demand, and where no transaction can change it.
        want: Option<u64>,
    },
    /// The validators' contract would let more validators be removed than the protocol can spare.
    #[error(
        "`validatorRegistry` of genesis has `validatorsMin` {got}; {protocol} needs {want}: leave it out, or raise it"
    )]
    ValidatorsMin {
        /// Name of the protocol.
        protocol: &'static str,
        /// The number in genesis.
        got: u32,
        /// The least number that the protocol needs.
        want: u32,
    },
    /// Weights may differ though the protocol counts validators alone.
    #[error(
        "`validatorRegistry` of genesis has `weightMax` {got}; {protocol} counts validators, each once: leave it out"
    )]
    WeightMax {
        /// Name of the protocol.
        protocol: &'static str,
        /// The bound in genesis.
        got: u64,
    },
    /// Blocks are to be made automatically by a protocol whose period is 0.
    #[error(
        "network options: {protocol} with period 0 makes blocks on demand only: choose a period of at least 1 second, or \
         `Production::OnDemand`"
    )]
    ZeroPeriod {
        /// Name of the protocol.
        protocol: &'static str,
    },
    /// More funded accounts than a network derives.
    #[error("network options: {asked} accounts asked for, at most {max} are derived")]
    DevAccounts {
        /// Accounts asked for.
        asked: u32,
        /// Most accounts.
        max: u32,
    },
    /// A protocol of one's own on a durable store.
    #[error(
        "network options: {protocol} is a protocol of one's own, which runs in memory only: leave out the durable store"
    )]
    OwnProtocolStored {
        /// Name of the protocol.
        protocol: &'static str,
    },
    /// No replica has the number of the primary.
    #[error("network options: {replica} can't be the primary of a network of {count} replicas, which begin at 0")]
    Primary {
        /// The number asked for.
        replica: ReplicaId,
        /// Replicas of the network.
        count: u32,
    },
    /// A link loses more than every message.
    #[error("network options: {per_mille} of a thousand messages can't be lost; expected at most {max}")]
    Loss {
        /// Messages lost of a thousand, as asked for.
        per_mille: u16,
        /// Most messages of a thousand that a link loses.
        max: u16,
    },
}

/// Why a network can't go on from its stored consensus records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredRecordsError {
    /// The records do not belong to the stored chain.
    #[error("stored consensus record is of {got}, the stored head is {want}")]
    OtherHead {
        /// The block in the record.
        got: BlockId,
        /// The chain's head.
        want: BlockId,
    },
    /// A record fails its checksum.
    #[error(
        "{replica} can't go on: its stored consensus record `{key}` is damaged, and without it the replica could contradict \
         what it promised; take a copy of the database from before, or begin another"
    )]
    Damaged {
        /// The replica.
        replica: ReplicaId,
        /// The protocol's key; bytes that are no text are escaped.
        key: String,
    },
    /// The store holds a record of a form that this build does not write.
    #[error("the stored consensus record `{key}` is of a form that this version does not read; begin another database")]
    UnknownFormat {
        /// Its key after the chain id; bytes that are no text are escaped.
        key: String,
    },
    /// The protocol refuses a replica's records.
    #[error(
        "{replica} can't go on from its stored consensus records; take a copy of the database from before, or begin another"
    )]
    Refused {
        /// The replica.
        replica: ReplicaId,
        /// The cause.
        #[source]
        source: ConsensusError,
    },
}

/// Error of naming a replica that a network does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{replica} does not exist; the network has {count} replicas")]
pub struct UnknownReplica {
    /// The replica.
    pub replica: ReplicaId,
    /// Number of replicas.
    pub count: usize,
}
