//! Every refusal, with OpenZeppelin's error.

use super::*;

fn unauthorized(account: Address, role: B256) -> sol::AccessControlUnauthorizedAccount {
    sol::AccessControlUnauthorizedAccount { account, neededRole: role }
}

#[test]
fn construction_is_refused_for_bad_parameters() {
    let zero_owner = Erc20Params { owner: Address::ZERO, ..params() };
    let long = "thirty-two bytes are one too many".to_owned();
    let long_name = Erc20Params { name: long.clone(), cap: Some(U256::ZERO), ..params() };
    let zero_cap = Erc20Params { cap: Some(U256::ZERO), ..params() };
    let above_cap = Erc20Params { cap: Some(U256::from(999)), ..params() };
    let exceeded = sol::ERC20ExceededCap { increasedSupply: SUPPLY, cap: U256::from(999) };
    let cases = [
        (zero_owner.init_code(), sol::ERC20InvalidReceiver { receiver: Address::ZERO }.abi_encode()),
        (long_name.init_code(), sol::StringTooLong { str: long }.abi_encode()),
        (zero_cap.init_code(), sol::ERC20InvalidCap { cap: U256::ZERO }.abi_encode()),
        (above_cap.init_code(), exceeded.abi_encode()),
        (Marker(Erc20::ID).init_code(&[]), Vec::new()),
        (Marker(Erc20::ID).init_code(&params().encode()[..100]), Vec::new()),
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
    let mut token = deploy(&params());
    let zero = Address::ZERO;
    let needed = U256::from(1_001);
    token.fails(
        OWNER,
        &transfer(BOB, 1_001),
        &sol::ERC20InsufficientBalance { sender: OWNER, balance: SUPPLY, needed },
    );
    token.fails(OWNER, &transfer(zero, 1), &sol::ERC20InvalidReceiver { receiver: zero });
    token.fails(zero, &transfer(BOB, 0), &sol::ERC20InvalidSender { sender: zero });
    let pull = |from, value: u64| sol::transferFromCall { from, to: CAROL, value: U256::from(value) };
    let short = sol::ERC20InsufficientAllowance { spender: BOB, allowance: U256::ZERO, needed: U256::from(1) };
    token.fails(BOB, &pull(OWNER, 1), &short);
    token.fails(BOB, &pull(zero, 0), &sol::ERC20InvalidApprover { approver: zero });
    let approve = sol::approveCall { spender: zero, value: U256::from(1) };
    token.fails(BOB, &approve, &sol::ERC20InvalidSpender { spender: zero });
    token.fails(zero, &approve, &sol::ERC20InvalidApprover { approver: zero });
}

#[test]
fn minting_burning_and_pausing_are_refused() {
    let mut token = deploy(&params());
    let mint = |to, amount| sol::mintCall { to, amount };
    token.fails(BOB, &mint(BOB, U256::from(1)), &unauthorized(BOB, token::MINTER_ROLE));
    let invalid = sol::ERC20InvalidReceiver { receiver: Address::ZERO };
    token.fails(OWNER, &mint(Address::ZERO, U256::from(1)), &invalid);
    let (increased, cap) = (U256::from(5_001), U256::from(5_000));
    token.fails(OWNER, &mint(BOB, U256::from(4_001)), &sol::ERC20ExceededCap { increasedSupply: increased, cap });
    let overflow = alloy_sol_types::Panic { code: U256::from(0x11) };
    token.fails(OWNER, &mint(BOB, U256::MAX), &overflow);
    let burn = sol::burnCall { value: U256::from(1) };
    let poor = sol::ERC20InsufficientBalance { sender: BOB, balance: U256::ZERO, needed: U256::from(1) };
    token.fails(BOB, &burn, &poor);
    let burn_from = sol::burnFromCall { account: OWNER, value: U256::from(1) };
    let short = sol::ERC20InsufficientAllowance { spender: BOB, allowance: U256::ZERO, needed: U256::from(1) };
    token.fails(BOB, &burn_from, &short);
    token.fails(BOB, &sol::pauseCall {}, &unauthorized(BOB, token::PAUSER_ROLE));
    token.fails(BOB, &sol::unpauseCall {}, &unauthorized(BOB, token::PAUSER_ROLE));
}

/// As solc's decoder and dispatcher do it: a revert without data.
#[test]
fn malformed_calls_revert_without_data() {
    let mut token = deploy(&params());
    let good = transfer(BOB, 1).abi_encode();
    let mut dirty = good.clone();
    dirty[4] = 1;
    let cases = [
        ("no selector", Vec::new(), 0),
        ("half a selector", vec![0xa9, 0x05], 0),
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
