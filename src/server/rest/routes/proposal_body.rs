//! The body of a proposal: what each type takes as `changes`.

mod changes;

use core::ops::RangeInclusive;

use alloy_primitives::{B256, keccak256};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

pub(super) use self::changes::ChangesView;
use self::changes::ProposalChanges;
use super::{
    validator_body::{SOMEBODYS, is_nobodys, signed},
    view::beside_signed,
};
use crate::{
    platform::{FieldError, Fields, ModuleKind, ModuleSpec, PlatformError, ProposalSpec},
    primitives::{DurationUnits, parse_amount, parse_duration_secs},
    server::{
        api_error::ApiError,
        rest::{
            body::Body,
            scalar::{HexAddress, Interval, Percent},
        },
    },
    system::{
        ParameterUpdate,
        governance::{DESCRIPTION_BYTES_MAX, NAME_BYTES_MAX, PERIOD_SECS_MAX, ProposalAction, TITLE_BYTES_MAX},
        parameters::Parameter,
    },
};

/// Voting periods of the contract's own bounds, in seconds; a chain's least one is its own.
const PERIOD_SECS: RangeInclusive<u64> = 1..=PERIOD_SECS_MAX as u64;
/// The whole, in millionths.
const WHOLE_PPM: u32 = 1_000_000;

/// A proposal to submit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreateProposal {
    /// Id of the chain.
    #[schema(min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: String,
    /// Title, at most 256 bytes.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "Faster blocks")]
    title: Option<String>,
    /// Description, at most 4096 bytes.
    #[schema(max_length = 4096)]
    description: Option<String>,
    /// What it is about.
    #[serde(rename = "type")]
    kind: Option<ProposalType>,
    /// What changes, by type. `parameter-change`: parameters by name, such as `blockTime` or `gasLimit`, each a decimal integer in a string, an
    /// integer, or for a time a duration such as `2s`. `validator-add`: `address`. `validator-remove`: `address`. `module-enable`: `module`,
    /// `version`, `config`. `module-disable`: `module`. `upgrade`: `name`, `height`, `info`. `text`: nothing.
    #[schema(value_type = Option<ProposalChanges>)]
    changes: Option<Map<String, Value>>,
    /// Time in which votes are taken, of the chain's own time; at least 10s, at most 365d, two days by default.
    voting_period: Option<Interval>,
    /// Part of all weight that must vote, with at most one decimal; the chain's 33.4 % by default, which is the least.
    quorum: Option<Percent>,
    /// Part of the votes without abstentions above which those in favour must be, with at most one decimal and below 100 %, above which is
    /// nothing; the chain's 50 % by default, which is the least.
    threshold: Option<Percent>,
    /// Wallet of the workspace that proposes; the default one by default. It must be the operator of a validator.
    from: Option<HexAddress>,
    /// A transaction that proposes something, signed by somebody else, in hex; in place of all fields but blockchainId.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

/// Type of a proposal.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum ProposalType {
    ParameterChange,
    ValidatorAdd,
    ValidatorRemove,
    ModuleEnable,
    ModuleDisable,
    Upgrade,
    Text,
}

impl Body for CreateProposal {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({
            "blockchainId": "bc_default", "title": "More gas", "description": "Blocks are full.", "type": "parameter-change",
            "changes": { "gasLimit": "40000000" }, "votingPeriod": "7d", "quorum": 40, "threshold": 60,
        });
        let required = json!({
            "blockchainId": "bc_default", "title": "More gas", "type": "parameter-change", "changes": { "gasLimit": "45000000" },
        });
        vec![("all fields", all), ("required fields", required)]
    }

    fn check(&self) -> Vec<FieldError> {
        if self.signed_transaction.is_some() {
            return beside_signed(&[
                ("title", self.title.is_some()),
                ("description", self.description.is_some()),
                ("type", self.kind.is_some()),
                ("changes", self.changes.is_some()),
                ("votingPeriod", self.voting_period.is_some()),
                ("quorum", self.quorum.is_some()),
                ("threshold", self.threshold.is_some()),
                ("from", self.from.is_some()),
            ]);
        }
        let mut wrong = Vec::new();
        let mut refuse = |path: &str, expected: &str, got: String| {
            wrong.push(FieldError { path: path.to_owned(), expected: expected.to_owned(), got });
        };
        for (path, is_there) in [("title", self.title.is_some()), ("type", self.kind.is_some())] {
            if !is_there {
                refuse(path, "a value, or a signedTransaction that says it all in its place", "nothing".to_owned());
            }
        }
        let texts =
            [("title", &self.title, TITLE_BYTES_MAX), ("description", &self.description, DESCRIPTION_BYTES_MAX)];
        for (path, text, most) in texts {
            if let Some((expected, got)) = text.as_deref().and_then(|text| too_long(text, most)) {
                refuse(path, &expected, got);
            }
        }
        // The contract counts in seconds and thousandths, and reads 0 as the chain's own value.
        if let Some(Interval { secs }) = self.voting_period.filter(|period| !PERIOD_SECS.contains(&period.secs)) {
            let expected = format!("between {}s and {}s, a year", PERIOD_SECS.start(), PERIOD_SECS.end());
            refuse("votingPeriod", &expected, format!("{secs}s"));
        }
        // All may have to vote, but no part of the votes is above all of them.
        for (path, part, most, expected) in [
            ("quorum", self.quorum, WHOLE_PPM, "a percentage above 0 with at most one decimal"),
            ("threshold", self.threshold, WHOLE_PPM - 1, "a percentage above 0 and below 100 with at most one decimal"),
        ] {
            if let Some(Percent { ppm }) = part
                && (ppm == 0 || ppm > most || ppm % 1_000 != 0)
            {
                refuse(path, expected, (f64::from(ppm) / 10_000.0).to_string());
            }
        }
        wrong
    }
}

