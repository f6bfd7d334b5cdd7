//! The normal case: pre-prepare, prepare, commit (section 4.3 of the paper).

use std::sync::Arc;

use super::{
    BUILD_TIMER, Body, Certificate, DoubleSigning, Duty, MessageError, Pbft, PbftMessage, Promise, SUSPECT_TIMER, Seal,
    VIEWS_AHEAD_MAX, View, broadcast,
    log::{Counted, Proposal, Standing, Vote},
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, ChainEvent, Deadline, Effect, Message, Protocol, Recipients, Rejection, ReplicaId,
        Ticket, Verdict,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Bytes, Height, Timestamp},
    system::ValidatorUpdates,
};

/// The primary.
impl Pbft {
    /// Decides anew what to do about the block after the head.
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        let height = self.head.height.next();
        if self.is_changing || !self.is_primary() || self.duty != Duty::Idle {
            return;
        }
        let Some(slot) = self.log.slot_mut(height) else {
            return effects.push(Effect::Mark("pbft/log-full"));
        };
        if slot.proposal.is_some() {
            return;
        }
        if slot.has_other_in(self.view, B256::ZERO) {
            return effects.push(Effect::Mark("pbft/refuse-double-proposal"));
        }
        if self.config.period == 0 {
            return self.ask_for_block(effects);
        }
        self.duty = Duty::Waiting;
        let deadline = Deadline::AtTimestamp { timestamp: self.earliest_next(), then_nanos: 0 };
        effects.push(Effect::ArmTimer { timer: BUILD_TIMER, deadline });
    }

    /// Stops whatever was planned.
    pub(super) fn forget_plan(&mut self, effects: &mut Vec<Effect>) {
        match core::mem::replace(&mut self.duty, Duty::Idle) {
            Duty::Idle => {}
            Duty::Waiting => effects.push(Effect::DisarmTimer(BUILD_TIMER)),
            Duty::Building(_) => effects.push(Effect::CancelBuild),
        }
    }

    pub(super) fn ask_for_block(&mut self, effects: &mut Vec<Effect>) {
        let Some(me) = self.me else { return };
        let ticket = self.next_ticket.take_next();
        let height = self.head.height.next();
        self.duty = Duty::Building(ticket);
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: self.head,
            beneficiary: me,
            difficulty: 0,
            timestamp_min: self.earliest_next(),
            mix_hash: B256::ZERO,
            payload: self.succession.payload(&self.config, height, self.evidence_for(height)),
        }));
    }

    /// Executes one's own block as everybody's; it is proposed once that went well.
    pub(super) fn on_built(&mut self, ticket: Ticket, block: &Block, effects: &mut Vec<Effect>) {
        let id = BlockId::of(block);
        let (Some(signer), Some(slot)) = (self.signer.as_ref(), self.log.slot_mut(id.height)) else {
            return effects.push(Effect::Mark("pbft/stale-build"));
        };
        if self.duty != Duty::Building(ticket) || BlockId::parent_of(block) != self.head || slot.proposal.is_some() {
            return effects.push(Effect::Mark("pbft/stale-build"));
        }
        self.duty = Duty::Idle;
        let signature = signer.sign(self.authenticator.hash_to_sign(&super::message::pre_prepare(self.view, &id)));
        let sealed = Arc::new(block.clone().with_seal(Seal::Proposal { view: self.view, signature }.encoded()));
        slot.proposal = Some(Proposal { hash: id.hash, standing: Standing::Judging, is_chosen: false });
        slot.bodies.insert(id.hash, sealed.clone());
        effects.push(Effect::Validate { block: sealed });
    }

    const fn earliest_next(&self) -> Timestamp {
        self.config.earliest_after(self.timestamp)
    }
}

