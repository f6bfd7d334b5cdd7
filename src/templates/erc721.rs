//! `erc721-nft`: a non-fungible token, equivalent to OpenZeppelin 5.7's ERC721, ERC721Enumerable, ERC721URIStorage, ERC721Pausable,
//! AccessControl, ERC721Burnable, ERC721Votes and ERC721Royalty in one contract, as its wizard prints it.
//!
//! The storage layout is solc's for that contract:
//!
//! | slot | what |
//! |---|---|
//! | 0 | royalty of all tokens: receiver (the lowest 20 bytes) and fraction |
//! | 1 | `mapping(uint256 => RoyaltyInfo)` royalties of single tokens |
//! | 2, 3 | name, symbol |
//! | 4 | `mapping(uint256 => address)` owners |
//! | 5 | `mapping(address => uint256)` balances |
//! | 6 | `mapping(uint256 => address)` approvals of single tokens |
//! | 7 | `mapping(address => mapping(address => bool))` operators |
//! | 8, 9 | `mapping(address => mapping(uint256 => uint256))` an owner's tokens; index of each token there |
//! | 10, 11 | `uint256[]` all tokens; index of each token there |
//! | 12 | `mapping(uint256 => string)` URIs |
//! | 13 | paused (lowest byte) |
//! | 14 | `mapping(bytes32 => RoleData)` roles |
//! | 15, 16 | places of the EIP-712 name and version, unused |
//! | 17 | `mapping(address => uint256)` nonces |
//! | 18, 19, 20 | delegates; checkpoints of their votes; checkpoints of the supply |
//! | [`IMMUTABLES`] | what Solidity would put into the code: mintable, burnable, pausable, votes (a byte each, from the lowest on) |
//! | [`IMMUTABLES`] + 1 | the base URI |
//!
//! As to Solidity, a token's URI may have any bytes; the texts of the constructor are UTF-8, others revert without data.

mod constructor;
mod enumeration;
pub mod interface;
mod roles;
mod state;
#[cfg(test)]
mod tests;
mod token;
mod transfer;
mod uri;
mod votes;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{aliases::U96, uint};

pub use self::roles::{MINTER_ROLE, PAUSER_ROLE};
use self::{
    interface::Erc721Nft::{self, Erc721NftCalls as Calls},
    state::NFT,
};
use super::common::{
    DEFAULT_ADMIN_ROLE, access_control,
    erc165::{interface_id, supports},
    royalty,
};
use crate::vm::{
    Marker, ParameterNote, Template, TemplateId,
    abi::{encode_output, string_bytes},
    contract::*,
};

/// First slot of the values that Solidity puts into the code: keccak of `chainbox.erc721.immutables`.
pub const IMMUTABLES: U256 = uint!(0xe45459f3d696700d87f624afd2d5d5222634ce6538ddd24cbccdeedc06e1ea32_U256);

record! {
    /// Optional functions of a token; a call to a missing one reverts without data.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Erc721Features {
        /// Whether accounts with [`MINTER_ROLE`] can `safeMint`.
        pub mintable: bool,
        /// Whether it has `burn`, for who may transfer the token.
        pub burnable: bool,
        /// Whether it has `pause` and `unpause`, for accounts with [`PAUSER_ROLE`], and `paused`.
        pub pausable: bool,
        /// Whether each token is a vote, which its owner can delegate.
        pub votes: bool,
    }
}

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string name, string symbol, string baseURI, address owner, (bool mintable, bool burnable, bool pausable, bool
/// votes) features, address royaltyReceiver, uint96 royaltyFee, (address account, uint256 amount)[] distribution)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::{Erc721Features, Erc721Params}};
/// let features = Erc721Features { mintable: true, ..Erc721Features::default() };
/// let params = Erc721Params { features, ..Erc721Params::new("Art", "ART", "ipfs://art/", Address::repeat_byte(1)) };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 2, 0, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erc721Params {
    /// Name of the collection, and of the EIP-712 domain of a token with votes: of at most 31 bytes there.
    pub name: String,
    /// Symbol of the collection.
    pub symbol: String,
    /// Start of each token's URI; may be empty.
    pub base_uri: String,
    /// Account that gets every role.
    pub owner: Address,
    /// Optional functions.
    pub features: Erc721Features,
    /// Receiver of the royalties of all tokens; without a fee it is not stored.
    pub royalty_receiver: Address,
    /// Royalty of all tokens, in 1/10,000 of the price, at most 10,000; 0 for none.
    pub royalty_fee: u16,
    /// Accounts that have tokens from the deployment on, and how many: the ids from 1 on, in this order.
    pub distribution: Vec<(Address, u64)>,
}

