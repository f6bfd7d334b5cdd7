//! The vault's rules, its fees, what it costs, and the properties of ERC-4626.

mod golden;
mod properties;

use alloy_primitives::{address, keccak256};

use super::{interface as sol, *};
use crate::{
    templates::{
        common::erc20_base,
        test_chain::{
            TestChain,
            test_token::{self as asset, TestToken},
        },
    },
    vm::{Descriptor, FrameOutcome},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");
const CAROL: Address = address!("000000000000000000000000000000000000c003");
const RECIPIENT: Address = address!("000000000000000000000000000000000000d004");

/// Assets that each user has at first, all of which the vault may take.
const ASSETS: u64 = 1_000_000;

#[derive(Clone)]
struct World {
    chain: TestChain,
    asset: Address,
    vault: Address,
}

/// Parameters of a vault; the asset is where [`deploy`] puts it.
fn params() -> Erc4626Params {
    let asset = OWNER.create(0);
    Erc4626Params { fee_recipient: RECIPIENT, ..Erc4626Params::new("Gold shares", "sGLD", asset, OWNER) }
}

fn with_fees() -> Erc4626Params {
    Erc4626Params { decimals_offset: 3, entry_fee: 100, exit_fee: 200, ..params() }
}

fn deploy(params: &Erc4626Params) -> World {
    let mut chain = TestChain::new(&[OWNER, BOB, CAROL]);
    let token = chain.deploy(OWNER, 0, &TestToken::init_code(6, 3 * ASSETS));
    let vault = chain.deploy(OWNER, 0, &params.init_code());
    for user in [BOB, CAROL] {
        chain.ok(OWNER, token, &asset::transferCall { to: user, value: U256::from(ASSETS) });
    }
    for user in [OWNER, BOB, CAROL] {
        chain.ok(user, token, &asset::approveCall { spender: vault, value: U256::MAX });
    }
    World { chain, asset: token, vault }
}

impl World {
    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.vault, call)
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.vault, call, error);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.vault, call)
    }

    fn assets(&self, account: Address) -> u64 {
        self.chain.read(self.asset, &asset::balanceOfCall { account }).to()
    }

    fn shares(&self, account: Address) -> u64 {
        self.read(&sol::balanceOfCall { account }).to()
    }

    fn donate(&mut self, from: Address, value: u64) {
        let call = asset::transferCall { to: self.vault, value: U256::from(value) };
        self.chain.ok(from, self.asset, &call);
    }
}

fn deposit(assets: u64, receiver: Address) -> sol::depositCall {
    sol::depositCall { assets: U256::from(assets), receiver }
}

fn mint(shares: u64, receiver: Address) -> sol::mintCall {
    sol::mintCall { shares: U256::from(shares), receiver }
}

fn withdraw(assets: u64, receiver: Address, owner: Address) -> sol::withdrawCall {
    sol::withdrawCall { assets: U256::from(assets), receiver, owner }
}

fn redeem(shares: u64, receiver: Address, owner: Address) -> sol::redeemCall {
    sol::redeemCall { shares: U256::from(shares), receiver, owner }
}

#[test]
fn settings_are_at_the_documented_slots() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.erc4626.immutables").0), SETTINGS);
    let mut world = deploy(&with_fees());
    let word = world.chain.slot(world.vault, SETTINGS).to_be_bytes::<32>();
    assert_eq!(word[..12], [[0; 6].as_slice(), &[0, 200, 0, 100, 3, 6]].concat());
    assert_eq!(&word[12..], world.asset.as_slice());
    let recipient = world.chain.slot(world.vault, SETTINGS + U256::ONE);
    assert_eq!(Address::from_word(recipient.into()), RECIPIENT);
}