impl CreateProposal {
    /// Id of the chain.
    pub(super) fn blockchain_id(&self) -> &str {
        &self.blockchain_id
    }

    /// Returns the proposal to submit.
    ///
    /// # Errors
    /// 422 with the fields that the type does not allow.
    pub(super) fn spec(self) -> Result<ProposalSpec, ApiError> {
        let permille = |part: Percent| u16::try_from(part.ppm / 1_000).unwrap_or(1_000);
        let period = self.voting_period.map(|period| {
            let wrong = |_| PlatformError::field("votingPeriod", "a year at most", format!("{}s", period.secs));
            u32::try_from(period.secs).map_err(wrong)
        });
        let changes = self.changes.unwrap_or_default();
        Ok(ProposalSpec {
            blockchain_id: self.blockchain_id,
            module_config: matches!(self.kind, Some(ProposalType::ModuleEnable)).then(|| module_config(&changes)),
            action: self.kind.map_or(Ok(ProposalAction::Text), |kind| action(kind, changes))?,
            title: self.title.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            voting_period_secs: period.transpose()?,
            quorum_permille: self.quorum.map(permille),
            threshold_permille: self.threshold.map(permille),
            from: self.from.map(|from| from.0),
            signed_transaction: signed(self.signed_transaction.as_deref())?,
        })
    }
}

/// Returns what is expected, and what a text is that has more bytes than the contract takes: a letter may have four.
pub(super) fn too_long(text: &str, most: usize) -> Option<(String, String)> {
    (text.len() > most).then(|| (format!("at most {most} bytes in UTF-8"), format!("{} bytes", text.len())))
}

