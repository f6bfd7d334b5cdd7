//! The templates that a chain's contracts run: recorded in the store with the codes that name them, and checked where a chain is opened or
//! loaded.
//!
//! A code that names a template which nobody registered runs nothing, so nothing is recorded of it and no program is refused for it. When
//! a later program registers the template, the chain is opened with it as it then is.

use core::ops::ControlFlow;
use std::collections::BTreeSet;

use alloy_primitives::Bytes;

use super::{
    context::ChainContext,
    error::{OpenError, ReadError},
    persist,
};
use crate::{
    state::StateChanges,
    store::{Batch, KeyValue, Order, StoreError, Table},
    vm::{Marker, TemplateId, TemplateIdentity, TemplateRegistry},
};

impl ChainContext {
    /// Adds to `batch`, which makes `changes` durable, the identities of the templates that their codes name.
    pub(super) fn record_templates(&self, changes: &StateChanges, batch: &mut Batch) {
        if self.is_durable && !changes.codes.is_empty() {
            put_all(&of_codes(changes.codes.values(), &self.registry), batch);
        }
    }

    /// Checks that the registry has every template that contracts in the store run, as it was when they were deployed.
    ///
    /// Returns the identities that the store lacks: of templates that were not registered when their code was stored.
    pub(super) fn check_stored_templates(&self) -> Result<Batch, OpenError> {
        let recorded = persist::templates(&*self.store).map_err(ReadError::from)?;
        recorded.iter().try_for_each(|template| self.registry.check(template))?;
        let known: BTreeSet<TemplateId> = recorded.iter().map(|template| template.id).collect();
        let stored = stored_markers(&*self.store).map_err(ReadError::from)?;
        let mut batch = Batch::new();
        let lacking: Vec<_> = stored.difference(&known).filter_map(|id| self.registry.identity(*id)).collect();
        put_all(&lacking, &mut batch);
        Ok(batch)
    }

    /// Checks that the registry has the templates that accounts of genesis name in their code.
    pub(super) fn check_genesis_templates(&self) -> Result<(), OpenError> {
        for (address, account) in &self.spec.accounts {
            if let Some((Marker(id), _)) = Marker::split(&account.code)
                && self.registry.get(id).is_none()
            {
                return Err(OpenError::GenesisCode { address: *address, id });
            }
        }
        Ok(())
    }
}

/// Returns the identities of the registered templates that `codes` name, by id and version.
pub(super) fn of_codes<'a>(
    codes: impl Iterator<Item = &'a Bytes>,
    registry: &TemplateRegistry,
) -> Vec<TemplateIdentity> {
    let ids: BTreeSet<TemplateId> = codes.filter_map(|code| Marker::split(code)).map(|(Marker(id), _)| id).collect();
    ids.into_iter().filter_map(|id| registry.identity(id)).collect()
}

/// Returns the templates that codes in a store name.
fn stored_markers(store: &dyn KeyValue) -> Result<BTreeSet<TemplateId>, StoreError> {
    let mut ids = BTreeSet::new();
    store.scan(Table::Code, &[], Order::Ascending, &mut |_, code| {
        ids.extend(Marker::split(code).map(|(Marker(id), _)| id));
        ControlFlow::Continue(())
    })?;
    Ok(ids)
}

fn put_all(templates: &[TemplateIdentity], batch: &mut Batch) {
    templates.iter().for_each(|template| persist::put_template(template, batch));
}
