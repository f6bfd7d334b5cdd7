//! Leaving a view (section 5.3 of the paper; signed messages need no acknowledgements).

use std::sync::Arc;

use super::{
    Body, MessageError, Pbft, PbftMessage, SUSPECT_TIMER, Seal, VIEW_CHANGES_AHEAD_MAX, View, ViewChange, broadcast,
    log::PRE_PREPARED_MAX,
};
use crate::{
    chain::Block,
    consensus::{
        ConsensusMessage, Deadline, Effect, Recipients, ReplicaId,
        mutation::{self, Mutation},
    },
    primitives::{Address, Height},
};

impl Pbft {
    /// Leaves the current view for a later one and broadcasts a view-change. Observers do nothing.
    pub(super) fn start_view_change(&mut self, view: View, effects: &mut Vec<Effect>) {
        if self.me.is_none() || view <= self.view {
            return;
        }
        self.view = view;
        self.is_changing = !mutation::active(Mutation::PbftSkipsNewView);
        self.cancel_build(effects);
        self.wanted.clear();
        effects.push(Effect::Mark("pbft/view-change"));
        self.request_view(effects);
    }

    /// Returns the view of a certificate when it is later than this replica's, which missed its start (an old primary after
    /// downtime, for example).
    pub(super) fn missed_view(&self, certified: &Block) -> Option<View> {
        let certificate = Seal::certificate(certified.seal()).ok()?;
        (certificate.view > self.view).then_some(certificate.view)
    }

    /// Requests a view that a synced block proves; replicas in that view resend its new-view.
    pub(super) fn follow_view(&mut self, missed: View, effects: &mut Vec<Effect>) {
        effects.push(Effect::Mark("pbft/view-missed"));
        self.start_view_change(missed, effects);
    }

    /// Broadcasts the view-change that requests this replica's view.
    pub(super) fn request_view(&mut self, effects: &mut Vec<Effect>) {
        self.is_awaited = false;
        effects.push(Effect::DisarmTimer(SUSPECT_TIMER));
        let forgets = mutation::active(Mutation::PbftForgetsPrepared);
        let body = Body::ViewChange(ViewChange {
            since: self.transition.since(),
            view: self.view,
            stable: self.log.stable,
            checkpoints: self.log.own_checkpoints().collect(),
            prepared: if forgets { Vec::new() } else { self.log.prepared() },
            pre_prepared: self.log.pre_prepared(),
        });
        let Some(me) = self.me else { return };
        self.journal.view(self.transition.since(), self.view, None);
        if let Some(message) = self.sign_and_send(body, effects) {
            self.view_changes.insert(me, message);
        }
        self.review_view_changes(effects);
    }

    pub(super) fn on_view_change(
        &mut self,
        sender: Address,
        from: ReplicaId,
        view_change: &ViewChange,
        message: &Arc<PbftMessage>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let (got, current, limit) = (view_change.view, self.view, VIEW_CHANGES_AHEAD_MAX);
        if got.get() > current.get().saturating_add(limit) {
            return Err(MessageError::FarView { got, current, limit });
        }
        self.check_form(view_change)?;
        let (since, own_since) = (view_change.since, self.transition.since());
        if since < own_since {
            return self.answer_by_checkpoint(sender, from, effects);
        }
        if since > own_since {
            return Err(MessageError::OtherCommittee { got: since, current: own_since });
        }
        if got < current || (got == current && !self.is_changing) {
            // The sender missed the start of this view. A new-view is much larger than a view-change.
            let message = self.new_view.clone().filter(|_| !self.is_changing);
            let message = ConsensusMessage::Pbft(message.ok_or(MessageError::OldView { got, current })?);
            if !self.answered.insert(sender) && !mutation::active(Mutation::PbftAnswersEveryViewChange) {
                return Err(MessageError::Known);
            }
            effects.push(Effect::Send { to: Recipients::One(from), message, after: self.last_write });
            effects.push(Effect::Mark("pbft/new-view-resent"));
            return Ok(());
        }
        if self.view_changes.get(&sender).is_some_and(|earlier| view_of(earlier) >= got) {
            return Err(MessageError::Known);
        }
        self.view_changes.insert(sender, message.clone());
        self.review_view_changes(effects);
        Ok(())
    }

    /// Joins a later view change, arms the new primary's timeout, or starts the view as its primary.
    fn review_view_changes(&mut self, effects: &mut Vec<Effect>) {
        let ahead = self.view_changes.values().map(|message| view_of(message)).filter(|view| *view > self.view);
        let (count, smallest) = ahead.fold((0, None), |(count, smallest): (usize, Option<View>), view| {
            (count + 1, Some(smallest.map_or(view, |smallest| smallest.min(view))))
        });
        // At least one of `f + 1` is honest.
        if let Some(view) = smallest.filter(|_| count >= self.quorums().weak() && self.me.is_some()) {
            effects.push(Effect::Mark("pbft/join-view-change"));
            return self.start_view_change(view, effects);
        }
        if !self.is_changing {
            return;
        }
        // A request for a later view counts for this one, whose own message may be lost or replaced: otherwise a faulty
        // validator that requests a view from one replica alone could separate it from the others for good.
        let wanting = self.view_changes.values().filter(|message| view_of(message) >= self.view).count();
        if wanting >= self.quorums().strong() && !self.is_awaited {
            self.is_awaited = true;
            if self.has_timers() {
                let deadline = Deadline::After { nanos: self.config.timeout_nanos(self.doublings) };
                effects.push(Effect::ArmTimer { timer: SUSPECT_TIMER, deadline });
            }
        }
        self.try_new_view(effects);
    }

    pub(super) fn resend_view_change(&self, effects: &mut Vec<Effect>) {
        if let Some(message) = self.me.as_ref().and_then(|me| self.view_changes.get(me)) {
            broadcast(message, self.last_write, effects);
        }
    }

    /// Checks the form: entries in order, between the sender's watermarks, of earlier views.
    pub(super) fn check_form(&self, view_change: &ViewChange) -> Result<(), MessageError> {
        let ViewChange { since: _, view, stable, checkpoints, prepared, pre_prepared } = view_change;
        let (config, low) = (&self.config, stable.height);
        let high = Height::new(low.get().saturating_add(config.log_window));
        let inside = |height: Height| low < height && height <= high;
        let malformed = |what| Err(MessageError::Malformed { what });
        if checkpoints.first() != Some(stable)
            || !checkpoints.windows(2).all(|pair| pair[0].height < pair[1].height)
            || !checkpoints.iter().all(|block| config.is_checkpoint(block) && block.height <= high)
        {
            return malformed("checkpoints of a view-change");
        }
        if !prepared.windows(2).all(|pair| pair[0].block.height < pair[1].block.height)
            || !prepared.iter().all(|entry| inside(entry.block.height) && entry.view < *view)
        {
            return malformed("prepared blocks of a view-change");
        }
        let crowded = |window: &[super::InView]| window[0].block.height == window[PRE_PREPARED_MAX].block.height;
        if !pre_prepared.windows(2).all(|pair| pair[0].block < pair[1].block)
            || !pre_prepared.iter().all(|entry| inside(entry.block.height) && entry.view < *view)
            || pre_prepared.windows(PRE_PREPARED_MAX + 1).any(crowded)
        {
            return malformed("pre-prepared blocks of a view-change");
        }
        Ok(())
    }
}

/// Returns the view that a view-change requests.
pub(super) fn view_of(message: &PbftMessage) -> View {
    match &message.body {
        Body::ViewChange(view_change) => view_change.view,
        _ => View::default(),
    }
}
