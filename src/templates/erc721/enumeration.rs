//! All tokens, and those of each owner, by index (`ERC721Enumerable`).

use super::{interface as sol, state::NFT, token::balance_of};
use crate::vm::contract::*;

pub(super) fn token_of_owner_by_index(host: &mut Host<'_>, owner: Address, index: U256) -> Result<U256, Stop> {
    require(index < balance_of(host, owner)?, sol::ERC721OutOfBoundsIndex { owner, index })?;
    NFT.owned_tokens.at(host, owner)?.get(host, index)
}

pub(super) fn token_by_index(host: &mut Host<'_>, index: U256) -> Result<U256, Stop> {
    let supply = NFT.all_tokens.length().get(host)?;
    require(index < supply, sol::ERC721OutOfBoundsIndex { owner: Address::ZERO, index })?;
    NFT.all_tokens.get(host, index.saturating_to())
}

/// Follows a change of a token's owner, from nobody when it was minted and to nobody when it was burnt (`_update`).
pub(super) fn follow(host: &mut Host<'_>, from: Address, to: Address, token_id: U256) -> Result<(), Stop> {
    if from.is_zero() {
        add_to_all(host, token_id)?;
    } else if from != to {
        remove_from_owner(host, from, token_id)?;
    }
    if to.is_zero() {
        remove_from_all(host, token_id)?;
    } else if from != to {
        add_to_owner(host, to, token_id)?;
    }
    Ok(())
}

/// The balance counts the token already.
fn add_to_owner(host: &mut Host<'_>, to: Address, token_id: U256) -> Result<(), Stop> {
    let index = balance_of(host, to)?.sub(U256::ONE)?;
    NFT.owned_tokens.at(host, to)?.set(host, index, token_id)?;
    NFT.owned_tokens_index.set(host, token_id, index)
}

fn add_to_all(host: &mut Host<'_>, token_id: U256) -> Result<(), Stop> {
    let index = NFT.all_tokens.length().get(host)?;
    NFT.all_tokens_index.set(host, token_id, index)?;
    NFT.all_tokens.push(host, token_id)
}

/// Moves the owner's last token into the place of the one that leaves. The balance does not count that one any more.
fn remove_from_owner(host: &mut Host<'_>, from: Address, token_id: U256) -> Result<(), Stop> {
    let last_index = balance_of(host, from)?;
    let index = NFT.owned_tokens_index.get(host, token_id)?;
    let owned = NFT.owned_tokens.at(host, from)?;
    if index != last_index {
        let last = owned.get(host, last_index)?;
        owned.set(host, index, last)?;
        NFT.owned_tokens_index.set(host, last, index)?;
    }
    NFT.owned_tokens_index.set(host, token_id, U256::ZERO)?;
    owned.set(host, last_index, U256::ZERO)
}

/// Moves the last of all tokens into the place of the one that leaves.
fn remove_from_all(host: &mut Host<'_>, token_id: U256) -> Result<(), Stop> {
    let last_index = NFT.all_tokens.length().get(host)?.sub(U256::ONE)?;
    let index = NFT.all_tokens_index.get(host, token_id)?;
    let last = NFT.all_tokens.get(host, last_index.saturating_to())?;
    NFT.all_tokens.set(host, index.saturating_to(), last)?;
    NFT.all_tokens_index.set(host, last, index)?;
    NFT.all_tokens_index.set(host, token_id, U256::ZERO)?;
    NFT.all_tokens.pop(host).map(drop)
}
