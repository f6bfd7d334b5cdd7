//! Setters of a genesis specification.

use alloy_primitives::{Address, U256};

use super::{BaseFee, GenesisAccount, GenesisContract, GenesisSpec, GenesisValidator};
use crate::{
    primitives::{Gas, Timestamp},
    system::{
        governance::GovernanceSpec, modules::ModulesConfig, parameters::ParametersSpec, permissions::PermissionsConfig,
        staking::StakingParams, validators::ValidatorsConfig,
    },
    vm::Hardfork,
};

impl GenesisSpec {
    /// Sets the balance of an account, keeping its other fields.
    #[must_use]
    pub fn with_balance(mut self, address: Address, balance: U256) -> Self {
        self.fund(address, balance);
        self
    }

    /// Sets whether transactions may deploy contracts.
    #[must_use]
    pub fn with_deployments(self, deployments: bool) -> Self {
        Self { deployments, ..self }
    }

    /// Sets the display name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the time of the genesis block.
    #[must_use]
    pub fn with_timestamp(self, timestamp: Timestamp) -> Self {
        Self { timestamp, ..self }
    }

    /// Sets the gas limit of the genesis block.
    #[must_use]
    pub fn with_gas_limit(self, gas_limit: Gas) -> Self {
        Self { gas_limit, ..self }
    }

    /// Sets the base fee.
    #[must_use]
    pub fn with_base_fee(self, base_fee: BaseFee) -> Self {
        Self { base_fee, ..self }
    }

    /// Sets the fork whose rules hold from genesis on.
    #[must_use]
    pub fn with_hardfork(self, hardfork: Hardfork) -> Self {
        Self { forks: hardfork.into(), ..self }
    }

    /// Sets whether the fork's bound of a transaction's gas limit holds (EIP-7825).
    #[must_use]
    pub fn with_transaction_gas_cap(self, transaction_gas_cap: bool) -> Self {
        Self { transaction_gas_cap, ..self }
    }

    /// Sets an account, in place of one with the same address.
    #[must_use]
    pub fn with_account(mut self, address: Address, account: GenesisAccount) -> Self {
        self.accounts.insert(address, account);
        self
    }

    /// Adds a contract after the others.
    #[must_use]
    pub fn with_contract(mut self, contract: GenesisContract) -> Self {
        self.contracts.push(contract);
        self
    }

    /// Sets the initial validators.
    #[must_use]
    pub fn with_validators(self, validators: Vec<GenesisValidator>) -> Self {
        Self { validators, ..self }
    }

    /// Adds the contract of the chain's parameters.
    #[must_use]
    pub fn with_parameters(self, parameters: ParametersSpec) -> Self {
        Self { parameters: Some(parameters), ..self }
    }

    /// Adds the governance contract.
    #[must_use]
    pub fn with_governance(self, governance: GovernanceSpec) -> Self {
        Self { governance: Some(governance), ..self }
    }

    /// Adds the staking contract.
    #[must_use]
    pub fn with_staking(self, staking: StakingParams) -> Self {
        Self { staking: Some(staking), ..self }
    }

    /// Adds the permissions contract.
    #[must_use]
    pub fn with_permissions(self, permissions: PermissionsConfig) -> Self {
        Self { permissions: Some(permissions), ..self }
    }

    /// Adds the module registry.
    #[must_use]
    pub fn with_modules(self, modules: ModulesConfig) -> Self {
        Self { modules: Some(modules), ..self }
    }

    /// Adds the validators' contract, for a chain without stake.
    #[must_use]
    pub fn with_validator_registry(self, registry: ValidatorsConfig) -> Self {
        Self { validator_registry: Some(registry), ..self }
    }

    /// Sets whether blocks may record interventions and contain unsigned transactions.
    #[must_use]
    pub fn with_interventions(self, allow_interventions: bool) -> Self {
        Self { allow_interventions, ..self }
    }
}
