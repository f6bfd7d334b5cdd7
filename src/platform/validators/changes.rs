//! Stake, penalties and removal.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::SolCall;
use serde_json::Value;

use super::{
    Validator, Validators,
    orders::{ClaimOrder, SlashOrder, SlashPart, SlashSpec, SlashedBy, StakeSpec},
    quorum, unreadable,
};
use crate::{
    chain::CallRequest,
    platform::{
        PlatformError,
        blockchain::Blockchain,
        blockchains::{Outgoing, signed_by, signed_call},
        context::audit,
        evidence::{self, GivenEvidence},
        plan::{Usage, used},
        principal::Principal,
        validator::ValidatorId,
        wallet::Wallets,
    },
    primitives::Transaction,
    system::{
        governance::VALIDATORS_ADDRESS,
        staking::{STAKING_ADDRESS, StakeRecord, ValidatorRecord, ValidatorStatus, interface as stake},
        validators::{PART_PPM_MAX, interface as registry},
    },
};

impl Validators<'_> {
    /// Changes the own stake of a validator, by a transaction under the id of the request (kept before it is sent). More is paid by the operator,
    /// if it is a wallet of the workspace, else as a gift by the sender; less only the operator takes out. What it has counts the transactions
    /// that wait for a block.
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] on a chain without stake; [`PlatformError::Conflict`] for less of another's operator, for the
    /// stake that it has, for less than those that are up need to be enough, for so much more of one that is not up that they are too few,
    /// and for what the contract refuses.
    pub fn set_stake(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        spec: &StakeSpec,
    ) -> Result<B256, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        let to = (&*chain, request, "validator.stake", format!("validator {}", id.text()));
        self.send(principal, to, || self.stake_change(principal, &chain, &validator, spec))
    }

    /// Returns the transaction that brings a validator's own stake to what is asked for.
    fn stake_change(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        validator: &Validator,
        spec: &StakeSpec,
    ) -> Result<Outgoing, PlatformError> {
        staked(chain, validator)?;
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
                if let Ok(less) = stake::unstakeCall::abi_decode(transaction.input()) {
                    quorum::check_less_stake(chain, operator, (operator, less.amount))?;
                } else {
                    quorum::check_more_stake(chain, operator, transaction.value())?;
                }
                return Ok(transaction.into());
            }
            StakeSpec::Whole { stake, from } => (*stake, *from),
        };
        let wallets = Wallets { context: self.chains.context };
        let is_own = wallets.can_sign(principal, chain, validator.operator)?;
        let record = stake::validatorCall { validator: validator.operator };
        let present = quorum::pending(&chain.node().view(), STAKING_ADDRESS, &record)?.selfStake;
        let request = match stake.checked_sub(present) {
            Some(U256::ZERO) => {
                let message =
                    format!("the validator's own stake is {present} already, with what waits for the next block");
                return Err(PlatformError::Conflict { message });
            }
            Some(more) => {
                let payer = match from {
                    Some(from) => from,
                    None if is_own => validator.operator,
                    None => wallets.default_sender(principal, chain)?,
                };
                quorum::check_more_stake(chain, validator.operator, more)?;
                let gift = stake::stakeForCall { validator: validator.operator }.abi_encode();
                CallRequest::call(STAKING_ADDRESS, gift).with_from(payer).with_value(more)
            }
            None if is_own => {
                let amount = present.saturating_sub(stake);
                quorum::check_less_stake(chain, validator.operator, (validator.operator, amount))?;
                let less = stake::unstakeCall { amount }.abi_encode();
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
    /// protocol itself, where it knows of offences. The audit log has the reason, and the hash of the evidence.
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] for a part on a chain with stake, where nobody slashes but the protocol, and for evidence
    /// where the protocol knows of no offence; [`PlatformError::Conflict`] for an amount that is no part of the weight, for evidence that the
    /// protocol does not take, and where too few validators would be left.
    pub fn slash(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        spec: &SlashSpec,
    ) -> Result<SlashedBy, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        let target = format!("validator {}: {}", id.text(), spec.reason);
        if let SlashOrder::Evidence { evidence, part } = &spec.order {
            self.accuse(principal, (&chain, request), &validator, (evidence, *part), &target)?;
            return Ok(SlashedBy::Protocol);
        }
        let to = (&*chain, request, "validator.slash", target);
        let sent = self.send(principal, to, || self.penalty(principal, &chain, &validator, spec))?;
        Ok(SlashedBy::Administrator(sent))
    }

    /// Reports an offence, and keeps its evidence for the chain's next start. A request that is run again finds it done.
    fn accuse(
        &self,
        principal: &Principal,
        (chain, request): (&Blockchain, &str),
        validator: &Validator,
        (evidence, part): (&Value, Option<SlashPart>),
        target: &str,
    ) -> Result<(), PlatformError> {
        let proof = evidence::read(chain.node().consensus(), evidence)?;
        if part.is_some() {
            let message = "for an offence the protocol takes what its own rule says: leave percentage and amount out";
            return Err(PlatformError::Conflict { message: message.to_owned() });
        }
        let given = GivenEvidence {
            blockchain_id: chain.id().to_owned(),
            offender: validator.sealing_key,
            proof: evidence.to_string(),
            request: request.to_owned(),
            refused_at_ms: None,
        };
        let records = &self.chains.context.records;
        let kept = records.of::<GivenEvidence>().get(chain.owner(), &given.id())?;
        if kept.is_some_and(|kept| kept.value.request == request) {
            return Ok(());
        }
        evidence::report(chain, validator.sealing_key, &proof)?;
        let line = format!("{target}; evidence {}", keccak256(&given.proof));
        records.unit(|unit| {
            given.keep(unit, chain.owner())?;
            audit(unit, principal, "validator.slash", line)
        })
    }

    fn penalty(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        validator: &Validator,
        spec: &SlashSpec,
    ) -> Result<Outgoing, PlatformError> {
        let unsupported = |message: &str| Err(PlatformError::UnsupportedByConsensus { message: message.to_owned() });
        if chain.node().view().chain().has_stake() {
            return unsupported(
                "the chain slashes by the evidence and the absences that its blocks report, and takes no penalty from anybody: send \
                 evidence in place of a part, or make a proposal of type validator-remove, which takes the validator out",
            );
        }
        let part = match &spec.order {
            SlashOrder::Part(SlashPart::Ppm(part)) => *part,
            SlashOrder::Part(SlashPart::Amount(amount)) => part_of(validator, *amount)?,
            SlashOrder::Signed(raw) => {
                let transaction = signed_call(raw, VALIDATORS_ADDRESS, &[registry::slashCall::SELECTOR])?;
                check_first_argument(&transaction, validator.operator, "a penalty")?;
                // What can't be read the contract refuses.
                let call = registry::slashCall::abi_decode(transaction.input());
                check_left(chain, validator, call.map_or(0, |call| call.partPpm))?;
                return Ok(transaction.into());
            }
            SlashOrder::Evidence { .. } => {
                return unsupported(
                    "the protocol judges evidence: give a percentage of the weight, or an amount of it",
                );
            }
        };
        let administrator = self.administrator(principal, chain)?;
        check_left(chain, validator, part)?;
        let call = registry::slashCall { validator: validator.operator, partPpm: part, reason: spec.reason.clone() }
            .abi_encode();
        Ok(CallRequest::call(VALIDATORS_ADDRESS, call).with_from(administrator).into())
    }

    /// Removes a validator from the active set, by the protocol's own rule: with stake its operator leaves, else the administrator of the
    /// validators' contract takes it out; who has the key of either elsewhere signs the transaction itself. Its replica goes on as a follower.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for whom the service does not sign, and where too few would be left, or too few of those that are up;
    /// [`PlatformError::Validation`] for another signed transaction.
    pub fn remove(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        signed: Option<&Bytes>,
    ) -> Result<B256, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        let to = (&*chain, request, "validator.remove", format!("validator {}", id.text()));
        self.send(principal, to, || {
            check_others(&chain, &validator)?;
            quorum::check_without(&chain, validator.operator)?;
            match signed {
                Some(raw) => signed_leave(raw, validator.operator, chain.node().view().chain().has_stake()),
                None => self.leave(principal, &chain, &validator),
            }
        })
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
                    "its operator {} alone lets it leave, and is no wallet of the workspace: send its call of exit() to {STAKING_ADDRESS} as \
                     signedTransaction, or a proposal of type validator-remove takes it out",
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

    /// Claims the rewards of a validator's operator and its commission, or those of another who has delegated to it, under ids of the
    /// request. Returns the hashes of the transactions: one, or two for an operator with both. Nothing is sent unless all that is owed can be
    /// claimed, as far as that is known; should the second transaction fail all the same, the first is returned.
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] on a chain without stake; [`PlatformError::Conflict`] where nothing is owed but what waits to
    /// be paid in the next block, for whom the service does not sign, and for a plan without so many transactions;
    /// [`PlatformError::Validation`] for another signed transaction.
    pub fn claim(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        order: &ClaimOrder,
    ) -> Result<Vec<B256>, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        let staked = staked(&chain, &validator)?;
        let to = |request| (&*chain, request, "validator.claim", format!("validator {}", id.text()));
        let operator = validator.operator;
        let claimant = match order {
            ClaimOrder::Of(claimant) => claimant.unwrap_or(operator),
            ClaimOrder::Signed(raw) => {
                let sent = self.send(principal, to(request), || Ok(signed_claim(raw, operator)?.into()))?;
                return Ok(vec![sent]);
            }
        };
        let view = chain.node().view();
        // The contract refuses to pay nothing: what is owed now, and still is after the transactions that wait.
        let (rewards, commission) = if claimant == operator {
            let left = quorum::pending(&view, STAKING_ADDRESS, &stake::validatorCall { validator: operator })?;
            (staked.rewards_owed.min(left.selfRewards), staked.commission_owed.min(left.commission))
        } else {
            let call = stake::delegationCall { delegator: claimant, validator: operator };
            let held = view.chain().staking_view(view.head(), &call).map_err(unreadable)?;
            (held.rewards.min(quorum::pending(&view, STAKING_ADDRESS, &call)?.rewards), U256::ZERO)
        };
        let second = format!("{request}-commission");
        let claims = [
            (request, rewards, stake::claimRewardsCall { validator: operator }.abi_encode()),
            (second.as_str(), commission, stake::claimCommissionCall {}.abi_encode()),
        ];
        let (mut due, mut is_begun) = (Vec::new(), false);
        for (request, owed, call) in claims {
            let is_sent = self.chains.sent(principal, request)?.is_some();
            is_begun |= is_sent;
            if is_sent || !owed.is_zero() {
                due.push((request, call));
            }
        }
        if due.is_empty() {
            let message = format!(
                "validator {} owes {claimant} nothing at the newest block, but for what waits to be paid in the next one",
                id.text()
            );
            return Err(PlatformError::Conflict { message });
        }
        if !is_begun {
            self.check_transactions_left(principal, due.len() as u64)?;
        }
        until_failure(due.into_iter().map(|(request, call)| {
            self.send(principal, to(request), || {
                self.chains.call_of(principal, &chain, (claimant, STAKING_ADDRESS), call)
            })
        }))
    }

    /// Refuses to begin what takes more transactions than the workspace's plan has left.
    fn check_transactions_left(&self, principal: &Principal, count: u64) -> Result<(), PlatformError> {
        let (owner, context) = (principal.owner(), self.chains.context);
        let max = context.stored_plan(&owner)?.transactions_max;
        let has = context.records.unit(|unit| used(unit, &owner, Usage::Transactions))?;
        if has.saturating_add(count) <= max {
            return Ok(());
        }
        let message = format!(
            "the workspace's plan allows {max} transactions in 30 days, and it has {has}: to claim all that is owed takes {count}; change the \
             plan, or claim when the 30 days are over"
        );
        Err(PlatformError::Conflict { message })
    }

    /// Lets a validator out of jail, whose time is over, by a transaction of its operator.
    ///
    /// # Errors
    /// [`PlatformError::UnsupportedByConsensus`] on a chain without stake; [`PlatformError::Conflict`] for one that is not in jail, or before
    /// its time, and for an operator for whom the service does not sign; [`PlatformError::Validation`] for another signed transaction.
    pub fn unjail(
        &self,
        principal: &Principal,
        id: &ValidatorId,
        request: &str,
        signed: Option<&Bytes>,
    ) -> Result<B256, PlatformError> {
        let (chain, validator) = self.commanded(principal, id)?;
        staked(&chain, &validator)?;
        let operator = (validator.operator, STAKING_ADDRESS);
        let to = (&*chain, request, "validator.unjail", format!("validator {}", id.text()));
        self.send(principal, to, || match signed {
            Some(raw) => Ok(signed_by(raw, operator, &[stake::unjailCall::SELECTOR])?.into()),
            None => self.chains.call_of(principal, &chain, operator, stake::unjailCall {}.abi_encode()),
        })
    }

    /// Sends what `make` returns under the id of a request, once, with a line in the audit log of what is done to what.
    pub(super) fn send(
        &self,
        principal: &Principal,
        (chain, request, action, target): (&Blockchain, &str, &str, String),
        make: impl FnOnce() -> Result<Outgoing, PlatformError>,
    ) -> Result<B256, PlatformError> {
        let make = || Ok((make()?, ()));
        let sent = self
            .chains
            .send_made(principal, (chain, request), make, |unit, ()| audit(unit, principal, action, target))?;
        Ok(sent.value.hash)
    }
}

