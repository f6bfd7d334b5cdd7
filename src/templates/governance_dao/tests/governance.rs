//! What only proposals do, and what they cannot.

use super::*;

/// Returns a proposal of the governor's calls of itself.
fn of_itself(world: &World, calls: &[Vec<u8>]) -> sol::proposeCall {
    let calls: Vec<_> = calls.iter().map(|data| (world.governor, data.clone())).collect();
    proposal(&calls, "Change the governor")
}

#[test]
fn settings_change_by_proposals_alone() {
    let mut world = deploy();
    let calls = [
        sol::setVotingDelayCall { newVotingDelay: U48::from(7) }.abi_encode(),
        sol::setVotingPeriodCall { newVotingPeriod: 8 }.abi_encode(),
        sol::setProposalThresholdCall { newProposalThreshold: U256::from(9) }.abi_encode(),
        sol::updateQuorumNumeratorCall { newQuorumNumerator: U256::from(10) }.abi_encode(),
        sol::relayCall { target: BOB, value: U256::ZERO, data: Bytes::new() }.abi_encode(),
        sol::updateTimelockCall { newTimelock: STRANGER }.abi_encode(),
    ];
    let (governor, timelock) = (world.governor, world.timelock);
    for (caller, want) in [
        (FOUNDER, sol::GovernorOnlyExecutor { account: FOUNDER }.abi_encode()),
        // Whoever has the timelock call without a proposal: nothing is expected.
        (timelock, alloy_sol_types::Panic { code: U256::from(0x31) }.abi_encode()),
    ] {
        for call in &calls {
            let refused = world.chain.send(caller, governor, 0, call, 1_000_000);
            assert_eq!((refused.outcome, refused.output.as_ref()), (FrameOutcome::Revert, want.as_slice()));
        }
    }
    let before = world.read(&sol::clockCall {});
    let id = world.queued(&of_itself(&world, &calls));
    world.execute(id);
    assert_eq!(world.read(&sol::votingDelayCall {}), U256::from(7));
    assert_eq!(world.read(&sol::votingPeriodCall {}), U256::from(8));
    assert_eq!(world.read(&sol::proposalThresholdCall {}), U256::from(9));
    assert_eq!(world.read(&sol::timelockCall {}), STRANGER);
    let numerator = |timepoint| world.read(&sol::quorumNumerator_1Call { timepoint });
    assert_eq!((numerator(U256::from(before)), numerator(U256::MAX)), (U256::from(4), U256::from(10)));
    assert_eq!(world.read(&sol::quorumNumerator_0Call {}), U256::from(10));
    assert_eq!(world.read(&sol::proposalVotesCall { proposalId: id }).forVotes, U256::from(600));
}

#[test]
fn settings_have_bounds() {
    let mut world = deploy();
    let period = sol::setVotingPeriodCall { newVotingPeriod: 0 }.abi_encode();
    let quorum = sol::updateQuorumNumeratorCall { newQuorumNumerator: U256::from(101) }.abi_encode();
    let fraction =
        sol::GovernorInvalidQuorumFraction { quorumNumerator: U256::from(101), quorumDenominator: U256::from(100) };
    let period_error = sol::GovernorInvalidVotingPeriod { votingPeriod: U256::ZERO }.abi_encode();
    for (call, want) in [(period, period_error), (quorum, fraction.abi_encode())] {
        let id = world.queued(&of_itself(&world, &[call]));
        let refused = world.chain.call(STRANGER, world.governor, &sol::execute_1Call { proposalId: id }).err().unwrap();
        assert_eq!(refused, want);
    }
}

