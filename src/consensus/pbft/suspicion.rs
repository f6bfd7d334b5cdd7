//! Suspicion of a primary that omits a client's transaction from its blocks.
//!
//! In the paper each backup leaves the view when its timer for a request expires (OSDI 1999, section 4.4). A correct backup may have a request
//! that the others lack, and would then stay outside of the view alone, without a vote in it, until the next view change. So a
//! replica says that it suspects the primary and stays, until `f + 1` validators do: at least one of them is honest, and
//! whoever leaves shows the others why, so that all leave ("I hate the primary" of Zyzzyva, Kotla et al. 2007).
//! A primary that makes no block at all is left as in the paper, by each replica's own timer.

use std::sync::Arc;

use super::{Body, MessageError, Pbft, PbftMessage, Suspicion, VIEWS_AHEAD_MAX, View, broadcast};
use crate::{
    consensus::{
        Effect,
        mutation::{self, Mutation},
    },
    primitives::Address,
};

impl Pbft {
    /// Suspects the primary, which did not include a client's transaction in time.
    pub(super) fn on_overdue(&mut self, effects: &mut Vec<Effect>) {
        let Some(me) = self.me.filter(|_| self.has_timers() && !self.is_changing && !self.is_primary()) else { return };
        effects.push(Effect::Mark("pbft/overdue"));
        if mutation::active(Mutation::PbftLeavesViewAlone) {
            return self.start_view_change(self.view.next(), effects);
        }
        let (since, view, height) = (self.transition.since(), self.view, self.head.height);
        let body = Body::Suspicion(Suspicion { since, view, height });
        let Some(message) = self.signer.as_ref().map(|signer| Arc::new(PbftMessage::signed(body, signer))) else {
            return;
        };
        self.suspicions.insert(me, message.clone());
        broadcast(&message, None, effects);
        self.review_suspicions(effects);
    }

    pub(super) fn on_suspicion(
        &mut self,
        sender: Address,
        suspicion: &Suspicion,
        message: &Arc<PbftMessage>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let (got, current) = (suspicion.since, self.transition.since());
        if got != current {
            return Err(MessageError::OtherCommittee { got, current });
        }
        let (got, current, limit) = (suspicion.view, self.view, VIEWS_AHEAD_MAX);
        if got < current {
            return Err(MessageError::OldView { got, current });
        }
        if got.get() - current.get() > limit {
            return Err(MessageError::FarView { got, current, limit });
        }
        let place = |suspicion: &Suspicion| (suspicion.view, suspicion.height);
        let earlier = self.suspicions.get(&sender).and_then(|earlier| suspicion_of(earlier));
        if earlier.is_some_and(|earlier| place(suspicion) <= place(earlier)) {
            return Err(MessageError::Known);
        }
        self.suspicions.insert(sender, message.clone());
        self.review_suspicions(effects);
        Ok(())
    }

    /// Leaves the view once `f + 1` validators suspect its primary.
    fn review_suspicions(&mut self, effects: &mut Vec<Effect>) {
        if self.is_changing || self.me.is_none() {
            return;
        }
        let suspecting: Vec<_> = self.suspicions.values().filter(|message| self.is_current(message)).cloned().collect();
        if suspecting.len() >= self.quorums().weak() && !mutation::active(Mutation::PbftIgnoresSuspicions) {
            effects.push(Effect::Mark("pbft/suspected"));
            suspecting.iter().for_each(|message| broadcast(message, None, effects));
            self.start_view_change(self.view.next(), effects);
        }
    }

    /// Returns whether a suspicion is of this view and not older than a checkpoint interval: the transaction may be included since.
    fn is_current(&self, message: &PbftMessage) -> bool {
        let is_recent = |suspicion: &Suspicion| {
            let until = suspicion.height.get().saturating_add(self.config.checkpoint_every);
            suspicion.view == self.view && self.head.height.get() <= until
        };
        suspicion_of(message).is_some_and(is_recent)
    }

    /// Returns whether this replica suspects the primary of its view, and no later than a checkpoint interval ago.
    pub(crate) fn suspects_primary(&self) -> bool {
        self.me.and_then(|me| self.suspicions.get(&me)).is_some_and(|message| self.is_current(message))
    }

    /// Returns whether it stays in its view although `f + 1` validators suspect the primary, itself among them.
    pub(crate) fn ignores_suspicions(&self) -> bool {
        let suspecting = self.suspicions.values().filter(|message| self.is_current(message)).count();
        !self.is_changing && self.suspects_primary() && suspecting >= self.quorums().weak()
    }

    /// Resends this replica's suspicion, and while it changes the view those that made it leave the one before.
    pub(super) fn resend_suspicions(&self, effects: &mut Vec<Effect>) {
        let own = self.me.and_then(|me| self.suspicions.get(&me)).filter(|message| self.is_current(message));
        own.into_iter().for_each(|message| broadcast(message, None, effects));
        if self.is_changing && self.me.is_some() {
            let of_view = |message: &&Arc<PbftMessage>| {
                suspicion_of(message).is_some_and(|suspicion| suspicion.view.next() == self.view)
            };
            self.suspicions.values().filter(of_view).for_each(|message| broadcast(message, None, effects));
        }
    }

    /// Drops suspicions of views that are over.
    pub(super) fn forget_suspicions(&mut self) {
        let view: View = self.view;
        self.suspicions.retain(|_, message| suspicion_of(message).is_some_and(|suspicion| suspicion.view >= view));
    }
}

const fn suspicion_of(message: &PbftMessage) -> Option<&Suspicion> {
    match &message.body {
        Body::Suspicion(suspicion) => Some(suspicion),
        _ => None,
    }
}
