//! Changes of validators through one interface for all protocols.
//!
//! | protocol | join, exit | other actions |
//! |---|---|---|
//! | with stake | a transaction to the staking contract | a transaction to the staking contract |
//! | proof of authority | votes of a majority of signers | unsupported |
//! | Raft | a change of members by the leader | unsupported |
//! | PBFT without stake | unsupported | unsupported |

use alloy_sol_types::{SolCall, SolInterface};

use super::{Network, error::NetworkError};
use crate::{
    chain::{CallError, CallOutcome, CallRequest, Chain, PoolError, ReadError, StateOverrides, SystemViewError},
    consensus::{
        Admin, MembershipChange, Protocol, Rejection, ReplicaId, ValidatorSet,
        raft::{Assignment, Change, Role},
    },
    primitives::{Address, B256, Bytes, Gas, KeyPair, Transaction, TransactionError, TransactionRequest, U256},
    system::staking::{
        STAKING_ADDRESS, ValidatorRecord, ValidatorStatus, interface as sol, interface::StakingContractErrors,
    },
};

/// Margin above a gas estimate, for a state that changes meanwhile: a half.
const ESTIMATE_ROOM: u64 = 2;

/// Tip of an operator's transaction, in the smallest unit per unit of gas.
const TIP: u128 = 1_000_000_000;

/// Action of an operator or delegator. Amounts are in the smallest unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidatorAction {
    /// The actor becomes a validator.
    Join {
        /// Its own stake; 0 on chains without stake.
        stake: U256,
        /// Its commission in ten-thousandths; 0 on chains without stake. It may be changed once a day.
        commission_bps: u16,
    },
    /// The actor leaves.
    Exit,
    /// Adds to the actor's own stake.
    Stake {
        /// Amount.
        amount: U256,
    },
    /// Reduces the actor's own stake; it can be withdrawn after the unbonding period.
    Unstake {
        /// Amount; 2^256 - 1 for all.
        amount: U256,
    },
    /// Delegates stake to a validator.
    Delegate {
        /// The validator.
        validator: Address,
        /// Amount.
        amount: U256,
    },
    /// Undelegates stake from a validator; it can be withdrawn after the unbonding period.
    Undelegate {
        /// The validator.
        validator: Address,
        /// Amount; 2^256 - 1 for all.
        amount: U256,
    },
    /// Withdraws stake whose unbonding period is over.
    Withdraw,
    /// Claims the rewards of the actor's stake with a validator.
    ClaimRewards {
        /// The validator.
        validator: Address,
    },
    /// Claims the actor's commission.
    ClaimCommission,
    /// Changes the actor's commission.
    SetCommission {
        /// Commission in ten-thousandths.
        commission_bps: u16,
    },
    /// Leaves jail.
    Unjail,
    /// Replaces the actor's sealing key, at the protocol's next boundary.
    SetSealingKey {
        /// Address of the new key.
        key: Address,
        /// The key's signature, as [`prove_sealing_key`](crate::system::staking::prove_sealing_key) makes it.
        proof: Bytes,
    },
}

impl ValidatorAction {
    /// Returns its name, such as `set-commission`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Join { .. } => "join",
            Self::Exit => "exit",
            Self::Stake { .. } => "stake",
            Self::Unstake { .. } => "unstake",
            Self::Delegate { .. } => "delegate",
            Self::Undelegate { .. } => "undelegate",
            Self::Withdraw => "withdraw",
            Self::ClaimRewards { .. } => "claim-rewards",
            Self::ClaimCommission => "claim-commission",
            Self::SetCommission { .. } => "set-commission",
            Self::Unjail => "unjail",
            Self::SetSealingKey { .. } => "set-sealing-key",
        }
    }

    /// Returns the call to the staking contract, and its value.
    pub fn to_call(&self) -> (Bytes, U256) {
        let none = U256::ZERO;
        let (input, value) = match self {
            &Self::Join { stake, commission_bps } => {
                let whole = 10_000;
                let call = sol::joinCall {
                    commissionBps: commission_bps,
                    maxCommissionBps: whole,
                    maxCommissionChangeBps: whole,
                };
                (call.abi_encode(), stake)
            }
            Self::Exit => (sol::exitCall {}.abi_encode(), none),
            &Self::Stake { amount } => (sol::stakeCall {}.abi_encode(), amount),
            &Self::Unstake { amount } => (sol::unstakeCall { amount }.abi_encode(), none),
            &Self::Delegate { validator, amount } => (sol::delegateCall { validator }.abi_encode(), amount),
            &Self::Undelegate { validator, amount } => (sol::undelegateCall { validator, amount }.abi_encode(), none),
            Self::Withdraw => (sol::withdrawCall {}.abi_encode(), none),
            &Self::ClaimRewards { validator } => (sol::claimRewardsCall { validator }.abi_encode(), none),
            Self::ClaimCommission => (sol::claimCommissionCall {}.abi_encode(), none),
            &Self::SetCommission { commission_bps } => {
                (sol::setCommissionCall { commissionBps: commission_bps }.abi_encode(), none)
            }
            Self::Unjail => (sol::unjailCall {}.abi_encode(), none),
            Self::SetSealingKey { key, proof } => {
                (sol::setSealingKeyCall { key: *key, proof: proof.clone() }.abi_encode(), none)
            }
        };
        (input.into(), value)
    }
}