impl Erc721Params {
    /// Creates parameters of a token without optional functions and without royalties.
    pub fn new(name: &str, symbol: &str, base_uri: &str, owner: Address) -> Self {
        Self {
            name: name.to_owned(),
            symbol: symbol.to_owned(),
            base_uri: base_uri.to_owned(),
            owner,
            features: Erc721Features::default(),
            royalty_receiver: owner,
            royalty_fee: 0,
            distribution: Vec::new(),
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        let Erc721Features { mintable, burnable, pausable, votes } = self.features;
        Erc721Nft::constructorCall {
            name: self.name.clone(),
            symbol: self.symbol.clone(),
            baseURI: self.base_uri.clone(),
            owner: self.owner,
            features: Erc721Nft::Features { mintable, burnable, pausable, votes },
            royaltyReceiver: self.royalty_receiver,
            royaltyFee: U96::from(self.royalty_fee),
            distribution: (self.distribution.iter())
                .map(|&(account, amount)| Erc721Nft::Allotment { account, amount: U256::from(amount) })
                .collect(),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Erc721::ID).init_code(&self.encode())
    }
}

/// The template `erc721-nft`, version 2.
#[derive(Clone, Copy, Debug)]
pub struct Erc721;

impl Erc721 {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(2, 2);
    /// Name of the template.
    pub const NAME: &'static str = "erc721-nft";
}

impl Template for Erc721 {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "ERC-721 token, enumerable, with royalties"
    }

    fn abi(&self) -> JsonAbi {
        Erc721Nft::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("name", "Name of the collection; with votes, of at most 31 bytes."),
            ParameterNote::of("symbol", "Symbol of the collection."),
            ParameterNote::of("baseURI", "Start of each token's URI.").with_default(""),
            ParameterNote::of("owner", "Account that gets every role.").with_default_deployer(),
            ParameterNote::of("features", "Optional functions."),
            ParameterNote::of("features.mintable", "Whether MINTER_ROLE can mint.").with_default(false),
            ParameterNote::of("features.burnable", "Whether holders can burn.").with_default(false),
            ParameterNote::of("features.pausable", "Whether PAUSER_ROLE can pause.").with_default(false),
            ParameterNote::of("features.votes", "Whether holders can delegate votes, one a token.").with_default(false),
            ParameterNote::of("royaltyReceiver", "Account that royalties are due to.").with_default_deployer(),
            ParameterNote::of("royaltyFee", "Royalty of all tokens; 0 for none.")
                .with_unit(Unit::BASIS_POINTS)
                .with_default("0"),
            ParameterNote::of("distribution", "Tokens minted at deployment, with the ids from 1 on in this order.")
                .with_default(Vec::<String>::new()),
            ParameterNote::of("distribution.account", "Account that gets them.").with_default_deployer(),
            ParameterNote::of("distribution.amount", "How many."),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::NftStorage>().and::<state::NftImmutables>()
    }

