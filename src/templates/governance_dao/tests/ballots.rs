//! Votes with reasons, parameters and signatures.

use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain};

use super::*;
use crate::primitives::KeyPair;

alloy_sol_types::sol! {
    struct Ballot {
        uint256 proposalId;
        uint8 support;
        address voter;
        uint256 nonce;
    }

    struct ExtendedBallot {
        uint256 proposalId;
        uint8 support;
        address voter;
        uint256 nonce;
        string reason;
        bytes params;
    }
}

fn key() -> KeyPair {
    KeyPair::from_bytes(&B256::repeat_byte(7)).unwrap()
}

fn domain(world: &World) -> Eip712Domain {
    eip712_domain! { name: "Council", version: "1", chain_id: 1, verifying_contract: world.governor, }
}

/// A vote under way, in which the holder of the key has fifty units.
fn voting() -> (World, U256) {
    let mut world = deploy();
    world.chain.ok(FOUNDER, world.token, &votes::transferCall { to: key().address(), value: U256::from(50) });
    world.chain.ok(key().address(), world.token, &votes::delegateCall { delegatee: key().address() });
    let id = world.active(&proposal(&[world.mint(1)], "Mint"));
    (world, id)
}

fn sign(world: &World, message: &impl SolStruct) -> Bytes {
    key().sign_hash(message.eip712_signing_hash(&domain(world))).as_bytes().into()
}

#[test]
fn a_vote_has_a_reason_and_parameters() {
    let (mut world, id) = voting();
    let (reason, params) = ("because".to_owned(), Bytes::from_static(&[1, 2, 3]));
    world.ok(ALICE, &sol::castVoteWithReasonCall { proposalId: id, support: ABSTAIN, reason: reason.clone() });
    let cast = sol::VoteCast {
        voter: ALICE,
        proposalId: id,
        support: ABSTAIN,
        weight: U256::from(300),
        reason: reason.clone(),
    };
    assert_eq!(world.chain.journal.logs()[0].data, cast.encode_log_data());
    let (support, weight) = (FOR, U256::from(100));
    let call = sol::castVoteWithReasonAndParamsCall {
        proposalId: id,
        support,
        reason: reason.clone(),
        params: params.clone(),
    };
    assert_eq!(world.ok(BOB, &call), weight);
    let cast = sol::VoteCastWithParams { voter: BOB, proposalId: id, support, weight, reason, params };
    assert_eq!(world.chain.journal.logs()[0].data, cast.encode_log_data());
    world.fails(FOUNDER, &sol::castVoteCall { proposalId: id, support: 3 }, &sol::GovernorInvalidVoteType {});
    let counted = world.read(&sol::proposalVotesCall { proposalId: id });
    let want = [0, 100, 300].map(U256::from);
    assert_eq!([counted.againstVotes, counted.forVotes, counted.abstainVotes], want);
    assert!(world.read(&sol::hasVotedCall { proposalId: id, account: BOB }));
    assert!(!world.read(&sol::hasVotedCall { proposalId: id, account: FOUNDER }));
}

/// Solidity takes any bytes as a string, and repeats them.
#[test]
fn a_reason_and_a_description_may_be_no_utf_8() {
    let (mut world, id) = voting();
    let mut input = sol::castVoteWithReasonCall { proposalId: id, support: FOR, reason: "abc".to_owned() }.abi_encode();
    let at = input.len() - 32;
    input[at] = 0xff;
    assert!(world.chain.send(ALICE, world.governor, 0, &input, 1_000_000).is_success());
    let data = &world.chain.journal.logs()[0].data.data;
    assert_eq!(data[data.len() - 32..][..3], [0xff, b'b', b'c']);
    let mut input = proposal(&[world.mint(1)], "abc").abi_encode();
    let at = input.len() - 32;
    input[at] = 0xff;
    let made = world.chain.send(ALICE, world.governor, 0, &input, 10_000_000);
    assert!(made.is_success());
    let data = world.chain.journal.logs()[0].data.data.clone();
    assert_eq!(data[data.len() - 32..][..3], [0xff, b'b', b'c']);
    let id = U256::from_be_slice(&made.output);
    assert_eq!(world.read(&sol::proposalDetailsCall { proposalId: id }).descriptionHash, keccak256([0xff, b'b', b'c']));
}

#[test]
fn a_signature_votes_once() {
    let (mut world, id) = voting();
    let (voter, support, nonce) = (key().address(), FOR, U256::ZERO);
    let signature = sign(&world, &Ballot { proposalId: id, support, voter, nonce });
    let by_sig =
        |support, voter| sol::castVoteBySigCall { proposalId: id, support, voter, signature: signature.clone() };
    world.fails(BOB, &by_sig(AGAINST, voter), &sol::GovernorInvalidSignature { voter });
    world.fails(BOB, &by_sig(FOR, ALICE), &sol::GovernorInvalidSignature { voter: ALICE });
    assert_eq!(world.read(&sol::noncesCall { owner: voter }), U256::ZERO);
    assert_eq!(world.ok(BOB, &by_sig(FOR, voter)), U256::from(50));
    assert_eq!(world.read(&sol::noncesCall { owner: voter }), U256::ONE);
    world.fails(BOB, &by_sig(FOR, voter), &sol::GovernorInvalidSignature { voter });
    let fields = world.read(&sol::eip712DomainCall {});
    assert_eq!(
        (fields.name.as_str(), fields.version.as_str(), fields.verifyingContract),
        ("Council", "1", world.governor)
    );
}

#[test]
fn a_signature_covers_reason_and_parameters() {
    let (mut world, id) = voting();
    let (voter, support, nonce) = (key().address(), FOR, U256::ZERO);
    let (reason, params) = ("because".to_owned(), Bytes::from_static(&[1, 2, 3]));
    let ballot =
        ExtendedBallot { proposalId: id, support, voter, nonce, reason: reason.clone(), params: params.clone() };
    let signature = sign(&world, &ballot);
    let call = sol::castVoteWithReasonAndParamsBySigCall { proposalId: id, support, voter, reason, params, signature };
    let other = sol::castVoteWithReasonAndParamsBySigCall { reason: "Because".to_owned(), ..call.clone() };
    world.fails(BOB, &other, &sol::GovernorInvalidSignature { voter });
    let other = sol::castVoteWithReasonAndParamsBySigCall { params: Bytes::new(), ..call.clone() };
    world.fails(BOB, &other, &sol::GovernorInvalidSignature { voter });
    assert_eq!(world.ok(BOB, &call), U256::from(50));
}
