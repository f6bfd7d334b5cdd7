//! The genesis of a blockchain, and its protocol.

use core::time::Duration;

use alloy_primitives::Address;

use super::{BlockchainSpec, DecidedBy, Feature};
use crate::{
    chain::{GenesisContract, GenesisSpec, GenesisValidator},
    consensus::{
        ConsensusConfig, ConsensusKind, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, pos::PosConfig,
        raft::RaftConfig,
    },
    primitives::{KeyPair, Timestamp, U256},
    system::{
        governance::{GOVERNANCE_ADDRESS, GovernanceSpec},
        modules::{ModuleConfig, ModulesConfig},
        parameters::ParametersSpec,
        permissions::PermissionsConfig,
        validators::ValidatorsConfig,
    },
    templates::{BATCH_ADDRESS, Batch, MULTICALL3_ADDRESS, Multicall},
};

/// Divisor of the stake that leaks from absent validators in proof of stake: so great that a chain whose process was away for weeks has
/// all of its validators after it, for the protocol counts the slots of that time as theirs.
const LEAK_QUOTIENT: u64 = 1 << 40;
/// Balance that genesis gives each operator that the specification names, for the gas of its transactions and votes: ten tokens.
const OPERATOR_FUNDS: U256 = U256::from_limbs([0x8ac7_2304_89e8_0000, 0, 0, 0]);
/// Least voting period of a proposal, in seconds; without one of its own it has two days.
const VOTING_PERIOD_MIN_SECS: u32 = 10;

/// What a chain's genesis is made of beside its specification.
pub(in crate::platform) struct GenesisParts<'a> {
    pub(in crate::platform) spec: &'a BlockchainSpec,
    pub(in crate::platform) chain_id: u64,
    /// Wallet that gets the premine.
    pub(in crate::platform) treasury: Address,
    /// The workspace's managed wallet, if it has one.
    pub(in crate::platform) managed: Option<Address>,
    /// Sealing keys of the validators.
    pub(in crate::platform) validators: &'a [KeyPair],
    pub(in crate::platform) timestamp: Timestamp,
    /// The genesis of an export, of which the chain takes over what [`taken_over`] says.
    pub(in crate::platform) imported: Option<GenesisSpec>,
    /// Modules that are on from genesis on, with their contracts.
    pub(in crate::platform) modules: (Vec<ModuleConfig>, Vec<GenesisContract>),
}

impl GenesisParts<'_> {
    /// Returns the genesis: the premine is the treasury's, nobody intervenes, and features are the chain's own rules.
    pub(in crate::platform) fn genesis(&mut self) -> GenesisSpec {
        let spec = self.spec;
        let mut genesis = match self.imported.take() {
            Some(imported) => taken_over(imported, self.chain_id),
            None => Self::empty(self.chain_id),
        };
        genesis = genesis
            .with_name(&spec.name)
            .with_timestamp(self.timestamp)
            .with_deployments(spec.has(Feature::SmartContracts));
        genesis.gas_limit = spec.block_gas_limit.unwrap_or(genesis.gas_limit);
        let premine = &mut genesis.accounts.entry(self.treasury).or_default().balance;
        *premine = premine.saturating_add(spec.native_token.premine);
        genesis.validators = (0..).zip(self.validators).map(|(index, key)| self.validator(index, key)).collect();
        for operator in spec.validators.iter().map(|validator| validator.address) {
            let funds = &mut genesis.accounts.entry(operator).or_default().balance;
            *funds = funds.saturating_add(OPERATOR_FUNDS);
        }
        // Stake, where the protocol has it, is the builder's default for each.
        let has_stake = consensus(spec).uses_stake();
        let administrator = self.decider(spec.membership);
        genesis.validator_registry = (!has_stake).then(|| ValidatorsConfig::new(administrator));
        genesis.governance =
            Some(GovernanceSpec { min_voting_period_secs: VOTING_PERIOD_MIN_SECS, ..GovernanceSpec::default() });
        genesis.parameters = Some(ParametersSpec::new(GOVERNANCE_ADDRESS));
        let (enabled, contracts) = core::mem::take(&mut self.modules);
        genesis.modules = Some(ModulesConfig { authority: self.decider(spec.upgrades), enabled });
        genesis.contracts.extend(contracts);
        genesis.permissions = spec.has(Feature::Permissions).then(|| self.permissions());
        genesis
    }

    const fn decider(&self, by: DecidedBy) -> Address {
        match by {
            DecidedBy::Authority => self.treasury,
            DecidedBy::Governance => GOVERNANCE_ADDRESS,
        }
    }

    /// A chain without accounts, with the contracts that clients look for.
    fn empty(chain_id: u64) -> GenesisSpec {
        let contract = |address, template: &str| GenesisContract::new(address, template, serde_json::Map::new());
        let mut genesis = GenesisSpec::new(chain_id);
        genesis.contracts = vec![contract(MULTICALL3_ADDRESS, Multicall::NAME), contract(BATCH_ADDRESS, Batch::NAME)];
        genesis
    }

    fn validator(&self, index: usize, key: &KeyPair) -> GenesisValidator {
        let named = self.spec.validators.get(index);
        // Without any in the specification, the one that there is belongs to the treasury, which can vote and stake at once.
        let operator = named.map_or(self.treasury, |named| named.address);
        let mut validator = GenesisValidator::new(key.address(), U256::ZERO).with_operator(operator);
        validator.name = named
            .map(|named| named.name.clone())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| format!("validator {index}"));
        validator
    }

    /// The treasury administers the lists. On both are the workspace's wallets; validators may send, for what they do is transactions on
    /// chains with stake.
    fn permissions(&self) -> PermissionsConfig {
        let wallets = [Some(self.treasury), self.managed].into_iter().flatten();
        let operators = self.spec.validators.iter().map(|validator| validator.address);
        let accounts = wallets.clone().chain(self.validators.iter().map(KeyPair::address)).chain(operators);
        PermissionsConfig::new(self.treasury).with_accounts(accounts).with_deployers(wallets)
    }
}

/// Returns what a chain takes over of the genesis of an export: accounts, the gas limit of a block, and the base fee. All else is as on any
/// chain of the service: its fork, the bound of a transaction's gas, a header of its own.
pub(in crate::platform) fn taken_over(imported: GenesisSpec, chain_id: u64) -> GenesisSpec {
    let GenesisSpec { accounts, gas_limit, base_fee, .. } = imported;
    GenesisSpec { accounts, gas_limit, base_fee, ..GenesisSpec::new(chain_id) }
}

/// Returns the protocol of a specification with its parameters: with a period where there is a block time, else on demand.
pub(in crate::platform) fn consensus(spec: &BlockchainSpec) -> ConsensusConfig {
    spec.block_time.map_or_else(|| spec.consensus.on_demand(), |period| with_period(spec.consensus, period))
}

fn with_period(kind: ConsensusKind, period: Duration) -> ConsensusConfig {
    match kind {
        ConsensusKind::Poa => ConsensusConfig::Poa(PoaConfig::default().with_period(period)),
        ConsensusKind::Pos => {
            ConsensusConfig::Pos(PosConfig::default().with_period(period).with_leak_quotient(LEAK_QUOTIENT))
        }
        ConsensusKind::Dpos => ConsensusConfig::Dpos(DposConfig::default().with_period(period)),
        ConsensusKind::Pbft => {
            ConsensusConfig::Pbft(PbftConfig::default().with_period(period).with_reported_absences())
        }
        ConsensusKind::Raft => ConsensusConfig::Raft(RaftConfig::default().with_period(period)),
    }
}
