//! Clients of a run: transfers, each submitted to a random replica at a random time.

use core::{cell::RefCell, time::Duration};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use crate::{
    chain::GenesisSpec,
    consensus::ReplicaId,
    primitives::{Address, Gas, KeyPair, Transaction, TransactionRequest, U256, ether},
    sim::{
        engine::{
            clock::SimTime,
            rng::{SimRng, Streams},
        },
        millis::whole_millis,
    },
    system::{
        parameters::{
            PARAMETERS_ADDRESS, Parameter, ParametersSpec,
            interface::{Change, scheduleCall},
        },
        staking::{STAKING_ADDRESS, interface::StakingContract},
        validators::{
            VALIDATORS_ADDRESS, ValidatorsConfig,
            interface::{setValidatorCall, slashCall},
        },
    },
};
use alloy_sol_types::SolCall;

/// Chain id of simulated networks.
const CHAIN_ID: u64 = 1_337;
/// Clients; each sends its transfers in order.
const CLIENTS: u32 = 4;
/// Longest block time that a client sets, in seconds.
pub(crate) const BLOCK_SECS_MAX: u32 = 4;
/// Gas of a delegation, and more.
const DELEGATION_GAS: Gas = Gas::new(1_000_000);
/// Gas of a change of parameters, and more.
const PARAMETERS_GAS: Gas = Gas::new(200_000);
/// Gas of a change of validators, and more.
const VALIDATORS_GAS: Gas = Gas::new(300_000);
/// Validators that the first client leaves at least.
const REGISTERED_MIN: u32 = 4;
/// Pays the base fee of every block that a run can have.
const MAX_FEE_PER_GAS: u128 = 1_000_000_000_000;

/// Keys of the clients and of the late one. Every seed has the same, and deriving one takes as long as a hundred steps of a run.
static KEYS: LazyLock<Vec<KeyPair>> =
    LazyLock::new(|| (0..=CLIENTS).map(|client| KeyPair::from_seed(0, &format!("client {client}"))).collect());
/// Signed transfers that a thread keeps: all that a client of a long run makes, and more.
const TRANSFERS_MAX: usize = 4_096;

