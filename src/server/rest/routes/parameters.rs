//! `/v1/blockchains/{blockchainId}/parameters`: what proposals of the type parameter-change may change.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    chain::ParameterRecord,
    platform::Scope,
    server::{
        api_error::ApiError,
        rest::{
            App,
            endpoint::{Access, Endpoint, Tag},
            error_code::ErrorCode,
            page::Page,
            request::Request,
        },
    },
    system::parameters::Parameter,
};

/// A parameter of a chain. Values are decimal integers in its unit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ParameterView {
    /// Its name, as a proposal of the type parameter-change has it.
    #[schema(example = "blockTime")]
    name: &'static str,
    /// The value in force.
    value: String,
    /// The value from the protocol's next boundary on; null where none is scheduled.
    scheduled: Option<String>,
    /// The smallest value that it may have.
    minimum: String,
    /// The largest value that it may have.
    maximum: String,
    /// What its values are of; null of a plain number.
    unit: Option<ParameterUnit>,
}

/// What the values of a parameter are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ParameterUnit {
    Seconds,
    Gas,
    Wei,
    Validators,
    Blocks,
}

impl ParameterUnit {
    const fn of(parameter: Parameter) -> Option<Self> {
        match parameter {
            Parameter::BlockTime | Parameter::UnbondingPeriod | Parameter::EvidenceMaxAge => Some(Self::Seconds),
            Parameter::GasLimit => Some(Self::Gas),
            Parameter::BaseFeeFloor | Parameter::MinSelfStake => Some(Self::Wei),
            Parameter::ValidatorsMax => Some(Self::Validators),
            Parameter::EvidenceMaxAgeBlocks => Some(Self::Blocks),
            Parameter::BaseFeeChangeDenominator | Parameter::ElasticityMultiplier => None,
        }
    }
}

impl ParameterView {
    fn new(record: ParameterRecord) -> Self {
        let ParameterRecord { parameter, value, scheduled } = record;
        let range = parameter.range();
        Self {
            name: parameter.name(),
            value: value.to_string(),
            scheduled: (scheduled != value).then(|| scheduled.to_string()),
            minimum: range.start().to_string(),
            maximum: range.end().to_string(),
            unit: ParameterUnit::of(parameter),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get(
            "/v1/blockchains/{blockchainId}/parameters",
            "listParameters",
            Tag::Governance,
            Access::Scope(Scope::GovernanceRead),
            "Lists the parameters of a blockchain by name, with the values that a proposal may give them.",
        )
        .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
        .lists(&["name"], list),
    ]
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<ParameterView>, u64), ApiError> {
    let mut found = app.platform().proposals().parameters(request.principal()?, request.path("blockchainId"))?;
    found.sort_unstable_by_key(|record| record.parameter.name());
    let total = found.len() as u64;
    Ok((page.select(found).into_iter().map(ParameterView::new).collect(), total))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_parameter_is_shown_with_its_bounds_and_its_unit() {
        for parameter in Parameter::ALL {
            let largest = *parameter.range().end();
            let shown = |scheduled| ParameterView::new(ParameterRecord { parameter, value: largest, scheduled });
            let still = serde_json::to_value(shown(largest)).unwrap();
            assert_eq!((&still["name"], &still["scheduled"]), (&json!(parameter.name()), &json!(null)));
            assert_eq!([&still["value"], &still["maximum"]], [&json!(largest.to_string()); 2]);
            assert_eq!(still["minimum"], parameter.range().start().to_string());
            assert_eq!(shown(largest - 1).scheduled, Some((largest - 1).to_string()));
        }
        let unit = |parameter| serde_json::to_value(ParameterUnit::of(parameter)).unwrap();
        assert_eq!(unit(Parameter::BlockTime), "seconds");
        assert_eq!(unit(Parameter::MinSelfStake), "wei");
        assert_eq!(unit(Parameter::ElasticityMultiplier), json!(null));
    }
}
