//! Progress of a proposal: execution, prepared, committed, then the next height.

use std::sync::Arc;

use super::{
    Body, Certificate, CommitteeTransition, HeaderError, Pbft, PbftMessage, SUSPECT_TIMER, Seal, View, broadcast,
    log::{Proposal, ProposalStatus, Vote},
    sync::Claimed,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ChainEvent, Effect, Protocol, Rejection, Verdict,
        mutation::{self, Mutation},
    },
    primitives::{Bytes, Height},
    system::ValidatorUpdates,
};

impl Pbft {
    /// Requests execution of the proposal at the next height, if its body is available.
    pub(super) fn execute_next(&mut self, effects: &mut Vec<Effect>) {
        let head = self.head;
        if self.is_changing {
            return;
        }
        let Some(slot) = self.log.slots.get_mut(&head.height.next()) else { return };
        let Some(proposal) = slot.proposal.as_mut().filter(|proposal| proposal.status == ProposalStatus::Waiting)
        else {
            return;
        };
        let Some(body) = slot.bodies.get(&proposal.hash) else { return };
        if body.parent_hash() == head.hash {
            proposal.status = ProposalStatus::Executing;
            effects.push(Effect::Validate { block: body.clone() });
        } else {
            proposal.status = ProposalStatus::Rejected;
            self.start_view_change(self.view.next(), effects);
        }
    }

    pub(super) fn on_judged(
        &mut self,
        id: BlockId,
        verdict: Verdict,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let is_proposed = !self.is_changing && self.is_executing(id);
        let synced = self.take_synced(id);
        if !is_proposed && synced.is_none() {
            effects.push(Effect::Mark("pbft/stale-answer"));
            return Ok(());
        }
        let outcome = self.check_verdict(id, verdict, synced.as_ref().map(|(block, _)| block.as_ref()));
        let (after, updates) = match outcome {
            Ok(outcome) => outcome,
            Err(reason) => {
                if is_proposed {
                    self.refuse_proposal(id, effects);
                }
                return Err(Rejection::Header { block: id, reason });
            }
        };
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        if is_proposed {
            if let Some(slot) = self.log.slot_mut(id.height) {
                slot.updates = updates.clone();
            }
            self.vote_for(id, effects);
        }
        if let Some((block, claimed)) = synced.filter(|_| id.height == self.head.height.next()) {
            self.commit_synced(&block, after.with(&updates), effects);
            if claimed == Claimed::TooFew {
                self.ask_on(effects);
            }
        }
        Ok(())
    }

    /// Commits a synced block. What its certificate proves besides the block, a stable checkpoint and a later view, is written with it:
    /// a crash after the write must not leave a head whose log or view is behind.
    fn commit_synced(&mut self, block: &Block, after: CommitteeTransition, effects: &mut Vec<Effect>) {
        let id = BlockId::of(block);
        let is_trusted_late = mutation::active(Mutation::PbftForgetsProvenCheckpoint);
        effects.push(Effect::Mark("pbft/synced"));
        if !is_trusted_late {
            self.trust_proven_checkpoint(id.height);
        }
        // A new committee counts its views anew.
        let missed = self.missed_view(block).filter(|_| after.since() < id.height);
        if let Some(view) = missed.filter(|_| self.me.is_some()) {
            self.journal.view(self.transition.since(), view, None);
        }
        self.commit(id, block, block.seal().clone(), after, effects);
        if is_trusted_late {
            self.trust_proven_checkpoint(id.height);
        }
        self.advance(effects);
        if let Some(view) = missed {
            self.follow_view(view, effects);
        }
    }