/// Messages.
impl Pbft {
    pub(super) fn on_pre_prepare(
        &mut self,
        sender: Address,
        view: View,
        block: &Arc<Block>,
        message: &Arc<PbftMessage>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        self.check_place(view, block.height())?;
        if sender != self.council().primary(view) {
            return Err(MessageError::NotPrimary { signer: sender, view });
        }
        if *block.seal() != (Seal::Proposal { view, signature: message.signature.clone() }).encoded() {
            return Err(MessageError::Malformed { what: "the proposed block's seal is another signature" });
        }
        if block.height() <= self.head.height {
            return Err(MessageError::Known);
        }
        if view == self.view && !self.is_changing {
            return self.accept_proposal(sender, block, effects);
        }
        let Some(slot) = self.log.slot_mut(block.height()) else { return Err(MessageError::Known) };
        match slot.early.as_deref() {
            Some(PbftMessage { body: Body::PrePrepare { view: earlier, .. }, .. }) if *earlier <= view => {
                Err(MessageError::Known)
            }
            _ => {
                slot.early = Some(message.clone());
                Ok(())
            }
        }
    }

    /// Takes a proposal of the present view, unless its primary proposed another.
    pub(super) fn accept_proposal(
        &mut self,
        primary: Address,
        block: &Arc<Block>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let (id, view, head, offender) = (BlockId::of(block), self.view, self.head, primary);
        let Some(slot) = self.log.slot_mut(id.height) else { return Err(MessageError::Known) };
        if mutation::active(Mutation::PbftTwoProposals) {
            (slot.proposal, slot.pre_prepared) = (None, Default::default());
        }
        let earlier = slot.pre_prepared.iter().find(|(_, at)| **at == view).map(|(hash, _)| *hash);
        match slot.proposal.map(|proposal| proposal.hash).or(earlier) {
            Some(first) if first != id.hash => {
                let proof = self.double_proposal(first, block);
                self.accuse(offender, id.height, (first, id.hash), proof, effects);
                effects.push(Effect::Mark("pbft/equivocating-primary"));
                self.start_view_change(view.next(), effects);
                return Ok(());
            }
            _ if slot.proposal.is_some() => return Err(MessageError::Known),
            _ => {}
        }
        if id.height == head.height.next() && block.parent_hash() != head.hash {
            return Err(MessageError::Parent { got: block.parent_hash(), head });
        }
        slot.proposal = Some(Proposal { hash: id.hash, standing: Standing::Waiting, is_chosen: false });
        slot.bodies.insert(id.hash, block.clone());
        self.judge_next(effects);
        Ok(())
    }

    /// Proof that the primary of this view proposed `second` beside another block, whose proposal is here.
    fn double_proposal(&self, first: B256, second: &Block) -> Option<DoubleSigning> {
        let first = self.log.slot(second.height())?.bodies.get(&first)?;
        let signature = |block: &Block| match Seal::decode(block.seal()) {
            Ok(Seal::Proposal { view, signature }) if view == self.view => Some((block.hash(), signature)),
            _ => None,
        };
        let (one, other) = (signature(first)?, signature(second)?);
        Some(DoubleSigning::new(Promise::PrePrepare, self.view, second.height(), one, other))
    }

    /// Shows whoever agrees to another block what the primary proposed here, so that it sees both.
    fn show_proposal(&self, height: Height, hash: B256, to: ReplicaId, effects: &mut Vec<Effect>) {
        let slot = self.log.slot(height);
        let Some((slot, proposal)) = slot.and_then(|slot| Some((slot, slot.proposal?))) else { return };
        let body = slot.bodies.get(&proposal.hash).filter(|_| proposal.hash != hash);
        if let Some(message) = body.and_then(|body| self.proposal_of_view(body)) {
            effects.push(Effect::Mark("pbft/shown-other-proposal"));
            let message = Message::Pbft(message);
            effects.push(Effect::Send { to: Recipients::One(to), message, after: None });
        }
    }

    pub(super) fn on_prepare(
        &mut self,
        (sender, from): (Address, ReplicaId),
        view: View,
        block: BlockId,
        signature: &Bytes,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        self.check_place(view, block.height)?;
        if sender == self.council().primary(view) {
            return Err(MessageError::Malformed { what: "a primary prepares by proposing" });
        }
        let Some(slot) = self.log.slot_mut(block.height) else { return Err(MessageError::Known) };
        if slot.is_settled(view) {
            return Ok(());
        }
        let vote = Vote { view, hash: block.hash, signature: signature.clone() };
        let counted = slot.prepares.count(sender, vote);
        if counted == Counted::Yes && view == self.view && !self.is_changing {
            self.show_proposal(block.height, block.hash, from, effects);
        }
        self.after_vote(Promise::Prepare, counted, (sender, signature), block, effects)
    }