#[test]
fn the_governor_takes_no_deposits_while_it_has_a_timelock() {
    let mut world = deploy();
    let (governor, disabled) = (world.governor, sol::GovernorDisabledDeposit {}.abi_encode());
    let (operator, from, data, one) = (STRANGER, STRANGER, Bytes::new(), U256::ONE);
    let deposits = [
        (5, Vec::new()),
        (0, Vec::new()),
        (0, sol::onERC721ReceivedCall { operator, from, tokenId: one, data: data.clone() }.abi_encode()),
        (0, sol::onERC1155ReceivedCall { operator, from, id: one, value: one, data: data.clone() }.abi_encode()),
        (0, sol::onERC1155BatchReceivedCall { operator, from, ids: vec![one], values: vec![one], data }.abi_encode()),
    ];
    for (value, input) in &deposits {
        let refused = world.chain.send(STRANGER, governor, *value, input, 1_000_000);
        assert_eq!((refused.outcome, refused.output.as_ref()), (FrameOutcome::Revert, disabled.as_slice()));
    }
    // A governor that is its own timelock takes them.
    let call = sol::updateTimelockCall { newTimelock: governor }.abi_encode();
    let id = world.queued(&of_itself(&world, &[call]));
    world.execute(id);
    for (value, input) in &deposits {
        let taken = world.chain.send(STRANGER, governor, *value, input, 1_000_000);
        assert!(taken.is_success());
        assert_eq!(taken.output.get(..4), input.get(..4), "its own selector");
    }
    assert_eq!(world.chain.wei(governor), 5);
}

/// A call of the governor in a proposal executes the proposal again, or another one: neither happens.
#[test]
fn an_execution_does_not_come_back() {
    let mut world = deploy();
    let first = world.queued(&proposal(&[world.mint(5)], "Mint"));
    let again = sol::execute_1Call { proposalId: first }.abi_encode();
    // The first proposal is executed by the second one, twice.
    let second = world.queued(&of_itself(&world, &[again.clone(), again]));
    let executed = unexpected(first, sol::ProposalState::Executed, 32);
    world.fails(STRANGER, &sol::execute_1Call { proposalId: second }, &executed);
    assert_eq!(world.units(STRANGER), 0);
    world.execute(first);
    assert_eq!(world.units(STRANGER), 5);
    // The operation of the timelock executed itself: the proposal is over, and its calls of the governor were not expected.
    let third = world.queued(&of_itself(&world, &[sol::setVotingPeriodCall { newVotingPeriod: 8 }.abi_encode()]));
    let details = world.read(&sol::proposalDetailsCall { proposalId: third });
    let mut salt = details.descriptionHash;
    salt.iter_mut().zip(world.governor).for_each(|(byte, own)| *byte ^= own);
    let (targets, values, payloads) = (details.targets, details.values, details.calldatas);
    let direct = timelock::executeBatchCall { targets, values, payloads, predecessor: B256::ZERO, salt };
    let empty = alloy_sol_types::Panic { code: U256::from(0x31) };
    world.chain.fails(STRANGER, world.timelock, &direct, &empty);
    world.execute(third);
    assert_eq!(world.read(&sol::votingPeriodCall {}), U256::from(8));
}

#[test]
fn an_operation_executed_in_the_timelock_itself_is_a_proposal_executed() {
    let mut world = deploy();
    let id = world.queued(&proposal(&[world.mint(5)], "Mint"));
    let details = world.read(&sol::proposalDetailsCall { proposalId: id });
    let mut salt = details.descriptionHash;
    salt.iter_mut().zip(world.governor).for_each(|(byte, own)| *byte ^= own);
    let (targets, values, payloads) = (details.targets, details.values, details.calldatas);
    let direct = timelock::executeBatchCall { targets, values, payloads, predecessor: B256::ZERO, salt };
    world.chain.ok(STRANGER, world.timelock, &direct);
    assert_eq!((world.state(id), world.units(STRANGER)), (sol::ProposalState::Executed, 5));
    // Another one is cancelled there, by the governor's own call through a proposal.
    let other = world.succeeded(&proposal(&[world.mint(6)], "Mint more"));
    world.ok(STRANGER, &sol::queue_1Call { proposalId: other });
    let operation = B256::from(world.chain.slot(world.governor, crate::vm::mapping_slot(other, U256::from(14))));
    let cancel = timelock::cancelCall { id: operation }.abi_encode();
    let relay = sol::relayCall { target: world.timelock, value: U256::ZERO, data: cancel.into() }.abi_encode();
    let third = world.queued(&of_itself(&world, &[relay]));
    world.execute(third);
    assert_eq!(world.state(other), sol::ProposalState::Canceled);
}
