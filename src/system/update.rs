//! What executing a block changes outside of the state: the validators, and the parameters of the chain.

mod parameters;
mod validators;

pub use parameters::{ParameterUpdate, ParameterUpdates};
pub use validators::{ValidatorUpdate, ValidatorUpdates};

/// The changes of one block, which the protocol takes over at a boundary of its own. Cloning is O(1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockUpdates {
    /// New weights of validators.
    pub validators: ValidatorUpdates,
    /// Parameters that were scheduled; they are in force from the next boundary on.
    pub parameters: ParameterUpdates,
}

impl BlockUpdates {
    /// No change.
    pub const NONE: Self = Self { validators: ValidatorUpdates::NONE, parameters: ParameterUpdates::NONE };

    /// Returns whether there are no changes.
    pub const fn is_empty(&self) -> bool {
        self.validators.is_empty() && self.parameters.is_empty()
    }

    /// Encodes both lists, one after the other; without parameters the bytes are those of the validators alone.
    ///
    /// The length tells where parameters begin: see [`ParameterUpdates::to_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.validators.to_bytes(), self.parameters.to_bytes()].concat()
    }

    /// Decodes [`BlockUpdates::to_bytes`]; `None` for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let parameters = ParameterUpdates::trailing_in(bytes, validators::UPDATE_BYTES)?;
        let (validators, parameters) = bytes.split_at(bytes.len() - parameters);
        Some(Self {
            validators: ValidatorUpdates::from_bytes(validators)?,
            parameters: ParameterUpdates::from_bytes(parameters)?,
        })
    }
}

impl From<ValidatorUpdates> for BlockUpdates {
    fn from(validators: ValidatorUpdates) -> Self {
        Self { validators, ..Self::NONE }
    }
}

impl From<ParameterUpdates> for BlockUpdates {
    fn from(parameters: ParameterUpdates) -> Self {
        Self { parameters, ..Self::NONE }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{primitives::Address, system::parameter::Parameter};

    fn updates() -> impl Strategy<Value = BlockUpdates> {
        let validator = (any::<[u8; 20]>(), any::<u64>())
            .prop_map(|(address, weight)| ValidatorUpdate { address: Address::new(address), weight });
        let parameter = (0..Parameter::ALL.len(), any::<u128>())
            .prop_map(|(index, value)| ParameterUpdate { parameter: Parameter::ALL[index], value });
        let lists = (proptest::collection::vec(validator, 0..40), proptest::collection::vec(parameter, 0..30));
        lists.prop_map(|(validators, parameters)| BlockUpdates {
            validators: ValidatorUpdates::new(validators),
            parameters: ParameterUpdates::new(parameters),
        })
    }

    proptest! {
        #[test]
        fn the_stored_form_comes_back(updates in updates()) {
            prop_assert_eq!(BlockUpdates::from_bytes(&updates.to_bytes()), Some(updates));
        }

        #[test]
        fn what_decodes_is_canonical(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Some(updates) = BlockUpdates::from_bytes(&bytes) {
                prop_assert_eq!(updates.to_bytes(), bytes);
            }
        }
    }
}
