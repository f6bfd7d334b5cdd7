//! OpenZeppelin's TimelockController: `timelock-controller`.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use chainbox::templates::TimelockControllerParams;
use proptest::{prelude::*, sample::select};

use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, Answer, PERSONS, contract, person, receiver},
    suite::{Creation, Scene, Suite},
    values::{self, a_person, sender},
};

sol! {
    function getOperationState(bytes32 id);
    function getMinDelay();
    function hashOperation(address target, uint256 value, bytes data, bytes32 predecessor, bytes32 salt);
    function hashOperationBatch(address[] targets, uint256[] values, bytes[] payloads, bytes32 predecessor, bytes32 salt);
    function schedule(address target, uint256 value, bytes data, bytes32 predecessor, bytes32 salt, uint256 delay);
    function scheduleBatch(address[] targets, uint256[] values, bytes[] payloads, bytes32 predecessor, bytes32 salt, uint256 delay);
    function cancel(bytes32 id);
    function execute(address target, uint256 value, bytes payload, bytes32 predecessor, bytes32 salt);
    function executeBatch(address[] targets, uint256[] values, bytes[] payloads, bytes32 predecessor, bytes32 salt);
    function updateDelay(uint256 newDelay);
    function grantRole(bytes32 role, address account);
    function revokeRole(bytes32 role, address account);
    function renounceRole(bytes32 role, address callerConfirmation);
    function onERC721Received(address operator, address from, uint256 id, bytes data);
    function onERC1155Received(address operator, address from, uint256 id, uint256 amount, bytes data);
    function onERC1155BatchReceived(address operator, address from, uint256[] ids, uint256[] amounts, bytes data);
}

const PROPOSER: usize = 1;
const EXECUTOR: usize = 2;

/// States of an operation.
const UNSET: u64 = 0;
const WAITING: u64 = 1;
const READY: u64 = 2;

#[derive(Clone, Debug)]
pub struct Timelock;

/// What an operation of the pool may be, some of which fail.
#[derive(Clone, Debug)]
struct Planned {
    calls: Vec<(Address, U256, Bytes)>,
    is_batch: bool,
    predecessor: B256,
    salt: B256,
}

/// What is wrong with the lists of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Flaw {
    ShortValues,
    ShortPayloads,
    /// The upper bytes of the last target are not zero.
    DirtyTarget,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Schedule { from: Address, choice: Choice, more_delay: i64, flaw: Option<Flaw> },
    Execute { from: Address, choice: Choice, value: u64, flaw: Option<Flaw> },
    Cancel { from: Address, choice: Choice },
    UpdateDelay { from: Address, delay: u64 },
    Grant { from: Address, role: B256, account: Address },
    Revoke { from: Address, role: B256, account: Address },
    Renounce { from: Address, role: B256, account: Option<Address> },
    Receive { from: Address, kind: u8, data: Bytes },
    Pay { from: Address, value: u64 },
}

/// An operation of the pool: the one with this number, or the next one that is in the right state.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    index: usize,
    is_apt: bool,
}

fn choice() -> impl Strategy<Value = Choice> {
    (0_usize..64, proptest::bool::weighted(0.85)).prop_map(|(index, is_apt)| Choice { index, is_apt })
}

fn flaw() -> impl Strategy<Value = Option<Flaw>> {
    let flaw = select(vec![Flaw::ShortValues, Flaw::ShortPayloads, Flaw::DirtyTarget]);
    proptest::option::weighted(0.1, flaw)
}

fn roles() -> Vec<B256> {
    let names = ["PROPOSER_ROLE", "EXECUTOR_ROLE", "CANCELLER_ROLE"];
    names.map(values::role).into_iter().chain([B256::ZERO]).collect()
}

