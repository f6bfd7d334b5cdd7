//! The chain's parameters that changed since genesis, as a block's children are judged by them.

use super::{
    encoding::{Decoder, Encoder},
    slot_clock::SlotClock,
};
use crate::system::ParameterUpdates;

/// Parameters that changed since genesis, and the times of slots, or heights, by them. `None` in place of it: nothing changed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::consensus) struct InForce {
    pub(in crate::consensus) parameters: ParameterUpdates,
    pub(in crate::consensus) clock: SlotClock,
}

impl InForce {
    /// Returns what is in force after a block at `slot` that puts `changes` in force; `genesis` is the clock of a chain without changes.
    pub(in crate::consensus) fn after(
        before: Option<&Self>,
        genesis: SlotClock,
        slot: u64,
        changes: &ParameterUpdates,
    ) -> Option<Self> {
        if changes.is_empty() {
            return before.cloned();
        }
        let (parameters, clock) =
            before.map_or((ParameterUpdates::NONE, genesis), |before| (before.parameters.clone(), before.clock));
        Some(Self { parameters: parameters.followed_by(changes), clock: clock.changed_at(slot, changes) })
    }

    /// Encodes it after everything else of a record; no bytes for `None`.
    pub(in crate::consensus) fn encode_at_end(in_force: Option<&Self>, out: &mut Encoder) {
        if let Some(Self { parameters, clock }) = in_force {
            clock.encode(out);
            out.parameters_at_end(parameters);
        }
    }

    /// Decodes [`InForce::encode_at_end`]; the outer `None` for other bytes.
    pub(in crate::consensus) fn decode_at_end(bytes: &mut Decoder<'_>) -> Option<Option<Self>> {
        if bytes.is_empty() {
            return Some(None);
        }
        let clock = SlotClock::decode(bytes)?;
        let parameters = bytes.parameters_at_end().filter(|parameters| !parameters.is_empty())?;
        Some(Some(Self { parameters, clock }))
    }
}