    /// Returns the transition after a judged block on the head with the updates of its execution, or why it is invalid.
    fn check_verdict(
        &self,
        id: BlockId,
        verdict: Verdict,
        synced: Option<&Block>,
    ) -> Result<(CommitteeTransition, ValidatorUpdates), String> {
        let updates = match verdict {
            Verdict::Valid { updates } => updates,
            Verdict::Invalid { reason } => return Err(reason),
        };
        let proposed = self.log.slot(id.height).and_then(|slot| slot.bodies.get(&id.hash));
        // Another copy of the proposal may have been committed meanwhile.
        let is_next = id.height == self.head.height.next();
        let after = match synced.or(proposed.map(AsRef::as_ref)).filter(|_| is_next) {
            Some(block) => self.transition_after(block).map_err(|error| error.to_string())?,
            None => self.transition.clone(),
        };
        Ok((after, updates))
    }

    /// Refuses an invalid proposal and leaves the view of its primary, which signed the header and with it what the body must be.
    ///
    /// Nobody signs interventions, which the header does not name: a block with them may be another copy than the primary's. It is
    /// dropped, and the primary is suspected only when no valid one comes in time.
    fn refuse_proposal(&mut self, id: BlockId, effects: &mut Vec<Effect>) {
        let Some(slot) = self.log.slots.get_mut(&id.height) else { return };
        if slot.bodies.get(&id.hash).is_none_or(|body| body.interventions().is_empty()) {
            self.set_status(id.height, ProposalStatus::Rejected);
            return self.start_view_change(self.view.next(), effects);
        }
        effects.push(Effect::Mark("pbft/unsigned-copy"));
        slot.bodies.remove(&id.hash);
        match slot.proposal.as_mut().filter(|proposal| proposal.is_chosen) {
            Some(chosen) => {
                chosen.status = ProposalStatus::Waiting;
                self.fetch_body(id, effects);
            }
            None => slot.proposal = None,
        }
    }

    fn is_executing(&self, id: BlockId) -> bool {
        let proposal = self.log.slot(id.height).and_then(|slot| slot.proposal);
        proposal.is_some_and(|proposal| proposal.hash == id.hash && proposal.status == ProposalStatus::Executing)
    }

    pub(super) fn set_status(&mut self, height: Height, status: ProposalStatus) {
        let slot = self.log.slots.get_mut(&height);
        if let Some(proposal) = slot.and_then(|slot| slot.proposal.as_mut()) {
            proposal.status = status;
        }
    }

    /// Votes for a valid proposal: a prepare, or the pre-prepare of an own new block.
    pub(super) fn vote_for(&mut self, id: BlockId, effects: &mut Vec<Effect>) {
        let (view, is_primary) = (self.view, self.is_primary());
        self.set_status(id.height, ProposalStatus::Accepted);
        let Some(slot) = self.log.slots.get_mut(&id.height) else { return };
        slot.pre_prepare(view, id.hash);
        let body = slot.bodies.get(&id.hash).cloned();
        let wrong = body.as_ref().filter(|_| !is_primary).and_then(|body| self.review_report(body));
        if self.me.is_some() {
            body.iter().for_each(|body| self.journal.body(body));
            self.journal.pre_prepared(view, id);
        }
        if is_primary {
            self.propose(body.as_ref(), effects);
        } else if let (Some(me), Some(message)) =
            (self.me, self.vote_as_member(Body::Prepare { view, block: id }, effects))
        {
            let vote = Vote { view, hash: id.hash, signature: message.signature.clone() };
            if let Some(slot) = self.log.slots.get_mut(&id.height) {
                slot.prepares.count(me, vote);
            }
        }
        self.progress(id.height, effects);
        if let Some(wrong) = wrong {
            self.on_wrong_reports(&wrong, effects);
        }
    }

    fn vote_as_member(&mut self, body: Body, effects: &mut Vec<Effect>) -> Option<Arc<PbftMessage>> {
        self.me?;
        self.sign_and_send(body, effects)
    }