thread_local! {
    /// Signed transfers, by client and nonce: every seed has the same, and each would be signed anew. Signatures are deterministic.
    static TRANSFERS: RefCell<BTreeMap<(u32, u64), Arc<Transaction>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Remaining transfers, in order of time.
#[derive(Debug)]
pub(crate) struct Workload {
    rng: SimRng,
    left: u32,
    at_ms: u64,
    span_ms: u64,
    replicas: u32,
    /// Next nonce of each client.
    nonces: [u64; CLIENTS as usize],
    /// Validators to which clients sometimes delegate, on chains with stake.
    validators: Vec<Address>,
    /// Parameters that the first client changes.
    parameters: Vec<Parameter>,
    /// Replicas that the first client makes validators and removes again.
    movers: Vec<Address>,
}

impl Workload {
    /// Receiver of every transfer.
    pub(crate) const RECEIVER: Address = Address::repeat_byte(0xbb);

    /// Creates `count` transfers within `span`, to `replicas` replicas.
    pub(crate) fn new(seed: u64, count: u32, span: Duration, replicas: u32) -> Self {
        let rng = Streams::new(seed).stream("workload");
        let span_ms = whole_millis(span);
        Self {
            rng,
            left: count,
            at_ms: 0,
            span_ms,
            replicas,
            nonces: Default::default(),
            validators: Vec::new(),
            parameters: Vec::new(),
            movers: Vec::new(),
        }
    }

    /// Makes every third transaction a delegation to one of these validators.
    pub(super) fn with_delegations(mut self, validators: impl IntoIterator<Item = Address>) -> Self {
        self.validators = validators.into_iter().collect();
        self
    }

    /// Makes every transaction of the first client a change of parameters, as far as the chain has them.
    pub(crate) fn with_parameter_changes(mut self, has_block_time: bool, has_stake: bool) -> Self {
        let is_there = |parameter: &Parameter| match parameter {
            Parameter::BlockTime => has_block_time,
            Parameter::MinSelfStake | Parameter::UnbondingPeriod => has_stake,
            Parameter::EvidenceMaxAgeBlocks | Parameter::EvidenceMaxAge => has_stake,
            _ => true,
        };
        self.parameters = Parameter::ALL.into_iter().filter(is_there).collect();
        self
    }

    /// Makes every transaction of the first client a change of validators, by their contract.
    pub(crate) fn with_validator_changes(mut self, movers: impl IntoIterator<Item = Address>) -> Self {
        self.movers = movers.into_iter().collect();
        self
    }

    /// Returns the section of a genesis whose validators the first client changes.
    pub(crate) fn registry() -> ValidatorsConfig {
        ValidatorsConfig::new(Self::client(0).address()).with_validators_min(REGISTERED_MIN)
    }

    /// Returns the section of a genesis whose parameters the first client changes.
    pub(super) fn parameters() -> ParametersSpec {
        ParametersSpec::new(Self::client(0).address())
    }

    /// Returns a genesis in which the clients have funds.
    pub(crate) fn genesis() -> GenesisSpec {
        (0..CLIENTS).fold(GenesisSpec::new(CHAIN_ID), |genesis, client| {
            genesis.with_balance(Self::client(client).address(), ether(1_000))
        })
    }

    /// Returns that genesis with one more client, who sends only in the second phase.
    pub(super) fn genesis_with_late_client() -> GenesisSpec {
        Self::genesis().with_balance(Self::client(CLIENTS).address(), ether(1_000))
    }

    /// Returns the late client's only transfer, and the one of `replicas` that receives it.
    pub(crate) fn late(&mut self, replicas: &[ReplicaId]) -> Option<(Arc<Transaction>, ReplicaId)> {
        let replica = replicas.get(self.rng.below(replicas.len() as u64) as usize)?;
        Some((signed_transfer(CLIENTS, 0)?, *replica))
    }

    /// Returns the addresses of the clients.
    pub(crate) fn senders() -> Vec<Address> {
        (0..CLIENTS).map(|client| Self::client(client).address()).collect()
    }

    fn client(number: u32) -> &'static KeyPair {
        &KEYS[number as usize]
    }

    /// Returns the time, transaction and replica of the next transfer; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<(SimTime, Arc<Transaction>, ReplicaId)> {
        self.left = self.left.checked_sub(1)?;
        // Evenly spread on average, and never past the end.
        let rest = self.span_ms.saturating_sub(self.at_ms);
        self.at_ms += self.rng.below(2 * rest / (u64::from(self.left) + 2)).min(rest);
        let replica = ReplicaId::new(self.rng.below(u64::from(self.replicas)) as u32);
        let client = self.rng.below(u64::from(CLIENTS)) as u32;
        let nonce = self.nonces[client as usize];
        self.nonces[client as usize] += 1;
        let transaction = if client == 0 && !self.movers.is_empty() {
            Arc::new(self.validator_change(nonce).sign(Self::client(client)).ok()?)
        } else if client == 0 && !self.parameters.is_empty() {
            Arc::new(self.parameter_change(nonce).sign(Self::client(client)).ok()?)
        } else if !self.validators.is_empty() && self.rng.below(3) == 0 {
            Arc::new(self.delegation(nonce).sign(Self::client(client)).ok()?)
        } else {
            signed_transfer(client, nonce)?
        };
        Some((SimTime::ZERO.plus(Duration::from_millis(self.at_ms)), transaction, replica))
    }

    /// Draws changes of one to three parameters, to values with which blocks come and clients can pay.
    fn parameter_change(&mut self, nonce: u64) -> TransactionRequest {
        let count = 1 + self.rng.below(3);
        let changes = (0..count).map(|_| {
            let parameter = self.parameters[self.rng.below(self.parameters.len() as u64) as usize];
            let value = match parameter {
                Parameter::BlockTime => U256::from(1 + self.rng.below(BLOCK_SECS_MAX.into())),
                Parameter::GasLimit => U256::from(5_000_000 + self.rng.below(50_000_000)),
                Parameter::BaseFeeChangeDenominator => U256::from(4 + self.rng.below(60)),
                Parameter::ElasticityMultiplier => U256::from(1 + self.rng.below(8)),
                Parameter::BaseFeeFloor => U256::from(self.rng.below(2_000_000_000)),
                Parameter::ValidatorsMax => U256::from(4 + self.rng.below(100)),
                Parameter::MinSelfStake => ether(1 + self.rng.below(20)),
                Parameter::UnbondingPeriod => U256::from(20 + self.rng.below(2_000_000)),
                Parameter::EvidenceMaxAgeBlocks => U256::from(100 + self.rng.below(100_000)),
                Parameter::EvidenceMaxAge => U256::from(100 + self.rng.below(2_000_000)),
            };
            Change { parameter: parameter.code(), value }
        });
        let call = scheduleCall { changes: changes.collect() };
        TransactionRequest {
            to: Some(PARAMETERS_ADDRESS),
            value: U256::ZERO,
            input: call.abi_encode().into(),
            gas_limit: PARAMETERS_GAS,
            ..transfer(nonce)
        }
    }

    /// Draws a validator to add or to remove. What is no change, and a removal that leaves too few, fails in its block.
    fn validator_change(&mut self, nonce: u64) -> TransactionRequest {
        let validator = self.movers[self.rng.below(self.movers.len() as u64) as usize];
        let input = match self.rng.below(5) {
            0 => slashCall { validator, partPpm: 1, reason: "drawn".to_owned() }.abi_encode(),
            draw => setValidatorCall { validator, weight: draw % 2 }.abi_encode(),
        };
        TransactionRequest {
            to: Some(VALIDATORS_ADDRESS),
            value: U256::ZERO,
            input: input.into(),
            gas_limit: VALIDATORS_GAS,
            ..transfer(nonce)
        }
    }

    /// Draws a delegation to one of the validators.
    fn delegation(&mut self, nonce: u64) -> TransactionRequest {
        let validator = self.validators[self.rng.below(self.validators.len() as u64) as usize];
        let call = StakingContract::delegateCall { validator };
        TransactionRequest {
            to: Some(STAKING_ADDRESS),
            value: ether(1 + self.rng.below(40)),
            input: call.abi_encode().into(),
            gas_limit: DELEGATION_GAS,
            ..transfer(nonce)
        }
    }
}

