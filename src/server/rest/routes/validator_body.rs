//! What the routes of validators take and answer.

use alloy_primitives::{Address, Bytes};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::view::beside_signed;
use crate::{
    chain::is_of_system,
    consensus::RoundRole,
    platform::{FieldError, NewValidator, PlatformError, Validator, ValidatorRound},
    primitives::Timestamp,
    server::{
        api_error::ApiError,
        clock,
        rest::{
            answer::Located,
            body::Body,
            scalar::{AmountOrInteger, HexAddress, Metadata, Percent},
        },
    },
};

/// Bytes of a validator's metadata as JSON text.
const METADATA_BYTES_MAX: usize = 4_096;
/// Objects and arrays in each other in a validator's metadata.
const METADATA_DEPTH_MAX: usize = 5;
/// Characters of a validator's name.
const NAME_LENGTH_MAX: usize = 256;
/// What the address of an operator is expected to be.
pub(super) const SOMEBODYS: &str = "an address whose key somebody has, and no system contract's";

/// A validator to add, in either of the two shapes: with its name at the top, or in `metadata`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AddValidator {
    /// Address of the operator, who owns stake, rewards and vote.
    address: HexAddress,
    /// Name of the validator.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "one")]
    name: Option<String>,
    /// Own stake in the smallest unit; the least that the chain takes, by default. Without effect on a chain without stake.
    stake: Option<AmountOrInteger>,
    /// Commission in percent, with at most two decimals; 0 by default. Without effect on a chain without stake.
    commission: Option<Percent>,
    /// What the caller keeps with it: at most 4096 bytes as JSON, five levels deep. Its `name` names the validator where there is none at
    /// the top, and has the bounds of that one then.
    #[schema(value_type = Option<Metadata>)]
    metadata: Option<Map<String, Value>>,
    /// Address of a sealing key that is held elsewhere; by default the service draws and keeps one.
    sealing_address: Option<HexAddress>,
    /// The key's signature of the operator's address (EIP-712), as the contract of validators asks for it.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 1024)]
    sealing_proof: Option<String>,
    /// Wallet of the workspace that pays the stake of an operator that consents, or that is a wallet of the workspace itself: then the service
    /// signs its consent. The default one by default, and such an operator itself.
    from: Option<HexAddress>,
    /// The operator's consent to that.
    consent: Option<JoinConsent>,
    /// The operator's own transaction, in hex; in place of commission, sealingProof, from and consent.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

/// Consent of an operator to another's paying its stake.
#[derive(Debug, Deserialize, ToSchema)]
struct JoinConsent {
    /// Until when it is good, in seconds since 1970.
    #[schema(maximum = 9007199254740991_u64)]
    deadline: u64,
    /// The operator's signature of JoinConsent (EIP-712), in hex.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 1024)]
    signature: String,
}

impl Body for AddValidator {
    fn examples() -> Vec<(&'static str, Value)> {
        let top = json!({
            "address": "0x5555555555555555555555555555555555555555", "name": "five", "stake": "32000000000000000000",
            "commission": 5, "metadata": { "location": "Bern", "provider": "own" },
        });
        let nested = json!({
            "address": "0x6666666666666666666666666666666666666666", "stake": 32_000_000_000_000_u64, "commission": 5,
            "metadata": { "name": "six", "location": "Bern", "provider": "own" },
        });
        let required = json!({ "address": "0x7777777777777777777777777777777777777777" });
        vec![("all fields", top), ("name in metadata", nested), ("required fields", required)]
    }

