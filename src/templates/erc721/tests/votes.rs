//! Votes: one a token, once they are delegated, by a call or by a signature.

use alloy_primitives::aliases::U48;
use alloy_sol_types::{SolStruct, eip712_domain};

use super::*;
use crate::primitives::KeyPair;

alloy_sol_types::sol! {
    /// The message that wallets sign; hashed by alloy, independently of the template.
    struct Delegation {
        address delegatee;
        uint256 nonce;
        uint256 expiry;
    }
}

const EXPIRY: u64 = 2_000;

fn signed(token: &Deployed, key: &KeyPair, nonce: u64) -> sol::delegateBySigCall {
    signed_for(token.token, key, nonce)
}

pub(super) fn signed_for(token: Address, key: &KeyPair, nonce: u64) -> sol::delegateBySigCall {
    let domain = eip712_domain! { name: "Art", version: "1", chain_id: 1, verifying_contract: token, };
    let (delegatee, nonce, expiry) = (CAROL, U256::from(nonce), U256::from(EXPIRY));
    let signature = key.sign_hash(Delegation { delegatee, nonce, expiry }.eip712_signing_hash(&domain));
    let (v, r, s) = (27 + u8::from(signature.v()), signature.r().into(), signature.s().into());
    sol::delegateBySigCall { delegatee, nonce, expiry, v, r, s }
}

#[test]
fn tokens_vote_once_they_are_delegated_and_move_with_their_owners() {
    let mut token = deploy_with_tokens(&params());
    let votes = |account| sol::getVotesCall { account };
    assert_eq!(token.read(&votes(BOB)), U256::ZERO);
    token.ok(BOB, &sol::delegateCall { delegatee: CAROL });
    let changed = sol::DelegateChanged { delegator: BOB, fromDelegate: Address::ZERO, toDelegate: CAROL };
    let moved = sol::DelegateVotesChanged { delegate: CAROL, previousVotes: U256::ZERO, newVotes: U256::from(2) };
    let events = [sol::Erc721NftEvents::DelegateChanged(changed), sol::Erc721NftEvents::DelegateVotesChanged(moved)];
    assert_eq!(token.events(), events);
    assert_eq!((token.read(&votes(CAROL)), token.read(&sol::delegatesCall { account: BOB })), (U256::from(2), CAROL));
    token.block.height = Height::new(11);
    token.ok(BOB, &transfer(BOB, OWNER, 2));
    token.ok(BOB, &sol::burnCall { tokenId: U256::from(3) });
    assert_eq!(token.read(&votes(CAROL)), U256::ZERO);
    token.block.height = Height::new(12);
    let past = |timepoint: u64| sol::getPastVotesCall { account: CAROL, timepoint: U256::from(timepoint) };
    let supply = |timepoint: u64| sol::getPastTotalSupplyCall { timepoint: U256::from(timepoint) };
    assert_eq!([9, 10, 11].map(|at| token.read(&past(at))), [0, 2, 0].map(U256::from));
    assert_eq!([9, 10, 11].map(|at| token.read(&supply(at))), [0, 3, 2].map(U256::from));
    let future = sol::ERC5805FutureLookup { timepoint: U256::from(12), clock: U48::from(12) };
    token.fails(BOB, &past(12), &future);
    token.fails(BOB, &supply(12), &future);
    assert_eq!(token.read(&sol::clockCall {}), U48::from(12));
    assert_eq!(token.read(&sol::CLOCK_MODECall {}), "mode=blocknumber&from=default");
}

#[test]
fn a_signature_delegates_once_and_until_it_expires() {
    let mut token = deploy_with_tokens(&params());
    let key = KeyPair::from_seed(1, "holder");
    token.ok(OWNER, &mint(key.address(), 9, ""));
    let delegation = signed(&token, &key, 0);
    token.ok(BOB, &delegation);
    assert_eq!(token.read(&sol::getVotesCall { account: CAROL }), U256::ONE);
    assert_eq!(token.read(&sol::noncesCall { owner: key.address() }), U256::ONE);
    let used = sol::InvalidAccountNonce { account: key.address(), currentNonce: U256::ONE };
    token.fails(BOB, &delegation, &used);
    token.fails(BOB, &sol::delegateBySigCall { v: 29, ..delegation }, &sol::ECDSAInvalidSignature {});
    let s = B256::repeat_byte(0xff);
    token.fails(BOB, &sol::delegateBySigCall { s, ..delegation }, &sol::ECDSAInvalidSignatureS { s });
    token.block.timestamp = Timestamp::from_secs(EXPIRY + 1);
    let late = signed(&token, &key, 1);
    token.fails(BOB, &late, &sol::VotesExpiredSignature { expiry: U256::from(EXPIRY) });
    let domain = token.read(&sol::eip712DomainCall {});
    assert_eq!((domain.fields.0, domain.name.as_str(), domain.version.as_str()), ([0x0f], "Art", "1"));
    assert_eq!((domain.chainId, domain.verifyingContract), (U256::ONE, token.token));
}

#[test]
fn a_token_without_votes_keeps_no_checkpoints() {
    let features = Erc721Features { votes: false, ..ALL };
    let mut token = deploy_with_tokens(&Erc721Params { features, ..params() });
    assert_eq!(token.slot(U256::from(20)), U256::ZERO);
    let mut with_votes = deploy_with_tokens(&params());
    assert_eq!(with_votes.slot(U256::from(20)), U256::ONE);
}
