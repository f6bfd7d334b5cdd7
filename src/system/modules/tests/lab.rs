//! A deployed registry with its journal.

use alloy_primitives::address;
use alloy_sol_types::SolError;

use super::{
    super::{interface as sol, *},
    *,
};
use crate::{
    primitives::{Gas, Height},
    state::{Journal, fixture::MapView},
    vm::{BlockContext, FrameOutcome, FrameResult, Message, TemplateRegistry, execute},
};

pub(super) const AUTHORITY: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const BOB: Address = address!("0000000000000000000000000000000000000b02");

/// A section with the module `dao`.
pub(super) fn config() -> ModulesConfig {
    ModulesConfig::new(AUTHORITY).with_module("dao", 2, hash(9))
}

pub(super) fn hash(byte: u8) -> B256 {
    B256::repeat_byte(byte)
}

pub(super) fn enabling(name: &str, version: u32, config: u8) -> sol::enableCall {
    sol::enableCall { name: name.to_owned(), version, configHash: hash(config) }
}

pub(super) fn info(name: &str, version: u32, config: u8, enabled: bool, since: u64) -> sol::ModuleInfo {
    sol::ModuleInfo { name: name.to_owned(), version, configHash: hash(config), enabled, since }
}

pub(super) struct Lab {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    pub(super) registry: TemplateRegistry,
}

impl Lab {
    pub(super) fn new(config: &ModulesConfig) -> Self {
        config.check().unwrap();
        let journal = Journal::new(MapView::with_balances(&[], U256::ZERO));
        let (block, registry) = (BlockContext::default(), ModulesTemplate::registry());
        let mut lab = Self { journal, block, registry };
        let init_code = ModulesTemplate::init_code(config);
        let gas = Gas::new(1_000_000_000);
        let creation = Message::create_at(MODULES_ADDRESS, Address::ZERO, U256::ZERO, &init_code, gas);
        let result = lab.run(&creation.of_genesis());
        assert!(result.is_success(), "{result:?}");
        lab
    }

    pub(super) fn at_height(&mut self, height: u64) -> &mut Self {
        self.block.height = Height::new(height);
        self
    }

    pub(super) fn run(&mut self, message: &Message<'_>) -> FrameResult {
        self.journal.begin_transaction();
        execute(&mut self.journal, &self.block, &self.registry, message).unwrap()
    }

    pub(super) fn call<C: SolCall>(&mut self, caller: Address, call: &C) -> FrameResult {
        let input = call.abi_encode();
        self.run(&Message::call(caller, MODULES_ADDRESS, U256::ZERO, &input, Gas::new(100_000_000)))
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

    pub(super) fn module(&mut self, name: &str) -> sol::ModuleInfo {
        self.ok(BOB, &sol::moduleCall { name: name.to_owned() })
    }
}