/// How an action was submitted. It takes effect blocks later, by the protocol's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Submitted {
    /// By this pending transaction.
    Transaction(B256),
    /// By votes of these replicas, in their next blocks.
    Votes(Vec<ReplicaId>),
    /// By this leader, in its next block.
    Members(ReplicaId),
}

/// Refusal of an action. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidatorActionError {
    /// The protocol does not support the action.
    #[error("{protocol} does not support `{action}`: {hint}")]
    Unsupported {
        /// Full name of the protocol.
        protocol: &'static str,
        /// The action's name.
        action: &'static str,
        /// What to use instead.
        hint: &'static str,
    },
    /// The staking contract would refuse it.
    #[error("the staking contract refuses `{action}`: {reason}")]
    Refused {
        /// The action's name.
        action: &'static str,
        /// Its custom error with values, or the result of the call.
        reason: String,
    },
    /// The actor is a validator already, or is none.
    #[error("`{action}` changes nothing: {address} {state}")]
    NothingToDo {
        /// The action's name.
        action: &'static str,
        /// The actor.
        address: Address,
        /// Its present state.
        state: &'static str,
    },
    /// No replica of the network has this key.
    #[error("no replica seals as {address}; add it by `NetworkBuilder::with_candidates`")]
    NoReplica {
        /// Address of the key.
        address: Address,
    },
    /// There is no leader now.
    #[error("no replica leads now; try again after an election")]
    NoLeader,
    /// The call could not be run.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The transaction could not be signed.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// The transaction is in the pool, but no block could be made.
    #[error("the transaction is in the pool, but no block could be made: {reason}")]
    NotMined {
        /// The reason.
        reason: String,
    },
    /// The pool refused its transaction.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The protocol refused the admin command.
    #[error(transparent)]
    Rejected(Rejection),
    /// The network failed.
    #[error("internal error of the network: {0}")]
    Internal(#[source] Box<dyn core::error::Error + Send + Sync>),
}

impl From<NetworkError> for ValidatorActionError {
    fn from(error: NetworkError) -> Self {
        match error {
            NetworkError::Pool(error) => Self::Pool(error),
            NetworkError::Refused(rejection) => Self::Rejected(rejection),
            other => Self::Internal(other.into()),
        }
    }
}

/// Returns the validators at the head of `chain`, whose protocol counts `set`.
pub(crate) fn validator_records(chain: &Chain, set: &ValidatorSet) -> Result<Vec<ValidatorRecord>, SystemViewError> {
    if !chain.has_stake() {
        return Ok(match chain.has_validator_registry() {
            true => registry_records(chain, set)?,
            false => set.addresses().map(|address| record_of(address, address, 1)).collect(),
        });
    }
    let mut records = chain.staked_validators(chain.head())?;
    for key in set.addresses() {
        // Until the protocol's boundary the set has a former key.
        let place = match records.iter().position(|record| record.sealing_key == key) {
            Some(place) => place,
            None => {
                let found = chain.staked_validator_of_key(chain.head(), key)?;
                let listed = records.iter().position(|record| record.address == found.address);
                listed.unwrap_or_else(|| {
                    records.push(found);
                    records.len() - 1
                })
            }
        };
        records[place].validates = true;
    }
    records.sort_unstable_by_key(|record| record.address);
    Ok(records)
}

