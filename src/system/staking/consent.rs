//! Own stake that another pays: a treasury bonds for an operator.
//!
//! The operator owns the stake, and answers with it. So that nobody is made a validator against its will, it signs what it consents to, for
//! one payer, once, until a time (EIP-712). Adding to the stake of a validator needs no consent: it is a gift.

use alloy_primitives::{Address, B256, U256, b256, keccak256};
use alloy_sol_types::SolValue;

use super::{
    interface as sol,
    layout::{STAKING, Staking},
};
use crate::{
    system::{address::STAKING_ADDRESS, sealing_keys},
    templates::common::ecdsa,
    vm::{
        Stop,
        abi::{require, revert},
    },
};

/// `JoinConsent(address operator,address payer,address sealingKey,uint16 commissionBps,uint16 maxCommissionBps,uint16
/// maxCommissionChangeBps,uint256 nonce,uint256 deadline)`
pub(super) const JOIN_CONSENT_TYPE: B256 = b256!("708dafc43e5995d5cf37055b7cf8116fa1b2908fc8f28b9e1ba9908bc41eda55");

/// What an operator signs to let another bond stake for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinConsent {
    /// The terms.
    pub terms: sol::JoinTerms,
    /// The account that pays.
    pub payer: Address,
    /// Number of the operator's consents that were used before: `nonces(operator)`.
    pub nonce: U256,
}

impl JoinConsent {
    /// Returns the ABI-encoded struct, whose keccak is signed in the domain.
    fn encoded(&self) -> Vec<u8> {
        let Self { terms, payer, nonce } = self;
        let commission = [terms.commissionBps, terms.maxCommissionBps, terms.maxCommissionChangeBps];
        let [commission, maximum, change] = commission.map(U256::from);
        let parties = (JOIN_CONSENT_TYPE, terms.operator, *payer, terms.sealingKey);
        (parties, (commission, maximum, change, *nonce, terms.deadline)).abi_encode()
    }
}

/// Returns what an operator signs: the EIP-712 hash in the domain of [`sealing_keys`](crate::system::sealing_keys) of the staking contract.
pub fn consent_digest(chain_id: u64, consent: &JoinConsent) -> B256 {
    sealing_keys::typed_data_hash(chain_id, STAKING_ADDRESS, keccak256(consent.encoded()))
}

impl Staking<'_, '_> {
    /// Makes an operator that consents a validator (again), with the value of the call as its own stake.
    pub(super) fn join_for(&mut self, terms: &sol::JoinTerms, consent: &[u8], proof: &[u8]) -> Result<(), Stop> {
        let deadline = terms.deadline;
        require(U256::from(self.now()) <= deadline, sol::ConsentExpired { deadline })?;
        let (operator, payer) = (terms.operator, self.0.caller());
        let nonce = STAKING.consents.use_nonce(self.0, operator)?;
        let given = JoinConsent { terms: terms.clone(), payer, nonce };
        let hash = self.0.keccak(&given.encoded())?;
        let digest = sealing_keys::domain().hash_typed_data(self.0, hash)?;
        let signer = ecdsa::try_recover_bytes(self.0, digest, consent)?.unwrap_or_default();
        if signer != operator || operator.is_zero() {
            return Err(revert(&sol::ConsentNotGiven { operator, signer }));
        }
        let key = (!terms.sealingKey.is_zero()).then_some((terms.sealingKey, proof));
        let commission = [terms.commissionBps, terms.maxCommissionBps, terms.maxCommissionChangeBps];
        let amount = self.0.value();
        self.join_as(operator, key, commission)?;
        self.0.emit(&sol::StakedFor { payer, validator: operator, amount })
    }

    /// Adds the value of the call to a validator's own stake.
    pub(super) fn stake_for(&mut self, operator: Address) -> Result<(), Stop> {
        let (payer, amount) = (self.0.caller(), self.0.value());
        self.delegate_as(operator, operator)?;
        self.0.emit(&sol::StakedFor { payer, validator: operator, amount })
    }
}