#[test]
fn a_new_vault_returns_its_parameters() {
    let world = deploy(&with_fees());
    assert_eq!(world.read(&sol::nameCall {}), "Gold shares");
    assert_eq!(world.read(&sol::symbolCall {}), "sGLD");
    assert_eq!(world.read(&sol::decimalsCall {}), 9);
    assert_eq!(world.read(&sol::assetCall {}), world.asset);
    assert_eq!(world.read(&sol::totalAssetsCall {}), U256::ZERO);
    assert_eq!(world.read(&sol::ownerCall {}), OWNER);
    assert_eq!((world.read(&sol::entryFeeCall {}), world.read(&sol::exitFeeCall {})), (100, 200));
    assert_eq!(world.read(&sol::feeRecipientCall {}), RECIPIENT);
    assert_eq!(world.read(&sol::maxDepositCall { receiver: BOB }), U256::MAX);
    assert_eq!(world.read(&sol::maxMintCall { receiver: BOB }), U256::MAX);
}

#[test]
fn an_asset_that_does_not_tell_its_decimals_has_eighteen() {
    let params = Erc4626Params { asset: BOB, ..params() };
    assert_eq!(deploy(&params).read(&sol::decimalsCall {}), 18);
}

#[test]
fn an_offset_with_which_no_conversion_succeeds_is_refused() {
    let most = deploy(&Erc4626Params { decimals_offset: DECIMALS_OFFSET_MAX, ..params() });
    let shares = most.read(&sol::convertToSharesCall { assets: U256::ONE });
    assert_eq!(shares, U256::from(10).pow(U256::from(DECIMALS_OFFSET_MAX)));
    for decimals_offset in [DECIMALS_OFFSET_MAX + 1, u8::MAX] {
        let mut chain = deploy(&params()).chain;
        let init_code = Erc4626Params { decimals_offset, ..params() }.init_code();
        let (_, result) = chain.create(OWNER, 0, &init_code, 10_000_000);
        let refused = sol::VaultDecimalsOffsetTooHigh { decimalsOffset: decimals_offset, max: DECIMALS_OFFSET_MAX };
        assert_eq!((result.outcome, result.output.to_vec()), (FrameOutcome::Revert, refused.abi_encode()));
    }
}

#[test]
fn assets_become_shares_and_shares_assets() {
    let mut world = deploy(&params());
    assert_eq!(world.ok(BOB, &deposit(1_000, CAROL)), U256::from(1_000));
    let logs = world.chain.journal.logs();
    let event = |assets: u64, shares: u64| sol::Deposit {
        sender: BOB,
        owner: CAROL,
        assets: U256::from(assets),
        shares: U256::from(shares),
    };
    assert_eq!(logs.last().unwrap().data, event(1_000, 1_000).encode_log_data());
    assert_eq!((world.assets(BOB), world.assets(world.vault)), (ASSETS - 1_000, 1_000));
    world.donate(OWNER, 500);
    // 1,501 assets for 1,001 shares, each with the virtual one; the vault keeps what does not divide.
    assert_eq!(world.ok(BOB, &deposit(100, BOB)), U256::from(66));
    assert_eq!(world.ok(BOB, &mint(66, BOB)), U256::from(100));
    assert_eq!(world.ok(CAROL, &withdraw(100, BOB, CAROL)), U256::from(67));
    let withdrawn =
        sol::Withdraw { sender: CAROL, receiver: BOB, owner: CAROL, assets: U256::from(100), shares: U256::from(67) };
    assert_eq!(world.chain.journal.logs().last().unwrap().data, withdrawn.encode_log_data());
    let rest = world.shares(CAROL);
    assert_eq!(world.ok(CAROL, &redeem(rest, CAROL, CAROL)), U256::from(1_401));
}

#[test]
fn fees_go_to_their_recipient() {
    let mut world = deploy(&with_fees());
    assert_eq!(world.ok(BOB, &deposit(10_100, BOB)), U256::from(10_000_000));
    assert_eq!((world.assets(RECIPIENT), world.assets(world.vault)), (100, 10_000));
    assert_eq!(world.ok(CAROL, &mint(1_000_000, CAROL)), U256::from(1_010));
    assert_eq!((world.assets(RECIPIENT), world.assets(world.vault)), (110, 11_000));
    assert_eq!(world.ok(BOB, &withdraw(1_000, BOB, BOB)), U256::from(1_020_000));
    assert_eq!((world.assets(RECIPIENT), world.assets(world.vault)), (130, 9_980));
    assert_eq!(world.ok(CAROL, &redeem(1_000_000, CAROL, CAROL)), U256::from(980));
    assert_eq!((world.assets(RECIPIENT), world.assets(world.vault)), (150, 8_980));
}

