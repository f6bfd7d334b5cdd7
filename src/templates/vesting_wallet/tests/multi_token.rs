//! Tokens of ERC-1155: each id vests as a token does.

use super::*;
use crate::templates::{
    Erc1155Features, Erc1155Params, common::receivers::ERC1155_RECEIVER_ID, erc1155::interface as erc1155,
};

/// Id of the items.
pub(super) const ID: U256 = U256::from_limbs([7, 0, 0, 0]);

impl World {
    /// Makes a token of many ids, of which the wallet gets so many of [`ID`].
    pub(super) fn make_items(&mut self, amount: u64) -> Address {
        let features = Erc1155Features { mintable: true, ..Erc1155Features::default() };
        let params = Erc1155Params { features, ..Erc1155Params::new("", STRANGER) };
        let items = self.chain.deploy(STRANGER, 0, &params.init_code());
        self.fund_items(items, amount);
        items
    }

    pub(super) fn fund_items(&mut self, items: Address, amount: u64) {
        let (account, amount) = (self.wallet, U256::from(amount));
        self.chain.ok(STRANGER, items, &erc1155::mintCall { account, id: ID, amount, data: Bytes::new() });
    }

    pub(super) fn items(&self, items: Address, account: Address) -> u64 {
        self.chain.read(items, &erc1155::balanceOfCall { account, id: ID }).to()
    }

    pub(super) fn releasable_items(&self, items: Address) -> u64 {
        self.read(&sol::releasable_2Call { token: items, id: ID }).to()
    }
}

#[test]
fn each_id_vests_along_a_line_after_the_cliff() {
    let mut world = deploy(&params());
    let token = world.make_items(2_000);
    for (seconds, want) in [(0, 0), (249, 0), (250, 500), (999, 1_998), (1_000, 2_000), (5_000, 2_000)] {
        assert_eq!(world.after_start(seconds).releasable_items(token), want, "after {seconds} s");
    }
    let other = sol::releasable_2Call { token, id: ID + U256::ONE };
    assert_eq!(world.read(&other), U256::ZERO, "of which there are none");
    world.after_start(400).ok(STRANGER, &sol::release_2Call { token, id: ID });
    let released = sol::ERC1155Released { token, id: ID, amount: U256::from(800) };
    assert_eq!(world.chain.journal.logs()[0].data, released.encode_log_data());
    assert_eq!((world.items(token, BENEFICIARY), world.items(token, world.wallet)), (800, 1_200));
    assert_eq!(world.read(&sol::released_2Call { token, id: ID }), U256::from(800));
    assert_eq!(world.releasable_items(token), 0);
    assert_eq!(world.releasable(), (400, 4_000), "the others are as they were");
}

#[test]
fn the_revoker_gets_back_of_an_id_what_has_not_vested() {
    let mut world = deploy(&revocable());
    let token = world.make_items(1_000);
    let revoke = sol::revoke_2Call { token, id: ID };
    world.after_start(300).fails(STRANGER, &revoke, &sol::VestingUnauthorizedRevoker { account: STRANGER });
    world.ok(REVOKER, &revoke);
    let revoked = sol::ERC1155Revoked { token, id: ID, amount: U256::from(700) };
    assert_eq!(world.chain.journal.logs()[0].data, revoked.encode_log_data());
    assert_eq!((world.items(token, REVOKER), world.releasable_items(token)), (700, 300));
    assert!(world.read(&sol::revoked_2Call { token, id: ID }));
    assert!(!world.read(&sol::revoked_2Call { token, id: U256::ZERO }), "another id vests on");
    assert!(!world.read(&sol::revoked_1Call { token }), "and is no token of ERC-20");
    world.fails(REVOKER, &revoke, &sol::VestingAlreadyRevoked { token });
}

#[test]
fn a_wallet_that_is_not_revocable_has_no_revocation_of_ids() {
    let mut world = deploy(&params());
    let token = world.make_items(1);
    let (chain, wallet) = (&mut world.chain, world.wallet);
    chain.is_absent(REVOKER, wallet, &sol::revoke_2Call { token, id: ID });
    chain.is_absent(REVOKER, wallet, &sol::revoked_2Call { token, id: ID });
}

#[test]
fn lists_of_ids_are_received() {
    let mut world = deploy(&params());
    let token = world.make_items(5);
    let (to, ids, amounts) = (world.wallet, vec![ID, U256::ZERO], vec![U256::from(3), U256::from(40)]);
    world.chain.ok(STRANGER, token, &erc1155::mintBatchCall { to, ids, amounts, data: Bytes::new() });
    assert_eq!(world.items(token, to), 8);
    assert!(world.read(&sol::supportsInterfaceCall { interfaceId: ERC1155_RECEIVER_ID.into() }));
}

#[test]
fn a_token_of_ids_that_is_none_is_refused() {
    let mut world = deploy(&params());
    for token in [STRANGER, world.wallet, world.token] {
        world.chain.is_absent(STRANGER, world.wallet, &sol::release_2Call { token, id: ID });
    }
}
