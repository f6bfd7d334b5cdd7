//! One deployed system contract with its journal, for the tests of those that stand alone.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolCall, SolError};

use super::SystemCall;
use crate::{
    primitives::Gas,
    state::{Journal, fixture::MapView},
    vm::{BlockContext, FrameOutcome, FrameResult, Message, TemplateRegistry, execute},
};

/// Gas of a call.
const GAS: Gas = Gas::new(100_000_000);

pub(super) struct ContractLab {
    pub(super) journal: Journal,
    pub(super) block: BlockContext,
    pub(super) registry: TemplateRegistry,
    contract: Address,
}

impl ContractLab {
    /// Deploys a contract as genesis does.
    pub(super) fn new(contract: Address, registry: TemplateRegistry, init_code: &[u8]) -> Self {
        let journal = Journal::new(MapView::with_balances(&[], U256::ZERO));
        let mut lab = Self { journal, block: BlockContext::default(), registry, contract };
        let creation = Message::create_at(contract, Address::ZERO, U256::ZERO, init_code, Gas::new(1_000_000_000));
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
        self.run(&Message::call(caller, self.contract, U256::ZERO, &input, GAS))
    }

    pub(super) fn ok<C: SolCall>(&mut self, caller: Address, call: &C) -> C::Return {
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Success, "{}: {}", C::SIGNATURE, result.output);
        C::abi_decode_returns_validate(&result.output).unwrap()
    }

    /// Makes a system call, which never fails.
    pub(super) fn system(&mut self, call: &SystemCall) {
        let result = self.run(&Message::system_call(call.to, &call.input, GAS));
        assert!(result.is_success(), "{result:?}");
    }

    /// Checks that the call fails with this error and changes nothing.
    pub(super) fn fails<C: SolCall, E: SolError>(&mut self, caller: Address, call: &C, error: &E) {
        let before = self.journal.clone().take_changes();
        let result = self.call(caller, call);
        assert_eq!(result.outcome, FrameOutcome::Revert);
        assert_eq!(result.output.as_ref(), error.abi_encode(), "want {}", E::SIGNATURE);
        assert_eq!(self.journal.clone().take_changes(), before);
    }
}
