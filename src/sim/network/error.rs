//! Why a network could not be built or go on.

use crate::{
    chain::{ChainError, PoolError},
    consensus::{BlockId, ConsensusError, Rejection, ReplicaId},
    primitives::{Height, Timestamp},
    sim::{
        check::invariant::Violation,
        engine::{clock::SimTime, scheduler::SchedulerError},
        faults::plan::PlanError,
    },
    store::StoreError,
};

/// A failure of the simulator. What a replica merely refuses is no error; see [`Counters`](crate::sim::Counters).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The protocol cannot be set up.
    #[error(transparent)]
    Consensus(#[from] ConsensusError),
    /// A pool did not take a transaction.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Options that contradict each other.
    #[error("network options: {reason}")]
    Options {
        /// Which and what to change.
        reason: String,
    },
    /// A replica's chain failed, such as by its store.
    #[error("{replica}: chain failed")]
    Chain {
        /// Which.
        replica: ReplicaId,
        /// How.
        #[source]
        source: ChainError,
    },
    /// The stored records of the protocol do not belong to the stored chain.
    #[error("stored consensus record is of {got}, the stored head is {want}")]
    OtherHead {
        /// The block in the record.
        got: BlockId,
        /// The chain's head.
        want: BlockId,
    },
    /// A stored record of a replica is not as it was written.
    #[error(
        "{replica} can't go on: its stored consensus record `{key}` is damaged, and without it the replica could contradict \
         what it promised; take a copy of the database from before, or begin another"
    )]
    DamagedRecord {
        /// Whose.
        replica: ReplicaId,
        /// The protocol's key, with what is no text escaped.
        key: String,
    },
    /// The store holds a record of a form that this build does not write.
    #[error("the stored consensus record `{key}` is of a form that this version does not read; begin another database")]
    UnknownRecord {
        /// What follows on the chain id in its key, with what is no text escaped.
        key: String,
    },
    /// The protocol refuses a replica's stored records.
    #[error(
        "{replica} can't go on from its stored consensus records; take a copy of the database from before, or begin another"
    )]
    StoredRecords {
        /// Whose.
        replica: ReplicaId,
        /// What is wrong with them.
        #[source]
        source: ConsensusError,
    },
    /// The store holds a chain of another protocol.
    #[error("the store holds a chain of {stored}, {asked} is asked for: ask for {stored}, or take another store")]
    OtherProtocol {
        /// The protocol that the chain began with.
        stored: &'static str,
        /// The protocol that was asked for.
        asked: &'static str,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The protocol refused an operator's wish.
    #[error(transparent)]
    Refused(Rejection),
    /// Something that must always hold does not.
    #[error(transparent)]
    Violated(Box<Violation>),
    /// A replica that is down or stands still was asked for something.
    #[error("{replica} does not run")]
    Down {
        /// Which.
        replica: ReplicaId,
    },
    /// The fault plan can't be carried out on this network.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The queue spins.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// Nothing is left to happen, and what was waited for is not so.
    #[error("nothing is left to happen at {at}; the lowest head is at height {height}")]
    Stalled {
        /// When.
        at: SimTime,
        /// Of the replica that is furthest behind.
        height: Height,
    },
    /// What was waited for did not come in time.
    #[error("waited until {at}; the lowest head is at height {height}")]
    TimedOut {
        /// When.
        at: SimTime,
        /// Of the replica that is furthest behind.
        height: Height,
    },
    /// No replica may make the next block, or the network makes its blocks by itself.
    #[error("no replica waits to be asked for a block at height {height}")]
    NobodyBuilds {
        /// The height of the block that was asked for.
        height: Height,
    },
    /// A block was ordered for a time that the chain does not allow.
    #[error("timestamp {got} is before {earliest}, the earliest time of the next block")]
    TooEarly {
        /// What was ordered.
        got: Timestamp,
        /// The earliest allowed.
        earliest: Timestamp,
    },
    /// The block that was made is not the new head.
    #[error("the block made at height {height} did not become the head: {reason}")]
    NotAdopted {
        /// Its height.
        height: Height,
        /// What was refused.
        reason: String,
    },
    /// No replica has this number.
    #[error("{replica} does not exist; the network has {count} replicas")]
    UnknownReplica {
        /// Which.
        replica: ReplicaId,
        /// How many there are.
        count: usize,
    },
}
