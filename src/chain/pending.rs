//! Interventions that no block records yet.

use std::sync::Arc;

use imbl::Vector;

use super::{
    Chain,
    error::{InterventionError, ReadError},
    executed_block::ExecutedBlock,
    execution::{apply_interventions, check_interventions, invalid_block},
    garbage::{GarbageChange, GarbageItem, Holder},
    header::HeaderOverrides,
    hook::HeadChange,
    intervention::Intervention,
    persist,
    version::Version,
};
use crate::{state::Journal, store::Batch};

/// Interventions that no block records yet, and their effect on the next block.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingInterventions {
    pub(super) interventions: Vector<Intervention>,
    /// Header fields that they set in the next block.
    pub(super) overrides: HeaderOverrides,
    /// The head's state with them applied; `None` when there are none.
    pub(super) version: Option<Arc<Version>>,
}

impl Chain {
    /// Changes the newest state; the next block built here records the intervention.
    ///
    /// # Errors
    /// [`InterventionError::Invalid`] with [`BlockError::Interventions`](super::BlockError::Interventions) when genesis does not allow interventions, with
    /// [`BlockError::PrevRandao`](super::BlockError::PrevRandao) when it can't set `mixHash`.
    pub fn intervene(&mut self, intervention: Intervention) -> Result<(), InterventionError> {
        let next = self.head.height().next();
        check_interventions(&self.context, next, std::slice::from_ref(&intervention))
            .map_err(|reason| invalid_block(self.head.block(), reason))?;
        let mut interventions = self.pending.interventions.clone();
        interventions.push_back(intervention.clone());
        let pending = match &self.pending.version {
            // On a durable store a version made on an unwritten one would not outlive the process.
            Some(version) if !self.context.is_durable || version.is_durable() => {
                let mut journal = Journal::new(version.view()?);
                apply_interventions(&mut journal, std::slice::from_ref(&intervention))?;
                let version = self.context.commit_changes(version, &journal.take_changes())?;
                let mut overrides = self.pending.overrides;
                overrides.add(&intervention);
                PendingInterventions { interventions, overrides, version: Some(version) }
            }
            _ => self.apply_overrides(&self.head, interventions)?,
        };
        if self.is_persistent() {
            let mut batch = Batch::new();
            persist::put_intervention(self.pending.interventions.len(), &intervention, &mut batch);
            // Written at once, so that the next intervention costs what it changes, and deleted when nothing uses it.
            let mut garbage = GarbageChange::default();
            if let Some(version) = pending.version.as_ref().filter(|version| !version.is_durable()) {
                version.write_to(&mut batch);
                let item = GarbageItem {
                    block: None,
                    commit: Some(version.commit().id),
                    height: self.head.height(),
                    may_return: false,
                    holder: Holder::Version(Arc::downgrade(version)),
                };
                self.context.garbage.add(item, &mut garbage);
            }
            self.collect(self.finality.irreversible, Vec::new(), &mut garbage, &mut batch)?;
            self.context.store.write(batch).map_err(InterventionError::Write)?;
            self.context.garbage.apply(garbage);
            pending.version.iter().for_each(|version| version.set_durable());
        }
        self.pending = pending;
        Ok(())
    }

    /// Replaces the pending interventions by those of `other` when both chains have the same head; returns whether they
    /// have.
    pub fn copy_overrides_from(&mut self, other: &Self) -> bool {
        let is_same_head = self.head.hash() == other.head.hash();
        if is_same_head {
            self.pending = other.pending.clone();
        }
        is_same_head
    }

    /// Returns whether the next block follows on the same head and records the same interventions as that of `other`.
    pub(crate) fn has_same_next_block(&self, other: &Self) -> bool {
        let (own, others) = (&self.pending.interventions, &other.pending.interventions);
        self.head.hash() == other.head.hash() && (own.ptr_eq(others) || own == others)
    }

    /// Interventions that no block records yet, in order.
    pub fn pending_interventions(&self) -> impl Iterator<Item = &Intervention> {
        self.pending.interventions.iter()
    }

    /// Returns the interventions still pending after `change`: those that no applied block records.
    pub(super) fn pending_after(&self, change: &HeadChange) -> Result<PendingInterventions, ReadError> {
        let mut pending = self.pending.interventions.clone();
        for intervention in change.applied.iter().flat_map(|block| block.block().interventions()) {
            if pending.front() == Some(intervention) {
                pending.pop_front();
            }
        }
        self.apply_overrides(&change.new, pending)
    }

    /// Applies interventions on top of the state of `head`.
    pub(super) fn apply_overrides(
        &self,
        head: &ExecutedBlock,
        interventions: Vector<Intervention>,
    ) -> Result<PendingInterventions, ReadError> {
        if interventions.is_empty() {
            return Ok(PendingInterventions::default());
        }
        let version = self.version_of(head)?;
        let mut journal = Journal::new(version.view()?);
        let list: Vec<Intervention> = interventions.iter().cloned().collect();
        apply_interventions(&mut journal, &list)?;
        let version = self.context.commit_changes(version, &journal.take_changes())?;
        let overrides = HeaderOverrides::of(&interventions);
        Ok(PendingInterventions { interventions, overrides, version: Some(version) })
    }
}
