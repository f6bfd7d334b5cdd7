//! The section `permissions` of a genesis.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::interface::Entry;
use crate::primitives::Address;

/// Largest number of accounts on the lists of a genesis; the administrator adds more later.
pub const GENESIS_ENTRIES_MAX: usize = 10_000;

/// Administrator and lists at genesis. In JSON the names are camelCase, unknown ones are refused.
///
/// ```
/// # use chainbox::system::permissions::PermissionsConfig;
/// let config: PermissionsConfig = serde_json::from_str(r#"{
///     "administrator": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
///     "deployers": ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"]
/// }"#)?;
/// assert!(config.accounts.is_none(), "everybody may send");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionsConfig {
    /// Account or contract that changes and switches the lists; it may always send.
    pub administrator: Address,
    /// Accounts that may send transactions; `None` for a list that is off, so that everybody may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<Address>>,
    /// Accounts that may deploy contracts; `None` for a list that is off, so that everybody may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployers: Option<Vec<Address>>,
}

/// An invalid section `permissions`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionsConfigError {
    /// The administrator is the zero address, which nobody has.
    #[error("`administrator` is the zero address; name an account or a contract that can call")]
    NoAdministrator,
    /// An account is twice on one list.
    #[error("`{list}` has {account} twice; remove one")]
    Twice {
        /// Name of the list.
        list: &'static str,
        /// The account.
        account: Address,
    },
    /// The lists have too many accounts.
    #[error(
        "`accounts` and `deployers` have {count} different accounts; list at most {GENESIS_ENTRIES_MAX} and add others later"
    )]
    TooMany {
        /// Number of different accounts.
        count: usize,
    },
}

impl PermissionsConfig {
    /// Creates the section with both lists off.
    pub const fn new(administrator: Address) -> Self {
        Self { administrator, accounts: None, deployers: None }
    }

    /// Sets the accounts that may send, all others may not.
    #[must_use]
    pub fn with_accounts(self, accounts: impl IntoIterator<Item = Address>) -> Self {
        Self { accounts: Some(accounts.into_iter().collect()), ..self }
    }

    /// Sets the accounts that may deploy, all others may not.
    #[must_use]
    pub fn with_deployers(self, deployers: impl IntoIterator<Item = Address>) -> Self {
        Self { deployers: Some(deployers.into_iter().collect()), ..self }
    }

    /// Checks the administrator and the lists.
    ///
    /// # Errors
    /// [`PermissionsConfigError`] for the first fault.
    pub fn check(&self) -> Result<(), PermissionsConfigError> {
        if self.administrator.is_zero() {
            return Err(PermissionsConfigError::NoAdministrator);
        }
        for (list, accounts) in [("accounts", &self.accounts), ("deployers", &self.deployers)] {
            let mut sorted = accounts.clone().unwrap_or_default();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(PermissionsConfigError::Twice { list, account: pair[0] });
            }
        }
        let count = self.entries().len();
        if count > GENESIS_ENTRIES_MAX { Err(PermissionsConfigError::TooMany { count }) } else { Ok(()) }
    }

    /// Returns the entries, in the order of addresses.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries = BTreeMap::<Address, (bool, bool)>::new();
        for account in self.accounts.iter().flatten() {
            entries.entry(*account).or_default().0 = true;
        }
        for account in self.deployers.iter().flatten() {
            entries.entry(*account).or_default().1 = true;
        }
        let entry =
            |(account, (is_account, is_deployer))| Entry { account, isAccount: is_account, isDeployer: is_deployer };
        entries.into_iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::repeat_byte(1);
    const B: Address = Address::repeat_byte(2);

    #[test]
    fn lists_come_back_from_json_and_become_one_entry_an_account() {
        let config = PermissionsConfig::new(A).with_accounts([B, A]).with_deployers([B]);
        assert_eq!(config.check(), Ok(()));
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<PermissionsConfig>(&json).unwrap(), config);
        let entries = config.entries();
        let flags: Vec<_> = entries.iter().map(|entry| (entry.account, entry.isAccount, entry.isDeployer)).collect();
        assert_eq!(flags, [(A, true, false), (B, true, true)]);
        let off = PermissionsConfig::new(A);
        assert_eq!(serde_json::to_string(&off).unwrap(), format!(r#"{{"administrator":"{A:#x}"}}"#), "no list");
        assert!(serde_json::from_str::<PermissionsConfig>(r#"{"accounts": []}"#).is_err(), "no administrator");
        let unknown = format!(r#"{{"administrator": "{A}", "account": []}}"#);
        assert!(serde_json::from_str::<PermissionsConfig>(&unknown).is_err());
    }

    #[test]
    fn faults_are_named() {
        let many = |count: u64| (1..=count).map(|number| Address::left_padding_from(&number.to_be_bytes()));
        let max = GENESIS_ENTRIES_MAX as u64;
        assert_eq!(PermissionsConfig::new(A).with_accounts(many(max)).check(), Ok(()));
        for (config, words) in [
            (PermissionsConfig::new(Address::ZERO), "zero address"),
            (PermissionsConfig::new(A).with_deployers([B, A, B]), "`deployers` has 0x0202"),
            (PermissionsConfig::new(A).with_accounts(many(max)).with_deployers([A]), "10001 different accounts"),
        ] {
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
