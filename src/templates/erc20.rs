//! `erc20-token`: a fungible token, equivalent to OpenZeppelin 5's ERC20, ERC20Burnable, ERC20Pausable, Ownable,
//! ERC20Permit and ERC20Capped in one contract.
//!
//! The storage layout is solc's for that contract:
//!
//! | slot | what |
//! |---|---|
//! | 0 | `mapping(address => uint256)` balances |
//! | 1 | `mapping(address => mapping(address => uint256))` allowances |
//! | 2 | total supply |
//! | 3, 4 | name, symbol |
//! | 5 | paused (lowest byte) and owner (the 20 bytes above it) |
//! | 6, 7 | the EIP-712 name when longer than 31 bytes, and the version's place, unused |
//! | 8 | `mapping(address => uint256)` nonces |
//! | [`IMMUTABLES`] | what Solidity would put into the code: decimals (lowest byte), mintable, burnable, pausable (bits 8, 9, 10) |
//! | [`IMMUTABLES`] + 1 | the cap |

pub mod interface;
mod permit;
#[cfg(test)]
mod tests;
mod token;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

use self::{
    interface::Erc20Token::{self, Erc20TokenCalls as Calls},
    token::TOKEN,
};
use super::common::erc165::{interface_id, supports};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

/// First slot of the values that Solidity puts into the code: keccak of `chainbox.erc20.immutables`.
pub const IMMUTABLES: U256 = uint!(0x99a76f77e4cab771f51a628a742a644df747358d9c28b7ce699d661c2f762615_U256);

/// Version of the EIP-712 domain.
const VERSION: &str = "1";

