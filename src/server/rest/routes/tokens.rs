//! `/v1/tokens`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{
    platform::{
        Allotment, DeploymentRecord, FieldError, Holder, HolderOrder, ListWindow, PlatformError, Scope, TokenFeatures,
        TokenSpec, TokenStandard, TokenTransfer, Vesting, records::Stored,
    },
    primitives::{Height, U256},
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            answer::{Change, Located},
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            page::Page,
            request::Request,
            routes::view::{DeploymentStatus, beside_signed},
            scalar::{Amount, HexAddress, HexBytes, VestingTime},
        },
    },
    store::Order,
};

/// A token to make. Blockchain, standard, name and symbol are required. What a field says that the standard can't have is refused by its name.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateToken {
    /// Id of the chain.
    #[schema(min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: String,
    /// ERC20: fungible; ERC721: non-fungible; ERC1155: several tokens in a contract; ERC4626: a vault whose shares are a token.
    standard: Standard,
    /// Name of the token; of ERC20 at most 31 bytes.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "Gold")]
    name: String,
    /// Symbol of the token.
    #[schema(min_length = 1, max_length = 64, pattern = r"\S", example = "GLD")]
    symbol: String,
    /// Digits after the decimal point in user interfaces: of ERC20, 18 by default; of ERC721 and ERC1155 0.
    #[schema(maximum = 255, example = 18)]
    decimals: Option<u8>,
    /// Tokens that exist from the deployment on: of ERC20 in the smallest unit; of ERC721 the ids from 1 to this number, in the order of the
    /// distribution; of ERC1155 units of id 1; of ERC4626 0.
    total_supply: Option<Amount>,
    /// Optional functions.
    features: Option<Features>,
    /// Parts of the supply that are others', not more than the supply in all; the rest is the sender's.
    #[schema(max_items = 256)]
    distribution: Option<Vec<Part>>,
    /// Token that a vault (ERC4626) holds; one of its own by default, which its sender mints.
    asset: Option<HexAddress>,
    /// URI of the metadata: the start of each id's (ERC721), or one in which clients replace {id} (ERC1155).
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "ipfs://items/")]
    uri: Option<String>,
    /// Account that makes and owns the token. The service must be able to sign for it; by default the workspace's wallet.
    from: Option<HexAddress>,
    /// A transaction that creates the token, signed by somebody else; in place of all but blockchain, standard, name and symbol.
    signed_transaction: Option<HexBytes>,
}

/// Standard of a token.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Standard {
    Erc20,
    Erc721,
    Erc1155,
    Erc4626,
}

/// Optional functions of a token, all off by default.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct Features {
    /// Whether the owner makes new tokens.
    mintable: Option<bool>,
    /// Whether holders destroy theirs.
    burnable: Option<bool>,
    /// Whether the owner stops and resumes all transfers.
    pausable: Option<bool>,
}

/// A part of the supply.
#[derive(Debug, Deserialize, ToSchema)]
struct Part {
    /// Who gets it.
    address: HexAddress,
    /// How much, in the smallest unit; of ERC721 how many ids.
    amount: Amount,
    /// When it is theirs, of ERC20 and ERC1155; at once without.
    vesting: Option<PartVesting>,
}

/// A wait until tokens are their beneficiary's: a vesting wallet has them from the deployment on, and releases what has vested.
#[derive(Debug, Deserialize, ToSchema)]
struct PartVesting {
    /// Time from the deployment until all has vested.
    duration: VestingTime,
    /// Time before which nothing has vested; none by default.
    cliff: Option<VestingTime>,
}

impl From<Standard> for TokenStandard {
    fn from(standard: Standard) -> Self {
        match standard {
            Standard::Erc20 => Self::Erc20,
            Standard::Erc721 => Self::Erc721,
            Standard::Erc1155 => Self::Erc1155,
            Standard::Erc4626 => Self::Erc4626,
        }
    }
}

impl CreateToken {
    fn spec(self) -> TokenSpec {
        let on = |choice: Option<bool>| choice.unwrap_or(false);
        let Features { mintable, burnable, pausable } = self.features.unwrap_or_default();
        let mut spec = TokenSpec::new(&self.blockchain_id, self.standard.into(), &self.name, &self.symbol);
        spec.decimals = self.decimals;
        spec.total_supply = self.total_supply.map_or(U256::ZERO, |supply| supply.0);
        spec.features = TokenFeatures { mintable: on(mintable), burnable: on(burnable), pausable: on(pausable) };
        spec.distribution = self.distribution.unwrap_or_default().into_iter().map(Part::allotment).collect();
        spec.asset = self.asset.map(|asset| asset.0);
        spec.uri = self.uri;
        spec.from = self.from.map(|from| from.0);
        spec.signed_transaction = self.signed_transaction.map(|signed| signed.0);
        spec
    }
}