    fn check(&self) -> Vec<FieldError> {
        let is_signed = self.signed_transaction.is_some();
        // The address of the sealing key and the stake may be there: they are compared with the transaction's.
        let mut wrong = match is_signed {
            true => beside_signed(&[
                ("commission", self.commission.is_some()),
                ("sealingProof", self.sealing_proof.is_some()),
                ("from", self.from.is_some()),
                ("consent", self.consent.is_some()),
            ]),
            false => Vec::new(),
        };
        if is_nobodys(self.address.0) {
            wrong.push(refusal("address", SOMEBODYS, self.address.0.to_string()));
        }
        if !is_signed {
            wrong.extend(self.commission.and_then(wrong_commission));
        }
        if !is_signed && self.sealing_address.is_some() != self.sealing_proof.is_some() {
            wrong.push(refusal(
                "sealingProof",
                "a proof with a sealingAddress, and neither alone",
                "one of both".to_owned(),
            ));
        }
        if let Some(metadata) = &self.metadata {
            wrong.extend(wrong_metadata(metadata, self.name.is_some()));
        }
        wrong
    }
}

/// Returns whether nobody can have the key of an address: the zero address, and those that are kept for system contracts.
pub(super) fn is_nobodys(address: Address) -> bool {
    address.is_zero() || is_of_system(&address)
}

fn refusal(path: &str, expected: &str, got: String) -> FieldError {
    FieldError { path: path.to_owned(), expected: expected.to_owned(), got }
}

/// Returns what is wrong with a commission, of which the chain has ten-thousandths.
pub(super) fn wrong_commission(commission: Percent) -> Option<FieldError> {
    let is_finer = !commission.ppm.is_multiple_of(100);
    is_finer.then(|| refusal("commission", "a percentage with at most two decimals", "more decimals".to_owned()))
}

/// Returns a commission in ten-thousandths.
pub(super) fn commission_bps(commission: Percent) -> Option<u16> {
    u16::try_from(commission.ppm / 100).ok()
}

/// Returns what is wrong with a validator's metadata, of which the name is the validator's where there is none beside.
pub(super) fn wrong_metadata(metadata: &Map<String, Value>, has_name: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let value = Value::Object(metadata.clone());
    let bytes = value.to_string().len();
    if bytes > METADATA_BYTES_MAX {
        wrong.push(refusal("metadata", "at most 4096 bytes as JSON", format!("{bytes} bytes")));
    }
    if depth(&value) > METADATA_DEPTH_MAX {
        wrong.push(refusal("metadata", "objects and arrays five levels deep at most", "more levels".to_owned()));
    }
    let is_wrong = |name: &&Value| {
        let is_too_long = |name: &str| name.chars().count() > NAME_LENGTH_MAX;
        name.as_str().is_none_or(|name| name.trim().is_empty() || is_too_long(name))
    };
    if !has_name && let Some(name) = metadata.get("name").filter(is_wrong) {
        let got = name.to_string().chars().take(20).collect();
        wrong.push(refusal("metadata.name", "a name of 1 to 256 characters", got));
    }
    wrong
}

/// Returns the name in a validator's metadata.
pub(super) fn name_in(metadata: &Map<String, Value>) -> Option<String> {
    metadata.get("name").and_then(Value::as_str).map(str::to_owned)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.values().map(depth).max().map_or(1, |inner| inner.saturating_add(1)),
        Value::Array(items) => items.iter().map(depth).max().map_or(1, |inner| inner.saturating_add(1)),
        _ => 0,
    }
}

impl AddValidator {
    /// Returns the validator to add.
    pub(super) fn spec(self) -> Result<NewValidator, ApiError> {
        let metadata = self.metadata.unwrap_or_default();
        let nested = name_in(&metadata);
        let address = self.sealing_address.map(|address| address.0);
        let proof = self.sealing_proof.map(|text| bytes("sealingProof", &text)).transpose()?.unwrap_or_default();
        let consent = self
            .consent
            .map(|consent| Ok::<_, ApiError>((consent.deadline, bytes("consent.signature", &consent.signature)?)));
        Ok(NewValidator {
            operator: self.address.0,
            name: self.name.or(nested).unwrap_or_default(),
            metadata: Value::Object(metadata).to_string(),
            stake: self.stake.map(|stake| stake.0),
            commission_bps: self.commission.and_then(commission_bps),
            sealing: address.map(|address| (address, proof)),
            from: self.from.map(|from| from.0),
            consent: consent.transpose()?,
            signed_transaction: signed(self.signed_transaction.as_deref())?,
        })
    }
}

