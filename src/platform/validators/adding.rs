//! Adding a validator: its sealing key, the transaction by which it joins, its replica.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::{ValidatorState, Validators, orders::NewValidator, quorum, unreadable};
use crate::{
    chain::CallRequest,
    platform::{
        PlatformError,
        blockchain::{Blockchain, ChainKeys},
        blockchains::{Outgoing, signed_call},
        context::audit,
        principal::Principal,
        records::Unit,
        validator::{HostedValidator, ValidatorId},
        wallet::Wallets,
    },
    primitives::{KeyPair, Transaction},
    system::{
        governance::{GOVERNANCE_ADDRESS, VALIDATORS_ADDRESS},
        staking::{self, JoinConsent, STAKING_ADDRESS, WEIGHT_UNIT, interface as stake},
        validators::{self, interface as registry},
    },
};

/// The whole, in ten-thousandths.
const WHOLE_BPS: u16 = 10_000;
/// How long a consent is good that the service signs for an operator, in seconds: a day, for a transaction that waits in the pool.
const CONSENT_SECS: u64 = 86_400;

/// The sealing key of a validator that joins.
struct Sealing {
    key: Address,
    proof: Bytes,
    /// Whether the operator has registered it before.
    is_registered: bool,
}

impl Validators<'_> {
    /// Adds a validator to a chain: sends the transaction by which it joins, under the id of the request
    /// ([`Blockchains::send_as`](crate::platform::Blockchains::send_as)), and starts its replica. Returns the hash of the transaction.
    ///
    /// On a chain without stake the administrator of the validators' contract adds it; where that is governance, the operator registers its
    /// sealing key, and a proposal adds it then. With stake the operator joins: as a wallet of the workspace, which pays itself or consents
    /// to another's paying, by its own consent to that, or by a transaction that it signed.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for an operator that validates already, for one more validator than the plan has, without a free sealing key, for one held elsewhere that would
    /// cost the protocol its quorum, and for what the contract refuses; as
    /// [`Blockchains::writable`](crate::platform::Blockchains::writable).
    pub fn add(
        &self,
        principal: &Principal,
        chain: &str,
        request: &str,
        new: &NewValidator,
    ) -> Result<(ValidatorId, alloy_primitives::B256), PlatformError> {
        let chain = self.chains.writable(principal, chain)?;
        let id = ValidatorId::new(chain.id(), new.operator);
        if chain.network().is_none() {
            let message = "the chain makes blocks on demand, in one process, and takes no more validators: make a chain with a \
                 blockTime";
            return Err(PlatformError::Conflict { message: message.to_owned() });
        }
        let (before, was_registered) = (self.kept(&chain, &id)?, self.is_registered(&chain, new.operator)?);
        let make = || self.join(principal, &chain, new);
        let sent = self
            .chains
            .send_made(principal, (&chain, request), make, |unit, joining| keep(unit, principal, &chain, joining));
        if sent.is_err() && before.is_none() {
            self.forget_refused(principal, &chain, &id, request)?;
        }
        let hash = sent?.value.hash;
        if let Some(kept) = self.kept(&chain, &id)?
            && let Some((network, replica)) = chain.engine().replica_of(kept.sealing_key)
            && network.is_stopped(replica)
        {
            // One that was a validator before goes on from its own records.
            let started = if was_registered { network.start(replica) } else { network.start_at_primary(replica) };
            started.map_err(PlatformError::from_command)?;
        }
        Ok((id, hash))
    }

    /// Returns the transaction by which a validator joins, and its record.
    fn join(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        new: &NewValidator,
    ) -> Result<(Outgoing, HostedValidator), PlatformError> {
        if self.find(chain, new.operator)?.is_some_and(|known| !known.state.is_out() && known.weight > 0) {
            let message = format!("{} is a validator of {} already", new.operator, chain.id());
            return Err(PlatformError::Conflict { message });
        }
        self.check_room(chain, new.operator)?;
        let (outgoing, sealing_key) = match &new.signed_transaction {
            Some(raw) => {
                let (transaction, key, added) = self.signed_join(chain, new, raw)?;
                quorum::check(chain, new.operator, key, added)?;
                (transaction.into(), key)
            }
            None => {
                let sealing = self.sealing(chain, new)?;
                let added = match chain.node().view().chain().has_stake() {
                    true => self.joining_weight(chain, new.operator, own_stake_of(chain, new)?)?,
                    false => 1,
                };
                quorum::check(chain, new.operator, sealing.key, added)?;
                (self.join_request(principal, chain, new, &sealing)?.into(), sealing.key)
            }
        };
        let joining = HostedValidator {
            blockchain_id: chain.id().to_owned(),
            operator: new.operator,
            sealing_key,
            name: new.name.clone(),
            metadata: new.metadata.clone(),
            is_stopped: false,
        };
        Ok((outgoing, joining))
    }

    /// Returns the weight of an operator that joins with an amount: with what it has in the contract from before.
    fn joining_weight(&self, chain: &Blockchain, operator: Address, amount: U256) -> Result<u64, PlatformError> {
        let kept = self.record_of(chain, operator)?.stake.map_or(U256::ZERO, |stake| stake.tokens);
        Ok((kept.saturating_add(amount) / WEIGHT_UNIT).saturating_to())
    }

    /// Deletes the record of a validator whose transaction the chain has refused.
    fn forget_refused(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        id: &ValidatorId,
        request: &str,
    ) -> Result<(), PlatformError> {
        if self.chains.sent(principal, request)?.is_some() {
            return Ok(());
        }
        self.chains.context.records.unit(|unit| {
            let kept = unit.of::<HostedValidator>().get(chain.owner(), &id.text())?;
            kept.map_or(Ok(()), |kept| Ok(unit.delete(&kept)?))
        })
    }

    /// Returns the record of a validator, if it has one.
    fn kept(&self, chain: &Blockchain, id: &ValidatorId) -> Result<Option<HostedValidator>, PlatformError> {
        let kept = self.chains.context.records.of::<HostedValidator>().get(chain.owner(), &id.text())?;
        Ok(kept.map(|kept| kept.value))
    }

    /// Returns whether the chain knows a sealing key of an operator.
    fn is_registered(&self, chain: &Blockchain, operator: Address) -> Result<bool, PlatformError> {
        let known = self.record_of(chain, operator)?.sealing_key;
        Ok(known != operator && !known.is_zero())
    }

    /// Returns the key of a validator that joins: the one that it had, one held elsewhere, or a standby key that nobody has.
    fn sealing(&self, chain: &Blockchain, new: &NewValidator) -> Result<Sealing, PlatformError> {
        if self.is_registered(chain, new.operator)? {
            let known = self.record_of(chain, new.operator)?.sealing_key;
            if let Some((named, _)) = new.sealing.as_ref().filter(|(named, _)| *named != known) {
                let expected = format!("{known}, the key that the operator has");
                return Err(PlatformError::field("sealingAddress", expected, named.to_string()));
            }
            return Ok(Sealing { key: known, proof: Bytes::new(), is_registered: true });
        }
        if let Some((key, proof)) = new.sealing.clone() {
            return Ok(Sealing { key, proof, is_registered: false });
        }
        let context = self.chains.context;
        let kept = self.records(chain)?;
        let own = kept.iter().find(|kept| kept.value.operator == new.operator).map(|kept| kept.value.sealing_key);
        let keys = ChainKeys::open(&context.vault, &context.records, chain.owner(), chain.id())?.validators()?;
        let standby = keys.iter().skip(chain.spec().validators_at_genesis());
        let is_taken = |key: &KeyPair| kept.iter().any(|kept| kept.value.sealing_key == key.address());
        let mut free = standby.filter(|key| own == Some(key.address()) || !is_taken(key));
        let key = match own {
            Some(own) => free.find(|key| key.address() == own),
            None => free.next(),
        };
        let Some(key) = key else {
            let message = "the service has no sealing key left for another validator of this chain: name one that is \
                           held elsewhere as sealingAddress, or add an operator again that has left";
            return Err(PlatformError::Conflict { message: message.to_owned() });
        };
        let prove = match chain.node().view().chain().has_stake() {
            true => staking::prove_sealing_key,
            false => validators::prove_sealing_key,
        };
        let proof = prove(chain.chain_id(), new.operator, key);
        Ok(Sealing { key: key.address(), proof, is_registered: false })
    }

    /// Reads a transaction by which an operator joins, and what it says of the sealing key and the weight.
    fn signed_join(
        &self,
        chain: &Blockchain,
        new: &NewValidator,
        raw: &[u8],
    ) -> Result<(Transaction, Address, u64), PlatformError> {
        let has_stake = chain.node().view().chain().has_stake();
        let (contract, selectors): (_, &[_]) = match has_stake {
            true => (STAKING_ADDRESS, &[stake::joinCall::SELECTOR, stake::joinWithKeyCall::SELECTOR]),
            false if is_governed(chain)? => (VALIDATORS_ADDRESS, &[registry::setSealingKeyCall::SELECTOR]),
            false => {
                (VALIDATORS_ADDRESS, &[registry::addValidatorCall::SELECTOR, registry::setValidatorCall::SELECTOR])
            }
        };
        let transaction = signed_call(raw, contract, selectors)?;
        let (operator, named_key, weight) = joining(&transaction)
            .ok_or_else(|| PlatformError::field("signedTransaction", "a call whose arguments can be read", "others"))?;
        let wrong = |path: &str, expected: String, got: String| Err(PlatformError::field(path, expected, got));
        if operator != new.operator {
            let expected = format!("a transaction by which {} joins", new.operator);
            return wrong("signedTransaction", expected, format!("one of {operator}"));
        }
        let key = match named_key {
            Some(key) => key,
            None => match self.record_of(chain, operator)?.sealing_key {
                Address::ZERO => operator,
                registered => registered,
            },
        };
        if let Some((named, _)) = new.sealing.as_ref().filter(|(named, _)| *named != key) {
            return wrong("sealingAddress", format!("{key}, the key of the signed transaction"), named.to_string());
        }
        if !has_stake {
            return match weight {
                0 => wrong("signedTransaction", "a call with a weight of at least 1".to_owned(), "0".to_owned()),
                weight => Ok((transaction, key, weight)),
            };
        }
        let value = transaction.value();
        if let Some(stake) = new.stake.filter(|stake| *stake != value) {
            return wrong("stake", format!("{value}, the value of the signed transaction"), stake.to_string());
        }
        let weight = self.joining_weight(chain, operator, value)?;
        Ok((transaction, key, weight))
    }

    /// Returns the call by which a validator joins.
    fn join_request(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        new: &NewValidator,
        sealing: &Sealing,
    ) -> Result<CallRequest, PlatformError> {
        if chain.node().view().chain().has_stake() {
            return self.stake_request(principal, chain, new, sealing);
        }
        if is_governed(chain)? {
            return self.registration(principal, chain, new.operator, sealing);
        }
        let administrator = self.administrator(principal, chain)?;
        let (validator, weight) = (new.operator, 1);
        let input = match sealing.is_registered {
            true => registry::setValidatorCall { validator, weight }.abi_encode(),
            false => {
                let (sealing_key, proof) = (sealing.key, sealing.proof.clone());
                registry::addValidatorCall { validator, sealingKey: sealing_key, weight, proof }.abi_encode()
            }
        };
        Ok(CallRequest::call(VALIDATORS_ADDRESS, input).with_from(administrator))
    }

    /// Returns the call by which an operator registers its sealing key, to be added by a proposal then.
    fn registration(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        operator: Address,
        sealing: &Sealing,
    ) -> Result<CallRequest, PlatformError> {
        if sealing.is_registered {
            let message = format!(
                "{operator} has the sealing key {}, and governance decides who validates: submit a proposal of the type validator-add",
                sealing.key
            );
            return Err(PlatformError::Conflict { message });
        }
        let wallets = Wallets { context: self.chains.context };
        if !wallets.can_sign(principal, chain, operator)? {
            let message = format!(
                "{operator} is no wallet of the workspace: let it sign a call of setSealingKey(address key, bytes proof) of \
                 {VALIDATORS_ADDRESS} with the key {} and the proof {}, and send it as signedTransaction",
                sealing.key, sealing.proof
            );
            return Err(PlatformError::Conflict { message });
        }
        let call = registry::setSealingKeyCall { key: sealing.key, proof: sealing.proof.clone() };
        Ok(CallRequest::call(VALIDATORS_ADDRESS, call.abi_encode()).with_from(operator))
    }

    /// Refuses to propose a validator that would cost the protocol its quorum, by itself or with other open proposals, or that is one already.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`]; those of reading.
    pub(in crate::platform) fn check_proposed(
        &self,
        chain: &Blockchain,
        operator: Address,
        weight: u64,
    ) -> Result<(), PlatformError> {
        if !is_governed(chain)? {
            // What others administer the contract refuses.
            return Ok(());
        }
        if self.find(chain, operator)?.is_some_and(|known| known.state == ValidatorState::Active) {
            let message = format!("{operator} is a validator of {} already", chain.id());
            return Err(PlatformError::Conflict { message });
        }
        self.check_room(chain, operator)?;
        quorum::check_proposed(chain, operator, weight)
    }

    fn stake_request(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        new: &NewValidator,
        sealing: &Sealing,
    ) -> Result<CallRequest, PlatformError> {
        let view = chain.node().view();
        let contract = view.chain();
        let amount = own_stake_of(chain, new)?;
        let commission = new.commission_bps.unwrap_or_default();
        let wallets = Wallets { context: self.chains.context };
        let can_sign = wallets.can_sign(principal, chain, new.operator)?;
        let pays_itself = new.consent.is_none() && new.from.is_none_or(|from| from == new.operator);
        if can_sign && pays_itself {
            let input = join_call(commission, sealing);
            return Ok(CallRequest::call(STAKING_ADDRESS, input).with_from(new.operator).with_value(amount));
        }
        let payer = new.from.map_or_else(|| wallets.default_sender(principal, chain), Ok)?;
        let nonce =
            contract.staking_view(view.head(), &stake::noncesCall { operator: new.operator }).map_err(unreadable)?;
        let terms = |deadline: u64| stake::JoinTerms {
            operator: new.operator,
            sealingKey: if sealing.is_registered { Address::ZERO } else { sealing.key },
            commissionBps: commission,
            maxCommissionBps: WHOLE_BPS,
            maxCommissionChangeBps: WHOLE_BPS,
            deadline: U256::from(deadline),
        };
        let (terms, consent) = match new.consent.clone() {
            Some((deadline, consent)) => (terms(deadline), consent),
            None if can_sign => {
                let now_secs = self.chains.context.records.clock().now_ms() / 1_000;
                let terms = terms(now_secs.saturating_add(CONSENT_SECS));
                let consent =
                    self.sign_consent(principal, chain, &JoinConsent { terms: terms.clone(), payer, nonce })?;
                (terms, consent)
            }
            None => return Err(no_consent(new.operator, payer, sealing.key, nonce)),
        };
        let input = stake::joinForCall { terms, consent, proof: sealing.proof.clone() }.abi_encode();
        Ok(CallRequest::call(STAKING_ADDRESS, input).with_from(payer).with_value(amount))
    }

    /// Lets an operator, which is a wallet of the workspace, consent to another wallet's paying its stake. Returns its signature.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of `from` for a payer or an operator that is no such wallet; those of signing.
    fn sign_consent(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        consent: &JoinConsent,
    ) -> Result<Bytes, PlatformError> {
        let (operator, payer) = (consent.terms.operator, consent.payer);
        let wallets = Wallets { context: self.chains.context };
        if !wallets.can_sign(principal, chain, payer)? {
            let expected = "a wallet of the workspace, for which this service can sign";
            return Err(PlatformError::field("from", expected, payer.to_string()));
        }
        let digest = staking::consent_digest(chain.chain_id(), consent);
        let signed = wallets.sign_hash(principal, chain, operator, (digest, "consent to a payer of its stake"))?;
        signed.ok_or_else(|| {
            let expected =
                format!("{operator}, whose consent to another's paying the service can't sign: leave it out");
            PlatformError::field("from", expected, payer.to_string())
        })
    }

    /// Returns the administrator of the validators' contract, for whom the service signs.
    pub(super) fn administrator(&self, principal: &Principal, chain: &Blockchain) -> Result<Address, PlatformError> {
        let view = chain.node().view();
        if !view.chain().has_validator_registry() {
            let message = format!(
                "blockchain {} was made without a contract of its validators, and nobody changes them by a transaction",
                chain.id()
            );
            return Err(PlatformError::Conflict { message });
        }
        let owner = view.chain().registry_view(view.head(), &registry::ownerCall {}).map_err(unreadable)?;
        let wallets = Wallets { context: self.chains.context };
        if wallets.can_sign(principal, chain, owner)? {
            return Ok(owner);
        }
        let message = match owner {
            GOVERNANCE_ADDRESS => format!(
                "governance administers the validators of blockchain {}, and nobody signs for it: make a proposal of type validator-remove, \
                 which takes a validator out",
                chain.id()
            ),
            _ => format!(
                "{owner} administers the validators, and the service can't sign for it: send its signedTransaction"
            ),
        };
        Err(PlatformError::Conflict { message })
    }
}