/// Returns the transactions before the first one that fails.
///
/// # Errors
/// That of the first one of all.
fn until_failure(sends: impl Iterator<Item = Result<B256, PlatformError>>) -> Result<Vec<B256>, PlatformError> {
    let mut sent = Vec::new();
    for send in sends {
        match send {
            Ok(hash) => sent.push(hash),
            Err(cause) if sent.is_empty() => return Err(cause),
            Err(_) => break,
        }
    }
    Ok(sent)
}

/// Returns what the chain has of a validator's stake.
///
/// # Errors
/// [`PlatformError::UnsupportedByConsensus`] on a chain without stake.
pub(super) fn staked<'v>(chain: &Blockchain, validator: &'v Validator) -> Result<&'v StakeRecord, PlatformError> {
    validator.stake.as_ref().ok_or_else(|| {
        let protocol = chain.node().consensus().name();
        let message = format!("blockchain {} is of {protocol}, without stake", chain.id());
        PlatformError::UnsupportedByConsensus { message }
    })
}

/// Returns the part that takes an amount of a validator's weight, in millionths.
///
/// # Errors
/// [`PlatformError::Conflict`] where there is none.
fn part_of(validator: &Validator, amount: U256) -> Result<u32, PlatformError> {
    let (id, weight) = (validator.id.text(), validator.weight);
    part_ppm(weight, amount).ok_or_else(|| {
        let message = match weight {
            0 => format!("validator {id} has no weight: it is out, or in no block yet"),
            weight if amount.is_zero() || amount > U256::from(weight) => {
                format!("validator {id} weighs {weight}: give an amount from 1 to {weight}, not {amount}, or a percentage")
            }
            weight => format!(
                "validator {id} weighs {weight}, of which whole millionths are taken, rounded up: {amount} is none; give a percentage"
            ),
        };
        PlatformError::Conflict { message }
    })
}

