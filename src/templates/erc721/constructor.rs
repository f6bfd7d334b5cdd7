//! The constructor.

use super::{
    Erc721Features,
    interface::{self as sol, Allotment, Erc721Nft},
    roles::{MINTER_ROLE, PAUSER_ROLE},
    state::{FIXED, NFT},
    transfer::update,
    votes,
};
use crate::{
    templates::common::{DEFAULT_ADMIN_ROLE, Eip712},
    vm::contract::*,
};

pub(super) fn construct(host: &mut Host<'_>, params: Erc721Nft::constructorCall) -> Result<(), Stop> {
    let Erc721Nft::constructorCall {
        name,
        symbol,
        baseURI,
        owner,
        features,
        royaltyReceiver,
        royaltyFee,
        distribution,
    } = params;
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
    if !royaltyFee.is_zero() {
        NFT.royalties.set_default_royalty(host, royaltyReceiver, royaltyFee)?;
    }
    distribute(host, &distribution)
}

/// Mints the ids from 1 on (`_mint`, which asks no receiver).
fn distribute(host: &mut Host<'_>, distribution: &[Allotment]) -> Result<(), Stop> {
    let mut next = U256::ONE;
    for &Allotment { account, amount } in distribution {
        require(!account.is_zero(), sol::ERC721InvalidReceiver { receiver: account })?;
        // Nobody has gas for so many that the end would overflow.
        let end = next.saturating_add(amount);
        while next < end {
            update(host, account, next, Address::ZERO)?;
            next = next.add(U256::ONE)?;
        }
    }
    Ok(())
}
