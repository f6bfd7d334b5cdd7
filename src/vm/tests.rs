//! Frames, gas and undoing, tested with a template that executes its input.

mod host;
mod unreadable;

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, Bytes, LogData, U256, address};
use proptest::prelude::*;

use super::*;
use crate::{
    primitives::Gas,
    state::{Account, AccountProof, Commit, Journal, StateView, fixture::MapView},
    store::StoreError,
};

const ALICE: Address = address!("00000000000000000000000000000000000000a1");
const PROBE: Address = address!("00000000000000000000000000000000000000c1");
const OTHER: Address = address!("00000000000000000000000000000000000000c2");
const ID: TemplateId = TemplateId::new(0x8001, 1);
const SLOT: U256 = U256::from_limbs([1, 0, 0, 0]);

/// Executes the operation in the first byte of its input.
#[derive(Debug)]
struct Probe;

const STORE: u8 = 0;
const STORE_AND_REVERT: u8 = 1;
const STORE_AND_PANIC: u8 = 2;
const STORE_AND_SPIN: u8 = 3;
const RECURSE: u8 = 4;
const CALL: u8 = 5;
const STATIC_CALL: u8 = 6;
const CREATE: u8 = 7;
const IGNORE_OUT_OF_GAS: u8 = 8;
const IGNORE_STATIC: u8 = 9;
const LOG: u8 = 10;
const GAS_LEFT: u8 = 11;
const READ: u8 = 12;
const FAKE_UNREADABLE: u8 = 13;
const CALL_WITH_VALUE: u8 = 14;

impl Template for Probe {
    fn id(&self) -> TemplateId {
        ID
    }

    fn name(&self) -> &str {
        "probe"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        if params.is_empty() { Ok(()) } else { self.call(host, params).map(drop) }
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let (op, rest) = input.split_first().ok_or_else(abi::empty_revert)?;
        match *op {
            STORE => host.store(SLOT, U256::from(7))?,
            STORE_AND_REVERT => {
                host.store(SLOT, U256::from(7))?;
                host.log(LogData::new_unchecked(vec![], Bytes::new()))?;
                return Err(abi::revert_with("no"));
            }
            STORE_AND_PANIC => {
                host.store(SLOT, U256::from(7))?;
                panic!("a bug in a template");
            }
            STORE_AND_SPIN => loop {
                host.store(SLOT, U256::from(host.gas_left().get()))?;
            },
            RECURSE => {
                let inner = host.call(host.address(), U256::ZERO, input)?;
                let depth = if inner.is_success() { U256::from_be_slice(&inner.output) } else { U256::ZERO };
                return Ok(abi::encode_output_u256(depth + U256::from(1)));
            }
            CALL | STATIC_CALL | CALL_WITH_VALUE => {
                let (to, input) = (Address::from_slice(&rest[..20]), &rest[20..]);
                let result = match *op {
                    CALL => host.call(to, U256::ZERO, input)?,
                    STATIC_CALL => host.static_call(to, input)?,
                    _ => host.call(to, U256::from(5), input)?,
                };
                return Ok([[u8::from(result.is_success())].as_slice(), &result.output].concat().into());
            }
            CREATE => {
                let (address, result) = host.create(rest, U256::ZERO)?;
                result.or_revert()?;
                return Ok(address.to_vec().into());
            }
            IGNORE_OUT_OF_GAS => {
                let _ = host.compute(u64::MAX);
                let _ = host.store(SLOT, U256::from(7));
            }
            IGNORE_STATIC => {
                let _ = host.store(SLOT, U256::from(7));
            }
            LOG => host.log(LogData::new_unchecked(vec![], Bytes::from_static(b"hello")))?,
            GAS_LEFT => return Ok(abi::encode_output_u256(U256::from(host.gas_left().get()))),
            READ => return host.load(SLOT).map(abi::encode_output_u256),
            FAKE_UNREADABLE => return Err(Stop::StateUnreadable),
            _ => return Err(abi::empty_revert()),
        }
        Ok(Bytes::new())
    }
}

struct World {
    journal: Journal,
    block: BlockContext,
    registry: TemplateRegistry,
}

