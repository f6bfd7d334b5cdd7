//! The record of a validator: what its chain does not know of it.
//!
//! Who validates, with what weight and stake, is the chain's alone to say. The record has the name that the service shows, which sealing
//! key the validator got, and whether its replica was stopped. A validator of genesis has one from its first command on.

use core::fmt::Write as _;

use alloy_primitives::Address;
use serde::{Deserialize, Serialize};

use super::{
    PlatformError,
    records::{Index, Reach, Record, SortKey},
};

/// What ids of validators begin with.
const PREFIX: &str = "val_";
/// What ids of chains begin with.
const CHAIN_PREFIX: &str = "bc_";

/// A validator of a chain of the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedValidator {
    /// Id of its chain.
    pub blockchain_id: String,
    /// Its operator, who owns stake, rewards and votes.
    pub operator: Address,
    /// Address of the key by which consensus knows it.
    pub sealing_key: Address,
    /// Name that the service shows.
    pub name: String,
    /// What the caller keeps with it, a JSON object.
    pub metadata: String,
    /// Whether its replica was stopped by command.
    pub is_stopped: bool,
}

impl HostedValidator {
    /// Validators of a chain, the oldest first.
    pub(super) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |validator| Some(SortKey::new().text(&validator.value.blockchain_id)),
        |validator| SortKey::new().number(validator.created_at_ms()),
    );
}

impl Record for HostedValidator {
    const KIND: &'static str = "validator";
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN];
}

/// Id of a validator, unique in the service: it names the chain and the operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValidatorId {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Address of the operator.
    pub operator: Address,
}

impl ValidatorId {
    /// Names a validator of a chain.
    pub fn new(chain: &str, operator: Address) -> Self {
        Self { blockchain_id: chain.to_owned(), operator }
    }

    /// Returns the text: `val_`, the chain's id without its prefix, `_`, and the operator's address in lower case.
    pub fn text(&self) -> String {
        let chain = self.blockchain_id.strip_prefix(CHAIN_PREFIX).unwrap_or(&self.blockchain_id);
        let mut text = format!("{PREFIX}{chain}_");
        for byte in self.operator {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Reads a text.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for what is no such id: no validator has it.
    pub fn read(text: &str) -> Result<Self, PlatformError> {
        let parse = || {
            let (chain, operator) = text.strip_prefix(PREFIX)?.rsplit_once('_')?;
            let is_lower = operator.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let operator = (operator.len() == 40 && is_lower).then(|| operator.parse().ok()).flatten()?;
            Some(Self { blockchain_id: format!("{CHAIN_PREFIX}{chain}"), operator })
        };
        parse().ok_or_else(|| PlatformError::not_found("validator", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_and_others_are_nobodys() {
        let id = ValidatorId::new("bc_0123456789abcdef", Address::repeat_byte(0xab));
        assert_eq!(id.text(), format!("val_0123456789abcdef_{}", "ab".repeat(20)));
        assert_eq!(ValidatorId::read(&id.text()), Ok(id.clone()));
        let upper = id.text().to_uppercase();
        for text in ["", "val_", "none_0123456789abcdef", "val_x_12", upper.as_str(), &format!("{}0", id.text())] {
            assert!(matches!(ValidatorId::read(text), Err(PlatformError::NotFound { .. })), "{text}");
        }
    }
}
