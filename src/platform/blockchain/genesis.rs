//! The genesis of a blockchain, and its protocol.

use core::time::Duration;

use alloy_primitives::Address;

use super::{BlockchainSpec, Feature};
use crate::{
    chain::{GenesisContract, GenesisSpec, GenesisValidator},
    consensus::{
        ConsensusConfig, ConsensusKind, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, pos::PosConfig,
        raft::RaftConfig,
    },
    primitives::{KeyPair, Timestamp, U256},
    system::permissions::PermissionsConfig,
    templates::{BATCH_ADDRESS, Batch, MULTICALL3_ADDRESS, Multicall},
};

/// Divisor of the stake that leaks from absent validators in proof of stake: so great that a chain whose process was away for weeks has
/// all of its validators after it, for the protocol counts the slots of that time as theirs.
const LEAK_QUOTIENT: u64 = 1 << 40;

/// What a chain's genesis is made of beside its specification.
pub(in crate::platform) struct GenesisParts<'a> {
    pub(in crate::platform) spec: &'a BlockchainSpec,
    pub(in crate::platform) chain_id: u64,
    /// Wallet that gets the premine.
    pub(in crate::platform) treasury: Address,
    /// The workspace's managed wallet, if it has one.
    pub(in crate::platform) managed: Option<Address>,
    pub(in crate::platform) validators: &'a [KeyPair],
    pub(in crate::platform) timestamp: Timestamp,
}

impl GenesisParts<'_> {
    /// Returns the genesis: the premine is the treasury's, nobody intervenes, and features are the chain's own rules.
    pub(in crate::platform) fn genesis(&self) -> GenesisSpec {
        let spec = self.spec;
        let contract = |address, template: &str| GenesisContract::new(address, template, serde_json::Map::new());
        let mut genesis = GenesisSpec::new(self.chain_id)
            .with_name(&spec.name)
            .with_timestamp(self.timestamp)
            .with_deployments(spec.has(Feature::SmartContracts));
        genesis.contracts = vec![contract(MULTICALL3_ADDRESS, Multicall::NAME), contract(BATCH_ADDRESS, Batch::NAME)];
        genesis.gas_limit = spec.block_gas_limit.unwrap_or(genesis.gas_limit);
        genesis.fund(self.treasury, spec.native_token.premine);
        genesis.validators = (0..).zip(self.validators).map(|(index, key)| self.validator(index, key)).collect();
        genesis.permissions = spec.has(Feature::Permissions).then(|| self.permissions());
        genesis
    }

    fn validator(&self, index: usize, key: &KeyPair) -> GenesisValidator {
        let named = self.spec.validators.get(index).map(|validator| validator.name.clone());
        let mut validator = GenesisValidator::new(key.address(), U256::ZERO);
        validator.name = named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("validator {index}"));
        validator
    }

    /// The treasury administers the lists. On both are the workspace's wallets; validators may send, for what they do is transactions on
    /// chains with stake.
    fn permissions(&self) -> PermissionsConfig {
        let wallets = [Some(self.treasury), self.managed].into_iter().flatten();
        let accounts = wallets.clone().chain(self.validators.iter().map(KeyPair::address));
        PermissionsConfig::new(self.treasury).with_accounts(accounts).with_deployers(wallets)
    }
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
