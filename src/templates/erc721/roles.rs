//! What accounts with a role may do: mint, pause, set royalties; and burning, for who may move a token.

use alloy_primitives::{aliases::U96, b256};

use super::{
    interface as sol,
    state::{NFT, require_feature},
    transfer::update,
    uri,
};
use crate::{
    templates::common::{DEFAULT_ADMIN_ROLE, receivers::check_on_erc721_received},
    vm::contract::*,
};

/// Role of who may mint: keccak of `MINTER_ROLE`.
pub const MINTER_ROLE: B256 = b256!("9f2df0fed2c77648de5860a4cc508cd0818c85b8b8a1ab4ceeef8d981c8956a6");

/// Role of who may pause: keccak of `PAUSER_ROLE`.
pub const PAUSER_ROLE: B256 = b256!("65d7a28e3265b37a6474929f336521b332c1681b933f6cb9f3376673440d862a");

pub(super) fn minter_role(host: &mut Host<'_>) -> Result<B256, Stop> {
    require_feature(host, |has| has.mintable)?;
    Ok(MINTER_ROLE)
}

pub(super) fn pauser_role(host: &mut Host<'_>) -> Result<B256, Stop> {
    require_feature(host, |has| has.pausable)?;
    Ok(PAUSER_ROLE)
}

pub(super) fn safe_mint(host: &mut Host<'_>, to: Address, token_id: U256) -> Result<(), Stop> {
    require_feature(host, |has| has.mintable)?;
    NFT.access.only_role(host, MINTER_ROLE)?;
    require(!to.is_zero(), sol::ERC721InvalidReceiver { receiver: to })?;
    let previous_owner = update(host, to, token_id, Address::ZERO)?;
    require(previous_owner.is_zero(), sol::ERC721InvalidSender { sender: Address::ZERO })?;
    let operator = host.caller();
    check_on_erc721_received(host, operator, Address::ZERO, to, token_id, Bytes::new())
}

pub(super) fn safe_mint_with_uri(host: &mut Host<'_>, to: Address, token_id: U256, uri: &[u8]) -> Result<(), Stop> {
    safe_mint(host, to, token_id)?;
    uri::set_token_uri(host, token_id, uri)
}

pub(super) fn burn(host: &mut Host<'_>, token_id: U256) -> Result<(), Stop> {
    require_feature(host, |has| has.burnable)?;
    let caller = host.caller();
    update(host, Address::ZERO, token_id, caller).map(drop)
}

pub(super) fn paused(host: &mut Host<'_>) -> Result<bool, Stop> {
    require_feature(host, |has| has.pausable)?;
    NFT.pausable.paused.get(host)
}

pub(super) fn pause(host: &mut Host<'_>) -> Result<(), Stop> {
    require_feature(host, |has| has.pausable)?;
    NFT.access.only_role(host, PAUSER_ROLE)?;
    NFT.pausable.pause(host)
}

pub(super) fn unpause(host: &mut Host<'_>) -> Result<(), Stop> {
    require_feature(host, |has| has.pausable)?;
    NFT.access.only_role(host, PAUSER_ROLE)?;
    NFT.pausable.unpause(host)
}

pub(super) fn set_default_royalty(host: &mut Host<'_>, receiver: Address, fee: U96) -> Result<(), Stop> {
    NFT.access.only_role(host, DEFAULT_ADMIN_ROLE)?;
    NFT.royalties.set_default_royalty(host, receiver, fee)
}

pub(super) fn set_token_royalty(host: &mut Host<'_>, token_id: U256, receiver: Address, fee: U96) -> Result<(), Stop> {
    NFT.access.only_role(host, DEFAULT_ADMIN_ROLE)?;
    NFT.royalties.set_token_royalty(host, token_id, receiver, fee)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn roles_are_hashes_of_their_names() {
        assert_eq!([keccak256("MINTER_ROLE"), keccak256("PAUSER_ROLE")], [MINTER_ROLE, PAUSER_ROLE]);
    }
}
