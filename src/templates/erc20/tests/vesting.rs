//! Parts of the supply that vest in wallets of their own.

use super::*;
use crate::templates::vesting_wallet::interface as wallet;

const START: u64 = 1_000;
const DURATION: u64 = 400;

fn allocation(beneficiary: Address, amount: u64) -> VestingAllocation {
    VestingAllocation::new(beneficiary, U256::from(amount), Timestamp::from_secs(START), DURATION)
}

/// 300 for BOB with a cliff, 200 for CAROL that the owner may revoke.
pub(super) fn with_vesting() -> Erc20Params {
    let bob = VestingAllocation { cliff_secs: 100, ..allocation(BOB, 300) };
    let carol = VestingAllocation { revocable: true, ..allocation(CAROL, 200) };
    Erc20Params { vesting: vec![bob, carol], ..params() }
}

/// The wallet of the allocation at `index`.
fn wallet_of(token: Address, index: u64) -> Address {
    token.create(1 + index)
}

impl Deployed {
    /// Calls another contract than the token.
    fn call_at<C: SolCall>(&mut self, contract: Address, caller: Address, call: &C) -> FrameResult {
        let token = core::mem::replace(&mut self.token, contract);
        let result = self.call(caller, call);
        self.token = token;
        result
    }
}

#[test]
fn wallets_hold_what_vests_and_the_owner_the_rest() {
    let mut token = deploy(&with_vesting());
    let wallets = [wallet_of(token.token, 0), wallet_of(token.token, 1)];
    let created = |beneficiary, wallet, amount: u64| {
        let amount = U256::from(amount);
        sol::VestingWalletCreated { beneficiary, wallet, amount }.encode_log_data()
    };
    let minted = |to, value: u64| sol::Transfer { from: Address::ZERO, to, value: U256::from(value) }.encode_log_data();
    let logs = token.journal.logs().iter().filter(|log| log.address == token.token);
    let want = [
        created(BOB, wallets[0], 300),
        minted(wallets[0], 300),
        created(CAROL, wallets[1], 200),
        minted(wallets[1], 200),
        minted(OWNER, 500),
    ];
    assert_eq!(logs.map(|log| log.data.clone()).take(5).collect::<Vec<_>>(), want);
    let balances = [OWNER, wallets[0], wallets[1], BOB].map(|account| token.balance(account));
    assert_eq!(balances, [500, 300, 200, 0]);
    assert_eq!(token.read(&sol::totalSupplyCall {}), SUPPLY);
}

#[test]
fn each_part_vests_by_its_own_terms() {
    let mut token = deploy(&with_vesting());
    let (this, [bobs, carols]) = (token.token, [0, 1].map(|index| wallet_of(token.token, index)));
    let release = wallet::release_1Call { token: this };
    let mut released = |seconds, wallet| {
        token.block.timestamp = Timestamp::from_secs(seconds);
        assert!(token.call_at(wallet, OWNER, &release).is_success());
        [BOB, CAROL].map(|account| token.balance(account))
    };
    assert_eq!(released(START + 99, bobs), [0, 0], "before the cliff");
    assert_eq!(released(START + 100, bobs), [75, 0]);
    assert_eq!(released(START + 100, carols), [75, 50]);
    let revoke = wallet::revoke_1Call { token: this };
    let refused = token.call_at(bobs, OWNER, &revoke);
    assert_eq!((refused.outcome, refused.output.len()), (FrameOutcome::Revert, 0), "not revocable");
    assert!(token.call_at(carols, OWNER, &revoke).is_success());
    assert_eq!([OWNER, bobs, carols].map(|account| token.balance(account)), [650, 225, 0]);
}

