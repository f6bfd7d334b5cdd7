//! The trait that every protocol implements.

use core::{fmt::Debug, hash::Hash};

use super::{
    effect::Effect, encoding::Encoder, event::Event, finality::Finality, id::BlockId, round::RoundStatus,
    validators::ValidatorSet,
};
use crate::primitives::B256;

/// One validator's (or observer's) side of a consensus protocol.
///
/// Two states are equal exactly when their encodings are; a clone continues exactly as the original would.
pub trait Protocol: Clone + Debug + Eq + Hash + Send + Sync {
    /// Applies one event and appends the effects, in the order in which they must be carried out, to `effects`.
    ///
    /// Deterministic: the same state and event give the same state and effects. An invalid event (a forged or
    /// malformed message, a response to no request) leaves the state unchanged and gives at most [`Effect::Reject`],
    /// [`Effect::Mark`] and, when it proves misbehaviour, [`Effect::Evidence`].
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>);

    /// Writes the whole state that future behaviour depends on, in its one canonical form.
    fn encode(&self, out: &mut Encoder);

    /// Returns the canonical encoding.
    fn encoding(&self) -> Vec<u8> {
        let mut out = Encoder::new();
        self.encode(&mut out);
        out.into_bytes()
    }

    /// Returns the BLAKE3 of the canonical encoding.
    fn digest(&self) -> B256 {
        let mut out = Encoder::new();
        self.encode(&mut out);
        out.digest()
    }

    /// Returns the block that the next one is built on.
    fn head(&self) -> BlockId;

    /// Returns the safe and the finalized block.
    fn finality(&self) -> Finality;

    /// Returns the validators that may author the block after the head.
    fn validators(&self) -> ValidatorSet;

    /// Returns the round and this replica's role in it, of a [protocol of one's own](crate::consensus::OwnProtocol): for pictures, traces
    /// and misbehaviour by rounds. By default it has no rounds.
    fn status(&self) -> Option<RoundStatus> {
        None
    }
}

/// Implements comparison and hashing of a protocol's state by its canonical encoding, as [`Protocol`](crate::consensus::Protocol)
/// demands: for states whose fields can't all be compared.
///
/// ```ignore
/// chainbox::impl_by_encoding!(MyProtocol);
/// ```
#[macro_export]
macro_rules! impl_by_encoding {
    ($state:ty) => {
        impl PartialEq for $state {
            fn eq(&self, other: &Self) -> bool {
                $crate::consensus::Protocol::encoding(self) == $crate::consensus::Protocol::encoding(other)
            }
        }

        impl Eq for $state {}

        impl core::hash::Hash for $state {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                state.write(&$crate::consensus::Protocol::encoding(self));
            }
        }
    };
}
pub(in crate::consensus) use impl_by_encoding;