    pub(super) fn on_commit(
        &mut self,
        sender: Address,
        view: View,
        block: BlockId,
        signature: &Bytes,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        self.check_place(view, block.height)?;
        let Some(slot) = self.log.slot_mut(block.height) else { return Err(MessageError::Known) };
        if slot.is_settled(view) {
            return Ok(());
        }
        let vote = Vote { view, hash: block.hash, signature: signature.clone() };
        let counted = slot.commits.count(sender, vote);
        self.after_vote(Promise::Commit, counted, (sender, signature), block, effects)
    }

    fn after_vote(
        &mut self,
        promise: Promise,
        counted: Counted,
        (offender, signature): (Address, &Bytes),
        block: BlockId,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        match counted {
            Counted::Yes => self.progress(block.height, effects),
            Counted::Known => return Err(MessageError::Known),
            Counted::Contradiction { first } => {
                let (height, both) = (block.height, (first.hash, block.hash));
                let (one, other) = ((first.hash, first.signature), (block.hash, signature.clone()));
                let proof = DoubleSigning::new(promise, first.view, height, one, other);
                if self.evidence.contains_key(&offender) {
                    return Err(MessageError::Contradiction { signer: offender });
                }
                self.accuse(offender, height, both, Some(proof), effects);
            }
        }
        Ok(())
    }

    /// Whether votes and proposals of this view and height are taken.
    fn check_place(&self, got: View, height: Height) -> Result<(), MessageError> {
        let (current, limit) = (self.view, VIEWS_AHEAD_MAX);
        if got < current {
            return Err(MessageError::OldView { got, current });
        }
        if got.get() - current.get() > limit {
            return Err(MessageError::FarView { got, current, limit });
        }
        let (low, high) = self.watermarks();
        if self.log.contains(height) { Ok(()) } else { Err(MessageError::Watermarks { height, low, high }) }
    }
}

/// Progress.
impl Pbft {
    /// Has the proposal for the next height executed, if its body is here.
    pub(super) fn judge_next(&mut self, effects: &mut Vec<Effect>) {
        let head = self.head;
        if self.is_changing {
            return;
        }
        let Some(slot) = self.log.slots.get_mut(&head.height.next()) else { return };
        let Some(proposal) = slot.proposal.as_mut().filter(|proposal| proposal.standing == Standing::Waiting) else {
            return;
        };
        let Some(body) = slot.bodies.get(&proposal.hash) else { return };
        if body.parent_hash() == head.hash {
            proposal.standing = Standing::Judging;
            effects.push(Effect::Validate { block: body.clone() });
        } else {
            proposal.standing = Standing::Refused;
            self.start_view_change(self.view.next(), effects);
        }
    }

    pub(super) fn on_judged(
        &mut self,
        id: BlockId,
        verdict: Verdict,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let is_proposed = !self.is_changing && self.is_being_judged(id);
        let synced = self.take_synced(id);
        if !is_proposed && synced.is_none() {
            effects.push(Effect::Mark("pbft/stale-answer"));
            return Ok(());
        }
        let updates = match verdict {
            Verdict::Valid { updates } => updates,
            Verdict::Invalid { reason } => {
                if is_proposed {
                    self.set_standing(id.height, Standing::Refused);
                    self.start_view_change(self.view.next(), effects);
                }
                return Err(Rejection::Header { block: id, reason });
            }
        };
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        if is_proposed {
            if let Some(slot) = self.log.slot_mut(id.height) {
                slot.updates = updates.clone();
            }
            self.agree(id, effects);
        }
        if let Some(block) = synced.filter(|_| id.height == self.head.height.next()) {
            effects.push(Effect::Mark("pbft/synced"));
            self.commit(id, &block, block.seal().clone(), &updates, effects);
            self.trust_proven_checkpoint();
            self.advance(effects);
            self.follow_view_of(&block, effects);
        }
        Ok(())
    }

    fn is_being_judged(&self, id: BlockId) -> bool {
        let proposal = self.log.slot(id.height).and_then(|slot| slot.proposal);
        proposal.is_some_and(|proposal| proposal.hash == id.hash && proposal.standing == Standing::Judging)
    }

