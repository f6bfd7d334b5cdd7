//! Validators by their contract in networks of proof of authority, Raft and PBFT: every replica takes a change over at one block, and who
//! follows headers alone learns the set.

use core::time::Duration;
use std::collections::BTreeSet;

use alloy_sol_types::SolCall;

use super::{
    faults::{pbft, poa, raft},
    *,
};
use crate::{
    consensus::{
        Admin, AnyProtocol, Authenticator, ConsensusKind, SealScheme, SealedHeader,
        mutation::{self, Mutation},
        pbft::PbftConfig,
        poa::PoaConfig,
        raft::{Change, RaftConfig},
    },
    sim::check::invariant::{self, MembersByContract, Violation},
    system::validators::{
        VALIDATORS_ADDRESS, ValidatorsConfig,
        interface::{setSealingKeyCall, setValidatorCall, slashCall},
        prove_sealing_key,
    },
};

const LONG: Duration = Duration::from_secs(2_000);
const SEED: u64 = 3;
/// Validators of genesis; two candidates follow.
const VALIDATORS: u32 = 5;

fn admin() -> KeyPair {
    KeyPair::from_seed(5, "who administers validators")
}

fn address(number: u32) -> Address {
    NetworkBuilder::validator_key(SEED, number).address()
}

fn configs() -> [ConsensusConfig; 3] {
    let period = Duration::from_secs(2);
    [
        ConsensusConfig::Poa(PoaConfig::default().with_period(period).with_epoch(7)),
        ConsensusConfig::Raft(RaftConfig::default().with_period(period)),
        ConsensusConfig::Pbft(PbftConfig::default().with_period(period).with_checkpoints(4, 8)),
    ]
}

fn builder(config: ConsensusConfig) -> NetworkBuilder {
    let registry = ValidatorsConfig::new(admin().address());
    let genesis = GenesisSpec::new(1_337).with_validator_registry(registry).with_balance(admin().address(), ether(10));
    let genesis = genesis.with_balance(address(1), ether(1));
    let invariants = invariant::of_protocol(&config);
    Network::builder()
        .with_genesis(genesis)
        .with_consensus(config)
        .with_validators(VALIDATORS)
        .with_candidates(2)
        .with_seed(SEED)
        .with_seals(SealScheme::Secp256k1)
        .with_invariants(invariants)
}

fn send(network: &mut Network, nonce: u64, call: &impl SolCall) {
    send_by(network, &admin(), nonce, call);
}

fn send_by(network: &mut Network, signer: &KeyPair, nonce: u64, call: &impl SolCall) {
    let request = TransactionRequest {
        chain_id: Some(1_337),
        nonce,
        to: Some(VALIDATORS_ADDRESS),
        gas_limit: Gas::new(300_000),
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        input: call.abi_encode().into(),
        ..Default::default()
    };
    network.submit(Arc::new(request.sign(signer).unwrap()), ReplicaId::new(0)).unwrap();
}

fn set(number: u32, weight: u64) -> setValidatorCall {
    setValidatorCall { validator: address(number), weight }
}

fn sets(network: &Network) -> impl Iterator<Item = BTreeSet<Address>> {
    let running = network.replicas().iter().filter(|replica| replica.process() == ProcessState::Running);
    running.map(|replica| replica.validators().addresses().collect())
}

fn is_in_force(network: &Network, numbers: &[u32]) -> bool {
    let want: BTreeSet<_> = numbers.iter().map(|number| address(*number)).collect();
    sets(network).all(|set| set == want)
}

fn until_in_force(network: &mut Network, numbers: &[u32]) {
    let name = network.config().name();
    network.run_until(LONG, |network| is_in_force(network, numbers)).unwrap_or_else(|error| {
        panic!("{name} never has {numbers:?}: {error}; {:?}", sets(network).collect::<Vec<_>>())
    });
}

