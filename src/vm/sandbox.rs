//! One contract for tests, whose calls are closures over the host.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, B256, Bytes, Log, U256};

use super::{
    BlockContext, FrameOutcome, FrameResult, Host, Marker, Message, Stop, Template, TemplateId, TemplateRegistry,
    execute,
};
use crate::{
    primitives::Gas,
    state::{Journal, fixture::MapView},
};

const ID: TemplateId = TemplateId::new(0xfff0, 1);
const GAS: u64 = 100_000_000;

/// A contract, and the state around it.
pub(crate) struct Sandbox {
    pub(crate) journal: Journal,
    pub(crate) block: BlockContext,
    /// Templates of other contracts.
    pub(crate) registry: TemplateRegistry,
    /// Caller of the contract.
    pub(crate) caller: Address,
    /// Value of each call, in wei.
    pub(crate) value: U256,
}

impl Sandbox {
    /// Address of the contract.
    pub(crate) const CONTRACT: Address = Address::repeat_byte(0xcc);

    pub(crate) fn new() -> Self {
        let caller = Address::repeat_byte(0xaa);
        let mut journal = Journal::new(MapView::with_balances(&[caller, Self::CONTRACT], U256::from(1_000_000)));
        journal.create_account(&Self::CONTRACT).unwrap();
        journal.set_code(&Self::CONTRACT, Marker(ID).to_bytes().into()).unwrap();
        let block = BlockContext { chain_id: 31_337, ..BlockContext::default() };
        Self { journal, block, registry: TemplateRegistry::new(), caller, value: U256::ZERO }
    }

    pub(crate) fn with_value(self, value: u64) -> Self {
        Self { value: U256::from(value), ..self }
    }

    /// Runs a call of the contract in a transaction of its own.
    pub(crate) fn run<T: Send + 'static>(
        &mut self,
        call: impl Fn(&mut Host<'_>) -> Result<T, Stop> + Send + Sync + 'static,
    ) -> Result<T, Stop> {
        self.measure(call).0
    }

    /// As [`Sandbox::run`], with the gas that the call used, in gas units.
    pub(crate) fn measure<T: Send + 'static>(
        &mut self,
        call: impl Fn(&mut Host<'_>) -> Result<T, Stop> + Send + Sync + 'static,
    ) -> (Result<T, Stop>, u64) {
        let answer = Arc::new(Mutex::new(None));
        let template = Closure { call: Box::new(call), answer: answer.clone() };
        let mut registry = self.registry.clone();
        registry.register(Arc::new(template)).unwrap();
        self.journal.begin_transaction();
        let message = Message::call(self.caller, Self::CONTRACT, self.value, &[], Gas::new(GAS));
        let FrameResult { outcome, gas_left, output } =
            execute(&mut self.journal, &self.block, &registry, &message).unwrap();
        let result = match outcome {
            FrameOutcome::Success => Ok(answer.lock().unwrap().take().unwrap()),
            FrameOutcome::Revert => Err(Stop::Revert(output)),
            FrameOutcome::Halt(reason) => Err(Stop::Halt(reason)),
        };
        (result, GAS - gas_left.get())
    }

    /// Returns what a slot of the contract holds.
    pub(crate) fn slot(&mut self, slot: U256) -> U256 {
        self.journal.storage(&Self::CONTRACT, &slot).unwrap()
    }

    /// Returns what a slot of the contract holds, in bytes.
    pub(crate) fn word(&mut self, slot: u64) -> B256 {
        self.slot(U256::from(slot)).into()
    }

    /// Returns the logs of the last transaction.
    pub(crate) fn logs(&self) -> &[Log] {
        self.journal.logs()
    }
}

type Call<T> = Box<dyn Fn(&mut Host<'_>) -> Result<T, Stop> + Send + Sync>;

struct Closure<T> {
    call: Call<T>,
    answer: Arc<Mutex<Option<T>>>,
}

impl<T> fmt::Debug for Closure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure")
    }
}

impl<T: Send> Template for Closure<T> {
    fn id(&self) -> TemplateId {
        ID
    }

    fn name(&self) -> &str {
        "closure"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
        let answer = (self.call)(host)?;
        *self.answer.lock().unwrap() = Some(answer);
        Ok(Bytes::new())
    }
}
