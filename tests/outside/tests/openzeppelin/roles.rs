//! What the wizard's tokens leave to accounts with a role: roles, pausing, royalties.

use alloy_primitives::{Address, U256, aliases::U96};
use alloy_sol_types::{SolCall, sol};
use proptest::{prelude::*, sample::select};

use crate::{
    engine::Call,
    parties::{ADMIN, MINTER, contract, person},
    values::{self, a_role, account, id, mostly_admin, mostly_minter, sender},
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Roles {
        function pause();
        function unpause();
        function grantRole(bytes32 role, address account);
        function revokeRole(bytes32 role, address account);
        function renounceRole(bytes32 role, address callerConfirmation);
        function setDefaultRoyalty(address receiver, uint96 feeNumerator);
        function setTokenRoyalty(uint256 tokenId, address receiver, uint96 feeNumerator);
    }
}

use Roles::*;

/// A call, and who sends it.
pub type Sent = (Address, RolesCalls);

/// Returns the strategy of pausing, and of who has which role.
pub fn administration() -> BoxedStrategy<Sent> {
    prop_oneof![
        1 => mostly_minter().prop_map(|from| (from, RolesCalls::pause(pauseCall {}))),
        3 => mostly_minter().prop_map(|from| (from, RolesCalls::unpause(unpauseCall {}))),
        2 => (mostly_admin(), a_role(), account())
            .prop_map(|(from, role, account)| (from, RolesCalls::grantRole(grantRoleCall { role, account }))),
        1 => (mostly_admin(), a_role(), account())
            .prop_map(|(from, role, account)| (from, RolesCalls::revokeRole(revokeRoleCall { role, account }))),
        1 => (sender(), a_role(), account(), any::<bool>()).prop_map(|(from, role, other, is_own)| {
            let account = if is_own { from } else { other };
            (from, RolesCalls::renounceRole(renounceRoleCall { role, callerConfirmation: account }))
        }),
    ]
    .boxed()
}

/// Returns the strategy of royalties of all tokens and of one.
pub fn royalties() -> BoxedStrategy<Sent> {
    prop_oneof![
        (mostly_admin(), royalty_receiver(), fee()).prop_map(|(from, receiver, fee)| {
            (from, RolesCalls::setDefaultRoyalty(setDefaultRoyaltyCall { receiver, feeNumerator: fee }))
        }),
        (mostly_admin(), id(), royalty_receiver(), fee()).prop_map(|(from, token_id, receiver, fee)| {
            (from, RolesCalls::setTokenRoyalty(setTokenRoyaltyCall { tokenId: token_id, receiver, feeNumerator: fee }))
        }),
    ]
    .boxed()
}

fn royalty_receiver() -> impl Strategy<Value = Address> {
    prop_oneof![4 => account(), 1 => Just(Address::ZERO)]
}

/// Returns the strategy of royalties, of which 10,000 is the whole price.
fn fee() -> impl Strategy<Value = U96> {
    select(vec![0u64, 1, 250, 10_000, 10_001, u64::MAX]).prop_map(U96::from)
}

/// Returns the calls by which the administrator gives the minter roles: a constructor gives them all to its owner.
pub fn appointments(names: &[&str]) -> Vec<Call> {
    let appoint = |name: &&str| {
        let call = grantRoleCall { role: values::role(name), account: person(MINTER) };
        Call { from: person(ADMIN), to: contract(0), value: U256::ZERO, input: call.abi_encode().into() }
    };
    names.iter().map(appoint).collect()
}
