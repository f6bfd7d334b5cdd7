//! `erc1155-multi`: tokens of many ids, equivalent to OpenZeppelin 5's ERC1155, AccessControl, ERC1155Pausable, ERC1155Burnable,
//! ERC1155Supply and ERC2981 in one contract.
//!
//! The constructor mints a first supply of id 1. Parts of it may vest: for each it creates a `vesting-wallet`.
//!
//! The storage layout is solc's for that contract:
//!
//! | slot | what |
//! |---|---|
//! | 0 | `mapping(uint256 => mapping(address => uint256))` balances, by id |
//! | 1 | `mapping(address => mapping(address => bool))` operators' approvals, by holder |
//! | 2 | URI, in which clients replace `{id}` |
//! | 3 | `mapping(bytes32 => RoleData)` roles |
//! | 4 | paused |
//! | 5 | `mapping(uint256 => uint256)` total supplies, by id |
//! | 6 | total supply of all ids |
//! | 7 | default royalty: receiver (lowest 20 bytes) and fee (the 12 bytes above it) |
//! | 8 | `mapping(uint256 => RoyaltyInfo)` royalties, by id |
//! | [`IMMUTABLES`] | what Solidity would put into the code: mintable, burnable, pausable (bits 0, 1, 2) |
//!
//! As to Solidity, the URI may have any bytes; that of the constructor is UTF-8, others revert without data.

mod constructor;
pub mod interface;
#[cfg(test)]
mod tests;
mod token;
mod vesting;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{aliases::U96, uint};

use self::{
    interface::Erc1155Token::{self, Erc1155TokenCalls as Calls},
    token::TOKEN,
};
use super::{
    VestingAllocation,
    common::{
        DEFAULT_ADMIN_ROLE, access_control,
        erc165::{interface_id, supports},
        royalty,
    },
};
use crate::vm::{
    Marker, ParameterNote, Template, TemplateId,
    abi::{encode_output, string_bytes},
    contract::*,
};

/// Slot of the values that Solidity puts into the code: keccak of `chainbox.erc1155.immutables`.
pub const IMMUTABLES: U256 = uint!(0x552e6a868261d477f20418e387a58fbb7ed51c807a64016c15485c97f3c56652_U256);

/// Optional functions of a token; a call to a missing one reverts without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erc1155Features {
    /// Whether it has `mint`, `mintBatch` and `MINTER_ROLE`.
    pub mintable: bool,
    /// Whether it has `burn` and `burnBatch`.
    pub burnable: bool,
    /// Whether it has `pause`, `unpause`, `paused` and `PAUSER_ROLE`.
    pub pausable: bool,
}

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string uri, address owner, (bool mintable, bool burnable, bool pausable) features, address
/// royaltyReceiver, uint96 royaltyFee, (address beneficiary, uint256 amount, uint64 start, uint64 duration, uint64 cliff, bool
/// revocable)[] distribution)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::{Erc1155Features, Erc1155Params}};
/// let features = Erc1155Features { mintable: true, ..Erc1155Features::default() };
/// let params = Erc1155Params { features, ..Erc1155Params::new("ipfs://items/{id}.json", Address::repeat_byte(1)) };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 3, 0, 3]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erc1155Params {
    /// URI of all ids' metadata; clients replace `{id}` by an id of 64 hex digits.
    pub uri: String,
    /// Account that gets every role.
    pub owner: Address,
    /// Optional functions.
    pub features: Erc1155Features,
    /// Receiver of royalties; without a fee it is not stored.
    pub royalty_receiver: Address,
    /// Royalty of every sale, in hundredths of a per cent of its price, at most 10,000; 0 for none.
    pub royalty_fee: u16,
    /// Tokens of id 1 from the deployment on: the beneficiaries' at once, or in vesting wallets.
    pub distribution: Vec<VestingAllocation>,
}

impl Erc1155Params {
    /// Creates parameters of a token without optional functions and without royalties.
    pub fn new(uri: &str, owner: Address) -> Self {
        Self {
            uri: uri.to_owned(),
            owner,
            features: Erc1155Features::default(),
            royalty_receiver: owner,
            royalty_fee: 0,
            distribution: Vec::new(),
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        let Erc1155Features { mintable, burnable, pausable } = self.features;
        Erc1155Token::constructorCall {
            uri: self.uri.clone(),
            owner: self.owner,
            features: Erc1155Token::Features { mintable, burnable, pausable },
            royaltyReceiver: self.royalty_receiver,
            royaltyFee: U96::from(self.royalty_fee),
            distribution: self
                .distribution
                .iter()
                .cloned()
                .map(|part| <(_, _, _, _, _, _)>::from(part).into())
                .collect(),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Erc1155::ID).init_code(&self.encode())
    }
}

/// The template `erc1155-multi`, version 3.
#[derive(Clone, Copy, Debug)]
pub struct Erc1155;

impl Erc1155 {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(3, 3);
    /// Name of the template.
    pub const NAME: &'static str = "erc1155-multi";
}

impl Template for Erc1155 {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "ERC-1155 tokens with royalties and supplies"
    }

