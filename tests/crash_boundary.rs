//! `kill -9` around the blocks in which proposals are executed and parameters come into force.
//!
//! A child process is a node over RocksDB whose validators govern it: every block has a proposal of another gas limit and another
//! version of a module, votes on the one before, and executes the one before that. With proof of authority every block is a boundary, at which the
//! gas limit of the block changes; with PBFT every fourth. The parent kills it at seeded instants, most often inside a block's
//! write, opens the database and compares every block with what its proposals say; at the end a new node executes the whole chain anew.
//!
//! Sixteen kills a protocol, each a process that opens a database: some twelve seconds where others use the cores, too.
#![cfg(all(feature = "rocksdb", feature = "testing"))]

#[path = "crash/process.rs"]
mod process;

use core::time::Duration;
use std::{path::Path, sync::Arc};

use alloy_sol_types::SolCall;
use chainbox::{
    chain::{CallRequest, GenesisSpec},
    consensus::{ConsensusConfig, ConsensusKind, PbftConfig},
    node::{Database, Mining, Node},
    primitives::{Address, B256, Gas, Height, KeyPair, U256, ether},
    state::model,
    store::KeyValue,
    system::{
        governance::{
            GOVERNANCE_ADDRESS, GovernanceSpec, ProposalAction, ProposalRecord, ProposalState, VoteOption,
            interface::{self as governance, Change, Terms},
        },
        modules::{MODULES_ADDRESS, ModulesConfig, interface::moduleCall},
        parameters::{PARAMETERS_ADDRESS, Parameter, ParametersSpec, interface::parametersCall},
    },
};

use process::{Random, run_and_kill, say, store, told_by_parent};

const KILLS: u64 = 16;
/// Of them, at least so many inside a block's write.
const INSIDE: u64 = 4;
const GAS_LIMIT: u64 = 30_000_000;
/// PBFT's blocks between two boundaries.
const CHECKPOINT_EVERY: u64 = 4;
const MODULE: &str = "chain";

#[test]
fn a_process_killed_around_a_boundary_has_the_parameters_that_its_proposals_give() {
    std::thread::scope(|scope| {
        for (protocol, validators) in [(ConsensusKind::Poa, 1), (ConsensusKind::Pbft, 4)] {
            scope.spawn(move || kill_again_and_again(protocol, validators));
        }
    });
}

fn kill_again_and_again(protocol: ConsensusKind, validators: u32) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(0xb0da_4a27);
    let (mut acknowledged, mut kills, mut inside, mut executed) = (0, 0, 0, 0);
    for _ in 0..3 * KILLS {
        if kills >= KILLS && inside >= INSIDE {
            break;
        }
        let seen = run_and_kill(folder.path(), protocol, validators, &mut random);
        kills += 1;
        inside += u64::from(seen.begun > seen.acknowledged);
        acknowledged = acknowledged.max(seen.acknowledged);
        let (head, count) = check_database(folder.path(), protocol, validators);
        assert!(head >= acknowledged, "block {acknowledged} was acknowledged, the database has {head}");
        assert!(head <= acknowledged.max(seen.begun), "block {head} was never begun");
        assert!(count >= executed, "{executed} proposals were executed, now {count} are");
        (acknowledged, executed) = (head, count);
    }
    let name = protocol.name();
    println!("{name}: {kills} kills, {inside} inside a write; {acknowledged} blocks, {executed} executed proposals");
    assert!(kills >= KILLS && inside >= INSIDE, "{name}: {kills} kills, {inside} of them inside a write");
    assert!(executed > KILLS / 2, "{name}: {executed} proposals were executed");
    // Every rule and every root of the whole chain, by a node that trusts nothing, and it goes on.
    let node = open(Database::Store(store(folder.path())), protocol, validators);
    let dump = node.dump().unwrap();
    let fresh = open(Database::Memory, protocol, validators);
    fresh.load(&dump).unwrap();
    for node in [&node, &fresh] {
        (0..5).for_each(|_| govern(node));
        assert_eq!(check(node, protocol).0, acknowledged + 5, "{name}");
    }
    assert_eq!(node.view().head().hash(), fresh.view().head().hash(), "{name}");
}

/// The process that is killed.
#[test]
#[ignore = "runs as the child of the test above"]
fn child() {
    let (store, protocol, validators) = told_by_parent();
    let node = open(Database::Store(store), protocol, validators);
    loop {
        let height = node.view().head().height().next();
        govern(&node);
        say(&format!("done {height}"));
    }
}

fn voters(count: u32) -> Vec<KeyPair> {
    (0..count).map(|number| KeyPair::from_seed(u64::from(number), "voter")).collect()
}

fn open(database: Database, protocol: ConsensusKind, validators: u32) -> Node {
    let config = match protocol.on_demand() {
        ConsensusConfig::Pbft(_) => {
            let every = CHECKPOINT_EVERY;
            ConsensusConfig::Pbft(PbftConfig::default().with_period(Duration::ZERO).with_checkpoints(every, 2 * every))
        }
        other => other,
    };
    let genesis = voters(validators)
        .iter()
        .fold(GenesisSpec::new(31_337), |genesis, voter| genesis.with_balance(voter.address(), ether(1_000_000)));
    let mut genesis = genesis
        .with_parameters(ParametersSpec::new(GOVERNANCE_ADDRESS))
        .with_modules(ModulesConfig::new(GOVERNANCE_ADDRESS))
        .with_governance(GovernanceSpec::default().with_voting_period(2));
    // The voters' transactions are not signed.
    genesis.allow_interventions = true;
    Node::builder()
        .with_genesis(genesis)
        .with_gas_limit(Gas::new(GAS_LIMIT))
        .with_consensus(config)
        .with_validators(validators)
        .with_validator_keys(voters(validators))
        .with_database(database)
        .with_mining(Mining::Manual)
        .with_block_interval(Duration::from_secs(1))
        .build()
        .unwrap()
}