#[test]
fn the_owner_sets_fees_within_bounds() {
    let mut world = deploy(&params());
    let fees = |entry_fee, exit_fee| sol::setFeesCall { entryFee: entry_fee, exitFee: exit_fee };
    world.ok(OWNER, &fees(FEE_MAX, 30));
    let changed = sol::FeesChanged { entryFee: FEE_MAX, exitFee: 30 };
    assert_eq!(world.chain.journal.logs()[0].data, changed.encode_log_data());
    assert_eq!(world.ok(BOB, &deposit(1_000, BOB)), U256::from(500), "as much fee as assets");
    assert_eq!(world.read(&sol::assetCall {}), world.asset, "in the same slot");
    world.fails(OWNER, &fees(0, FEE_MAX + 1), &sol::VaultInvalidFee { fee: FEE_MAX + 1 });
    world.fails(BOB, &fees(0, 0), &sol::OwnableUnauthorizedAccount { account: BOB });
    let name = |recipient| sol::setFeeRecipientCall { recipient };
    world.ok(OWNER, &name(CAROL));
    assert_eq!(world.read(&sol::feeRecipientCall {}), CAROL);
    let nobody = sol::VaultInvalidFeeRecipient { recipient: Address::ZERO };
    world.fails(OWNER, &name(Address::ZERO), &nobody);
    world.fails(BOB, &name(BOB), &sol::OwnableUnauthorizedAccount { account: BOB });
    let vault = world.vault;
    world.ok(OWNER, &name(vault));
    assert_eq!(world.ok(BOB, &deposit(1_000, BOB)), U256::from(500));
    assert_eq!(world.assets(world.vault), 1_500, "it keeps its fees");
    world.ok(OWNER, &sol::renounceOwnershipCall {});
    world.fails(OWNER, &fees(0, 0), &sol::OwnableUnauthorizedAccount { account: OWNER });
}

#[test]
fn bad_parameters_are_refused() {
    let refusals = [
        (Erc4626Params { exit_fee: FEE_MAX + 1, ..params() }, sol::VaultInvalidFee { fee: FEE_MAX + 1 }.abi_encode()),
        (
            Erc4626Params { fee_recipient: Address::ZERO, ..params() },
            sol::VaultInvalidFeeRecipient { recipient: Address::ZERO }.abi_encode(),
        ),
    ];
    for (params, want) in refusals {
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, 0, &params.init_code(), 1_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()));
    }
    let world = deploy(&Erc4626Params { owner: None, ..params() });
    assert_eq!(world.read(&sol::ownerCall {}), Address::ZERO, "an owner is no must");
}

#[test]
fn nobody_takes_out_what_others_own() {
    let mut world = deploy(&params());
    world.ok(BOB, &deposit(1_000, BOB));
    let too_much = sol::ERC4626ExceededMaxWithdraw { owner: BOB, assets: U256::from(1_001), max: U256::from(1_000) };
    world.fails(BOB, &withdraw(1_001, BOB, BOB), &too_much);
    let too_many = sol::ERC4626ExceededMaxRedeem { owner: BOB, shares: U256::from(1_001), max: U256::from(1_000) };
    world.fails(BOB, &redeem(1_001, BOB, BOB), &too_many);
    let short = |needed: u64, allowance: u64| sol::ERC20InsufficientAllowance {
        spender: CAROL,
        allowance: U256::from(allowance),
        needed: U256::from(needed),
    };
    world.fails(CAROL, &withdraw(10, CAROL, BOB), &short(10, 0));
    world.ok(BOB, &sol::approveCall { spender: CAROL, value: U256::from(15) });
    world.ok(CAROL, &redeem(10, CAROL, BOB));
    world.fails(CAROL, &redeem(10, CAROL, BOB), &short(10, 5));
    assert_eq!(world.shares(BOB), 990);
    let poor = erc20_base::interface::ERC20InsufficientBalance {
        sender: CAROL,
        balance: U256::from(ASSETS + 10),
        needed: U256::from(ASSETS + 11),
    };
    world.fails(CAROL, &deposit(ASSETS + 11, CAROL), &poor);
}

