//! Contracts, their reverts, and the assertions about them.

use crate::{
    chain::{CallRequest, GenesisSpec},
    node::{
        BlockRef, ContractError, Mining, Node,
        testing::{expect_balance_changes, expect_balance_changes_with_fees, expect_event, expect_revert},
    },
    primitives::{Address, Bytes, Gas, Height, U256},
    templates::{Erc20Params, MULTICALL3_ADDRESS, erc20::interface as erc20, multicall::interface as multicall3},
};

#[test]
fn a_token_from_a_template() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code()).unwrap();
    let mined = token.send(erc20::transferCall { to: bob, value: U256::from(10) }).unwrap();
    let event: erc20::Transfer = expect_event(&mined);
    assert_eq!((event.from, event.to, event.value), (alice, bob, U256::from(10)));
    assert_eq!(token.call(erc20::balanceOfCall { account: bob }).unwrap(), U256::from(10));
    let refused: erc20::ERC20InsufficientBalance =
        expect_revert(token.from(bob).send(erc20::transferCall { to: alice, value: U256::from(11) }));
    assert_eq!(refused.needed, U256::from(11));
    assert_eq!(token.events::<erc20::Transfer>().unwrap().len(), 2, "the supply's and bob's");
    let before = BlockRef::Number(Height::new(1));
    assert_eq!(token.call_at(erc20::balanceOfCall { account: bob }, before).unwrap(), U256::ZERO);
}

#[test]
fn a_development_genesis_has_multicall_where_clients_look_for_it() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1_000), alice).init_code()).unwrap();
    let multicall = node.contract(MULTICALL3_ADDRESS, alice);
    let read = |account| multicall3::Call3 {
        target: token.address(),
        allowFailure: false,
        callData: alloy_sol_types::SolCall::abi_encode(&erc20::balanceOfCall { account }).into(),
    };
    let results = multicall.call(multicall3::aggregate3Call { calls: vec![read(alice), read(bob)] }).unwrap();
    let balances: Vec<_> = results.iter().map(|result| U256::from_be_slice(&result.returnData)).collect();
    assert_eq!(balances, [U256::from(1_000), U256::ZERO]);
    let parent = node.view().head().block().header().parent_hash;
    assert_eq!(multicall.call(multicall3::getLastBlockHashCall {}).unwrap(), parent, "as of the head's execution");
    let genesis = GenesisSpec { allow_interventions: true, ..GenesisSpec::new(5) };
    let bare = Node::builder().with_genesis(genesis).build().unwrap();
    assert!(bare.view().code(MULTICALL3_ADDRESS, BlockRef::Latest).unwrap().is_empty(), "a genesis has what it lists");
}

#[test]
fn a_reverting_transaction_is_mined_and_its_reason_recovered() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(1), alice).init_code()).unwrap();
    let call = erc20::transferCall { to: alice, value: U256::from(5) };
    let request = CallRequest {
        from: Some(bob),
        to: Some(token.address()),
        input: alloy_sol_types::SolCall::abi_encode(&call).into(),
        gas: Some(Gas::new(100_000)),
        ..Default::default()
    };
    let head = node.view().head().height();
    let error = node.send_and_mine(request).unwrap_err();
    assert!(error.decode::<erc20::ERC20InsufficientBalance>().is_some(), "{error}");
    let view = node.view();
    assert_eq!(view.head().height(), head.next());
    assert!(!view.head().receipts()[0].is_success());
}

#[test]
fn evm_bytecode_is_refused_clearly() {
    let node = Node::new();
    let alice = node.accounts()[0];
    let error = node.deploy(alice, Bytes::from_static(&[0x60, 0x80, 0x60, 0x40])).unwrap_err();
    assert!(error.to_string().contains("EVM"), "{error}");
    assert!(matches!(error, ContractError::Halted { .. }));
}

/// The message of the panic of `check`.
fn panic_text<T>(check: impl FnOnce() -> T) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).map(drop).unwrap_err();
    payload.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn balances_are_checked_exactly_and_fees_left_out() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let pay = || node.transfer(alice, bob, U256::from(5)).unwrap();
    let mined = expect_balance_changes(&node, &[(alice, -5), (bob, 5)], pay);
    let fee = mined.receipt().effective_gas_price * 21_000;
    let with_fee = -5 - i128::try_from(fee).unwrap();
    // The base fee falls, so that a second transfer costs another fee.
    let text = panic_text(|| expect_balance_changes_with_fees(&node, &[(alice, -5)], pay));
    assert!(text.contains("expected") && !text.contains("fees"), "{text}");
    let text = panic_text(|| expect_balance_changes(&node, &[(alice, with_fee)], pay));
    assert!(text.contains("of fees added again"), "{text}");
    let free = Node::builder().with_base_fee(None).build().unwrap();
    let pay = || free.transfer(alice, bob, U256::from(5)).unwrap();
    expect_balance_changes_with_fees(&free, &[(alice, -5), (bob, 5)], pay);
}

