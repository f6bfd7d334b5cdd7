//! `vesting-wallet`: ether, ERC-20 and ERC-1155 tokens that a beneficiary gets over time, equivalent to OpenZeppelin 5's VestingWallet and
//! VestingWalletCliff, and revocable by choice.
//!
//! What the wallet holds or has released of an asset vests linearly from `start` on for `duration`; before the cliff, nothing has
//! vested. A `start` of 0, from which OpenZeppelin's wallet would have vested since 1970, is the moment of the deployment. Whoever calls `release`, what has vested goes to the owner, who is the beneficiary.
//!
//! A wallet made `revocable` can be revoked by its revoker, once for ether and once for each token (of ERC-1155: each id of it): what has vested stays and is
//! the beneficiary's, the rest goes to the revoker. What the wallet gets of that asset later has vested at once. The other assets
//! vest as before. The revoker never changes, and in a wallet that is not revocable the functions of the revocation, all but
//! `revocable`, revert as if it had none.
//!
//! Tokens of ERC-1155, which OpenZeppelin's wallet refuses, vest by their ids as those of ERC-20 do, by functions of the same names.
//!
//! It answers ERC-165, which OpenZeppelin's wallet does not; its interface is that of receivers of ERC-1155 tokens.
//!
//! The storage layout is solc's for that contract:
//!
//! | slot | what |
//! |---|---|
//! | 0 | owner, the beneficiary |
//! | 1 | ether released, in wei |
//! | 2 | `mapping(address => uint256)` tokens released, by token |
//! | 3 | whether ether was revoked |
//! | 4 | `mapping(address => bool)` whether a token was revoked |
//! | 5 | `mapping(address => mapping(uint256 => uint256))` ERC-1155 tokens released, by token and id |
//! | 6 | `mapping(address => mapping(uint256 => bool))` whether an id of a token was revoked |
//! | [`IMMUTABLES`] | what Solidity would put into the code: start, duration, moment of the cliff (64 bits each, from the lowest on), revocable (bit 192) |
//! | [`IMMUTABLES`] + 1 | the revoker; zero when not revocable |

mod allocation;
mod asset;
pub mod interface;
mod state;
#[cfg(test)]
mod tests;
mod wallet;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

pub use self::allocation::VestingAllocation;
use self::{
    asset::Asset::{Ether, MultiToken, Token},
    interface::VestingWallet::{self as sol, VestingWalletCalls as Calls},
    state::WALLET,
};
use super::common::{erc165::supports, receivers};
use crate::{
    primitives::Timestamp,
    vm::{Marker, ParameterNote, Template, TemplateId, abi, contract::*},
};

/// First slot of the values that Solidity puts into the code: keccak of `chainbox.vesting.immutables`.
pub const IMMUTABLES: U256 = uint!(0xdaecc0f5191ec58470e62be6c90d461289fb3546eda5f7bf93c318b2bc2a4767_U256);

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(address beneficiary, uint64 start, uint64 duration, uint64 cliff, bool revocable, address revoker)`, times in
/// seconds.
///
/// ```
/// use chainbox::{primitives::{Address, Timestamp}, templates::VestingWalletParams};
/// let year = 365 * 24 * 60 * 60;
/// let params = VestingWalletParams::new(Address::repeat_byte(1), Timestamp::from_secs(1_700_000_000), 4 * year);
/// let params = VestingWalletParams { cliff_secs: year, ..params };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 5, 0, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VestingWalletParams {
    /// First owner, who gets what is released.
    pub beneficiary: Address,
    /// Moment at which vesting starts; 0 is that of the deployment.
    pub start: Timestamp,
    /// Time from the start until all has vested, in seconds.
    pub duration_secs: u64,
    /// Time from the start before which nothing has vested, in seconds; at most the duration.
    pub cliff_secs: u64,
    /// Account that may take back what has not vested; `None` for a wallet that is not revocable.
    pub revoker: Option<Address>,
}

