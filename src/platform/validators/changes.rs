//! Stake, penalties and removal.

use alloy_primitives::{B256, U256};
use alloy_sol_types::SolCall;

use super::{
    Validator, Validators, evidence,
    orders::{SlashPart, SlashSpec, SlashedBy, StakeSpec},
};
use crate::{
    chain::CallRequest,
    platform::{
        PlatformError,
        blockchain::Blockchain,
        blockchains::{Outgoing, signed_call},
        principal::Principal,
        validator::ValidatorId,
        wallet::Wallets,
    },
    system::{
        governance::VALIDATORS_ADDRESS,
        staking::{STAKING_ADDRESS, interface as stake},
        validators::interface as registry,
    },
};

impl Validators<'_> {
    /// Changes the own stake of a validator, by a transaction under the id of the request (kept before it is sent). More is paid by the operator, if it is a wallet of the workspace, else as a gift by the
    /// sender; less only the operator takes out.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] on a chain without stake, for less of another's operator, for the stake that it has, and for what the
    /// contract refuses.
    pub fn set_stake(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        spec: &StakeSpec,
    ) -> Result<B256, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        self.send(principal, (&chain, request), || self.stake_change(principal, &chain, &validator, spec))
    }

    /// Returns the transaction that brings a validator's own stake to what is asked for.
    fn stake_change(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        validator: &Validator,
        spec: &StakeSpec,
    ) -> Result<Outgoing, PlatformError> {
        let present = own_stake(chain, validator)?;
        let (stake, from) = match spec {
            StakeSpec::Signed(raw) => {
                let selectors =
                    [stake::stakeCall::SELECTOR, stake::stakeForCall::SELECTOR, stake::unstakeCall::SELECTOR];
                let transaction = signed_call(raw, STAKING_ADDRESS, &selectors)?;
                let is_gift = transaction.input().starts_with(&stake::stakeForCall::SELECTOR);
                let operator = validator.operator;
                let is_of_it = match is_gift {
                    true => transaction.input().get(16..36) == Some(operator.as_slice()),
                    false => transaction.sender() == operator,
                };
                if !is_of_it {
                    let expected = format!("a change of the stake of {}", validator.operator);
                    return Err(PlatformError::field("signedTransaction", expected, "one of another validator"));
                }
                return Ok(transaction.into());
            }
            StakeSpec::Whole { stake, from } => (*stake, *from),
        };
        let wallets = Wallets { context: self.chains.context };
        let is_own = wallets.can_sign(principal, chain, validator.operator)?;
        let request = match stake.checked_sub(present) {
            Some(U256::ZERO) => {
                let message = format!("the validator's own stake is {present} already");
                return Err(PlatformError::Conflict { message });
            }
            Some(more) => {
                let payer = match from {
                    Some(from) => from,
                    None if is_own => validator.operator,
                    None => wallets.default_sender(principal, chain)?,
                };
                let gift = stake::stakeForCall { validator: validator.operator }.abi_encode();
                CallRequest::call(STAKING_ADDRESS, gift).with_from(payer).with_value(more)
            }
            None if is_own => {
                let less = stake::unstakeCall { amount: present.saturating_sub(stake) }.abi_encode();
                CallRequest::call(STAKING_ADDRESS, less).with_from(validator.operator)
            }
            None => {
                let message = format!(
                    "its operator {} alone takes stake out, and is no wallet of the workspace: send its signedTransaction",
                    validator.operator
                );
                return Err(PlatformError::Conflict { message });
            }
        };
        Ok(request.into())
    }

    /// Slashes a validator, by the authority that the chain has for it: the administrator of the validators' contract, or with evidence the
    /// protocol of proof of stake itself.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] without evidence on a chain with stake, where nobody slashes but the protocol; for evidence that the
    /// protocol does not take; for an amount where weights count, and where too few validators would be left.
    pub fn slash(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        spec: &SlashSpec,
    ) -> Result<SlashedBy, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        if let Some(evidence) = &spec.evidence {
            evidence::report(&chain, &validator, spec.part, evidence)?;
            return Ok(SlashedBy::Protocol);
        }
        let sent = self.send(principal, (&chain, request), || self.penalty(principal, &chain, &validator, spec))?;
        Ok(SlashedBy::Administrator(sent))
    }

    fn penalty(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        validator: &Validator,
        spec: &SlashSpec,
    ) -> Result<Outgoing, PlatformError> {
        let conflict = |message: &str| Err(PlatformError::Conflict { message: message.to_owned() });
        if chain.node().view().chain().has_stake() {
            return conflict(
                "the chain slashes by the evidence and the absences that its blocks report, and takes no penalty from anybody: send \
                 evidence in place of a part (proof of stake), or make a proposal of type validator-remove, which takes the validator out",
            );
        }
        let Some(SlashPart::Ppm(part)) = spec.part else {
            return conflict("the chain has no stake: give a percentage of the validator's weight");
        };
        let administrator = self.administrator(principal, chain)?;
        let call = registry::slashCall { validator: validator.operator, partPpm: part, reason: spec.reason.clone() }
            .abi_encode();
        Ok(CallRequest::call(VALIDATORS_ADDRESS, call).with_from(administrator).into())
    }

    /// Removes a validator from the active set, by the protocol's own rule: with stake its operator leaves, else the administrator of the
    /// validators' contract takes it out. Its replica goes on as a follower.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] with stake for an operator that is no wallet of the workspace, and where too few would be left.
    pub fn remove(&self, principal: &Principal, id: &ValidatorId, request: &str) -> Result<B256, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        self.send(principal, (&chain, request), || self.leave(principal, &chain, &validator))
    }

    /// Returns the transaction by which a validator leaves.
    fn leave(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        validator: &Validator,
    ) -> Result<Outgoing, PlatformError> {
        let request = if chain.node().view().chain().has_stake() {
            let wallets = Wallets { context: self.chains.context };
            if !wallets.can_sign(principal, chain, validator.operator)? {
                let message = format!(
                    "its operator {} alone lets it leave, and is no wallet of the workspace: it sends exit() to {STAKING_ADDRESS}, or a \
                     proposal of type validator-remove takes it out",
                    validator.operator
                );
                return Err(PlatformError::Conflict { message });
            }
            CallRequest::call(STAKING_ADDRESS, stake::exitCall {}.abi_encode()).with_from(validator.operator)
        } else {
            let administrator = self.administrator(principal, chain)?;
            let call = registry::setValidatorCall { validator: validator.operator, weight: 0 };
            if validator.weight == 0 {
                let message = format!("validator {} is out already", validator.id.text());
                return Err(PlatformError::Conflict { message });
            }
            CallRequest::call(VALIDATORS_ADDRESS, call.abi_encode()).with_from(administrator)
        };
        Ok(request.into())
    }

    /// Sends what `make` returns under the id of a request, once.
    pub(super) fn send(
        &self,
        principal: &Principal,
        to: (&Blockchain, &str),
        make: impl FnOnce() -> Result<Outgoing, PlatformError>,
    ) -> Result<B256, PlatformError> {
        let sent = self.chains.send_made(principal, to, || Ok((make()?, ())), |_, ()| Ok(()))?;
        Ok(sent.value.hash)
    }
}

fn own_stake(chain: &Blockchain, validator: &Validator) -> Result<U256, PlatformError> {
    validator.stake.as_ref().map(|stake| stake.self_stake).ok_or_else(|| {
        let protocol = chain.node().consensus().name();
        let message = format!("blockchain {} is of {protocol}, without stake", chain.id());
        PlatformError::Conflict { message }
    })
}