/// Reads bytes in hex.
pub(super) fn bytes(field: &str, text: &str) -> Result<Bytes, ApiError> {
    let wrong = |_| PlatformError::field(field, "bytes in hex with 0x", text.chars().take(20).collect::<String>());
    Ok(text.parse().map_err(wrong)?)
}

/// Reads the field `signedTransaction`.
pub(super) fn signed(text: Option<&str>) -> Result<Option<Bytes>, ApiError> {
    text.map(|text| bytes("signedTransaction", text)).transpose()
}

/// A validator. Amounts are decimal integers of the smallest unit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ValidatorView {
    /// Id of the validator.
    id: String,
    /// Id of its chain.
    blockchain_id: String,
    /// Address of the operator.
    address: String,
    /// Address of its sealing key, by which headers name it.
    sealing_address: String,
    /// Its name.
    name: String,
    /// What the caller keeps with it.
    #[schema(value_type = Metadata)]
    metadata: Value,
    /// joining leads to active; active to exiting, jailed, tombstoned, unbonding or removed; exiting to unbonding or removed; jailed to active
    /// or joining; unbonding to left or joining; left and removed to joining.
    status: ValidatorStatus,
    /// Whether its replica runs in this process; `elsewhere` where the service does not hold the sealing key.
    process: ProcessStatus,
    /// The round that its replica is in. Null where none runs in this process, on a chain on demand, and where the protocol has no rounds.
    round: Option<RoundView>,
    /// Whether the protocol counts it now.
    validates: bool,
    /// Weight from the protocol's next boundary on, a decimal integer: the stake in gwei, on a chain without stake 1; 0 of one that is out.
    #[schema(pattern = "^[0-9]{1,20}$", example = "32000000000")]
    weight: String,
    /// Own and delegated stake; null on a chain without stake.
    stake: Option<String>,
    /// Own stake; null on a chain without stake.
    self_stake: Option<String>,
    /// Commission in percent; null on a chain without stake.
    commission: Option<f64>,
    /// Rewards of its own stake and commission that it has not claimed; null on a chain without stake.
    rewards: Option<String>,
    /// Until when it is in jail: ISO 8601, UTC; null while it is not, and of one that is tombstoned, whose jail has no end.
    jailed_until: Option<String>,
    /// Hash of the transaction that this request sent; null where it sent none.
    transaction_hash: Option<String>,
}

/// State of a validator: `joining` leads to `active`; `active` to `exiting`, `jailed`, `tombstoned`, `unbonding` or `removed`; `exiting` to
/// `unbonding` or `removed`; `jailed` to `active` or `joining`; `unbonding` to `left` or `joining`; `left` and `removed` to `joining`.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ValidatorStatus {
    Joining,
    Active,
    Exiting,
    Jailed,
    Unbonding,
    Left,
    Tombstoned,
    Removed,
}

impl ValidatorStatus {
    /// Returns the state of a validator.
    pub(super) const fn of(validator: &Validator) -> Self {
        use crate::platform::ValidatorState as State;
        match validator.state {
            State::Joining => Self::Joining,
            State::Active => Self::Active,
            State::Exiting => Self::Exiting,
            State::Jailed => Self::Jailed,
            State::Unbonding => Self::Unbonding,
            State::Left => Self::Left,
            State::Tombstoned => Self::Tombstoned,
            State::Removed => Self::Removed,
        }
    }
}

/// The round of a validator's replica: a term of Raft, a view of PBFT, an epoch of proof of stake.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RoundView {
    /// Its number. A term and a view go up with each change of the leader.
    number: u64,
    /// What the replica does in it.
    role: RoundRoleView,
    /// Sealing address of the leader, as far as the replica knows it.
    leader: Option<String>,
}

