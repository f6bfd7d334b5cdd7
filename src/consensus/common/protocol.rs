//! The trait that every protocol is.

use core::{fmt::Debug, hash::Hash};

use super::{
    effect::Effect,
    encoding::Encoder,
    event::{BlockId, Event},
    finality::Finality,
    validators::ValidatorSet,
};
use crate::primitives::B256;

/// One validator's (or observer's) side of a consensus protocol.
///
/// Two states are equal exactly when their encodings are; a clone goes on exactly as the original would.
pub trait Protocol: Clone + Debug + Eq + Hash + Send + Sync {
    /// Takes one event and appends what must be done, in order, to `effects`.
    ///
    /// Deterministic: the same state and event give the same state and effects. An invalid event (a forged or
    /// malformed message, an answer to nothing) leaves the state unchanged and gives at most [`Effect::Reject`],
    /// [`Effect::Mark`] and, when it proves misbehaviour, [`Effect::Evidence`].
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>);

    /// Writes the whole state that future behaviour depends on, in its one canonical form.
    fn encode(&self, out: &mut Encoder);

    /// BLAKE3 of the canonical encoding.
    fn digest(&self) -> B256 {
        let mut out = Encoder::new();
        self.encode(&mut out);
        out.digest()
    }

    /// The block that the next one is built on.
    fn head(&self) -> BlockId;

    /// What `safe` and `finalized` mean at this moment.
    fn finality(&self) -> Finality;

    /// Who may author the block after the head.
    fn validators(&self) -> ValidatorSet;
}

/// Implements comparison and hashing of a protocol's state by its canonical encoding, as [`Protocol`] demands.
macro_rules! impl_by_encoding {
    ($state:ty) => {
        impl PartialEq for $state {
            fn eq(&self, other: &Self) -> bool {
                $crate::consensus::common::protocol::encoding(self)
                    == $crate::consensus::common::protocol::encoding(other)
            }
        }

        impl Eq for $state {}

        impl core::hash::Hash for $state {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                state.write(&$crate::consensus::common::protocol::encoding(self));
            }
        }
    };
}
pub(in crate::consensus) use impl_by_encoding;

/// Returns a state's canonical encoding.
pub(in crate::consensus) fn encoding(state: &impl Protocol) -> Vec<u8> {
    let mut out = Encoder::new();
    state.encode(&mut out);
    out.into_bytes()
}
