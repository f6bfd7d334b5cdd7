//! What an operation is said to do is what it then does: random operations of all templates, simulated and then mined.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use alloy_dyn_abi::{DynSolType, DynSolValue, JsonAbiExt as _};
use alloy_json_abi::{Function, JsonAbi};
use alloy_sol_types::SolCall;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{
    chain::{AccountDifference, CallRequest, Simulation, StateOverrides},
    node::{BlockRef, Node, SimulateError},
    primitives::{Address, B256, Bytes, Gas, U256, keccak256},
    sim::{SimRng, Streams},
    templates::{
        self, Erc20Params, LiquidityRouter, RecordRegistryParams, erc20::interface as erc20,
        record_registry::interface as registry,
    },
    vm::Descriptor,
};

/// Transactions that a case simulates and mines after the deployments.
const OPERATIONS: usize = 16;

/// Largest gas limit of a transaction (EIP-7825).
const GAS_MAX: Gas = Gas::new(1 << 24);

/// Choices of a case, drawn from a seed.
struct Choices(SimRng);

impl Choices {
    fn new(seed: u64) -> Self {
        Self(Streams::new(seed).stream("operations"))
    }

    fn next(&mut self, below: usize) -> usize {
        self.0.below(below as u64) as usize
    }

    fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.next(items.len())].clone()
    }
}

/// A contract of a template.
struct Deployed {
    name: String,
    address: Address,
    abi: JsonAbi,
}

/// A chain with a contract of every template.
struct World {
    node: Node,
    contracts: Vec<Deployed>,
}

impl World {
    fn new() -> Self {
        let mut world = Self { node: Node::new(), contracts: Vec::new() };
        let mut templates: Vec<_> = templates::builtin().iter().collect();
        // It needs another that comes later.
        templates.sort_by_key(|template| template.name() == LiquidityRouter::NAME);
        for template in templates {
            let descriptor = Descriptor::of(&**template);
            let init_code = descriptor.encode(&world.parameters(&descriptor), world.node.accounts()[0]);
            let init_code = init_code.unwrap_or_else(|errors| panic!("{}: {errors:?}", descriptor.name));
            let deployed = world.node.deploy(world.node.accounts()[0], init_code);
            let deployed = deployed.unwrap_or_else(|error| panic!("{}: {error}", descriptor.name));
            world.contracts.push(Deployed { name: descriptor.name, address: deployed.address(), abi: descriptor.abi });
        }
        world
    }

    /// The parameters without a default, and all features on.
    fn parameters(&self, descriptor: &Descriptor) -> Map<String, Value> {
        let deployed = |name| json!(self.contracts.iter().find(|contract| contract.name == name).unwrap().address);
        let known = |name: &str| match name {
            "name" => json!("Gold"),
            "symbol" => json!("GLD"),
            "uri" => json!("https://example.org/{id}"),
            "totalSupply" => json!("1000000"),
            "asset" | "token0" => deployed("erc20-token"),
            "token1" => deployed("erc4626-vault"),
            "factory" => deployed("liquidity-factory"),
            "WETH" => deployed("wrapped-native"),
            "beneficiary" => json!(self.node.accounts()[1]),
            "start" => json!("0"),
            "duration" => json!("1000"),
            other => panic!("{}: a value for parameter {other} is missing here", descriptor.name),
        };
        let required = descriptor
            .constructor
            .iter()
            .filter(|parameter| parameter.default.is_none() && parameter.name != "features");
        let mut values: Map<String, Value> =
            required.map(|parameter| (parameter.name.clone(), known(&parameter.name))).collect();
        if let Some(features) = descriptor.constructor.iter().find(|parameter| parameter.name == "features") {
            let all = features.members.iter().map(|feature| json!(feature.name));
            values.insert("features".to_owned(), all.collect());
        }
        values
    }

    fn operation(&self, choices: &mut Choices) -> CallRequest {
        let accounts = self.node.accounts();
        // The first account has all roles: it is chosen half of the time.
        let from = if choices.next(2) == 0 { accounts[0] } else { choices.one_of(&accounts[..4]) };
        let value = if choices.next(8) == 0 { U256::from(choices.next(1_000)) } else { U256::ZERO };
        let contract = &self.contracts[choices.next(self.contracts.len())];
        let functions: Vec<&Function> = contract.abi.functions().collect();
        let function = choices.one_of(&functions);
        let arguments: Vec<_> = function
            .inputs
            .iter()
            .map(|input| self.argument(&input.selector_type().parse().unwrap(), choices))
            .collect();
        let input: Bytes = function.abi_encode_input(&arguments).unwrap().into();
        CallRequest::call(contract.address, input)
            .with_from(from)
            .with_value(value)
            .with_gas(GAS_MAX)
            .with_fees(3_000_000_000, 1_000)
    }

    fn argument(&self, ty: &DynSolType, choices: &mut Choices) -> DynSolValue {
        match ty {
            DynSolType::Bool => DynSolValue::Bool(choices.next(2) == 0),
            DynSolType::Address => {
                let contracts = self.contracts.iter().map(|contract| contract.address);
                let known: Vec<_> = self.node.accounts()[..4].iter().copied().chain(contracts).collect();
                DynSolValue::Address(choices.one_of(&known))
            }
            DynSolType::Uint(bits) => {
                let numbers = [0, 1, 2, 3, 10, 100, 1_000, u64::from(u32::MAX)];
                let number = U256::from(choices.one_of(&numbers));
                DynSolValue::Uint(number & (U256::MAX >> (256 - *bits)), *bits)
            }
            DynSolType::FixedBytes(len) => {
                let roles = ["MINTER_ROLE", "PAUSER_ROLE", "URI_SETTER_ROLE"].map(keccak256);
                let words = [B256::ZERO, roles[0], roles[1], roles[2]];
                DynSolValue::FixedBytes(choices.one_of(&words), *len)
            }
            DynSolType::Bytes => DynSolValue::Bytes(vec![7; choices.one_of(&[0, 4, 33])]),
            DynSolType::String => DynSolValue::String("word ".repeat(choices.one_of(&[0, 1, 9]))),
            DynSolType::Array(element) => {
                let len = choices.next(3);
                DynSolValue::Array((0..len).map(|_| self.argument(element, choices)).collect())
            }
            DynSolType::Tuple(members) => {
                DynSolValue::Tuple(members.iter().map(|member| self.argument(member, choices)).collect())
            }
            other => panic!("no values of type {other} yet"),
        }
    }