/// Returns the part of a weight, in millionths, that the validators' contract rounds up to this amount.
fn part_ppm(weight: u64, amount: U256) -> Option<u32> {
    let (weight, whole) = (u128::from(weight), u128::from(PART_PPM_MAX));
    let wanted = u128::from(u64::try_from(amount).ok()?);
    let part = wanted.saturating_mul(whole).checked_div(weight)?;
    let taken = taken_by(weight, part);
    let is_exact = (1..=whole).contains(&part) && taken == wanted;
    u32::try_from(part).ok().filter(|_| is_exact)
}

/// Returns what the validators' contract takes of a weight by a part of it in millionths: rounded up.
const fn taken_by(weight: u128, part_ppm: u128) -> u128 {
    part_ppm.saturating_mul(weight).div_ceil(PART_PPM_MAX as u128)
}

/// Refuses a penalty that takes a validator out without which the others would be too few.
fn check_left(chain: &Blockchain, validator: &Validator, part_ppm: u32) -> Result<(), PlatformError> {
    let weight = u128::from(validator.weight);
    if weight == 0 || taken_by(weight, part_ppm.into()) < weight {
        return Ok(());
    }
    quorum::check_without(chain, validator.operator)
}

/// Refuses to let the only validator leave. Who waits to leave is no other that stays.
fn check_others(chain: &Blockchain, validator: &Validator) -> Result<(), PlatformError> {
    let known = chain.node().validators().map_err(PlatformError::from_query)?;
    let stays = |other: &ValidatorRecord| other.weight > 0 && other.status != ValidatorStatus::Exiting;
    let is_other = |other: &ValidatorRecord| other.address != validator.operator && stays(other);
    if validator.weight == 0 || known.iter().any(is_other) {
        return Ok(());
    }
    let message = format!(
        "validator {} is the last one of its chain that stays: add another before it leaves",
        validator.id.text()
    );
    Err(PlatformError::Conflict { message })
}

