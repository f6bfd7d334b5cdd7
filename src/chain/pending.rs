//! Interventions that no block records yet.

use std::sync::Arc;

use imbl::Vector;

use super::{
    Chain,
    error::{BlockError, ChainError},
    executed_block::ExecutedBlock,
    execution::{apply_interventions, invalid_block},
    header::HeaderByHand,
    hook::HeadChange,
    intervention::Intervention,
    persist,
    version::Version,
};
use crate::{state::Journal, store::Batch};

/// Changes by hand that no block records yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Hand {
    pub(super) interventions: Vector<Intervention>,
    /// What they set in the next block's header.
    pub(super) header: HeaderByHand,
    /// The head's state with them; `None` while there are none.
    pub(super) version: Option<Arc<Version>>,
}

impl Chain {
    /// Changes the newest state by hand; the next block built here records it.
    ///
    /// # Errors
    /// [`ChainError::InvalidBlock`] with [`BlockError::Interventions`] when genesis does not allow it.
    pub fn intervene(&mut self, intervention: Intervention) -> Result<(), ChainError> {
        if !self.shared.spec.allow_interventions {
            return Err(invalid_block(self.head.block(), BlockError::Interventions { count: 1 }));
        }
        let mut interventions = self.hand.interventions.clone();
        interventions.push_back(intervention.clone());
        let hand = match &self.hand.version {
            // On a durable store a version made on an unwritten one would not outlive the process.
            Some(version) if !self.shared.is_durable || version.is_durable() => {
                let mut journal = Journal::new(version.view()?);
                apply_interventions(&mut journal, std::slice::from_ref(&intervention))?;
                let version = self.shared.commit_changes(version, &journal.take_changes())?;
                let mut header = self.hand.header;
                header.add(&intervention);
                Hand { interventions, header, version: Some(version) }
            }
            _ => self.hand_over(&self.head, interventions)?,
        };
        if self.is_persistent() {
            let mut batch = Batch::new();
            persist::put_intervention(self.hand.interventions.len(), &intervention, &mut batch);
            // Written at once, so that the next change by hand costs what it changes; the version it replaces stays stored.
            hand.version.iter().for_each(|version| version.write_to(&mut batch));
            self.shared.store.write(batch)?;
            hand.version.iter().for_each(|version| version.set_durable());
        }
        self.hand = hand;
        Ok(())
    }

    /// Takes over what was changed by hand on another replica that stands at the same head; `false` when it stands elsewhere.
    pub fn follow_hand(&mut self, other: &Self) -> bool {
        let is_same_head = self.head.hash() == other.head.hash();
        if is_same_head {
            self.hand = other.hand.clone();
        }
        is_same_head
    }

    /// What was changed by hand and no block records yet.
    pub fn waiting_interventions(&self) -> impl Iterator<Item = &Intervention> {
        self.hand.interventions.iter()
    }

    /// What of the changes by hand still waits once `change` is made: those that no applied block records.
    pub(super) fn hand_after(&self, change: &HeadChange) -> Result<Hand, ChainError> {
        let mut waiting = self.hand.interventions.clone();
        for intervention in change.applied.iter().flat_map(|block| block.block().interventions()) {
            if waiting.front() == Some(intervention) {
                waiting.pop_front();
            }
        }
        self.hand_over(&change.new, waiting)
    }

    /// The changes by hand on top of `head`.
    pub(super) fn hand_over(
        &self,
        head: &ExecutedBlock,
        interventions: Vector<Intervention>,
    ) -> Result<Hand, ChainError> {
        if interventions.is_empty() {
            return Ok(Hand::default());
        }
        let version = self.version_of(head)?;
        let mut journal = Journal::new(version.view()?);
        let list: Vec<Intervention> = interventions.iter().cloned().collect();
        apply_interventions(&mut journal, &list)?;
        let version = self.shared.commit_changes(version, &journal.take_changes())?;
        Ok(Hand { header: HeaderByHand::of(&interventions), interventions, version: Some(version) })
    }
}
