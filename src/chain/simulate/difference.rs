//! What an operation changed: balances, nonces, codes and variables, before and after.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};

use crate::{
    state::{AccountChange, Journal, StateChanges, StateError},
    vm::{
        Marker, Template, TemplateId, TemplateRegistry,
        storage::{SlotPreimages, StorageLayout},
    },
};

/// A value before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<T> {
    /// Value before the operation.
    pub before: T,
    /// Value after it.
    pub after: T,
}

/// How an account differs after an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccountDifference {
    /// The account.
    pub address: Address,
    /// Name of its template, where it is a contract.
    pub template: Option<String>,
    /// Balance, in the smallest unit.
    pub balance: Option<Difference<U256>>,
    /// Nonce.
    pub nonce: Option<Difference<u64>>,
    /// Hash of its code.
    pub code_hash: Option<Difference<B256>>,
    /// Slots that differ, in their order.
    pub storage: Vec<SlotDifference>,
}

/// How a slot differs after an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotDifference {
    /// The slot.
    pub slot: U256,
    /// Its word.
    pub word: Difference<U256>,
    /// Values in it that differ, or all of them where only bits differ that are no part of a value; none when the template does not
    /// tell what the slot holds.
    pub values: Vec<ValueDifference>,
}

/// How a variable, or an element of one, differs after an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueDifference {
    /// Name with keys, indices and members, such as `_balances[0x…]`.
    pub name: String,
    /// Type in Solidity.
    pub ty: String,
    /// Value as text: see [`SlotValue::text`](crate::vm::storage::SlotValue::text).
    pub text: Difference<String>,
}

impl<T: PartialEq> Difference<T> {
    /// Returns the two values if they differ.
    fn of(before: T, after: T) -> Option<Self> {
        (before != after).then_some(Self { before, after })
    }
}

/// Returns what `changes` change of the state `before`, by address; `after` has them.
pub(super) fn of(
    changes: &StateChanges,
    before: &mut Journal,
    after: &mut Journal,
    registry: &TemplateRegistry,
    preimages: &SlotPreimages,
) -> Result<Vec<AccountDifference>, StateError> {
    let mut differences = Vec::new();
    let mut layouts = BTreeMap::new();
    for (address, change) in changes.accounts.iter() {
        let (old, new) = (before.account(address)?, after.account(address)?);
        let template = template_of(after, address, registry)?;
        let layout = template.map(|template| layout_of(template, &mut layouts));
        let difference = AccountDifference {
            address: *address,
            template: template.map(|template| template.name().to_owned()),
            balance: Difference::of(old.balance, new.balance),
            nonce: Difference::of(old.nonce, new.nonce),
            code_hash: Difference::of(old.code_hash, new.code_hash),
            storage: slots(address, change, before, layout, preimages)?,
        };
        let is_same = difference.balance.is_none() && difference.nonce.is_none() && difference.code_hash.is_none();
        if !(is_same && difference.storage.is_empty()) {
            differences.push(difference);
        }
    }
    Ok(differences)
}

fn template_of<'r>(
    journal: &mut Journal,
    address: &Address,
    registry: &'r TemplateRegistry,
) -> Result<Option<&'r dyn Template>, StateError> {
    let code = journal.code(address)?;
    Ok(Marker::split(&code).and_then(|(Marker(id), _)| registry.get(id)).map(AsRef::as_ref))
}

fn layout_of<'l>(template: &dyn Template, layouts: &'l mut BTreeMap<TemplateId, StorageLayout>) -> &'l StorageLayout {
    layouts.entry(template.id()).or_insert_with(|| template.storage_layout())
}

fn slots(
    address: &Address,
    change: &AccountChange,
    before: &mut Journal,
    layout: Option<&StorageLayout>,
    preimages: &SlotPreimages,
) -> Result<Vec<SlotDifference>, StateError> {
    let mut slots = Vec::new();
    for (slot, after) in change.storage.iter() {
        let Some(word) = Difference::of(before.storage(address, slot)?, *after) else { continue };
        let values = layout.map(|layout| layout.values_in(*slot, preimages)).unwrap_or_default();
        let mut values: Vec<_> = values
            .into_iter()
            .map(|value| {
                let text = Difference { before: value.text(word.before), after: value.text(word.after) };
                ValueDifference { name: value.name, ty: value.ty, text }
            })
            .collect();
        let differs = |value: &ValueDifference| value.text.before != value.text.after;
        if values.iter().any(differs) {
            values.retain(differs);
        }
        slots.push(SlotDifference { slot: *slot, values, word });
    }
    Ok(slots)
}