    fn simulate(&self, operation: &CallRequest) -> Result<Simulation, SimulateError> {
        let operations = core::slice::from_ref(operation);
        let simulations = self.node.view().simulate(operations, BlockRef::Pending, &StateOverrides::new())?;
        Ok(simulations.into_iter().next().unwrap())
    }

    /// Balances, nonces, code hashes and slots of all accounts.
    fn state(&self) -> BTreeMap<Address, (U256, u64, B256, BTreeMap<U256, U256>)> {
        let state = self.node.view().state(BlockRef::Latest).unwrap();
        let mut accounts = BTreeMap::new();
        state
            .for_each_account(&mut |address, account| {
                accounts.insert(address, (account.balance, account.nonce, account.code_hash, BTreeMap::new()));
                ControlFlow::Continue(())
            })
            .unwrap();
        for (address, (.., slots)) in &mut accounts {
            state
                .for_each_slot(address, &mut |slot, value| {
                    slots.insert(slot, value);
                    ControlFlow::Continue(())
                })
                .unwrap();
        }
        accounts
    }
}

/// Applies the differences of a simulation to a state.
fn apply(state: &mut BTreeMap<Address, (U256, u64, B256, BTreeMap<U256, U256>)>, changes: &[AccountDifference]) {
    for change in changes {
        let empty = (U256::ZERO, 0, crate::state::EMPTY_CODE_HASH, BTreeMap::new());
        let (balance, nonce, code_hash, slots) = state.entry(change.address).or_insert(empty);
        if let Some(changed) = &change.balance {
            assert_eq!(*balance, changed.before, "{}", change.address);
            *balance = changed.after;
        }
        if let Some(changed) = &change.nonce {
            assert_eq!(*nonce, changed.before, "{}", change.address);
            *nonce = changed.after;
        }
        if let Some(changed) = &change.code_hash {
            *code_hash = changed.after;
        }
        for slot in &change.storage {
            assert_eq!(slots.remove(&slot.slot).unwrap_or_default(), slot.word.before, "{}", change.address);
            if !slot.word.after.is_zero() {
                slots.insert(slot.slot, slot.word.after);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Half a minute in an unoptimised build: every operation is run some twenty times to find its least gas.
    #[test]
    fn an_operation_does_what_its_simulation_says(seed: u64) {
        let (world, mut choices) = (World::new(), Choices::new(seed));
        for _ in 0..OPERATIONS {
            let operation = world.operation(&mut choices);
            let ample = world.simulate(&operation).unwrap();
            // What a call burns inside one that goes on depends on the limit: simulate again with that of the transaction.
            let operation = operation.with_gas(ample.gas_estimate.unwrap_or(Gas::new(1_000_000)));
            let simulation = world.simulate(&operation).unwrap();
            prop_assert_eq!(&simulation.outcome.output, &ample.outcome.output);
            prop_assert_eq!(&simulation.outcome.logs, &ample.outcome.logs);
            let mut want = world.state();
            apply(&mut want, &simulation.changes);

            let mined = world.node.receipt(world.node.send_request(operation.clone()).unwrap()).unwrap().unwrap();
            prop_assert_eq!(mined.is_success(), simulation.outcome.is_success(), "{:?}", simulation);
            prop_assert_eq!(mined.logs(), &simulation.outcome.logs[..]);
            prop_assert_eq!(mined.receipt().gas_used, simulation.outcome.gas_used, "{:?}", operation);
            prop_assert_eq!(world.state(), want, "{:?}", simulation);
        }
    }

    #[test]
    fn one_unit_of_gas_less_than_the_estimate_is_too_little(seed: u64) {
        let (world, mut choices) = (World::new(), Choices::new(seed));
        for _ in 0..OPERATIONS {
            let operation = world.operation(&mut choices);
            let Some(gas) = world.simulate(&operation).unwrap().gas_estimate else { continue };
            let enough = world.simulate(&operation.clone().with_gas(gas)).unwrap().outcome;
            prop_assert!(enough.is_success());
            // A contract that goes on when a call of its own fails, as a multicall may, succeeds with less, but does not do the same.
            if let Ok(less) = world.simulate(&operation.with_gas(Gas::new(gas.get() - 1))) {
                let is_same = less.outcome.output == enough.output && less.outcome.logs == enough.logs;
                prop_assert!(!(less.outcome.is_success() && is_same));
            }
        }
    }
}

#[test]
fn every_slot_that_an_operation_changes_has_a_name() {
    let world = World::new();
    let mut choices = Choices::new(1);
    let (mut changed, mut named) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..400 * world.contracts.len() {
        let operation = world.operation(&mut choices);
        let simulation = world.simulate(&operation).unwrap();
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
    for template in ["erc20-token", "erc721-nft", "erc1155-multi", "erc4626-vault", "liquidity-pool", "wrapped-native"]
    {
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
