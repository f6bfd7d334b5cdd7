//! Public records of validators.

use alloy_primitives::Address;

use super::interface::ValidatorInfo;

/// What the validators' contract knows of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisteredValidator {
    /// Address of the operator.
    pub address: Address,
    /// Address by which consensus knows the validator: of its sealing key.
    pub sealing_key: Address,
    /// Weight from the protocol's next boundary on; 0 for who is no validator.
    pub weight: u64,
    /// Whether evidence proved that it misbehaved, so that it never validates again.
    pub is_convicted: bool,
}

impl From<&ValidatorInfo> for RegisteredValidator {
    fn from(info: &ValidatorInfo) -> Self {
        Self {
            address: info.validator,
            sealing_key: info.sealingKey,
            weight: info.weight,
            is_convicted: info.isConvicted,
        }
    }
}
