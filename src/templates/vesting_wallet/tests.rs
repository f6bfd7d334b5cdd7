//! The wallet's rules, its revocation, what it costs, and all histories against a model.

mod golden;
mod model;
mod multi_token;
mod revocation;

use alloy_primitives::{address, keccak256};

use super::{interface as sol, *};
use crate::{
    templates::test_chain::{
        FUNDS, NOW, TestChain,
        test_token::{self as asset, TestToken},
    },
    vm::{Descriptor, FrameOutcome},
};

const BENEFICIARY: Address = address!("000000000000000000000000000000000000a001");
const REVOKER: Address = address!("000000000000000000000000000000000000b002");
const STRANGER: Address = address!("000000000000000000000000000000000000c003");

/// A wallet with 1,000 wei and 10,000 tokens.
#[derive(Clone)]
struct World {
    chain: TestChain,
    token: Address,
    wallet: Address,
}

/// From 100 s ago for 1,000 s, with a cliff after 250 s.
fn params() -> VestingWalletParams {
    let start = Timestamp::from_secs(NOW - 100);
    VestingWalletParams { cliff_secs: 250, ..VestingWalletParams::new(BENEFICIARY, start, 1_000) }
}

fn revocable() -> VestingWalletParams {
    VestingWalletParams { revoker: Some(REVOKER), ..params() }
}

fn deploy(params: &VestingWalletParams) -> World {
    let mut chain = TestChain::new(&[BENEFICIARY, REVOKER, STRANGER]);
    let token = chain.deploy(STRANGER, 0, &TestToken::init_code(18, 100_000));
    let wallet = chain.deploy(STRANGER, 1_000, &params.init_code());
    let mut world = World { chain, token, wallet };
    world.fund(10_000);
    world
}

impl World {
    /// Moves to so many seconds after the start.
    fn after_start(&mut self, seconds: u64) -> &mut Self {
        self.chain.at(NOW - 100 + seconds);
        self
    }

    fn fund(&mut self, tokens: u64) {
        let call = asset::transferCall { to: self.wallet, value: U256::from(tokens) };
        self.chain.ok(STRANGER, self.token, &call);
    }

    fn tokens(&self, account: Address) -> u64 {
        self.chain.read(self.token, &asset::balanceOfCall { account }).to()
    }

    fn ok<C: SolCall>(&mut self, from: Address, call: &C) {
        self.chain.ok(from, self.wallet, call);
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.wallet, call, error);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.wallet, call)
    }

    /// Returns what can be released of ether and of the token.
    fn releasable(&self) -> (u64, u64) {
        let tokens = self.read(&sol::releasable_1Call { token: self.token });
        (self.read(&sol::releasable_0Call {}).to(), tokens.to())
    }
}

#[test]
fn without_a_start_vesting_starts_with_the_deployment() {
    let world = deploy(&VestingWalletParams::new(BENEFICIARY, Timestamp::from_secs(0), 1_000));
    assert_eq!(world.chain.read(world.wallet, &sol::startCall {}), U256::from(NOW));
    assert_eq!(world.chain.read(world.wallet, &sol::endCall {}), U256::from(NOW + 1_000));
    assert_eq!(world.chain.read(world.wallet, &sol::releasable_0Call {}), U256::ZERO);
}

#[test]
fn immutables_are_at_the_documented_slots() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.vesting.immutables").0), IMMUTABLES);
}

#[test]
fn a_new_wallet_returns_its_parameters() {
    let world = deploy(&params());
    let start = U256::from(NOW - 100);
    assert_eq!(world.read(&sol::startCall {}), start);
    assert_eq!(world.read(&sol::durationCall {}), U256::from(1_000));
    assert_eq!(world.read(&sol::endCall {}), start + U256::from(1_000));
    assert_eq!(world.read(&sol::cliffCall {}), start + U256::from(250));
    assert_eq!(world.read(&sol::ownerCall {}), BENEFICIARY);
    assert!(!world.read(&sol::revocableCall {}));
}

#[test]
fn assets_vest_along_a_line_after_the_cliff() {
    let mut world = deploy(&params());
    for (seconds, want) in [(0, 0), (249, 0), (250, 250), (251, 251), (999, 999), (1_000, 1_000), (5_000, 1_000)] {
        assert_eq!(world.after_start(seconds).releasable(), (want, 10 * want), "after {seconds} s");
    }
    let at = |seconds: u64| sol::vestedAmount_0Call { timestamp: NOW - 100 + seconds };
    assert_eq!(world.read(&at(300)), U256::from(300));
    let tokens = sol::vestedAmount_1Call { token: world.token, timestamp: NOW - 100 + 300 };
    assert_eq!(world.read(&tokens), U256::from(3_000));
}

