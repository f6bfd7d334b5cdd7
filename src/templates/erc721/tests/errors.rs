//! Every refusal, with OpenZeppelin's error.

use super::*;

#[test]
fn construction_is_refused_for_bad_parameters() {
    let long = "a name of more than thirty-one b".to_owned();
    let (numerator, denominator) = (U256::from(10_001), U256::from(10_000));
    let nobody = Address::ZERO;
    let cases = [
        (
            Erc721Params { name: long.clone(), ..params() }.init_code(),
            sol::StringTooLong { str: long.clone() }.abi_encode(),
        ),
        (
            Erc721Params { royalty_fee: 10_001, ..params() }.init_code(),
            sol::ERC2981InvalidDefaultRoyalty { numerator, denominator }.abi_encode(),
        ),
        (
            Erc721Params { royalty_fee: 1, royalty_receiver: nobody, ..params() }.init_code(),
            sol::ERC2981InvalidDefaultRoyaltyReceiver { receiver: nobody }.abi_encode(),
        ),
        (Marker(Erc721::ID).init_code(&[]), Vec::new()),
        (Marker(Erc721::ID).init_code(&params().encode()[..100]), Vec::new()),
    ];
    for (init_code, want) in cases {
        let mut journal = empty_journal();
        let (token, result) = create(&mut journal, &init_code, 0, 10_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()));
        assert_eq!(journal.nonce(&token).unwrap(), 0);
    }
    let without_votes = Erc721Features { votes: false, ..ALL };
    let mut token = deploy(&Erc721Params { name: long.clone(), features: without_votes, ..params() });
    assert_eq!(token.read(&sol::nameCall {}), long, "without votes there is no domain");
    let (_, with_value) = create(&mut empty_journal(), &params().init_code(), 1, 10_000_000);
    assert_eq!((with_value.outcome, with_value.output.len()), (FrameOutcome::Revert, 0));
}

#[test]
fn transfers_and_approvals_are_refused() {
    let mut token = deploy_with_tokens(&params());
    let (nobody, one) = (Address::ZERO, U256::ONE);
    token.fails(OWNER, &transfer(OWNER, nobody, 1), &sol::ERC721InvalidReceiver { receiver: nobody });
    token.fails(OWNER, &transfer(OWNER, BOB, 9), &sol::ERC721NonexistentToken { tokenId: U256::from(9) });
    let stranger = sol::ERC721InsufficientApproval { operator: CAROL, tokenId: one };
    token.fails(CAROL, &transfer(OWNER, BOB, 1), &stranger);
    token.fails(CAROL, &sol::burnCall { tokenId: one }, &stranger);
    let other = sol::ERC721IncorrectOwner { sender: BOB, tokenId: one, owner: OWNER };
    token.fails(OWNER, &transfer(BOB, CAROL, 1), &other);
    let approve = sol::approveCall { to: CAROL, tokenId: one };
    token.fails(CAROL, &approve, &sol::ERC721InvalidApprover { approver: CAROL });
    token.ok(OWNER, &approve);
    // An approved account moves the token, but approves nobody.
    token.fails(CAROL, &approve, &sol::ERC721InvalidApprover { approver: CAROL });
    let missing = sol::approveCall { to: CAROL, tokenId: U256::from(9) };
    token.fails(OWNER, &missing, &sol::ERC721NonexistentToken { tokenId: U256::from(9) });
    let operate = |operator| sol::setApprovalForAllCall { operator, approved: true };
    token.fails(OWNER, &operate(nobody), &sol::ERC721InvalidOperator { operator: nobody });
    token.fails(nobody, &operate(BOB), &sol::ERC721InvalidApprover { approver: nobody });
}

#[test]
fn views_of_what_is_not_there_are_refused() {
    let mut token = deploy_with_tokens(&params());
    let (nobody, token_id) = (Address::ZERO, U256::from(9));
    let missing = sol::ERC721NonexistentToken { tokenId: token_id };
    token.fails(BOB, &sol::ownerOfCall { tokenId: token_id }, &missing);
    token.fails(BOB, &sol::getApprovedCall { tokenId: token_id }, &missing);
    token.fails(BOB, &sol::tokenURICall { tokenId: token_id }, &missing);
    token.fails(BOB, &sol::balanceOfCall { owner: nobody }, &sol::ERC721InvalidOwner { owner: nobody });
    for index in [U256::from(3), U256::MAX] {
        let beyond = sol::ERC721OutOfBoundsIndex { owner: nobody, index };
        token.fails(BOB, &sol::tokenByIndexCall { index }, &beyond);
        let beyond = sol::ERC721OutOfBoundsIndex { owner: BOB, index };
        token.fails(BOB, &sol::tokenOfOwnerByIndexCall { owner: BOB, index }, &beyond);
    }
}

