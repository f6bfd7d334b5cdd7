//! What a protocol asks of the world.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    event::{BlockId, Message, ReplicaId, Ticket},
    finality::Finality,
    records::Record,
    signing::SealError,
};
use crate::{
    chain::Block,
    consensus::{
        pbft::MessageError,
        pos::{self, Offence},
    },
    primitives::{Address, B256, Bytes, Height, Timestamp},
};

/// One of a protocol's timers; arming it again replaces its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(u64);

impl TimerId {
    /// The timer with this number, which the protocol gives meaning to.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// When a timer fires. Durations are nanoseconds of the replica's own clock.
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

/// For whom a message is.
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
    /// Comes back with the block.
    pub ticket: Ticket,
    /// On what.
    pub parent: BlockId,
    /// Who receives the fees and will seal it.
    pub beneficiary: Address,
    /// The header's difficulty, where the protocol has one; zero otherwise.
    pub difficulty: u64,
    /// The earliest timestamp that the protocol allows.
    pub timestamp_min: Timestamp,
    /// The header's `mixHash`.
    pub mix_hash: B256,
    /// Goes beside the block; its keccak goes into `extraData`.
    pub payload: Bytes,
}

/// What happened to the chain of this replica.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainEvent {
    /// A block joined the protocol's tree.
    Inserted(BlockId),
    /// A block of the tree has another seal from now on, such as a certificate in place of a proposal's signature.
    Sealed {
        /// Which block.
        block: BlockId,
        /// What is kept beside it.
        seal: Bytes,
    },
    /// The head moved.
    HeadMoved {
        /// From here.
        old: BlockId,
        /// To here.
        new: BlockId,
        /// How many blocks of the old branch were left; 0 when it only grew.
        reorg_depth: u64,
    },
    /// A checkpoint was justified (proof of stake).
    Justified(BlockId),
    /// What counts as safe and final changed.
    Final {
        /// The new marks.
        finality: Finality,
        /// Proof for a light verifier, where the protocol has one of its own.
        proof: Option<Bytes>,
    },
    /// A read that was asked for by [`Admin::Read`](super::event::Admin::Read) may be made on this head: it has every write that
    /// was acknowledged before the question.
    ReadReady {
        /// As it was asked.
        request: u64,
        /// The head to read.
        block: BlockId,
    },
}

/// Proof that somebody broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// One author sealed, or voted for, two blocks of one height (PBFT: in one view).
    DoubleSign {
        /// Who.
        offender: Address,
        /// Where.
        height: Height,
        /// The block seen first.
        first: B256,
        /// The block seen later.
        second: B256,
    },
    /// Signatures of proof of stake that contradict each other and cost stake.
    Slashable {
        /// Who.
        offender: Address,
        /// The two signatures.
        offence: Arc<Offence>,
    },
}

impl Evidence {
    /// Who broke it.
    pub const fn offender(&self) -> Address {
        match self {
            Self::DoubleSign { offender, .. } | Self::Slashable { offender, .. } => *offender,
        }
    }
}

/// Why an input was refused. The state is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The seal names nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A message of PBFT that counts for nothing.
    #[error(transparent)]
    Pbft(#[from] MessageError),
    /// A message of proof of stake that counts for nothing.
    #[error(transparent)]
    Pos(#[from] pos::MessageError),
    /// The block breaks the protocol's rules for headers.
    #[error("{block}: {reason}")]
    Header {
        /// Which block.
        block: BlockId,
        /// Which rule.
        reason: String,
    },
    /// The block is on a branch that was left for good.
    #[error("{block} is below the oldest block that is still kept, at height {oldest}")]
    TooOld {
        /// Which block.
        block: BlockId,
        /// The oldest height kept.
        oldest: Height,
    },
    /// The block is too far above the head to be kept waiting.
    #[error("{block} is more than {limit} blocks above the head")]
    TooFarAhead {
        /// Which block.
        block: BlockId,
        /// How far one may be.
        limit: u64,
    },
    /// As many blocks wait already as may.
    #[error("{limit} blocks wait already; no more are kept")]
    Overloaded {
        /// The bound.
        limit: usize,
    },
    /// Already known, or an answer to nothing that was asked.
    #[error("{what} was not asked for or is already known")]
    Unexpected {
        /// What came.
        what: &'static str,
    },
    /// A message that no correct replica sends.
    #[error("message of {from}: {reason}")]
    Message {
        /// Over whose link it came.
        from: ReplicaId,
        /// What is wrong with it.
        reason: String,
    },
    /// The operator's wish means nothing to this protocol or to this replica.
    #[error("{reason}")]
    Admin {
        /// Why.
        reason: String,
    },
}

/// One output of a protocol, to be carried out in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Say something; with a ticket, only once its records are durable.
    Send {
        /// For whom.
        to: Recipients,
        /// What.
        message: Message,
        /// The records that must be durable first.
        after: Option<Ticket>,
    },
    /// Start a timer, or move it.
    ArmTimer {
        /// Which.
        timer: TimerId,
        /// When it fires.
        deadline: Deadline,
    },
    /// Stop a timer; no error when it is not running.
    DisarmTimer(TimerId),
    /// Make records durable, then answer [`Event::Persisted`](super::event::Event::Persisted).
    Persist {
        /// Comes back.
        ticket: Ticket,
        /// What to keep.
        records: Vec<Record>,
    },
    /// Build a block, then answer [`Event::BlockBuilt`](super::event::Event::BlockBuilt), when the driver sees fit. A later request
    /// replaces an earlier one.
    Build(BuildRequest),
    /// The last request to build is of no more use.
    CancelBuild,
    /// Execute and check a block, then answer [`Event::BlockJudged`](super::event::Event::BlockJudged).
    Validate {
        /// Sealed.
        block: Arc<Block>,
    },
    /// Draw a number below `bound`, then answer [`Event::Random`](super::event::Event::Random).
    Draw {
        /// Comes back.
        ticket: Ticket,
        /// Exclusive, at least 1.
        bound: u64,
    },
    /// Get a block from a peer, then answer [`Event::BlockSynced`](super::event::Event::BlockSynced). A zero hash asks for the
    /// peer's canonical block of that height.
    Fetch {
        /// Which.
        block: BlockId,
        /// Who is likely to have it.
        from: ReplicaId,
    },
    /// The chain of this replica changed.
    Chain(ChainEvent),
    /// Somebody broke the protocol.
    Evidence(Evidence),
    /// The input was refused.
    Reject(Rejection),
    /// A named point of coverage was passed.
    Mark(&'static str),
}

impl Effect {
    /// The kind, for traces and digests.
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
            Self::Chain(_) => "chain",
            Self::Evidence(_) => "evidence",
            Self::Reject(_) => "reject",
            Self::Mark(_) => "mark",
        }
    }
}