impl Part {
    fn allotment(self) -> Allotment {
        let vesting = self.vesting.map(|PartVesting { duration, cliff }| Vesting {
            duration_secs: duration.secs,
            cliff_secs: cliff.map_or(0, |cliff| cliff.secs),
        });
        Allotment { address: self.address.0, amount: self.amount.0, vesting }
    }
}

impl Body for CreateToken {
    fn examples() -> Vec<(&'static str, Value)> {
        let account = "0x1111111111111111111111111111111111111111";
        let all = json!({
            "blockchainId": "bc_default", "standard": "ERC20", "name": "Gold", "symbol": "GLD", "decimals": 18,
            "totalSupply": "1000000", "features": { "mintable": true, "burnable": true, "pausable": true },
            "distribution": [
                { "address": account, "amount": "1000", "vesting": { "duration": "12m", "cliff": "3m" } },
                { "address": account, "amount": "500" },
            ],
        });
        let required = json!({ "blockchainId": "bc_default", "standard": "ERC721", "name": "Art", "symbol": "ART" });
        vec![("all fields", all), ("required fields", required)]
    }

    fn check(&self) -> Vec<FieldError> {
        let fields = [
            ("decimals", self.decimals.is_some()),
            ("totalSupply", self.total_supply.is_some()),
            ("features", self.features.is_some()),
            ("distribution", self.distribution.is_some()),
            ("asset", self.asset.is_some()),
            ("uri", self.uri.is_some()),
            ("from", self.from.is_some()),
        ];
        if self.signed_transaction.is_some() { beside_signed(&fields) } else { Vec::new() }
    }
}

/// A token.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TokenView {
    /// Id of the token.
    #[schema(example = "tok_0123456789abcdef")]
    id: String,
    /// Id of the chain.
    blockchain_id: String,
    /// Standard of the token.
    standard: Standard,
    /// Name of the token; null for those who may not read the chain: with the feature privacy all but its participants.
    name: Option<String>,
    /// Symbol of the token; null likewise.
    symbol: Option<String>,
    /// Address of the contract, known before the transaction is mined; null likewise.
    contract_address: Option<String>,
    /// Supply at the newest block, a decimal integer in the smallest unit; of ERC721 the number of ids; null while it is not deployed, and
    /// while the status is unavailable.
    total_supply: Option<String>,
    /// Account that made it; null for those who may not read the chain.
    from: Option<String>,
    /// Hash of the creating transaction; null likewise.
    transaction_hash: Option<String>,
    /// State of the deployment.
    status: DeploymentStatus,
    /// Height of the block with the transaction; null where none has it, and while the status is unavailable.
    block_number: Option<u64>,
    /// Time of sending: ISO 8601, UTC.
    created_at: String,
}

impl TokenView {
    fn new(app: &App, request: &Request, stored: &Stored<DeploymentRecord>) -> Result<Self, ApiError> {
        let deployment = &stored.value;
        let sight = app.platform().blockchains().sight(request.principal()?, &deployment.blockchain_id)?;
        let (chain, is_shown) = (sight.chain().map(|chain| &**chain), !sight.is_hidden());
        let token = deployment.token.as_ref().ok_or_else(|| PlatformError::not_found("token", stored.id()))?;
        let outcome = chain.map(|chain| deployment.outcome(chain)).transpose()?;
        let supply = chain.map(|chain| app.platform().tokens().supply(chain, deployment)).transpose()?.flatten();
        let address = deployment.known_address(chain)?;
        Ok(Self {
            id: stored.id().to_owned(),
            blockchain_id: deployment.blockchain_id.clone(),
            standard: match token.standard {
                TokenStandard::Erc721 => Standard::Erc721,
                TokenStandard::Erc1155 => Standard::Erc1155,
                TokenStandard::Erc4626 => Standard::Erc4626,
                TokenStandard::Erc20 => Standard::Erc20,
            },
            name: is_shown.then(|| token.name.clone()),
            symbol: is_shown.then(|| token.symbol.clone()),
            contract_address: address.filter(|_| is_shown).map(|address| address.to_string()),
            total_supply: supply.map(|supply| supply.to_string()),
            from: is_shown.then(|| deployment.from.to_string()),
            transaction_hash: is_shown.then(|| deployment.transaction_hash.to_string()),
            status: DeploymentStatus::of(outcome.as_ref()),
            block_number: outcome.and_then(|outcome| outcome.height).map(Height::get),
            created_at: clock::iso_8601(stored.created_at_ms()),
        })
    }
}

impl Located for TokenView {
    fn location(&self) -> String {
        format!("/v1/tokens/{}", self.id)
    }
}

/// What an account has of a token.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct HolderView {
    /// The account.
    address: String,
    /// Id of the token, of ERC1155; null of the others.
    token_id: Option<String>,
    /// How many, a decimal integer in the smallest unit; of ERC721 how many ids.
    balance: String,
}

