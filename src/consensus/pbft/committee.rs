//! The validators in force and the sizes of their quorums.

use super::{PbftConfig, PbftError, Quorums, View};
use crate::{consensus::ValidatorSet, primitives::Address};

/// The validators in force and the sizes of their quorums. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committee {
    validators: ValidatorSet,
    quorums: Quorums,
}

impl Committee {
    /// Returns the committee of these validators.
    ///
    /// # Errors
    /// [`PbftError`] for invalid parameters or too few validators.
    pub fn new(config: &PbftConfig, validators: ValidatorSet) -> Result<Self, PbftError> {
        let quorums = config.quorums(&validators)?;
        Ok(Self { validators, quorums })
    }

    /// Returns the members.
    pub const fn validators(&self) -> &ValidatorSet {
        &self.validators
    }

    /// Returns the quorums; each member counts once, whatever its weight.
    pub const fn quorums(&self) -> &Quorums {
        &self.quorums
    }

    /// Returns the primary of `view`.
    pub fn primary(&self, view: View) -> Address {
        self.validators.members()[view.primary(self.validators.len())].address
    }

    /// Returns whether `address` is a member.
    pub fn contains(&self, address: &Address) -> bool {
        self.validators.contains(address)
    }
}
