//! What the revoker may do, and what it leaves.

use super::*;

#[test]
fn what_has_vested_stays_and_the_rest_goes_back() {
    let mut world = deploy(&revocable());
    assert!(world.read(&sol::revocableCall {}));
    assert_eq!(world.read(&sol::revokerCall {}), REVOKER);
    world.after_start(300).ok(STRANGER, &sol::release_0Call {});
    world.after_start(400).ok(REVOKER, &sol::revoke_0Call {});
    let revoked = sol::EtherRevoked { amount: U256::from(600) };
    assert_eq!(world.chain.journal.logs()[0].data, revoked.encode_log_data());
    assert_eq!(world.chain.wei(REVOKER), FUNDS + 600);
    assert!(world.read(&sol::revoked_0Call {}));
    assert_eq!(world.releasable(), (100, 4_000), "the token vests on");
    let token = world.token;
    assert!(!world.read(&sol::revoked_1Call { token }));
    world.ok(REVOKER, &sol::revoke_1Call { token });
    let revoked = sol::ERC20Revoked { token, amount: U256::from(6_000) };
    assert_eq!(world.chain.journal.logs()[0].data, revoked.encode_log_data());
    assert_eq!(world.tokens(REVOKER), 6_000);
    assert_eq!(world.after_start(0).releasable(), (100, 4_000), "at any time");
    world.ok(STRANGER, &sol::release_1Call { token });
    assert_eq!((world.tokens(BENEFICIARY), world.tokens(world.wallet)), (4_000, 0));
    world.fund(7);
    assert_eq!(world.releasable(), (100, 7), "what comes later has vested");
}

#[test]
fn before_the_cliff_all_goes_back_and_after_the_end_nothing() {
    let mut early = deploy(&revocable());
    early.after_start(249).ok(REVOKER, &sol::revoke_0Call {});
    assert_eq!((early.chain.wei(REVOKER), early.releasable().0), (FUNDS + 1_000, 0));
    let mut late = deploy(&revocable());
    late.after_start(1_000).ok(REVOKER, &sol::revoke_0Call {});
    assert_eq!((late.chain.wei(REVOKER), late.releasable().0), (FUNDS, 1_000));
}

#[test]
fn only_the_revoker_may_and_once() {
    let mut world = deploy(&revocable());
    let token = world.token;
    for account in [BENEFICIARY, STRANGER] {
        let refused = sol::VestingUnauthorizedRevoker { account };
        world.fails(account, &sol::revoke_0Call {}, &refused);
        world.fails(account, &sol::revoke_1Call { token }, &refused);
    }
    world.ok(REVOKER, &sol::revoke_0Call {});
    world.ok(REVOKER, &sol::revoke_1Call { token });
    world.fails(REVOKER, &sol::revoke_0Call {}, &sol::VestingAlreadyRevoked { token: Address::ZERO });
    world.fails(REVOKER, &sol::revoke_1Call { token }, &sol::VestingAlreadyRevoked { token });
}

#[test]
fn a_wallet_that_is_not_revocable_has_no_revocation() {
    let mut world = deploy(&params());
    let (chain, wallet, token) = (&mut world.chain, world.wallet, world.token);
    for from in [BENEFICIARY, REVOKER, STRANGER, Address::ZERO] {
        chain.is_absent(from, wallet, &sol::revoke_0Call {});
        chain.is_absent(from, wallet, &sol::revoke_1Call { token });
        chain.is_absent(from, wallet, &sol::revokerCall {});
        chain.is_absent(from, wallet, &sol::revoked_0Call {});
        chain.is_absent(from, wallet, &sol::revoked_1Call { token });
    }
}