    pub(super) fn set_standing(&mut self, height: Height, standing: Standing) {
        let slot = self.log.slots.get_mut(&height);
        if let Some(proposal) = slot.and_then(|slot| slot.proposal.as_mut()) {
            proposal.standing = standing;
        }
    }

    /// The proposal is good: says so, by the pre-prepare if it is one's own and new.
    pub(super) fn agree(&mut self, id: BlockId, effects: &mut Vec<Effect>) {
        let (view, is_primary) = (self.view, self.is_primary());
        self.set_standing(id.height, Standing::Accepted);
        let Some(slot) = self.log.slots.get_mut(&id.height) else { return };
        slot.pre_prepare(view, id.hash);
        let body = slot.bodies.get(&id.hash).cloned();
        if self.me.is_some() {
            body.iter().for_each(|body| self.journal.body(body));
            self.journal.pre_prepared(view, id);
        }
        if is_primary {
            self.propose(body.as_ref(), effects);
        } else if let (Some(me), Some(message)) =
            (self.me, self.promise_as_member(Body::Prepare { view, block: id }, effects))
        {
            let vote = Vote { view, hash: id.hash, signature: message.signature.clone() };
            if let Some(slot) = self.log.slots.get_mut(&id.height) {
                slot.prepares.count(me, vote);
            }
        }
        self.progress(id.height, effects);
    }

    /// Sends one's own new block. What a new-view took along was proposed by it.
    fn propose(&mut self, body: Option<&Arc<Block>>, effects: &mut Vec<Effect>) {
        let Some(message) = body.and_then(|body| self.proposal_of_view(body)) else { return };
        let ticket = self.persist(effects);
        broadcast(&message, Some(ticket), effects);
    }

    /// The pre-prepare of a block that was made in this view.
    fn proposal_of_view(&self, body: &Arc<Block>) -> Option<Arc<PbftMessage>> {
        match Seal::decode(body.seal()) {
            Ok(Seal::Proposal { view, signature }) if view == self.view => {
                Some(Arc::new(PbftMessage { body: Body::PrePrepare { view, block: body.clone() }, signature }))
            }
            _ => None,
        }
    }

    fn promise_as_member(&mut self, body: Body, effects: &mut Vec<Effect>) -> Option<Arc<PbftMessage>> {
        self.me?;
        self.promise(body, effects)
    }

