//! How a token moves, and what follows: the pause, the enumeration, the votes.

use super::{
    enumeration, interface as sol,
    state::{FIXED, NFT},
    token::change_owner,
};
use crate::{templates::common::receivers::check_on_erc721_received, vm::contract::*};

pub(super) fn transfer_from(host: &mut Host<'_>, from: Address, to: Address, token_id: U256) -> Result<(), Stop> {
    require(!to.is_zero(), sol::ERC721InvalidReceiver { receiver: to })?;
    let caller = host.caller();
    let owner = update(host, to, token_id, caller)?;
    require(owner == from, sol::ERC721IncorrectOwner { sender: from, tokenId: token_id, owner })
}

pub(super) fn safe_transfer_from(
    host: &mut Host<'_>,
    from: Address,
    to: Address,
    token_id: U256,
    data: Bytes,
) -> Result<(), Stop> {
    transfer_from(host, from, to, token_id)?;
    let operator = host.caller();
    check_on_erc721_received(host, operator, from, to, token_id, data)
}

/// Moves a token to `to`, from nobody when it is minted and to nobody when it is burnt, and returns who owned it (`_update`). `auth` has to
/// be its owner or approved, unless it is zero.
pub(super) fn update(host: &mut Host<'_>, to: Address, token_id: U256, auth: Address) -> Result<Address, Stop> {
    NFT.pausable.when_not_paused(host)?;
    let from = change_owner(host, to, token_id, auth)?;
    enumeration::follow(host, from, to, token_id)?;
    if FIXED.features.get(host)?.votes {
        NFT.votes.transfer_voting_units(host, from, to, U256::ONE)?;
    }
    Ok(from)
}