fn pool() -> Vec<Planned> {
    let timelock = contract(0);
    let single = |target, value: u64, data: Vec<u8>| {
        let calls = vec![(target, U256::from(value), data.into())];
        Planned { calls, is_batch: false, predecessor: B256::ZERO, salt: B256::ZERO }
    };
    let batch = |calls: Vec<(Address, u64, Vec<u8>)>| {
        let calls = calls.into_iter().map(|(target, value, data)| (target, U256::from(value), data.into())).collect();
        Planned { calls, is_batch: true, predecessor: B256::ZERO, salt: B256::repeat_byte(1) }
    };
    let open = (values::role("EXECUTOR_ROLE"), Address::ZERO);
    let pay = single(person(3), 10, vec![]);
    let (first, unset) = (pay.id(), B256::repeat_byte(5));
    let next = Planned { predecessor: first, ..single(person(2), 0, vec![1, 2, 3]) };
    let again = executeCall {
        target: person(2),
        value: U256::ZERO,
        payload: vec![1, 2, 3].into(),
        predecessor: first,
        salt: B256::ZERO,
    };
    vec![
        pay,
        Planned { salt: B256::repeat_byte(2), ..single(receiver(Answer::Accept), 5, vec![]) },
        single(receiver(Answer::RevertWithReason), 1, vec![]),
        single(receiver(Answer::RevertEmpty), 0, vec![]),
        single(timelock, 0, updateDelayCall { newDelay: U256::from(20) }.abi_encode()),
        single(timelock, 0, updateDelayCall { newDelay: U256::ZERO }.abi_encode()),
        single(timelock, 0, grantRoleCall { role: open.0, account: open.1 }.abi_encode()),
        batch(vec![(person(3), 1, vec![]), (receiver(Answer::Accept), 2, vec![])]),
        batch(vec![]),
        next,
        batch(vec![(timelock, 0, cancelCall { id: first }.abi_encode()), (person(1), 1, vec![])]),
        batch(vec![(person(3), 1, vec![]), (receiver(Answer::Panic), 0, vec![])]),
        single(person(3), 1_000_000_000, vec![]),
        batch(vec![(timelock, 0, revokeRoleCall { role: open.0, account: open.1 }.abi_encode())]),
        Planned { salt: B256::repeat_byte(3), ..single(timelock, 0, again.abi_encode()) },
        Planned { predecessor: unset, ..batch(vec![(person(2), 1, vec![])]) },
        Planned { salt: B256::repeat_byte(4), ..batch(vec![(receiver(Answer::NoValue), 0, vec![])]) },
    ]
}

impl Planned {
    fn lists(&self) -> (Vec<Address>, Vec<U256>, Vec<Bytes>) {
        let (targets, rest): (Vec<_>, Vec<_>) =
            self.calls.iter().cloned().map(|(target, value, data)| (target, (value, data))).unzip();
        let (values, payloads) = rest.into_iter().unzip();
        (targets, values, payloads)
    }

    fn id(&self) -> B256 {
        if self.is_batch {
            let (targets, values, payloads) = self.lists();
            return keccak256((targets, values, payloads, self.predecessor, self.salt).abi_encode_params());
        }
        let (target, value, data) = self.calls[0].clone();
        keccak256((target, value, data, self.predecessor, self.salt).abi_encode_params())
    }

    fn schedule(&self, delay: U256, flaw: Option<Flaw>) -> Vec<u8> {
        let (predecessor, salt) = (self.predecessor, self.salt);
        if self.is_batch {
            let (targets, values, payloads) = flawed(self.lists(), flaw);
            let call = scheduleBatchCall { targets, values, payloads, predecessor, salt, delay };
            return dirtied(call.abi_encode(), 6, flaw);
        }
        let (target, value, data) = self.calls[0].clone();
        scheduleCall { target, value, data, predecessor, salt, delay }.abi_encode()
    }

    fn execute(&self, flaw: Option<Flaw>) -> Vec<u8> {
        let (predecessor, salt) = (self.predecessor, self.salt);
        if self.is_batch {
            let (targets, values, payloads) = flawed(self.lists(), flaw);
            let call = executeBatchCall { targets, values, payloads, predecessor, salt };
            return dirtied(call.abi_encode(), 5, flaw);
        }
        let (target, value, payload) = self.calls[0].clone();
        executeCall { target, value, payload, predecessor, salt }.abi_encode()
    }
}

type Lists = (Vec<Address>, Vec<U256>, Vec<Bytes>);