/// Returns the record of a validator without stake.
const fn record_of(operator: Address, sealing_key: Address, weight: u64) -> ValidatorRecord {
    let status = if weight > 0 { ValidatorStatus::Bonded } else { ValidatorStatus::Unbonded };
    ValidatorRecord { address: operator, sealing_key, validates: true, status, weight, stake: None }
}

/// Returns the validators of the contract, and those that the protocol counts until its next boundary.
fn registry_records(chain: &Chain, set: &ValidatorSet) -> Result<Vec<ValidatorRecord>, SystemViewError> {
    let head = chain.head();
    let mut records = Vec::new();
    for validator in chain.registered_validators(head)? {
        let validates = set.contains(&validator.sealing_key);
        records.push(ValidatorRecord {
            validates,
            ..record_of(validator.address, validator.sealing_key, validator.weight)
        });
    }
    for key in set.addresses() {
        let operator = chain.registered_operator(head, key)?;
        match records.iter_mut().find(|record| record.address == operator) {
            Some(record) => record.validates = true,
            None => records.push(record_of(operator, key, 0)),
        }
    }
    records.sort_unstable_by_key(|record| record.address);
    Ok(records)
}

/// Changes of validators.
impl Network {
    /// Returns the validators at the first replica's head, in ascending order of address: those that the protocol counts, and on
    /// chains with stake also queued, jailed and exited ones.
    ///
    /// # Errors
    /// [`SystemViewError`] when the staking contract cannot be read.
    pub fn validators(&self) -> Result<Vec<ValidatorRecord>, SystemViewError> {
        validator_records(self.primary().chain(), &self.primary().protocol().validators())
    }

    /// Submits an action of `actor`, an operator or delegator.
    ///
    /// # Errors
    /// [`ValidatorActionError`]; nothing is changed then.
    pub fn validator_action(
        &mut self,
        actor: &KeyPair,
        action: &ValidatorAction,
    ) -> Result<Submitted, ValidatorActionError> {
        if self.primary().chain().has_stake() {
            let transaction = self.validator_transaction(actor, action)?;
            let hash = transaction.hash();
            self.submit(transaction.into(), self.replica_of(actor.address()).unwrap_or(ReplicaId::new(0)))?;
            return Ok(Submitted::Transaction(hash));
        }
        if self.primary().chain().has_validator_registry() {
            return Err(self.unsupported(action));
        }
        let joins = match action {
            ValidatorAction::Join { stake, commission_bps: 0 } if stake.is_zero() => true,
            ValidatorAction::Exit => false,
            _ => return Err(self.unsupported(action)),
        };
        let is_in = self.primary().protocol().validators().contains(&actor.address());
        if is_in == joins {
            let state = if joins { "is a validator already" } else { "is no validator" };
            return Err(ValidatorActionError::NothingToDo { action: action.name(), address: actor.address(), state });
        }
        match self.config().info().membership_change {
            MembershipChange::SignerVotes => self.vote(actor.address(), joins),
            MembershipChange::LeaderProposal => self.change_members(actor.address(), joins),
            MembershipChange::Stake => Err(self.unsupported(action)),
        }
    }

