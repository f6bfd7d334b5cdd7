//! One table: every step of a validator's life on every protocol takes effect in the list of validators, or is refused
//! with an alternative.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{
        AnyProtocol, ConsensusConfig, ConsensusKind, ReplicaId, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig,
        pos::PosConfig, raft::RaftConfig,
    },
    primitives::{Address, Height, KeyPair, U256, ether},
    system::staking::{StakeRecord, StakingParams, ValidatorRecord, ValidatorStatus},
};

const LONG: Duration = Duration::from_secs(1_000);
/// Replica 4, no validator at genesis.
const NEWCOMER: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It took effect in the list of validators.
    Shown,
    /// Refused as unsupported by the protocol.
    Unsupported,
    /// Not applicable: the protocol has no such state.
    Never,
}
use Fate::{Never, Shown, Unsupported};

const PROTOCOLS: [ConsensusKind; 5] =
    [ConsensusKind::Poa, ConsensusKind::Pos, ConsensusKind::Dpos, ConsensusKind::Pbft, ConsensusKind::Raft];

/// By [`PROTOCOLS`]. Proof of authority removes offenders by votes of signers and Raft trusts its members: neither punishes. PBFT
/// punishes absence only where its blocks report it, which these do not.
const LIFE: [(&str, [Fate; 5]); 13] = [
    ("join", [Shown, Shown, Shown, Shown, Shown]),
    ("stake", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("unstake", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("delegate", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("undelegate", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("set-commission", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("claim-rewards", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("claim-commission", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("exit", [Shown, Shown, Shown, Shown, Shown]),
    ("withdraw", [Unsupported, Shown, Shown, Shown, Unsupported]),
    ("jail", [Never, Shown, Shown, Never, Never]),
    ("unjail", [Unsupported, Shown, Shown, Never, Unsupported]),
    ("slash", [Never, Shown, Shown, Shown, Never]),
];

fn network(kind: ConsensusKind) -> Network {
    let config = match kind {
        ConsensusKind::Poa => ConsensusConfig::Poa(PoaConfig::default()),
        ConsensusKind::Pos => {
            ConsensusConfig::Pos(PosConfig::default().with_period(Duration::from_secs(2)).with_slots_per_epoch(4))
        }
        ConsensusKind::Dpos => ConsensusConfig::Dpos(DposConfig::default()),
        ConsensusKind::Pbft => ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8)),
        ConsensusKind::Raft => ConsensusConfig::Raft(RaftConfig::default()),
    };
    let params = StakingParams {
        unbonding_secs: unbonding_secs(kind),
        commission_change_secs: 0,
        downtime_window: 20,
        downtime_jail_secs: 10,
        ..StakingParams::default()
    };
    let builder = Network::builder().with_consensus(config).with_validators(4).with_candidates(1).with_seed(1);
    let is_staked = !matches!(kind, ConsensusKind::Poa | ConsensusKind::Raft);
    let builder = if is_staked { builder.with_staking(params) } else { builder };
    let mut network = builder.build().unwrap();
    network.run_to_height(Height::new(3)).unwrap();
    network
}

/// A replica of proof of stake that was down for longer needs a trusted checkpoint; one is, until it is jailed and out.
const fn unbonding_secs(kind: ConsensusKind) -> u64 {
    if matches!(kind, ConsensusKind::Pos) { 120 } else { 20 }
}

fn key(index: u32) -> KeyPair {
    NetworkBuilder::validator_key(1, index)
}

fn record(network: &Network, index: u32) -> Option<ValidatorRecord> {
    let address = key(index).address();
    network.validators().unwrap().into_iter().find(|record| record.address == address)
}

fn stake(network: &Network, index: u32) -> StakeRecord {
    record(network, index).and_then(|record| record.stake).expect("staked")
}

fn validates(network: &Network, index: u32) -> bool {
    record(network, index).is_some_and(|record| record.validates)
}

fn balance(network: &Network, address: Address) -> U256 {
    network.primary().chain().latest_state().unwrap().account(&address).unwrap().unwrap_or_default().balance
}

/// Returns whether the leader, if there is one, has committed its whole log.
fn is_settled(network: &Network) -> bool {
    network.replicas().iter().any(|replica| match replica.protocol() {
        AnyProtocol::Raft(raft) => raft.is_leader() && raft.committed_index() == raft.last_index(),
        _ => true,
    })
}

/// Performs the action, and runs until it takes effect.
fn act(network: &mut Network, actor: u32, action: &ValidatorAction, shows: impl Fn(&Network) -> bool) -> Fate {
    // All replicas have the result of the step before.
    network.run_for(Duration::from_secs(5)).unwrap();
    network.run_until(LONG, is_settled).unwrap();
    let kind = network.config().name();
    match network.validator_action(&key(actor), action) {
        Ok(_) => {
            let shown = network.run_until(LONG, shows);
            assert!(shown.is_ok(), "{kind}: {} takes no effect: {shown:?}", action.name());
            Shown
        }
        Err(error @ ValidatorActionError::Unsupported { .. }) => {
            let (text, name) = (error.to_string(), action.name());
            let (_, hint) = text.split_once(&format!("does not support `{name}`: ")).expect("names the action");
            assert!(hint.contains(" by ") && text.starts_with(kind), "{text}");
            Unsupported
        }
        Err(error) => panic!("{kind:?}: {}: {error}", action.name()),
    }
}

/// Half a minute of blocks at most each; jail and unbonding take that long.
fn live(kind: ConsensusKind, step: &str, network: &mut Network) -> Fate {
    let is_staked = network.primary().chain().has_stake();
    let before = |index| if is_staked { stake(network, index) } else { nothing() };
    let one = ether(1);
    match step {
        "join" => {
            let stake = if is_staked { ether(50) } else { U256::ZERO };
            let join = ValidatorAction::Join { stake, commission_bps: 0 };
            act(network, NEWCOMER, &join, |network| validates(network, NEWCOMER))
        }
        "stake" => {
            let own = before(0).self_stake;
            act(network, 0, &ValidatorAction::Stake { amount: one }, |n| stake(n, 0).self_stake == own + one)
        }
        "unstake" => {
            let own = before(1).self_stake;
            act(network, 1, &ValidatorAction::Unstake { amount: one }, |n| stake(n, 1).self_stake == own - one)
        }
        "delegate" => {
            let (tokens, own) = (before(0).tokens, before(0).self_stake);
            let delegate = ValidatorAction::Delegate { validator: key(0).address(), amount: one };
            act(network, 1, &delegate, |n| stake(n, 0).tokens == tokens + one && stake(n, 0).self_stake == own)
        }
        "undelegate" => {
            let tokens = before(0).tokens;
            let undelegate = ValidatorAction::Undelegate { validator: key(0).address(), amount: U256::MAX };
            act(network, 1, &undelegate, |n| stake(n, 0).tokens == tokens - one)
        }
        "set-commission" => {
            let action = ValidatorAction::SetCommission { commission_bps: 2_500 };
            act(network, 2, &action, |n| stake(n, 2).commission_bps == 2_500)
        }
        // Of a validator that proposed, which in PBFT is only one.
        "claim-rewards" => {
            let rich = (0..4).find(|index| is_staked && !before(*index).rewards_owed.is_zero()).unwrap_or(0);
            let (owed, own) = (before(rich).rewards_owed, balance(network, key(rich).address()));
            let claim = ValidatorAction::ClaimRewards { validator: key(rich).address() };
            act(network, rich, &claim, |n| balance(n, key(rich).address()) > own + owed / U256::from(2))
        }
        "claim-commission" => {
            let rich = (0..4).find(|index| is_staked && !before(*index).commission_owed.is_zero()).unwrap_or(0);
            let owed = before(rich).commission_owed;
            act(network, rich, &ValidatorAction::ClaimCommission, |n| stake(n, rich).commission_owed < owed)
        }
        "exit" => act(network, NEWCOMER, &ValidatorAction::Exit, |network| !validates(network, NEWCOMER)),
        "withdraw" => {
            // The token that was delegated, after the unbonding period.
            network.run_for(Duration::from_secs(unbonding_secs(kind) + 5)).unwrap();
            let own = balance(network, key(1).address());
            act(network, 1, &ValidatorAction::Withdraw, |n| balance(n, key(1).address()) > own)
        }
        "jail" if matches!(kind, ConsensusKind::Pos | ConsensusKind::Dpos) => {
            network.crash(ReplicaId::new(3)).unwrap();
            let is_jailed = |network: &Network| record(network, 3).unwrap().status == ValidatorStatus::Jailed;
            network.run_until(LONG, is_jailed).unwrap();
            assert!(stake(network, 3).tokens < ether(32) && stake(network, 3).jailed_until.is_some());
            // Back before its stake is withdrawable: later it would need a trusted checkpoint.
            network.restart(ReplicaId::new(3)).unwrap();
            network.run_until(LONG, |network| !validates(network, 3)).unwrap();
            network.run_for(Duration::from_secs(20)).unwrap();
            Shown
        }
        "unjail" if kind != ConsensusKind::Pbft => act(network, 3, &ValidatorAction::Unjail, |n| validates(n, 3)),
        "slash" if is_staked => {
            let leads = |replica: &&Replica| match replica.protocol() {
                AnyProtocol::Pbft(pbft) => replica.address() == Some(pbft.primary()),
                // Whoever missed votes while replica 3 was down may be jailed, too.
                _ => replica.id() == ReplicaId::new(if validates(network, 2) { 2 } else { 1 }),
            };
            let byzantine = network.replicas().iter().find(leads).unwrap().id();
            let tokens = before(byzantine.get()).tokens;
            network.misbehave(byzantine, Behaviour::Equivocate, Trigger::Always).unwrap();
            let is_out = |n: &Network| record(n, byzantine.get()).unwrap().status == ValidatorStatus::Tombstoned;
            network.run_until(LONG, is_out).unwrap();
            let left = stake(network, byzantine.get()).tokens;
            assert!(left < tokens && !left.is_zero(), "{kind:?}: {left} of {tokens}");
            Shown
        }
        _ => Never,
    }
}

fn nothing() -> StakeRecord {
    StakeRecord {
        tokens: U256::ZERO,
        self_stake: ether(1),
        commission_bps: 0,
        commission_owed: U256::ZERO,
        rewards_owed: U256::ZERO,
        jailed_until: None,
        missed_blocks: 0,
    }
}

#[test]
fn every_action_on_every_protocol_works_or_names_an_alternative() {
    for (column, kind) in PROTOCOLS.into_iter().enumerate() {
        let mut network = network(kind);
        for (step, fates) in LIFE {
            assert_eq!(live(kind, step, &mut network), fates[column], "{kind:?}: {step}");
        }
    }
}
