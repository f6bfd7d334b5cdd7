//! What a protocol is told.

use core::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    effect::TimerId,
    encoding::{Decoder, Encoder},
};
use crate::{
    chain::Block,
    consensus::{pbft::PbftMessage, pos::PosMessage, raft},
    primitives::{Address, B256, Height},
    system::ValidatorUpdates,
};

/// A replica's number in its network, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplicaId(u32);

impl ReplicaId {
    /// The replica with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The plain number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replica {}", self.0)
    }
}

/// A block's height and hash: enough to find it without a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockId {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: B256,
}

impl BlockId {
    /// The id of `block`.
    pub fn of(block: &Block) -> Self {
        Self { height: block.height(), hash: block.hash() }
    }

    /// The id of `block`'s parent; genesis names a zero hash at height 0.
    pub fn parent_of(block: &Block) -> Self {
        Self { height: block.height().parent().unwrap_or_default(), hash: block.parent_hash() }
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u64(self.height.get());
        out.hash(&self.hash);
    }

    pub(crate) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self { height: Height::new(bytes.u64()?), hash: bytes.hash()? })
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} ({})", self.height, self.hash)
    }
}

/// Names one request of a protocol, so that its answer finds it. Never reused by one replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Takes this ticket, leaving the one after it.
    pub(crate) fn take_next(&mut self) -> Self {
        let taken = *self;
        self.0 += 1;
        taken
    }
}

/// What replicas of a protocol say to each other. Cloning is O(1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Message {
    /// A sealed block, as its author or a relay announces it.
    Block(Arc<Block>),
    /// One of Raft's messages.
    Raft(raft::RaftMessage),
    /// A message of PBFT.
    Pbft(Arc<PbftMessage>),
    /// A message of proof of stake.
    Pos(Arc<PosMessage>),
}

impl Message {
    /// The kind, for filters, traces and digests.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Block(_) => "block",
            Self::Raft(message) => message.label(),
            Self::Pbft(message) => message.body.label(),
            Self::Pos(message) => message.label(),
        }
    }

    /// Length of the content in bytes, as a link's bandwidth counts it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Block(block) => block.size(),
            Self::Raft(message) => message.size_bytes(),
            Self::Pbft(message) => message.size_bytes(),
            Self::Pos(message) => message.size_bytes(),
        }
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Block(block) => {
                BlockId::of(block).encode(out);
                out.bytes(block.seal());
            }
            Self::Raft(message) => message.encode(out),
            Self::Pbft(message) => message.encode(out),
            Self::Pos(message) => message.encode(out),
        }
    }
}

/// What execution and header rules said of a block. No verdict yet means pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every field was recomputed and agrees; the block is in the block tree.
    Valid {
        /// What executing it changed in the set of validators.
        updates: ValidatorUpdates,
    },
    /// It breaks a rule; it never enters the tree.
    Invalid {
        /// Which rule.
        reason: String,
    },
}

impl Verdict {
    /// Valid, and the validators stay as they are.
    pub const VALID: Self = Self::Valid { updates: ValidatorUpdates::NONE };

    /// Whether the block may be adopted.
    pub const fn is_valid(&self) -> bool {
        matches!(self, Self::Valid { .. })
    }
}

/// An operator's wish.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Admin {
    /// Vote for or against a signer in every block that is one's own, until withdrawn (proof of authority).
    Vote {
        /// About whom.
        target: Address,
        /// In (`true`) or out.
        authorize: bool,
    },
    /// Withdraw a vote that was wished for.
    WithdrawVote {
        /// About whom.
        target: Address,
    },
    /// Hand leadership to another voter (Raft).
    TransferLeader {
        /// To whom.
        to: ReplicaId,
    },
    /// Change voters and learners by the next block (Raft).
    ChangeMembers(raft::Change),
    /// A transaction that comes first in this replica's pool is left out of one block after the other: what the driver says, for
    /// its clients, and not an operator (PBFT).
    Overdue,
    /// Confirm that this replica still leads, then answer [`ChainEvent::ReadReady`](super::effect::ChainEvent::ReadReady) (Raft).
    Read {
        /// Comes back.
        request: u64,
    },
}

/// One input of a protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Begin, once, before anything else.
    Start,
    /// Another replica said something.
    Message {
        /// Over whose link it came.
        from: ReplicaId,
        /// What was said.
        message: Message,
    },
    /// A timer that was armed has fired.
    Timer(TimerId),
    /// The records of this ticket are durable.
    Persisted(Ticket),
    /// A block was built as asked.
    BlockBuilt {
        /// Of the request.
        ticket: Ticket,
        /// Not sealed yet.
        block: Arc<Block>,
    },
    /// A block was judged.
    BlockJudged {
        /// Which.
        block: BlockId,
        /// How.
        verdict: Verdict,
    },
    /// A random draw was answered.
    Random {
        /// Of the request.
        ticket: Ticket,
        /// Below the bound that was asked for.
        value: u64,
    },
    /// A block that was asked for came, sealed; its seal is the proof.
    BlockSynced {
        /// From whom.
        from: ReplicaId,
        /// The block.
        block: Arc<Block>,
    },
    /// The operator of this replica wishes something.
    Admin(Admin),
}

impl Event {
    /// The kind, for traces and digests.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Message { .. } => "message",
            Self::Timer(_) => "timer",
            Self::Persisted(_) => "persisted",
            Self::BlockBuilt { .. } => "built",
            Self::BlockJudged { .. } => "judged",
            Self::Random { .. } => "random",
            Self::BlockSynced { .. } => "synced",
            Self::Admin(_) => "admin",
        }
    }

    /// Writes what tells this event from others of its kind.
    pub fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Start => {}
            Self::Message { from, message } => {
                out.u32(from.get());
                message.encode(out);
            }
            Self::Timer(timer) => out.u64(timer.get()),
            Self::Persisted(ticket) => out.u64(ticket.get()),
            Self::BlockBuilt { ticket, block } => {
                out.u64(ticket.get());
                BlockId::of(block).encode(out);
            }
            Self::BlockJudged { block, verdict } => {
                block.encode(out);
                out.bool(verdict.is_valid());
                if let Verdict::Valid { updates } = verdict {
                    updates.iter().for_each(|update| {
                        out.address(&update.address);
                        out.u64(update.weight);
                    });
                }
            }
            Self::Random { ticket, value } => {
                out.u64(ticket.get());
                out.u64(*value);
            }
            Self::BlockSynced { from, block } => {
                out.u32(from.get());
                BlockId::of(block).encode(out);
                out.bytes(block.seal());
            }
            Self::Admin(Admin::Vote { target, authorize }) => {
                out.u8(u8::from(*authorize));
                out.address(target);
            }
            Self::Admin(Admin::WithdrawVote { target }) => {
                out.u8(2);
                out.address(target);
            }
            Self::Admin(Admin::TransferLeader { to }) => {
                out.u8(3);
                out.u32(to.get());
            }
            Self::Admin(Admin::ChangeMembers(change)) => {
                out.u8(4);
                out.bytes(&raft::Payload::of_change(change.clone()).encoded());
            }
            Self::Admin(Admin::Overdue) => out.u8(6),
            Self::Admin(Admin::Read { request }) => {
                out.u8(5);
                out.u64(*request);
            }
        }
    }
}
