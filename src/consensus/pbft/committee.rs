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
    /// The committee of these validators.
    ///
    /// # Errors
    /// [`PbftError`] when there are too few.
    pub fn new(config: &PbftConfig, validators: ValidatorSet) -> Result<Self, PbftError> {
        let quorums = config.quorums(&validators)?;
        Ok(Self { validators, quorums })
    }

    /// Its members.
    pub const fn validators(&self) -> &ValidatorSet {
        &self.validators
    }

    /// Its quorums; each member counts once, whatever it weighs.
    pub const fn quorums(&self) -> &Quorums {
        &self.quorums
    }

    /// Who leads `view`.
    pub fn primary(&self, view: View) -> Address {
        self.validators.members()[view.primary(self.validators.len())].address
    }

    /// Whether `address` may vote.
    pub fn contains(&self, address: &Address) -> bool {
        self.validators.contains(address)
    }
}
