//! State variables, and the domain under which holders sign.

use super::VERSION;
use crate::{
    templates::common::{AccessControl, Domain, Eip712, Nonces, Pausable, Votes},
    vm::contract::*,
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract TokenStorage {
        pub(super) balances: Mapping<Address, U256>,
        pub(super) allowances: Mapping<Address, Mapping<Address, U256>>,
        pub(super) total_supply: Slot<U256>,
        pub(super) name: Slot<String>,
        pub(super) symbol: Slot<String>,
        pub(super) pausable: Pausable,
        pub(super) access: AccessControl,
        pub(super) eip712: Eip712,
        pub(super) nonces: Nonces,
        pub(super) votes: Votes,
    }
}

pub(super) const TOKEN: TokenStorage = TokenStorage::STATE;

/// Returns the EIP-712 domain, whose name is the token's.
pub(super) fn domain(host: &mut Host<'_>) -> Result<Domain, Stop> {
    Ok(Domain { name: TOKEN.name.get(host)?, version: VERSION })
}
