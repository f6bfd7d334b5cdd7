//! Consensus as state machines without I/O.
//!
//! A [`Protocol`] applies an [`Event`] and returns [`Effect`]s; it owns no clock, network, disk or randomness. Its
//! driver (the simulator, and through it the development node) carries the effects out and returns their results as
//! events. So that a model checker can branch on everything, time is an event of a timer, and randomness the result of a
//! draw.
//!
//! Three rules hold for every protocol:
//!
//! - **Persist before send**: a message that depends on a record is sent only after the record's [`Ticket`] came back.
//! - **Pending is not false**: a block without a verdict stays pending; only [`Verdict::Invalid`] rejects it.
//! - **Invalid input never changes state**: it leads to [`Effect::Reject`], a mark or evidence, and nothing else.
//!
//! | module | protocol |
//! |---|---|
//! | `dpos` | delegated proof of stake: elected producers with a last irreversible block |
//! | `pbft` | practical Byzantine fault tolerance (Castro and Liskov): final at once, with certificates |
//! | `poa` | proof of authority: Clique (EIP-225) with the block choice of EIP-3436 |
//! | `pos` | proof of stake: Gasper (LMD-GHOST and Casper FFG), with an inactivity leak and slashing |
//! | `raft` | Raft: a replicated log of blocks under an elected leader; crash faults only |

mod any;
mod common;
#[cfg(feature = "internals")]
pub mod dpos;
#[cfg(not(feature = "internals"))]
#[expect(unreachable_pub, reason = "public with the feature `internals`")]
pub(crate) mod dpos;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod model_check;
mod own;
#[cfg(feature = "internals")]
pub mod pbft;
#[cfg(not(feature = "internals"))]
#[expect(unreachable_pub, reason = "public with the feature `internals`")]
pub(crate) mod pbft;
#[cfg(feature = "internals")]
pub mod poa;
#[cfg(not(feature = "internals"))]
#[expect(unreachable_pub, reason = "public with the feature `internals`")]
pub(crate) mod poa;
#[cfg(feature = "internals")]
pub mod pos;
#[cfg(not(feature = "internals"))]
#[expect(unreachable_pub, reason = "public with the feature `internals`")]
pub(crate) mod pos;
#[cfg(feature = "internals")]
pub mod raft;
#[cfg(not(feature = "internals"))]
#[expect(unreachable_pub, reason = "public with the feature `internals`")]
pub(crate) mod raft;
#[cfg(any(test, feature = "internals"))]
pub mod testing;
mod words;

pub(crate) use crate::primitives::mutation;
pub use any::{AdminError, AnyProtocol, ConsensusConfig, ConsensusError, ConsensusKind, FollowError, LightVerifier};
use common::{
    branch_tree, encoding, former_members, header, in_force, intake, orphans, protocol::impl_by_encoding, quorum,
    slot_clock,
};
pub use common::{
    codec::DecodeError,
    effect::{BuildRequest, ChainEvent, Deadline, Effect, Evidence, Recipients, Rejection},
    encoding::Encoder,
    event::{Admin, ConsensusMessage, Event, Verdict},
    family::StakeUse,
    finality::{Finality, FinalityKind},
    former_members::EvidenceWindow,
    id::{BlockId, ReplicaId, Ticket, TimerId},
    light::SealedHeader,
    offence::OffenceProof,
    own_message::OwnMessage,
    protocol::Protocol,
    quorum::Quorum,
    records::{Record, Records},
    round::{RoundRole, RoundStatus},
    signing::{Authenticator, Purpose, SealError, SealScheme, Signer},
    validators::{Validator, ValidatorSet, ValidatorSetError},
    vote::{Ballot, QuorumCertificate, Statement, Vote, VoteError},
};
pub(crate) use common::{
    effect_handler,
    family::{FutureBlocks, MembershipChange},
    header::{HeaderFieldError, UnverifiedHeader},
    header_rules::{HeaderChainRules, ParentContext},
    records::{ApplyRecords, RecordValue, check_record, checked_record},
};
pub use dpos::{DposConfig, DposError, Shuffle};
pub use own::{
    BlockTimers, BlockTree, NewView, OwnProtocol, Pacemaker, Participant, Proposal, RecordError, ReplicaStart, Votes,
};
pub use pbft::{Certificate, PbftConfig, PbftError};
pub use poa::{PoaConfig, PoaError};
pub use pos::{FinalityProof, LightVerifier as PosLightVerifier, PosConfig, PosError, Trusted};
pub use raft::{Assignment, Change, RaftConfig, RaftError, Role};