#[test]
fn a_forwarder_is_trusted_only_if_there_is_one() {
    let mut without = deploy(&params());
    without.chain.is_absent(BOB, without.vault, &sol::trustedForwarderCall {});
    without.chain.is_absent(BOB, without.vault, &sol::isTrustedForwarderCall { forwarder: Address::ZERO });
    let with = deploy(&Erc4626Params { trusted_forwarder: Some(CAROL), ..params() });
    assert_eq!(with.read(&sol::trustedForwarderCall {}), CAROL);
    for (forwarder, want) in [(CAROL, true), (BOB, false), (Address::ZERO, false)] {
        assert_eq!(with.read(&sol::isTrustedForwarderCall { forwarder }), want);
    }
}

/// Whoever donates to an empty vault loses more than those that deposit after him.
#[test]
fn an_inflated_share_costs_who_inflates_it() {
    for offset in [0, 3] {
        let mut world = deploy(&Erc4626Params { decimals_offset: offset, ..params() });
        world.ok(BOB, &deposit(1, BOB));
        world.donate(BOB, 100_000);
        world.ok(CAROL, &deposit(100_000, CAROL));
        for user in [BOB, CAROL] {
            let all = world.shares(user);
            world.ok(user, &redeem(all, user, user));
        }
        let lost = |user| ASSETS - world.assets(user);
        assert!(lost(BOB) >= lost(CAROL), "offset {offset}: {} and {}", lost(BOB), lost(CAROL));
    }
}

#[test]
fn interfaces_are_supported() {
    let world = deploy(&params());
    // ERC-165, ERC-20, its metadata, ERC-4626.
    let known = [0x01ff_c9a7_u32, 0x3637_2b07, 0xa219_a025, 0x87df_e5a0];
    for (id, want) in known.map(|id| (id, true)).into_iter().chain([(0xffff_ffff, false), (0, false)]) {
        let call = sol::supportsInterfaceCall { interfaceId: id.to_be_bytes().into() };
        assert_eq!(world.read(&call), want, "{id:#x}");
    }
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = Erc4626.storage_layout();
    let variables = layout.storage.iter().map(|entry| {
        let slot = entry.slot.parse::<U256>().unwrap();
        let slot = if slot < SETTINGS { slot.to_string() } else { format!("settings + {}", slot - SETTINGS) };
        format!("{} {} {} {}", entry.label, slot, entry.offset, layout.types[&entry.ty].label)
    });
    let want = [
        "_balances 0 0 mapping(address => uint256)",
        "_allowances 1 0 mapping(address => mapping(address => uint256))",
        "_totalSupply 2 0 uint256",
        "_name 3 0 string",
        "_symbol 4 0 string",
        "_owner 5 0 address",
        "_settings settings + 0 0 struct Settings",
        "_feeRecipient settings + 1 0 address",
        "_trustedForwarder settings + 2 0 address",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_vault_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Erc4626);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    let least = serde_json::json!({ "name": "Gold shares", "symbol": "sGLD", "asset": params().asset.to_string() });
    let want = Erc4626Params { fee_recipient: OWNER, ..params() };
    assert_eq!(encode(least).unwrap(), want.init_code());
    let errors = encode(serde_json::json!({})).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["name", "symbol", "asset"]);
}

#[test]
fn the_abi_is_complete() {
    let abi = Erc4626.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (36, 7, 16));
    let constructor = abi.constructor.unwrap();
    let names: Vec<_> = constructor.inputs.iter().map(|input| input.name.as_str()).collect();
    let fees = ["entryFee", "exitFee", "feeRecipient"];
    let want = [&["name", "symbol", "asset", "decimalsOffset", "owner"], &fees[..], &["trustedForwarder"]].concat();
    assert_eq!(names, want);
}