    fn abi(&self) -> JsonAbi {
        Erc1155Token::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("uri", "URI of the metadata, in which clients replace {id} by the token's id.")
                .with_default(""),
            ParameterNote::of("owner", "Account that gets every role.").with_default_deployer(),
            ParameterNote::of("features", "Optional functions."),
            ParameterNote::of("features.mintable", "Whether MINTER_ROLE can mint.").with_default(false),
            ParameterNote::of("features.burnable", "Whether holders can burn.").with_default(false),
            ParameterNote::of("features.pausable", "Whether PAUSER_ROLE can pause.").with_default(false),
            ParameterNote::of("royaltyReceiver", "Account that royalties are due to.").with_default_deployer(),
            ParameterNote::of("royaltyFee", "Royalty of every sale; 0 for none.")
                .with_unit(Unit::BASIS_POINTS)
                .with_default("0"),
            ParameterNote::of("distribution", "Tokens of id 1 minted at deployment: each part in a vesting wallet that the token creates, or at once the beneficiary's, without a start, duration and cliff.")
                .with_default(Vec::<String>::new()),
            ParameterNote::of("distribution.beneficiary", "Account that gets them, or what is released of them.")
                .with_default_deployer(),
            ParameterNote::of("distribution.amount", "How many."),
            ParameterNote::of("distribution.start", "Moment at which vesting starts; 0 is that of the deployment.")
                .with_unit(Unit::Timestamp)
                .with_default("0"),
            ParameterNote::of("distribution.duration", "Time from the start until all has vested.")
                .with_unit(Unit::VestingDuration)
                .with_default("0"),
            ParameterNote::of("distribution.cliff", "Time before which nothing has vested; at most the duration.")
                .with_unit(Unit::VestingDuration)
                .with_default("0"),
            ParameterNote::of("distribution.revocable", "Whether the owner may take back what has not vested.")
                .with_default(false),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<token::TokenStorage>().and::<token::TokenImmutables>()
    }

    fn gas_table(&self) -> &str {
        include_str!("erc1155/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        constructor::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call_to_memory::<Calls>(input, NONE_PAYABLE, Calls::signature_by_selector)? {
            Calls::balanceOf(call) => call.returns(token::balance_of(host, call.account, call.id)?),
            Calls::balanceOfBatch(call) => call.returns(token::balance_of_batch(host, &call.accounts, &call.ids)?),
            Calls::setApprovalForAll(call) => call.returns(token::set_approval_for_all(host, call.operator, call.approved)?),
            Calls::isApprovedForAll(call) => call.returns(token::is_approved_for_all(host, call.account, call.operator)?),
            Calls::safeTransferFrom(call) => token::safe_transfer_from(host, call).map(nothing),
            Calls::safeBatchTransferFrom(call) => token::safe_batch_transfer_from(host, call).map(nothing),
            Calls::uri(_) => token::uri(host).map(|uri| encode_output(&uri)),
            Calls::setURI(call) => call.returns(token::set_uri(host, &string_bytes(input, 0)?)?),
            Calls::totalSupply_0(call) => call.returns(TOKEN.total_supply_all.get(host)?),
            Calls::totalSupply_1(call) => call.returns(TOKEN.total_supply.get(host, call.id)?),
            Calls::exists(call) => call.returns(token::exists(host, call.id)?),
            Calls::mint(call) => token::mint(host, call).map(nothing),
            Calls::mintBatch(call) => token::mint_batch(host, call).map(nothing),
            Calls::burn(call) => call.returns(token::burn(host, call.account, call.id, call.value)?),
            Calls::burnBatch(call) => call.returns(token::burn_batch(host, call.account, &call.ids, &call.values)?),
            Calls::pause(call) => call.returns(token::pause(host)?),
            Calls::unpause(call) => call.returns(token::unpause(host)?),
            Calls::paused(call) => call.returns(token::paused(host)?),
            Calls::DEFAULT_ADMIN_ROLE(call) => call.returns(DEFAULT_ADMIN_ROLE),
            Calls::MINTER_ROLE(call) => call.returns(token::role_of(host, token::MINTABLE, token::MINTER_ROLE)?),
            Calls::PAUSER_ROLE(call) => call.returns(token::role_of(host, token::PAUSABLE, token::PAUSER_ROLE)?),
            Calls::URI_SETTER_ROLE(call) => call.returns(token::URI_SETTER_ROLE),
            Calls::hasRole(call) => call.returns(TOKEN.roles.has_role(host, call.role, call.account)?),
            Calls::getRoleAdmin(call) => call.returns(TOKEN.roles.get_role_admin(host, call.role)?),
            Calls::grantRole(call) => call.returns(TOKEN.roles.grant_role(host, call.role, call.account)?),
            Calls::revokeRole(call) => call.returns(TOKEN.roles.revoke_role(host, call.role, call.account)?),
            Calls::renounceRole(call) => call.returns(TOKEN.roles.renounce_role(host, call.role, call.callerConfirmation)?),
            Calls::royaltyInfo(call) => call.returns(TOKEN.royalty.royalty_info(host, call.tokenId, call.salePrice)?),
            Calls::setDefaultRoyalty(call) => call.returns(token::set_default_royalty(host, &call)?),
            Calls::setTokenRoyalty(call) => call.returns(token::set_token_royalty(host, &call)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &INTERFACES)),
        }
    }
}

/// Return data of a function that takes its arguments away.
fn nothing((): ()) -> Bytes {
    Bytes::new()
}

/// ERC-1155, its metadata, access control and ERC-2981.
const INTERFACES: [[u8; 4]; 4] = {
    use interface::*;
    let erc1155 = [
        balanceOfCall::SELECTOR,
        balanceOfBatchCall::SELECTOR,
        setApprovalForAllCall::SELECTOR,
        isApprovedForAllCall::SELECTOR,
        safeTransferFromCall::SELECTOR,
        safeBatchTransferFromCall::SELECTOR,
    ];
    let metadata = [uriCall::SELECTOR];
    [interface_id(&erc1155), interface_id(&metadata), access_control::INTERFACE_ID, royalty::INTERFACE_ID]
};