#[test]
fn roles_are_needed() {
    let mut token = deploy_with_tokens(&params());
    let lacks = |role| sol::AccessControlUnauthorizedAccount { account: BOB, neededRole: role };
    token.fails(BOB, &mint(BOB, 9, ""), &lacks(MINTER_ROLE));
    token.fails(BOB, &sol::safeMint_0Call { to: BOB, tokenId: U256::from(9) }, &lacks(MINTER_ROLE));
    token.fails(BOB, &sol::pauseCall {}, &lacks(PAUSER_ROLE));
    token.fails(BOB, &sol::unpauseCall {}, &lacks(PAUSER_ROLE));
    let (receiver, fee) = (BOB, U96::from(1));
    token.fails(BOB, &sol::setDefaultRoyaltyCall { receiver, feeNumerator: fee }, &lacks(DEFAULT_ADMIN_ROLE));
    let royalty = sol::setTokenRoyaltyCall { tokenId: U256::ONE, receiver, feeNumerator: fee };
    token.fails(BOB, &royalty, &lacks(DEFAULT_ADMIN_ROLE));
    let grant = sol::grantRoleCall { role: MINTER_ROLE, account: BOB };
    token.fails(BOB, &grant, &lacks(DEFAULT_ADMIN_ROLE));
    token.ok(OWNER, &grant);
    token.ok(BOB, &mint(BOB, 9, ""));
    token.ok(OWNER, &sol::revokeRoleCall { role: MINTER_ROLE, account: BOB });
    token.fails(BOB, &mint(BOB, 10, ""), &lacks(MINTER_ROLE));
    let renounce = sol::renounceRoleCall { role: PAUSER_ROLE, callerConfirmation: BOB };
    token.fails(OWNER, &renounce, &sol::AccessControlBadConfirmation {});
}

#[test]
fn minting_and_royalties_are_refused() {
    let mut token = deploy_with_tokens(&params());
    let nobody = Address::ZERO;
    token.fails(OWNER, &mint(BOB, 1, ""), &sol::ERC721InvalidSender { sender: nobody });
    token.fails(OWNER, &mint(nobody, 9, ""), &sol::ERC721InvalidReceiver { receiver: nobody });
    let (numerator, denominator) = (U256::from(10_001), U256::from(10_000));
    let above = sol::setTokenRoyaltyCall { tokenId: U256::ONE, receiver: BOB, feeNumerator: U96::from(10_001) };
    token.fails(OWNER, &above, &sol::ERC2981InvalidTokenRoyalty { tokenId: U256::ONE, numerator, denominator });
    let to_nobody = sol::setDefaultRoyaltyCall { receiver: nobody, feeNumerator: U96::from(1) };
    token.fails(OWNER, &to_nobody, &sol::ERC2981InvalidDefaultRoyaltyReceiver { receiver: nobody });
}

/// As solc's decoder and dispatcher do it: a revert without data.
#[test]
fn malformed_calls_revert_without_data() {
    let mut token = deploy_with_tokens(&params());
    let good = transfer(OWNER, BOB, 1).abi_encode();
    let mut dirty = good.clone();
    dirty[4] = 1;
    let cases = [
        ("no selector", Vec::new(), 0),
        ("half a selector", vec![0x23, 0xb8], 0),
        ("unknown selector", vec![1, 2, 3, 4], 0),
        ("short", good[..good.len() - 1].to_vec(), 0),
        ("dirty address", dirty, 0),
        ("value to a function that is not payable", good.clone(), 1),
        ("value alone", Vec::new(), 1),
    ];
    for (name, input, value) in cases {
        let result = token.call_raw(OWNER, value, &input, 1_000_000);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0), "{name}");
    }
    let trailing = [good.as_slice(), &[0; 5]].concat();
    assert!(token.call_raw(OWNER, 0, &trailing, 1_000_000).is_success(), "solc ignores trailing bytes");
}

/// As solc's decoder does it: there is no memory for so long a text or data.
#[test]
fn an_endless_argument_is_a_panic() {
    let (from, to, token_id) = (OWNER, BOB, U256::ONE);
    let send = sol::safeTransferFrom_1Call { from, to, tokenId: token_id, data: Bytes::from_static(&[1]) };
    let panic = alloy_sol_types::Panic { code: U256::from(0x41) };
    for (length, mut input) in [(3, mint(BOB, 9, "a").abi_encode()), (4, send.abi_encode())] {
        let mut token = deploy_with_tokens(&params());
        input[4 + 32 * length..][..32].fill(0xff);
        let result = token.call_raw(OWNER, 0, &input, 1_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, panic.abi_encode().as_slice()));
    }
}
