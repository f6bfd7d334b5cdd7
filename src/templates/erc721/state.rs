//! State variables, and what a token is constructed with.

use super::{
    Erc721Features, IMMUTABLES,
    interface::Erc721Nft,
    roles::{MINTER_ROLE, PAUSER_ROLE},
    votes,
};
use crate::{
    templates::common::{AccessControl, DEFAULT_ADMIN_ROLE, Eip712, Erc2981, Nonces, Pausable, Votes},
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

pub(super) fn construct(host: &mut Host<'_>, params: Erc721Nft::constructorCall) -> Result<(), Stop> {
    let Erc721Nft::constructorCall { name, symbol, baseURI, owner, features, royaltyReceiver, royaltyFee } = params;
    let Erc721Nft::Features { mintable, burnable, pausable, votes } = features;
    if votes {
        Eip712::construct(&name, votes::VERSION)?;
    }
    NFT.name.set(host, name)?;
    NFT.symbol.set(host, symbol)?;
    FIXED.features.set(host, Erc721Features { mintable, burnable, pausable, votes })?;
    FIXED.base_uri.set(host, baseURI)?;
    let roles = [(true, DEFAULT_ADMIN_ROLE), (pausable, PAUSER_ROLE), (mintable, MINTER_ROLE)];
    for (_, role) in roles.into_iter().filter(|(is_used, _)| *is_used) {
        NFT.access.give_role(host, role, owner)?;
    }
    if royaltyFee.is_zero() {
        return Ok(());
    }
    NFT.royalties.set_default_royalty(host, royaltyReceiver, royaltyFee)
}

/// Refuses a function that the token has not, as a contract without it does.
pub(super) fn require_feature(host: &mut Host<'_>, feature: fn(Erc721Features) -> bool) -> Result<(), Stop> {
    if feature(FIXED.features.get(host)?) { Ok(()) } else { Err(empty_revert()) }
}