/// Returns a client's transfer, signed once by each thread.
fn signed_transfer(client: u32, nonce: u64) -> Option<Arc<Transaction>> {
    TRANSFERS.with_borrow_mut(|known| {
        if let Some(transaction) = known.get(&(client, nonce)) {
            return Some(transaction.clone());
        }
        let transaction = Arc::new(transfer(nonce).sign(Workload::client(client)).ok()?);
        if known.len() < TRANSFERS_MAX {
            known.insert((client, nonce), transaction.clone());
        }
        Some(transaction)
    })
}

fn transfer(nonce: u64) -> TransactionRequest {
    TransactionRequest {
        chain_id: Some(CHAIN_ID),
        nonce,
        to: Some(Workload::RECEIVER),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: MAX_FEE_PER_GAS,
        ..TransactionRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_once_is_what_each_seed_would_sign() {
        for client in 0..=CLIENTS {
            let key = KeyPair::from_seed(0, &format!("client {client}"));
            for nonce in [0, 7] {
                let signed = transfer(nonce).sign(&key).unwrap();
                let [first, again] = [(); 2].map(|()| signed_transfer(client, nonce).unwrap());
                assert_eq!(signed.encoded(), first.encoded());
                assert_eq!((signed.sender(), signed.hash()), (first.sender(), again.hash()));
                assert!(Arc::ptr_eq(&first, &again));
            }
        }
    }
}