    /// Updates the height's phase from its votes: sends the commit once prepared, commits the block with a quorum.
    pub(super) fn progress(&mut self, height: Height, effects: &mut Vec<Effect>) {
        let (view, quorums, me) = (self.view, *self.quorums(), self.me);
        if self.is_changing {
            return;
        }
        let Some(slot) = self.log.slots.get_mut(&height) else { return };
        let Some(Proposal { hash, status: ProposalStatus::Accepted, .. }) = slot.proposal else { return };
        let id = BlockId { height, hash };
        let was_prepared = slot.prepared == Some((view, hash));
        let is_prepared =
            was_prepared || slot.is_prepared(view, hash, &quorums) || mutation::active(Mutation::PbftCommitsUnprepared);
        if is_prepared && !was_prepared {
            slot.prepared = Some((view, hash));
        }
        // After a restart the block is already prepared, and the commit is sent again.
        let may_commit = me.is_some_and(|me| slot.commits.of(&me).is_none_or(|vote| !vote.is(view, hash)));
        if is_prepared && may_commit {
            self.journal.prepared(view, id);
            let sent = self.sign_and_send(Body::Commit { view, block: id }, effects);
            if let (Some(me), Some(message), Some(slot)) = (me, sent, self.log.slots.get_mut(&height)) {
                let vote = Vote { view, hash, signature: message.signature.clone() };
                slot.commits.count(me, vote);
            }
        }
        if height != self.head.height.next() {
            return;
        }
        let Some(slot) = self.log.slot(height) else { return };
        let (Some(signatures), Some(body)) = (slot.commits_of(view, hash, &quorums), slot.bodies.get(&hash)) else {
            return;
        };
        let (body, updates) = (body.clone(), slot.updates.clone());
        let after = match self.transition_after(&body) {
            Ok(after) => after.with(&updates),
            Err(error) => {
                let reason = error.to_string();
                return effects.push(Effect::Reject(Rejection::Header { block: id, reason }));
            }
        };
        let seal = Seal::Certificate(Certificate { view, signatures });
        self.commit(id, &body, seal.encoded(), after, effects);
        self.advance(effects);
    }

    /// Makes a block with its certificate the head, finally.
    fn commit(
        &mut self,
        id: BlockId,
        block: &Block,
        seal: Bytes,
        after: CommitteeTransition,
        effects: &mut Vec<Effect>,
    ) {
        let old = core::mem::replace(&mut self.head, id);
        let present = self.log.slot(id.height).map(|slot| slot.commits.voters_of(id.hash).collect());
        self.timestamp = block.timestamp();
        (self.doublings, self.ticks_without_block) = (0, 0);
        self.cancel_build(effects);
        let view = self.view;
        if let Some(slot) = self.log.slot_mut(id.height) {
            slot.committed = Some((view, id.hash));
            slot.prepares.clear();
            slot.commits.clear();
            slot.bodies.clear();
            slot.early = None;
            slot.updates = ValidatorUpdates::NONE;
        }
        self.forget_fetched();
        let is_checkpoint = self.config.is_checkpoint(&id);
        if is_checkpoint {
            self.log.checkpoints.insert(id.height, id.hash);
        }
        let was_member = self.me.is_some();
        let changes_committee = self.enter_committee(after, effects);
        self.begin_attendance(present.unwrap_or_default(), !changes_committee);
        self.journal.head(&self.head_record());
        if changes_committee {
            self.make_stable(id);
        }
        let ticket = self.persist(effects);
        effects.push(Effect::Chain(ChainEvent::Sealed { block: id, seal: seal.clone() }));
        effects.push(Effect::Chain(ChainEvent::HeadMoved { old, new: id, reorg_depth: 0 }));
        effects.push(Effect::Chain(ChainEvent::Final { finality: self.finality(), proof: Some(seal) }));
        if changes_committee {
            // Already stable; sent for replicas that are behind, also by a member that leaves.
            let message = self.checkpoint_message(id).filter(|_| was_member);
            message.into_iter().for_each(|message| broadcast(&message, Some(ticket), effects));
        } else if is_checkpoint {
            self.vote_checkpoint(id, Some(ticket), effects);
        }
    }