/// Makes a block with two proposals and votes on those of the block before; those before them end in it.
fn govern(node: &Node) {
    let height = node.view().head().height().next().get();
    let voters: Vec<Address> = node.validators().unwrap().iter().map(|record| record.address).collect();
    let proposer = first_voter();
    let send = |from: Address, input: Vec<u8>| {
        node.impersonate(from).unwrap();
        let request = CallRequest::call(GOVERNANCE_ADDRESS, input).with_from(from).with_gas(Gas::new(1_000_000));
        node.send_request(request).unwrap();
    };
    let count: u64 = view(node, governance::proposalCountCall {}).saturating_to();
    for id in count.saturating_sub(1).max(1)..=count {
        for voter in &voters {
            let (option, weight) = (VoteOption::Yes.code(), U256::ZERO);
            send(
                *voter,
                governance::voteCall { id: U256::from(id), option, weight, reason: String::new() }.abi_encode(),
            );
        }
    }
    let terms = || Terms { title: "Change".to_owned(), ..Terms::default() };
    let changes = vec![Change { parameter: Parameter::GasLimit.code(), value: U256::from(GAS_LIMIT + height) }];
    send(proposer, governance::proposeParameterChangeCall { terms: terms(), changes }.abi_encode());
    let (name, version) = (MODULE.to_owned(), u32::try_from(height).unwrap());
    let call = governance::proposeModuleEnableCall { terms: terms(), name, version, configHash: B256::ZERO };
    send(proposer, call.abi_encode());
    node.mine(1).unwrap();
}

fn first_voter() -> Address {
    voters(1)[0].address()
}

fn view<C: SolCall + Clone>(node: &Node, call: C) -> C::Return {
    node.contract(GOVERNANCE_ADDRESS, first_voter()).call(call).unwrap()
}

fn check_database(path: &Path, protocol: ConsensusKind, validators: u32) -> (u64, u64) {
    let store: Arc<dyn KeyValue> = store(path);
    check(&open(Database::Store(store), protocol, validators), protocol)
}

/// Compares every block with the proposals that were executed before it; returns the head's height and how many were.
fn check(node: &Node, protocol: ConsensusKind) -> (u64, u64) {
    let view_of = node.view();
    let head = view_of.head().clone();
    let height = head.height().get();
    let state = node.view().state(head.height().into()).unwrap();
    let root = head.block().header().state_root;
    assert_eq!((state.commit().root, model::rebuilt_root(&*state)), (root, root), "root of block {height}");
    let count: u64 = view(node, governance::proposalCountCall {}).saturating_to();
    assert_eq!(count, 2 * height, "two proposals a block");
    let records: Vec<ProposalRecord> = (1..=count)
        .map(|id| ProposalRecord::from_answer(view(node, governance::proposalCall { id: U256::from(id) })).unwrap())
        .collect();
    // What block `at` is executed by comes into force at the first boundary after it.
    let every = if protocol == ConsensusKind::Pbft { CHECKPOINT_EVERY } else { 1 };
    let limit_at = |at: u64| {
        let boundary = at / every * every;
        let executed = records.iter().filter_map(|record| match &record.action {
            ProposalAction::ParameterChange(updates) if record.state == ProposalState::Executed => {
                let (ended, _) = record.finalized?;
                (ended.get() < boundary).then(|| updates.iter().next().unwrap().value as u64)
            }
            _ => None,
        });
        executed.last().unwrap_or(GAS_LIMIT)
    };
    let mut changed = 0;
    for at in 1..=height {
        let block = view_of.block(Height::new(at).into()).unwrap();
        let header = block.block().header();
        assert_eq!(header.gas_limit, limit_at(at), "block {at} of {height}");
        assert_eq!(block.block().parameters().is_empty(), limit_at(at) == limit_at(at - 1), "block {at}");
        changed += u64::from(!block.block().parameters().is_empty());
    }
    let executed = records.iter().filter(|record| record.state == ProposalState::Executed).count() as u64;
    for record in &records {
        let want = if record.height.get() + 2 <= height { ProposalState::Executed } else { ProposalState::Active };
        assert_eq!(record.state, want, "{record:?}");
    }
    if height > 3 {
        assert!(changed > 0 || every > 1, "gas limits changed");
        let module =
            node.contract(MODULES_ADDRESS, first_voter()).call(moduleCall { name: MODULE.to_owned() }).unwrap();
        assert_eq!(
            (u64::from(module.version), module.since),
            (height - 2, height),
            "of the proposal that this block ran"
        );
        let parameters = node.contract(PARAMETERS_ADDRESS, first_voter()).call(parametersCall {}).unwrap();
        let gas = parameters.iter().find(|one| one.parameter == Parameter::GasLimit.code()).unwrap();
        assert_eq!(gas.value, U256::from(limit_at(height)), "the contract has what the header has");
    }
    (height, executed)
}
