//! What an operation is said to do is what it then does: operations of all templates, simulated and then mined.

mod choices;
mod compare;
mod governance;
mod operations;
mod pools;
mod sales;
mod signed;
mod timelocks;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use alloy_dyn_abi::DynSolValue;
use alloy_json_abi::{Function, StateMutability};
use alloy_sol_types::SolCall;
use proptest::prelude::*;

use self::{
    choices::Choices,
    compare::{check, check_estimate, kind_of},
    operations::{Aim, changing},
    world::{GAS_MAX, World, apply},
};
use crate::{
    chain::{AccountOverride, CallRequest, Simulation, StateOverrides},
    node::{BlockRef, Node, SimulateError},
    primitives::{Address, B256, Bytes, Gas, U256},
    templates::{
        self, Erc20Params, RecordRegistryParams, erc20::interface as erc20, record_registry::interface as registry,
    },
};

/// Transactions that a random case simulates and mines.
const OPERATIONS: usize = 16;

/// Histories whose operations reach everything.
const HISTORIES: u64 = 6;

/// Least share of the operations on each template that succeed, in percent.
const SUCCEEDED: u32 = 40;

/// Functions that nothing here can make succeed.
const NEVER: &[(&str, &str)] = &[
    // No ready-made template borrows.
    ("erc20-token", "flashLoan(address,address,uint256,bytes)"),
    // It takes tokens of one id at a time.
    ("auction", "onERC1155BatchReceived(address,address,uint256[],uint256[],bytes)"),
    // The wallet alone, by a transaction that an owner submits.
    ("multisig", "addOwner(address)"),
    ("multisig", "removeOwner(address)"),
    ("multisig", "replaceOwner(address,address)"),
    ("multisig", "changeRequirement(uint256)"),
    // Its factory alone, and a pool made alone has no factory.
    ("liquidity-pool", "initialize(address,address)"),
    // The timelock alone, by an operation: those that are executed do so.
    ("timelock-controller", "updateDelay(uint256)"),
    // The governor's timelock alone, by a proposal: those that are executed do so.
    ("governance-dao", "relay(address,uint256,bytes)"),
    ("governance-dao", "setVotingDelay(uint48)"),
    ("governance-dao", "setVotingPeriod(uint32)"),
    ("governance-dao", "setProposalThreshold(uint256)"),
    ("governance-dao", "updateQuorumNumerator(uint256)"),
    ("governance-dao", "updateTimelock(address)"),
    // It refuses tokens, which are its timelock's.
    ("governance-dao", "onERC721Received(address,address,uint256,bytes)"),
    ("governance-dao", "onERC1155Received(address,address,uint256,uint256,bytes)"),
    ("governance-dao", "onERC1155BatchReceived(address,address,uint256[],uint256[],bytes)"),
];

fn never_succeeds(template: &str, function: &str) -> bool {
    NEVER.contains(&(template, function))
}

/// Functions after which others can't succeed: they come last, in this order.
const LAST: [&str; 4] = ["pause", "unpause", "renounceRole", "renounceOwnership"];

/// Simulates and mines an operation: with its estimate as its limit half of the time.
fn check_one(world: &World, choices: &mut Choices, operation: CallRequest) -> (CallRequest, Simulation) {
    let limit = match choices.next(2) {
        0 => world.simulate(&operation, BlockRef::Pending).unwrap().gas_estimate,
        _ => None,
    };
    // What a call burns inside one that goes on depends on the limit: what is simulated has that of the transaction.
    let operation = operation.with_gas(limit.unwrap_or(GAS_MAX));
    let simulation = check(world, &operation);
    (operation, simulation)
}

/// Successes and all, by template and function.
#[derive(Default)]
struct Reached(BTreeMap<(String, String), (u32, u32)>);

impl Reached {
    fn note(&mut self, world: &World, operation: &CallRequest, simulation: &Simulation) {
        let Some(kind) = kind_of(world, operation) else { return };
        let (successes, all) = self.0.entry(kind).or_default();
        *successes += u32::from(simulation.outcome.is_success());
        *all += 1;
    }

