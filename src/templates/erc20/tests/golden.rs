//! Gas of each call, refused ones too, and what a history of calls leaves in storage and logs. A changed number is a changed chain:
//! raise the template's version with it.

use super::{token::MINTER_ROLE, *};
use crate::primitives::KeyPair;
use crate::templates::test_chain::golden::{Place, assert_golden, short};

/// Returns where the owner's first contract is.
fn token_address() -> Address {
    OWNER.create(0)
}

/// Every function and its refusals: name, caller, input.
fn steps() -> Vec<(&'static str, Address, Vec<u8>)> {
    let (value, zero) = (|n: u64| U256::from(n), Address::ZERO);
    let pull = |from, value: u64| sol::transferFromCall { from, to: CAROL, value: U256::from(value) }.abi_encode();
    let approve = |value| sol::approveCall { spender: BOB, value }.abi_encode();
    let permit = |deadline: u64, s: U256| {
        let (owner, spender, value, deadline) = (OWNER, BOB, U256::ONE, U256::from(deadline));
        sol::permitCall { owner, spender, value, deadline, v: 27, r: B256::repeat_byte(7), s: s.into() }.abi_encode()
    };
    let delegation = |expiry: u64, s: U256| {
        let (delegatee, nonce, expiry) = (BOB, U256::from(7), U256::from(expiry));
        sol::delegateBySigCall { delegatee, nonce, expiry, v: 27, r: B256::repeat_byte(7), s: s.into() }.abi_encode()
    };
    let lend = |token, value: u64| {
        sol::flashLoanCall { receiver: CAROL, token, value: U256::from(value), data: Bytes::new() }.abi_encode()
    };
    let renounce =
        |account| sol::renounceRoleCall { role: DEFAULT_ADMIN_ROLE, callerConfirmation: account }.abi_encode();
    let (nobody, holder) = (Address::repeat_byte(0x99), KeyPair::from_seed(1, "holder"));
    let mut dirty = transfer(BOB, 1).abi_encode();
    dirty[4] = 1;
    vec![
        ("transfer", OWNER, transfer(BOB, 10).abi_encode()),
        ("transfer of too much", BOB, transfer(OWNER, 11).abi_encode()),
        ("transfer to nobody", BOB, transfer(zero, 1).abi_encode()),
        ("transfer of nobody", zero, transfer(BOB, 0).abi_encode()),
        ("transfer to oneself", BOB, transfer(BOB, 10).abi_encode()),
        ("approve", OWNER, approve(value(50))),
        ("approve of nobody", OWNER, sol::approveCall { spender: zero, value: value(1) }.abi_encode()),
        ("transferFrom", BOB, pull(OWNER, 20)),
        ("transferFrom above the allowance", BOB, pull(OWNER, 31)),
        ("approve without end", OWNER, approve(U256::MAX)),
        ("transferFrom without end", BOB, pull(OWNER, 30)),
        ("transferFrom above the balance", BOB, pull(OWNER, 2_000)),
        ("mint", OWNER, sol::mintCall { to: CAROL, amount: value(5) }.abi_encode()),
        ("mint by a stranger", BOB, sol::mintCall { to: BOB, amount: value(5) }.abi_encode()),
        ("mint to nobody", OWNER, sol::mintCall { to: zero, amount: value(5) }.abi_encode()),
        ("mint above the cap", OWNER, sol::mintCall { to: BOB, amount: value(5_000) }.abi_encode()),
        ("mint above all", OWNER, sol::mintCall { to: BOB, amount: U256::MAX }.abi_encode()),
        ("burn", CAROL, sol::burnCall { value: value(5) }.abi_encode()),
        ("burn of too much", CAROL, sol::burnCall { value: value(500) }.abi_encode()),
        ("burnFrom", BOB, sol::burnFromCall { account: OWNER, value: value(7) }.abi_encode()),
        ("burnFrom without allowance", BOB, sol::burnFromCall { account: CAROL, value: value(7) }.abi_encode()),
        ("pause by a stranger", BOB, sol::pauseCall {}.abi_encode()),
        ("unpause, not paused", OWNER, sol::unpauseCall {}.abi_encode()),
        ("pause", OWNER, sol::pauseCall {}.abi_encode()),
        ("pause, paused", OWNER, sol::pauseCall {}.abi_encode()),
        ("transfer while paused", OWNER, transfer(BOB, 1).abi_encode()),
        ("mint while paused", OWNER, sol::mintCall { to: BOB, amount: value(1) }.abi_encode()),
        ("burn while paused", OWNER, sol::burnCall { value: value(1) }.abi_encode()),
        ("paused", BOB, sol::pausedCall {}.abi_encode()),
        ("unpause", OWNER, sol::unpauseCall {}.abi_encode()),
        ("permit, expired", BOB, permit(999, U256::ONE)),
        ("permit, high s", BOB, permit(2_000, U256::MAX)),
        ("permit of another", BOB, permit(2_000, U256::ONE)),
        ("nonces", BOB, sol::noncesCall { owner: OWNER }.abi_encode()),
        ("DOMAIN_SEPARATOR", BOB, sol::DOMAIN_SEPARATORCall {}.abi_encode()),
        ("eip712Domain", BOB, sol::eip712DomainCall {}.abi_encode()),
        ("supportsInterface", BOB, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
        ("name", BOB, sol::nameCall {}.abi_encode()),
        ("symbol", BOB, sol::symbolCall {}.abi_encode()),
        ("decimals", BOB, sol::decimalsCall {}.abi_encode()),
        ("totalSupply", BOB, sol::totalSupplyCall {}.abi_encode()),
        ("balanceOf", BOB, sol::balanceOfCall { account: BOB }.abi_encode()),
        ("allowance", BOB, sol::allowanceCall { owner: OWNER, spender: BOB }.abi_encode()),
        ("cap", BOB, sol::capCall {}.abi_encode()),
        ("delegate", OWNER, sol::delegateCall { delegatee: BOB }.abi_encode()),
        ("delegate to another", OWNER, sol::delegateCall { delegatee: CAROL }.abi_encode()),
        ("delegate by one without tokens", nobody, sol::delegateCall { delegatee: BOB }.abi_encode()),
        ("delegateBySig, expired", BOB, delegation(999, U256::ONE)),
        ("delegateBySig, high s", BOB, delegation(2_000, U256::MAX)),
        ("delegateBySig, used nonce", BOB, delegation(2_000, U256::ONE)),
        ("transfer of votes", OWNER, transfer(BOB, 10).abi_encode()),
        ("mint of votes", OWNER, sol::mintCall { to: OWNER, amount: value(5) }.abi_encode()),
        ("burn of votes", OWNER, sol::burnCall { value: value(5) }.abi_encode()),
        ("clock", BOB, sol::clockCall {}.abi_encode()),
        ("CLOCK_MODE", BOB, sol::CLOCK_MODECall {}.abi_encode()),
        ("delegates", BOB, sol::delegatesCall { account: OWNER }.abi_encode()),
        ("getVotes", BOB, sol::getVotesCall { account: CAROL }.abi_encode()),
        ("getPastVotes", BOB, sol::getPastVotesCall { account: CAROL, timepoint: value(8) }.abi_encode()),
        ("getPastVotes of the future", BOB, sol::getPastVotesCall { account: CAROL, timepoint: value(9) }.abi_encode()),
        ("getPastTotalSupply", BOB, sol::getPastTotalSupplyCall { timepoint: value(8) }.abi_encode()),
        ("numCheckpoints", BOB, sol::numCheckpointsCall { account: CAROL }.abi_encode()),
        ("checkpoints", BOB, sol::checkpointsCall { account: CAROL, pos: 0 }.abi_encode()),
        ("checkpoints, none there", BOB, sol::checkpointsCall { account: CAROL, pos: 1 }.abi_encode()),
        ("maxFlashLoan", BOB, sol::maxFlashLoanCall { token: token_address() }.abi_encode()),
        ("maxFlashLoan of another token", BOB, sol::maxFlashLoanCall { token: BOB }.abi_encode()),
        ("flashFee", BOB, sol::flashFeeCall { token: token_address(), value: value(7) }.abi_encode()),
        ("flashFee of another token", BOB, sol::flashFeeCall { token: BOB, value: value(7) }.abi_encode()),
        ("flashLoan to an account without code", BOB, lend(token_address(), 7)),
        ("flashLoan of another token", BOB, lend(BOB, 7)),
        ("DEFAULT_ADMIN_ROLE", BOB, sol::DEFAULT_ADMIN_ROLECall {}.abi_encode()),
        ("MINTER_ROLE", BOB, sol::MINTER_ROLECall {}.abi_encode()),
        ("PAUSER_ROLE", BOB, sol::PAUSER_ROLECall {}.abi_encode()),
        ("hasRole", BOB, sol::hasRoleCall { role: MINTER_ROLE, account: OWNER }.abi_encode()),
        ("getRoleAdmin", BOB, sol::getRoleAdminCall { role: MINTER_ROLE }.abi_encode()),
        ("grantRole by a stranger", BOB, sol::grantRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        ("grantRole", OWNER, sol::grantRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        ("grantRole again", OWNER, sol::grantRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        ("revokeRole", OWNER, sol::revokeRoleCall { role: MINTER_ROLE, account: BOB }.abi_encode()),
        ("renounceRole of another", BOB, renounce(OWNER)),
        ("renounceRole", OWNER, renounce(OWNER)),
        ("a function that is not there", BOB, vec![1, 2, 3, 4]),
        ("half a selector", BOB, vec![1, 2]),
        ("half the arguments", OWNER, transfer(BOB, 1).abi_encode()[..40].to_vec()),
        ("a dirty address", OWNER, dirty),
        ("permit", BOB, permit::signed_for(token_address(), &holder, 0, 2_000).abi_encode()),
        ("delegateBySig", BOB, votes::signed_for(token_address(), &holder, 1, 2_000).abi_encode()),
    ]
}

/// Constructions, refused ones too.
fn constructions() -> Vec<(&'static str, Erc20Params)> {
    let long = "a text of more than thirty-one bytes, which solc stores apart".to_owned();
    vec![
        ("all functions", params()),
        ("no function", Erc20Params::new("Plain", "PLN", SUPPLY, OWNER)),
        ("a long symbol", Erc20Params { symbol: long.clone(), ..params() }),
        ("a long name", Erc20Params { name: long, ..params() }),
        ("no supply", Erc20Params { total_supply: U256::ZERO, ..params() }),
        ("no owner", Erc20Params { owner: Address::ZERO, ..params() }),
        ("no cap", Erc20Params { cap: Some(U256::ZERO), ..params() }),
        ("no owner, no supply", Erc20Params { owner: Address::ZERO, total_supply: U256::ZERO, ..params() }),
        ("no owner, no cap", Erc20Params { owner: Address::ZERO, cap: Some(U256::ZERO), ..params() }),
        ("above the cap", Erc20Params { cap: Some(U256::ONE), ..params() }),
        ("vesting", vesting::with_vesting()),
    ]
}

/// Returns a token's address, the result and the line of its construction.
fn construction(name: &str, journal: &mut Journal, params: &Erc20Params) -> (Address, FrameResult, String) {
    let (init_code, block) = (params.init_code(), BlockContext::default());
    let message = Message::create(OWNER, 0, U256::ZERO, &init_code, Gas::new(10_000_000));
    let place = Place { block: &block, registry: super::super::super::builtin() };
    let (result, line) = place.run(&format!("construction with {name}"), journal, &message);
    (message.to, result, line)
}

impl Deployed {
    fn line(&mut self, name: &str, caller: Address, value: u64, input: &[u8]) -> String {
        let message = Message::call(caller, self.token, U256::from(value), input, Gas::new(1_000_000));
        Place { block: &self.block, registry: &self.registry }.line(name, &mut self.journal, &message)
    }
}

/// Runs a history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history() -> String {
    let mut text = String::new();
    for (name, params) in constructions() {
        let mut journal = empty_journal();
        let (token, result, line) = construction(name, &mut journal, &params);
        text += &line;
        if !result.is_success() {
            continue;
        }
        let mut token = Deployed::at(token, journal);
        assert_eq!(token.token, token_address());
        token.block.height = Height::new(9);
        for (name, caller, input) in steps() {
            text += &token.line(name, caller, 0, &input);
        }
        text += &token.line("value", BOB, 1, &transfer(BOB, 0).abi_encode());
        flash_mint::add_borrower(&mut token);
        let loan = flash_mint::good_loan(&token).abi_encode();
        text += &token.line("flashLoan", BOB, 0, &loan);
        let changes = token.journal.take_changes();
        let slots = changes.accounts[&token.token].storage.iter();
        let words = slots.flat_map(|(slot, value)| [slot.to_be_bytes::<32>(), value.to_be_bytes::<32>()]);
        text.push_str(&format!("storage: {}\n", short(&words.flatten().collect::<Vec<_>>())));
    }
    text
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    assert_golden(&history(), include_str!("golden.txt"));
}
