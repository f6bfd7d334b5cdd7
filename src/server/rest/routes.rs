//! The endpoints, one file a resource.

mod accounts;
mod admin;
mod analytics;
mod api_keys;
mod audit_lines;
mod blockchain_body;
mod blockchains;
mod blocks;
mod contract_calls;
mod contracts;
mod dapp_body;
mod dapp_site;
mod dapp_view;
mod dapps;
mod events;
mod health;
mod json_rpc;
mod json_rpc_schema;
mod metrics;
mod modules;
mod oauth_clients;
mod parameters;
mod projects;
mod proposal_body;
mod proposals;
mod resources;
pub(super) mod templates;
mod token_transfers;
mod tokens;
mod transactions;
mod transfer;
mod validator_body;
mod validator_changes;
mod validator_update;
mod validators;
mod view;
mod votes;
mod webhooks;
mod workspaces;

use super::endpoint::Endpoint;

pub(super) use dapp_site::page as dapp_page;
pub(super) use json_rpc::{ETHEREUM_ACCESS, post_rpc};

/// All endpoints, in the order of the document.
pub(super) fn all() -> Vec<Endpoint> {
    [
        health::endpoints(),
        resources::endpoints(),
        workspaces::endpoints(),
        api_keys::endpoints(),
        oauth_clients::endpoints(),
        projects::endpoints(),
        blockchains::endpoints(),
        modules::endpoints(),
        transfer::endpoints(),
        metrics::endpoints(),
        analytics::endpoints(),
        blocks::endpoints(),
        transactions::endpoints(),
        accounts::endpoints(),
        events::endpoints(),
        validators::endpoints(),
        validator_update::endpoints(),
        validator_changes::endpoints(),
        proposals::endpoints(),
        votes::endpoints(),
        parameters::endpoints(),
        contracts::endpoints(),
        contract_calls::endpoints(),
        templates::endpoints(),
        tokens::endpoints(),
        token_transfers::endpoints(),
        dapps::endpoints(),
        webhooks::endpoints(),
        json_rpc::endpoints(),
        admin::endpoints(),
    ]
    .concat()
}
