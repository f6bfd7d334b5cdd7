//! State variables.

use super::{Erc721Features, IMMUTABLES};
use crate::{
    templates::common::{AccessControl, Eip712, Erc2981, Nonces, Pausable, Votes},
    vm::contract::*,
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract NftStorage {
        pub(super) royalties: Erc2981,
        pub(super) name: Slot<String>,
        pub(super) symbol: Slot<String>,
        pub(super) owners: Mapping<U256, Address>,
        pub(super) balances: Mapping<Address, U256>,
        pub(super) token_approvals: Mapping<U256, Address>,
        pub(super) operator_approvals: Mapping<Address, Mapping<Address, bool>>,
        pub(super) owned_tokens: Mapping<Address, Mapping<U256, U256>>,
        pub(super) owned_tokens_index: Mapping<U256, U256>,
        pub(super) all_tokens: Array<U256>,
        pub(super) all_tokens_index: Mapping<U256, U256>,
        pub(super) token_uris: Mapping<U256, String> as "_tokenURIs",
        pub(super) pausable: Pausable,
        pub(super) access: AccessControl,
        pub(super) eip712: Eip712,
        pub(super) nonces: Nonces,
        pub(super) votes: Votes,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract NftImmutables layout at IMMUTABLES {
        pub(super) features: Slot<Erc721Features>,
        pub(super) base_uri: Slot<String> as "_baseURI",
    }
}

pub(super) const NFT: NftStorage = NftStorage::STATE;
pub(super) const FIXED: NftImmutables = NftImmutables::STATE;

/// Refuses a function that the token has not, as a contract without it does.
pub(super) fn require_feature(host: &mut Host<'_>, feature: fn(Erc721Features) -> bool) -> Result<(), Stop> {
    if feature(FIXED.features.get(host)?) { Ok(()) } else { Err(empty_revert()) }
}
