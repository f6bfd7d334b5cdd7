//! Applying committed entries: each block is executed and becomes the head, and its membership change takes effect.

use std::sync::Arc;

use super::{
    Body, HeaderContext, HeaderError, Output, Raft, ServerState, progress::track_members, record, rules::check_header,
};
use crate::{
    chain::Block,
    consensus::{BlockId, ChainEvent, Effect, Encoder, Purpose, Rejection, Verdict},
};

/// A committed block in execution, with the context for its children.
#[derive(Clone, Debug)]
pub(super) struct Applying {
    context: HeaderContext,
}

impl Raft {
    /// Applies committed entries, up to a block that must be executed first.
    pub(super) fn apply(&mut self, output: &mut Output<'_>) {
        if self.applying.is_some() {
            return;
        }
        while let Some(entry) = self.log.next_to_apply() {
            if let Some(block) = entry.block.clone() {
                // The seal was verified when the entry was appended.
                let author = block.header().beneficiary;
                let checked = check_header(&self.config, &self.head, &block.as_ref().into(), author);
                return self.execute(block, checked, output);
            }
            self.log.mark_applied();
        }
        self.release_reads(output);
        self.plan_block(output);
    }

    /// Requests execution of the block after the head if its header is valid.
    pub(super) fn execute(
        &mut self,
        block: Arc<Block>,
        checked: Result<HeaderContext, HeaderError>,
        output: &mut Output<'_>,
    ) {
        match checked {
            Ok(context) => {
                self.applying = Some(Applying { context });
                output.effects.push(Effect::Validate { block });
            }
            // Only a Byzantine leader proposes such a block, which Raft does not tolerate: this replica stops applying.
            Err(error) => {
                let (block, reason) = (BlockId::of(&block), error.to_string());
                output.reject(Rejection::Header { block, reason });
            }
        }
    }

    pub(super) fn check_block(&self, block: &Block) -> Result<HeaderContext, HeaderError> {
        let author = self.authenticator.author(Purpose::Block, block.hash(), block.seal())?;
        check_header(&self.config, &self.head, &block.into(), author)
    }

    pub(super) fn on_judged(&mut self, id: BlockId, verdict: Verdict, output: &mut Output<'_>) {
        if self.applying.as_ref().is_none_or(|applying| applying.context.block != id) {
            return output.reject(Rejection::Unexpected { what: "verdict" });
        }
        match verdict {
            Verdict::Valid { updates } => {
                if let Some(Applying { context }) = self.applying.take() {
                    self.adopt(context.executed(&updates), output);
                }
            }
            Verdict::Invalid { reason } => output.reject(Rejection::Header { block: id, reason }),
        }
    }

    fn adopt(&mut self, context: HeaderContext, output: &mut Output<'_>) {
        let old = core::mem::replace(&mut self.head, context);
        let new = self.head.block;
        self.log.adopt(self.head.index, self.head.term, new);
        let compacted = self.log.compact(self.config.log_keep);
        let mut records = Vec::with_capacity(2 + compacted.clone().count());
        records.extend(record::head(&self.head));
        records.extend(compacted.map(record::delete_entry));
        let ticket = self.next_ticket.take_next();
        self.log.begin_record_write(ticket);
        output.effects.push(Effect::Persist { ticket, records });
        output.effects.push(Effect::Chain(ChainEvent::Inserted(new)));
        output.effects.push(Effect::Chain(ChainEvent::HeadMoved { old: old.block, new, reorg_depth: 0 }));
        let finality = super::Protocol::finality(self);
        output.effects.push(Effect::Chain(ChainEvent::Final { finality, proof: None }));
        if old.membership != self.head.membership {
            self.on_members_changed(output);
        }
        self.continue_sync(output);
        self.apply(output);
    }

    fn on_members_changed(&mut self, output: &mut Output<'_>) {
        output.mark(if self.head.membership.is_joint() { "raft/joint" } else { "raft/members-changed" });
        let own_id = self.own_id();
        let (term, committed, last_index) = (self.term, self.log.committed(), self.log.last_index());
        let ServerState::Leader(leader) = &mut self.state else { return };
        for (replica, progress) in &leader.progress {
            if !self.head.membership.is_member(*replica) {
                // Lets the removed replica learn that its removal is committed.
                let (commit, round) = (progress.matched().min(committed), leader.round);
                output.send(*replica, term, Body::Heartbeat { commit, round });
            }
        }
        let Some(own_id) = own_id else {
            output.mark("raft/leader-removed");
            return self.become_follower(self.term, None, output);
        };
        track_members(&mut leader.progress, &self.head.membership, last_index);
        leader.progress.remove(&own_id);
        if leader.transfer.is_some_and(|to| !self.head.membership.is_voter(to)) {
            leader.transfer = None;
        }
        self.broadcast_append(output);
        self.maybe_commit(output);
    }

    /// Returns whether a membership change is committed and not applied.
    pub(super) fn has_unapplied_change(&self) -> bool {
        let unapplied = self.log.after(self.log.applied()).take_while(|entry| entry.index <= self.log.committed());
        unapplied
            .filter_map(|entry| entry.block.as_ref())
            .any(|block| super::Payload::decode(block.protocol_payload()).is_ok_and(|payload| payload.change.is_some()))
    }
}

impl Applying {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { context } = self;
        context.encode(out);
    }
}