fn world() -> World {
    let mut registry = TemplateRegistry::new();
    registry.register(Arc::new(Probe)).unwrap();
    let mut journal = Journal::new(MapView::with_balances(&[ALICE, PROBE], U256::from(1_000)));
    for contract in [PROBE, OTHER] {
        journal.create_account(&contract).unwrap();
        journal.set_code(&contract, Marker(ID).to_bytes().into()).unwrap();
    }
    journal.begin_transaction();
    World { journal, block: BlockContext { chain_id: 31_337, ..BlockContext::default() }, registry }
}

impl World {
    fn run(&mut self, message: &Message<'_>) -> FrameResult {
        execute(&mut self.journal, &self.block, &self.registry, message).unwrap()
    }

    fn call(&mut self, input: &[u8]) -> FrameResult {
        self.call_with(input, 1_000_000)
    }

    fn call_with(&mut self, input: &[u8], gas: u64) -> FrameResult {
        self.run(&Message::call(ALICE, PROBE, U256::ZERO, input, Gas::new(gas)))
    }

    fn stored(&mut self, contract: Address) -> U256 {
        self.journal.storage(&contract, &SLOT).unwrap()
    }
}

/// Returns the input by which `PROBE` runs `op` on the contract at `to`.
fn at(op: u8, to: Address, input: &[u8]) -> Vec<u8> {
    [[op].as_slice(), to.as_slice(), input].concat()
}

#[test]
fn a_failed_frames_changes_are_undone() {
    let cases = [
        (STORE_AND_REVERT, FrameOutcome::Revert),
        (STORE_AND_PANIC, FrameOutcome::Halt(HaltReason::TemplatePanic)),
        (STORE_AND_SPIN, FrameOutcome::Halt(HaltReason::OutOfGas)),
        (IGNORE_OUT_OF_GAS, FrameOutcome::Halt(HaltReason::OutOfGas)),
        (FAKE_UNREADABLE, FrameOutcome::Halt(HaltReason::TemplatePanic)),
    ];
    for (op, want) in cases {
        let mut world = world();
        let result = world.run(&Message::call(ALICE, PROBE, U256::from(9), &[op], Gas::new(100_000)));
        assert_eq!(result.outcome, want, "{op}");
        assert_eq!(result.gas_left > Gas::ZERO, want == FrameOutcome::Revert, "{op}: only a revert keeps gas");
        assert_eq!(world.stored(PROBE), U256::ZERO, "{op}");
        assert_eq!(world.journal.balance(&PROBE).unwrap(), U256::from(1_000), "{op}: the value comes back");
        assert!(world.journal.logs().is_empty(), "{op}");
        assert!(world.journal.take_changes().accounts.values().all(|change| change.storage.is_empty()), "{op}");
    }
}

#[test]
fn a_caller_continues_after_its_callees_failure() {
    for op in [STORE_AND_REVERT, STORE_AND_PANIC, STORE_AND_SPIN] {
        let mut world = world();
        let result = world.call(&at(CALL, OTHER, &[op]));
        assert!(result.is_success(), "{op}");
        assert_eq!(result.output[0], 0, "{op}");
        assert_eq!(world.stored(OTHER), U256::ZERO, "{op}");
    }
    let mut world = world();
    assert_eq!(world.call(&at(CALL, OTHER, &[STORE])).output[0], 1);
    assert_eq!(world.stored(OTHER), U256::from(7));
    assert_eq!(world.stored(PROBE), U256::ZERO);
}

#[test]
fn revert_data_reaches_the_caller() {
    let mut world = world();
    let result = world.call(&at(CALL, OTHER, &[STORE_AND_REVERT]));
    assert_eq!(abi::reason(&result.output[1..]).unwrap(), "no");
}

#[test]
fn a_reverted_outer_frame_undoes_inner_successes() {
    let mut world = world();
    let create = [[CREATE].as_slice(), &Marker(ID).init_code(&[STORE_AND_REVERT])].concat();
    let nonce = world.journal.nonce(&PROBE).unwrap();
    let result = world.call(&create);
    assert_eq!(result.outcome, FrameOutcome::Revert);
    assert_eq!(world.journal.nonce(&PROBE).unwrap(), nonce);
}

