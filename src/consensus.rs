//! Consensus as state machines without I/O.
//!
//! A [`Protocol`] takes an [`Event`] and answers with [`Effect`]s; it owns no clock, network, disk or randomness.
//! Whoever drives it (the simulator, and through it the development node) carries the effects out and brings the
//! answers back as events. So that a model checker can branch on everything, time comes as timers that fire and
//! randomness as draws that were answered.
//!
//! Three rules hold for every protocol:
//!
//! - **Persist before send**: a message that promises something is sent only after its record's [`Ticket`] came back.
//! - **Pending is not false**: a block without a verdict stays pending; only [`Verdict::Invalid`] refuses it.
//! - **Invalid input never changes state**: it is answered by [`Effect::Reject`] and nothing else.
//!
//! | module | what it holds |
//! |---|---|
//! | [`dpos`] | delegated proof of stake: elected producers with a last irreversible block |
//! | [`pbft`] | practical Byzantine fault tolerance (Castro and Liskov): final at once, with certificates |
//! | [`poa`] | proof of authority: Clique (EIP-225) with the block choice of EIP-3436 |
//! | [`pos`] | proof of stake: Gasper, which is LMD-GHOST and Casper, with stake that leaks and is slashed |
//! | [`raft`] | Raft: a replicated log of blocks under an elected leader; crash faults only |

mod any;
mod common;
pub mod dpos;
#[cfg(test)]
mod model_check;
pub mod pbft;
pub mod poa;
pub mod pos;
pub mod raft;
#[cfg(any(test, feature = "internals"))]
pub mod testing;

pub use any::{
    AdminError, ConsensusConfig, ConsensusError, ConsensusKind, FollowError, LightVerifier, Machine, Records,
    SealedHeader, StakeUse,
};
pub use common::{
    effect::{BuildRequest, ChainEvent, Deadline, Effect, Evidence, Recipients, Record, Rejection, TimerId},
    encoding::Encoder,
    event::{Admin, BlockId, Event, Message, ReplicaId, Ticket, Verdict},
    finality::{Finality, FinalityKind},
    protocol::Protocol,
    signing::{Authenticator, SealError, SealScheme, Signer},
    validators::{Validator, ValidatorSet, ValidatorSetError},
};
pub(crate) use common::{
    effect_handler,
    encoding::{check_record, checked_record, is_whole_record},
    mutation, record_map,
};
use common::{encoding, lineage, orphans, record_class};
