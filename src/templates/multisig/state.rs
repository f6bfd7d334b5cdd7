//! The wallet's variables, in MultiSigWallet's order and by its names.

use crate::vm::contract::*;

storage! {
    /// State variables, in solc's order.
    pub(super) contract WalletStorage {
        pub(super) transactions: Mapping<U256, Transaction> as "transactions",
        pub(super) confirmations: Mapping<U256, Mapping<Address, bool>> as "confirmations",
        pub(super) is_owner: Mapping<Address, bool> as "isOwner",
        pub(super) owners: Array<Address> as "owners",
        pub(super) required: Slot<U256> as "required",
        pub(super) transaction_count: Slot<U256> as "transactionCount",
    }
}

storage! {
    /// What the wallet is asked to do.
    pub(super) struct Transaction {
        pub(super) destination: Slot<Address>,
        /// In wei.
        pub(super) value: Slot<U256>,
        pub(super) data: Slot<Bytes>,
        pub(super) executed: Slot<bool>,
    }
}

pub(super) const WALLET: WalletStorage = WalletStorage::STATE;

/// `require(condition)`, without a reason.
pub(super) fn require_that(condition: bool) -> Result<(), Stop> {
    if condition { Ok(()) } else { Err(empty_revert()) }
}

/// Refuses unless an account is an owner (`ownerExists`).
pub(super) fn require_owner(host: &mut Host<'_>, account: Address) -> Result<(), Stop> {
    require_that(WALLET.is_owner.get(host, account)?)
}

/// Refuses an account that is an owner (`ownerDoesNotExist`).
pub(super) fn require_no_owner(host: &mut Host<'_>, account: Address) -> Result<(), Stop> {
    require_that(!WALLET.is_owner.get(host, account)?)
}
