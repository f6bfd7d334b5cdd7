//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where the token is called, its gas is included: that of `test_chain`'s plain token, so that other templates may change theirs.

use super::*;

/// Steps: name, seconds to wait before, sender, wei, input.
type Step = (&'static str, u64, Address, u64, Vec<u8>);

fn steps(world: &World) -> Vec<Step> {
    let (token, timelock) = (world.token, world.timelock);
    let single = sol::executeCall { salt: B256::repeat_byte(1), ..operation(token, world.transfer(10)) };
    let id = world.id(&single);
    let several = batch(&[(token, 0, world.transfer(1)), (STRANGER, 5, Vec::new())]);
    let sol::executeBatchCall { targets, values, payloads, predecessor, salt } = several.clone();
    let next = sol::executeCall { predecessor: id, ..operation(token, world.transfer(2)) };
    let update = operation(timelock, sol::updateDelayCall { newDelay: U256::ZERO }.abi_encode());
    let unequal = sol::executeBatchCall { values: Vec::new(), ..several.clone() };
    let silent = operation(token, vec![1, 2, 3, 4]);
    let (role, account, data) = (PROPOSER_ROLE, STRANGER, Bytes::from_static(&[7; 5]));
    let (operator, from, one) = (STRANGER, STRANGER, U256::ONE);
    vec![
        ("receive", 0, STRANGER, 5, Vec::new()),
        ("PROPOSER_ROLE", 0, STRANGER, 0, sol::PROPOSER_ROLECall {}.abi_encode()),
        ("EXECUTOR_ROLE", 0, STRANGER, 0, sol::EXECUTOR_ROLECall {}.abi_encode()),
        ("CANCELLER_ROLE", 0, STRANGER, 0, sol::CANCELLER_ROLECall {}.abi_encode()),
        ("DEFAULT_ADMIN_ROLE", 0, STRANGER, 0, sol::DEFAULT_ADMIN_ROLECall {}.abi_encode()),
        ("getMinDelay", 0, STRANGER, 0, sol::getMinDelayCall {}.abi_encode()),
        (
            "hashOperationBatch",
            0,
            STRANGER,
            0,
            sol::hashOperationBatchCall { targets, values, payloads, predecessor, salt }.abi_encode(),
        ),
        ("schedule", 0, PROPOSER, 0, scheduled(&single, DELAY).abi_encode()),
        ("schedule again", 0, PROPOSER, 0, scheduled(&single, DELAY).abi_encode()),
        ("schedule too soon", 0, PROPOSER, 0, scheduled(&next, DELAY - 1).abi_encode()),
        ("schedule by a stranger", 0, STRANGER, 0, scheduled(&next, DELAY).abi_encode()),
        ("schedule of the next", 0, PROPOSER, 0, scheduled(&next, DELAY).abi_encode()),
        ("schedule of an update", 0, PROPOSER, 0, scheduled(&update, DELAY).abi_encode()),
        ("schedule of a call that fails", 0, PROPOSER, 0, scheduled(&silent, DELAY).abi_encode()),
        ("scheduleBatch", 0, PROPOSER, 0, scheduled_batch(&several, DELAY).abi_encode()),
        ("scheduleBatch of unequal lists", 0, PROPOSER, 0, scheduled_batch(&unequal, DELAY).abi_encode()),
        ("execute too soon", 0, EXECUTOR, 0, single.abi_encode()),
        ("execute before the predecessor", DELAY, EXECUTOR, 0, next.abi_encode()),
        ("execute by a stranger", 0, STRANGER, 0, single.abi_encode()),
        ("execute", 0, EXECUTOR, 0, single.abi_encode()),
        ("execute of the next", 0, EXECUTOR, 0, next.abi_encode()),
        ("execute of a call that fails", 0, EXECUTOR, 0, silent.abi_encode()),
        ("executeBatch", 0, EXECUTOR, 5, several.abi_encode()),
        ("executeBatch of unequal lists", 0, EXECUTOR, 0, unequal.abi_encode()),
        ("execute of an update", 0, EXECUTOR, 0, update.abi_encode()),
        ("updateDelay by a stranger", 0, STRANGER, 0, sol::updateDelayCall { newDelay: one }.abi_encode()),
        ("cancel", 0, PROPOSER, 0, sol::cancelCall { id: world.id(&silent) }.abi_encode()),
        ("cancel of what is done", 0, PROPOSER, 0, sol::cancelCall { id }.abi_encode()),
        ("cancel by a stranger", 0, STRANGER, 0, sol::cancelCall { id }.abi_encode()),
        ("isOperation", 0, STRANGER, 0, sol::isOperationCall { id }.abi_encode()),
        ("isOperationPending", 0, STRANGER, 0, sol::isOperationPendingCall { id }.abi_encode()),
        ("isOperationReady", 0, STRANGER, 0, sol::isOperationReadyCall { id }.abi_encode()),
        ("isOperationDone", 0, STRANGER, 0, sol::isOperationDoneCall { id }.abi_encode()),
        ("getTimestamp", 0, STRANGER, 0, sol::getTimestampCall { id }.abi_encode()),
        ("getOperationState", 0, STRANGER, 0, sol::getOperationStateCall { id }.abi_encode()),
        ("grantRole", 0, ADMIN, 0, sol::grantRoleCall { role, account }.abi_encode()),
        ("hasRole", 0, STRANGER, 0, sol::hasRoleCall { role, account }.abi_encode()),
        ("getRoleAdmin", 0, STRANGER, 0, sol::getRoleAdminCall { role }.abi_encode()),
        ("revokeRole", 0, ADMIN, 0, sol::revokeRoleCall { role, account: PROPOSER }.abi_encode()),
        ("renounceRole", 0, STRANGER, 0, sol::renounceRoleCall { role, callerConfirmation: account }.abi_encode()),
        (
            "onERC721Received",
            0,
            STRANGER,
            0,
            sol::onERC721ReceivedCall { operator, from, tokenId: one, data: data.clone() }.abi_encode(),
        ),
        (
            "onERC1155Received",
            0,
            STRANGER,
            0,
            sol::onERC1155ReceivedCall { operator, from, id: one, value: one, data: data.clone() }.abi_encode(),
        ),
        (
            "onERC1155BatchReceived",
            0,
            STRANGER,
            0,
            sol::onERC1155BatchReceivedCall { operator, from, ids: vec![one], values: vec![one], data }.abi_encode(),
        ),
        (
            "supportsInterface",
            0,
            STRANGER,
            0,
            sol::supportsInterfaceCall { interfaceId: FixedBytes([7; 4]) }.abi_encode(),
        ),
        ("value to a function", 0, STRANGER, 1, sol::getMinDelayCall {}.abi_encode()),
        ("a function that is not there", 0, STRANGER, 0, vec![1, 2, 3, 4]),
    ]
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let mut got = String::new();
    for (name, params) in
        [("an administrator", params()), ("open execution", TimelockControllerParams::new(DELAY, vec![PROPOSER]))]
    {
        got += &TestChain::new(&[STRANGER]).creation_line(STRANGER, name, &params.init_code()).1;
        let mut world = deploy(&params);
        for (name, seconds, from, value, input) in steps(&world) {
            world.wait(seconds);
            got += &world.chain.line(name, from, world.timelock, value, &input);
        }
    }
    let want = include_str!("golden.txt");
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}