#[test]
fn failed_expectations_name_what_came() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code()).unwrap();
    let too_much = || token.send(erc20::transferCall { to: bob, value: U256::from(10) });
    let decoded = format!("ERC20InsufficientBalance({alice}, 9, 10)");
    assert_eq!(too_much().unwrap_err().to_string(), format!("execution reverted: {decoded}"));
    let text = panic_text(|| expect_revert::<erc20::EnforcedPause, _>(too_much()));
    assert!(text.contains(&decoded) && text.contains("EnforcedPause()"), "{text}");
    let mined = token.send(erc20::transferCall { to: bob, value: U256::from(2) }).unwrap();
    let text = panic_text(|| expect_event::<erc20::Approval>(&mined));
    let event = format!("Transfer(from: {alice}, to: {bob}, value: 2) of {}", token.address());
    assert!(text.contains(&event), "{text}");
    let plain = node.transfer(alice, bob, U256::from(1)).unwrap();
    let text = panic_text(|| expect_event::<erc20::Approval>(&plain));
    assert!(text.ends_with("its logs: none"), "{text}");
}

#[test]
fn a_wrong_address_is_an_error() {
    let node = Node::new();
    let alice = node.accounts()[0];
    let nowhere = node.contract(Address::repeat_byte(9), alice);
    let want = format!("no code at {}: nothing was deployed there", nowhere.address());
    assert_eq!(nowhere.call(erc20::totalSupplyCall {}).unwrap_err().to_string(), want);
    let height = node.view().head().height();
    let sent = nowhere.send(erc20::transferCall { to: alice, value: U256::from(1) });
    assert_eq!(sent.unwrap_err().to_string(), want);
    assert_eq!(node.view().head().height(), height, "nothing was sent");
}

#[test]
fn a_contract_whose_creation_waits_can_be_sent_to() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let alice = node.accounts()[0];
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code();
    let creation = CallRequest { from: Some(alice), input: init_code, ..Default::default() };
    let hash = node.send_request(creation).unwrap();
    let token = node.contract(alice.create(0), alice);
    let waits = token.send(erc20::transferCall { to: node.accounts()[1], value: U256::from(1) });
    assert!(matches!(waits, Err(ContractError::NotMined { .. })), "{waits:?}");
    node.mine(1).unwrap();
    assert_eq!(node.receipt(hash).unwrap().unwrap().receipt().contract_address, Some(token.address()));
    assert_eq!(token.events::<erc20::Transfer>().unwrap().len(), 2);
}

#[test]
fn wrong_selectors_and_parameters_are_named() {
    let node = Node::new();
    let alice = node.accounts()[0];
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code();
    let error = node.deploy(alice, init_code.slice(..init_code.len() - 32)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("parameters of the constructor of erc20-token do not decode as (string,"), "{text}");
    let token = node.deploy(alice, init_code).unwrap();
    let send = |input: &[u8]| {
        let request = CallRequest {
            from: Some(alice),
            to: Some(token.address()),
            input: Bytes::copy_from_slice(input),
            ..Default::default()
        };
        node.send_and_mine(request).unwrap_err().to_string()
    };
    assert_eq!(
        send(&[0xde, 0xad, 0xbe, 0xef]),
        "execution reverted without data: erc20-token has no function with selector 0xdeadbeef"
    );
    assert!(send(&[0xa9, 0x05, 0x9c, 0xbb]).contains("arguments of transfer(address,uint256) of erc20-token"));
    assert!(send(&[1]).contains("without a selector"));
}

#[test]
fn a_deployment_has_its_transaction() {
    let node = Node::new();
    let alice = node.accounts()[0];
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code()).unwrap();
    assert_eq!(token.mined().receipt().events::<erc20::Transfer>()[0].value, U256::from(9));
    let head = node.view().head().clone();
    assert_eq!(head.events::<erc20::Transfer>().len(), 1);
    assert_eq!((head.parent_hash(), head.timestamp()), (head.block().parent_hash(), head.block().timestamp()));
    assert_eq!(head.transactions()[0].hash(), token.mined().transaction().hash());
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(9), alice).init_code();
    let refused = node.deploy_with_value(alice, init_code, U256::from(1));
    assert!(refused.is_err(), "the token's constructor takes no value");
}
