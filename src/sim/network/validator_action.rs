//! The life of validators by one interface, whatever the protocol.
//!
//! | protocol | join, exit | all else |
//! |---|---|---|
//! | with stake | a transaction to the staking contract | the same |
//! | proof of authority | votes of a majority of signers | unsupported |
//! | Raft | a change of members by the leader | unsupported |
//! | PBFT without stake | unsupported | unsupported |

use alloy_sol_types::{SolCall, SolInterface};

use super::{Network, error::NetworkError};
use crate::{
    chain::{CallError, CallOutcome, CallRequest, ChainError, StateOverrides},
    consensus::{
        Admin, ConsensusKind, Machine, Protocol, ReplicaId,
        raft::{Assignment, Change, Role},
    },
    primitives::{Address, B256, Bytes, KeyPair, Transaction, TransactionError, TransactionRequest, U256},
    system::staking::{
        STAKING_ADDRESS, ValidatorRecord, ValidatorStatus, interface as sol, interface::StakingContractErrors,
    },
};

/// Room above an estimate of gas, for a state that moves on meanwhile: a half.
const ESTIMATE_ROOM: u64 = 2;

/// Tip of an operator's transaction, in the smallest unit a unit of gas.
const TIP: u128 = 1_000_000_000;

/// What an operator or a delegator wants. Amounts are in the smallest unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidatorAction {
    /// The actor becomes a validator.
    Join {
        /// Its own stake; 0 on chains without stake.
        stake: U256,
        /// Its commission in ten-thousandths; 0 on chains without stake. It may change to anything later, once a day.
        commission_bps: u16,
    },
    /// The actor leaves.
    Exit,
    /// Adds to the actor's own stake.
    Stake {
        /// How much.
        amount: U256,
    },
    /// Takes from the actor's own stake; it can be withdrawn after the unbonding period.
    Unstake {
        /// How much; 2^256 - 1 for all.
        amount: U256,
    },
    /// Puts stake with a validator.
    Delegate {
        /// Which.
        validator: Address,
        /// How much.
        amount: U256,
    },
    /// Takes stake from a validator; it can be withdrawn after the unbonding period.
    Undelegate {
        /// Which.
        validator: Address,
        /// How much; 2^256 - 1 for all.
        amount: U256,
    },
    /// Withdraws what has waited long enough.
    Withdraw,
    /// Claims the rewards of the actor's stake with a validator.
    ClaimRewards {
        /// Which.
        validator: Address,
    },
    /// Claims the actor's commission.
    ClaimCommission,
    /// Changes the actor's commission.
    SetCommission {
        /// In ten-thousandths.
        commission_bps: u16,
    },
    /// Comes back from jail.
    Unjail,
}

impl ValidatorAction {
    /// Its name, such as `set-commission`.
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
        }
    }

    /// The call to the staking contract, and the value that it takes along.
    pub fn to_call(&self) -> (Bytes, U256) {
        let none = U256::ZERO;
        let (input, value) = match *self {
            Self::Join { stake, commission_bps } => {
                let whole = 10_000;
                let call = sol::joinCall {
                    commissionBps: commission_bps,
                    maxCommissionBps: whole,
                    maxCommissionChangeBps: whole,
                };
                (call.abi_encode(), stake)
            }
            Self::Exit => (sol::exitCall {}.abi_encode(), none),
            Self::Stake { amount } => (sol::stakeCall {}.abi_encode(), amount),
            Self::Unstake { amount } => (sol::unstakeCall { amount }.abi_encode(), none),
            Self::Delegate { validator, amount } => (sol::delegateCall { validator }.abi_encode(), amount),
            Self::Undelegate { validator, amount } => (sol::undelegateCall { validator, amount }.abi_encode(), none),
            Self::Withdraw => (sol::withdrawCall {}.abi_encode(), none),
            Self::ClaimRewards { validator } => (sol::claimRewardsCall { validator }.abi_encode(), none),
            Self::ClaimCommission => (sol::claimCommissionCall {}.abi_encode(), none),
            Self::SetCommission { commission_bps } => {
                (sol::setCommissionCall { commissionBps: commission_bps }.abi_encode(), none)
            }
            Self::Unjail => (sol::unjailCall {}.abi_encode(), none),
        };
        (input.into(), value)
    }
}

/// How a wish was passed on. It takes effect by the protocol's own rule, blocks later.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Submitted {
    /// By this transaction, which waits in the pools.
    Transaction(B256),
    /// By the votes of these replicas, in the blocks that they make.
    Votes(Vec<ReplicaId>),
    /// By this leader, in its next block.
    Members(ReplicaId),
}

