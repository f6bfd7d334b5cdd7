//! What is shown of a validator.

use alloy_primitives::Address;

use crate::{
    consensus::{RoundRole, RoundStatus},
    platform::{
        blockchain::Blockchain,
        validator::{HostedValidator, ValidatorId},
    },
    system::staking::{StakeRecord, ValidatorRecord, ValidatorStatus},
};

/// State of a validator, as its chain has it.
///
/// | from | by | to |
/// |---|---|---|
/// | (none), left, removed, unbonding | add | joining |
/// | joining | the protocol's boundary | active |
/// | active | removal, exit | exiting, unbonding, removed |
/// | active | too many absences, with stake | jailed |
/// | jailed | the operator's `unjail` | joining, active |
/// | active | an equivocation | tombstoned |
/// | exiting | the protocol's boundary | unbonding, removed |
/// | unbonding | the unbonding period | left |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ValidatorState {
    /// Added, and not counted by the protocol yet.
    Joining,
    /// Counted by the protocol.
    Active,
    /// On its way out, and counted still.
    Exiting,
    /// Out for downtime; it may return.
    Jailed,
    /// Out, with stake that waits for the unbonding period.
    Unbonding,
    /// Out, with its stake free.
    Left,
    /// Out for ever, for an equivocation.
    Tombstoned,
    /// Out, on a chain without stake.
    Removed,
}

impl ValidatorState {
    /// Name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Joining => "joining",
            Self::Active => "active",
            Self::Exiting => "exiting",
            Self::Jailed => "jailed",
            Self::Unbonding => "unbonding",
            Self::Left => "left",
            Self::Tombstoned => "tombstoned",
            Self::Removed => "removed",
        }
    }

    /// Returns whether it may be added again.
    pub const fn is_out(self) -> bool {
        matches!(self, Self::Left | Self::Removed | Self::Unbonding)
    }
}

/// Where a validator's replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidatorProcess {
    /// It runs in this process.
    Up,
    /// It was stopped.
    Down,
    /// The key is held elsewhere: to this network it is down.
    Elsewhere,
}

impl ValidatorProcess {
    /// Name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Elsewhere => "elsewhere",
        }
    }

    /// Returns where the replica with a key is.
    pub(super) fn of(chain: &Blockchain, key: Address) -> Self {
        match chain.engine().replica_of(key) {
            Some((network, replica)) => Self::here(network.is_stopped(replica)),
            None => Self::without_replica(chain, key),
        }
    }

    const fn here(is_stopped: bool) -> Self {
        if is_stopped { Self::Down } else { Self::Up }
    }

    /// On demand the validators of genesis have no replicas, and are up.
    fn without_replica(chain: &Blockchain, key: Address) -> Self {
        if chain.network().is_none() && is_of_genesis(chain, key) { Self::Up } else { Self::Elsewhere }
    }
}

/// The round that a validator's replica is in: a term of Raft, a view of PBFT, an epoch of proof of stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValidatorRound {
    /// Its number. It goes up with each change of the leader.
    pub number: u64,
    /// What the replica does in it.
    pub role: RoundRole,
    /// Sealing key of the leader, as far as the replica knows it.
    pub leader: Option<Address>,
}

/// Returns where the replica with a key is, and its round at that moment; `None` where none runs here or the protocol has no rounds, and on
/// demand.
fn process_and_round(chain: &Blockchain, key: Address) -> (ValidatorProcess, Option<ValidatorRound>) {
    let Some((network, replica)) = chain.engine().replica_of(key) else {
        return (ValidatorProcess::without_replica(chain, key), None);
    };
    let (is_stopped, round) = network.process_and_round(replica);
    let key_of = |replica| chain.engine().key_of(replica);
    let round = round.map(|RoundStatus { round, role, leader }| ValidatorRound {
        number: round,
        role,
        leader: leader.and_then(key_of),
    });
    (ValidatorProcess::here(is_stopped), round)
}

/// A validator at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validator {
    /// Its id.
    pub id: ValidatorId,
    /// Its operator, who owns stake, rewards and votes.
    pub operator: Address,
    /// Address of its sealing key, by which headers name it.
    pub sealing_key: Address,
    /// Its name.
    pub name: String,
    /// What the caller keeps with it, a JSON object.
    pub metadata: String,
    /// Its state.
    pub state: ValidatorState,
    /// Where its replica is.
    pub process: ValidatorProcess,
    /// The round that its replica is in.
    pub round: Option<ValidatorRound>,
    /// Whether the protocol counts it now.
    pub validates: bool,
    /// Its weight from the next boundary on.
    pub weight: u64,
    /// Stake, commission, rewards and absences; `None` on a chain without stake.
    pub stake: Option<StakeRecord>,
}

/// Returns a validator that the chain lists.
pub(super) fn of_record(chain: &Blockchain, record: &ValidatorRecord, kept: Option<&HostedValidator>) -> Validator {
    let operator = record.address;
    let genesis_name = || chain.genesis_name(operator).unwrap_or_default();
    let (process, round) = process_and_round(chain, record.sealing_key);
    Validator {
        id: ValidatorId::new(chain.id(), operator),
        operator,
        sealing_key: record.sealing_key,
        name: kept.map_or_else(genesis_name, |kept| kept.name.clone()),
        metadata: kept.map_or_else(|| "{}".to_owned(), |kept| kept.metadata.clone()),
        state: state(record),
        process,
        round,
        validates: record.validates,
        weight: record.weight,
        stake: record.stake.clone(),
    }
}

/// Returns a validator that the chain does not list: one of genesis, or one that the service has a record of.
pub(super) fn of_absent(
    chain: &Blockchain,
    record: &ValidatorRecord,
    sealing_key: Address,
    kept: Option<&HostedValidator>,
) -> Validator {
    let state = match record.status {
        ValidatorStatus::Unknown if is_of_genesis(chain, sealing_key) => ValidatorState::Removed,
        ValidatorStatus::Unknown => ValidatorState::Joining,
        _ => state(record),
    };
    let record = ValidatorRecord { sealing_key, ..record.clone() };
    Validator { state, ..of_record(chain, &record, kept) }
}

/// Returns the record of an operator that no contract counts.
pub(super) const fn unknown(operator: Address, sealing_key: Address) -> ValidatorRecord {
    let status = ValidatorStatus::Unknown;
    ValidatorRecord { address: operator, sealing_key, validates: false, status, weight: 0, stake: None }
}

const fn state(record: &ValidatorRecord) -> ValidatorState {
    match record.status {
        ValidatorStatus::Bonded if record.validates => ValidatorState::Active,
        ValidatorStatus::Bonded | ValidatorStatus::Pending | ValidatorStatus::Unknown => ValidatorState::Joining,
        ValidatorStatus::Exiting => ValidatorState::Exiting,
        ValidatorStatus::Jailed => ValidatorState::Jailed,
        ValidatorStatus::Tombstoned => ValidatorState::Tombstoned,
        ValidatorStatus::Unbonding | ValidatorStatus::Unbonded if record.validates => ValidatorState::Exiting,
        ValidatorStatus::Unbonding => ValidatorState::Unbonding,
        ValidatorStatus::Unbonded if record.stake.is_none() => ValidatorState::Removed,
        ValidatorStatus::Unbonded => ValidatorState::Left,
    }
}

fn is_of_genesis(chain: &Blockchain, key: Address) -> bool {
    chain.node().view().chain().spec().validators.iter().any(|validator| validator.address == key)
}
