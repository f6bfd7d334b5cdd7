//! The list of all endpoints, from which everything about them is made.

use std::{collections::BTreeMap, sync::Arc};

use axum::http::Method;

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

    /// Finds the endpoint of a method and a path, with the variables of the path.
    pub(super) fn find(&self, method: &Method, path: &str) -> Option<(&Endpoint, BTreeMap<String, String>)> {
        self.0.iter().filter(|endpoint| endpoint.about.method == *method).find_map(|endpoint| {
            let variables = match_path(endpoint.about.path, path)?;
            Some((&**endpoint, variables))
        })
    }
}

/// Returns the variables of a path that fits a template such as `/v1/blockchains/{blockchainId}`. Paths without variables go first in the list.
fn match_path(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    let mut variables = BTreeMap::new();
    loop {
        match (template.next(), path.next()) {
            (None, None) => return Some(variables),
            (Some(wanted), Some(found)) => match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) if !found.is_empty() => drop(variables.insert(name.to_owned(), found.to_owned())),
                None if wanted == found => {}
                _ => return None,
            },
            _ => return None,
        }
    }
}