/// Why a wish was not passed on. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidatorActionError {
    /// The protocol has no notion of it.
    #[error("{} has no notion of `{action}`: {hint}", protocol.name())]
    Unsupported {
        /// The protocol.
        protocol: ConsensusKind,
        /// The action's name.
        action: &'static str,
        /// What it has instead.
        hint: &'static str,
    },
    /// The staking contract would refuse it.
    #[error("the staking contract refuses `{action}`: {reason}")]
    Refused {
        /// The action's name.
        action: &'static str,
        /// Its custom error with its values, or how the call ended.
        reason: String,
    },
    /// It is a validator already, or is none.
    #[error("`{action}` changes nothing: {address} {state}")]
    NothingToDo {
        /// The action's name.
        action: &'static str,
        /// Who.
        address: Address,
        /// What it is.
        state: &'static str,
    },
    /// No replica of the network has this key.
    #[error("no replica seals as {address}; add it by `NetworkBuilder::with_candidates`")]
    NoReplica {
        /// Whose.
        address: Address,
    },
    /// Nobody leads now.
    #[error("no replica leads now; try again after an election")]
    NoLeader,
    /// It could not be run at all.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The transaction could not be made.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// It was taken, and no block could be made.
    #[error("it waits in the pool: {reason}")]
    NotMined {
        /// Why.
        reason: String,
    },
    /// The network did not take it.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl From<ChainError> for ValidatorActionError {
    fn from(error: ChainError) -> Self {
        Self::Call(error.into())
    }
}

/// The life of validators.
impl Network {
    /// The validators as the first replica's head has them, in ascending order of address: those that the protocol counts, and on
    /// chains with stake also those that wait, are jailed or left.
    ///
    /// # Errors
    /// [`CallError`] when the state can't be read.
    pub fn validators(&self) -> Result<Vec<ValidatorRecord>, CallError> {
        let primary = self.primary();
        let set = primary.protocol().validators();
        let chain = primary.chain();
        if !chain.has_stake() {
            let record = |address| ValidatorRecord {
                address,
                validates: true,
                status: ValidatorStatus::Bonded,
                weight: 1,
                stake: None,
            };
            return Ok(set.addresses().map(record).collect());
        }
        let mut records = chain.staked_validators(chain.head())?;
        for address in set.addresses() {
            if !records.iter().any(|record| record.address == address) {
                records.push(chain.staked_validator(chain.head(), address)?);
            }
        }
        records.iter_mut().for_each(|record| record.validates = set.contains(&record.address));
        records.sort_unstable_by_key(|record| record.address);
        Ok(records)
    }

    /// Passes on what `actor`, an operator or a delegator, wants.
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
        match self.config().kind() {
            ConsensusKind::Poa => self.vote(actor.address(), joins),
            ConsensusKind::Raft => self.change_members(actor.address(), joins),
            _ => Err(self.unsupported(action)),
        }
    }

    /// The transaction by which `actor` would do it on a chain with stake, tried on the newest state first.
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
        let mined = || -> Result<u64, ChainError> {
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
            // A refund comes after the gas was needed.
            gas_limit: gas.saturating_mul(5) / 4 + gas / ESTIMATE_ROOM,
            max_fee_per_gas: 2 * base_fee + TIP,
            max_priority_fee_per_gas: TIP,
            ..TransactionRequest::default()
        };
        Ok(fields.sign(actor)?)
    }

    /// The replica that seals as `address`.
    fn replica_of(&self, address: Address) -> Option<ReplicaId> {
        self.replicas().iter().find(|replica| replica.address() == Some(address)).map(|replica| replica.id())
    }

    fn unsupported(&self, action: &ValidatorAction) -> ValidatorActionError {
        let protocol = self.config().kind();
        let hint = match protocol {
            ConsensusKind::Poa => "signers join and exit by votes, without stake or commission",
            ConsensusKind::Raft => {
                "members join and exit by the leader's change of members, without stake or commission"
            }
            _ => "give genesis the field `staking`, which makes validators change by their stake",
        };
        ValidatorActionError::Unsupported { protocol, action: action.name(), hint }
    }

    /// Lets a majority of signers vote, the target only when nobody else is left.
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
        let term = |protocol: &Machine| match protocol {
            Machine::Raft(raft) if raft.is_leader() => Some(raft.term()),
            _ => None,
        };
        // One that was cut off may still think that it leads, in an older term.
        let leaders = self.replicas().iter().filter_map(|replica| Some((term(replica.protocol())?, replica.id())));
        let (_, leader) = leaders.max().ok_or(ValidatorActionError::NoLeader)?;
        let role = if joins { Role::Voter } else { Role::Removed };
        let change = Change::Simple(vec![Assignment { replica, address, role }]);
        self.admin(Admin::ChangeMembers(change), leader)?;
        Ok(Submitted::Members(leader))
    }
}

/// Why a call to the staking contract failed: its custom error where it is one.
fn reason(outcome: &CallOutcome) -> String {
    let error = outcome.revert_data().and_then(|data| StakingContractErrors::abi_decode(data).ok());
    let Some(error) = error else { return outcome.describe() };
    // The error as it is declared, without the name of the list that it is in.
    let text = format!("{error:?}");
    let inner = text.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(&text).to_owned()
}