    /// Returns the transaction for an action on a chain with stake, after a trial on the newest state.
    ///
    /// # Errors
    /// [`ValidatorActionError::Unsupported`] on chains without stake, [`ValidatorActionError::Refused`] with the contract's reason.
    pub fn validator_transaction(
        &self,
        actor: &KeyPair,
        action: &ValidatorAction,
    ) -> Result<Transaction, ValidatorActionError> {
        let replica = self.replica_of(actor.address()).map_or(self.primary(), |id| &self.replicas()[id.index()]);
        let chain = replica.chain();
        if !chain.has_stake() {
            return Err(self.unsupported(action));
        }
        let (input, value) = action.to_call();
        let from = Some(actor.address());
        let request = CallRequest { from, to: Some(STAKING_ADDRESS), value, input, ..CallRequest::default() };
        let outcome = chain.call(&chain.call_context(chain.head())?, &request, &StateOverrides::new(), None)?;
        if !outcome.is_success() {
            return Err(ValidatorActionError::Refused { action: action.name(), reason: reason(&outcome) });
        }
        let mined = || -> Result<u64, ReadError> {
            let state = chain.latest_state()?;
            Ok(state.account(&actor.address())?.unwrap_or_default().nonce)
        };
        let nonce = replica.pool().pending_nonce(&actor.address()).map_or_else(mined, Ok)?;
        let gas = outcome.gas_used.get();
        let base_fee = u128::from(chain.next_base_fee().unwrap_or(0));
        let fields = TransactionRequest {
            chain_id: Some(chain.spec().chain_id),
            nonce,
            to: request.to,
            value: request.value,
            input: request.input,
            // A refund is credited only after the gas was needed.
            gas_limit: Gas::new(gas.saturating_mul(5) / 4 + gas / ESTIMATE_ROOM),
            max_fee_per_gas: 2 * base_fee + TIP,
            max_priority_fee_per_gas: TIP,
            ..TransactionRequest::default()
        };
        Ok(fields.sign(actor)?)
    }

    /// Returns the replica that seals as `address`.
    fn replica_of(&self, address: Address) -> Option<ReplicaId> {
        self.replicas().iter().find(|replica| replica.address() == Some(address)).map(|replica| replica.id())
    }

    fn unsupported(&self, action: &ValidatorAction) -> ValidatorActionError {
        let info = self.config().info();
        let hint = match info.membership_change {
            _ if self.primary().chain().has_validator_registry() => {
                "the administrator of the validators' contract adds and removes validators, by `setValidator`"
            }
            MembershipChange::SignerVotes => "signers join and exit by votes, without stake or commission",
            MembershipChange::LeaderProposal => {
                "members join and exit by the leader's change of members, without stake or commission"
            }
            _ => "give genesis the field `staking`, which makes validators change by their stake",
        };
        ValidatorActionError::Unsupported { protocol: info.name, action: action.name(), hint }
    }

    /// Lets a majority of signers vote; the target votes only when no other is left.
    fn vote(&mut self, target: Address, authorize: bool) -> Result<Submitted, ValidatorActionError> {
        let signers = self.primary().protocol().validators();
        let majority = signers.len() / 2 + 1;
        let sealing = self.replicas().iter().filter_map(|replica| Some((replica.address()?, replica.id())));
        let mut voters: Vec<_> = sealing.filter(|(address, _)| signers.contains(address)).collect();
        voters.sort_by_key(|(address, _)| *address == target);
        let voters: Vec<_> = voters.into_iter().take(majority).map(|(_, replica)| replica).collect();
        if voters.len() < majority {
            let missing = signers.addresses().find(|address| self.replica_of(*address).is_none());
            return Err(ValidatorActionError::NoReplica { address: missing.unwrap_or(target) });
        }
        for voter in &voters {
            self.admin(Admin::Vote { target, authorize }, *voter)?;
        }
        Ok(Submitted::Votes(voters))
    }

    fn change_members(&mut self, address: Address, joins: bool) -> Result<Submitted, ValidatorActionError> {
        let replica = self.replica_of(address).ok_or(ValidatorActionError::NoReplica { address })?;
        // A partitioned replica may still consider itself leader, in an older term.
        let leaders =
            self.replicas().iter().filter_map(|replica| Some((replica.protocol().leading_term()?, replica.id())));
        let (_, leader) = leaders.max().ok_or(ValidatorActionError::NoLeader)?;
        let role = if joins { Role::Voter } else { Role::Removed };
        let change = Change::Simple(vec![Assignment { replica, address, role }]);
        self.admin(Admin::ChangeMembers(change), leader)?;
        Ok(Submitted::Members(leader))
    }
}

/// Returns the reason of a failed call to the staking contract: its custom error, if it is one.
fn reason(outcome: &CallOutcome) -> String {
    let error = outcome.revert_data().and_then(|data| StakingContractErrors::abi_decode(data).ok());
    let Some(error) = error else { return outcome.describe() };
    // The error as declared, without the name of its enum.
    let text = format!("{error:?}");
    let inner = text.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(&text).to_owned()
}
