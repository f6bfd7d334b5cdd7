//! `POST /v1/tokens/:id/transfers`: tokens that the caller gives to somebody.

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{
    contract_calls::{output_of, signed_call},
    view::{SentTransaction, beside_signed},
};
use crate::{
    chain::CallRequest,
    node::BlockRef,
    platform::{FieldError, Outgoing, PlatformError, Scope, TokenMove},
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
    let id = request.new_id(platform, "tx")?;
    let outgoing = match (&body.signed_transaction, body.to, &stored.value.token) {
        (None, Some(to), Some(token)) => {
            let from = match body.from {
                Some(from) => from.0,
                None => platform.wallets().default_sender(principal, &chain)?,
            };
            let (amount, token_id) = (body.amount.map(|amount| amount.0), body.token_id.map(|id| id.0));
            let input = TokenMove { to: to.0, amount, token_id }.call(token.standard, from)?;
            let mut wanted = CallRequest::call(contract, input).with_from(from);
            wanted.gas = body.gas_limit.map(|limit| limit.0);
            if platform.blockchains().sent(principal, &id)?.is_none() {
                output_of(&chain, &wanted, BlockRef::Pending)?;
            }
            Outgoing::Request(Box::new(wanted))
        }
        (Some(signed), ..) => Outgoing::Signed(Box::new(signed_call(&signed.0, contract)?)),
        (None, ..) => return Err(PlatformError::not_found("token", stored.id()).into()),
    };
    let sent = platform.blockchains().send_as(principal, chain.id(), &id, outgoing)?;
    Ok(Change::done(SentTransaction::of(&chain, sent.value.hash)?))
}
