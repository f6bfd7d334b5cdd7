//! `/v1/validators/{validatorId}`: stake, penalties, removal, delegations, withdrawals.

mod evidence;

use alloy_primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use self::evidence::Evidence;
use super::{
    validator_body::{ValidatorView, known_time, signed},
    validators::{id_of, of_validator},
    view::beside_signed,
};
use crate::{
    platform::{
        ClaimOrder, DelegationOrder, DelegationSpec, FieldError, Scope, SlashOrder, SlashPart, SlashSpec, StakeSpec,
        Unbonding, WithdrawalOrder,
    },
    server::{
        api_error::ApiError,
        rest::{
            App,
            answer::Change,
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            page::Page,
            parameter::Parameter,
            request::Request,
            scalar::{AmountOrInteger, HexAddress, Percent},
        },
    },
};

/// A new own stake.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SetStake {
    /// The validator's whole own stake afterwards, in the smallest unit.
    stake: Option<AmountOrInteger>,
    /// Wallet of the workspace that pays for more; the operator, or the default one, by default.
    from: Option<HexAddress>,
    /// A call of stake, unstake or stakeFor that somebody else has signed, in hex; in place of the other fields.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

impl Body for SetStake {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("a stake", json!({ "stake": "40000000000000000000" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        match self.signed_transaction {
            Some(_) => beside_signed(&[("stake", self.stake.is_some()), ("from", self.from.is_some())]),
            None => required("stake", self.stake.is_some()),
        }
    }
}

/// Requires a field of a body that has no signed transaction in its place.
fn required(field: &str, is_there: bool) -> Vec<FieldError> {
    if is_there {
        return Vec::new();
    }
    let expected = format!("{field}, or a signedTransaction in its place");
    vec![FieldError { path: field.to_owned(), expected, got: "neither".to_owned() }]
}

/// A penalty: a percentage or an amount, and why.
#[derive(Debug, Deserialize, ToSchema)]
struct Slash {
    /// Part of the validator's weight, in percent.
    percentage: Option<Percent>,
    /// Amount of the validator's weight, on a chain without stake: where all weigh the same 1, which is all of it.
    amount: Option<AmountOrInteger>,
    /// Misbehaviour for which it is slashed, 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S")]
    reason: String,
    /// Evidence in place of a part, where the protocol knows of offences: two messages that the validator has signed and that conflict. Of
    /// proof of stake `Votes` or `Proposals`, of delegated proof of stake two sealed headers in RLP, of PBFT two votes of one phase.
    #[schema(value_type = Option<Evidence>)]
    evidence: Option<serde_json::Map<String, Value>>,
    /// The administrator's call of slash that somebody else has signed, in hex; in place of a part and of evidence.
    #[serde(rename = "signedTransaction")]
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

impl Body for Slash {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![
            ("a percentage", json!({ "percentage": 10, "reason": "downtime" })),
            ("an amount", json!({ "amount": "1", "reason": "downtime" })),
        ]
    }

    fn check(&self) -> Vec<FieldError> {
        let wrong = |path: &str, expected: &str, got: &str| {
            vec![FieldError { path: path.to_owned(), expected: expected.to_owned(), got: got.to_owned() }]
        };
        if self.signed_transaction.is_some() {
            return beside_signed(&[
                ("percentage", self.percentage.is_some()),
                ("amount", self.amount.is_some()),
                ("evidence", self.evidence.is_some()),
            ]);
        }
        match (self.percentage, self.amount) {
            (None, None) if self.evidence.is_some() => Vec::new(),
            (Some(_), Some(_)) => wrong("amount", "no value beside a percentage", "a value"),
            (None, None) => wrong("percentage", "a percentage, an amount, evidence or a signedTransaction", "nothing"),
            (Some(Percent { ppm: 0 }), None) => wrong("percentage", "more than 0", "0"),
            (None, Some(amount)) if amount.0.is_zero() => wrong("amount", "more than 0", "0"),
            _ => Vec::new(),
        }
    }
}

/// A penalty that was sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SlashView {
    /// Who slashes: validators-administrator is that of the validators' contract, protocol the rule by which the next proposer reports evidence.
    #[schema(example = "validators-administrator")]
    authority: &'static str,
    /// Hash of the administrator's transaction.
    transaction_hash: Option<String>,
    /// The validator, as it is before a block has the penalty.
    validator: ValidatorView,
}

/// Stake to delegate, or to take back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Delegate {
    /// Amount in the smallest unit, more than 0.
    amount: Option<AmountOrInteger>,
    /// Wallet of the workspace whose stake it is; the default one by default.
    from: Option<HexAddress>,
    /// A call of delegate or undelegate that somebody else has signed, in hex; in place of the other fields.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

impl Body for Delegate {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("an amount", json!({ "amount": "1000000000000000000" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        match self.signed_transaction {
            Some(_) => beside_signed(&[("amount", self.amount.is_some()), ("from", self.from.is_some())]),
            None if self.amount.is_some_and(|amount| amount.0.is_zero()) => {
                vec![FieldError { path: "amount".to_owned(), expected: "more than 0".to_owned(), got: "0".to_owned() }]
            }
            None => required("amount", self.amount.is_some()),
        }
    }
}

/// A delegation, also one without stake whose rewards are left to claim. Amounts are decimal integers of the smallest unit.
#[derive(Debug, Serialize, ToSchema)]
struct DelegationView {
    /// The account whose stake it is; the operator's is its own stake.
    delegator: String,
    /// What it is worth.
    amount: String,
    /// Its shares of the validator's pool.
    shares: String,
    /// Rewards that are not claimed.
    rewards: String,
}

/// Stake that was taken back and is not withdrawn.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UnbondingView {
    /// The account whose stake it is.
    delegator: String,
    /// What a withdrawal pays of it, if nothing more is slashed: a decimal integer of the smallest unit.
    amount: String,
    /// From when it may be withdrawn: ISO 8601, UTC. Null while that is not known yet: the stake is a validator's own, and the validator has
    /// duties until the protocol has replaced it, when the unbonding period begins.
    completes_at: Option<String>,
}

impl From<Unbonding> for UnbondingView {
    fn from(found: Unbonding) -> Self {
        Self {
            delegator: found.delegator.to_string(),
            amount: found.amount.to_string(),
            completes_at: found.completes_at.and_then(known_time),
        }
    }
}

/// What is owed to an account: stake that is free again, or rewards.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Collect {
    /// Wallet of the workspace whose stake or rewards they are. By default it is the default one for stake, and the operator for rewards,
    /// with its commission.
    from: Option<HexAddress>,
    /// A call that somebody else has signed, in hex; in place of the other field. For stake it is one of withdraw, for rewards one of
    /// claimRewards or claimCommission.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

impl Body for Collect {
    fn examples() -> Vec<(&'static str, Value)> {
        let from = json!({ "from": "0x1111111111111111111111111111111111111111" });
        vec![("by default", json!({})), ("of a wallet", from)]
    }