/// A network that removes a validator, and how it ends.
pub(super) fn removal(config: ConsensusConfig) -> Result<(), Violation> {
    let mut network = builder(config).build().unwrap();
    send(&mut network, 0, &set(4, 0));
    match network.run_to_height(Height::new(14)) {
        Ok(()) => Ok(()),
        Err(NetworkError::Violated(violation)) => Err(*violation),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_replica_takes_over_at_one_block_and_headers_alone_tell() {
    for config in configs() {
        let invariant: Box<dyn Invariant> = Box::new(MembersByContract::default());
        let mut network = builder(config).with_invariants([invariant]).build().unwrap();
        let name = network.config().name();
        network.run_to_height(Height::new(5)).unwrap();
        // Down while the set changes three times, once by several at once.
        let down = ReplicaId::new(3);
        network.crash(down).unwrap();
        send(&mut network, 0, &set(5, 1));
        until_in_force(&mut network, &[0, 1, 2, 3, 4, 5]);
        send(&mut network, 1, &set(4, 0));
        send(&mut network, 2, &set(6, 1));
        until_in_force(&mut network, &[0, 1, 2, 3, 5, 6]);
        send(&mut network, 3, &slashCall { validator: address(1), partPpm: 10_000, reason: "late".to_owned() });
        until_in_force(&mut network, &[0, 2, 3, 5, 6]);
        network.run_for(Duration::from_secs(60)).unwrap();
        network.restart(down).unwrap();
        let goal = network.replicas()[0].head().height.get() + 20;
        network.run_to_height(Height::new(goal)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(is_in_force(&network, &[0, 2, 3, 5, 6]), "{name}");
        let common = Height::new(goal - 8);
        let hashes = network.replicas().iter().map(|replica| replica.chain().hash_at(common).unwrap());
        assert_eq!(hashes.collect::<BTreeSet<_>>().len(), 1, "{name}");
        let authors: BTreeSet<_> = (goal - 12..goal)
            .map(|height| {
                network.replicas()[0].chain().block_at(Height::new(height)).unwrap().block().header().beneficiary
            })
            .collect();
        assert!(!authors.contains(&address(4)) && !authors.contains(&address(1)), "{name}");
        follow(&network);
    }
}

/// Follows the headers alone: who may seal next is what the replicas have.
fn follow(network: &Network) {
    let name = network.config().name();
    let (chain, validators) = (network.replicas()[0].chain(), network.genesis_validators().clone());
    let genesis = chain.genesis().block().header();
    let mut light = network.config().light_verifier(genesis, validators, Authenticator::secp256k1()).unwrap();
    for height in 1..=chain.head().height().get() {
        let block = chain.block_at(Height::new(height)).unwrap();
        let sealed = SealedHeader::from(block.block().as_ref());
        light.follow(&sealed).unwrap_or_else(|error| panic!("{name}, height {height}: {error}"));
    }
    assert_eq!(light.validators(), network.replicas()[0].validators(), "{name}");
}

/// An operator hands its sealing on to another replica: one address leaves and one joins in one block, and the fees stay the operator's.
#[test]
fn a_validator_changes_its_sealing_key() {
    for config in configs() {
        let mut network = builder(config).build().unwrap();
        let name = network.config().name();
        let (operator, key) = (NetworkBuilder::validator_key(SEED, 1), NetworkBuilder::validator_key(SEED, 5));
        network.run_to_height(Height::new(3)).unwrap();
        let proof = prove_sealing_key(1_337, operator.address(), &key);
        send_by(&mut network, &operator, 0, &setSealingKeyCall { key: key.address(), proof });
        until_in_force(&mut network, &[0, 2, 3, 4, 5]);
        // Fees of a block that the new key seals.
        let height = network.replicas()[0].head().height.get();
        for nonce in 0..12 {
            send(&mut network, nonce, &set(6, nonce % 2 + 1));
            network.run_for(Duration::from_secs(6)).unwrap();
        }
        network.run_to_height(Height::new(height + 30)).unwrap();
        let chain = network.replicas()[0].chain();
        let records = network.validators().unwrap();
        let record = records.iter().find(|record| record.address == operator.address()).unwrap();
        assert_eq!((record.sealing_key, record.validates), (key.address(), true), "{name}");
        let balance = |of| chain.latest_state().unwrap().account(&of).unwrap().unwrap_or_default().balance;
        assert_eq!(balance(key.address()), U256::ZERO, "{name}: keys earn nothing");
        follow(&network);
    }
}

/// Evidence in a block convicts, and the contract has no such validator any more.
#[test]
fn an_equivocating_primary_is_convicted() {
    let config = ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8));
    let mut network = builder(config).build().unwrap();
    network.run_to_height(Height::new(2)).unwrap();
    let AnyProtocol::Pbft(pbft) = network.replicas()[0].protocol() else { panic!("another protocol") };
    let offender = pbft.primary();
    let byzantine = network.replicas().iter().find(|replica| replica.address() == Some(offender)).unwrap().id();
    let observer = usize::from(byzantine == ReplicaId::new(0));
    network.misbehave(byzantine, Behaviour::Equivocate, Trigger::Always).unwrap();
    let is_convicted = |network: &Network| {
        let chain = network.replicas()[observer].chain();
        chain.registered_validator(chain.head(), offender).unwrap().is_convicted
    };
    network.run_until(LONG, is_convicted).unwrap();
    let is_out = |network: &Network| !network.replicas()[observer].validators().contains(&offender);
    network.run_until(LONG, is_out).unwrap();
    let chain = network.replicas()[observer].chain();
    assert_eq!(chain.registered_validators(chain.head()).unwrap().len(), 4);
}

#[test]
fn commands_of_operators_are_refused() {
    for config in configs() {
        let kind = config.kind();
        let mut network = builder(config).build().unwrap();
        network.run_to_height(Height::new(3)).unwrap();
        let command = match kind {
            Some(ConsensusKind::Poa) => Admin::Vote { target: address(5), authorize: true },
            _ => Admin::ChangeMembers(Change::Simple(Vec::new())),
        };
        let leader = network.replicas().iter().max_by_key(|replica| replica.protocol().leading_term()).unwrap().id();
        let Err(NetworkError::Refused(rejection)) = network.admin(command, leader) else { panic!("{kind:?}") };
        if kind != Some(ConsensusKind::Pbft) {
            assert!(rejection.to_string().contains("the validators' contract"), "{rejection}");
        }
        let action = network.validator_action(&NetworkBuilder::validator_key(SEED, 5), &ValidatorAction::Exit);
        assert!(action.unwrap_err().to_string().contains("setValidator"));
    }
}

/// What a removal would leave too few for is refused by the contract, so that the protocol never has to ignore it.
#[test]
fn a_committee_stays_large_enough() {
    let mut network = builder(configs()[2].clone()).build().unwrap();
    send(&mut network, 0, &set(4, 0));
    send(&mut network, 1, &set(3, 0));
    until_in_force(&mut network, &[0, 1, 2, 3]);
    network.run_for(Duration::from_secs(60)).unwrap();
    assert!(is_in_force(&network, &[0, 1, 2, 3]));
    let chain = network.replicas()[0].chain();
    let registered = chain.registered_validators(chain.head()).unwrap();
    assert_eq!(registered.len(), 4);
}

#[test]
fn a_section_that_does_not_fit_the_protocol_is_refused() {
    let with = |config: ConsensusConfig, section: ValidatorsConfig| {
        let genesis = GenesisSpec::new(1_337).with_validator_registry(section);
        let built = Network::builder().with_genesis(genesis).with_consensus(config).with_validators(5).build();
        built.map(|network| network.replicas()[0].chain().spec().validator_registry.unwrap())
    };
    let section = ValidatorsConfig::new(admin().address());
    assert_eq!(with(pbft(), section).unwrap().least(), 4);
    assert_eq!(with(poa(), section).unwrap().least(), 1);
    assert_eq!(with(raft(), section.with_validators_min(3)).unwrap().least(), 3);
    for (config, section, words) in [
        (pbft(), section.with_validators_min(3), "pbft needs 4"),
        (poa(), section.with_weight_max(2), "each once"),
        (ConsensusConfig::Dpos(Default::default()), section, "has `staking`"),
    ] {
        let error = with(config, section).unwrap_err();
        let mut text = error.to_string();
        let mut source = core::error::Error::source(&error);
        while let Some(cause) = source {
            text += &cause.to_string();
            source = cause.source();
        }
        assert!(text.contains(words), "{text}");
    }
}

/// A protocol that does not remove whom the contract removed is found.
#[test]
fn a_member_that_stays_is_found() {
    for (config, mutation) in configs().into_iter().zip([
        Mutation::PoaKeepsRemovedMembers,
        Mutation::RaftKeepsRemovedMembers,
        Mutation::PbftKeepsRemovedMembers,
    ]) {
        removal(config.clone()).unwrap();
        let violation = mutation::with(mutation, || removal(config)).unwrap_err();
        assert_eq!(violation.invariant, "members-by-contract", "{mutation:?}: {violation}");
    }
}

/// The profile in which a client changes validators all the time finds nothing, and finds members that stay.
#[test]
fn nothing_is_found_while_validators_change() {
    for (kind, mutation) in [
        (ConsensusKind::Poa, Mutation::PoaKeepsRemovedMembers),
        (ConsensusKind::Raft, Mutation::RaftKeepsRemovedMembers),
        (ConsensusKind::Pbft, Mutation::PbftKeepsRemovedMembers),
    ] {
        let setup = CampaignSetup::registry(default_sim_config(kind));
        for seed in 0..3 {
            let report = run_seed(&setup, seed);
            assert!(report.is_passed(), "{kind:?}, seed {seed}: {:?}\n{}", report.outcome, report.plan.to_toml());
        }
        let is_found = |seed| matches!(run_seed(&setup, seed).outcome, RunOutcome::Violated(violation) if violation.invariant == "members-by-contract");
        assert!(mutation::with(mutation, || (0..3).any(is_found)), "{kind:?}");
    }
}
