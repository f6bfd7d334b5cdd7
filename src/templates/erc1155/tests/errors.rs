//! Every refusal, with OpenZeppelin's error.

use super::*;

#[test]
fn construction_is_refused_for_bad_parameters() {
    let above = Erc1155Params { royalty_fee: 10_001, ..params() };
    let (numerator, denominator) = (U256::from(10_001), U256::from(10_000));
    let nobodys = Erc1155Params { royalty_receiver: Address::ZERO, ..params() };
    let cases = [
        (above.init_code(), sol::ERC2981InvalidDefaultRoyalty { numerator, denominator }.abi_encode()),
        (nobodys.init_code(), sol::ERC2981InvalidDefaultRoyaltyReceiver { receiver: Address::ZERO }.abi_encode()),
        (Marker(Erc1155::ID).init_code(&[]), Vec::new()),
        (Marker(Erc1155::ID).init_code(&params().encode()[..100]), Vec::new()),
    ];
    for (init_code, want) in cases {
        let mut journal = empty_journal();
        let (token, result) = create(&mut journal, &init_code, 0, 10_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()));
        assert_eq!(journal.nonce(&token).unwrap(), 0);
    }
    let (_, with_value) = create(&mut empty_journal(), &params().init_code(), 1, 10_000_000);
    assert_eq!((with_value.outcome, with_value.output.len()), (FrameOutcome::Revert, 0));
}

#[test]
fn transfers_are_refused() {
    let mut token = stocked();
    let zero = Address::ZERO;
    let short = |balance: u64, needed: u64| sol::ERC1155InsufficientBalance {
        sender: OWNER,
        balance: U256::from(balance),
        needed: U256::from(needed),
        tokenId: U256::from(2),
    };
    token.fails(OWNER, &transfer(OWNER, BOB, 2, 101), &short(100, 101));
    token.fails(OWNER, &transfer_batch(OWNER, BOB, &[(1, 5), (2, 101)]), &short(100, 101));
    assert_eq!(token.balance(BOB, 1), 0, "a batch moves whole or not at all");
    token.fails(OWNER, &transfer_batch(OWNER, BOB, &[(2, 60), (2, 60)]), &short(40, 60));
    token.fails(OWNER, &transfer(OWNER, zero, 1, 1), &sol::ERC1155InvalidReceiver { receiver: zero });
    token.fails(OWNER, &transfer_batch(OWNER, zero, &[]), &sol::ERC1155InvalidReceiver { receiver: zero });
    token.fails(zero, &transfer(zero, BOB, 1, 0), &sol::ERC1155InvalidSender { sender: zero });
    token.fails(zero, &transfer_batch(zero, BOB, &[]), &sol::ERC1155InvalidSender { sender: zero });
    let missing = sol::ERC1155MissingApprovalForAll { operator: BOB, owner: OWNER };
    token.fails(BOB, &transfer(OWNER, BOB, 1, 1), &missing);
    token.fails(BOB, &transfer_batch(OWNER, zero, &[]), &missing);
}

#[test]
fn lists_have_equal_lengths() {
    let mut token = stocked();
    let (ids, values) = (vec![U256::from(1); 2], vec![U256::ONE]);
    let error = sol::ERC1155InvalidArrayLength { idsLength: U256::from(2), valuesLength: U256::ONE };
    let (both, data) = ((ids.clone(), values.clone()), Bytes::new());
    let send = sol::safeBatchTransferFromCall { from: OWNER, to: BOB, ids: both.0, values: both.1, data: data.clone() };
    token.fails(OWNER, &send, &error);
    token.fails(OWNER, &sol::mintBatchCall { to: BOB, ids: ids.clone(), amounts: values.clone(), data }, &error);
    token.fails(OWNER, &sol::burnBatchCall { account: OWNER, ids: ids.clone(), values }, &error);
    token.fails(OWNER, &sol::balanceOfBatchCall { accounts: vec![OWNER], ids }, &error);
}