    /// Returns the transition after a block on the head, without the updates of its execution, as the changes that are pending here
    /// and the block's evidence give it. A certificate does not stand in for them: a replica that executed the chain knows its
    /// committee, and one that does not agree with it must stop rather than follow another one.
    fn transition_after(&self, block: &Block) -> Result<CommitteeTransition, HeaderError> {
        let (config, height, payload) = (&self.config, block.height(), block.protocol_payload());
        let mut after = self.transition.after(config, height, payload, &self.authenticator);
        if after.is_err() && mutation::active(Mutation::PbftTrustsPayload) {
            after = self.transition.after_proven(config, height, payload, &self.authenticator);
        }
        Ok(after?.with_parameters(config, height, block.parameters()))
    }

    /// Adopts the transition after a new head; returns whether the head changed the committee.
    fn enter_committee(&mut self, after: CommitteeTransition, effects: &mut Vec<Effect>) -> bool {
        let before = core::mem::replace(&mut self.transition, after);
        self.forget_evidence();
        if before.since() == self.transition.since() {
            return false;
        }
        effects.push(Effect::Mark("pbft/validators-changed"));
        let own = self.signer.as_ref().map(crate::consensus::Signer::address);
        let was_member = self.me.is_some();
        self.me = own.filter(|own| self.transition.committee().contains(own));
        let committee = self.transition.committee();
        self.log.begin_committee(|who| committee.contains(who), |view| committee.primary(view));
        self.claims.retain(|who, _| committee.contains(who));
        self.peers.retain(|who, _| committee.contains(who) || before.committee().contains(who));
        self.begin_views(effects);
        match (was_member, self.me.is_some()) {
            (false, true) => effects.push(Effect::Mark("pbft/joined")),
            (true, false) => {
                effects.push(Effect::Mark("pbft/left"));
                effects.push(Effect::DisarmTimer(SUSPECT_TIMER));
            }
            _ => {}
        }
        true
    }

    /// Begins to count views from 0, as every replica of a new committee does at the same block. View 0 needs no new-view, since
    /// nothing was pre-prepared above that block; a view change of the former committee ends here.
    fn begin_views(&mut self, effects: &mut Vec<Effect>) {
        self.new_view = None;
        self.answered.clear();
        if mutation::active(Mutation::PbftViewOutlivesCommittee) {
            if self.me.is_none() {
                self.is_changing = false;
            }
            return;
        }
        (self.view, self.is_changing, self.is_awaited) = (View::default(), false, false);
        self.view_changes.clear();
        self.suspicions.clear();
        self.wanted.clear();
        self.journal.forget_views();
        effects.push(Effect::Mark("pbft/views-begin"));
    }

    /// Continues with the height after a new head.
    pub(super) fn advance(&mut self, effects: &mut Vec<Effect>) {
        if self.is_changing {
            // A primary that was behind may be able to start its view now.
            self.try_new_view(effects);
        } else {
            self.arm_suspect(effects);
            self.execute_next(effects);
            self.schedule_block(effects);
        }
        self.execute_fetched(effects);
        self.catch_up(effects);
    }

    /// Resends this replica's messages about the next height.
    pub(super) fn resend_votes(&self, effects: &mut Vec<Effect>) {
        let height = self.head.height.next();
        let (Some(me), Some(slot)) = (self.me, self.log.slot(height)) else { return };
        let Some(Proposal { hash, status: ProposalStatus::Accepted, .. }) = slot.proposal else { return };
        let (view, block) = (self.view, BlockId { height, hash });
        if let Some(message) =
            slot.bodies.get(&hash).filter(|_| self.is_primary()).and_then(|b| self.proposal_of_view(b))
        {
            broadcast(&message, self.last_write, effects);
        }
        let prepare = slot.prepares.of(&me).map(|vote| (Body::Prepare { view, block }, vote));
        let commit = slot.commits.of(&me).map(|vote| (Body::Commit { view, block }, vote));
        for (body, vote) in [prepare, commit].into_iter().flatten().filter(|(_, vote)| vote.view == view) {
            let message = PbftMessage { body, signature: vote.signature.clone() };
            broadcast(&Arc::new(message), self.last_write, effects);
        }
    }
}
