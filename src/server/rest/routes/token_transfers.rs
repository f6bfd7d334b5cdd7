//! `POST /v1/tokens/:id/transfers`: tokens that the caller gives to somebody.

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{
    contract_calls::send_call,
    view::{SentTransaction, beside_signed},
};
use crate::{
    chain::CallRequest,
    platform::{FieldError, PlatformError, Scope, TokenMove},
    primitives::Address,
    server::{
        api_error::ApiError,
        rest::{
            App,
            answer::Change,
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            request::Request,
            scalar::{Amount, GasLimit, HexAddress, HexBytes},
        },
    },
};

/// Tokens to give. `to` is required, with `amount` for ERC20 and ERC4626, `tokenId` for ERC721, both for ERC1155; or a signed transaction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TransferToken {
    /// Who gets them.
    to: Option<HexAddress>,
    /// How many, a decimal integer in the smallest unit; none of ERC721.
    amount: Option<Amount>,
    /// Id of the token, a decimal integer, of ERC721 and ERC1155.
    token_id: Option<Amount>,
    /// Whose they are. The service must be able to sign for it; by default the workspace's wallet.
    from: Option<HexAddress>,
    /// Gas limit of the transaction; estimated by default.
    gas_limit: Option<GasLimit>,
    /// A transaction that calls the token, signed by somebody else; in place of all else.
    signed_transaction: Option<HexBytes>,
}

impl Body for TransferToken {
    fn examples() -> Vec<(&'static str, Value)> {
        let account = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        let all = json!({ "to": account, "amount": "1", "from": account, "gasLimit": "300000" });
        vec![("all fields", all), ("required fields", json!({ "to": account, "amount": "1" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        if self.signed_transaction.is_some() {
            return beside_signed(&[
                ("to", self.to.is_some()),
                ("amount", self.amount.is_some()),
                ("tokenId", self.token_id.is_some()),
                ("from", self.from.is_some()),
                ("gasLimit", self.gas_limit.is_some()),
            ]);
        }
        if self.to.is_some() {
            return Vec::new();
        }
        let expected = "an address (0x and 40 hex digits), or a signedTransaction that says it all";
        vec![FieldError { path: "to".to_owned(), expected: expected.to_owned(), got: "nothing".to_owned() }]
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let deploy = Access::Scope(Scope::BlockchainDeploy);
    vec![
        Endpoint::post(
            "/v1/tokens/{tokenId}/transfers",
            "transferToken",
            Tag::Tokens,
            deploy,
            "Gives tokens to somebody. A transfer that would fail is not sent.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance])
        .runs(Runs::Long)
        .takes::<TransferToken>()
        .acts(transfer),
    ]
}

fn transfer(app: &App, request: &Request, body: TransferToken) -> Result<Change<SentTransaction>, ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let stored = platform.tokens().require(principal, request.path("tokenId"))?;
    let chain = platform.blockchains().require(principal, &stored.value.blockchain_id)?;
    let contract = stored.value.contract_address(&chain)?;
    let token = stored.value.token.as_ref().ok_or_else(|| PlatformError::not_found("token", stored.id()))?;
    send_call(app, request, (&chain, contract), (body.signed_transaction.as_ref(), body.from), |from| {
        let (amount, token_id) = (body.amount.map(|amount| amount.0), body.token_id.map(|id| id.0));
        // The body's own rule: without a signed transaction it says who gets them.
        let to = body.to.map_or(Address::ZERO, |to| to.0);
        let mut wanted = CallRequest::call(contract, TokenMove { to, amount, token_id }.call(token.standard, from)?);
        wanted.gas = body.gas_limit.map(|limit| limit.0);
        Ok(wanted)
    })
}