#[test]
fn minting_burning_and_approving_are_refused() {
    let mut token = stocked();
    let zero = Address::ZERO;
    token.fails(OWNER, &mint(zero, 1, 1), &sol::ERC1155InvalidReceiver { receiver: zero });
    token.fails(OWNER, &mint_batch(zero, &[]), &sol::ERC1155InvalidReceiver { receiver: zero });
    let overflow = alloy_sol_types::Panic { code: U256::from(0x11) };
    let endless = |account, id| sol::mintCall { amount: U256::MAX, ..mint(account, id, 0) };
    token.fails(OWNER, &endless(OWNER, 1), &overflow);
    token.fails(OWNER, &endless(BOB, 1), &overflow);
    token.fails(OWNER, &endless(BOB, 9), &overflow);
    token.fails(zero, &burn(zero, 1, 0), &sol::ERC1155InvalidSender { sender: zero });
    token.fails(zero, &burn_batch(zero, &[]), &sol::ERC1155InvalidSender { sender: zero });
    let (balance, needed) = (U256::ZERO, U256::ONE);
    let short = sol::ERC1155InsufficientBalance { sender: BOB, balance, needed, tokenId: U256::from(3) };
    token.fails(BOB, &burn(BOB, 3, 1), &short);
    token.fails(BOB, &burn(OWNER, 3, 1), &sol::ERC1155MissingApprovalForAll { operator: BOB, owner: OWNER });
    let approve = |operator| sol::setApprovalForAllCall { operator, approved: true };
    token.fails(zero, &approve(zero), &sol::ERC1155InvalidApprover { approver: zero });
    token.fails(OWNER, &approve(zero), &sol::ERC1155InvalidOperator { operator: zero });
    token.fails(OWNER, &sol::unpauseCall {}, &sol::ExpectedPause {});
    let role = token::MINTER_ROLE;
    let renounce = sol::renounceRoleCall { role, callerConfirmation: BOB };
    token.fails(OWNER, &renounce, &sol::AccessControlBadConfirmation {});
}

#[test]
fn royalties_are_refused() {
    let mut token = deploy(&params());
    let (id, receiver, fee) = (U256::from(4), Address::ZERO, U96::from(10_001));
    let (numerator, denominator) = (U256::from(10_001), U256::from(10_000));
    let all = |receiver, fee| sol::setDefaultRoyaltyCall { receiver, feeNumerator: fee };
    let one = |receiver, fee| sol::setTokenRoyaltyCall { tokenId: id, receiver, feeNumerator: fee };
    token.fails(OWNER, &all(BOB, fee), &sol::ERC2981InvalidDefaultRoyalty { numerator, denominator });
    token.fails(OWNER, &all(receiver, U96::ZERO), &sol::ERC2981InvalidDefaultRoyaltyReceiver { receiver });
    token.fails(OWNER, &one(BOB, fee), &sol::ERC2981InvalidTokenRoyalty { tokenId: id, numerator, denominator });
    let nobody = sol::ERC2981InvalidTokenRoyaltyReceiver { tokenId: id, receiver };
    token.fails(OWNER, &one(receiver, U96::ZERO), &nobody);
}

/// As solc's decoder and dispatcher do it: a revert without data.
#[test]
fn malformed_calls_revert_without_data() {
    let mut token = stocked();
    let good = transfer_batch(OWNER, BOB, &[(1, 1), (2, 1)]).abi_encode();
    let mut dirty = good.clone();
    dirty[4] = 1;
    let mut far = good.clone();
    far[4 + 2 * 32 + 30] = 0xff;
    let cases = [
        ("no selector", Vec::new(), 0),
        ("unknown selector", vec![1, 2, 3, 4], 0),
        ("short", good[..good.len() - 1].to_vec(), 0),
        ("dirty address", dirty, 0),
        ("a list beyond the end", far, 0),
        ("value to a function that is not payable", good.clone(), 1),
    ];
    for (name, input, value) in cases {
        let result = token.call_raw(OWNER, value, &input, 1_000_000);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0), "{name}");
    }
    let trailing = [good.as_slice(), &[0; 5]].concat();
    assert!(token.call_raw(OWNER, 0, &trailing, 1_000_000).is_success(), "solc ignores trailing bytes");
}

/// As solc's decoder does it: there is no memory for a list of so many elements.
#[test]
fn an_endless_list_is_a_panic() {
    let mut token = stocked();
    let mut input = burn_batch(OWNER, &[(1, 1)]).abi_encode();
    input[4 + 3 * 32..][..32].fill(0xff);
    let result = token.call_raw(OWNER, 0, &input, 1_000_000);
    let panic = alloy_sol_types::Panic { code: U256::from(0x41) };
    assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, panic.abi_encode().as_slice()));
}
