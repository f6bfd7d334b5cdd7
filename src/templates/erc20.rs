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
use alloy_primitives::{Address, Bytes, U256, uint};
use alloy_sol_types::{SolCall, SolConstructor};

use self::{interface::Erc20Token, token::Token};
use crate::vm::{
    Host, Marker, Stop, Template, TemplateId,
    abi::{self, CallArgs},
};

/// First slot of the values that Solidity puts into the code: keccak of `chainbox.erc20.immutables`.
pub const IMMUTABLES: U256 = uint!(0x99a76f77e4cab771f51a628a742a644df747358d9c28b7ce699d661c2f762615_U256);

/// Compute units of dispatching a function and decoding its arguments.
const DISPATCH_UNITS: u64 = 100;

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

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        host.refuse_value()?;
        host.compute(DISPATCH_UNITS)?;
        let params = abi::decode_constructor::<Erc20Token::constructorCall>(params)?;
        Token(host).construct(&params)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        host.refuse_value()?;
        host.compute(DISPATCH_UNITS)?;
        let (selector, args) = abi::split_call(input)?;
        dispatch(&mut Token(host), selector, args)
    }
}

#[rustfmt::skip] // one function a line
fn dispatch(token: &mut Token<'_, '_>, selector: [u8; 4], args: CallArgs<'_>) -> Result<Bytes, Stop> {
    use crate::vm::abi;
    use interface::*;
    match selector {
        transferCall::SELECTOR => { args.require_words(2)?; token.transfer(args.address(0)?, args.u256(1)?) }
        transferFromCall::SELECTOR => { args.require_words(3)?; token.transfer_from(args.address(0)?, args.address(1)?, args.u256(2)?) }
        approveCall::SELECTOR => { args.require_words(2)?; token.approve(args.address(0)?, args.u256(1)?) }
        balanceOfCall::SELECTOR => token.balance_of(&args.address(0)?).map(abi::encode_output_u256),
        allowanceCall::SELECTOR => token.allowance(&args.address(0)?, &args.address(1)?).map(abi::encode_output_u256),
        totalSupplyCall::SELECTOR => token.total_supply().map(abi::encode_output_u256),
        nameCall::SELECTOR => token.name().map(|name| abi::encode_output(&name)),
        symbolCall::SELECTOR => token.symbol().map(|symbol| abi::encode_output(&symbol)),
        decimalsCall::SELECTOR => token.decimals().map(abi::encode_output_u256),
        mintCall::SELECTOR => token.mint(args.address(0)?, args.u256(1)?),
        burnCall::SELECTOR => token.burn(args.u256(0)?),
        burnFromCall::SELECTOR => token.burn_from(args.address(0)?, args.u256(1)?),
        capCall::SELECTOR => token.cap().map(abi::encode_output_u256),
        pauseCall::SELECTOR => token.set_paused(true),
        unpauseCall::SELECTOR => token.set_paused(false),
        pausedCall::SELECTOR => token.paused().map(abi::encode_output_bool),
        ownerCall::SELECTOR => token.owner().map(|owner| abi::encode_output(&owner)),
        transferOwnershipCall::SELECTOR => token.transfer_ownership(args.address(0)?),
        renounceOwnershipCall::SELECTOR => token.renounce_ownership(),
        permitCall::SELECTOR => token.permit(&args),
        noncesCall::SELECTOR => token.nonce(&args.address(0)?).map(abi::encode_output_u256),
        DOMAIN_SEPARATORCall::SELECTOR => token.domain_separator().map(|hash| abi::encode_output(&hash)),
        eip712DomainCall::SELECTOR => token.eip712_domain(),
        supportsInterfaceCall::SELECTOR => args.b32(0).map(|id| abi::encode_output_bool(token::supports_interface(id))),
        _ => Err(abi::empty_revert()),
    }
}
