//! A replica's state of a protocol whose type only its author knows.

use core::{any::Any, fmt, time::Duration};

use crate::consensus::common::{
    effect::Effect,
    encoding::Encoder,
    event::Event,
    family::{FutureBlocks, ProtocolInfo},
    finality::Finality,
    id::{BlockId, ReplicaId},
    protocol::{Protocol, impl_by_encoding},
    round::RoundStatus,
    validators::ValidatorSet,
};
use crate::{chain::HeaderRules, primitives::Address};

/// [`Protocol`] without what needs a known type.
trait ErasedProtocol: fmt::Debug + Send + Sync {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>);
    fn encode(&self, out: &mut Encoder);
    fn head(&self) -> BlockId;
    fn finality(&self) -> Finality;
    fn validators(&self) -> ValidatorSet;
    fn status(&self) -> Option<RoundStatus>;
    fn boxed(&self) -> Box<dyn ErasedProtocol>;
    fn as_any(&self) -> &dyn Any;
}

impl<P: Protocol + 'static> ErasedProtocol for P {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        Protocol::step(self, event, effects);
    }

    fn encode(&self, out: &mut Encoder) {
        Protocol::encode(self, out);
    }

    fn head(&self) -> BlockId {
        Protocol::head(self)
    }

    fn finality(&self) -> Finality {
        Protocol::finality(self)
    }

    fn validators(&self) -> ValidatorSet {
        Protocol::validators(self)
    }

    fn status(&self) -> Option<RoundStatus> {
        Protocol::status(self)
    }

    fn boxed(&self) -> Box<dyn ErasedProtocol> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// One replica's state of an [`OwnProtocol`](super::OwnProtocol).
pub struct OwnReplica {
    state: Box<dyn ErasedProtocol>,
    info: ProtocolInfo,
}

impl OwnReplica {
    pub(super) fn new(protocol: impl Protocol + 'static, info: ProtocolInfo) -> Self {
        Self { state: Box::new(protocol), info }
    }

    pub(in crate::consensus) const fn info(&self) -> &ProtocolInfo {
        &self.info
    }

    /// Returns the state, if `P` is its type.
    pub fn state<P: Protocol + 'static>(&self) -> Option<&P> {
        self.state.as_any().downcast_ref()
    }

    pub(in crate::consensus) const fn counts_slots(&self) -> bool {
        false
    }

    pub(in crate::consensus) const fn turns_skipped(&self) -> u64 {
        0
    }

    pub(in crate::consensus) fn round(&self) -> u64 {
        self.state.status().map_or(0, |status| status.round)
    }

    pub(in crate::consensus) const fn needs(&self, _key: &[u8]) -> bool {
        true
    }

    pub(in crate::consensus) fn round_status(
        &self,
        _replica: ReplicaId,
        _replica_of: &dyn Fn(&Address) -> Option<ReplicaId>,
    ) -> Option<RoundStatus> {
        self.state.status()
    }

    /// Its chain has no rules of its own.
    pub(in crate::consensus) const fn remember_head_in(&self, _rules: &dyn HeaderRules) {}

    pub(in crate::consensus) const fn future_blocks(&self) -> FutureBlocks {
        FutureBlocks::LENIENT
    }

    pub(in crate::consensus) const fn inclusion_timeout(&self) -> Option<Duration> {
        None
    }

    pub(in crate::consensus) const fn leading_term(&self) -> Option<u64> {
        None
    }

    pub(in crate::consensus) const fn is_member(&self, _replica: ReplicaId) -> bool {
        true
    }
}

impl Protocol for OwnReplica {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        self.state.step(event, effects);
    }

    fn encode(&self, out: &mut Encoder) {
        out.bytes(self.info.name.as_bytes());
        self.state.encode(out);
    }

    fn head(&self) -> BlockId {
        self.state.head()
    }

    fn finality(&self) -> Finality {
        self.state.finality()
    }

    fn validators(&self) -> ValidatorSet {
        self.state.validators()
    }

    fn status(&self) -> Option<RoundStatus> {
        self.state.status()
    }
}

impl Clone for OwnReplica {
    fn clone(&self) -> Self {
        Self { state: self.state.boxed(), info: self.info }
    }
}

impl fmt::Debug for OwnReplica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.state, f)
    }
}

impl_by_encoding!(OwnReplica);
