//! Accounts for tests: keys of the well-known mnemonic, funded in genesis.

use super::{chain_options::ValidatorKeys, error::NetworkOptionsError};
use crate::primitives::{DEFAULT_MNEMONIC, KeyPair, U256, Wallet, ether};

/// Most accounts that a network or a node derives and funds.
pub(crate) const DEV_ACCOUNTS_MAX: u32 = 100_000;

/// Returns the balance at genesis of an account of the default mnemonic, in the smallest unit: 10,000 tokens.
pub(crate) fn dev_account_balance() -> U256 {
    ether(10_000)
}

/// The keys that a network was built with; nothing in it depends on those of the accounts.
#[derive(Debug)]
pub(crate) struct NetworkKeys {
    /// Keys of the funded accounts, in the order of derivation.
    pub(crate) accounts: Vec<KeyPair>,
    /// Keys of the validators, those that are not given drawn from the seed.
    pub(crate) validators: ValidatorKeys,
    /// Seed of the network.
    pub(crate) seed: u64,
}

/// Returns the first `count` keys of the default mnemonic.
pub(super) fn dev_keys(count: u32) -> Result<Vec<KeyPair>, NetworkOptionsError> {
    if count > DEV_ACCOUNTS_MAX {
        return Err(NetworkOptionsError::DevAccounts { asked: count, max: DEV_ACCOUNTS_MAX });
    }
    let keys = Wallet::from_phrase(DEFAULT_MNEMONIC).and_then(|wallet| wallet.keys(0, count));
    Ok(keys.expect("the default mnemonic is one, and its keys up to the bound exist"))
}
