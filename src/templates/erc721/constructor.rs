//! The constructor.

use super::{
    Erc721Features,
    interface::Erc721Nft,
    roles::{MINTER_ROLE, PAUSER_ROLE},
    state::{FIXED, NFT},
    votes,
};
use crate::{
    templates::common::{DEFAULT_ADMIN_ROLE, Eip712},
    vm::contract::*,
};

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
