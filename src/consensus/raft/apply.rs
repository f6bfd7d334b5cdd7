//! From committed to head: each block is executed, adopted, and its change of the members put in force.

use std::sync::Arc;

use super::{Body, HeaderError, Link, Output, Part, Raft, progress::follow_members, record, rules::check_header};
use crate::{
    chain::Block,
    consensus::{BlockId, ChainEvent, Effect, Encoder, Rejection, Verdict},
};

/// A committed block that is being executed, as the link that it becomes.
#[derive(Clone, Debug)]
pub(super) struct Applying {
    link: Link,
}

impl Raft {
    /// Applies what is committed, up to a block that must be executed first.
    pub(super) fn apply(&mut self, output: &mut Output<'_>) {
        if self.applying.is_some() {
            return;
        }
        while let Some(entry) = self.log.next_to_apply() {
            if let Some(block) = entry.block.clone() {
                // Who sealed it was judged when the entry was taken.
                let author = block.header().beneficiary;
                let judged = check_header(&self.config, &self.head, &block.as_ref().into(), author);
                return self.execute(block, judged, output);
            }
            self.log.applied_one();
        }
        self.release_reads(output);
        self.plan_block(output);
    }

    /// Asks for the execution of the block after the head, which was judged so.
    pub(super) fn execute(&mut self, block: Arc<Block>, judged: Result<Link, HeaderError>, output: &mut Output<'_>) {
        match judged {
            Ok(link) => {
                self.applying = Some(Applying { link });
                output.effects.push(Effect::Validate { block });
            }
            // A leader that proposes such a block lies, which Raft does not tolerate: this replica goes no further.
            Err(error) => {
                let (block, reason) = (BlockId::of(&block), error.to_string());
                output.reject(Rejection::Header { block, reason });
            }
        }
    }

    pub(super) fn judge(&self, block: &Block) -> Result<Link, HeaderError> {
        let author = self.authenticator.author(block.hash(), block.seal())?;
        check_header(&self.config, &self.head, &block.into(), author)
    }

    pub(super) fn on_judged(&mut self, id: BlockId, verdict: Verdict, output: &mut Output<'_>) {
        if self.applying.as_ref().is_none_or(|applying| applying.link.block != id) {
            return output.reject(Rejection::Unexpected { what: "verdict" });
        }
        match verdict {
            Verdict::Valid { .. } => {
                if let Some(Applying { link }) = self.applying.take() {
                    self.adopt(link, output);
                }
            }
            Verdict::Invalid { reason } => output.reject(Rejection::Header { block: id, reason }),
        }
    }

    fn adopt(&mut self, link: Link, output: &mut Output<'_>) {
        let old = core::mem::replace(&mut self.head, link);
        let new = self.head.block;
        self.log.adopt(self.head.index, self.head.term, new);
        let compacted = self.log.compact(self.config.log_keep);
        let mut records = Vec::with_capacity(2 + compacted.clone().count());
        records.extend(record::head(&self.head));
        records.extend(compacted.map(record::no_entry));
        let ticket = self.next_ticket.take_next();
        self.log.record_write_began(ticket);
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
        let Part::Leader(leader) = &mut self.part else { return };
        for (replica, progress) in &leader.progress {
            if !self.head.membership.is_member(*replica) {
                // The last word: that its removal is committed.
                let (commit, round) = (progress.matched().min(committed), leader.round);
                output.send(*replica, term, Body::Heartbeat { commit, round });
            }
        }
        let Some(own_id) = own_id else {
            output.mark("raft/leader-removed");
            return self.become_follower(self.term, None, output);
        };
        follow_members(&mut leader.progress, &self.head.membership, last_index);
        leader.progress.remove(&own_id);
        if leader.transfer.is_some_and(|to| !self.head.membership.is_voter(to)) {
            leader.transfer = None;
        }
        self.broadcast_append(output);
        self.commit_by_count(output);
    }

    /// Whether a change of the members is committed and not applied.
    pub(super) fn has_unapplied_change(&self) -> bool {
        let unapplied = self.log.after(self.log.applied()).take_while(|entry| entry.index <= self.log.committed());
        unapplied
            .filter_map(|entry| entry.block.as_ref())
            .any(|block| super::Payload::decode(block.payload()).is_ok_and(|payload| payload.change.is_some()))
    }
}

impl Applying {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { link } = self;
        link.encode(out);
    }
}
