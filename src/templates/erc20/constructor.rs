//! The constructor: names, what is fixed, the supply, roles.

use super::{
    Erc20Features, VERSION,
    features::{FIXED, Settings},
    interface::{self as sol, Erc20Token},
    state::TOKEN,
    token::{MINTER_ROLE, PAUSER_ROLE, mint_to},
    vesting::allocate,
};
use crate::{
    templates::common::{DEFAULT_ADMIN_ROLE, Eip712},
    vm::contract::*,
};

pub(super) fn construct(host: &mut Host<'_>, params: Erc20Token::constructorCall) -> Result<(), Stop> {
    let Erc20Token::constructorCall { name, symbol, decimals, totalSupply, cap, owner, features, vesting } = params;
    let features = Erc20Features::from(features);
    TOKEN.name.set(host, name.clone())?;
    TOKEN.symbol.set(host, symbol)?;
    Eip712::construct(&name, VERSION)?;
    require(!cap.is_zero(), sol::ERC20InvalidCap { cap })?;
    FIXED.settings.set(host, Settings::new(decimals, features))?;
    FIXED.cap.set(host, cap)?;
    let rest = allocate(host, &vesting, totalSupply, owner)?;
    if !rest.is_zero() {
        mint_to(host, owner, rest)?;
    }
    TOKEN.access.give_role(host, DEFAULT_ADMIN_ROLE, owner)?;
    for (is_on, role) in [(features.pausable, PAUSER_ROLE), (features.mintable, MINTER_ROLE)] {
        if is_on {
            TOKEN.access.give_role(host, role, owner)?;
        }
    }
    Ok(())
}
