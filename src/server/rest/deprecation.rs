//! Endpoints that are still served and are going to end: the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};

/// Header that says since when an endpoint is deprecated (RFC 9745, 2).
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// Header that says from when it may answer no more (RFC 8594, 3).
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// What is said of an endpoint that is going to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deprecation {
    /// Time from which it is deprecated, in seconds since the Unix epoch.
    pub(super) since_secs: i64,
    /// Time from which it may answer no more, in seconds since the Unix epoch; not before the deprecation (RFC 9745, 4).
    pub(super) sunset_secs: Option<i64>,
    /// Path of the page that says what takes its place.
    pub(super) see: &'static str,
}

impl Deprecation {
    /// Adds the headers, to every answer of the endpoint.
    pub(super) fn tell(&self, headers: &mut HeaderMap) {
        // A Date of Structured Fields (RFC 9651, 3.3.7).
        if let Ok(since) = HeaderValue::try_from(format!("@{}", self.since_secs)) {
            headers.insert(DEPRECATION, since);
        }
        if let Some(sunset) = self.sunset() {
            headers.insert(SUNSET, sunset);
        }
        if let Ok(link) = HeaderValue::try_from(format!("<{}>; rel=\"deprecation\"; type=\"text/html\"", self.see)) {
            headers.append(header::LINK, link);
        }
    }

    /// The sunset as HTTP-date (RFC 9110, 5.6.7).
    fn sunset(&self) -> Option<HeaderValue> {
        let at = Timestamp::from_second(self.sunset_secs?).ok()?;
        HeaderValue::try_from(DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use axum::{body::Bytes, http::Request};

    use super::*;
    use crate::{
        platform::Platform,
        server::{
            chains::Chains,
            clock::WallClock,
            limits::ServerLimits,
            rest::{
                App, Outside,
                endpoint::{Access, Endpoint, Tag},
                openapi, service,
            },
        },
    };

    const ENDING: Deprecation =
        Deprecation { since_secs: 1_767_225_600, sunset_secs: Some(1_798_761_600), see: "/docs#deprecated" };

    fn endpoint(access: Access) -> Endpoint {
        Endpoint::get("/v1/old", "getOld", Tag::Service, access, "Returns what was.")
            .deprecated(ENDING)
            .reads(|_, _| Ok("old".to_owned()))
    }

    #[tokio::test]
    async fn every_answer_of_a_deprecated_endpoint_says_so() {
        let platform = Platform::builder(Arc::new(WallClock)).open(None).unwrap();
        let app = App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), Outside::default());
        for (access, status) in [(Access::Public, 200), (Access::Authenticated, 401)] {
            let (parts, ()) = Request::get("/v1/old").body(()).unwrap().into_parts();
            let endpoint = Arc::new(endpoint(access));
            let answer = service::serve(app.clone(), endpoint, BTreeMap::new(), parts, Bytes::new()).await;
            let header = |name: &str| answer.headers()[name].to_str().unwrap();
            assert_eq!((answer.status().as_u16(), header("deprecation")), (status, "@1767225600"));
            assert_eq!(header("sunset"), "Fri, 01 Jan 2027 00:00:00 GMT");
            assert_eq!(header("link"), "</docs#deprecated>; rel=\"deprecation\"; type=\"text/html\"");
        }
        let (parts, ()) = Request::get("/v1/health").body(()).unwrap().into_parts();
        let other = app.endpoints().iter().find(|one| one.about.operation == "getHealth").cloned().unwrap();
        let answer = service::serve(app.clone(), other, BTreeMap::new(), parts, Bytes::new()).await;
        assert!(!answer.headers().contains_key("deprecation") && !answer.headers().contains_key("sunset"));
    }

    #[test]
    fn the_document_marks_it() {
        let (endpoint, mut components) = (endpoint(Access::Public), BTreeMap::new());
        let catalogue = super::super::catalogue::Catalogue::new(100);
        let operation = openapi::operation(&endpoint, &catalogue, &mut components);
        assert_eq!(operation["deprecated"], true);
        let headers = &operation["responses"]["200"]["headers"];
        assert!(headers["Deprecation"].is_object() && headers["Sunset"].is_object(), "{headers}");
        for endpoint in catalogue.iter() {
            let operation = openapi::operation(endpoint, &catalogue, &mut components);
            assert_eq!(operation.get("deprecated").is_some(), endpoint.about.deprecation.is_some());
        }
    }
}
