//! Lines of golden tables. Each operation of a table is first run with too little gas in many amounts, so that a line covers this by itself.

use core::iter;

use alloy_primitives::{Address, Bytes, U256, hex, keccak256};

use crate::{
    primitives::Gas,
    state::{Journal, StateChanges},
    vm::{BlockContext, FrameOutcome, FrameResult, HaltReason, Message, TemplateRegistry, execute},
};

/// Limits that are tried of each operation, about evenly over what it uses; limits at which the result changes come on top.
const LIMITS: u64 = 64;

/// Takes the journal's changes and returns the last line of a history: the first bytes of keccak of what it left in a contract's storage.
pub(crate) fn storage_line(journal: &mut Journal, contract: &Address) -> String {
    let changes = journal.take_changes();
    let words =
        changes.accounts[contract].storage.iter().map(|(slot, value)| [slot, value].map(U256::to_be_bytes::<32>));
    let bytes: Vec<u8> = words.flatten().flatten().collect();
    format!("storage: {}\n", short(&bytes))
}

/// Where a golden table's operation runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    pub(crate) block: &'p BlockContext,
    pub(crate) registry: &'p TemplateRegistry,
}

/// How an operation ended, as far as a limit of gas changes it.
#[derive(Debug, PartialEq, Eq)]
struct Ending {
    outcome: FrameOutcome,
    output: Bytes,
    logs: usize,
}

impl Place<'_> {
    /// Runs an operation, after [`Place::is_undone_without_gas`], and returns its line: outcome, gas and refund, and the first bytes of
    /// keccak of output and logs.
    pub(crate) fn line(self, name: &str, journal: &mut Journal, message: &Message<'_>) -> String {
        self.run(name, journal, message).1
    }

    /// As [`Place::line`], with the result.
    pub(crate) fn run(self, name: &str, journal: &mut Journal, message: &Message<'_>) -> (FrameResult, String) {
        self.is_undone_without_gas(name, journal, message);
        let result = self.execute(journal, message);
        let line = format!("{name}: {}\n", told(journal, &result, message.gas.get()));
        (result, line)
    }

    /// Runs an operation from one state with less gas than it has: wherever it ends, and whenever it fails, accounts, slots and logs are as
    /// before, and nothing panics.
    ///
    /// The limits are no gas, what the operation uses and one unit less, even steps between, and both sides of each limit at which the
    /// result changes. Above what it uses is where an operation needs more than it uses, as one that calls or writes does.
    ///
    /// # Panics
    /// At the first limit for which this is not so.
    pub(crate) fn is_undone_without_gas(self, name: &str, journal: &Journal, message: &Message<'_>) {
        let before = journal.clone().take_changes();
        let ending = |gas| {
            let mut limited = *message;
            limited.gas = Gas::new(gas);
            self.ending_with(name, journal, &before, &limited)
        };
        let used = {
            let result = self.execute(&mut journal.clone(), message);
            message.gas.get() - result.gas_left.get()
        };
        let step = usize::try_from(used / LIMITS).unwrap_or(usize::MAX).max(1);
        let (mut below, mut at_below) = (0, ending(0));
        assert_ne!(at_below.outcome, FrameOutcome::Success, "{name} without gas");
        let limits = (0..used).step_by(step).skip(1).chain([used.saturating_sub(1), used]);
        for limit in limits.chain(iter::once(message.gas.get())) {
            let at_limit = ending(limit);
            while at_below != at_limit {
                // The lowest limit with another result than `below`.
                let (mut same, mut other, mut at_other) = (below, limit, None);
                while other - same > 1 {
                    let middle = same.midpoint(other);
                    let at_middle = ending(middle);
                    if at_middle == at_below {
                        same = middle;
                    } else {
                        (other, at_other) = (middle, Some(at_middle));
                    }
                }
                let Some(at_other) = at_other else { break };
                (below, at_below) = (other, at_other);
            }
            (below, at_below) = (limit, at_limit);
        }
    }

    fn ending_with(self, name: &str, journal: &Journal, before: &StateChanges, message: &Message<'_>) -> Ending {
        let (mut journal, gas) = (journal.clone(), message.gas.get());
        let result = self.execute(&mut journal, message);
        let logs = journal.logs().len();
        assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic), "{name} with {gas} gas");
        if !result.is_success() {
            assert_eq!(logs, 0, "{name} fails with {gas} gas and leaves logs");
            assert_eq!(journal.take_changes(), *before, "{name} fails with {gas} gas and changes the state");
        }
        if matches!(result.outcome, FrameOutcome::Halt(_)) {
            assert_eq!(result.gas_left, Gas::ZERO, "{name} halts with {gas} gas and keeps some");
        }
        Ending { outcome: result.outcome, output: result.output, logs }
    }

    /// Executes a message as a transaction of its own.
    fn execute(self, journal: &mut Journal, message: &Message<'_>) -> FrameResult {
        journal.begin_transaction();
        execute(journal, self.block, self.registry, message).unwrap()
    }
}