/// Returns whether governance alone adds and removes the validators of a chain without stake.
fn is_governed(chain: &Blockchain) -> Result<bool, PlatformError> {
    let view = chain.node().view();
    if view.chain().has_stake() || !view.chain().has_validator_registry() {
        return Ok(false);
    }
    let owner = view.chain().registry_view(view.head(), &registry::ownerCall {}).map_err(unreadable)?;
    Ok(owner == GOVERNANCE_ADDRESS)
}

/// Returns the own stake with which a validator joins a chain with stake.
fn own_stake_of(chain: &Blockchain, new: &NewValidator) -> Result<U256, PlatformError> {
    if let Some(stake) = new.stake {
        return Ok(stake);
    }
    let view = chain.node().view();
    let params = view.chain().staking_view(view.head(), &stake::paramsCall {}).map_err(unreadable)?;
    Ok(params.minSelfStake)
}

/// Returns the operator that a call lets join, the sealing key if the call names one, and the weight if it does.
fn joining(transaction: &Transaction) -> Option<(Address, Option<Address>, u64)> {
    let (input, sender) = (transaction.input(), transaction.sender());
    match *input.first_chunk::<4>()? {
        stake::joinCall::SELECTOR => Some((sender, None, 0)),
        stake::joinWithKeyCall::SELECTOR => {
            Some((sender, Some(stake::joinWithKeyCall::abi_decode(input).ok()?.sealingKey), 0))
        }
        registry::setSealingKeyCall::SELECTOR => {
            let call = registry::setSealingKeyCall::abi_decode(input).ok()?;
            Some((sender, Some(call.key), 1))
        }
        registry::setValidatorCall::SELECTOR => {
            let call = registry::setValidatorCall::abi_decode(input).ok()?;
            Some((call.validator, None, call.weight))
        }
        registry::addValidatorCall::SELECTOR => {
            let call = registry::addValidatorCall::abi_decode(input).ok()?;
            Some((call.validator, Some(call.sealingKey), call.weight))
        }
        _ => None,
    }
}