fn flawed((targets, mut values, mut payloads): Lists, flaw: Option<Flaw>) -> Lists {
    match flaw {
        Some(Flaw::ShortValues) => drop(values.pop()),
        Some(Flaw::ShortPayloads) => drop(payloads.pop()),
        Some(Flaw::DirtyTarget) | None => {}
    }
    (targets, values, payloads)
}

/// Sets a bit that no address has in the first target, which follows so many words and the length of the list.
fn dirtied(mut input: Vec<u8>, words: usize, flaw: Option<Flaw>) -> Vec<u8> {
    if let Some(Flaw::DirtyTarget) = flaw {
        input[4 + 32 * (words + 1)] = 1;
    }
    input
}

impl Choice {
    fn planned(self, scene: &mut Scene<'_>, states: &[u64]) -> Planned {
        let pool = pool();
        let count = pool.len();
        let all = (0..count).map(|offset| &pool[(self.index + offset) % count]);
        let mut is_apt = |planned: &&Planned| {
            let state = scene.read(contract(0), &getOperationStateCall { id: planned.id() });
            states.iter().any(|apt| state == U256::from(*apt))
        };
        let apt = all.into_iter().find(|planned| self.is_apt && is_apt(planned));
        apt.unwrap_or(&pool[self.index % count]).clone()
    }
}

impl Suite for Timelock {
    type Setup = TimelockControllerParams;
    type Operation = Operation;