    /// Returns what should have been reached and was not.
    fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.0.values().all(|(successes, all)| successes == all) {
            missing.push("an operation that fails".to_owned());
        }
        for template in templates::builtin().iter() {
            let of_template = self
                .0
                .iter()
                .filter(|((name, function), _)| name == template.name() && !never_succeeds(name, function));
            let (successes, all) = of_template.fold((0, 0), |sum, (_, count)| (sum.0 + count.0, sum.1 + count.1));
            if 100 * successes < SUCCEEDED * all.max(1) {
                missing.push(format!("{}: {successes} of {all} succeed", template.name()));
            }
            let abi = template.abi();
            let is_view = |function: &Function| {
                matches!(function.state_mutability, StateMutability::View | StateMutability::Pure)
            };
            let changing = abi.functions().filter(|function| !is_view(function)).map(Function::signature);
            for function in changing.chain(["constructor".to_owned()]) {
                let key = (template.name().to_owned(), function);
                let succeeds = self.0.get(&key).is_some_and(|(successes, _)| *successes > 0);
                if succeeds == never_succeeds(&key.0, &key.1) {
                    missing.push(format!("{}: {} succeeds: {succeeds}", key.0, key.1));
                }
            }
        }
        missing
    }
}

/// All functions of all templates that may change something, in an order of their own in each history, and creations: each is first drawn until
/// it succeeds, then once as it comes.
#[test]
fn every_function_does_what_its_simulation_says() {
    let mut reached = Reached::default();
    for seed in 0..HISTORIES {
        let (world, mut choices) = (World::new(), Choices::new(seed));
        let mut all: Vec<_> = world
            .contracts
            .iter()
            .flat_map(|contract| changing(contract).into_iter().map(move |function| (contract, Some(function))))
            .chain(world.contracts.iter().map(|contract| (contract, None)))
            .collect();
        choices.shuffle(&mut all);
        all.sort_by_key(|(_, function)| {
            function.as_ref().and_then(|function| LAST.iter().position(|name| *name == function.name))
        });
        for (contract, function) in all {
            for aim in [Aim::Success, Aim::Anything] {
                let operation = match &function {
                    // That it fails whatever is drawn, one history shows.
                    Some(function) if seed > 0 && never_succeeds(&contract.name, &function.signature()) => {
                        world.call(contract, function, &mut choices, Aim::Anything)
                    }
                    Some(function) => world.call(contract, function, &mut choices, aim),
                    None => world.creation_of(&contract.name, &mut choices, aim),
                };
                let (operation, simulation) = check_one(&world, &mut choices, operation);
                reached.note(&world, &operation, &simulation);
            }
        }
    }
    assert!(reached.missing().is_empty(), "{:#?}\n{:#?}", reached.missing(), reached.0);
}