impl HolderView {
    fn new(holder: &Holder) -> Self {
        Self {
            address: holder.address.to_string(),
            token_id: holder.token_id.map(|id| id.to_string()),
            balance: holder.balance.to_string(),
        }
    }
}

/// Tokens that went from one account to another; the zero address makes and destroys them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TransferView {
    /// Whose they were.
    from: String,
    /// Whose they are.
    to: String,
    /// Id of the token; null of a fungible one.
    token_id: Option<String>,
    /// How many, a decimal integer in the smallest unit.
    amount: String,
    /// Height of the block.
    block_number: u64,
    /// Hash of the transaction.
    transaction_hash: String,
    /// Index of the event among the block's.
    log_index: u32,
    /// Time of the block: ISO 8601, UTC.
    timestamp: String,
}

impl TransferView {
    fn new(transfer: &TokenTransfer) -> Self {
        Self {
            from: transfer.from.to_string(),
            to: transfer.to.to_string(),
            token_id: transfer.token_id.map(|id| id.to_string()),
            amount: transfer.amount.to_string(),
            block_number: transfer.height.get(),
            transaction_hash: transfer.transaction_hash.to_string(),
            log_index: transfer.log_index,
            timestamp: clock::iso_8601(transfer.timestamp.as_secs().saturating_mul(1_000)),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let (tag, read) = (Tag::Tokens, Access::Scope(Scope::BlockchainRead));
    vec![
        Endpoint::post(
            "/v1/tokens",
            "createToken",
            tag,
            Access::Scope(Scope::BlockchainDeploy),
            "Makes a token of a standard, distributes its supply, and starts its vesting.",
        )
        .fails_with(&[ErrorCode::NotFound, ErrorCode::InsufficientBalance])
        .runs(Runs::InTurnOf(|_, body| Some(body.get("blockchainId")?.as_str()?.to_owned())))
        .takes::<CreateToken>()
        .creates(create),
        Endpoint::get("/v1/tokens", "listTokens", tag, read, "Lists the tokens of the workspace, oldest first.")
            .lists(&["createdAt"], list),
        Endpoint::get("/v1/tokens/{tokenId}", "getToken", tag, read, "Returns one token with its supply.").reads(get),
        Endpoint::get(
            "/v1/tokens/{tokenId}/holders",
            "listTokenHolders",
            tag,
            read,
            "Lists who has a token at the newest block, by address: what its transfers add up to.",
        )
        .fails_with(&[ErrorCode::Pruned])
        .runs(Runs::Long)
        .lists(&["address", "balance"], holders),
        Endpoint::get(
            "/v1/tokens/{tokenId}/transfers",
            "listTokenTransfers",
            tag,
            read,
            "Lists the transfers of a token, those that made and destroyed tokens with them, oldest first.",
        )
        .fails_with(&[ErrorCode::Pruned])
        .runs(Runs::Long)
        .lists(&["blockNumber"], transfers),
    ]
}

fn create(app: &App, request: &Request, body: CreateToken) -> Result<Change<TokenView>, ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let id = request.new_id(platform, "tok")?;
    let stored = platform.tokens().create(principal, &id, body.spec())?;
    Ok(Change::done(TokenView::new(app, request, &stored)?))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<TokenView>, u64), ApiError> {
    let found = app.platform().tokens().page(request.principal()?, &page.request())?;
    let views = found.items.iter().map(|stored| TokenView::new(app, request, stored));
    Ok((views.collect::<Result<_, _>>()?, found.total))
}

fn get(app: &App, request: &Request) -> Result<TokenView, ApiError> {
    let stored = app.platform().tokens().require(request.principal()?, request.path("tokenId"))?;
    TokenView::new(app, request, &stored)
}

fn holders(app: &App, request: &Request, page: &Page) -> Result<(Vec<HolderView>, u64), ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let stored = platform.tokens().require(principal, request.path("tokenId"))?;
    let chain = platform.blockchains().require(principal, &stored.value.blockchain_id)?;
    let by = if page.sort_field() == "balance" { HolderOrder::Balance } else { HolderOrder::Address };
    let (holders, total) = platform.tokens().holders(&chain, &stored.value, by, window(page))?;
    Ok((holders.iter().map(HolderView::new).collect(), total))
}

fn transfers(app: &App, request: &Request, page: &Page) -> Result<(Vec<TransferView>, u64), ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let stored = platform.tokens().require(principal, request.path("tokenId"))?;
    let chain = platform.blockchains().require(principal, &stored.value.blockchain_id)?;
    let (transfers, total) = platform.tokens().transfers(&chain, &stored.value, window(page))?;
    Ok((transfers.iter().map(TransferView::new).collect(), total))
}

fn window(page: &Page) -> ListWindow {
    let (skipped, limit, is_descending) = page.window();
    ListWindow { skipped, limit, order: if is_descending { Order::Descending } else { Order::Ascending } }
}