/// Reads the transaction by which a validator leaves: its operator's with stake, else one of the administrator of the validators' contract.
fn signed_leave(raw: &[u8], operator: Address, has_stake: bool) -> Result<Outgoing, PlatformError> {
    if has_stake {
        return Ok(signed_by(raw, (operator, STAKING_ADDRESS), &[stake::exitCall::SELECTOR])?.into());
    }
    let transaction = signed_call(raw, VALIDATORS_ADDRESS, &[registry::setValidatorCall::SELECTOR])?;
    let leaves = registry::setValidatorCall { validator: operator, weight: 0 }.abi_encode();
    if **transaction.input() == *leaves {
        return Ok(transaction.into());
    }
    let expected = format!("a call of setValidator that gives {operator} the weight 0");
    Err(PlatformError::field("signedTransaction", expected, "one with other arguments"))
}

/// Reads a claim of rewards of a validator, or of its commission, that somebody else has signed.
fn signed_claim(raw: &[u8], operator: Address) -> Result<Transaction, PlatformError> {
    let selectors = [stake::claimRewardsCall::SELECTOR, stake::claimCommissionCall::SELECTOR];
    let transaction = signed_call(raw, STAKING_ADDRESS, &selectors)?;
    if transaction.input().starts_with(&stake::claimRewardsCall::SELECTOR) {
        check_first_argument(&transaction, operator, "a claim of rewards")?;
    } else if transaction.sender() != operator {
        let expected = format!("a claim of commission by {operator}");
        return Err(PlatformError::field("signedTransaction", expected, format!("one by {}", transaction.sender())));
    }
    Ok(transaction)
}

