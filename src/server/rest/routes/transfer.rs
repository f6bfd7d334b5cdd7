//! Export of a blockchain's state, and import as a new blockchain.

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{blockchain_body::CreateBlockchain, blockchains::BlockchainView};
use crate::{
    node::Dump,
    platform::{PlatformError, Scope},
    server::{
        api_error::ApiError,
        limits::IMPORT_BODY_BYTES_MAX,
        rest::{
            App,
            answer::Change,
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            request::Request,
        },
    },
};

/// A blockchain to make of an export.
#[derive(Debug, Deserialize, ToSchema)]
struct ImportBlockchain {
    /// The blockchain to create; the gas limit of a block is the export's where it names none, and so is the base fee.
    blockchain: CreateBlockchain,
    /// Text of an export, as `GET /v1/blockchains/{blockchainId}/export` answers it. The premine is added to it.
    #[schema(min_length = 2, pattern = r"^\s*\{")]
    state: String,
}

/// The shortest export.
const EXPORT: &str = r#"{"chain":{"genesis":{"chainId":31338,"accounts":{}}}}"#;

impl Body for ImportBlockchain {
    fn examples() -> Vec<(&'static str, Value)> {
        let balance = r#"{"chain":{"genesis":{"chainId":31338,"accounts":{"0x1111111111111111111111111111111111111111":{"balance":"1000"}}}}}"#;
        let all = json!({ "blockchain": { "name": "copy", "chainId": 54321, "features": ["smart-contracts"] }, "state": balance });
        vec![("all fields", all), ("required fields", json!({ "blockchain": { "name": "copy" }, "state": EXPORT }))]
    }
}

const EXPORTED: &str = "\
Accounts with balances, nonces, code and storage after the newest block, for those who may read the blockchain. Blocks, validators, keys and the \
records of system contracts, such as bonded stake, are not in it. `POST /v1/blockchains/import` and `chainbox dev --load-state` read it. The answer \
is the document itself, without the envelope, and at most 48 MiB.";

const IMPORTED: &str = "\
The new blockchain has a chain id, keys and a treasury of its own, and the rules of any other: of the export it takes accounts, base fee, and the \
gas limit of a block, which must be between 1000000 and 1000000000000 unless the body names another. A workspace has one import at a time; a second \
is 429. The body may be longer than others, at most 64 MiB.";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let (tag, read, write) =
        (Tag::Blockchains, Access::Scope(Scope::BlockchainRead), Access::Scope(Scope::BlockchainWrite));
    vec![
        Endpoint::get(
            "/v1/blockchains/{blockchainId}/export",
            "exportBlockchain",
            tag,
            read,
            "Exports the state of a blockchain.",
        )
        .described(EXPORTED)
        .fails_with(&[ErrorCode::Conflict])
        .runs(Runs::Long)
        .answers_document(export_schema(), "The export", export),
        Endpoint::post(
            "/v1/blockchains/import",
            "importBlockchain",
            tag,
            write,
            "Creates a blockchain with the state of an export.",
        )
        .described(IMPORTED)
        .body_bytes_max(IMPORT_BODY_BYTES_MAX)
        .runs(Runs::Long)
        .takes::<ImportBlockchain>()
        .creates(import),
    ]
}

/// The parts of an export; the genesis is that of `docs/genesis.md`.
fn export_schema() -> Value {
    let chain = json!({
        "type": "object",
        "properties": {
            "format": { "type": "integer", "minimum": 2 },
            "genesis": { "type": "object", "required": ["chainId", "accounts"] },
        },
        "required": ["format", "genesis"],
    });
    json!({ "type": "object", "properties": { "chain": chain }, "required": ["chain"] })
}

fn export(app: &App, request: &Request) -> Result<Vec<u8>, ApiError> {
    let dump = app.platform().blockchains().export(request.principal()?, request.path("blockchainId"))?;
    Ok(dump.as_bytes().to_vec())
}

fn import(app: &App, request: &Request, body: ImportBlockchain) -> Result<Change<BlockchainView>, ApiError> {
    let spec = body.blockchain.into_spec().map_err(of_blockchain)?;
    let (platform, principal) = (app.platform(), request.principal()?);
    let id = request.new_id(platform, "bc")?;
    // Of a request that is run again the chain may be there already.
    if !platform.blockchains().is_provisioned(principal, &id)? {
        let dump = Dump::from_bytes(body.state.into_bytes());
        platform.blockchains().stage_and_provision(principal, &id, spec, &dump)?;
    }
    platform.blockchains().bring_up(principal, &id).map_err(of_blockchain)?;
    Ok(Change::done(BlockchainView::new(app, principal, &platform.blockchains().record(principal, &id)?)?))
}

/// Names the fields of a specification as they are in the body.
fn of_blockchain(cause: PlatformError) -> PlatformError {
    let PlatformError::Validation { mut fields } = cause else { return cause };
    fields.iter_mut().for_each(|field| field.path = format!("blockchain.{}", field.path));
    PlatformError::Validation { fields }
}
