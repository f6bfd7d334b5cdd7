//! What the constructor sets, and the first tokens.

use super::{
    interface::Erc1155Token,
    token::{BURNABLE, FIXED, MINTABLE, MINTER_ROLE, PAUSABLE, PAUSER_ROLE, TOKEN, URI_SETTER_ROLE},
    vesting,
};
use crate::{templates::common::DEFAULT_ADMIN_ROLE, vm::contract::*};

pub(super) fn construct(host: &mut Host<'_>, params: Erc1155Token::constructorCall) -> Result<(), Stop> {
    let Erc1155Token::constructorCall { uri, owner, features, royaltyReceiver, royaltyFee, distribution } = params;
    TOKEN.uri.set(host, uri)?;
    let flags = [(features.mintable, MINTABLE), (features.burnable, BURNABLE), (features.pausable, PAUSABLE)];
    let set = flags.into_iter().filter(|(is_on, _)| *is_on).fold(0, |set, (_, flag)| set | flag);
    FIXED.features.overwrite(host, set)?;
    let roles = [
        (true, DEFAULT_ADMIN_ROLE),
        (features.pausable, PAUSER_ROLE),
        (features.mintable, MINTER_ROLE),
        (true, URI_SETTER_ROLE),
    ];
    for (_, role) in roles.into_iter().filter(|(is_used, _)| *is_used) {
        TOKEN.roles.give_role(host, role, owner)?;
    }
    if !royaltyFee.is_zero() {
        TOKEN.royalty.set_default_royalty(host, royaltyReceiver, royaltyFee)?;
    }
    distribution.into_iter().try_for_each(|part| vesting::allot(host, part, owner))
}