    const CONTRACT: &'static str = "TimelockController";
    const UNREACHABLE: &'static [&'static str] = &[
        // They accept everything.
        "onERC721Received(address,address,uint256,bytes)",
        "onERC1155Received(address,address,uint256,uint256,bytes)",
        "onERC1155BatchReceived(address,address,uint256[],uint256[],bytes)",
    ];
    const WITHOUT_EFFECT: &'static [&'static str] = &[
        "onERC721Received(address,address,uint256,bytes)",
        "onERC1155Received(address,address,uint256,uint256,bytes)",
        "onERC1155BatchReceived(address,address,uint256[],uint256[],bytes)",
    ];

    fn setups() -> BoxedStrategy<TimelockControllerParams> {
        let delay = prop_oneof![5 => Just(0_u64), 2 => Just(30), 1 => Just(1_000)];
        let executors = prop_oneof![3 => Just(vec![person(EXECUTOR)]), 1 => Just(vec![Address::ZERO])];
        let admin = prop_oneof![3 => Just(Some(person(ADMIN))), 1 => Just(None)];
        let proposers = prop_oneof![8 => Just(vec![person(PROPOSER)]), 1 => Just(vec![person(PROPOSER); 2])];
        (delay, proposers, executors, admin)
            .prop_map(|(delay, proposers, executors, admin)| TimelockControllerParams {
                executors,
                admin,
                ..TimelockControllerParams::new(delay, proposers)
            })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        let by = values::mostly;
        let delay = prop_oneof![12 => 0_i64..40, 2 => Just(-1), 1 => Just(i64::MAX)];
        let role = || select(roles());
        let account = || prop_oneof![6 => a_person(), 1 => Just(contract(0)), 1 => Just(Address::ZERO)];
        prop_oneof![
            8 => (by(PROPOSER), choice(), delay, flaw())
                .prop_map(|(from, choice, more_delay, flaw)| Operation::Schedule { from, choice, more_delay, flaw }),
            12 => (by(EXECUTOR), choice(), 0_u64..20, flaw())
                .prop_map(|(from, choice, value, flaw)| Operation::Execute { from, choice, value, flaw }),
            2 => (by(PROPOSER), choice()).prop_map(|(from, choice)| Operation::Cancel { from, choice }),
            // The timelock itself, as an operation of its own would.
            1 => (prop_oneof![Just(contract(0)), a_person()], 0_u64..40)
                .prop_map(|(from, delay)| Operation::UpdateDelay { from, delay }),
            1 => (by(ADMIN), role(), account()).prop_map(|(from, role, account)| Operation::Grant { from, role, account }),
            1 => (by(ADMIN), role(), account()).prop_map(|(from, role, account)| Operation::Revoke { from, role, account }),
            1 => (a_person(), role(), proptest::option::weighted(0.2, account()))
                .prop_map(|(from, role, account)| Operation::Renounce { from, role, account }),
            1 => (sender(), 0_u8..3, values::data()).prop_map(|(from, kind, data)| Operation::Receive { from, kind, data }),
            1 => (a_person(), 0_u64..50).prop_map(|(from, value)| Operation::Pay { from, value }),
        ]
        .boxed()
    }

    fn reference(setup: &TimelockControllerParams) -> Vec<Creation> {
        vec![Creation::reference(Self::CONTRACT, &setup.encode())]
    }

    fn call(_: &TimelockControllerParams, operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let to = contract(0);
        let (mut value, one) = (U256::ZERO, U256::ONE);
        let (from, input) = match operation.clone() {
            Operation::Schedule { from, choice, more_delay, flaw } => {
                let least = scene.read(to, &getMinDelayCall {});
                let delay = match more_delay {
                    i64::MAX => U256::MAX,
                    more => least.saturating_add(U256::from(more.max(0))).saturating_sub(U256::from((-more).max(0))),
                };
                (from, choice.planned(scene, &[UNSET]).schedule(delay, flaw))
            }
            Operation::Execute { from, choice, value: sent, flaw } => {
                value = U256::from(sent);
                (from, choice.planned(scene, &[READY]).execute(flaw))
            }
            Operation::Cancel { from, choice } => {
                (from, cancelCall { id: choice.planned(scene, &[WAITING, READY]).id() }.abi_encode())
            }
            Operation::UpdateDelay { from, delay } => {
                (from, updateDelayCall { newDelay: U256::from(delay) }.abi_encode())
            }
            Operation::Grant { from, role, account } => (from, grantRoleCall { role, account }.abi_encode()),
            Operation::Revoke { from, role, account } => (from, revokeRoleCall { role, account }.abi_encode()),
            Operation::Renounce { from, role, account } => {
                (from, renounceRoleCall { role, callerConfirmation: account.unwrap_or(from) }.abi_encode())
            }
            Operation::Receive { from, kind: 0, data } => {
                (from, onERC721ReceivedCall { operator: from, from, id: one, data }.abi_encode())
            }
            Operation::Receive { from, kind: 1, data } => {
                (from, onERC1155ReceivedCall { operator: from, from, id: one, amount: one, data }.abi_encode())
            }
            Operation::Receive { from, data, .. } => {
                let call =
                    onERC1155BatchReceivedCall { operator: from, from, ids: vec![one], amounts: vec![one], data };
                (from, call.abi_encode())
            }
            Operation::Pay { from, value: sent } => {
                value = U256::from(sent);
                (from, Vec::new())
            }
        };
        Call { from, to, value, input: input.into() }
    }

    fn preparation(_: &TimelockControllerParams) -> Vec<Call> {
        vec![Call { from: person(ADMIN), to: contract(0), value: U256::from(500), input: Bytes::new() }]
    }

    fn keys(_: &TimelockControllerParams) -> Keys {
        let words = pool().iter().map(Planned::id).chain(roles()).chain([B256::repeat_byte(7)]).collect();
        Keys { addresses: values::accounts(), numbers: Vec::new(), words }
    }

    fn views(_: &TimelockControllerParams) -> Vec<Bytes> {
        let hash = |planned: &Planned| {
            let (predecessor, salt) = (planned.predecessor, planned.salt);
            let (targets, values, payloads) = planned.lists();
            let batch = hashOperationBatchCall { targets, values, payloads, predecessor, salt }.abi_encode();
            let single =
                planned.calls.first().cloned().map(|(target, value, data)| {
                    hashOperationCall { target, value, data, predecessor, salt }.abi_encode()
                });
            [Some(batch), single]
        };
        pool().iter().flat_map(hash).flatten().map(Bytes::from).collect()
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    const { assert!(EXECUTOR < PERSONS) };
    exercise::<Timelock>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Timelock>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    Differential::<Timelock> {
        creations: |setup| vec![Creation::new(setup.init_code())],
        own_slots: &[],
        regressions: "tests/openzeppelin/regressions/timelock.txt",
    }
    .run();
}
