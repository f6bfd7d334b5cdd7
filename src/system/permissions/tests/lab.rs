//! A deployed contract with its journal and accounts.

use alloy_primitives::address;
use alloy_sol_types::SolError;

use super::{
    super::{interface as sol, *},
    *,
};
use crate::{
    primitives::Gas,
    state::{Journal, fixture::MapView},
    vm::{BlockContext, FrameOutcome, FrameResult, Message, TemplateRegistry, execute},
};

pub(super) const ADMIN: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const ALICE: Address = address!("0000000000000000000000000000000000000b01");
pub(super) const BOB: Address = address!("0000000000000000000000000000000000000b02");
pub(super) const CAROL: Address = address!("0000000000000000000000000000000000000b03");

/// The section of a genesis with both lists off.
pub(super) fn open() -> PermissionsConfig {
    PermissionsConfig::new(ADMIN)
}

pub(super) fn set(account: Address, is_account: bool, is_deployer: bool) -> sol::setPermissionsCall {
    sol::setPermissionsCall { account, isAccount: is_account, isDeployer: is_deployer }
}

pub(super) struct Lab {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    pub(super) registry: TemplateRegistry,
}

impl Lab {
    pub(super) fn new(config: &PermissionsConfig) -> Self {
        config.check().unwrap();
        let journal = Journal::new(MapView::with_balances(&[], U256::ZERO));
        let (block, registry) = (BlockContext::default(), PermissionsTemplate::registry());
        let mut lab = Self { journal, block, registry };
        let init_code = PermissionsTemplate::init_code(config);
        let gas = Gas::new(1_000_000_000);
        let creation = Message::create_at(PERMISSIONS_ADDRESS, Address::ZERO, U256::ZERO, &init_code, gas);
        let result = lab.run(&creation.of_genesis());
        assert!(result.is_success(), "{result:?}");
        lab
    }

    pub(super) fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, &self.registry, message).unwrap()
    }

    pub(super) fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        let input = call.abi_encode();
        self.run(&Message::call(caller, PERMISSIONS_ADDRESS, U256::ZERO, &input, Gas::new(100_000_000)))
    }

    pub(super) fn ok<C: SolCall>(&mut self, caller: Address, call: &C) -> C::Return {
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Success, "{}: {}", C::SIGNATURE, result.output);
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    /// Checks that the call fails with this error and changes nothing.
    pub(super) fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, call: &C, error: &E) {
        let before = self.journal.clone().take_changes();
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Revert);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert_eq!(self.journal.clone().take_changes(), before);
    }

    pub(super) fn permissions(&mut self, account: Address) -> sol::PermissionsInfo {
        self.ok(BOB, &sol::permissionsOfCall { account })
    }
}
