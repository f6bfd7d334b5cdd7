//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! The gas of the token is included, that of `test_chain`'s token with votes, and that of the timelock which the governor creates.

use super::*;
use crate::primitives::KeyPair;

/// Steps: name, blocks and seconds to wait before, sender, wei, input.
type Step = (&'static str, u64, u64, Address, u64, Vec<u8>);

fn lists(proposal: &sol::proposeCall) -> sol::queue_0Call {
    let sol::proposeCall { targets, values, calldatas, description } = proposal.clone();
    sol::queue_0Call { targets, values, calldatas, descriptionHash: keccak256(description) }
}

#[rustfmt::skip] // one step a line
fn steps(world: &World) -> Vec<Step> {
    let governor = world.governor;
    let setters = [
        sol::setVotingDelayCall { newVotingDelay: U48::from(7) }.abi_encode(),
        sol::setVotingPeriodCall { newVotingPeriod: 8 }.abi_encode(),
        sol::setProposalThresholdCall { newProposalThreshold: U256::from(9) }.abi_encode(),
        sol::updateQuorumNumeratorCall { newQuorumNumerator: U256::from(10) }.abi_encode(),
        sol::relayCall { target: BOB, value: U256::ZERO, data: Bytes::new() }.abi_encode(),
        sol::updateTimelockCall { newTimelock: world.timelock }.abi_encode(),
    ];
    let calls: Vec<_> = setters.into_iter().map(|data| (governor, data)).chain([world.mint(5)]).collect();
    let long = "A description that does not fit into a word, nor into two of them, as most do not.";
    let (mint, change, idle) = (proposal(&[world.mint(1)], "Mint"), proposal(&calls, long), proposal(&[world.mint(2)], "Idle"));
    let sol::queue_0Call { targets, values, calldatas, descriptionHash: hash } = lists(&mint);
    let by_lists = sol::getProposalIdCall { targets, values, calldatas, descriptionHash: hash };
    let id_of = |proposal: &sol::proposeCall| {
        let sol::queue_0Call { targets, values, calldatas, descriptionHash } = lists(proposal);
        world.read(&sol::getProposalIdCall { targets, values, calldatas, descriptionHash })
    };
    let (id, changing, idling) = (id_of(&mint), id_of(&change), id_of(&idle));
    let execute = { let sol::queue_0Call { targets, values, calldatas, descriptionHash } = lists(&mint); sol::execute_0Call { targets, values, calldatas, descriptionHash } };
    let cancel = { let sol::queue_0Call { targets, values, calldatas, descriptionHash } = lists(&idle); sol::cancel_0Call { targets, values, calldatas, descriptionHash } };
    let hash_proposal = { let sol::queue_0Call { targets, values, calldatas, descriptionHash } = lists(&mint); sol::hashProposalCall { targets, values, calldatas, descriptionHash } };
    let (reason, params) = ("because".to_owned(), Bytes::from_static(&[1, 2, 3]));
    let signer = KeyPair::from_bytes(&B256::repeat_byte(7)).unwrap().address();
    let unsigned = sol::castVoteBySigCall { proposalId: id, support: FOR, voter: signer, signature: Bytes::new() };
    let extended = sol::castVoteWithReasonAndParamsBySigCall { proposalId: id, support: FOR, voter: signer, reason: reason.clone(), params: params.clone(), signature: vec![7; 65].into() };
    let (operator, from, one, data) = (STRANGER, STRANGER, U256::ONE, Bytes::from_static(&[7; 5]));
    let at = U256::from(12);
    vec![
        ("receive", 0, 0, STRANGER, 5, Vec::new()),
        ("name", 0, 0, STRANGER, 0, sol::nameCall {}.abi_encode()),
        ("version", 0, 0, STRANGER, 0, sol::versionCall {}.abi_encode()),
        ("COUNTING_MODE", 0, 0, STRANGER, 0, sol::COUNTING_MODECall {}.abi_encode()),
        ("BALLOT_TYPEHASH", 0, 0, STRANGER, 0, sol::BALLOT_TYPEHASHCall {}.abi_encode()),
        ("EXTENDED_BALLOT_TYPEHASH", 0, 0, STRANGER, 0, sol::EXTENDED_BALLOT_TYPEHASHCall {}.abi_encode()),
        ("token", 0, 0, STRANGER, 0, sol::tokenCall {}.abi_encode()),
        ("timelock", 0, 0, STRANGER, 0, sol::timelockCall {}.abi_encode()),
        ("clock", 0, 0, STRANGER, 0, sol::clockCall {}.abi_encode()),
        ("CLOCK_MODE", 0, 0, STRANGER, 0, sol::CLOCK_MODECall {}.abi_encode()),
        ("hashProposal", 0, 0, STRANGER, 0, hash_proposal.abi_encode()),
        ("getProposalId", 0, 0, STRANGER, 0, by_lists.abi_encode()),
        ("propose", 0, 0, FOUNDER, 0, mint.abi_encode()),
        ("propose again", 0, 0, FOUNDER, 0, mint.abi_encode()),
        ("propose of changes", 0, 0, ALICE, 0, change.abi_encode()),
        ("propose of what is cancelled", 0, 0, BOB, 0, idle.abi_encode()),
        ("propose without votes", 0, 0, STRANGER, 0, proposal(&[world.mint(3)], "Three").abi_encode()),
        ("propose of nothing", 0, 0, FOUNDER, 0, proposal(&[], "Nothing").abi_encode()),
        ("propose for another", 0, 0, FOUNDER, 0, proposal(&[world.mint(3)], &format!("#proposer={ALICE}")).abi_encode()),
        ("state of a pending one", 0, 0, STRANGER, 0, sol::stateCall { proposalId: id }.abi_encode()),
        ("castVote too soon", 0, 0, ALICE, 0, sol::castVoteCall { proposalId: id, support: FOR }.abi_encode()),
        ("cancel by a stranger", 0, 0, STRANGER, 0, sol::cancel_1Call { proposalId: idling }.abi_encode()),
        ("cancel", 0, 0, BOB, 0, cancel.abi_encode()),
        ("cancel again", 0, 0, BOB, 0, sol::cancel_1Call { proposalId: idling }.abi_encode()),
        ("castVote", DELAY + 1, 0, ALICE, 0, sol::castVoteCall { proposalId: id, support: FOR }.abi_encode()),
        ("castVote again", 0, 0, ALICE, 0, sol::castVoteCall { proposalId: id, support: FOR }.abi_encode()),
        ("castVote of no type", 0, 0, BOB, 0, sol::castVoteCall { proposalId: id, support: 3 }.abi_encode()),
        ("castVoteWithReason", 0, 0, BOB, 0, sol::castVoteWithReasonCall { proposalId: id, support: AGAINST, reason: reason.clone() }.abi_encode()),
        ("castVoteWithReasonAndParams", 0, 0, FOUNDER, 0, sol::castVoteWithReasonAndParamsCall { proposalId: id, support: ABSTAIN, reason, params: params.clone() }.abi_encode()),
        ("castVoteBySig without a signature", 0, 0, STRANGER, 0, unsigned.abi_encode()),
        ("castVoteWithReasonAndParamsBySig of nobody", 0, 0, STRANGER, 0, extended.abi_encode()),
        ("castVote for changes", 0, 0, FOUNDER, 0, sol::castVoteCall { proposalId: changing, support: FOR }.abi_encode()),
        ("state of an active one", 0, 0, STRANGER, 0, sol::stateCall { proposalId: id }.abi_encode()),
        ("queue too soon", 0, 0, STRANGER, 0, lists(&mint).abi_encode()),
        ("state of a successful one", PERIOD, 0, STRANGER, 0, sol::stateCall { proposalId: id }.abi_encode()),
        ("queue", 0, 0, STRANGER, 0, lists(&mint).abi_encode()),
        ("queue by id", 0, 0, STRANGER, 0, sol::queue_1Call { proposalId: changing }.abi_encode()),
        ("state of a queued one", 0, 0, STRANGER, 0, sol::stateCall { proposalId: id }.abi_encode()),
        ("execute too soon", 0, 0, STRANGER, 0, execute.abi_encode()),
        ("execute", 0, TIMELOCK_DELAY, STRANGER, 0, execute.abi_encode()),
        ("execute again", 0, 0, STRANGER, 0, execute.abi_encode()),
        ("execute by id, of changes", 0, 0, STRANGER, 0, sol::execute_1Call { proposalId: changing }.abi_encode()),
        ("state of an executed one", 0, 0, STRANGER, 0, sol::stateCall { proposalId: id }.abi_encode()),
        ("state of none", 0, 0, STRANGER, 0, sol::stateCall { proposalId: one }.abi_encode()),
        ("proposalSnapshot", 0, 0, STRANGER, 0, sol::proposalSnapshotCall { proposalId: id }.abi_encode()),
        ("proposalDeadline", 0, 0, STRANGER, 0, sol::proposalDeadlineCall { proposalId: id }.abi_encode()),
        ("proposalProposer", 0, 0, STRANGER, 0, sol::proposalProposerCall { proposalId: id }.abi_encode()),
        ("proposalEta", 0, 0, STRANGER, 0, sol::proposalEtaCall { proposalId: id }.abi_encode()),
        ("proposalNeedsQueuing", 0, 0, STRANGER, 0, sol::proposalNeedsQueuingCall { proposalId: id }.abi_encode()),
        ("proposalCount", 0, 0, STRANGER, 0, sol::proposalCountCall {}.abi_encode()),
        ("proposalDetails", 0, 0, STRANGER, 0, sol::proposalDetailsCall { proposalId: id }.abi_encode()),
        ("proposalDetailsAt", 0, 0, STRANGER, 0, sol::proposalDetailsAtCall { index: one }.abi_encode()),
        ("proposalVotes", 0, 0, STRANGER, 0, sol::proposalVotesCall { proposalId: id }.abi_encode()),
        ("hasVoted", 0, 0, STRANGER, 0, sol::hasVotedCall { proposalId: id, account: ALICE }.abi_encode()),
        ("votingDelay", 0, 0, STRANGER, 0, sol::votingDelayCall {}.abi_encode()),
        ("votingPeriod", 0, 0, STRANGER, 0, sol::votingPeriodCall {}.abi_encode()),
        ("proposalThreshold", 0, 0, STRANGER, 0, sol::proposalThresholdCall {}.abi_encode()),
        ("quorum", 0, 0, STRANGER, 0, sol::quorumCall { timepoint: at }.abi_encode()),
        ("quorumNumerator", 0, 0, STRANGER, 0, sol::quorumNumerator_0Call {}.abi_encode()),
        ("quorumNumerator at a time", 0, 0, STRANGER, 0, sol::quorumNumerator_1Call { timepoint: at }.abi_encode()),
        ("quorumDenominator", 0, 0, STRANGER, 0, sol::quorumDenominatorCall {}.abi_encode()),
        ("getVotes", 0, 0, STRANGER, 0, sol::getVotesCall { account: ALICE, timepoint: at }.abi_encode()),
        ("getVotesWithParams", 0, 0, STRANGER, 0, sol::getVotesWithParamsCall { account: ALICE, timepoint: at, params }.abi_encode()),
        ("setVotingDelay by a stranger", 0, 0, STRANGER, 0, sol::setVotingDelayCall { newVotingDelay: U48::ONE }.abi_encode()),
        ("setVotingDelay without a proposal", 0, 0, world.timelock, 0, sol::setVotingDelayCall { newVotingDelay: U48::ONE }.abi_encode()),
        ("nonces", 0, 0, STRANGER, 0, sol::noncesCall { owner: signer }.abi_encode()),
        ("eip712Domain", 0, 0, STRANGER, 0, sol::eip712DomainCall {}.abi_encode()),
        ("onERC721Received", 0, 0, STRANGER, 0, sol::onERC721ReceivedCall { operator, from, tokenId: one, data: data.clone() }.abi_encode()),
        ("onERC1155Received", 0, 0, STRANGER, 0, sol::onERC1155ReceivedCall { operator, from, id: one, value: one, data: data.clone() }.abi_encode()),
        ("onERC1155BatchReceived", 0, 0, STRANGER, 0, sol::onERC1155BatchReceivedCall { operator, from, ids: vec![one], values: vec![one], data }.abi_encode()),
        ("supportsInterface", 0, 0, STRANGER, 0, sol::supportsInterfaceCall { interfaceId: FixedBytes([7; 4]) }.abi_encode()),
        ("value to a function", 0, 0, STRANGER, 1, sol::castVoteCall { proposalId: id, support: FOR }.abi_encode()),
        ("a function that is not there", 0, 0, STRANGER, 0, vec![1, 2, 3, 4]),
    ]
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let (chain, token) = with_token();
    let good = params(token);
    let kinds = [
        ("its settings", good.clone()),
        ("a period of no time", GovernanceDaoParams { voting_period: 0, ..good.clone() }),
        ("too large a quorum", GovernanceDaoParams { quorum_percent: 101, ..good.clone() }),
        ("no token", GovernanceDaoParams { token: STRANGER, ..good }),
    ];
    let mut got = String::new();
    for (name, params) in kinds {
        got += &chain.clone().creation_line(STRANGER, name, &params.init_code()).1;
    }
    let mut world = deploy();
    for (name, blocks, seconds, from, value, input) in steps(&world) {
        world.chain.advance(blocks);
        world.wait(seconds);
        got += &world.chain.line(name, from, world.governor, value, &input);
    }
    let want = include_str!("golden.txt");
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}
