//! The first supply: the beneficiaries' at once, or in wallets of their own.

use super::*;
use crate::{primitives::Timestamp, templates::vesting_wallet::interface as wallet};

const START: u64 = 1_000;
const DURATION: u64 = 400;

/// 300 of id 1 vest for BOB with a cliff, 200 for CAROL that the owner may revoke, 50 are CAROL's at once.
fn with_vesting() -> Erc1155Params {
    let vests = |beneficiary, amount| {
        VestingAllocation::new(beneficiary, U256::from(amount), Timestamp::from_secs(START), DURATION)
    };
    let bob = VestingAllocation { cliff_secs: 100, ..vests(BOB, 300) };
    let carol = VestingAllocation { revocable: true, ..vests(CAROL, 200) };
    let at_once = VestingAllocation::at_once(CAROL, U256::from(50));
    Erc1155Params { distribution: vec![bob, carol, at_once], ..params() }
}

impl Deployed {
    /// Calls a wallet at a time.
    fn call_wallet<C: SolCall>(&mut self, seconds: u64, wallet: Address, call: &C) -> FrameResult {
        self.journal.begin_transaction();
        let block = BlockContext { timestamp: Timestamp::from_secs(seconds), ..BlockContext::default() };
        let input = call.abi_encode();
        let message = Message::call(OWNER, wallet, U256::ZERO, &input, Gas::new(1_000_000));
        execute(&mut self.journal, &block, &self.registry, &message).unwrap()
    }
}

#[test]
fn wallets_hold_what_vests_and_release_it_by_their_terms() {
    let mut token = deploy(&with_vesting());
    let (this, [bobs, carols]) = (token.token, [1, 2].map(|nonce| token.token.create(nonce)));
    let created = |beneficiary, wallet, amount: u64| {
        let amount = U256::from(amount);
        sol::VestingWalletCreated { beneficiary, wallet, id: U256::ONE, amount }.encode_log_data()
    };
    let want = [created(BOB, bobs, 300), created(CAROL, carols, 200)];
    let topic = want[0].topics()[0];
    let logs = token.journal.logs().iter().filter(|log| log.topics()[0] == topic);
    assert_eq!(logs.map(|log| log.data.clone()).collect::<Vec<_>>(), want);
    assert_eq!([bobs, carols, BOB, CAROL].map(|account| token.balance(account, 1)), [300, 200, 0, 50]);
    assert_eq!(token.supply(1), 550);
    let release = wallet::release_2Call { token: this, id: U256::ONE };
    for (seconds, bob) in [(START + 99, 0), (START + 100, 75), (START + 200, 150)] {
        assert!(token.call_wallet(seconds, bobs, &release).is_success());
        assert_eq!(token.balance(BOB, 1), bob, "after {} s", seconds - START);
    }
    let revoke = wallet::revoke_2Call { token: this, id: U256::ONE };
    assert!(!token.call_wallet(START + 200, bobs, &revoke).is_success(), "not revocable");
    assert!(token.call_wallet(START + 200, carols, &revoke).is_success());
    assert_eq!([OWNER, carols].map(|account| token.balance(account, 1)), [100, 100]);
}

#[test]
fn parts_that_cannot_be_are_refused() {
    let late_cliff = VestingAllocation { cliff_secs: DURATION + 1, ..with_vesting().distribution[0].clone() };
    let nobodys = VestingAllocation { beneficiary: Address::ZERO, ..with_vesting().distribution[0].clone() };
    let nobodys_at_once = VestingAllocation::at_once(Address::ZERO, U256::ONE);
    let late = wallet::InvalidCliffDuration { cliffSeconds: DURATION + 1, durationSeconds: DURATION };
    let cases = [
        (late_cliff, late.abi_encode()),
        (nobodys, wallet::OwnableInvalidOwner { owner: Address::ZERO }.abi_encode()),
        (nobodys_at_once, sol::ERC1155InvalidReceiver { receiver: Address::ZERO }.abi_encode()),
    ];
    for (part, want) in cases {
        let mut journal = empty_journal();
        let params = Erc1155Params { distribution: vec![part], ..params() };
        let (_, result) = create(&mut journal, &params.init_code(), 0, 10_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{params:?}");
        assert!(journal.logs().is_empty());
    }
}