/// Returns what a golden table has of a call with this gas limit: outcome, gas and refund, and the start of keccak of output and logs.
fn told(journal: &Journal, result: &FrameResult, gas: u64) -> String {
    let mut effects = result.output.to_vec();
    for log in journal.logs() {
        log.topics().iter().for_each(|topic| effects.extend_from_slice(topic.as_slice()));
        effects.extend_from_slice(&log.data.data);
    }
    let outcome = if result.is_success() { "ok" } else { "reverts" };
    format!("{outcome}, {}, {}, {}", gas - result.gas_left.get(), journal.refund().get(), short(&effects))
}

/// Returns the start of keccak, in hex.
pub(crate) fn short(bytes: &[u8]) -> String {
    hex::encode(&keccak256(bytes)[..4])
}

/// Asserts that a golden table is what is committed.
///
/// # Panics
/// When it is not: with the lines that differ, and all of the table.
pub(crate) fn assert_golden(got: &str, want: &str) {
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}

/// The harness finds what it looks for.
mod tests {
    use alloy_json_abi::JsonAbi;
    use alloy_primitives::{Address, U256};

    use super::*;
    use crate::{
        state::fixture::MapView,
        vm::{Host, Marker, Stop, Template, TemplateId},
    };

    /// A template that panics, with so much gas left and no more.
    #[derive(Debug)]
    struct Nervous(u64);

    const ID: TemplateId = TemplateId::new(0x9001, 1);
    const CONTRACT: Address = Address::repeat_byte(0x77);

    impl Template for Nervous {
        fn id(&self) -> TemplateId {
            ID
        }
        fn name(&self) -> &str {
            "nervous"
        }
        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }
        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }
        fn call(&self, host: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
            host.compute(1_000)?;
            assert_ne!(host.gas_left().get(), self.0, "panics here");
            host.store(U256::ZERO, U256::ONE)?;
            Ok(Bytes::new())
        }
    }

    fn check(left: u64) {
        let mut registry = TemplateRegistry::new();
        registry.register(std::sync::Arc::new(Nervous(left))).unwrap();
        let mut journal = Journal::new(MapView::with_balances(&[], U256::ZERO));
        journal.create_account(&CONTRACT).unwrap();
        journal.set_code(&CONTRACT, Marker(ID).to_bytes().into()).unwrap();
        let block = BlockContext::default();
        let message = Message::call(Address::ZERO, CONTRACT, U256::ZERO, &[], Gas::new(100_000));
        Place { block: &block, registry: &registry }.is_undone_without_gas("call", &journal, &message);
    }

    #[test]
    fn a_contract_that_is_in_order_passes() {
        check(1_000_000);
    }

    #[test]
    #[should_panic = "TemplatePanic"]
    fn a_panic_at_a_boundary_is_found() {
        // What the call uses: the computation and a new slot.
        check(2_100 + 20_000);
    }
}