fn join_call(commission: u16, sealing: &Sealing) -> Vec<u8> {
    let (maximum, change) = (WHOLE_BPS, WHOLE_BPS);
    if sealing.is_registered {
        let call =
            stake::joinCall { commissionBps: commission, maxCommissionBps: maximum, maxCommissionChangeBps: change };
        return call.abi_encode();
    }
    let call = stake::joinWithKeyCall {
        commissionBps: commission,
        maxCommissionBps: maximum,
        maxCommissionChangeBps: change,
        sealingKey: sealing.key,
        proof: sealing.proof.clone(),
    };
    call.abi_encode()
}

fn no_consent(operator: Address, payer: Address, key: Address, nonce: U256) -> PlatformError {
    let message = format!(
        "{operator} is no wallet of the workspace, and nobody bonds for the unwilling: let it sign JoinConsent (EIP-712) for the payer \
         {payer}, the sealing key {key}, a commission up to {WHOLE_BPS} in ten-thousandths, and the nonce {nonce}, and send it as \
         consent; or send its own transaction as signedTransaction, with a sealing key of its own"
    );
    PlatformError::Conflict { message }
}

/// Keeps the record of a validator that joins.
fn keep(
    unit: &mut Unit<'_>,
    principal: &Principal,
    chain: &Blockchain,
    kept: HostedValidator,
) -> Result<(), PlatformError> {
    let id = ValidatorId::new(chain.id(), kept.operator).text();
    let others = unit.of().of_chain(&HostedValidator::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
    if others.iter().any(|other| other.value.sealing_key == kept.sealing_key && other.id() != id) {
        let message =
            format!("the sealing key {} was given to another validator meanwhile: try again", kept.sealing_key);
        return Err(PlatformError::Conflict { message });
    }
    match unit.of::<HostedValidator>().get(chain.owner(), &id)? {
        Some(mut stored) => {
            stored.value = kept;
            unit.replace(&stored)?;
        }
        None => drop(unit.insert(chain.owner(), &id, kept)?),
    }
    audit(unit, principal, "validator.add", format!("validator {id}"))
}
