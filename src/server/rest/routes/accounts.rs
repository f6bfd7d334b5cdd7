//! `/v1/blockchains/{blockchainId}/accounts/{address}`.

use alloy_primitives::Address;
use serde::Serialize;
use utoipa::ToSchema;

use super::{blocks::block_ref, view::chain_data};
use crate::{
    node::BlockRef,
    platform::PlatformError,
    server::{
        api_error::ApiError,
        rest::{App, endpoint::Endpoint, parameter::Parameter, request::Request},
    },
    vm::Marker,
};

/// An account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AccountView {
    /// Its address.
    address: String,
    /// Its balance, a decimal integer of the smallest unit.
    balance: String,
    /// Number of its transactions, or of the contracts that it made.
    nonce: u64,
    /// Whether it is a contract.
    is_contract: bool,
    /// Name of its contract's template; null for an account without, and for code of none.
    template: Option<String>,
    /// Number of the block after which this is so.
    block_number: u64,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        chain_data("/v1/blockchains/{blockchainId}/accounts/{address}", "getAccount", "Returns an account; one that nobody has used is empty.")
        .parameter(Parameter::text(
            "block",
            "The block after which it is asked for: a number, a hash, or latest, safe, finalized, earliest; latest by default.",
            "^([0-9]{1,16}|0x[0-9a-fA-F]{64}|latest|safe|finalized|earliest)$",
            |text| block_ref(text).is_some(),
        ))
        .reads(get),
    ]
}

fn get(app: &App, request: &Request) -> Result<AccountView, ApiError> {
    let chain = app.platform().blockchains().readable(request.principal()?, request.path("blockchainId"))?;
    let text = request.path("address");
    let not_found = |_| PlatformError::not_found("account", text);
    let address: Address = text.parse().map_err(not_found)?;
    let at = request.query("block").and_then(block_ref).unwrap_or(BlockRef::Latest);
    let view = chain.node().view();
    let account = view.account(address, at).map_err(PlatformError::from_query)?;
    let code = view.code(address, at).map_err(PlatformError::from_query)?;
    let marker = Marker::split(&code).and_then(|(Marker(id), _)| chain.node().templates().get(id));
    Ok(AccountView {
        address: address.to_string(),
        balance: account.balance.to_string(),
        nonce: account.nonce,
        is_contract: !code.is_empty(),
        template: marker.map(|template| template.name().to_owned()),
        block_number: view.block(at).map_err(PlatformError::from_query)?.height().get(),
    })
}
