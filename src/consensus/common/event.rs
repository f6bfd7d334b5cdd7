//! Inputs of a protocol: messages, results of its effects, timers and admin commands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    encoding::Encoder,
    id::{BlockId, ReplicaId, Ticket, TimerId},
    offence::OffenceProof,
    own_message::OwnMessage,
};
use crate::{
    chain::Block,
    consensus::{
        pbft::PbftMessage,
        pos::{self, PosMessage},
        raft,
    },
    primitives::{Address, Timestamp},
    system::ValidatorUpdates,
};

/// A message between replicas of a protocol. Cloning is O(1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ConsensusMessage {
    /// A sealed block, sent by its author or a relay.
    Block(Arc<Block>),
    /// One of Raft's messages.
    Raft(raft::RaftMessage),
    /// A message of PBFT.
    Pbft(Arc<PbftMessage>),
    /// A message of proof of stake.
    Pos(Arc<PosMessage>),
    /// A message of a protocol of one's own.
    Own(OwnMessage),
}

impl ConsensusMessage {
    /// Returns the kind, for filters, traces and digests.
    pub fn label(&self) -> &str {
        match self {
            Self::Own(message) => message.label(),
            other => other.constant_label(),
        }
    }

    /// Returns the kind; the same one for all messages of protocols of one's own.
    pub(crate) fn constant_label(&self) -> &'static str {
        match self {
            Self::Block(_) => "block",
            Self::Raft(message) => message.label(),
            Self::Pbft(message) => message.body.label(),
            Self::Pos(message) => message.label(),
            Self::Own(_) => "own message",
        }
    }

    /// Returns the length of the content, in bytes, as a link's bandwidth counts it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Block(block) => block.size(),
            Self::Raft(message) => message.size_bytes(),
            Self::Pbft(message) => message.size_bytes(),
            Self::Pos(message) => message.size_bytes(),
            Self::Own(message) => message.content().len(),
        }
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Block(block) => {
                BlockId::of(block).encode(out);
                out.hash(&block.body_digest());
                out.bytes(block.seal());
            }
            Self::Raft(message) => message.encode(out),
            Self::Pbft(message) => message.encode(out),
            Self::Pos(message) => message.encode(out),
            Self::Own(message) => message.encode(out),
        }
    }
}

impl From<OwnMessage> for ConsensusMessage {
    fn from(message: OwnMessage) -> Self {
        Self::Own(message)
    }
}

impl From<Arc<Block>> for ConsensusMessage {
    fn from(block: Arc<Block>) -> Self {
        Self::Block(block)
    }
}

impl From<pos::Vote> for ConsensusMessage {
    fn from(vote: pos::Vote) -> Self {
        Self::Pos(Arc::new(PosMessage::Vote(vote)))
    }
}

/// The result of verifying and executing a block. Without a verdict the block is pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every field was recomputed and agrees; the block is in the block tree.
    Valid {
        /// Changes of the validator set by the block's execution.
        updates: ValidatorUpdates,
    },
    /// It breaks a rule; it never enters the tree.
    Invalid {
        /// The rule that it breaks.
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

/// An admin command of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Admin {
    /// Vote for or against a signer in every block that this replica seals, until withdrawn (proof of authority).
    Vote {
        /// Address that the vote is about.
        target: Address,
        /// Whether to add (`true`) or remove the signer.
        authorize: bool,
    },
    /// Withdraw a pending vote.
    WithdrawVote {
        /// Address that the vote is about.
        target: Address,
    },
    /// Transfer leadership to another voter (Raft).
    TransferLeader {
        /// The next leader.
        to: ReplicaId,
    },
    /// Change voters and learners by the next block (Raft).
    ChangeMembers(raft::Change),
    /// Blocks with room for it have omitted a transaction of this replica's pool for longer than the inclusion timeout: what the
    /// driver says, for its clients, and not an operator (PBFT).
    Overdue,
    /// This replica did not run until now: it was stopped or paused, or its machine slept. The slots that are over it counts as missed,
    /// all at once (proof of stake).
    Resumed {
        /// The time at which it goes on.
        now: Timestamp,
        /// Seconds since its newest block in which all replicas stood still, as those of one process do: no other went on without
        /// it then, so that it was not away from a chain that others continued.
        stood_still_secs: u64,
    },
    /// Confirm that this replica still leads, then return [`ChainEvent::ReadReady`](super::effect::ChainEvent::ReadReady) (Raft).
    Read {
        /// Number that is returned with the event.
        request: u64,
    },
    /// Judge an offence that somebody outside the network has seen, and report it as one that this replica has seen (delegated proof of
    /// stake, PBFT).
    Offence(Box<OffenceProof>),
}

/// One input of a protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Start, once, before any other event.
    Start,
    /// A message of another replica arrived.
    Message {
        /// Replica over whose link it came.
        from: ReplicaId,
        /// The message.
        message: ConsensusMessage,
    },
    /// An armed timer fired.
    Timer(TimerId),
    /// The records of this ticket are durable.
    Persisted(Ticket),
    /// A requested block was built.
    BlockBuilt {
        /// Ticket of the request.
        ticket: Ticket,
        /// The block, not sealed yet.
        block: Arc<Block>,
    },
    /// A block was verified and executed.
    BlockJudged {
        /// The block.
        block: BlockId,
        /// The result.
        verdict: Verdict,
    },
    /// A random number was drawn.
    Random {
        /// Ticket of the request.
        ticket: Ticket,
        /// The number, below the requested bound.
        value: u64,
    },
    /// A requested block arrived, with its seal as proof.
    BlockSynced {
        /// Replica that sent it.
        from: ReplicaId,
        /// The block.
        block: Arc<Block>,
    },
    /// An admin command of this replica's operator.
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

    /// Writes what distinguishes this event from others of its kind.
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
                out.hash(&block.body_digest());
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
            Self::Admin(Admin::Resumed { now, stood_still_secs }) => {
                out.u8(7);
                out.timestamp(*now);
                out.u64(*stood_still_secs);
            }
            Self::Admin(Admin::Offence(proof)) => {
                out.u8(8);
                proof.encode(out);
            }
            Self::Admin(Admin::Read { request }) => {
                out.u8(5);
                out.u64(*request);
            }
        }
    }
}
