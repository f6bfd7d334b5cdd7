//! Outputs of a protocol: what its driver has to do.

use core::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    codec::DecodeError,
    event::ConsensusMessage,
    finality::Finality,
    id::{BlockId, ReplicaId, Ticket, TimerId},
    records::Record,
    signing::SealError,
    vote::VoteError,
};
use crate::{
    chain::{Block, BodyError},
    consensus::{
        pbft::MessageError,
        pos::{self, SlashingEvidence},
    },
    primitives::{Address, B64, B256, Bytes, Height, Timestamp},
};

/// The time at which a timer fires. Durations are nanoseconds of the replica's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deadline {
    /// This long from now.
    After {
        /// Nanoseconds.
        nanos: u64,
    },
    /// This long after the block clock shows `timestamp`; at once when that is past.
    AtTimestamp {
        /// Time in block headers.
        timestamp: Timestamp,
        /// Nanoseconds after it.
        then_nanos: u64,
    },
}

/// Recipients of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipients {
    /// Every other replica.
    Others,
    /// One replica.
    One(ReplicaId),
}

/// A block to be built.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BuildRequest {
    /// Ticket that is returned with the block.
    pub ticket: Ticket,
    /// Parent of the block.
    pub parent: BlockId,
    /// Account that receives the fees and will seal the block.
    pub beneficiary: Address,
    /// The header's difficulty, where the protocol has one; zero otherwise.
    pub difficulty: u64,
    /// The earliest timestamp that the protocol allows.
    pub timestamp_min: Timestamp,
    /// The header's `mixHash`; zero where the chain gives it.
    pub mix_hash: B256,
    /// The header's nonce; zero where the protocol has none.
    pub nonce: B64,
    /// Consensus payload kept beside the block; its keccak is the header's `extraData`.
    pub payload: Bytes,
}

/// A change of this replica's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainEvent {
    /// A block joined the protocol's tree.
    Inserted(BlockId),
    /// A block of the tree has another seal from now on, such as a certificate in place of a proposal's signature.
    Sealed {
        /// The block.
        block: BlockId,
        /// The new seal.
        seal: Bytes,
    },
    /// The head moved.
    HeadMoved {
        /// Head before.
        old: BlockId,
        /// Head after.
        new: BlockId,
        /// Blocks of the old branch that are no longer canonical; 0 when the chain only grew.
        reorg_depth: u64,
    },
    /// A checkpoint was justified (proof of stake).
    Justified(BlockId),
    /// The safe or the finalized block changed.
    Final {
        /// The new safe and finalized blocks.
        finality: Finality,
        /// Proof for a light verifier, where the protocol has one beside its headers.
        proof: Option<Bytes>,
    },
    /// A read requested by [`Admin::Read`](super::event::Admin::Read) may be served from this head: it has every write that was
    /// acknowledged before the request.
    ReadReady {
        /// Number of the request.
        request: u64,
        /// The head to read.
        block: BlockId,
    },
    /// A read requested by [`Admin::Read`](super::event::Admin::Read) can't be served: this replica no longer leads. Ask the new
    /// leader.
    ReadAborted {
        /// Number of the request.
        request: u64,
    },
}

/// Proof that a validator broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// One author sealed, or voted for, two blocks of one height (PBFT: in one view; proof of authority: on one parent).
    DoubleSign {
        /// Validator that signed both.
        offender: Address,
        /// Height of the two blocks; the higher of both.
        height: Height,
        /// The block seen first.
        first: B256,
        /// The block seen later.
        second: B256,
    },
    /// Signatures of proof of stake that contradict each other; the offender is slashed.
    Slashable {
        /// Validator that signed both.
        offender: Address,
        /// The two signatures.
        offence: Arc<SlashingEvidence>,
    },
}

impl Evidence {
    /// Returns the validator that broke the protocol.
    pub const fn offender(&self) -> Address {
        match self {
            Self::DoubleSign { offender, .. } | Self::Slashable { offender, .. } => *offender,
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoubleSign { offender, height, first, second } => {
                write!(f, "{offender} signed {first} and {second} at height {height}")
            }
            Self::Slashable { offender, .. } => {
                write!(f, "{offender} signed votes or proposals that contradict each other")
            }
        }
    }
}