/// Refuses a signed transaction whose call names another validator in its first argument.
pub(super) fn check_first_argument(
    transaction: &Transaction,
    validator: Address,
    what: &str,
) -> Result<(), PlatformError> {
    if transaction.input().get(16..36) == Some(validator.as_slice()) {
        return Ok(());
    }
    let expected = format!("{what} of {validator}");
    Err(PlatformError::field("signedTransaction", expected, "one of another validator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the contract takes: a part of the weight, rounded up.
    fn taken(weight: u64, part_ppm: u32) -> u128 {
        let product = u128::from(weight) * u128::from(part_ppm);
        product / 1_000_000 + u128::from(product % 1_000_000 > 0)
    }

    #[test]
    fn what_was_sent_is_told_though_the_next_fails() {
        let (one, other) = (B256::repeat_byte(1), B256::repeat_byte(2));
        let failed = |message: &str| PlatformError::Conflict { message: message.to_owned() };
        let told = |sends: Vec<Result<B256, PlatformError>>| until_failure(sends.into_iter());
        assert_eq!(told(vec![Ok(one), Ok(other)]), Ok(vec![one, other]));
        assert_eq!(told(vec![Ok(one), Err(failed("second"))]), Ok(vec![one]));
        assert_eq!(told(vec![Err(failed("first")), Ok(other)]), Err(failed("first")));
        // After the first failure nothing more is sent.
        let mut tried = 0;
        let sends = [Err(failed("first")), Ok(one)].into_iter().inspect(|_| tried += 1);
        assert_eq!(until_failure(sends), Err(failed("first")));
        assert_eq!(tried, 1);
    }

    #[test]
    fn an_amount_of_a_weight_is_taken_whole_or_not_at_all() {
        for weight in [1, 2, 3, 7, 64, 999_983, 1_000_000] {
            for amount in [1, weight / 3, weight / 2, weight - 1, weight].into_iter().filter(|amount| *amount > 0) {
                let part = part_ppm(weight, U256::from(amount)).unwrap_or_else(|| panic!("{amount} of {weight}"));
                assert_eq!(taken(weight, part), u128::from(amount), "{amount} of {weight}");
            }
            for outside in [0, weight + 1, weight * 2] {
                assert_eq!(part_ppm(weight, U256::from(outside)), None, "{outside} of {weight}");
            }
        }
        assert_eq!(part_ppm(1, U256::from(1)), Some(1_000_000));
        assert_eq!(part_ppm(0, U256::from(1)), None, "who is out has nothing to take");
        assert_eq!(part_ppm(u64::MAX, U256::MAX), None);
        // 32 ether in gwei: a millionth is 32,000 of them.
        assert_eq!(part_ppm(32_000_000_000, U256::from(64_000)), Some(2));
        assert_eq!(part_ppm(32_000_000_000, U256::from(64_001)), None);
        assert_eq!(part_ppm(32_000_000_000, U256::from(31_999)), None);
    }
}
