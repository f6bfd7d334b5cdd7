//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where the token is called, its gas is included: that of `test_chain`'s plain token, so that other templates may change theirs.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

fn history(params: &VestingWalletParams) -> String {
    let mut world = deploy(params);
    let (wallet, token) = (world.wallet, world.token);
    let (operator, from, id, data) = (STRANGER, STRANGER, U256::from(7), Bytes::new());
    let received = sol::onERC1155ReceivedCall { operator, from, id, value: id, data: data.clone() };
    let batch_received = sol::onERC1155BatchReceivedCall { operator, from, ids: vec![id], values: vec![id], data };
    let steps = [
        ("receive", 0, STRANGER, 5, Vec::new()),
        ("start", 0, STRANGER, 0, sol::startCall {}.abi_encode()),
        ("duration", 0, STRANGER, 0, sol::durationCall {}.abi_encode()),
        ("end", 0, STRANGER, 0, sol::endCall {}.abi_encode()),
        ("cliff", 0, STRANGER, 0, sol::cliffCall {}.abi_encode()),
        ("owner", 0, STRANGER, 0, sol::ownerCall {}.abi_encode()),
        ("revocable", 0, STRANGER, 0, sol::revocableCall {}.abi_encode()),
        ("revoker", 0, STRANGER, 0, sol::revokerCall {}.abi_encode()),
        ("release of nothing", 200, STRANGER, 0, sol::release_0Call {}.abi_encode()),
        ("release", 300, STRANGER, 0, sol::release_0Call {}.abi_encode()),
        ("release again", 400, STRANGER, 0, sol::release_0Call {}.abi_encode()),
        ("release of tokens", 300, STRANGER, 0, sol::release_1Call { token }.abi_encode()),
        ("release of tokens again", 400, STRANGER, 0, sol::release_1Call { token }.abi_encode()),
        ("release of no token", 400, STRANGER, 0, sol::release_1Call { token: STRANGER }.abi_encode()),
        ("released", 500, STRANGER, 0, sol::released_0Call {}.abi_encode()),
        ("released of tokens", 500, STRANGER, 0, sol::released_1Call { token }.abi_encode()),
        ("releasable", 500, STRANGER, 0, sol::releasable_0Call {}.abi_encode()),
        ("releasable of tokens", 500, STRANGER, 0, sol::releasable_1Call { token }.abi_encode()),
        ("vestedAmount", 500, STRANGER, 0, sol::vestedAmount_0Call { timestamp: NOW }.abi_encode()),
        ("vestedAmount of tokens", 500, STRANGER, 0, sol::vestedAmount_1Call { token, timestamp: NOW }.abi_encode()),
        (
            "transferOwnership by a stranger",
            500,
            STRANGER,
            0,
            sol::transferOwnershipCall { newOwner: STRANGER }.abi_encode(),
        ),
        ("revoke by a stranger", 500, STRANGER, 0, sol::revoke_0Call {}.abi_encode()),
        ("revoke", 500, REVOKER, 0, sol::revoke_0Call {}.abi_encode()),
        ("revoke again", 500, REVOKER, 0, sol::revoke_0Call {}.abi_encode()),
        ("revoke of tokens", 500, REVOKER, 0, sol::revoke_1Call { token }.abi_encode()),
        ("revoke of tokens again", 500, REVOKER, 0, sol::revoke_1Call { token }.abi_encode()),
        ("revoked", 500, STRANGER, 0, sol::revoked_0Call {}.abi_encode()),
        ("revoked of tokens", 500, STRANGER, 0, sol::revoked_1Call { token }.abi_encode()),
        ("release of all", 1_000, STRANGER, 0, sol::release_0Call {}.abi_encode()),
        ("transferOwnership", 1_000, BENEFICIARY, 0, sol::transferOwnershipCall { newOwner: STRANGER }.abi_encode()),
        ("renounceOwnership", 1_000, STRANGER, 0, sol::renounceOwnershipCall {}.abi_encode()),
        ("release of tokens to nobody", 1_000, STRANGER, 0, sol::release_1Call { token }.abi_encode()),
        ("value to a function", 1_000, STRANGER, 1, sol::release_0Call {}.abi_encode()),
        ("a function that is not there", 1_000, STRANGER, 0, vec![1, 2, 3, 4]),
        (
            "supportsInterface",
            1_000,
            STRANGER,
            0,
            sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode(),
        ),
        ("onERC1155Received", 1_000, STRANGER, 0, received.abi_encode()),
        ("onERC1155BatchReceived", 1_000, STRANGER, 0, batch_received.abi_encode()),
        ("released of an id", 1_000, STRANGER, 0, sol::released_2Call { token, id }.abi_encode()),
        ("revoked of an id", 1_000, STRANGER, 0, sol::revoked_2Call { token, id }.abi_encode()),
        ("release of an id of no token", 1_000, STRANGER, 0, sol::release_2Call { token: STRANGER, id }.abi_encode()),
    ];
    let lines = steps.map(|(name, seconds, from, value, input)| {
        world.after_start(seconds).chain.line(name, from, wallet, value, &input)
    });
    lines.concat()
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let kinds = [
        ("no cliff", VestingWalletParams { cliff_secs: 0, ..params() }),
        ("a cliff", params()),
        ("a revoker", revocable()),
        ("a cliff that is too late", VestingWalletParams { cliff_secs: 1_001, ..params() }),
    ];
    let mut got = String::new();
    for (name, params) in kinds {
        let (wallet, line) = TestChain::new(&[STRANGER]).creation_line(STRANGER, name, &params.init_code());
        got += &line;
        if wallet.is_some() {
            got += &history(&params);
        }
    }
    assert_golden(&got, include_str!("golden.txt"));
}
