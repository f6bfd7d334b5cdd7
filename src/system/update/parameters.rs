//! Changes of the chain's parameters by executing a block.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use crate::system::parameter::Parameter;

/// Bytes of one encoded change: the parameter's number and the value, big-endian.
const UPDATE_BYTES: usize = 17;

/// The new value of one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterUpdate {
    /// The parameter.
    pub parameter: Parameter,
    /// Its value, in its own unit.
    pub value: u128,
}

/// Changes in ascending order of their parameters' numbers, at most one each. Cloning is O(1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ParameterUpdates(Option<Arc<[ParameterUpdate]>>);

impl ParameterUpdates {
    /// No change.
    pub const NONE: Self = Self(None);

    /// Collects changes in the order in which they were made: the last one of a parameter is kept.
    pub fn new(made: impl IntoIterator<Item = ParameterUpdate>) -> Self {
        let last: BTreeMap<_, _> = made.into_iter().map(|update| (update.parameter, update.value)).collect();
        if last.is_empty() {
            return Self::NONE;
        }
        Self(Some(last.into_iter().map(|(parameter, value)| ParameterUpdate { parameter, value }).collect()))
    }

    /// Returns these changes with later ones, which replace them.
    #[must_use]
    pub fn followed_by(&self, later: &Self) -> Self {
        match (self.is_empty(), later.is_empty()) {
            (_, true) => self.clone(),
            (true, _) => later.clone(),
            _ => Self::new(self.iter().chain(later).copied()),
        }
    }

    /// Returns whether there are no changes.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the new value of a parameter; `None` when it stays as it is.
    pub fn value(&self, parameter: Parameter) -> Option<u128> {
        self.iter().find(|update| update.parameter == parameter).map(|update| update.value)
    }

    /// Returns the changes, in ascending order of the parameters' numbers.
    pub fn as_slice(&self) -> &[ParameterUpdate] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Returns the changes, in ascending order of the parameters' numbers.
    pub fn iter(&self) -> core::slice::Iter<'_, ParameterUpdate> {
        self.as_slice().iter()
    }

    /// Encodes each change as 17 bytes, number and value (big-endian), and last, as one byte, how many there are; no bytes for none.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        let change = |update: &ParameterUpdate| [&[update.parameter.code()][..], &update.value.to_be_bytes()].concat();
        let mut bytes: Vec<u8> = self.iter().flat_map(change).collect();
        bytes.push(self.as_slice().len() as u8);
        bytes
    }

    /// Decodes [`ParameterUpdates::to_bytes`]; `None` for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let Some((count, changes)) = bytes.split_last() else { return Some(Self::NONE) };
        let (changes, rest) = changes.as_chunks::<UPDATE_BYTES>();
        let read = |change: &[u8; UPDATE_BYTES]| {
            let (code, value) = change.split_first()?;
            let (parameter, value) = (Parameter::from_code(*code)?, u128::from_be_bytes(*value.first_chunk()?));
            Some(ParameterUpdate { parameter, value })
        };
        let updates: Vec<_> = changes.iter().map(read).collect::<Option<_>>()?;
        let is_sorted = updates.windows(2).all(|pair| pair[0].parameter < pair[1].parameter);
        let is_counted = !updates.is_empty() && updates.len() == usize::from(*count);
        (rest.is_empty() && is_sorted && is_counted).then(|| Self::new(updates))
    }

    /// Returns how many of the last bytes are an encoded list after elements of `unit` bytes each; `None` when none fits.
    ///
    /// There are so few parameters that no encoded list is a multiple of the 28 bytes of a validator's change.
    pub(super) fn trailing_in(bytes: &[u8], unit: usize) -> Option<usize> {
        if bytes.len().is_multiple_of(unit) {
            return Some(0);
        }
        let length = usize::from(*bytes.last()?) * UPDATE_BYTES + 1;
        (length <= bytes.len() && (bytes.len() - length).is_multiple_of(unit)).then_some(length)
    }
}

/// Names and values, such as `blockTime 2, gasLimit 30000000`; `none` without changes.
impl fmt::Display for ParameterUpdates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes: Vec<_> = self.iter().map(|update| format!("{} {}", update.parameter, update.value)).collect();
        f.write_str(if changes.is_empty() { "none" } else { "" })?;
        f.write_str(&changes.join(", "))
    }
}

impl<'a> IntoIterator for &'a ParameterUpdates {
    type Item = &'a ParameterUpdate;
    type IntoIter = core::slice::Iter<'a, ParameterUpdate>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// No encoded list of changes is as long as changes of validators are.
const _: () = {
    let mut count = 1;
    while count <= Parameter::ALL.len() {
        assert!(!(count * UPDATE_BYTES + 1).is_multiple_of(super::validators::UPDATE_BYTES));
        count += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    fn update(parameter: Parameter, value: u128) -> ParameterUpdate {
        ParameterUpdate { parameter, value }
    }

    #[test]
    fn the_last_change_of_a_parameter_counts() {
        let made = [update(Parameter::GasLimit, 7), update(Parameter::BlockTime, 2), update(Parameter::GasLimit, 9)];
        let updates = ParameterUpdates::new(made);
        assert_eq!(updates.as_slice(), [update(Parameter::BlockTime, 2), update(Parameter::GasLimit, 9)]);
        assert_eq!((updates.value(Parameter::GasLimit), updates.value(Parameter::MinSelfStake)), (Some(9), None));
        let later = ParameterUpdates::new([update(Parameter::BlockTime, 3), update(Parameter::MinSelfStake, 1)]);
        let merged = updates.followed_by(&later);
        let want =
            [update(Parameter::BlockTime, 3), update(Parameter::GasLimit, 9), update(Parameter::MinSelfStake, 1)];
        assert_eq!(merged.as_slice(), want);
        assert_eq!(merged.followed_by(&ParameterUpdates::NONE), merged);
    }

    #[test]
    fn other_bytes_are_not_read() {
        let bytes = ParameterUpdates::new([update(Parameter::BlockTime, 2), update(Parameter::GasLimit, 9)]).to_bytes();
        assert!(ParameterUpdates::from_bytes(&bytes).is_some());
        for wrong in [&bytes[1..], &bytes[..34], &[0], &[&bytes[17..34], &bytes[..17], &[2]].concat()] {
            assert_eq!(ParameterUpdates::from_bytes(wrong), None);
        }
    }
}
