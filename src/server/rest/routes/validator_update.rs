//! `PATCH /v1/validators/{validatorId}`: a validator's name, metadata and commission.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    validator_body::{ValidatorView, commission_bps, name_in, signed, wrong_commission, wrong_metadata},
    validators::{id_of, of_validator},
    view::beside_signed,
};
use crate::{
    platform::{CommissionOrder, FieldError, Scope, ValidatorChange},
    server::{
        api_error::ApiError,
        rest::{
            App,
            answer::Change,
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            request::Request,
            scalar::{Metadata, Percent},
        },
    },
};

/// What changes of a validator. What is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UpdateValidator {
    /// Name of the validator.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "one")]
    name: Option<String>,
    /// What the caller keeps with it, in place of all that was kept: at most 4096 bytes as JSON, five levels deep. Its `name` names the
    /// validator where there is none at the top, and has the bounds of that one then.
    #[schema(value_type = Option<Metadata>)]
    metadata: Option<Map<String, Value>>,
    /// Commission in percent, with at most two decimals; on a chain with stake. The operator, a wallet of the workspace, changes it.
    commission: Option<Percent>,
    /// The operator's call of setCommission that somebody else has signed, in hex; in place of commission.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

impl Body for UpdateValidator {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({ "name": "one", "metadata": { "location": "Bern", "provider": "own" }, "commission": 5 });
        vec![("all fields", all), ("required fields", json!({}))]
    }

    fn check(&self) -> Vec<FieldError> {
        let mut wrong = match self.signed_transaction {
            Some(_) => beside_signed(&[("commission", self.commission.is_some())]),
            None => self.commission.and_then(wrong_commission).into_iter().collect(),
        };
        if let Some(metadata) = &self.metadata {
            wrong.extend(wrong_metadata(metadata, self.name.is_some()));
        }
        wrong
    }
}

impl UpdateValidator {
    /// Returns the change.
    fn change(self) -> Result<ValidatorChange, ApiError> {
        let nested = self.metadata.as_ref().and_then(name_in);
        let raw = signed(self.signed_transaction.as_deref())?;
        let bps = self.commission.and_then(commission_bps).map(CommissionOrder::Bps);
        Ok(ValidatorChange {
            name: self.name.or(nested),
            metadata: self.metadata.map(|metadata| Value::Object(metadata).to_string()),
            commission: raw.map(CommissionOrder::Signed).or(bps),
        })
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let write = Access::Scope(Scope::ValidatorWrite);
    vec![
        Endpoint::patch(
            "/v1/validators/{validatorId}",
            "updateValidator",
            Tag::Validators,
            write,
            "Changes the name, the metadata and the commission of a validator.",
        )
        .described(
            "The commission is the staking contract's, which takes a new one a day after the last at the earliest: 409 before, and nothing is \
             changed then. It is in force with the block that has the transaction. Names and metadata are the service's own.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::UnsupportedByConsensus])
        .runs(Runs::InTurnOf(of_validator))
        .takes::<UpdateValidator>()
        .acts(update),
    ]
}

fn update(app: &App, request: &Request, body: UpdateValidator) -> Result<Change<ValidatorView>, ApiError> {
    let (platform, principal, id) = (Arc::clone(app.platform()), request.principal()?.clone(), id_of(request)?);
    let (change, sent_as) = (body.change()?, request.new_id(&platform, "tx")?);
    let sent = platform.validators().update(&principal, &id, &sent_as, &change)?;
    Ok(Change::unit(move |unit| {
        let view = ValidatorView::new(platform.validators().describe(unit, &principal, &id, &change)?);
        Ok(sent.into_iter().fold(view, ValidatorView::with_transaction))
    }))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;

    use super::*;

    fn read(body: &Value) -> UpdateValidator {
        serde_json::from_value(body.clone()).unwrap()
    }

    #[test]
    fn a_change_has_the_bounds_of_a_new_validator() {
        for (body, paths) in [
            (json!({}), vec![]),
            (json!({ "name": "one" }), vec![]),
            (json!({ "commission": "7.25" }), vec![]),
            (json!({ "commission": "7.255" }), vec!["commission"]),
            (json!({ "metadata": { "note": "x".repeat(4_096) } }), vec!["metadata"]),
            (json!({ "metadata": { "name": "" } }), vec!["metadata.name"]),
            (json!({ "name": "one", "metadata": { "name": "" } }), vec![]),
            (json!({ "name": "one", "metadata": {}, "signedTransaction": "0x02" }), vec![]),
            (json!({ "commission": "7.255", "signedTransaction": "0x02" }), vec!["commission"]),
        ] {
            let found: Vec<String> = read(&body).check().into_iter().map(|field| field.path).collect();
            assert_eq!(found, paths, "{body}");
        }
        for (_, body) in UpdateValidator::examples() {
            assert!(read(&body).check().is_empty(), "{body}");
        }
    }

    #[test]
    fn what_is_left_out_is_no_change() {
        let change = |body: Value| read(&body).change().unwrap_or_else(|_| panic!("{body}"));
        assert_eq!(change(json!({})), ValidatorChange::default());
        let nested = change(json!({ "metadata": { "name": "six" }, "commission": 5 }));
        assert_eq!((nested.name.as_deref(), nested.commission), (Some("six"), Some(CommissionOrder::Bps(500))));
        assert_eq!(nested.metadata.as_deref(), Some(r#"{"name":"six"}"#));
        let signed = change(json!({ "signedTransaction": "0x02" }));
        assert_eq!(signed.commission, Some(CommissionOrder::Signed(Bytes::from_static(&[2]))));
    }
}
