//! A deployed contract with its journal and accounts.

use alloy_primitives::{Log, address};
use alloy_sol_types::{SolError, SolEventInterface};

use super::{super::weight_changes, *};
use crate::{
    primitives::{Gas, Height, KeyPair, Timestamp},
    state::{Journal, fixture::MapView},
    system::{SystemCall, ValidatorUpdates, address::GOVERNANCE_ADDRESS},
    vm::{BlockContext, FrameOutcome, FrameResult, Message, TemplateRegistry, execute},
};

pub(super) const V1: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const V2: Address = address!("0000000000000000000000000000000000000a02");
pub(super) const V3: Address = address!("0000000000000000000000000000000000000a03");
pub(super) const ALICE: Address = address!("0000000000000000000000000000000000000b01");
pub(super) const BOB: Address = address!("0000000000000000000000000000000000000b02");

/// The key of an operator that can sign, and its address.
pub(super) fn signing_operator() -> KeyPair {
    KeyPair::from_seed(1, "operator")
}

pub(super) const SIGNER: Address = address!("f92195a652cbbab4dcfda8e840c4fbcef5a238f5");

const ALL: [Address; 6] = [V1, V2, V3, ALICE, BOB, SIGNER];

/// Balance of each account besides genesis stakes, in tokens.
const FUNDS: u64 = 1_000_000;

pub(super) fn eth(tokens: u64) -> U256 {
    crate::primitives::ether(tokens)
}

pub(super) fn gwei(amount: u64) -> U256 {
    crate::primitives::gwei(amount)
}

/// A contract with two validators of genesis.
pub(super) struct Lab {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    registry: TemplateRegistry,
    /// Supply at genesis.
    supply: U256,
}

impl Lab {
    /// V1 with 100 tokens, V2 with 300.
    pub(super) fn new(params: StakingParams) -> Self {
        Self::with_stakes(params, &[(V1, eth(100)), (V2, eth(300))]).unwrap()
    }

    pub(super) fn with_stakes(params: StakingParams, stakes: &[(Address, U256)]) -> Result<Self, FrameResult> {
        Self::beside(&[], params, stakes)
    }

    /// As [`Lab::with_stakes`], on a chain with a governance contract: an account whose code nothing runs.
    pub(super) fn with_governance(params: StakingParams, stakes: &[(Address, U256)]) -> Self {
        Self::beside(&[GOVERNANCE_ADDRESS], params, stakes).unwrap()
    }

    fn beside(contracts: &[Address], params: StakingParams, stakes: &[(Address, U256)]) -> Result<Self, FrameResult> {
        Self::built(contracts, params, stakes.iter().copied().map(Into::into).collect())
    }

    /// With validators whose keys may be others than their own addresses.
    pub(super) fn of_genesis(params: StakingParams, stakes: Vec<sol::GenesisStake>) -> Result<Self, FrameResult> {
        Self::built(&[], params, stakes)
    }

    fn built(
        contracts: &[Address],
        params: StakingParams,
        stakes: Vec<sol::GenesisStake>,
    ) -> Result<Self, FrameResult> {
        let mut registry = TemplateRegistry::new();
        registry.register_own(std::sync::Arc::new(StakingTemplate)).unwrap();
        let mut journal = Journal::new(MapView::with_balances(&ALL, eth(FUNDS)));
        let staked = stakes.iter().fold(U256::ZERO, |sum, stake| sum.wrapping_add(stake.stake));
        journal.set_balance(&STAKING_ADDRESS, staked).unwrap();
        for contract in contracts {
            journal.set_code(contract, vec![0xef].into()).unwrap();
        }
        let block = BlockContext { timestamp: Timestamp::from_secs(1_000), ..BlockContext::default() };
        let init_code = StakingTemplate::init_code(&params, stakes);
        let message =
            Message::create_at(STAKING_ADDRESS, Address::ZERO, U256::ZERO, &init_code, Gas::new(1_000_000_000));
        journal.begin_transaction();
        let result = execute(&mut journal, &block, &registry, &message).unwrap();
        let supply = staked.wrapping_add(eth(FUNDS) * U256::from(ALL.len()));
        if result.is_success() { Ok(Self { journal, block, registry, supply }) } else { Err(result) }
    }

