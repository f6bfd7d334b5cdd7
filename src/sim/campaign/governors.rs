//! Governors of a run: validators that propose and vote, an administrator who changes who may send and deploy, and strangers who try to.
//!
//! Beside an operator's command and a client's transfer, one of these happens at a time:
//!
//! | who | what |
//! |---|---|
//! | a validator or candidate | proposes a change of parameters, a module on or off, an upgrade, a text |
//! | a validator or candidate | votes on one of the open proposals, again too, with all of its weight or a part; most often yes |
//! | the last proposer | withdraws its proposal |
//! | the administrator | puts a client or validator on lists or takes it off, switches a list |
//! | a stranger | sends a transfer |
//! | a client that is no deployer, or a deployer | deploys |
//!
//! Nobody who may vote has to be honest, and what is refused is refused.

use std::sync::Arc;

use alloy_sol_types::SolCall;

use super::workload::Workload;
use crate::{
    chain::GenesisSpec,
    consensus::ReplicaId,
    primitives::{Address, B256, Bytes, Gas, KeyPair, TransactionRequest, U256, ether},
    sim::{
        check::oracle::Oracle,
        engine::rng::{SimRng, Streams},
        faults::byzantine::stranger,
        network::{Network, builder::NetworkBuilder, error::NetworkError},
    },
    system::{
        governance::{
            GOVERNANCE_ADDRESS, GovernanceSpec, VoteOption,
            interface::{self as governance, Terms},
        },
        modules::ModulesConfig,
        parameters::{Parameter, ParametersSpec},
        permissions::{
            PERMISSIONS_ADDRESS, PermissionsConfig,
            interface::{setPermissionsCall, switchAccountListCall, switchDeployerListCall},
        },
    },
};

/// Voting period, in seconds: several proposals end in a run.
const VOTING_SECS: u32 = 12;
/// Gas of each of their transactions, and more.
const GAS: Gas = Gas::new(2_000_000);
/// Pays the base fee of every block that a run can have.
const MAX_FEE_PER_GAS: u128 = 1_000_000_000_000;
/// Newest proposals that are voted on.
const VOTED_ON: u64 = 4;

/// Source of the governors' transactions.
#[derive(Debug)]
pub(super) struct Governors {
    rng: SimRng,
    voters: Vec<KeyPair>,
    administrator: KeyPair,
    /// Who proposed last.
    proposer: usize,
}

impl Governors {
    /// Creates governors of this many validators and candidates.
    pub(super) fn new(seed: u64, voters: u32) -> Self {
        let voters = (0..voters).map(|number| NetworkBuilder::validator_key(seed, number)).collect();
        let rng = Streams::new(seed).stream("governance");
        Self { rng, voters, administrator: administrator(), proposer: 0 }
    }

    /// Returns a genesis that they govern: everybody of a run may send but strangers, and one client may deploy.
    pub(super) fn genesis(genesis: GenesisSpec, seed: u64, voters: u32) -> GenesisSpec {
        let voters: Vec<Address> =
            (0..voters).map(|number| NetworkBuilder::validator_key(seed, number).address()).collect();
        let clients: Vec<Address> = genesis.accounts.keys().copied().collect();
        let listed = clients.iter().chain(&voters).copied();
        let deployers = Workload::senders().into_iter().take(1);
        let permissions =
            PermissionsConfig::new(administrator().address()).with_accounts(listed).with_deployers(deployers);
        let funded = voters.iter().copied().chain([administrator().address(), stranger().address()]);
        funded
            .fold(genesis, |genesis, address| genesis.with_balance(address, ether(1_000)))
            .with_parameters(ParametersSpec::new(GOVERNANCE_ADDRESS))
            .with_governance(GovernanceSpec::default().with_voting_period(VOTING_SECS))
            .with_modules(ModulesConfig::new(GOVERNANCE_ADDRESS))
            .with_permissions(permissions)
    }

    /// Submits one or two of their transactions.
    pub(super) fn act(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        for _ in 0..=self.rng.below(2) {
            self.act_once(network, oracle)?;
        }
        Ok(())
    }

    fn act_once(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        let replica = ReplicaId::new(self.rng.below(self.voters.len() as u64) as u32);
        let choice = self.rng.below(20);
        let voter = self.rng.below(self.voters.len() as u64) as usize;
        let (signer, to, input) = match choice {
            0..4 => {
                self.proposer = voter;
                (self.voters[voter].clone(), Some(GOVERNANCE_ADDRESS), self.proposal(network))
            }
            4..13 => {
                let Some(vote) = self.vote(network, replica) else { return Ok(()) };
                (self.voters[voter].clone(), Some(GOVERNANCE_ADDRESS), vote)
            }
            13 => {
                let Some(id) = newest(network, replica) else { return Ok(()) };
                let cancel = governance::cancelCall { id: U256::from(id) };
                (self.voters[self.proposer].clone(), Some(GOVERNANCE_ADDRESS), cancel.abi_encode())
            }
            14..17 => (self.administrator.clone(), Some(PERMISSIONS_ADDRESS), self.permissions()),
            17 | 18 => (stranger().clone(), Some(Workload::RECEIVER), Vec::new()),
            _ => (self.voters[voter].clone(), None, vec![0xfe]),
        };
        submit(network, oracle, replica, &signer, (to, input.into()))
    }