/// What was simulated at a height is simulated at it again when the chain has gone on.
#[test]
fn an_older_height_is_simulated_in_its_own_state() {
    let (world, mut choices) = (World::new(), Choices::new(7));
    let mut then = Vec::new();
    for _ in 0..OPERATIONS {
        let operation = world.operation(&mut choices);
        let height = world.node.view().head().height();
        let simulation = world.simulate(&operation, BlockRef::Latest).unwrap();
        then.push((height, operation.clone(), simulation, world.state(BlockRef::Latest)));
        check_one(&world, &mut choices, operation);
    }
    let mut differ_now = 0;
    for (height, operation, simulation, state) in then {
        let at = BlockRef::Number(height);
        assert_eq!(world.simulate(&operation, at).unwrap(), simulation, "{operation:?} at {height}");
        assert_eq!(world.state(at), state, "{height}");
        // Each value before is that of the state then.
        apply(&mut state.clone(), &simulation.changes);
        let now = world.simulate(&operation, BlockRef::Latest);
        differ_now += u32::from(now.is_ok_and(|now| now.changes != simulation.changes));
    }
    assert!(differ_now > 8, "the state went on: {differ_now}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Every operation is run some twenty times to find its least gas.
    #[test]
    fn an_operation_does_what_its_simulation_says(seed: u64) {
        let (world, mut choices) = (World::new(), Choices::new(seed));
        for _ in 0..OPERATIONS {
            let operation = world.operation(&mut choices);
            check_one(&world, &mut choices, operation);
        }
    }

    #[test]
    fn one_unit_of_gas_less_than_the_estimate_is_too_little(seed: u64) {
        let (world, mut choices) = (World::new(), Choices::new(seed));
        for _ in 0..OPERATIONS {
            let operation = world.operation(&mut choices);
            if let Some(gas) = world.simulate(&operation, BlockRef::Pending).unwrap().gas_estimate {
                check_estimate(&world, &operation, gas);
            }
        }
    }
}

#[test]
fn every_slot_that_an_operation_changes_has_a_name() {
    let world = World::new();
    let mut choices = Choices::new(1);
    let (mut changed, mut named) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..30 * world.contracts.len() {
        let operation = world.operation(&mut choices);
        let simulation = world.simulate(&operation, BlockRef::Pending).unwrap();
        let own = simulation.changes.iter().filter(|change| change.template.is_some());
        for change in own.filter(|change| !change.storage.is_empty()) {
            changed.insert(change.template.clone().unwrap());
            for slot in &change.storage {
                let place = format!(
                    "{} {:#x} {:?}",
                    change.address,
                    slot.slot,
                    templates::builtin().describe_call(&operation.input)
                );
                assert!(!slot.values.is_empty(), "no name for a slot: {place}");
                named.extend(slot.values.iter().map(|value| value.name.split(['[', '.']).next().unwrap().to_owned()));
            }
        }
    }
    let changing = [
        "erc20-token",
        "erc721-nft",
        "erc1155-multi",
        "erc4626-vault",
        "vesting-wallet",
        "record-registry",
        "liquidity-pool",
        "liquidity-factory",
        "timelock-controller",
        "governance-dao",
    ];
    for template in changing {
        assert!(changed.contains(template), "{template} in {changed:?}");
    }
    for name in ["_balances", "_allowances", "_roles", "_owners", "_totalSupply"] {
        assert!(named.contains(name), "{name} in {named:?}");
    }
}

/// Random operations hardly come to a record of a collection.
#[test]
fn all_variables_of_records_are_named() {
    use registry::Access::{Anyone, RecordOwner};
    let node = Node::new();
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let contract = node.deploy(alice, RecordRegistryParams::new(alice).init_code()).unwrap();
    let (collection, id, other) = (B256::repeat_byte(1), B256::repeat_byte(2), B256::repeat_byte(3));
    let rules = registry::Rules { create: Anyone, update: RecordOwner, remove: Anyone, transfer: RecordOwner };
    let data = Bytes::from(vec![7; 70]);
    let operations = [
        registry::createCollectionCall { collection, name: "word ".repeat(9), rules }.abi_encode(),
        registry::createCall { collection, id, data: data.clone() }.abi_encode(),
        registry::createCall { collection, id: other, data: Bytes::new() }.abi_encode(),
        registry::updateCall { collection, id, expectedVersion: 1, data }.abi_encode(),
        registry::transferRecordCall { collection, id, expectedVersion: 2, newOwner: bob }.abi_encode(),
        registry::removeCall { collection, id, expectedVersion: 3 }.abi_encode(),
    ]
    .map(|input| CallRequest::call(contract.address(), input).with_from(alice));
    let simulations = node.view().simulate(&operations, BlockRef::Latest, &StateOverrides::new()).unwrap();
    assert!(simulations.iter().all(|simulation| simulation.outcome.is_success()), "{simulations:#?}");
    let mut names = BTreeSet::new();
    let changes = simulations.iter().flat_map(|simulation| &simulation.changes);
    for slot in changes.filter(|change| change.address == contract.address()).flat_map(|change| &change.storage) {
        assert!(!slot.values.is_empty(), "no name for slot {:#x}", slot.slot);
        names.extend(slot.values.iter().map(|value| value.name.clone()));
    }
    let of_collection = |name: &str| format!("_collections[{collection}].{name}");
    let of_record = |name: &str| of_collection(&format!("records[{id}].{name}"));
    let want = [
        "_collectionIds[0]".to_owned(),
        of_collection("settings.update"),
        of_collection("name from byte 32"),
        of_collection("ids.length"),
        of_collection("ids[0]"),
        of_record("head.version"),
        of_record("versions[2].summary.author"),
        of_record("versions[2].data"),
        of_record("versions[2].data from byte 64"),
        of_record("versions[3].summary.dataVersion"),
    ];
    for name in want {
        assert!(names.contains(&name), "{name} in {names:#?}");
    }
}

#[test]
fn a_list_of_operations_sees_what_came_before_and_commits_nothing() {
    let node = Node::new();
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(100), alice).init_code()).unwrap();
    let send = |from, to, value| {
        let input = erc20::transferCall { to, value: U256::from(value) }.abi_encode();
        CallRequest::call(token.address(), input).with_from(from)
    };
    let operations = [send(alice, bob, 60), send(bob, alice, 50), send(bob, alice, 50)];
    let view = node.view();
    let [first, second, third] = &view.simulate(&operations, BlockRef::Latest, &StateOverrides::new()).unwrap()[..]
    else {
        panic!("one each")
    };
    assert_eq!(first.events[0].as_ref().unwrap().name, "Transfer");
    let balance = |simulation: &Simulation, of: Address| {
        let token = simulation.changes.iter().find(|change| change.address == token.address()).unwrap();
        let name = format!("_balances[{of}]");
        let values = token.storage.iter().flat_map(|slot| &slot.values);
        let value = values.into_iter().find(|value| value.name == name).unwrap();
        (value.text.before.clone(), value.text.after.clone())
    };
    assert_eq!(balance(first, bob), ("0".to_owned(), "60".to_owned()));
    assert_eq!(balance(second, bob), ("60".to_owned(), "10".to_owned()));
    let error = third.error.as_ref().unwrap();
    assert_eq!(error.name, "ERC20InsufficientBalance");
    assert_eq!(error.argument("needed"), Some(&DynSolValue::Uint(U256::from(50), 256)));
    assert_eq!((third.gas_estimate, third.trace.calls.len()), (None, 0));
    assert_eq!(token.call(erc20::balanceOfCall { account: bob }).unwrap(), U256::ZERO);
}