    /// Advances by so many blocks of one second each.
    pub(super) fn pass(&mut self, blocks: u64) {
        self.pass_time(blocks, blocks);
    }

    pub(super) fn pass_time(&mut self, blocks: u64, secs: u64) {
        self.block.height = Height::new(self.block.height.get() + blocks);
        self.block.timestamp = Timestamp::from_secs(self.block.timestamp.as_secs() + secs);
    }

    pub(super) fn call_raw(&mut self, caller: Address, value: U256, input: &[u8]) -> FrameResult {
        self.run(&Message::call(caller, STAKING_ADDRESS, value, input, Gas::new(10_000_000)))
    }

    /// Runs a system call, which may fail.
    pub(super) fn system_raw(&mut self, input: &[u8]) -> FrameResult {
        self.run(&Message::system_call(STAKING_ADDRESS, input, Gas::new(10_000_000)))
    }

    pub(super) const fn registry(&self) -> &TemplateRegistry {
        &self.registry
    }

    fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, &self.registry, message).unwrap()
    }

    pub(super) fn call<C: SolCall>(&mut self, caller: Address, value: U256, call: &C) -> FrameResult {
        self.call_raw(caller, value, &call.abi_encode())
    }

    pub(super) fn ok<C: SolCall>(&mut self, caller: Address, call: &C) -> C::Return {
        self.pay(caller, U256::ZERO, call)
    }

    pub(super) fn pay<C: SolCall>(&mut self, caller: Address, value: U256, call: &C) -> C::Return {
        let result = self.call(caller, value, call);
        assert_eq!(result.outcome, FrameOutcome::Success, "{}: {}", C::SIGNATURE, result.output);
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    /// Checks that the call fails with this error and changes nothing.
    pub(super) fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, value: U256, call: &C, error: &E) {
        let before = self.journal.clone().take_changes();
        let result = self.call(caller, value, call);
        assert_eq!(result.outcome, FrameOutcome::Revert);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert_eq!(self.journal.clone().take_changes(), before);
    }

    /// Runs a system call, which must succeed, and returns its weight changes.
    pub(super) fn system(&mut self, call: &SystemCall) -> ValidatorUpdates {
        let result = self.system_raw(&call.input);
        assert_eq!(result.outcome, FrameOutcome::Success, "{}", result.output);
        self.updates()
    }

    /// Weight changes of the last call.
    pub(super) fn updates(&self) -> ValidatorUpdates {
        ValidatorUpdates::new(weight_changes(self.journal.logs()))
    }

    pub(super) fn events(&self) -> Vec<sol::StakingContractEvents> {
        let decode = |log: &Log| sol::StakingContractEvents::decode_log(log).unwrap().data;
        self.journal.logs().iter().map(decode).collect()
    }

    pub(super) fn validator(&mut self, validator: Address) -> sol::ValidatorInfo {
        self.ok(ALICE, &sol::validatorCall { validator })
    }

    pub(super) fn totals(&mut self) -> sol::Totals {
        self.ok(ALICE, &sol::totalsCall {})
    }

    pub(super) fn delegation(&mut self, delegator: Address, validator: Address) -> (U256, U256, U256) {
        let delegation = self.ok(ALICE, &sol::delegationCall { delegator, validator });
        (delegation.shares, delegation.amount, delegation.rewards)
    }

    pub(super) fn balance(&mut self, account: Address) -> U256 {
        self.journal.balance(&account).unwrap()
    }

    /// Checks that the balance covers the liabilities, exceeds them by undistributed fees alone, and that supply changed by
    /// the minted and burned sums.
    pub(super) fn check_supply(&mut self) {
        let totals = self.totals();
        let owed = totals.bonded + totals.unbonding + totals.rewards;
        assert!(self.balance(STAKING_ADDRESS) >= owed);
        let held = ALL.iter().fold(self.balance(STAKING_ADDRESS), |sum, account| sum + self.balance(*account));
        assert_eq!(held + totals.burned, self.supply + totals.minted, "supply");
    }
}

#[test]
fn the_signing_operators_address_is_its_keys() {
    assert_eq!(signing_operator().address(), SIGNER);
}