    fn proposal(&mut self, network: &Network) -> Vec<u8> {
        let terms = Terms { title: "Change".to_owned(), ..Terms::default() };
        let name = format!("module-{}", self.rng.below(4));
        match self.rng.below(10) {
            0..5 => {
                let changes = (0..=self.rng.below(2)).map(|_| self.change(network)).collect();
                governance::proposeParameterChangeCall { terms, changes }.abi_encode()
            }
            5 | 6 => {
                let (version, hash) = (self.rng.below(3) as u32, B256::with_last_byte(self.rng.below(3) as u8));
                governance::proposeModuleEnableCall { terms, name, version, configHash: hash }.abi_encode()
            }
            7 => governance::proposeModuleDisableCall { terms, name }.abi_encode(),
            8 => {
                let height = network.lowest_height().get() + 5 + self.rng.below(40);
                governance::proposeUpgradeCall { terms, name, height, info: String::new() }.abi_encode()
            }
            _ => governance::proposeTextCall { terms }.abi_encode(),
        }
    }

    /// Draws a parameter and a value with which blocks come and everybody can pay.
    fn change(&mut self, network: &Network) -> governance::Change {
        let section = network.replicas().first().and_then(|replica| replica.chain().spec().parameters);
        let has_block_time = section.is_some_and(|section| section.block_time.is_some());
        let (parameter, value) = match self.rng.below(5) {
            0 if has_block_time => (Parameter::BlockTime, 1 + self.rng.below(3)),
            0 | 1 => (Parameter::GasLimit, 10_000_000 + self.rng.below(50_000_000)),
            2 => (Parameter::BaseFeeChangeDenominator, 4 + self.rng.below(60)),
            3 => (Parameter::ElasticityMultiplier, 1 + self.rng.below(8)),
            _ => (Parameter::BaseFeeFloor, self.rng.below(2_000_000_000)),
        };
        governance::Change { parameter: parameter.code(), value: U256::from(value) }
    }

    fn vote(&mut self, network: &Network, replica: ReplicaId) -> Option<Vec<u8>> {
        let newest = newest(network, replica)?;
        let id = U256::from(newest.saturating_sub(self.rng.below(VOTED_ON)).max(1));
        let option = match self.rng.below(10) {
            0..6 => VoteOption::Yes,
            6 => VoteOption::Abstain,
            7 | 8 => VoteOption::No,
            _ => VoteOption::Veto,
        };
        let weight = if self.rng.chance(700) { U256::ZERO } else { U256::from(1 + self.rng.below(40_000_000_000)) };
        Some(governance::voteCall { id, option: option.code(), weight, reason: String::new() }.abi_encode())
    }

    /// Changes the lists of the last client or of a validator, or switches a list. The other clients and the late one stay.
    fn permissions(&mut self) -> Vec<u8> {
        let [one, other] = [self.rng.chance(600), self.rng.chance(400)];
        match self.rng.below(8) {
            0 => switchAccountListCall { isOn: self.rng.chance(800) }.abi_encode(),
            1 => switchDeployerListCall { isOn: one }.abi_encode(),
            2..5 => {
                let account = Workload::senders().pop().unwrap_or_default();
                setPermissionsCall { account, isAccount: one, isDeployer: other }.abi_encode()
            }
            _ => {
                let voter = self.rng.below(self.voters.len() as u64) as usize;
                let account = self.voters[voter].address();
                setPermissionsCall { account, isAccount: one, isDeployer: other }.abi_encode()
            }
        }
    }
}

fn administrator() -> KeyPair {
    KeyPair::from_seed(0, "administrator of permissions")
}

/// Returns the newest proposal that a replica has.
fn newest(network: &Network, replica: ReplicaId) -> Option<u64> {
    let chain = network.replica(replica).ok()?.chain();
    let count = chain.governance_view(chain.head(), &governance::proposalCountCall {}).ok()?;
    Some(count.saturating_to()).filter(|count| *count > 0)
}

fn submit(
    network: &mut Network,
    oracle: &mut Oracle,
    id: ReplicaId,
    signer: &KeyPair,
    (to, input): (Option<Address>, Bytes),
) -> Result<(), NetworkError> {
    let replica = network.replica(id)?;
    let mined =
        || Some(replica.chain().latest_state().ok()?.account(&signer.address()).ok()?.unwrap_or_default().nonce);
    let Some(nonce) = replica.pool().pending_nonce(&signer.address()).or_else(mined) else { return Ok(()) };
    let request = TransactionRequest {
        chain_id: Some(replica.chain().spec().chain_id),
        nonce,
        to,
        gas_limit: GAS,
        max_fee_per_gas: MAX_FEE_PER_GAS,
        input,
        ..TransactionRequest::default()
    };
    let Ok(transaction) = request.sign(signer) else { return Ok(()) };
    oracle.submitted(&transaction);
    match network.submit(Arc::new(transaction), id) {
        Ok(_) | Err(NetworkError::Pool(_) | NetworkError::Down { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