#[test]
fn an_operation_that_is_no_transaction_is_refused_with_its_index() {
    let node = Node::new();
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let gift = |value| CallRequest::call(bob, Bytes::new()).with_from(alice).with_value(value);
    let operations = [gift(U256::ONE), gift(U256::MAX)];
    let error = node.view().simulate(&operations, BlockRef::Latest, &StateOverrides::new()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("operation 1: ") && text.contains("funds"), "{text}");
    let gas = node.view().head().block().header().gas_limit;
    let operations = [gift(U256::ONE), gift(U256::ONE).with_gas(Gas::new(gas))];
    let error = node.view().simulate(&operations, BlockRef::Latest, &StateOverrides::new()).unwrap_err();
    assert!(error.to_string().starts_with("operation 1: "), "{error}");
}

#[test]
fn an_override_that_contradicts_itself_is_no_operations_error() {
    let node = Node::new();
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let both =
        AccountOverride { state: Some(BTreeMap::new()), state_diff: Some(BTreeMap::new()), ..Default::default() };
    let overrides = StateOverrides::from([(alice, AccountOverride::default()), (bob, both)]);
    let gift = CallRequest::call(bob, Bytes::new()).with_from(alice).with_value(U256::ONE);
    for operations in [vec![], vec![gift]] {
        let error = node.view().simulate(&operations, BlockRef::Latest, &overrides).unwrap_err();
        assert!(matches!(error, SimulateError::Override { address } if address == bob), "{error:?}");
        let words = format!("state override: account {bob} has both state and stateDiff; give one");
        assert_eq!(error.to_string(), words);
    }
}