    fn check(&self) -> Vec<FieldError> {
        match self.signed_transaction {
            Some(_) => beside_signed(&[("from", self.from.is_some())]),
            None => Vec::new(),
        }
    }
}

impl Collect {
    /// Returns the order: of a wallet, or signed by somebody else.
    fn order<T>(
        &self,
        of: impl FnOnce(Option<Address>) -> T,
        signed_elsewhere: impl FnOnce(Bytes) -> T,
    ) -> Result<T, ApiError> {
        let raw = signed(self.signed_transaction.as_deref())?;
        Ok(raw.map_or_else(|| of(self.from.map(|from| from.0)), signed_elsewhere))
    }
}

/// A withdrawal that was sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WithdrawalView {
    /// Hashes of the transactions: one.
    transaction_hashes: Vec<String>,
    /// What it pays, in the smallest unit; null while it waits for another transaction of the account.
    amount: Option<String>,
    /// The validator.
    validator: ValidatorView,
}

/// A claim that was sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ClaimView {
    /// Hashes of the transactions: one, or for an operator one for its rewards and one for its commission. One alone is for what is owed of the
    /// two, or the second has failed.
    transaction_hashes: Vec<String>,
    /// The validator, as it is before a block has them.
    validator: ValidatorView,
}

/// A return from jail.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Unjail {
    /// The operator's call of unjail, in hex; by default the service signs, for a wallet of the workspace.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

