//! Votes: delegation, history, signatures, the bound of what a checkpoint counts.

use alloy_primitives::aliases::{U48, U208};
use alloy_sol_types::{SolStruct, eip712_domain};

use super::*;
use crate::primitives::{Height, KeyPair};

alloy_sol_types::sol! {
    /// The message that wallets sign; hashed by alloy, independently of the template.
    struct Delegation {
        address delegatee;
        uint256 nonce;
        uint256 expiry;
    }
}

fn delegate(delegatee: Address) -> sol::delegateCall {
    sol::delegateCall { delegatee }
}

fn votes(token: &mut Deployed, account: Address) -> u64 {
    token.read(&sol::getVotesCall { account }).to()
}

#[test]
fn votes_follow_balances_of_those_who_delegate() {
    let mut token = deploy(&params());
    token.block.height = Height::new(5);
    token.ok(OWNER, &delegate(BOB));
    let changed = sol::DelegateChanged { delegator: OWNER, fromDelegate: Address::ZERO, toDelegate: BOB };
    let moved = sol::DelegateVotesChanged { delegate: BOB, previousVotes: U256::ZERO, newVotes: SUPPLY };
    let logs: Vec<_> = token.journal.logs().iter().map(|log| log.data.clone()).collect();
    assert_eq!(logs, [changed.encode_log_data(), moved.encode_log_data()]);
    assert_eq!(token.read(&sol::delegatesCall { account: OWNER }), BOB);
    token.block.height = Height::new(7);
    token.ok(OWNER, &transfer(CAROL, 400));
    assert_eq!((votes(&mut token, BOB), votes(&mut token, CAROL)), (600, 0), "carol delegates to nobody");
    token.ok(OWNER, &sol::mintCall { to: OWNER, amount: U256::from(100) });
    token.ok(OWNER, &sol::burnCall { value: U256::from(50) });
    assert_eq!(votes(&mut token, BOB), 650);
    assert_eq!(token.read(&sol::numCheckpointsCall { account: BOB }), 2);
    let last = token.read(&sol::checkpointsCall { account: BOB, pos: 1 });
    assert_eq!((last._key, last._value), (U48::from(7), U208::from(650)));
    token.block.height = Height::new(9);
    let past = |timepoint: u64| sol::getPastVotesCall { account: BOB, timepoint: U256::from(timepoint) };
    assert_eq!([4, 5, 6, 7, 8].map(|at| token.read(&past(at)).to::<u64>()), [0, 1_000, 1_000, 650, 650]);
    assert_eq!(token.read(&sol::getPastTotalSupplyCall { timepoint: U256::from(8) }), U256::from(1_050));
    let future = sol::ERC5805FutureLookup { timepoint: U256::from(9), clock: U48::from(9) };
    token.fails(BOB, &past(9), &future);
}

#[test]
fn the_clock_is_the_blocks_number() {
    let mut token = deploy(&params());
    token.block.height = Height::new(12);
    assert_eq!(token.read(&sol::clockCall {}), U48::from(12));
    assert_eq!(token.read(&sol::CLOCK_MODECall {}), "mode=blocknumber&from=default");
}

pub(super) fn signed_for(token: Address, key: &KeyPair, nonce: u64, expiry: u64) -> sol::delegateBySigCall {
    let domain = eip712_domain! { name: "Gold", version: "1", chain_id: 1, verifying_contract: token, };
    let (delegatee, nonce, expiry) = (BOB, U256::from(nonce), U256::from(expiry));
    let signature = key.sign_hash(Delegation { delegatee, nonce, expiry }.eip712_signing_hash(&domain));
    let (v, r, s) = (27 + u8::from(signature.v()), signature.r().into(), signature.s().into());
    sol::delegateBySigCall { delegatee, nonce, expiry, v, r, s }
}

#[test]
fn a_signature_delegates_once_and_shares_nonces_with_permits() {
    let mut token = deploy(&params());
    let key = KeyPair::from_seed(1, "holder");
    token.ok(OWNER, &transfer(key.address(), 30));
    let call = signed_for(token.token, &key, 0, 1_000);
    token.fails(
        CAROL,
        &sol::delegateBySigCall { expiry: U256::from(999), ..call.clone() },
        &sol::VotesExpiredSignature { expiry: U256::from(999) },
    );
    token.ok(CAROL, &call);
    assert_eq!(votes(&mut token, BOB), 30);
    let used = sol::InvalidAccountNonce { account: key.address(), currentNonce: U256::ONE };
    token.fails(CAROL, &call, &used);
}

#[test]
fn a_supply_beyond_a_checkpoint_is_refused() {
    let (most, uncapped) = (U256::from(U208::MAX), Erc20Params { cap: None, ..params() });
    let mut token = deploy(&Erc20Params { total_supply: most, ..uncapped.clone() });
    let more = sol::mintCall { to: BOB, amount: U256::ONE };
    let refused = sol::ERC20ExceededSafeSupply { increasedSupply: most + U256::ONE, cap: most };
    token.fails(OWNER, &more, &refused);
    let features = Erc20Features { votes: false, ..Erc20Features::ALL };
    let mut token = deploy(&Erc20Params { total_supply: most, features, ..uncapped });
    token.ok(OWNER, &more);
    // The cap is asked last.
    let mut token = deploy(&params());
    let refused = sol::ERC20ExceededSafeSupply { increasedSupply: most + SUPPLY, cap: most };
    token.fails(OWNER, &sol::mintCall { to: BOB, amount: most }, &refused);
}