    /// Prepares and commits what has votes enough.
    pub(super) fn progress(&mut self, height: Height, effects: &mut Vec<Effect>) {
        let (view, quorums, me) = (self.view, *self.quorums(), self.me);
        if self.is_changing {
            return;
        }
        let Some(slot) = self.log.slots.get_mut(&height) else { return };
        let Some(Proposal { hash, standing: Standing::Accepted, .. }) = slot.proposal else { return };
        let id = BlockId { height, hash };
        let was_prepared = slot.prepared == Some((view, hash));
        let is_prepared =
            was_prepared || slot.is_prepared(view, hash, &quorums) || mutation::active(Mutation::PbftCommitsUnprepared);
        if is_prepared && !was_prepared {
            slot.prepared = Some((view, hash));
        }
        // After a restart a replica knows that it prepared, and says so again.
        let may_commit = me.is_some_and(|me| slot.commits.of(&me).is_none_or(|vote| !vote.is(view, hash)));
        if is_prepared && may_commit {
            self.journal.prepared(view, id);
            let promised = self.promise(Body::Commit { view, block: id }, effects);
            if let (Some(me), Some(message), Some(slot)) = (me, promised, self.log.slots.get_mut(&height)) {
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
        let seal = Seal::Certificate(Certificate { view, signatures });
        self.commit(id, &body, seal.encoded(), &updates, effects);
        self.advance(effects);
    }

    /// Makes a block with its certificate the head, for good.
    fn commit(
        &mut self,
        id: BlockId,
        block: &Block,
        seal: Bytes,
        updates: &ValidatorUpdates,
        effects: &mut Vec<Effect>,
    ) {
        let old = core::mem::replace(&mut self.head, id);
        self.timestamp = block.timestamp();
        self.doublings = 0;
        self.forget_plan(effects);
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
        let changes_council = self.succeed(id, block, updates, effects);
        self.journal.head(&self.head_record());
        if changes_council {
            self.make_stable(id);
        }
        let ticket = self.persist(effects);
        effects.push(Effect::Chain(ChainEvent::Sealed { block: id, seal: seal.clone() }));
        effects.push(Effect::Chain(ChainEvent::HeadMoved { old, new: id, reorg_depth: 0 }));
        effects.push(Effect::Chain(ChainEvent::Final { finality: self.finality(), proof: Some(seal) }));
        if changes_council {
            // Stable already; said once more for those who are behind, also by who leaves.
            let message = self.checkpoint_message(id).filter(|_| was_member);
            message.into_iter().for_each(|message| broadcast(&message, Some(ticket), effects));
        } else if is_checkpoint {
            self.vote_checkpoint(id, Some(ticket), effects);
        }
    }

    /// Collects what a new head changes in the set of validators, and puts in force whom it names. Answers whether it does.
    fn succeed(&mut self, id: BlockId, block: &Block, updates: &ValidatorUpdates, effects: &mut Vec<Effect>) -> bool {
        let after = match self.succession.after(&self.config, id.height, block.payload(), &self.authenticator) {
            Ok(after) => after,
            // Those who certified it saw a change that this replica did not; the chain judged it right.
            Err(_) => {
                let proven =
                    self.succession.after_proven(&self.config, id.height, block.payload(), &self.authenticator);
                proven.unwrap_or_else(|error| {
                    let reason = error.to_string();
                    effects.push(Effect::Reject(Rejection::Header { block: id, reason }));
                    self.succession.clone()
                })
            }
        };
        let before = core::mem::replace(&mut self.succession, after.with(updates));
        self.forget_evidence();
        if before.council() == self.council() {
            return false;
        }
        effects.push(Effect::Mark("pbft/validators-changed"));
        let own = self.signer.as_ref().map(crate::consensus::Signer::address);
        let was_member = self.me.is_some();
        self.me = own.filter(|own| self.succession.council().contains(own));
        let council = self.succession.council();
        self.log.keep_votes(|who| council.contains(who), |view| council.primary(view));
        self.view_changes.retain(|who, _| council.contains(who));
        self.claims.retain(|who, _| council.contains(who));
        // It shows how those before began the view; those now have nothing to take along.
        self.new_view = None;
        match (was_member, self.me.is_some()) {
            (false, true) => {
                effects.push(Effect::Mark("pbft/joined"));
            }
            (true, false) => {
                effects.push(Effect::Mark("pbft/left"));
                if self.is_changing {
                    // It stays in the view that it asked for, whose proposals are others than those before.
                    self.log.begin_view(self.view);
                }
                self.is_changing = false;
                effects.push(Effect::DisarmTimer(SUSPECT_TIMER));
            }
            _ => {}
        }
        true
    }

    /// Goes on with the height after a new head.
    pub(super) fn advance(&mut self, effects: &mut Vec<Effect>) {
        if self.is_changing {
            // A primary that was behind may know enough now.
            self.try_new_view(effects);
        } else {
            self.expect_block(effects);
            self.judge_next(effects);
            self.plan(effects);
        }
        self.judge_fetched(effects);
        self.catch_up(effects);
    }

    /// Repeats what this replica said about the next height.
    pub(super) fn resend_votes(&self, effects: &mut Vec<Effect>) {
        let height = self.head.height.next();
        let (Some(me), Some(slot)) = (self.me, self.log.slot(height)) else { return };
        let Some(Proposal { hash, standing: Standing::Accepted, .. }) = slot.proposal else { return };
        let (view, block) = (self.view, BlockId { height, hash });
        if let Some(message) =
            slot.bodies.get(&hash).filter(|_| self.is_primary()).and_then(|b| self.proposal_of_view(b))
        {
            broadcast(&message, self.promised, effects);
        }
        let prepare = slot.prepares.of(&me).map(|vote| (Body::Prepare { view, block }, vote));
        let commit = slot.commits.of(&me).map(|vote| (Body::Commit { view, block }, vote));
        for (body, vote) in [prepare, commit].into_iter().flatten().filter(|(_, vote)| vote.view == view) {
            let message = PbftMessage { body, signature: vote.signature.clone() };
            broadcast(&Arc::new(message), self.promised, effects);
        }
    }
}
