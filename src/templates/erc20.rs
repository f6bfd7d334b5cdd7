//! `erc20-token`: a fungible token, equivalent to OpenZeppelin 5.7's ERC20, ERC20Burnable, ERC20Pausable, AccessControl, ERC20Permit,
//! ERC20Votes, ERC20FlashMint and ERC20Capped in one contract, as its wizard combines them.
//!
//! The owner that the constructor names has the supply and the roles: DEFAULT_ADMIN_ROLE, which grants and revokes the others,
//! MINTER_ROLE of a mintable token, PAUSER_ROLE of a pausable one. A function of a feature that is left out reverts without data.
//!
//! Part of the supply may vest: for each allocation that the constructor names it creates a `vesting-wallet`, with the tokens in it and
//! the owner as its revoker, and emits `VestingWalletCreated(beneficiary, wallet, amount)`. The wallets are the contracts that the token
//! creates with its nonces 1, 2 and so on. The owner has the rest.
//!
//! Names are bounded by 31 bytes, as in every contract of OpenZeppelin 5.7 with an EIP-712 domain.
//!
//! The storage layout is solc's for that contract:
//!
//! | slot | what |
//! |---|---|
//! | 0 | `mapping(address => uint256)` balances |
//! | 1 | `mapping(address => mapping(address => uint256))` allowances |
//! | 2 | total supply |
//! | 3, 4 | name, symbol |
//! | 5 | paused (lowest byte) |
//! | 6 | `mapping(bytes32 => RoleData)` roles |
//! | 7, 8 | fallbacks of the EIP-712 name and version, unused |
//! | 9 | `mapping(address => uint256)` nonces |
//! | 10 | `mapping(address => address)` delegates |
//! | 11 | `mapping(address => Checkpoints.Trace208)` votes by delegate |
//! | 12 | `Checkpoints.Trace208` of the total supply |
//! | [`IMMUTABLES`] | what Solidity would put into the code: decimals (lowest byte); mintable, burnable, pausable, votes, flashMint (bits 8 to 12) |
//! | [`IMMUTABLES`] + 1 | the cap |

mod constructor;
mod features;
mod flash_mint;
pub mod interface;
mod permit;
mod state;
#[cfg(test)]
mod tests;
mod token;
mod vesting;
mod votes;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

use self::{
    features::{FIXED, require_feature_of},
    interface::Erc20Token::{self, Erc20TokenCalls as Calls},
    state::TOKEN,
};
use super::{
    VestingAllocation,
    common::{
        DEFAULT_ADMIN_ROLE, access_control,
        erc165::supports,
        votes::{CLOCK_MODE, clock},
    },
};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, Unit, contract::*};

pub use token::{MINTER_ROLE, PAUSER_ROLE};

/// First slot of the values that Solidity puts into the code: keccak of `chainbox.erc20.immutables`.
pub const IMMUTABLES: U256 = uint!(0x99a76f77e4cab771f51a628a742a644df747358d9c28b7ce699d661c2f762615_U256);

/// Version of the EIP-712 domain.
const VERSION: &str = "1";

/// Optional functions of a token; a call to a missing one reverts without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erc20Features {
    /// Whether holders of MINTER_ROLE can `mint`.
    pub mintable: bool,
    /// Whether it has `burn` and `burnFrom`.
    pub burnable: bool,
    /// Whether it has `pause`, `unpause` and `paused`, the first two for holders of PAUSER_ROLE.
    pub pausable: bool,
    /// Whether it counts votes, by the block's number: ERC-5805 with the clock of ERC-6372.
    pub votes: bool,
    /// Whether it lends new tokens for the time of a call, without a fee: ERC-3156.
    pub flash_mint: bool,
}

