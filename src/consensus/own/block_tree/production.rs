//! This replica's own blocks.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::BlockTree;
use crate::{
    chain::Block,
    consensus::{BlockId, BuildRequest, Deadline, Effect, Rejection, common::codec::encode_value},
    primitives::{B64, B256},
};

impl<T> BlockTree<T>
where
    T: Clone + core::fmt::Debug + Serialize + DeserializeOwned,
{
    /// Plans this replica's next block on an executed parent, in place of one that was planned before. It is built a second after the
    /// parent. Returns `false`, and plans nothing, when the parent is not executed or the replica observes.
    pub fn plan(&mut self, parent: BlockId, payload: &T, effects: &mut Vec<Effect>) -> bool {
        let Some((parent, beneficiary)) = self.get(parent).zip(self.participant.address()) else { return false };
        let timestamp = parent.timestamp.saturating_add_secs(1);
        self.next = Some(BuildRequest {
            ticket: self.next_ticket,
            parent: parent.id,
            beneficiary,
            difficulty: 0,
            timestamp_min: timestamp,
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            payload: encode_value(payload).into(),
        });
        self.next_ticket.take_next();
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos: 0 };
        effects.push(Effect::ArmTimer { timer: self.timers.build, deadline });
        true
    }

    pub(super) fn publish<S: Serialize>(
        &mut self,
        block: &Block,
        state: &S,
        effects: &mut Vec<Effect>,
    ) -> Result<Arc<Block>, Rejection> {
        let sealed = self.participant.seal(block).ok_or(Rejection::Unexpected { what: "built block" })?;
        let after = self.persist(state, effects);
        effects.push(Effect::broadcast(sealed.clone(), Some(after)));
        Ok(sealed)
    }
}
