//! State variables of the validators' contract.

use crate::{
    system::sealing_keys::SealingKeys,
    templates::common::{Ownable2Step, Trace208},
    vm::contract::*,
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract ValidatorsStorage {
        /// The administrator.
        pub(super) ownership: Ownable2Step,
        pub(super) bounds: Slot<Bounds>,
        /// Validators, in no order that means anything.
        pub(super) listed: Array<Address>,
        pub(super) members: Mapping<Address, StoredMember>,
        /// Weights by height.
        pub(super) weights: Mapping<Address, Trace208>,
        /// The sum of all weights by height.
        pub(super) total_weights: Trace208,
        /// Sealing keys of operators.
        pub(super) keys: SealingKeys,
    }
}

/// The variables.
pub(super) const VALIDATORS: ValidatorsStorage = ValidatorsStorage::STATE;

record! {
    /// What the protocol asks of the set.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Bounds {
        /// Largest weight of a validator.
        pub(super) weight_max: u64,
        /// Least number of validators that a removal leaves.
        pub(super) validators_min: u32,
    }
}

record! {
    /// A validator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct StoredMember {
        pub(super) weight: u64,
        /// Position in the array, from 1; 0 for who is no validator.
        pub(super) place: u64,
        pub(super) is_convicted: bool,
        /// Whether it is a validator or ever was one.
        pub(super) is_known: bool,
    }
}