#[test]
fn static_calls_forbid_every_change_however_deep() {
    let ops = [vec![STORE], vec![LOG], vec![IGNORE_STATIC], at(CALL_WITH_VALUE, ALICE, &[]), vec![CREATE]];
    for input in ops {
        let mut world = world();
        assert!(world.call(&at(CALL, OTHER, &[])).is_success());
        let nested = at(CALL, OTHER, &input);
        let result = world.call(&at(STATIC_CALL, PROBE, &nested));
        assert_eq!(result.output[..2], [1, 0], "{input:?}: the middle frame goes on, the inner one failed");
        assert_eq!(world.stored(OTHER), U256::ZERO);
    }
    let mut world = world();
    assert_eq!(world.call(&at(STATIC_CALL, OTHER, &[READ])).output[0], 1, "reading is allowed");
}

/// In a debug build, on the stack that a Rust thread gets by default.
#[test]
fn calls_nest_to_the_bound_and_no_further() {
    let deepest = || {
        let mut world = world();
        let result = world.call_with(&[RECURSE], 1_000_000_000);
        U256::from_be_slice(&result.output)
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(deepest).unwrap();
    assert_eq!(thread.join().unwrap(), U256::from(GasSchedule::STANDARD.call_depth_max));
}

#[test]
fn a_caller_keeps_a_64th_of_its_gas() {
    let mut world = world();
    let result = world.call_with(&at(CALL, OTHER, &[GAS_LEFT]), 100_000);
    let left = 100_000 - GasSchedule::STANDARD.account_cold;
    assert_eq!(U256::from_be_slice(&result.output[1..]), U256::from(left - left / 64));
}

#[test]
fn value_moves_with_a_stipend_and_a_new_account_costs() {
    let fresh = address!("00000000000000000000000000000000000000f1");
    let cost = |to, world: &mut World| {
        let result = world.call_with(&at(CALL_WITH_VALUE, to, &[]), 100_000);
        assert!(result.is_success());
        100_000 - result.gas_left.get()
    };
    let mut world = world();
    // The callee of a plain account leaves the stipend of 2,300 unused.
    assert_eq!(cost(fresh, &mut world), 2_600 + 9_000 + 25_000 - 2_300);
    assert_eq!(cost(fresh, &mut world), 100 + 9_000 - 2_300);
    assert_eq!(world.journal.balance(&fresh).unwrap(), U256::from(10));
}

#[test]
fn a_call_without_the_balance_fails_and_keeps_its_gas() {
    let mut world = world();
    world.journal.set_balance(&PROBE, U256::from(4)).unwrap();
    let result = world.call_with(&at(CALL_WITH_VALUE, OTHER, &[STORE]), 100_000);
    assert_eq!(result.output.as_ref(), [0]);
    assert!(result.gas_left.get() > 80_000);
}

#[test]
fn creation_deploys_the_marker_at_the_nonces_address() {
    let mut world = world();
    let init_code = Marker(ID).init_code(&[STORE]);
    let message = Message::create(ALICE, 3, U256::from(2), &init_code, Gas::new(100_000));
    let result = world.run(&message);
    assert!(result.is_success());
    assert_eq!(message.to, ALICE.create(3));
    assert_eq!(world.journal.code(&message.to).unwrap().as_ref(), Marker(ID).to_bytes());
    assert_eq!(world.journal.nonce(&message.to).unwrap(), 1);
    assert_eq!(world.journal.balance(&message.to).unwrap(), U256::from(2));
    assert_eq!(world.stored(message.to), U256::from(7));
    assert_eq!(100_000 - result.gas_left.get(), 22_100 + 6 * 200);
    let again = world.run(&message);
    assert_eq!(again.outcome, FrameOutcome::Halt(HaltReason::Collision));
}

#[test]
fn contracts_create_contracts() {
    let mut world = world();
    let result = world.call(&[[CREATE].as_slice(), &Marker(ID).init_code(&[])].concat());
    assert_eq!(result.output.as_ref(), PROBE.create(1).as_slice());
    assert_eq!(world.journal.nonce(&PROBE).unwrap(), 2);
    assert_eq!(world.journal.code(&PROBE.create(1)).unwrap().as_ref(), Marker(ID).to_bytes());
}

#[test]
fn code_that_is_no_template_halts_with_a_reason() {
    let unknown = Marker(TemplateId::new(0x8001, 9)).init_code(&[]);
    let cases = [
        (Bytes::from_static(&[0x60, 0x80, 0x60, 0x40]), HaltReason::EvmBytecodeUnsupported),
        (Bytes::from_static(&[0xef, 0x00, 1, 2, 3, 4]), HaltReason::InvalidCode),
        (unknown, HaltReason::UnknownTemplate { id: 0x8001, version: 9 }),
        (vec![0; 49_153].into(), HaltReason::InitCodeSize),
    ];
    for (code, want) in cases {
        let mut world = world();
        let created = world.run(&Message::create(ALICE, 0, U256::ZERO, &code, Gas::new(100_000)));
        assert_eq!(created.outcome, FrameOutcome::Halt(want));
        if want != HaltReason::InitCodeSize {
            world.journal.set_code(&OTHER, code).unwrap();
            let called = world.run(&Message::call(ALICE, OTHER, U256::ZERO, &[], Gas::new(100_000)));
            assert_eq!(called.outcome, FrameOutcome::Halt(want));
        }
    }
}

#[test]
fn exact_gas_suffices_and_one_less_does_not() {
    let exact = 22_100;
    for (name, gas, want) in
        [("exact", exact, FrameOutcome::Success), ("one short", exact - 1, FrameOutcome::Halt(HaltReason::OutOfGas))]
    {
        assert_eq!(world().call_with(&[STORE], gas).outcome, want, "{name}");
    }
}

#[test]
fn the_tracer_shows_every_frame() {
    let mut world = world();
    let mut tracer = CallTracer::new().with_logs(true);
    let input = at(CALL, OTHER, &at(STATIC_CALL, PROBE, &[LOG]));
    let message = Message::call(ALICE, PROBE, U256::from(1), &input, Gas::new(100_000));
    let World { journal, block, registry } = &mut world;
    let result = execute_inspected(journal, block, registry, &message, &mut tracer).unwrap();
    let trace = tracer.into_trace().unwrap();
    assert_eq!((trace.kind, trace.from, trace.to), ("CALL", ALICE, PROBE));
    assert_eq!(trace.gas_used.to::<u64>(), 100_000 - result.gas_left.get());
    let [middle] = trace.calls.as_slice() else { panic!("one call inside") };
    let [inner] = middle.calls.as_slice() else { panic!("one call inside that") };
    assert_eq!((inner.kind, inner.value), ("STATICCALL", None));
    assert_eq!(inner.error.as_deref(), Some("write protection"));
    assert!(inner.logs.is_empty());
    let json = serde_json::to_value(&trace).unwrap();
    assert_eq!(json["value"], "0x1");
    assert_eq!(json["gas"], "0x186a0");
    assert_eq!(json["calls"][0]["calls"][0]["type"], "STATICCALL");
    assert!(json.get("error").is_none());
}

#[test]
fn the_tracer_keeps_logs_and_reasons_and_can_stay_on_top() {
    let mut world = world();
    let World { journal, block, registry } = &mut world;
    let mut trace = |input: &[u8], tracer: CallTracer| {
        let mut tracer = tracer;
        let message = Message::call(ALICE, PROBE, U256::ZERO, input, Gas::new(200_000));
        execute_inspected(journal, block, registry, &message, &mut tracer).unwrap();
        tracer.into_trace().unwrap()
    };
    let logged = trace(&at(CALL, OTHER, &[LOG]), CallTracer::new().with_logs(true));
    assert_eq!(logged.calls[0].logs[0].data.as_ref(), b"hello");
    let reverted = trace(&[STORE_AND_REVERT], CallTracer::new().with_logs(true));
    assert_eq!(reverted.error.as_deref(), Some("execution reverted"));
    assert_eq!(reverted.revert_reason.as_deref(), Some("no"));
    assert!(reverted.logs.is_empty());
    let top = trace(&at(CALL, OTHER, &[LOG]), CallTracer::new().with_only_outermost(true));
    assert!(top.calls.is_empty() && top.error.is_none());
}

proptest! {
    #[test]
    fn arbitrary_code_and_input_never_escape(code: Vec<u8>, input: Vec<u8>, gas in 0_u64..200_000) {
        let mut world = world();
        world.journal.set_code(&OTHER, code.clone().into()).unwrap();
        for message in [
            Message::call(ALICE, OTHER, U256::ZERO, &input, Gas::new(gas)),
            Message::create(ALICE, 0, U256::ZERO, &code, Gas::new(gas)),
        ] {
            let result = world.run(&message);
            prop_assert!(result.gas_left <= Gas::new(gas));
        }
    }
}