/// A refused input. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The seal is malformed or has no author.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A vote or certificate that does not count.
    #[error(transparent)]
    Vote(#[from] VoteError),
    /// Content of a message, in a protocol of one's own, that is no value of its type.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A PBFT message that is not counted.
    #[error(transparent)]
    Pbft(#[from] MessageError),
    /// A message of proof of stake that is not counted.
    #[error(transparent)]
    Pos(#[from] pos::MessageError),
    /// The block's body is not the one that its header names, so that nothing follows for its author.
    #[error("{block}: {source}")]
    Body {
        /// The block.
        block: BlockId,
        /// The part that differs.
        #[source]
        source: BodyError,
    },
    /// The block breaks the protocol's header rules.
    #[error("{block}: {reason}")]
    Header {
        /// The block.
        block: BlockId,
        /// The first rule that it breaks.
        reason: String,
    },
    /// The block is on a branch that can no longer win.
    #[error("{block} is below the oldest block that is still kept, at height {oldest}")]
    TooOld {
        /// The block.
        block: BlockId,
        /// Oldest height kept.
        oldest: Height,
    },
    /// The block is too far above the head to be kept.
    #[error("{block} is more than {limit} blocks above the head")]
    TooFarAhead {
        /// The block.
        block: BlockId,
        /// Greatest distance from the head, in blocks (in slots where the protocol has them).
        limit: u64,
    },
    /// The bound of waiting blocks is reached.
    #[error("{limit} blocks wait already; no more are kept")]
    Overloaded {
        /// The bound, in blocks.
        limit: usize,
    },
    /// The author has made more blocks beside this one than are kept.
    #[error("{author} made other blocks beside {block}; at most {limit} of them are kept")]
    TooManySiblings {
        /// The block.
        block: BlockId,
        /// Its author.
        author: Address,
        /// The bound, in blocks: of one parent, of one height, or of one slot.
        limit: usize,
    },
    /// An input that is already known, or that answers no request.
    #[error("{what} was not asked for or is already known")]
    Unexpected {
        /// Kind of the input.
        what: &'static str,
    },
    /// A message that no correct replica sends.
    #[error("message of {from}: {reason}")]
    Message {
        /// Replica over whose link it came.
        from: ReplicaId,
        /// What is wrong with the message.
        reason: String,
    },
    /// An admin command that this protocol or this replica does not support.
    #[error("{reason}")]
    Admin {
        /// The reason, and what to do instead.
        reason: String,
    },
}

/// One output of a protocol. The driver carries effects out in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Send a message; with a ticket, only once its records are durable.
    Send {
        /// Recipients.
        to: Recipients,
        /// The message.
        message: ConsensusMessage,
        /// Ticket of the records that must be durable first.
        after: Option<Ticket>,
    },
    /// Start a timer, or move it.
    ArmTimer {
        /// The timer.
        timer: TimerId,
        /// Time at which it fires.
        deadline: Deadline,
    },
    /// Stop a timer; no error when it is not running.
    DisarmTimer(TimerId),
    /// Make records durable, then return [`Event::Persisted`](super::event::Event::Persisted).
    Persist {
        /// Ticket that is returned once the records are durable.
        ticket: Ticket,
        /// Records to write, in order.
        records: Vec<Record>,
    },
    /// Build a block, then return [`Event::BlockBuilt`](super::event::Event::BlockBuilt), when the driver sees fit. A later request
    /// replaces an earlier one.
    Build(BuildRequest),
    /// Withdraw the last request to build.
    CancelBuild,
    /// Execute and verify a block, then return [`Event::BlockJudged`](super::event::Event::BlockJudged).
    Validate {
        /// The sealed block.
        block: Arc<Block>,
    },
    /// Draw a number below `bound`, then return [`Event::Random`](super::event::Event::Random).
    Draw {
        /// Ticket that is returned with the number.
        ticket: Ticket,
        /// Exclusive upper bound, at least 1.
        bound: u64,
    },
    /// Request a block from a peer, then return [`Event::BlockSynced`](super::event::Event::BlockSynced). A zero hash requests the
    /// peer's canonical block of that height.
    Fetch {
        /// The block.
        block: BlockId,
        /// Replica that is likely to have it.
        from: ReplicaId,
    },
    /// Send a block of the own chain, as [`Send`](Self::Send) does with a message; nothing, if this replica has not stored it. A protocol
    /// keeps no blocks and knows none after a restart.
    Show {
        /// The block.
        block: BlockId,
        /// Recipients.
        to: Recipients,
        /// Ticket of the records that must be durable first.
        after: Option<Ticket>,
    },
    /// This replica's chain changed.
    Chain(ChainEvent),
    /// A validator broke the protocol.
    Evidence(Evidence),
    /// The input is refused.
    Reject(Rejection),
    /// A named point of coverage is passed.
    Mark(&'static str),
}

impl Effect {
    /// Returns the effect that sends a message to every other replica; with a ticket, only once its records are durable.
    pub fn broadcast(message: impl Into<ConsensusMessage>, after: Option<Ticket>) -> Self {
        Self::Send { to: Recipients::Others, message: message.into(), after }
    }

    /// Returns the kind, for traces and digests.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Send { .. } => "send",
            Self::ArmTimer { .. } => "arm",
            Self::DisarmTimer(_) => "disarm",
            Self::Persist { .. } => "persist",
            Self::Build(_) => "build",
            Self::CancelBuild => "cancel-build",
            Self::Validate { .. } => "validate",
            Self::Draw { .. } => "draw",
            Self::Fetch { .. } => "fetch",
            Self::Show { .. } => "show",
            Self::Chain(_) => "chain",
            Self::Evidence(_) => "evidence",
            Self::Reject(_) => "reject",
            Self::Mark(_) => "mark",
        }
    }
}