#[test]
fn anybody_releases_what_has_vested_to_the_owner() {
    let mut world = deploy(&params());
    world.after_start(400).ok(STRANGER, &sol::release_0Call {});
    let released = sol::EtherReleased { amount: U256::from(400) };
    assert_eq!(world.chain.journal.logs()[0].data, released.encode_log_data());
    assert_eq!(world.chain.wei(BENEFICIARY), FUNDS + 400);
    let token = world.token;
    world.ok(STRANGER, &sol::release_1Call { token });
    let released = sol::ERC20Released { token, amount: U256::from(4_000) };
    assert_eq!(world.chain.journal.logs()[0].data, released.encode_log_data());
    assert_eq!(world.tokens(BENEFICIARY), 4_000);
    assert_eq!(world.releasable(), (0, 0));
    assert_eq!(world.read(&sol::released_0Call {}), U256::from(400));
    assert_eq!(world.read(&sol::released_1Call { token }), U256::from(4_000));
    world.ok(BENEFICIARY, &sol::transferOwnershipCall { newOwner: REVOKER });
    world.after_start(1_000).ok(STRANGER, &sol::release_0Call {});
    assert_eq!(world.chain.wei(REVOKER), FUNDS + 600, "the new owner");
    // What comes later is as if it had been there from the start.
    world.fund(100);
    let releasable = world.after_start(500).read(&sol::releasable_1Call { token });
    assert_eq!(releasable, U256::from(1_050));
}

#[test]
fn ether_is_taken_without_call_data_only() {
    let mut world = deploy(&params());
    let (chain, wallet) = (&mut world.chain, world.wallet);
    assert!(chain.send(STRANGER, wallet, 5, &[], 100).is_success());
    assert_eq!(chain.wei(wallet), 1_005);
    for (value, input) in [(5, sol::release_0Call {}.abi_encode()), (5, vec![1]), (0, vec![1]), (0, vec![1, 2, 3, 4])] {
        let result = chain.send(STRANGER, wallet, value, &input, 1_000_000);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0), "{input:?}");
    }
}

#[test]
fn bad_parameters_are_refused() {
    let huge = VestingWalletParams { start: Timestamp::from_secs(u64::MAX), ..params() };
    let overflow = alloy_sol_types::Panic { code: U256::from(0x11) };
    let cases = [
        (
            VestingWalletParams { beneficiary: Address::ZERO, ..params() },
            sol::OwnableInvalidOwner { owner: Address::ZERO }.abi_encode(),
        ),
        (
            VestingWalletParams { cliff_secs: 1_001, ..params() },
            sol::InvalidCliffDuration { cliffSeconds: 1_001, durationSeconds: 1_000 }.abi_encode(),
        ),
        (huge, overflow.abi_encode()),
        (
            VestingWalletParams { revoker: Some(Address::ZERO), ..params() },
            sol::VestingInvalidRevoker { revoker: Address::ZERO }.abi_encode(),
        ),
    ];
    for (params, want) in cases {
        let (_, result) = TestChain::new(&[STRANGER]).create(STRANGER, 0, &params.init_code(), 1_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{params:?}");
    }
}

#[test]
fn a_token_that_is_none_is_refused() {
    let mut world = deploy(&params());
    for token in [STRANGER, world.wallet] {
        world.chain.is_absent(STRANGER, world.wallet, &sol::release_1Call { token });
    }
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = VestingWallet.storage_layout();
    let variables = layout.storage.iter().map(|entry| {
        let slot = entry.slot.parse::<U256>().unwrap();
        let slot = if slot < IMMUTABLES { slot.to_string() } else { format!("immutables + {}", slot - IMMUTABLES) };
        format!("{} {} {} {}", entry.label, slot, entry.offset, layout.types[&entry.ty].label)
    });
    let want = [
        "_owner 0 0 address",
        "_released 1 0 uint256",
        "_erc20Released 2 0 mapping(address => uint256)",
        "_revoked 3 0 bool",
        "_erc20Revoked 4 0 mapping(address => bool)",
        "_erc1155Released 5 0 mapping(address => mapping(uint256 => uint256))",
        "_erc1155Revoked 6 0 mapping(address => mapping(uint256 => bool))",
        "_terms immutables + 0 0 struct Terms",
        "_revoker immutables + 1 0 address",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
    let mut world = deploy(&revocable());
    let terms = world.chain.slot(world.wallet, IMMUTABLES);
    assert_eq!(terms.as_limbs(), &[NOW - 100, 1_000, NOW + 150, 1]);
    let revoker = world.chain.slot(world.wallet, IMMUTABLES + U256::ONE);
    assert_eq!(Address::from_word(revoker.into()), REVOKER);
}

#[test]
fn a_wallet_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&VestingWallet);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), REVOKER);
    let beneficiary = BENEFICIARY.to_string();
    let values = serde_json::json!({
        "beneficiary": beneficiary, "start": (NOW - 100).to_string(), "duration": "1000s", "cliff": "250", "revocable": true,
    });
    assert_eq!(encode(values).unwrap(), revocable().init_code(), "the deployer may revoke");
    let errors = encode(serde_json::json!({})).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["beneficiary", "duration"]);
}

#[test]
fn the_abi_is_complete() {
    let abi = VestingWallet.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (30, 7, 10));
    assert!(abi.receive.is_some() && abi.fallback.is_none());
    let constructor = abi.constructor.unwrap();
    assert_eq!(constructor.state_mutability, alloy_json_abi::StateMutability::Payable);
    let names: Vec<_> = constructor.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["beneficiary", "start", "duration", "cliff", "revocable", "revoker"]);
}