    fn gas_table(&self) -> &str {
        include_str!("erc721/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        constructor::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call_to_memory::<Calls>(input, NONE_PAYABLE, Calls::signature_by_selector)? {
            Calls::name(call) => call.returns(NFT.name.get(host)?),
            Calls::symbol(call) => call.returns(NFT.symbol.get(host)?),
            Calls::tokenURI(call) => uri::token_uri(host, call.tokenId).map(|uri| encode_output(&uri)),
            Calls::balanceOf(call) => call.returns(token::balance_of(host, call.owner)?),
            Calls::ownerOf(call) => call.returns(token::require_owned(host, call.tokenId)?),
            Calls::approve(call) => call.returns(token::approve(host, call.to, call.tokenId)?),
            Calls::getApproved(call) => call.returns(token::get_approved(host, call.tokenId)?),
            Calls::setApprovalForAll(call) => call.returns(token::set_approval_for_all(host, call.operator, call.approved)?),
            Calls::isApprovedForAll(call) => call.returns(token::is_approved_for_all(host, call.owner, call.operator)?),
            Calls::transferFrom(call) => call.returns(transfer::transfer_from(host, call.from, call.to, call.tokenId)?),
            Calls::safeTransferFrom_0(call) => call.returns(transfer::safe_transfer_from(host, call.from, call.to, call.tokenId, Bytes::new())?),
            Calls::safeTransferFrom_1(call) => call.returns(transfer::safe_transfer_from(host, call.from, call.to, call.tokenId, call.data.clone())?),
            Calls::totalSupply(call) => call.returns(NFT.all_tokens.length().get(host)?),
            Calls::tokenByIndex(call) => call.returns(enumeration::token_by_index(host, call.index)?),
            Calls::tokenOfOwnerByIndex(call) => call.returns(enumeration::token_of_owner_by_index(host, call.owner, call.index)?),
            Calls::safeMint_0(call) => call.returns(roles::safe_mint(host, call.to, call.tokenId)?),
            Calls::safeMint_1(call) => call.returns(roles::safe_mint_with_uri(host, call.to, call.tokenId, &string_bytes(input, 2)?)?),
            Calls::burn(call) => call.returns(roles::burn(host, call.tokenId)?),
            Calls::pause(call) => call.returns(roles::pause(host)?),
            Calls::unpause(call) => call.returns(roles::unpause(host)?),
            Calls::paused(call) => call.returns(roles::paused(host)?),
            Calls::royaltyInfo(call) => call.returns(NFT.royalties.royalty_info(host, call.tokenId, call.salePrice)?),
            Calls::setDefaultRoyalty(call) => call.returns(roles::set_default_royalty(host, call.receiver, call.feeNumerator)?),
            Calls::setTokenRoyalty(call) => call.returns(roles::set_token_royalty(host, call.tokenId, call.receiver, call.feeNumerator)?),
            Calls::DEFAULT_ADMIN_ROLE(call) => call.returns(DEFAULT_ADMIN_ROLE),
            Calls::MINTER_ROLE(call) => call.returns(roles::minter_role(host)?),
            Calls::PAUSER_ROLE(call) => call.returns(roles::pauser_role(host)?),
            Calls::hasRole(call) => call.returns(NFT.access.has_role(host, call.role, call.account)?),
            Calls::getRoleAdmin(call) => call.returns(NFT.access.get_role_admin(host, call.role)?),
            Calls::grantRole(call) => call.returns(NFT.access.grant_role(host, call.role, call.account)?),
            Calls::revokeRole(call) => call.returns(NFT.access.revoke_role(host, call.role, call.account)?),
            Calls::renounceRole(call) => call.returns(NFT.access.renounce_role(host, call.role, call.callerConfirmation)?),
            Calls::clock(call) => call.returns(votes::clock(host)?),
            Calls::CLOCK_MODE(call) => call.returns(votes::clock_mode(host)?),
            Calls::getVotes(call) => call.returns(votes::enabled(host)?.get_votes(host, call.account)?),
            Calls::getPastVotes(call) => call.returns(votes::enabled(host)?.get_past_votes(host, call.account, call.timepoint)?),
            Calls::getPastTotalSupply(call) => call.returns(votes::enabled(host)?.get_past_total_supply(host, call.timepoint)?),
            Calls::delegates(call) => call.returns(votes::enabled(host)?.delegates(host, call.account)?),
            Calls::delegate(call) => call.returns(votes::delegate(host, call.delegatee)?),
            Calls::delegateBySig(call) => call.returns(votes::delegate_by_sig(host, &call)?),
            Calls::nonces(call) => call.returns(votes::nonces(host, call.owner)?),
            Calls::eip712Domain(call) => call.returns(votes::domain(host)?.fields(host)),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &INTERFACES)),
        }
    }
}

/// ERC-721, its metadata and enumeration, changes of metadata (ERC-4906, whose id is by definition), roles, royalties.
const INTERFACES: [[u8; 4]; 6] = {
    use interface::*;
    let erc721 = [
        balanceOfCall::SELECTOR,
        ownerOfCall::SELECTOR,
        approveCall::SELECTOR,
        getApprovedCall::SELECTOR,
        setApprovalForAllCall::SELECTOR,
        isApprovedForAllCall::SELECTOR,
        transferFromCall::SELECTOR,
        safeTransferFrom_0Call::SELECTOR,
        safeTransferFrom_1Call::SELECTOR,
    ];
    let metadata = [nameCall::SELECTOR, symbolCall::SELECTOR, tokenURICall::SELECTOR];
    let enumerable = [totalSupplyCall::SELECTOR, tokenOfOwnerByIndexCall::SELECTOR, tokenByIndexCall::SELECTOR];
    [
        interface_id(&erc721),
        interface_id(&metadata),
        interface_id(&enumerable),
        [0x49, 0x06, 0x49, 0x06],
        access_control::INTERFACE_ID,
        royalty::INTERFACE_ID,
    ]
};
