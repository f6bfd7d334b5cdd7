//! What callers ask for of a validator: to be added, changed, staked, slashed.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::Value;

/// A validator to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewValidator {
    /// Its operator.
    pub operator: Address,
    /// Its name; may be empty.
    pub name: String,
    /// What the caller keeps with it, a JSON object.
    pub metadata: String,
    /// Its own stake; the least that the chain takes, by default. Without effect on a chain without stake.
    pub stake: Option<U256>,
    /// Its commission in ten-thousandths, 0 by default. Without effect on a chain without stake.
    pub commission_bps: Option<u16>,
    /// A sealing key that is held elsewhere, with its proof of possession; a standby key of the service by default.
    pub sealing: Option<(Address, Bytes)>,
    /// Who pays the stake of an operator that consents, or that is a wallet of the workspace itself: then the service signs its consent. The
    /// default sender by default, and such an operator itself.
    pub from: Option<Address>,
    /// Until when the operator consents to that, in seconds since 1970, and its signature.
    pub consent: Option<(u64, Bytes)>,
    /// The operator's own transaction, of a key that is held elsewhere.
    pub signed_transaction: Option<Bytes>,
}

/// A change of a validator. What it leaves out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidatorChange {
    /// Its new name; may be empty.
    pub name: Option<String>,
    /// What the caller keeps with it from now on, a JSON object.
    pub metadata: Option<String>,
    /// Its new commission.
    pub commission: Option<CommissionOrder>,
}

/// A new commission of a validator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommissionOrder {
    /// In ten-thousandths, by a transaction that the service signs for the operator.
    Bps(u16),
    /// By a transaction of the operator that somebody else has signed.
    Signed(Bytes),
}

/// A new own stake of a validator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StakeSpec {
    /// The whole own stake afterwards, by a transaction that the service signs.
    Whole {
        /// Amount in the smallest unit.
        stake: U256,
        /// Who pays for more; the default sender by default.
        from: Option<Address>,
    },
    /// A transaction that somebody else has signed.
    Signed(Bytes),
}

/// A delegation, or one that is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationSpec {
    /// What is sent.
    pub order: DelegationOrder,
    /// Whether it takes delegated stake back.
    pub takes_back: bool,
}

/// How much is delegated, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DelegationOrder {
    /// By a transaction that the service signs.
    Amount {
        /// Amount in the smallest unit.
        amount: U256,
        /// The delegator; the default sender by default.
        from: Option<Address>,
    },
    /// By a transaction that somebody else has signed.
    Signed(Bytes),
}

/// A part of a validator's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlashPart {
    /// So many millionths.
    Ppm(u32),
    /// So much of it.
    Amount(U256),
}

/// A penalty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashSpec {
    /// By what, and how much.
    pub order: SlashOrder,
    /// Misbehaviour for which the validator is slashed, 1 to 256 characters. It is in the audit log.
    pub reason: String,
}

/// By what a validator is slashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlashOrder {
    /// By the administrator of the validators' contract.
    Part(SlashPart),
    /// By evidence, as JSON of the protocol's type; the protocol takes what its own rule says.
    Evidence {
        /// Two messages that the validator has signed and that conflict.
        evidence: Value,
        /// What the caller asks for beside it, which no protocol takes.
        part: Option<SlashPart>,
    },
    /// By a transaction of the administrator that somebody else has signed.
    Signed(Bytes),
}

/// Rewards to claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOrder {
    /// By transactions that the service signs: for the operator's rewards and its commission, or for another delegator's rewards.
    Of(Option<Address>),
    /// A transaction that somebody else has signed.
    Signed(Bytes),
}

/// Stake to withdraw, whose unbonding period is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithdrawalOrder {
    /// That of this account, by a transaction that the service signs; of the default sender by default.
    Of(Option<Address>),
    /// A transaction that somebody else has signed.
    Signed(Bytes),
}

/// Who slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlashedBy {
    /// The administrator of the validators' contract, by this transaction.
    Administrator(B256),
    /// The protocol, in the block of the next proposer that the evidence convinces.
    Protocol,
}

impl SlashedBy {
    /// Name of the authority.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Administrator(_) => "validators-administrator",
            Self::Protocol => "protocol",
        }
    }

    /// Hash of the transaction, if there is one.
    pub const fn transaction(self) -> Option<B256> {
        match self {
            Self::Administrator(hash) => Some(hash),
            Self::Protocol => None,
        }
    }
}
