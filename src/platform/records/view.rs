//! What a reader sees: the store, and before it the changes of a unit of work that is not written yet.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use alloy_primitives::Bytes;

use crate::store::{KeyValue, Order, StoreError, Table};

/// Changes by key; `None` deletes.
pub(super) type Pending = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The store with pending changes over it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    store: &'a dyn KeyValue,
    pending: Option<&'a Pending>,
}

impl<'a> View<'a> {
    pub(super) const fn stored(store: &'a dyn KeyValue) -> Self {
        Self { store, pending: None }
    }

    pub(super) const fn with_pending(store: &'a dyn KeyValue, pending: &'a Pending) -> Self {
        Self { store, pending: Some(pending) }
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        match self.pending.and_then(|pending| pending.get(key)) {
            Some(change) => Ok(change.clone().map(Bytes::from)),
            None => self.store.get(Table::Platform, key),
        }
    }

    /// As [`KeyValue::scan_from`].
    pub(super) fn scan_from(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let Some(pending) = self.pending else {
            return self.store.scan_from(Table::Platform, prefix, from, order, visit);
        };
        let changes = pending.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
        let mut changes: Vec<(&[u8], Option<&[u8]>)> =
            changes.map(|(key, value)| (key.as_slice(), value.as_deref())).collect();
        let is_before = |key: &[u8], other: &[u8]| match order {
            Order::Ascending => key < other,
            Order::Descending => key > other,
        };
        if order == Order::Descending {
            changes.reverse();
        }
        let mut changes =
            changes.into_iter().filter(|(key, _)| from.is_none_or(|from| !is_before(key, from))).peekable();
        let mut ended = ControlFlow::Continue(());
        self.store.scan_from(Table::Platform, prefix, from, order, &mut |key, value| {
            while let Some((changed, new)) = changes.next_if(|(changed, _)| is_before(changed, key)) {
                if let Some(new) = new {
                    ended = visit(changed, new);
                    ended?;
                }
            }
            ended = match changes.next_if(|(changed, _)| *changed == key) {
                Some((_, Some(new))) => visit(key, new),
                Some((_, None)) => ControlFlow::Continue(()),
                None => visit(key, value),
            };
            ended
        })?;
        if ended.is_continue() {
            let _ = changes.filter_map(|(key, new)| Some((key, new?))).try_for_each(|(key, new)| visit(key, new));
        }
        Ok(())
    }
}
