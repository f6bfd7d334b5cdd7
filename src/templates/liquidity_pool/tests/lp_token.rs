//! The LP token: transfers, allowances, permits.

use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain};

use super::*;
use crate::primitives::KeyPair;

alloy_sol_types::sol! {
    struct Permit {
        address owner;
        address spender;
        uint256 value;
        uint256 nonce;
        uint256 deadline;
    }
}

#[test]
fn lp_tokens_are_transferred_and_allowed() {
    let mut pools = Pools::new();
    pools.add(BOB, 10_000, 40_000);
    let amount = |value: u64| U256::from(value);
    assert!(pools.ok(BOB, &sol::transferCall { to: CAROL, value: amount(4_000) }));
    let transferred = sol::Transfer { from: BOB, to: CAROL, value: amount(4_000) };
    assert_eq!(pools.chain.journal.logs()[0].data, transferred.encode_log_data());
    assert_eq!((pools.lp_tokens(BOB), pools.lp_tokens(CAROL)), (15_000, 4_000));
    pools.fails(CAROL, &sol::transferCall { to: BOB, value: amount(4_001) }, "ds-math-sub-underflow");
    pools.ok(BOB, &sol::approveCall { spender: CAROL, value: amount(5) });
    let take = |value: u64| sol::transferFromCall { from: BOB, to: OWNER, value: amount(value) };
    pools.fails(CAROL, &take(6), "ds-math-sub-underflow");
    pools.ok(CAROL, &take(3));
    assert_eq!(pools.read(&sol::allowanceCall { owner: BOB, spender: CAROL }), amount(2));
    pools.ok(BOB, &sol::approveCall { spender: CAROL, value: U256::MAX });
    pools.ok(CAROL, &take(3));
    assert_eq!(pools.read(&sol::allowanceCall { owner: BOB, spender: CAROL }), U256::MAX, "unlimited");
}

#[test]
fn a_permit_counts_once_and_until_its_deadline() {
    let mut pools = Pools::new();
    let key = KeyPair::from_bytes(&B256::repeat_byte(7)).unwrap();
    let (owner, value) = (key.address(), U256::from(77));
    let domain: Eip712Domain = eip712_domain! {
        name: "Uniswap V2", version: "1", chain_id: 1, verifying_contract: pools.pool,
    };
    assert_eq!(pools.read(&sol::DOMAIN_SEPARATORCall {}), domain.hash_struct());
    let sign = |nonce: u64, deadline: u64| {
        let (nonce, deadline) = (U256::from(nonce), U256::from(deadline));
        let permit = Permit { owner, spender: CAROL, value, nonce, deadline };
        let signature = key.sign_hash(permit.eip712_signing_hash(&domain));
        let (v, r, s) = (27 + u8::from(signature.v()), signature.r().into(), signature.s().into());
        sol::permitCall { owner, spender: CAROL, value, deadline, v, r, s }
    };
    pools.fails(BOB, &sign(0, NOW - 1), "UniswapV2: EXPIRED");
    pools.fails(BOB, &sign(1, NOW), "UniswapV2: INVALID_SIGNATURE");
    pools.ok(BOB, &sign(0, NOW));
    let approved = sol::Approval { owner, spender: CAROL, value };
    assert_eq!(pools.chain.journal.logs()[0].data, approved.encode_log_data());
    assert_eq!(pools.read(&sol::allowanceCall { owner, spender: CAROL }), value);
    assert_eq!(pools.read(&sol::noncesCall { owner }), U256::ONE);
    pools.fails(BOB, &sign(0, NOW), "UniswapV2: INVALID_SIGNATURE");
    let nobody = sol::permitCall { owner: Address::ZERO, v: 29, ..sign(0, NOW) };
    pools.fails(BOB, &nobody, "UniswapV2: INVALID_SIGNATURE");
}