#[test]
fn allocations_that_cannot_be_are_refused() {
    let too_much = Erc20Params { vesting: vec![allocation(BOB, 600), allocation(CAROL, 401)], ..params() };
    let endless = VestingAllocation { amount: U256::MAX, ..allocation(BOB, 0) };
    let endless = Erc20Params { vesting: vec![allocation(BOB, 1), endless], ..params() };
    let nobodys = Erc20Params { vesting: vec![allocation(Address::ZERO, 1)], ..params() };
    let late_cliff = VestingAllocation { cliff_secs: DURATION + 1, ..allocation(BOB, 1) };
    let late_cliff = Erc20Params { vesting: vec![allocation(CAROL, 1), late_cliff], ..params() };
    let revocable = VestingAllocation { revocable: true, ..allocation(BOB, 1_000) };
    let ownerless = Erc20Params { owner: Address::ZERO, vesting: vec![revocable], ..params() };
    let above_cap = Erc20Params { cap: Some(U256::from(9)), vesting: vec![allocation(BOB, 10)], ..params() };
    let exceeded = |allocated| sol::ERC20VestingExceededSupply { allocated, totalSupply: SUPPLY }.abi_encode();
    let late = wallet::InvalidCliffDuration { cliffSeconds: DURATION + 1, durationSeconds: DURATION };
    let (increased, cap) = (U256::from(10), U256::from(9));
    let cases = [
        (too_much, exceeded(U256::from(1_001))),
        (endless, exceeded(U256::MAX)),
        (nobodys, wallet::OwnableInvalidOwner { owner: Address::ZERO }.abi_encode()),
        (late_cliff, late.abi_encode()),
        (ownerless, wallet::VestingInvalidRevoker { revoker: Address::ZERO }.abi_encode()),
        (above_cap, sol::ERC20ExceededCap { increasedSupply: increased, cap }.abi_encode()),
    ];
    for (params, want) in cases {
        let mut journal = empty_journal();
        let (token, result) = create(&mut journal, &params.init_code(), 0, 10_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{params:?}");
        assert!(journal.logs().is_empty());
        assert_eq!([token, wallet_of(token, 0)].map(|account| journal.nonce(&account).unwrap()), [0, 0]);
    }
}

#[test]
fn all_of_the_supply_may_vest() {
    let mut token = deploy(&Erc20Params { vesting: vec![allocation(BOB, 1_000)], ..params() });
    let wallet = wallet_of(token.token, 0);
    assert_eq!([OWNER, wallet].map(|account| token.balance(account)), [0, 1_000]);
    let nobodys = Erc20Params { owner: Address::ZERO, vesting: vec![allocation(BOB, 1_000)], ..params() };
    let mut token = deploy(&nobodys);
    assert_eq!(token.balance(wallet_of(token.token, 0)), 1_000);
}

/// What each wallet adds to the token's construction, from the schedule.
#[test]
fn a_wallets_gas_is_the_sum_of_its_operations() {
    let gas = |params: &Erc20Params| {
        let (_, result) = create(&mut empty_journal(), &params.init_code(), 0, 10_000_000);
        10_000_000 - result.gas_left.get()
    };
    let plain = Erc20Params::new("Gold", "GLD", SUPPLY, OWNER);
    let one = Erc20Params { vesting: vec![allocation(BOB, 1)], ..plain.clone() };
    let two = Erc20Params { vesting: vec![allocation(BOB, 1), allocation(CAROL, 1)], ..plain.clone() };
    let (dispatch, hash, set, warm): (u64, u64, u64, u64) = (100, 30 + 2 * 6, 2_100 + 20_000, 100);
    let event = |topics: u64, words: u64| 375 * (1 + topics) + 8 * 32 * words;
    // Marker and six words of parameters are seven words of init code; six bytes of code are stored.
    let creation = 32_000 + 7 * 2 + 6 * 200;
    let construction = dispatch + set + event(3, 0) + set;
    let settings = warm;
    let mint = settings + (warm + warm) + (hash + set) + event(3, 1) + (warm + warm);
    let wallet = creation + construction + event(3, 1) + mint;
    assert_eq!((gas(&one) - gas(&plain), gas(&two) - gas(&one)), (wallet, wallet));
}

#[test]
fn allocations_are_given_by_name() {
    let values = serde_json::json!({
        "name": "Gold", "symbol": "GLD", "totalSupply": "1000", "cap": "5000",
        "features": ["mintable", "burnable", "pausable", "votes", "flashMint"],
        "vesting": [
            { "beneficiary": BOB, "amount": "300", "start": "1000", "duration": "400", "cliff": "100" },
            { "beneficiary": CAROL, "amount": "200", "start": "1000", "duration": 400, "revocable": true },
        ],
    });
    let descriptor = Descriptor::of(&Erc20);
    let encoded = descriptor.encode(values.as_object().unwrap(), OWNER).unwrap();
    assert_eq!(encoded, with_vesting().init_code());
    let mut wrong = values;
    wrong["vesting"][1] = serde_json::json!({ "beneficiary": CAROL, "amount": "200", "cliff": -1 });
    let errors = descriptor.encode(wrong.as_object().unwrap(), OWNER).unwrap_err();
    let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["vesting[1].duration", "vesting[1].cliff"]);
}

#[test]
fn what_does_not_wait_is_the_beneficiarys_at_once() {
    let at_once = VestingAllocation::new(CAROL, U256::from(150), Timestamp::from_secs(0), 0);
    let mut token = deploy(&Erc20Params { vesting: vec![at_once, allocation(BOB, 300)], ..params() });
    let wallet = wallet_of(token.token, 0);
    assert_eq!([OWNER, CAROL, BOB, wallet].map(|account| token.balance(account)), [550, 150, 0, 300]);
}