impl Body for Unjail {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("by the service", json!({}))]
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Validators;
    let (read, write) = (Access::Scope(Scope::ValidatorRead), Access::Scope(Scope::ValidatorWrite));
    let delegations = "/v1/validators/{validatorId}/delegations";
    vec![
        Endpoint::put(
            "/v1/validators/{validatorId}/stake",
            "setValidatorStake",
            tag,
            write,
            "Changes a validator's own stake; on a chain with stake.",
        )
        .described(
            "What it has counts what waits for the next block: the same stake once more is 409. With proof of stake, less is 409 where those that \
             are up are enough before it and would not be after it.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
        .runs(Runs::InTurnOf(of_validator))
        .takes::<SetStake>()
        .acts(set_stake),
        Endpoint::post(
            "/v1/validators/{validatorId}/slash",
            "slashValidator",
            tag,
            write,
            "Slashes a validator by the authority that the chain has for it. One that weighs 1 is removed by any part.",
        )
        .described(
            "Without stake the administrator of the validators' contract slashes, by a percentage of the weight or an amount of it. With `evidence` the protocol does, by its own rule, where \
             it knows of offences (proof of stake, delegated proof of stake, PBFT): the replicas judge it as one another's, and the next \
             proposer has it in its block. The audit log has the reason, and the hash of the evidence. A penalty of the whole weight is 409 where \
             the protocol needs the validator, as its removal is.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
        .runs(Runs::InTurnOf(of_validator))
        .takes::<Slash>()
        .acts(slash),
        Endpoint::delete(
            "/v1/validators/{validatorId}",
            "removeValidator",
            tag,
            write,
            "Removes a validator from the active set, by the protocol's own rule.",
        )
        .described(
            "With stake its operator leaves, else the administrator of the validators' contract takes it out: the service signs for a wallet \
             of the workspace. Who holds the key elsewhere signs a call of `exit` of the staking contract, or of `setValidator` of the \
             validators' contract with the weight 0, and sends it as `signedTransaction`. It is 409 where the protocol needs the validator: where \
             those that are up are enough with it and would not be without it.",
        )
        .parameter(Parameter::text(
            "signedTransaction",
            "The transaction by which it leaves, in hex, signed by somebody else.",
            "^0x([0-9a-fA-F]{2})+$",
            |text| text.len() > 2 && text.starts_with("0x") && text.parse::<Bytes>().is_ok(),
        ))
        .fails_with(&[ErrorCode::InsufficientBalance])
        .runs(Runs::InTurnOf(of_validator))
        .acts(remove),
        Endpoint::get(delegations, "listDelegations", tag, read, "Lists the delegations to a validator, by delegator.")
            .fails_with(&[ErrorCode::Conflict, ErrorCode::UnsupportedByConsensus, ErrorCode::Pruned])
            .runs(Runs::Long)
            .lists(&["delegator"], list_delegations),
        Endpoint::post(delegations, "delegate", tag, write, "Delegates stake to a validator.")
            .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
            .runs(Runs::InTurnOf(of_validator))
            .takes::<Delegate>()
            .acts(|app, request, body| delegate(app, request, &body, false)),
        Endpoint::post(
            "/v1/validators/{validatorId}/undelegations",
            "undelegate",
            tag,
            write,
            "Takes delegated stake back; it is free after the unbonding period.",
        )
        .described(
            "Until then `GET /v1/validators/{validatorId}/unbondings` lists it, and from then on `POST \
             /v1/validators/{validatorId}/withdrawals` pays it. With proof of stake, less is 409 where those that are up are enough before it and \
             would not be after it.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
        .runs(Runs::InTurnOf(of_validator))
        .takes::<Delegate>()
        .acts(|app, request, body| delegate(app, request, &body, true)),
        Endpoint::get(
            "/v1/validators/{validatorId}/unbondings",
            "listUnbondings",
            tag,
            read,
            "Lists the stake that was taken back from a validator and is not withdrawn, by delegator.",
        )
        .parameter(Parameter::text("delegator", "The account whose stake it is.", "^0x[0-9a-fA-F]{40}$", |text| {
            text.starts_with("0x") && text.parse::<Address>().is_ok()
        }))
        .fails_with(&[ErrorCode::Conflict, ErrorCode::UnsupportedByConsensus, ErrorCode::Pruned])
        .runs(Runs::Long)
        .lists(&["delegator"], list_unbondings),
        Endpoint::post(
            "/v1/validators/{validatorId}/withdrawals",
            "withdrawStake",
            tag,
            write,
            "Withdraws stake that was taken back, once the unbonding period is over; on a chain with stake.",
        )
        .described(
            "The contract pays all that is free of the wallet's stake at once, also of other validators. While nothing is, the answer is 409 \
             with the first time at which something will be.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
        .runs(Runs::InTurnOf(of_validator))
        .takes::<Collect>()
        .acts(withdraw),
        Endpoint::post(
            "/v1/validators/{validatorId}/rewards/claim",
            "claimRewards",
            tag,
            write,
            "Claims a validator's rewards and commission, which are on the operator's balance then; on a chain with stake.",
        )
        .described(
            "Nothing is sent where the plan has fewer transactions left than the claim takes. Should the second of two fail all the same, the \
             answer has the hash of the first alone, and a later claim is for the rest.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
        .runs(Runs::InTurnOf(of_validator))
        .takes::<Collect>()
        .acts(claim),
        Endpoint::post(
            "/v1/validators/{validatorId}/unjail",
            "unjailValidator",
            tag,
            write,
            "Lets a validator out of jail once its time is over; on a chain with stake.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
        .runs(Runs::InTurnOf(of_validator))
        .takes::<Unjail>()
        .acts(unjail),
    ]
}

fn set_stake(app: &App, request: &Request, body: SetStake) -> Result<Change<ValidatorView>, ApiError> {
    let spec = match signed(body.signed_transaction.as_deref())? {
        Some(raw) => StakeSpec::Signed(raw),
        None => StakeSpec::Whole {
            stake: body.stake.map(|stake| stake.0).unwrap_or_default(),
            from: body.from.map(|from| from.0),
        },
    };
    let sent_as = request.new_id(app.platform(), "tx")?;
    let hash = app.platform().validators().set_stake(request.principal()?, &id_of(request)?, &sent_as, &spec)?;
    shown(app, request, hash)
}

fn slash(app: &App, request: &Request, body: Slash) -> Result<Change<SlashView>, ApiError> {
    let percentage = body.percentage.map(|percentage| SlashPart::Ppm(percentage.ppm));
    let part = percentage.or(body.amount.map(|amount| SlashPart::Amount(amount.0)));
    let order = match (signed(body.signed_transaction.as_deref())?, body.evidence, part) {
        (Some(raw), ..) => SlashOrder::Signed(raw),
        (None, Some(evidence), part) => SlashOrder::Evidence { evidence: Value::Object(evidence), part },
        (None, None, part) => SlashOrder::Part(part.unwrap_or(SlashPart::Ppm(0))),
    };
    let spec = SlashSpec { order, reason: body.reason };
    let (validators, id) = (app.platform().validators(), id_of(request)?);
    let slashed = validators.slash(request.principal()?, &id, &request.new_id(app.platform(), "tx")?, &spec)?;
    let (authority, transaction) = (slashed.name(), slashed.transaction());
    let validator = transaction.into_iter().fold(view_of(app, request)?, ValidatorView::with_transaction);
    Ok(Change::done(SlashView { authority, transaction_hash: transaction.map(|hash| hash.to_string()), validator }))
}

fn remove(app: &App, request: &Request) -> Result<Change<ValidatorView>, ApiError> {
    let sent_as = request.new_id(app.platform(), "tx")?;
    let raw = signed(request.query("signedTransaction"))?;
    let hash = app.platform().validators().remove(request.principal()?, &id_of(request)?, &sent_as, raw.as_ref())?;
    shown(app, request, hash)
}

fn list_delegations(app: &App, request: &Request, page: &Page) -> Result<(Vec<DelegationView>, u64), ApiError> {
    let all = app.platform().validators().delegations(request.principal()?, &id_of(request)?)?;
    let total = all.len() as u64;
    let view = |found: crate::platform::Delegation| DelegationView {
        delegator: found.delegator.to_string(),
        amount: found.amount.to_string(),
        shares: found.shares.to_string(),
        rewards: found.rewards.to_string(),
    };
    Ok((page.select(all).into_iter().map(view).collect(), total))
}

fn delegate(
    app: &App,
    request: &Request,
    body: &Delegate,
    takes_back: bool,
) -> Result<Change<ValidatorView>, ApiError> {
    let order = match signed(body.signed_transaction.as_deref())? {
        Some(raw) => DelegationOrder::Signed(raw),
        None => DelegationOrder::Amount {
            amount: body.amount.map(|amount| amount.0).unwrap_or_default(),
            from: body.from.map(|from| from.0),
        },
    };
    let (spec, sent_as) = (DelegationSpec { order, takes_back }, request.new_id(app.platform(), "tx")?);
    let hash = app.platform().validators().delegate(request.principal()?, &id_of(request)?, &sent_as, &spec)?;
    shown(app, request, hash)
}

fn list_unbondings(app: &App, request: &Request, page: &Page) -> Result<(Vec<UnbondingView>, u64), ApiError> {
    let delegator = request.query("delegator").and_then(|text| text.parse().ok());
    let all = app.platform().validators().unbondings(request.principal()?, &id_of(request)?, delegator)?;
    let total = all.len() as u64;
    Ok((page.select(all).into_iter().map(UnbondingView::from).collect(), total))
}

fn withdraw(app: &App, request: &Request, body: Collect) -> Result<Change<WithdrawalView>, ApiError> {
    let order = body.order(WithdrawalOrder::Of, WithdrawalOrder::Signed)?;
    let sent_as = request.new_id(app.platform(), "tx")?;
    let sent = app.platform().validators().withdraw(request.principal()?, &id_of(request)?, &sent_as, &order)?;
    Ok(Change::done(WithdrawalView {
        transaction_hashes: vec![sent.transaction.to_string()],
        amount: sent.amount.map(|amount| amount.to_string()),
        validator: view_of(app, request)?.with_transaction(sent.transaction),
    }))
}

fn claim(app: &App, request: &Request, body: Collect) -> Result<Change<ClaimView>, ApiError> {
    let order = body.order(ClaimOrder::Of, ClaimOrder::Signed)?;
    let sent_as = request.new_id(app.platform(), "tx")?;
    let sent = app.platform().validators().claim(request.principal()?, &id_of(request)?, &sent_as, &order)?;
    let validator = sent.last().copied().into_iter().fold(view_of(app, request)?, ValidatorView::with_transaction);
    Ok(Change::done(ClaimView { transaction_hashes: sent.iter().map(ToString::to_string).collect(), validator }))
}

fn unjail(app: &App, request: &Request, body: Unjail) -> Result<Change<ValidatorView>, ApiError> {
    let (signed, sent_as) = (signed(body.signed_transaction.as_deref())?, request.new_id(app.platform(), "tx")?);
    let validators = app.platform().validators();
    let hash = validators.unjail(request.principal()?, &id_of(request)?, &sent_as, signed.as_ref())?;
    shown(app, request, hash)
}

fn shown(app: &App, request: &Request, hash: alloy_primitives::B256) -> Result<Change<ValidatorView>, ApiError> {
    Ok(Change::done(view_of(app, request)?.with_transaction(hash)))
}

fn view_of(app: &App, request: &Request) -> Result<ValidatorView, ApiError> {
    let (_, validator) = app.platform().validators().get(request.principal()?, &id_of(request)?)?;
    Ok(ValidatorView::new(validator))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;
    use crate::primitives::Timestamp;

    fn named<B: Body>(body: &Value) -> Vec<String> {
        let fields = serde_json::from_value::<B>(body.clone()).unwrap().check();
        fields.into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn a_signed_transaction_is_alone_or_its_field_is_there() {
        let cases = |field: &'static str| {
            let from = "0x1111111111111111111111111111111111111111";
            [
                (json!({ field: "1" }), vec![]),
                (json!({ field: 1, "from": from }), vec![]),
                (json!({ "signedTransaction": "0x02" }), vec![]),
                (json!({ "signedTransaction": "0x02", field: null, "from": null }), vec![]),
                (json!({}), vec![field]),
                (json!({ "from": from }), vec![field]),
                (json!({ "signedTransaction": "0x02", field: "1" }), vec![field]),
                (json!({ "signedTransaction": "0x02", "from": from }), vec!["from"]),
                (json!({ "signedTransaction": "0x02", field: "1", "from": from }), vec![field, "from"]),
            ]
        };
        for (body, paths) in cases("stake") {
            assert_eq!(named::<SetStake>(&body), paths, "{body}");
        }
        for (body, paths) in cases("amount") {
            assert_eq!(named::<Delegate>(&body), paths, "{body}");
        }
        // None of it is no delegation; of a stake it is that nothing is left.
        for none in [json!("0"), json!("000"), json!(0)] {
            let named_of = |field: &str| json!({ field: none, "from": null });
            assert_eq!(named::<Delegate>(&named_of("amount")), ["amount"], "{none}");
            assert!(named::<SetStake>(&named_of("stake")).is_empty(), "{none}");
        }
        for (_, body) in SetStake::examples() {
            assert!(named::<SetStake>(&body).is_empty(), "{body}");
        }
        for (_, body) in Delegate::examples() {
            assert!(named::<Delegate>(&body).is_empty(), "{body}");
        }
    }

    #[test]
    fn stake_whose_time_is_not_known_has_none() {
        let completes_at = |at: Option<u64>| {
            let completes_at = at.map(Timestamp::from_secs);
            let found = Unbonding { delegator: Address::ZERO, amount: U256::ONE, completes_at };
            serde_json::to_value(UnbondingView::from(found)).unwrap()["completesAt"].clone()
        };
        assert_eq!(completes_at(Some(1_750_000_000)), json!("2025-06-15T15:06:40.000Z"));
        assert_eq!(completes_at(None), Value::Null);
    }

    #[test]
    fn a_wallet_collects_or_whoever_has_signed() {
        let account = Address::repeat_byte(0x11);
        let order = |body: Value| {
            let body = serde_json::from_value::<Collect>(body).unwrap();
            body.check().is_empty().then(|| body.order(ClaimOrder::Of, ClaimOrder::Signed).ok()).flatten()
        };
        for (body, expected) in [
            (json!({}), Some(ClaimOrder::Of(None))),
            (json!({ "from": account }), Some(ClaimOrder::Of(Some(account)))),
            (json!({ "signedTransaction": "0x02" }), Some(ClaimOrder::Signed(Bytes::from_static(&[2])))),
            (json!({ "from": null, "signedTransaction": "0x02" }), Some(ClaimOrder::Signed(Bytes::from_static(&[2])))),
            (json!({ "from": account, "signedTransaction": "0x02" }), None),
        ] {
            assert_eq!(order(body.clone()), expected, "{body}");
        }
        assert_eq!(named::<Collect>(&json!({ "from": account, "signedTransaction": "0x02" })), ["from"]);
        for (_, body) in Collect::examples() {
            assert!(order(body.clone()).is_some(), "{body}");
        }
    }
}
