//! Changes of the length of slots by the chain's block time.
//!
//! The first block of an epoch commits to a new block time with the chain's other parameters. Slots have the new length later, by the
//! rule of the validators' sets (see [`State`]): once a checkpoint above that block is final, from the second epoch after the one in
//! which that was seen. So every branch above the final checkpoint includes the change, a replica knows the length of its slots an
//! epoch ahead, and nobody's clock runs by a change that may be undone. One change is under way at a time; of those that come
//! meanwhile the newest follows.
//!
//! Two branches may see finality in different epochs, and then number slots unlike for a while. Safety does not depend on it: votes
//! are compared by epoch, whatever the time. A replica counts slots as its head's branch does, and judges what belongs to other
//! branches by time.

use super::{
    PosConfig, State,
    slot_times::{PendingLength, SlotTimes},
};
use crate::{
    consensus::{
        Encoder,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    system::parameters::Parameter,
};

/// Epochs without blocks in which the votes of those before may still make a checkpoint final.
const FINAL_WITHOUT_BLOCKS_EPOCHS: u64 = 3;

impl State {
    /// Returns the times of a branch's slots as they are known in `epoch` without further blocks. They are those up to the end of
    /// the epoch after it.
    pub(super) fn times_in(&self, config: &PosConfig, epoch: u64) -> SlotTimes {
        if self.pending_length.is_none() || epoch <= self.epoch() {
            return self.times.clone();
        }
        let last = epoch.min(self.epoch().saturating_add(FINAL_WITHOUT_BLOCKS_EPOCHS));
        self.advanced(config, config.start_of(last)).0.times
    }

    /// Returns the times of a branch's slots, known for `slot` and the one after it.
    pub(super) fn times_at(&self, config: &PosConfig, slot: u64) -> SlotTimes {
        self.times_in(config, config.epoch_of(slot))
    }

    /// Makes the block time in force the next length of slots, unless another change is under way.
    pub(super) fn commit_length(&mut self) {
        let secs = self.parameters.value(Parameter::BlockTime).map(|secs| secs as u64);
        if let Some(secs) = secs.filter(|secs| self.pending_length.is_none() && *secs != self.times.last_period()) {
            self.pending_length = Some(PendingLength { epoch: self.epoch(), secs });
        }
    }

    /// Sets the first slot of the pending length at the end of the state's epoch, once a checkpoint above its block is final.
    pub(super) fn settle_length(&mut self, config: &PosConfig) {
        let finalized = self.casper.finalized.epoch;
        let is_final = |epoch| finalized > epoch || mutation::active(Mutation::PosUnfinalSlotLength);
        if let Some(PendingLength { secs, .. }) = self.pending_length.take_if(|pending| is_final(pending.epoch)) {
            self.times = self.times.changed_at(config.start_of(self.epoch() + 2), secs);
            self.commit_length();
        }
    }

    /// Encodes what differs from genesis, where a parameter of the chain has changed.
    pub(super) fn encode_times(&self, out: &mut Encoder) {
        if !self.parameters.is_empty() {
            self.times.encode(out);
            out.option(self.pending_length, |out, PendingLength { epoch, secs }| {
                out.u64(epoch);
                out.u64(secs);
            });
        }
    }

    /// Decodes [`State::encode_times`], after the state's parameters.
    pub(super) fn decode_times(mut self, config: &PosConfig, bytes: &mut Decoder<'_>) -> Option<Self> {
        self.times = SlotTimes::from_genesis(self.genesis_time, config.period);
        if !self.parameters.is_empty() {
            self.times = SlotTimes::decode(bytes)?;
            self.pending_length =
                bytes.option(|bytes| Some(PendingLength { epoch: bytes.u64()?, secs: bytes.u64()? }))?;
        }
        Some(self)
    }
}
