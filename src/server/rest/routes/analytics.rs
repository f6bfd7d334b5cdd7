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
/// Time that a point covers in an answer to a request that names none.
const STEP_SECS_DEFAULT: u64 = 3_600;
const STEP_PATTERN: &str = "^[0-9]{1,9}[smhd]$";
const DATE_PATTERN: &str =
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2}))?$";
/// A day, a time of day and the offset of a zone, with zeros for digits.
const DAY_FORM: &str = "0000-00-00";
const TIME_FORM: &str = "00:00:00";
const OFFSET_FORM: &str = "00:00";

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
            is_like_date,
        ))
        .parameter(Parameter::text("to", "End, exclusive, likewise; now by default.", DATE_PATTERN, is_like_date))
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
    let step_secs = step_named(named("granularity"), named("interval"))?;
    let metric = Metric::ALL.into_iter().find(|metric| Some(metric.name()) == named("metric"));
    let metric = metric.ok_or_else(|| ApiError::bad_request("metric is required"))?;
    let blockchain_id = named("blockchainId").unwrap_or_default();
    let now_secs = app.now_ms() / 1_000;
    // The sample of this moment is in an answer that ends now.
    let given = |name: &str| named(name).map(|text| moment(name, text)).transpose();
    let to_secs = given("to")?.unwrap_or_else(|| now_secs.saturating_add(SAMPLE_SECS));
    let mut wanted = SeriesRequest { metric, from_secs: to_secs, to_secs, step_secs };
    wanted.from_secs = given("from")?.unwrap_or_else(|| {
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

/// The time of a point, by either name: they say the same where both are there, be it in other units.
fn step_named(granularity: Option<&str>, interval: Option<&str>) -> Result<u64, ApiError> {
    if let (Some(granularity), Some(interval)) = (granularity, interval)
        && step_of(granularity) != step_of(interval)
    {
        let message = format!("granularity and interval are one parameter, got {granularity:?} and {interval:?}");
        return Err(ApiError::bad_request(message));
    }
    Ok(granularity.or(interval).and_then(step_of).unwrap_or(STEP_SECS_DEFAULT))
}

/// Returns whether a text has the form of [`DATE_PATTERN`], or is a moment in another one. Whether there is such a moment, [`moment`] says.
fn is_like_date(text: &str) -> bool {
    let has_form = match text.split_once('T') {
        Some((day, time)) => has_digits(day, DAY_FORM) && is_like_time(time),
        None => has_digits(text, DAY_FORM),
    };
    has_form || seconds(text).is_some()
}

/// Returns whether a text has the form of a time of day with a zone.
fn is_like_time(text: &str) -> bool {
    let Some((time, rest)) = text.split_at_checked(TIME_FORM.len()) else { return false };
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            let digits = fraction.len().saturating_sub(zone.len());
            if !(1..=9).contains(&digits) {
                return false;
            }
            zone
        }
        None => rest,
    };
    has_digits(time, TIME_FORM)
        && (zone == "Z" || zone.strip_prefix(['+', '-']).is_some_and(|offset| has_digits(offset, OFFSET_FORM)))
}

/// Returns whether a text is a form with any digits for its zeros.
fn has_digits(text: &str, form: &str) -> bool {
    let is_like = |(byte, of): (u8, u8)| if of == b'0' { byte.is_ascii_digit() } else { byte == of };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(is_like)
}

/// Reads the moment of a parameter; one that has the form may still be none, or none that is counted in.
fn moment(name: &str, text: &str) -> Result<u64, ApiError> {
    seconds(text).ok_or_else(|| {
        let last = shown(u64::MAX);
        ApiError::bad_request(format!(
            "{name} must be a moment of the calendar from 1970-01-01 to {last}, got {text:?}"
        ))
    })
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

    #[test]
    fn a_moment_that_has_the_form_and_is_none_is_told_the_bounds() {
        for text in [
            "9999-12-31",
            "9999-12-31T00:00:00Z",
            "1969-12-31",
            "1969-12-31T23:59:58.123456789+00:00",
            "2026-02-30",
            "2026-11-23T25:00:00-01:00",
        ] {
            assert!(is_like_date(text), "{text}");
            let told = moment("from", text).unwrap_err().message().to_owned();
            assert!(told.contains("from 1970-01-01 to 9999-12-30T22:00:00") && told.contains(text), "{told}");
        }
        assert_eq!(moment("to", "9999-12-30").unwrap(), 253_402_128_000);
        for text in ["yesterday", "", "2026-1-23", "2026-11-23T", "2026-11-23T20:00:00", "2026-11-23Tä0:00:0Z"] {
            assert!(!is_like_date(text), "{text}");
        }
        for text in ["20:00:00.Z", "20:00:00.1234567890Z", "20:00:00+1:00", "20:00:00", "20:00:00z"] {
            assert!(!is_like_time(text), "{text}");
        }
    }

    #[test]
    fn both_names_of_a_step_say_the_same_in_any_unit() {
        for (granularity, interval, secs) in [
            (None, None, Some(3_600)),
            (Some("1h"), None, Some(3_600)),
            (None, Some("15s"), Some(15)),
            (Some("1h"), Some("60m"), Some(3_600)),
            (Some("86400s"), Some("1d"), Some(86_400)),
            (Some("1h"), Some("61m"), None),
        ] {
            assert_eq!(step_named(granularity, interval).ok(), secs, "{granularity:?} {interval:?}");
        }
    }
}