/// The configuration of a module among `changes`; empty without one.
fn module_config(changes: &Map<String, Value>) -> Map<String, Value> {
    changes.get("config").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Reads the weight of a validator: an integer above 0, or its digits without leading zeros.
fn read_weight(value: &Value) -> Option<u64> {
    let weight = value.as_str().map_or_else(|| value.as_u64(), |digits| digits.parse().ok())?;
    let is_plain = value.as_str().is_none_or(|digits| digits == weight.to_string());
    (weight > 0 && is_plain).then_some(weight)
}

/// Reads `changes` by the type.
fn action(kind: ProposalType, changes: Map<String, Value>) -> Result<ProposalAction, PlatformError> {
    let (is_empty, config) = (changes.is_empty(), module_config(&changes));
    let mut body = Fields::read(json!({ "changes": changes }))?;
    let mut fields = body.object("changes");
    let address = "an address (0x and 40 hex digits)";
    let action = match kind {
        ProposalType::ParameterChange => {
            let mut updates = Vec::new();
            for parameter in Parameter::ALL {
                let (name, expected) = (parameter.name(), expected(parameter));
                let value = fields.read_with(name, &expected, |value| read_value(parameter, value));
                updates.extend(value.map(|value| ParameterUpdate { parameter, value }));
            }
            if is_empty {
                let names = Parameter::ALL.map(Parameter::name).join(", ");
                body.refuse("changes", format!("one parameter or more of {names}"), "none");
            }
            ProposalAction::ParameterChange(updates)
        }
        ProposalType::ValidatorAdd => {
            let found = fields.address("address");
            if let Some(nobodys) = found.filter(|found| is_nobodys(*found)) {
                fields.refuse("address", SOMEBODYS, nobodys.to_string());
            }
            let validator = fields.require("address", address, found).unwrap_or_default();
            let expected = format!("an integer between 1 and {}, or its decimal digits in a string", u64::MAX);
            let weight = fields.read_with("weight", &expected, read_weight).unwrap_or(1);
            ProposalAction::ValidatorAdd { validator, weight }
        }
        ProposalType::ValidatorRemove => {
            let found = fields.address("address");
            ProposalAction::ValidatorRemove { validator: fields.require("address", address, found).unwrap_or_default() }
        }
        ProposalType::ModuleEnable => {
            let name = fields.text("module").unwrap_or_default();
            let version = fields.integer("version", 1, u64::from(u32::MAX)).unwrap_or(1);
            fields.read_with("config", "an object", |value| value.is_object().then_some(()));
            if let Some(kind) = ModuleKind::from_name(&name) {
                let spec = ModuleSpec { blockchain_id: String::new(), kind, config: config.clone() };
                spec.check().into_iter().for_each(|wrong| fields.refuse(&wrong.path, wrong.expected, wrong.got));
            }
            // The chain keeps the hash of the configuration: of its JSON, with keys in ascending order.
            let config_hash: B256 = keccak256(Value::Object(config).to_string());
            ProposalAction::ModuleEnable { name, version: u32::try_from(version).unwrap_or(1), config_hash }
        }
        ProposalType::ModuleDisable => {
            ProposalAction::ModuleDisable { name: fields.text("module").unwrap_or_default() }
        }
        ProposalType::Upgrade => {
            let name = fields.text("name").unwrap_or_default();
            if let Some((expected, got)) = too_long(&name, NAME_BYTES_MAX) {
                fields.refuse("name", expected, got);
            }
            let height = fields.integer("height", 1, (1 << 53) - 1);
            let height = fields.require("height", "the number of a block ahead", height).unwrap_or_default();
            let info = fields.optional_text("info", "a non-empty string").unwrap_or_default();
            ProposalAction::Upgrade { name, height, info }
        }
        ProposalType::Text => ProposalAction::Text,
    };
    body.absorb(fields);
    body.finish()?;
    Ok(action)
}

fn is_time(parameter: Parameter) -> bool {
    matches!(parameter, Parameter::BlockTime | Parameter::UnbondingPeriod | Parameter::EvidenceMaxAge)
}

fn expected(parameter: Parameter) -> String {
    let range = parameter.range();
    let unit = if is_time(parameter) { " seconds, or a duration as in 2s" } else { "" };
    format!("an integer from {} to {}{unit}", range.start(), range.end())
}

/// Reads a parameter's value in its own unit, within its range.
fn read_value(parameter: Parameter, value: &Value) -> Option<u128> {
    let read = match value {
        Value::Number(number) => number.as_u64().map(u128::from),
        Value::String(text) => {
            let duration = || parse_duration_secs(text, DurationUnits::INTERVAL).map(u128::from);
            let amount = parse_amount(text).and_then(|amount| amount.try_into().ok());
            amount.or_else(|| is_time(parameter).then(duration).flatten())
        }
        _ => None,
    };
    read.filter(|value| parameter.range().contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: ProposalType, changes: &Value) -> Result<ProposalAction, Vec<String>> {
        action(kind, changes.as_object().cloned().unwrap()).map_err(|error| match error {
            PlatformError::Validation { fields } => fields.into_iter().map(|field| field.path).collect(),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn parameters_are_read_in_their_units() {
        let changes = json!({ "blockTime": "2m", "gasLimit": "30000000", "validatorsMax": 7 });
        let update = |parameter, value| ParameterUpdate { parameter, value };
        let want = vec![
            update(Parameter::BlockTime, 120),
            update(Parameter::GasLimit, 30_000_000),
            update(Parameter::ValidatorsMax, 7),
        ];
        assert_eq!(read(ProposalType::ParameterChange, &changes), Ok(ProposalAction::ParameterChange(want)));
    }

    /// As weights are shown, or as an integer.
    #[test]
    fn a_weight_is_read_in_digits_too() {
        let validator = alloy_primitives::Address::repeat_byte(0x11);
        let add = |weight: Value| {
            let changes = json!({ "address": validator.to_string(), "weight": weight });
            read(ProposalType::ValidatorAdd, &changes)
        };
        let most = u64::MAX.to_string();
        for (given, weight) in [(json!(7), 7), (json!("7"), 7), (json!(most), u64::MAX), (Value::Null, 1)] {
            assert_eq!(add(given), Ok(ProposalAction::ValidatorAdd { validator, weight }));
        }
        for wrong in [json!(0), json!("0"), json!("07"), json!("+7"), json!("7.0"), json!(-7), json!(true)] {
            assert_eq!(add(wrong.clone()), Err(vec!["changes.weight".to_owned()]), "{wrong}");
        }
    }

    #[test]
    fn what_a_type_does_not_have_is_named() {
        use ProposalType as T;
        for (kind, changes, path) in [
            (T::ParameterChange, json!({}), "changes"),
            (T::ParameterChange, json!({ "colour": 1 }), "changes.colour"),
            (T::ParameterChange, json!({ "gasLimit": "5s" }), "changes.gasLimit"),
            (T::ParameterChange, json!({ "blockTime": 0 }), "changes.blockTime"),
            (T::ValidatorAdd, json!({}), "changes.address"),
            (T::ValidatorAdd, json!({ "address": format!("0x{:040x}", 0) }), "changes.address"),
            (T::ValidatorAdd, json!({ "address": format!("0x{:040x}", 0x1005) }), "changes.address"),
            (T::ValidatorRemove, json!({ "address": "0x12" }), "changes.address"),
            (T::ModuleEnable, json!({ "module": "defi", "config": 1 }), "changes.config"),
            (T::ModuleEnable, json!({ "module": "defi", "config": { "colour": 1 } }), "changes.config.colour"),
            (T::ModuleEnable, json!({ "module": "dao", "config": { "quorum": "101" } }), "changes.config.quorum"),
            (T::ModuleDisable, json!({}), "changes.module"),
            (T::ModuleDisable, json!({ "module": "defi", "config": {} }), "changes.config"),
            (T::Upgrade, json!({ "name": "v2" }), "changes.height"),
            (T::Upgrade, json!({ "name": "ü".repeat(33), "height": 9 }), "changes.name"),
            (T::Text, json!({ "blockTime": 1 }), "changes.blockTime"),
        ] {
            assert_eq!(read(kind, &changes), Err(vec![path.to_owned()]), "{changes}");
        }
    }

    fn named(body: &Value) -> Vec<String> {
        let fields = serde_json::from_value::<CreateProposal>(body.clone()).unwrap().check();
        fields.into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn terms_that_would_become_the_chains_own_or_that_no_chain_has_are_named() {
        for (_, body) in CreateProposal::examples() {
            assert!(named(&body).is_empty(), "{body}");
        }
        assert_eq!(named(&json!({ "blockchainId": "bc_x", "quorum": 0 })), ["title", "type", "quorum"]);
        for (field, value, is_refused) in [
            ("quorum", json!(0), true),
            ("quorum", json!("0.0%"), true),
            ("quorum", json!("0.05"), true),
            ("quorum", json!(33.45), true),
            ("quorum", json!("40.0001%"), true),
            ("quorum", json!(33.4), false),
            ("quorum", json!("33.4000"), false),
            ("quorum", json!(100), false),
            ("quorum", Value::Null, false),
            ("threshold", json!("0"), true),
            ("threshold", json!(66.67), true),
            ("threshold", json!("66.7%"), false),
            ("threshold", json!(99.9), false),
            ("threshold", json!(100), true),
            ("threshold", json!("100.0%"), true),
            ("votingPeriod", json!("0s"), true),
            ("votingPeriod", json!("0d"), true),
            ("votingPeriod", json!("1s"), false),
            ("votingPeriod", json!("365d"), false),
            ("votingPeriod", json!("31536001s"), true),
            ("votingPeriod", json!("366d"), true),
        ] {
            let mut body = json!({ "blockchainId": "bc_x", "title": "x", "type": "text" });
            body[field] = value;
            let paths: Vec<&str> = is_refused.then_some(field).into_iter().collect();
            assert_eq!(named(&body), paths, "{body}");
        }
    }

    /// The contract counts bytes, of which the document says nothing.
    #[test]
    fn texts_of_more_bytes_than_the_contract_takes_are_named() {
        for (field, most) in [("title", TITLE_BYTES_MAX), ("description", DESCRIPTION_BYTES_MAX)] {
            let mut body = json!({ "blockchainId": "bc_x", "title": "x", "type": "text" });
            body[field] = json!("ü".repeat(most / 2));
            assert!(named(&body).is_empty(), "{field}");
            body[field] = json!("ü".repeat(most / 2 + 1));
            assert_eq!(named(&body), [field]);
        }
        let upgrade = json!({ "name": "ü".repeat(NAME_BYTES_MAX / 2), "height": 9, "info": "𝕏".repeat(256) });
        assert!(read(ProposalType::Upgrade, &upgrade).is_ok(), "256 characters of info are never too many bytes");
    }

    #[test]
    fn what_is_beside_a_signed_transaction_is_named_once() {
        let alone = json!({ "blockchainId": "bc_x", "signedTransaction": "0x02" });
        assert!(named(&alone).is_empty());
        for (field, value) in [
            ("title", json!("x")),
            ("description", json!("")),
            ("type", json!("text")),
            ("changes", json!({})),
            ("votingPeriod", json!("0s")),
            ("quorum", json!(0)),
            ("threshold", json!("66.67")),
            ("from", json!("0x1111111111111111111111111111111111111111")),
        ] {
            let mut body = alone.clone();
            body[field] = value;
            assert_eq!(named(&body), [field], "{body}");
            body[field] = Value::Null;
            assert!(named(&body).is_empty(), "{body}");
        }
    }
}