impl Erc20Features {
    /// All of them.
    pub const ALL: Self = Self { mintable: true, burnable: true, pausable: true, votes: true, flash_mint: true };
}

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string name, string symbol, uint8 decimals, uint256 totalSupply, uint256 cap, address owner, (bool
/// mintable, bool burnable, bool pausable, bool votes, bool flashMint) features, (address beneficiary, uint256 amount, uint64 start, uint64
/// duration, uint64 cliff, bool revocable)[] vesting)`.
///
/// ```
/// use chainbox::{primitives::{Address, U256}, templates::Erc20Params};
/// let params = Erc20Params::new("Gold", "GLD", U256::from(1_000_000), Address::repeat_byte(1));
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 1, 0, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erc20Params {
    /// Name of the token, at most 31 bytes.
    pub name: String,
    /// Symbol of the token.
    pub symbol: String,
    /// Number of decimal places that clients display.
    pub decimals: u8,
    /// Amount minted to the owner at deployment, in the token's smallest unit (not scaled by `decimals`).
    pub total_supply: U256,
    /// Maximum total supply, in the smallest unit; `None` for no bound (encoded as 2^256 - 1).
    pub cap: Option<U256>,
    /// Owner, which receives the roles, and the supply but for what vests.
    pub owner: Address,
    /// Optional functions.
    pub features: Erc20Features,
    /// Parts of the total supply that are others', most of them in vesting wallets; the owner gets the rest.
    pub vesting: Vec<VestingAllocation>,
}

impl Erc20Params {
    /// Creates parameters of a token with 18 decimals, without optional functions, cap or vesting.
    pub fn new(name: &str, symbol: &str, total_supply: U256, owner: Address) -> Self {
        Self {
            name: name.to_owned(),
            symbol: symbol.to_owned(),
            decimals: 18,
            total_supply,
            cap: None,
            owner,
            features: Erc20Features::default(),
            vesting: Vec::new(),
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        Erc20Token::constructorCall {
            name: self.name.clone(),
            symbol: self.symbol.clone(),
            decimals: self.decimals,
            totalSupply: self.total_supply,
            cap: self.cap.unwrap_or(U256::MAX),
            owner: self.owner,
            features: self.features.into(),
            vesting: self.vesting.iter().cloned().map(|part| <(_, _, _, _, _, _)>::from(part).into()).collect(),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Erc20::ID).init_code(&self.encode())
    }
}

/// The template `erc20-token`, version 2.
#[derive(Clone, Copy, Debug)]
pub struct Erc20;

impl Erc20 {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(1, 2);
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

    fn summary(&self) -> &str {
        "ERC-20 token with roles, votes, flash loans"
    }

    fn abi(&self) -> JsonAbi {
        Erc20Token::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("name", "Name of the token, at most 31 bytes."),
            ParameterNote::of("symbol", "Symbol of the token."),
            ParameterNote::of("decimals", "Digits after the decimal point in user interfaces.").with_default(18),
            ParameterNote::of(
                "totalSupply",
                "Tokens minted at deployment, to the owner but for what vests; `decimals` does not scale it.",
            )
            .with_unit("the smallest unit")
            .with_default("0"),
            ParameterNote::of("cap", "Largest total supply.")
                .with_unit("the smallest unit")
                .with_default(U256::MAX.to_string()),
            ParameterNote::of("owner", "Account that has the supply and the roles: it administers, mints and pauses.")
                .with_default_deployer(),
            ParameterNote::of("features", "Optional functions; one that is left out reverts."),
            ParameterNote::of("features.mintable", "Whether holders of MINTER_ROLE can mint.").with_default(false),
            ParameterNote::of("features.burnable", "Whether holders can burn.").with_default(false),
            ParameterNote::of("features.pausable", "Whether holders of PAUSER_ROLE can pause.").with_default(false),
            ParameterNote::of("features.votes", "Whether holders can delegate votes (ERC-5805).").with_default(false),
            ParameterNote::of("features.flashMint", "Whether it lends new tokens for a call (ERC-3156).")
                .with_default(false),
            ParameterNote::of("vesting", "Parts of the total supply: each in a vesting wallet that the token creates, or at once the beneficiary's, without a start, duration and cliff.")
                .with_default(Vec::<String>::new()),
            ParameterNote::of("vesting.beneficiary", "Account that gets what is released; it owns the wallet."),
            ParameterNote::of("vesting.amount", "Tokens in the wallet.").with_unit("the smallest unit"),
            ParameterNote::of("vesting.start", "Moment at which vesting starts; 0 is that of the deployment.")
                .with_unit(Unit::Timestamp)
                .with_default("0"),
            ParameterNote::of("vesting.duration", "Time from the start until all has vested.")
                .with_unit(Unit::VestingDuration),
            ParameterNote::of("vesting.cliff", "Time before which nothing has vested; at most the duration.")
                .with_unit(Unit::VestingDuration)
                .with_default("0"),
            ParameterNote::of("vesting.revocable", "Whether the owner may take back what has not vested.")
                .with_default(false),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::TokenStorage>().and::<features::TokenImmutables>()
    }

    fn gas_table(&self) -> &str {
        include_str!("erc20/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        constructor::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let call = host.decode_call::<Calls>(input, NONE_PAYABLE)?;
        require_feature_of(host, call.selector())?;
        match call {
            Calls::transfer(call) => call.returns(token::transfer(host, call.to, call.value)?),
            Calls::transferFrom(call) => call.returns(token::transfer_from(host, call.from, call.to, call.value)?),
            Calls::approve(call) => call.returns(token::approve(host, call.spender, call.value)?),
            Calls::balanceOf(call) => call.returns(TOKEN.balances.get(host, call.account)?),
            Calls::allowance(call) => call.returns(token::allowance(host, call.owner, call.spender)?),
            Calls::totalSupply(call) => call.returns(TOKEN.total_supply.get(host)?),
            Calls::name(call) => call.returns(TOKEN.name.get(host)?),
            Calls::symbol(call) => call.returns(TOKEN.symbol.get(host)?),
            Calls::decimals(call) => call.returns(token::decimals(host)?),
            Calls::cap(call) => call.returns(FIXED.cap.get(host)?),

            Calls::mint(call) => call.returns(token::mint(host, call.to, call.amount)?),
            Calls::burn(call) => call.returns(token::burn(host, call.value)?),
            Calls::burnFrom(call) => call.returns(token::burn_from(host, call.account, call.value)?),
            Calls::pause(call) => call.returns(token::pause(host)?),
            Calls::unpause(call) => call.returns(token::unpause(host)?),
            Calls::paused(call) => call.returns(TOKEN.pausable.paused.get(host)?),

            Calls::DEFAULT_ADMIN_ROLE(call) => call.returns(DEFAULT_ADMIN_ROLE),
            Calls::MINTER_ROLE(call) => call.returns(token::MINTER_ROLE),
            Calls::PAUSER_ROLE(call) => call.returns(token::PAUSER_ROLE),
            Calls::hasRole(call) => call.returns(TOKEN.access.has_role(host, call.role, call.account)?),
            Calls::getRoleAdmin(call) => call.returns(TOKEN.access.get_role_admin(host, call.role)?),
            Calls::grantRole(call) => call.returns(TOKEN.access.grant_role(host, call.role, call.account)?),
            Calls::revokeRole(call) => call.returns(TOKEN.access.revoke_role(host, call.role, call.account)?),
            Calls::renounceRole(call) => call.returns(TOKEN.access.renounce_role(host, call.role, call.callerConfirmation)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[access_control::INTERFACE_ID])),

            Calls::permit(call) => call.returns(permit::permit(host, &call)?),
            Calls::nonces(call) => call.returns(TOKEN.nonces.nonces.get(host, call.owner)?),
            Calls::DOMAIN_SEPARATOR(call) => call.returns(state::domain(host)?.separator(host)?),
            Calls::eip712Domain(call) => call.returns(state::domain(host)?.fields(host)),

            Calls::clock(call) => call.returns(clock(host)?),
            Calls::CLOCK_MODE(call) => call.returns(CLOCK_MODE.to_owned()),
            Calls::getVotes(call) => call.returns(TOKEN.votes.get_votes(host, call.account)?),
            Calls::getPastVotes(call) => call.returns(TOKEN.votes.get_past_votes(host, call.account, call.timepoint)?),
            Calls::getPastTotalSupply(call) => call.returns(TOKEN.votes.get_past_total_supply(host, call.timepoint)?),
            Calls::delegates(call) => call.returns(TOKEN.votes.delegates(host, call.account)?),
            Calls::delegate(call) => call.returns(votes::delegate(host, call.delegatee)?),
            Calls::delegateBySig(call) => call.returns(votes::delegate_by_sig(host, &call)?),
            Calls::numCheckpoints(call) => call.returns(votes::num_checkpoints(host, call.account)?),
            Calls::checkpoints(call) => call.returns(votes::checkpoint(host, call.account, call.pos)?),

            Calls::maxFlashLoan(call) => call.returns(flash_mint::max_flash_loan(host, call.token)?),
            Calls::flashFee(call) => call.returns(flash_mint::flash_fee(host, call.token)?),
            Calls::flashLoan(call) => call.returns(flash_mint::flash_loan(host, &call)?),
        }
    }
}
