//! `GET /v1/analytics/timeseries`.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    platform::{Metric, SAMPLE_SECS, Scope, SeriesPoint, SeriesRequest},
    primitives::{DurationUnits, parse_duration_secs},
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            endpoint::{Access, Endpoint, Tag},
            parameter::Parameter,
            request::Request,
        },
    },
};

/// Points of an answer that names no begin.
const POINTS_DEFAULT: u64 = 100;
const STEP_PATTERN: &str = "^[0-9]{1,9}[smhd]$";
const DATE_PATTERN: &str =
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2}))?$";

/// A figure of a chain over time. Times without a sample have no point.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SeriesView {
    /// Id of the chain.
    blockchain_id: String,
    /// Name of the figure.
    #[schema(example = "transactions")]
    metric: &'static str,
    /// Time that a point covers.
    #[schema(example = "3600s")]
    granularity: String,
    /// Begin of the first point that the asked time has a part of: ISO 8601, UTC.
    from: String,
    /// End of the last such point, exclusive: ISO 8601, UTC. It is the next range's `from`.
    to: String,
    /// The points, in order.
    points: Vec<PointView>,
}

/// A figure over a time in which it was sampled.
#[derive(Debug, Serialize, ToSchema)]
struct PointView {
    /// Begin of the time: ISO 8601, UTC.
    timestamp: String,
    /// Sum of transactions and of gas; mean of the others.
    value: f64,
    /// Least value of a sample.
    min: f64,
    /// Greatest value of a sample.
    max: f64,
    /// Value of the last sample.
    last: f64,
    /// Number of samples, one in 15 s.
    samples: u32,
}

impl PointView {
    fn new(point: &SeriesPoint) -> Self {
        let SeriesPoint { start_secs, value, least, greatest, last, samples, .. } = *point;
        Self { timestamp: shown(start_secs), value, min: least, max: greatest, last, samples }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let step = "Time that a point covers, a multiple of 15s: a whole number and s, m (minute), h or d; 1h by default.";
    let metrics = Metric::ALL.map(|metric| metric.name().to_owned());
    vec![
        Endpoint::get(
            "/v1/analytics/timeseries",
            "getTimeSeries",
            Tag::Blockchains,
            Access::Scope(Scope::BlockchainRead),
            "Returns a figure of a chain over time.",
        )
        .described(
            "Chains are sampled every 15 s. Samples are kept for a day, points of 5 minutes for a week, points of an hour for 90 days. \
             An answer has at most 2,000 points. Points are whole: those in which the asked time begins and ends are told with what is before and \
             after it, and `from` and `to` of the answer are the bounds of what it tells. For sums over several answers go on at the `to` of \
             the one before.",
        )
        .parameter(
            Parameter::text("blockchainId", "Id of the chain.", "^[A-Za-z0-9_-]{1,64}$", is_id).required(),
        )
        .parameter(Parameter::one_of("metric", "The figure.", metrics, None).required())
        .parameter(Parameter::text(
            "from",
            "Begin: a date, or date and time with a zone (ISO 8601); 100 points before the end by default.",
            DATE_PATTERN,
            |text| seconds(text).is_some(),
        ))
        .parameter(Parameter::text("to", "End, exclusive, likewise; now by default.", DATE_PATTERN, |text| {
            seconds(text).is_some()
        }))
        .parameter(Parameter::text("granularity", step, STEP_PATTERN, |text| step_of(text).is_some()))
        .parameter(Parameter::text("interval", "Another name of granularity.", STEP_PATTERN, |text| {
            step_of(text).is_some()
        }))
        .fails_with(&[crate::server::rest::error_code::ErrorCode::NotFound])
        .reads(series),
    ]
}

fn series(app: &App, request: &Request) -> Result<SeriesView, ApiError> {
    let named = |name: &str| request.query(name);
    let (granularity, interval) = (named("granularity"), named("interval"));
    if let (Some(granularity), Some(interval)) = (granularity, interval)
        && granularity != interval
    {
        let message = format!("granularity and interval are one parameter, got {granularity:?} and {interval:?}");
        return Err(ApiError::bad_request(message));
    }
    let step_secs = granularity.or(interval).and_then(step_of).unwrap_or(3_600);
    let metric = Metric::ALL.into_iter().find(|metric| Some(metric.name()) == named("metric"));
    let metric = metric.ok_or_else(|| ApiError::bad_request("metric is required"))?;
    let blockchain_id = named("blockchainId").unwrap_or_default();
    let now_secs = app.now_ms() / 1_000;
    // The sample of this moment is in an answer that ends now.
    let to_secs = named("to").and_then(seconds).unwrap_or_else(|| now_secs.saturating_add(SAMPLE_SECS));
    let mut wanted = SeriesRequest { metric, from_secs: to_secs, to_secs, step_secs };
    wanted.from_secs = named("from").and_then(seconds).unwrap_or_else(|| {
        let (_, end_secs) = wanted.bounds_secs();
        end_secs.saturating_sub(step_secs.saturating_mul(POINTS_DEFAULT))
    });
    let points = app.platform().analytics().series(request.principal()?, blockchain_id, &wanted)?;
    let (from_secs, to_secs) = wanted.bounds_secs();
    Ok(SeriesView {
        blockchain_id: blockchain_id.to_owned(),
        metric: metric.name(),
        granularity: format!("{step_secs}s"),
        from: shown(from_secs),
        to: shown(to_secs),
        points: points.iter().map(PointView::new).collect(),
    })
}

fn is_id(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(is_fine)
}

fn step_of(text: &str) -> Option<u64> {
    parse_duration_secs(text, DurationUnits::INTERVAL).filter(|secs| *secs > 0)
}

/// Reads a date, which begins in UTC, or a date and time with a zone.
fn seconds(text: &str) -> Option<u64> {
    let secs = match text.parse::<Timestamp>() {
        Ok(at) => at.as_second(),
        Err(_) if text.len() == 10 => text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second(),
        Err(_) => return None,
    };
    u64::try_from(secs).ok()
}

fn shown(secs: u64) -> String {
    clock::iso_8601(secs.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_with_and_without_a_time() {
        for (text, secs) in [
            ("1970-01-02", Some(86_400)),
            ("2026-11-23T20:00:00Z", Some(1_795_464_000)),
            ("2026-11-23T21:00:00+01:00", Some(1_795_464_000)),
            ("2026-11-23T20:00:00.250Z", Some(1_795_464_000)),
            ("1969-12-31", None),
            ("2026-02-30", None),
            ("2026-11-23T20:00:00", None),
            ("yesterday", None),
        ] {
            assert_eq!(seconds(text), secs, "{text}");
        }
    }
}