/// What a replica does in a round: follows, leads, or seeks a leader, in an election or a view change.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoundRoleView {
    Follows,
    Leads,
    Seeks,
}

impl From<ValidatorRound> for RoundView {
    fn from(round: ValidatorRound) -> Self {
        let role = match round.role {
            RoundRole::Follower => RoundRoleView::Follows,
            RoundRole::Leader => RoundRoleView::Leads,
            RoundRole::Seeking => RoundRoleView::Seeks,
        };
        Self { number: round.number, role, leader: round.leader.map(|key| key.to_string()) }
    }
}

/// Where a validator's replica is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProcessStatus {
    Up,
    Down,
    Elsewhere,
}

impl ProcessStatus {
    /// Returns where a validator's replica is.
    pub(super) const fn of(validator: &Validator) -> Self {
        use crate::platform::ValidatorProcess as Process;
        match validator.process {
            Process::Up => Self::Up,
            Process::Down => Self::Down,
            Process::Elsewhere => Self::Elsewhere,
        }
    }
}

impl ValidatorView {
    /// Shows a validator.
    pub(super) fn new(validator: Validator) -> Self {
        let (status, process) = (ValidatorStatus::of(&validator), ProcessStatus::of(&validator));
        let (stake, round) = (validator.stake, validator.round.map(RoundView::from));
        let jailed_until = stake.as_ref().and_then(|stake| stake.jailed_until);
        Self {
            id: validator.id.text(),
            blockchain_id: validator.id.blockchain_id,
            address: validator.operator.to_string(),
            sealing_address: validator.sealing_key.to_string(),
            name: validator.name,
            metadata: serde_json::from_str(&validator.metadata).unwrap_or_else(|_| json!({})),
            status,
            process,
            round,
            validates: validator.validates,
            weight: validator.weight.to_string(),
            stake: stake.as_ref().map(|stake| stake.tokens.to_string()),
            self_stake: stake.as_ref().map(|stake| stake.self_stake.to_string()),
            commission: stake.as_ref().map(|stake| f64::from(stake.commission_bps) / 100.0),
            rewards: stake.as_ref().map(|stake| stake.rewards_owed.saturating_add(stake.commission_owed).to_string()),
            jailed_until: jailed_until.and_then(known_time),
            transaction_hash: None,
        }
    }

    /// Adds the transaction of the request.
    pub(super) fn with_transaction(self, hash: alloy_primitives::B256) -> Self {
        Self { transaction_hash: Some(hash.to_string()), ..self }
    }
}

/// Shows a time; none for the largest one, by which a contract says that it knows none.
pub(super) fn known_time(at: Timestamp) -> Option<String> {
    (at.as_secs() != u64::MAX).then(|| clock::iso_8601(at.as_secs().saturating_mul(1_000)))
}

impl Located for ValidatorView {
    fn location(&self) -> String {
        format!("/v1/validators/{}", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::rest::body::read_body;

    #[test]
    fn metadata_has_a_bound_of_bytes_and_of_levels() {
        let refused = |metadata: Value| {
            let body = json!({ "address": "0x5555555555555555555555555555555555555555", "metadata": metadata });
            let fields = serde_json::from_value::<AddValidator>(body.clone()).unwrap().check();
            assert_eq!(read_body::<AddValidator>(body).is_err(), !fields.is_empty());
            fields.into_iter().map(|field| (field.path, field.got)).collect::<Vec<_>>()
        };
        let of_bytes = |bytes: usize| json!({ "note": "x".repeat(bytes - json!({ "note": "" }).to_string().len()) });
        assert_eq!(of_bytes(METADATA_BYTES_MAX).to_string().len(), METADATA_BYTES_MAX);
        assert_eq!(refused(of_bytes(METADATA_BYTES_MAX)), []);
        let one_more = refused(of_bytes(METADATA_BYTES_MAX + 1));
        assert_eq!(one_more, [("metadata".to_owned(), "4097 bytes".to_owned())]);
        // The object itself is the first level.
        let of_levels = |levels: usize| {
            let inner = (1..levels)
                .fold(json!(1), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) });
            json!({ "a": inner })
        };
        assert_eq!(refused(of_levels(METADATA_DEPTH_MAX)), []);
        assert_eq!(refused(of_levels(METADATA_DEPTH_MAX + 1)), [("metadata".to_owned(), "more levels".to_owned())]);
    }

