//! The list of all endpoints, from which everything about them is made.

use std::{collections::BTreeMap, sync::Arc};

use axum::http::Method;
use percent_encoding::percent_decode_str;

use super::{endpoint::Endpoint, page::Page, routes};

/// All endpoints of the service.
#[derive(Clone, Debug)]
pub(super) struct Catalogue(Arc<[Arc<Endpoint>]>);

impl Catalogue {
    /// The endpoints of every resource; a page of a list has at most so many items.
    pub(super) fn new(page_limit_max: u64) -> Self {
        let bounded = |mut endpoint: Endpoint| {
            Page::bound(&mut endpoint.about.parameters, page_limit_max);
            Arc::new(endpoint)
        };
        Self(routes::all().into_iter().map(bounded).collect())
    }

    /// The endpoints in the order of the document.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.0.iter()
    }

    /// Finds the endpoint of a method and a path, with the variables of the path, as the router does.
    pub(super) fn find(&self, method: &Method, path: &str) -> Option<(&Endpoint, BTreeMap<String, String>)> {
        self.0.iter().filter(|endpoint| endpoint.about.method == *method).find_map(|endpoint| {
            let variables = match_path(endpoint.about.path, path)?;
            Some((&**endpoint, variables))
        })
    }
}

/// Returns the variables of a path that fits a template such as `/v1/blockchains/{blockchainId}`, decoded (RFC 3986, 2.1). What is not UTF-8
/// then fits none. Paths without variables go first in the list.
fn match_path(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    let mut variables = BTreeMap::new();
    loop {
        match (template.next(), path.next()) {
            (None, None) => return Some(variables),
            (Some(wanted), Some(found)) => match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) if !found.is_empty() => {
                    let value = percent_decode_str(found).decode_utf8().ok()?;
                    variables.insert(name.to_owned(), value.into_owned());
                }
                None if wanted == found => {}
                _ => return None,
            },
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_path_are_decoded_as_the_router_does() {
        let template = "/v1/blockchains/{blockchainId}/participants/{participantId}";
        let found = |variable: &str| {
            let variables = match_path(template, &format!("/v1/blockchains/bc_1/participants/{variable}"))?;
            assert_eq!(variables["blockchainId"], "bc_1");
            Some(variables["participantId"].clone())
        };
        for (sent, read) in [
            ("user:usr_1", Some("user:usr_1")),
            ("user%3Ausr_1", Some("user:usr_1")),
            ("user%3ausr_1", Some("user:usr_1")),
            ("a%2Fb", Some("a/b")),
            ("%C3%A9", Some("\u{e9}")),
            ("100%25", Some("100%")),
            ("a+b", Some("a+b")),
            ("%", Some("%")),
            ("%+1%0g%2", Some("%+1%0g%2")),
            ("%FF", None),
            ("", None),
            ("a/b", None),
        ] {
            assert_eq!(found(sent).as_deref(), read, "{sent}");
        }
        assert_eq!(match_path(template, "/v1/%62lockchains/bc_1/participants/a"), None, "what is fixed is not decoded");
    }
}