impl VestingWalletParams {
    /// Creates parameters of a wallet without cliff that is not revocable.
    pub const fn new(beneficiary: Address, start: Timestamp, duration_secs: u64) -> Self {
        Self { beneficiary, start, duration_secs, cliff_secs: 0, revoker: None }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall {
            beneficiary: self.beneficiary,
            start: self.start.as_secs(),
            duration: self.duration_secs,
            cliff: self.cliff_secs,
            revocable: self.revoker.is_some(),
            revoker: self.revoker.unwrap_or_default(),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(VestingWallet::ID).init_code(&self.encode())
    }
}

/// The template `vesting-wallet`, version 2.
#[derive(Clone, Copy, Debug)]
pub struct VestingWallet;

impl VestingWallet {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(5, 2);
    /// Name of the template.
    pub const NAME: &'static str = "vesting-wallet";
}

impl Template for VestingWallet {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Ether and tokens that vest over time"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("beneficiary", "Account that gets what is released; it owns the wallet."),
            ParameterNote::of("start", "Moment at which vesting starts; 0 is that of the deployment.")
                .with_unit(Unit::Timestamp)
                .with_default("0"),
            ParameterNote::of("duration", "Time from the start until all has vested.").with_unit(Unit::VestingDuration),
            ParameterNote::of("cliff", "Time from the start before which nothing has vested; at most the duration.")
                .with_unit(Unit::VestingDuration)
                .with_default("0"),
            ParameterNote::of("revocable", "Whether the revoker may take back what has not vested.")
                .with_default(false),
            ParameterNote::of("revoker", "Account that may revoke a revocable wallet.").with_default_deployer(),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::WalletStorage>().and::<state::WalletImmutables>()
    }

    fn gas_table(&self) -> &str {
        include_str!("vesting_wallet/gas.txt")
    }

    /// Ether sent along belongs to the wallet.
    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        host.compute(abi::DISPATCH_UNITS)?;
        wallet::construct(host, abi::decode_constructor(params)?)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if input.is_empty() {
            // `receive`
            host.compute(abi::DISPATCH_UNITS)?;
            return Ok(Bytes::new());
        }
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::start(call) => call.returns(wallet::start(host)?),
            Calls::duration(call) => call.returns(wallet::duration(host)?),
            Calls::end(call) => call.returns(wallet::end(host)?),
            Calls::cliff(call) => call.returns(wallet::cliff(host)?),
            Calls::released_0(call) => call.returns(Ether.released(host)?),
            Calls::released_1(call) => call.returns(Token(call.token).released(host)?),
            Calls::released_2(call) => call.returns(MultiToken(call.token, call.id).released(host)?),
            Calls::releasable_0(call) => call.returns(wallet::releasable(host, Ether)?),
            Calls::releasable_1(call) => call.returns(wallet::releasable(host, Token(call.token))?),
            Calls::releasable_2(call) => call.returns(wallet::releasable(host, MultiToken(call.token, call.id))?),
            Calls::vestedAmount_0(call) => call.returns(wallet::vested_amount(host, Ether, call.timestamp)?),
            Calls::vestedAmount_1(call) => call.returns(wallet::vested_amount(host, Token(call.token), call.timestamp)?),
            Calls::vestedAmount_2(call) => call.returns(wallet::vested_amount(host, MultiToken(call.token, call.id), call.timestamp)?),
            Calls::release_0(call) => call.returns(wallet::release(host, Ether)?),
            Calls::release_1(call) => call.returns(wallet::release(host, Token(call.token))?),
            Calls::release_2(call) => call.returns(wallet::release(host, MultiToken(call.token, call.id))?),
            Calls::owner(call) => call.returns(WALLET.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(WALLET.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::renounceOwnership(call) => call.returns(WALLET.ownable.renounce_ownership(host)?),
            Calls::revocable(call) => call.returns(wallet::revocable(host)?),
            Calls::revoker(call) => call.returns(wallet::revoker(host)?),
            Calls::revoked_0(call) => call.returns(wallet::revoked(host, Ether)?),
            Calls::revoked_1(call) => call.returns(wallet::revoked(host, Token(call.token))?),
            Calls::revoked_2(call) => call.returns(wallet::revoked(host, MultiToken(call.token, call.id))?),
            Calls::revoke_0(call) => call.returns(wallet::revoke(host, Ether)?),
            Calls::revoke_1(call) => call.returns(wallet::revoke(host, Token(call.token))?),
            Calls::revoke_2(call) => call.returns(wallet::revoke(host, MultiToken(call.token, call.id))?),
            Calls::onERC1155Received(call) => call.returns(receivers::accepted(&call)),
            Calls::onERC1155BatchReceived(call) => call.returns(receivers::accepted(&call)),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[receivers::ERC1155_RECEIVER_ID])),
        }
    }
}