/// Optional functions of a token; a call to a missing one reverts without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erc20Features {
    /// Whether the owner can `mint`.
    pub mintable: bool,
    /// Whether it has `burn` and `burnFrom`.
    pub burnable: bool,
    /// Whether it has `pause`, `unpause` and `paused`, the first two for the owner.
    pub pausable: bool,
}

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string name, string symbol, uint256 totalSupply, uint8 decimals, address owner, (bool
/// mintable, bool burnable, bool pausable) features, uint256 cap)`.
///
/// ```
/// use chainbox::{primitives::{Address, U256}, templates::Erc20Params};
/// let params = Erc20Params::new("Gold", "GLD", U256::from(1_000_000), Address::repeat_byte(1));
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 1, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erc20Params {
    /// Name of the token.
    pub name: String,
    /// Symbol of the token.
    pub symbol: String,
    /// Amount minted to the owner at deployment, in the token's smallest unit (not scaled by `decimals`).
    pub total_supply: U256,
    /// Number of decimal places that clients display.
    pub decimals: u8,
    /// Owner, which receives the supply and may mint and pause.
    pub owner: Address,
    /// Optional functions.
    pub features: Erc20Features,
    /// Maximum total supply, in the smallest unit; `None` for no bound (encoded as 2^256 - 1).
    pub cap: Option<U256>,
}

impl Erc20Params {
    /// Creates parameters of a token with 18 decimals, without optional functions or cap.
    pub fn new(name: &str, symbol: &str, total_supply: U256, owner: Address) -> Self {
        Self {
            name: name.to_owned(),
            symbol: symbol.to_owned(),
            total_supply,
            decimals: 18,
            owner,
            features: Erc20Features::default(),
            cap: None,
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        let Erc20Features { mintable, burnable, pausable } = self.features;
        Erc20Token::constructorCall {
            name: self.name.clone(),
            symbol: self.symbol.clone(),
            totalSupply: self.total_supply,
            decimals: self.decimals,
            owner: self.owner,
            features: Erc20Token::Features { mintable, burnable, pausable },
            cap: self.cap.unwrap_or(U256::MAX),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Erc20::ID).init_code(&self.encode())
    }
}

/// The template `erc20-token`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct Erc20;

impl Erc20 {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(1, 1);
    /// Name of the template.
    pub const NAME: &'static str = "erc20-token";
}

impl Template for Erc20 {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn abi(&self) -> JsonAbi {
        Erc20Token::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("name", "Name of the token."),
            ParameterNote::of("symbol", "Symbol of the token."),
            ParameterNote::of("totalSupply", "Initial balance of the owner; `decimals` does not scale it.")
                .with_unit("the smallest unit")
                .with_default("0"),
            ParameterNote::of("decimals", "Digits after the decimal point in user interfaces.").with_default(18),
            ParameterNote::of("owner", "Account that has the supply, and may mint and pause.").with_default_deployer(),
            ParameterNote::of("features", "Optional functions."),
            ParameterNote::of("features.mintable", "Whether the owner can mint.").with_default(false),
            ParameterNote::of("features.burnable", "Whether holders can burn.").with_default(false),
            ParameterNote::of("features.pausable", "Whether the owner can pause.").with_default(false),
            ParameterNote::of("cap", "Largest total supply.")
                .with_unit("the smallest unit")
                .with_default(U256::MAX.to_string()),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<token::TokenStorage>().and::<token::TokenImmutables>()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        token::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::transfer(call) => call.returns(token::transfer(host, call.to, call.value)?),
            Calls::transferFrom(call) => call.returns(token::transfer_from(host, call.from, call.to, call.value)?),
            Calls::approve(call) => call.returns(token::approve(host, call.spender, call.value)?),
            Calls::balanceOf(call) => call.returns(TOKEN.balances.get(host, call.account)?),
            Calls::allowance(call) => call.returns(token::allowance(host, call.owner, call.spender)?),
            Calls::totalSupply(call) => call.returns(TOKEN.total_supply.get(host)?),
            Calls::name(call) => call.returns(TOKEN.name.get(host)?),
            Calls::symbol(call) => call.returns(TOKEN.symbol.get(host)?),
            Calls::decimals(call) => call.returns(token::decimals(host)?),
            Calls::mint(call) => call.returns(token::mint(host, call.to, call.amount)?),
            Calls::burn(call) => call.returns(token::burn(host, call.value)?),
            Calls::burnFrom(call) => call.returns(token::burn_from(host, call.account, call.value)?),
            Calls::cap(call) => call.returns(token::FIXED.cap.get(host)?),
            Calls::pause(call) => call.returns(token::pause(host)?),
            Calls::unpause(call) => call.returns(token::unpause(host)?),
            Calls::paused(call) => call.returns(token::paused(host)?),
            Calls::owner(call) => call.returns(TOKEN.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(TOKEN.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::renounceOwnership(call) => call.returns(TOKEN.ownable.renounce_ownership(host)?),
            Calls::permit(call) => call.returns(permit::permit(host, &call)?),
            Calls::nonces(call) => call.returns(TOKEN.nonces.nonces.get(host, call.owner)?),
            Calls::DOMAIN_SEPARATOR(call) => call.returns(permit::domain(host)?.separator(host)?),
            Calls::eip712Domain(call) => call.returns(permit::domain(host)?.fields(host)),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &INTERFACES)),
        }
    }
}

/// ERC-20, its metadata, EIP-2612 and EIP-5267.
const INTERFACES: [[u8; 4]; 4] = {
    use interface::*;
    let erc20 = [
        totalSupplyCall::SELECTOR,
        balanceOfCall::SELECTOR,
        transferCall::SELECTOR,
        allowanceCall::SELECTOR,
        approveCall::SELECTOR,
        transferFromCall::SELECTOR,
    ];
    let metadata = [nameCall::SELECTOR, symbolCall::SELECTOR, decimalsCall::SELECTOR];
    let permit = [permitCall::SELECTOR, noncesCall::SELECTOR, DOMAIN_SEPARATORCall::SELECTOR];
    [interface_id(&erc20), interface_id(&metadata), interface_id(&permit), interface_id(&[eip712DomainCall::SELECTOR])]
};