    #[test]
    fn a_time_without_an_end_is_null() {
        assert_eq!(known_time(Timestamp::from_secs(u64::MAX)), None);
        let shown = |secs| known_time(Timestamp::from_secs(secs));
        assert_eq!(shown(1_750_000_000).as_deref(), Some("2025-06-15T15:06:40.000Z"));
        // Far away, and known.
        assert_eq!(shown(u64::MAX - 1).as_deref(), Some("9999-12-30T22:00:00.999Z"));
    }

    fn named(body: &Value) -> Vec<String> {
        let fields = serde_json::from_value::<AddValidator>(body.clone()).unwrap().check();
        fields.into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn an_operator_is_neither_nobody_nor_a_system_contract() {
        for (address, is_refused) in [
            ("0x0000000000000000000000000000000000000000", true),
            ("0x0000000000000000000000000000000000001000", true),
            ("0x0000000000000000000000000000000000001005", true),
            ("0x00000000000000000000000000000000000010ff", true),
            ("0x0000000000000000000000000000000000001100", false),
            ("0x1000000000000000000000000000000000001000", false),
        ] {
            let paths: Vec<&str> = is_refused.then_some("address").into_iter().collect();
            assert_eq!(named(&json!({ "address": address })), paths, "{address}");
        }
    }

    #[test]
    fn a_name_in_metadata_has_the_bounds_of_a_name() {
        for (_, body) in AddValidator::examples() {
            assert!(named(&body).is_empty(), "{body}");
        }
        for (name, is_refused) in [
            (json!("six"), false),
            (json!("é".repeat(NAME_LENGTH_MAX)), false),
            (json!("é".repeat(NAME_LENGTH_MAX + 1)), true),
            (json!(""), true),
            (json!(" \t"), true),
            (json!(6), true),
            (json!(["six"]), true),
            (json!({ "name": "six" }), true),
            (Value::Null, true),
        ] {
            let mut body =
                json!({ "address": "0x5555555555555555555555555555555555555555", "metadata": { "name": name } });
            let paths: Vec<&str> = is_refused.then_some("metadata.name").into_iter().collect();
            assert_eq!(named(&body), paths, "{body}");
            // Beside a name at the top it is metadata as any other.
            body["name"] = json!("five");
            assert!(named(&body).is_empty(), "{body}");
        }
    }

    #[test]
    fn what_is_beside_a_signed_transaction_is_named_once() {
        let address = "0x5555555555555555555555555555555555555555";
        let alone = json!({
            "address": address, "signedTransaction": "0x02", "name": "five", "metadata": { "location": "Bern" }, "stake": "1",
            "sealingAddress": address,
        });
        assert!(named(&alone).is_empty());
        for (field, value) in [
            ("commission", json!(5)),
            ("commission", json!("5.001")),
            ("sealingProof", json!("0x02")),
            ("from", json!(address)),
            ("consent", json!({ "deadline": 1, "signature": "0x02" })),
        ] {
            let mut body = alone.clone();
            body[field] = value;
            assert_eq!(named(&body), [field], "{body}");
            body[field] = Value::Null;
            assert!(named(&body).is_empty(), "{body}");
        }
        let mut body = alone;
        (body["sealingAddress"], body["sealingProof"]) = (Value::Null, json!("0x02"));
        assert_eq!(named(&body), ["sealingProof"], "{body}");
    }
}
