//! The endpoints, one file a resource.

mod admin;
mod api_keys;
mod blockchains;
mod contracts;
mod health;
mod json_rpc;
mod metrics;
mod resources;
pub(super) mod templates;
mod transfer;
mod view;
mod workspaces;

use super::endpoint::Endpoint;

pub(super) use json_rpc::{ETHEREUM_ACCESS, post_rpc};

/// All endpoints, in the order of the document.
pub(super) fn all() -> Vec<Endpoint> {
    [
        health::endpoints(),
        resources::endpoints(),
        workspaces::endpoints(),
        api_keys::endpoints(),
        blockchains::endpoints(),
        transfer::endpoints(),
        metrics::endpoints(),
        contracts::endpoints(),
        templates::endpoints(),
        json_rpc::endpoints(),
        admin::endpoints(),
    ]
    .concat()
}
