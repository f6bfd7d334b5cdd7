//! `erc4626-vault`: a vault over any ERC-20 token, equivalent to OpenZeppelin 5's ERC4626 with a decimals offset, and with fees in
//! assets at entry and exit as OpenZeppelin's guide to ERC-4626 describes them.
//!
//! A share is a part of what the vault has of its asset, `decimalsOffset` decimals finer than this. Conversions round in favour of the
//! vault, and go as if there were one asset and `10 ** decimalsOffset` shares more than there are: whoever donates assets to an empty
//! vault, to make the shares of others round to nothing, loses more than they do.
//!
//! OpenZeppelin's vault has its offset in its code; here it is a parameter, of at most [`DECIMALS_OFFSET_MAX`], above which
//! `VaultDecimalsOffsetTooHigh` refuses it: every conversion would overflow.
//!
//! A fee comes on top of the assets where these exclude it (`mint`, `withdraw`) and out of them where they include it (`deposit`,
//! `redeem`), rounded up, and goes to its recipient at once. The owner, if there is one, sets both and has no other power.
//!
//! A vault with a `trustedForwarder`, such as an `erc2771-forwarder`, answers `isTrustedForwarder` and takes its callers from it (ERC-2771),
//! so that holders without ether deposit, transfer and withdraw. Without one, which is the default, it has neither function.
//!
//! The storage layout is solc's for that contract, with Ownable as its last base:
//!
//! | slot | what |
//! |---|---|
//! | 0 | `mapping(address => uint256)` balances |
//! | 1 | `mapping(address => mapping(address => uint256))` allowances |
//! | 2 | total supply |
//! | 3, 4 | name, symbol |
//! | 5 | owner; zero without one |
//! | [`SETTINGS`] | asset (lowest 160 bits), its decimals, the offset (8 bits each), fees at entry and exit (16 bits each) |
//! | [`SETTINGS`] + 1 | the recipient of fees |
//! | [`SETTINGS`] + 2 | the trusted forwarder; zero without one |

mod fees;
pub mod interface;
#[cfg(test)]
mod tests;
mod vault;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

use self::{
    interface::Erc4626Vault::{self as sol, Erc4626VaultCalls as Calls},
    vault::{Settings, VAULT},
};
use super::common::erc165::{interface_id, supports};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*, math::Rounding};

pub use fees::FEE_MAX;
pub use vault::DECIMALS_OFFSET_MAX;

/// First slot of the values that Solidity puts into the code, and of the fees: keccak of `chainbox.erc4626.immutables`.
pub const SETTINGS: U256 = uint!(0xcec8f304c39f407862813501fac71a050e2961692ad4dffc8fd2bb84ec67a107_U256);

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string name, string symbol, address asset, uint8 decimalsOffset, address owner, uint16 entryFee, uint16
/// exitFee, address feeRecipient, address trustedForwarder)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::Erc4626Params};
/// let (asset, owner) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// let params = Erc4626Params { exit_fee: 50, ..Erc4626Params::new("Gold shares", "sGLD", asset, owner) };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 4, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erc4626Params {
    /// Name of the share.
    pub name: String,
    /// Symbol of the share.
    pub symbol: String,
    /// The token that the vault takes and gives.
    pub asset: Address,
    /// Decimals by which a share is finer than the asset.
    pub decimals_offset: u8,
    /// Account that may set the fees and their recipient; `None` for nobody.
    pub owner: Option<Address>,
    /// Fee of a deposit, in hundredths of a percent, at most [`FEE_MAX`].
    pub entry_fee: u16,
    /// Fee of a withdrawal, in hundredths of a percent, at most [`FEE_MAX`].
    pub exit_fee: u16,
    /// Account that gets the fees; the vault itself keeps them for all shares.
    pub fee_recipient: Address,
    /// Contract that may call in the name of others (ERC-2771); `None` for none.
    pub trusted_forwarder: Option<Address>,
}

impl Erc4626Params {
    /// Creates parameters of a vault without offset and fees.
    pub fn new(name: &str, symbol: &str, asset: Address, owner: Address) -> Self {
        let (name, symbol) = (name.to_owned(), symbol.to_owned());
        Self {
            name,
            symbol,
            asset,
            decimals_offset: 0,
            owner: Some(owner),
            entry_fee: 0,
            exit_fee: 0,
            fee_recipient: owner,
            trusted_forwarder: None,
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall {
            name: self.name.clone(),
            symbol: self.symbol.clone(),
            asset: self.asset,
            decimalsOffset: self.decimals_offset,
            owner: self.owner.unwrap_or_default(),
            entryFee: self.entry_fee,
            exitFee: self.exit_fee,
            feeRecipient: self.fee_recipient,
            trustedForwarder: self.trusted_forwarder.unwrap_or_default(),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Erc4626::ID).init_code(&self.encode())
    }
}

/// The template `erc4626-vault`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct Erc4626;

impl Erc4626 {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(4, 1);
    /// Name of the template.
    pub const NAME: &'static str = "erc4626-vault";
}

impl Template for Erc4626 {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "ERC-4626 vault over any ERC-20 token"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        let fee =
            |name, description| ParameterNote::of(name, description).with_unit(Unit::BASIS_POINTS).with_default(0);
        vec![
            ParameterNote::of("name", "Name of the share."),
            ParameterNote::of("symbol", "Symbol of the share."),
            ParameterNote::of("asset", "The ERC-20 token that the vault takes and gives."),
            ParameterNote::of("decimalsOffset", "Decimals by which a share is finer than the asset, at most 77.").with_default(0),
            ParameterNote::of(
                "owner",
                "Account that may set the fees and their recipient; the zero address for nobody.",
            )
            .with_default_deployer(),
            fee("entryFee", "Fee of a deposit."),
            fee("exitFee", "Fee of a withdrawal."),
            ParameterNote::of("feeRecipient", "Account that gets the fees.").with_default_deployer(),
            ParameterNote::of(
                "trustedForwarder",
                "Contract that may call in the name of others (ERC-2771), such as an erc2771-forwarder; the zero address for none.",
            )
            .with_default(Address::ZERO.to_string()),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<vault::VaultStorage>().and::<vault::VaultSettings>()
    }

    fn gas_table(&self) -> &str {
        include_str!("erc4626/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        vault::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::name(call) => call.returns(VAULT.shares.name.get(host)?),
            Calls::symbol(call) => call.returns(VAULT.shares.symbol.get(host)?),
            Calls::decimals(call) => call.returns(Settings::get(host)?.decimals()?),
            Calls::totalSupply(call) => call.returns(VAULT.shares.total_supply.get(host)?),
            Calls::balanceOf(call) => call.returns(VAULT.shares.balances.get(host, call.account)?),
            Calls::transfer(call) => call.returns(VAULT.shares.transfer(host, call.to, call.value)?),
            Calls::allowance(call) => call.returns(VAULT.shares.allowance(host, call.owner, call.spender)?),
            Calls::approve(call) => call.returns(VAULT.shares.approve(host, call.spender, call.value)?),
            Calls::transferFrom(call) => call.returns(VAULT.shares.transfer_from(host, call.from, call.to, call.value)?),
            Calls::asset(call) => call.returns(Settings::get(host)?.asset),
            Calls::totalAssets(call) => call.returns(Settings::get(host)?.total_assets(host)?),
            Calls::convertToShares(call) => call.returns(Settings::get(host)?.to_shares(host, call.assets, Rounding::Floor)?),
            Calls::convertToAssets(call) => call.returns(Settings::get(host)?.to_assets(host, call.shares, Rounding::Floor)?),
            Calls::maxDeposit(call) => call.returns(U256::MAX),
            Calls::previewDeposit(call) => call.returns(Settings::get(host)?.preview_deposit(host, call.assets)?),
            Calls::deposit(call) => call.returns(vault::deposit(host, call.assets, call.receiver)?),
            Calls::maxMint(call) => call.returns(U256::MAX),
            Calls::previewMint(call) => call.returns(Settings::get(host)?.preview_mint(host, call.shares)?),
            Calls::mint(call) => call.returns(vault::mint(host, call.shares, call.receiver)?),
            Calls::maxWithdraw(call) => call.returns(Settings::get(host)?.max_withdraw(host, call.owner)?),
            Calls::previewWithdraw(call) => call.returns(Settings::get(host)?.preview_withdraw(host, call.assets)?),
            Calls::withdraw(call) => call.returns(vault::withdraw(host, call.assets, call.receiver, call.owner)?),
            Calls::maxRedeem(call) => call.returns(VAULT.shares.balances.get(host, call.owner)?),
            Calls::previewRedeem(call) => call.returns(Settings::get(host)?.preview_redeem(host, call.shares)?),
            Calls::redeem(call) => call.returns(vault::redeem(host, call.shares, call.receiver, call.owner)?),
            Calls::entryFee(call) => call.returns(Settings::get(host)?.entry_fee),
            Calls::exitFee(call) => call.returns(Settings::get(host)?.exit_fee),
            Calls::feeRecipient(call) => call.returns(vault::fee_recipient(host)?),
            Calls::setFees(call) => call.returns(vault::set_fees(host, call.entryFee, call.exitFee)?),
            Calls::setFeeRecipient(call) => call.returns(vault::set_fee_recipient(host, call.recipient)?),
            Calls::owner(call) => call.returns(VAULT.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(VAULT.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::renounceOwnership(call) => call.returns(VAULT.ownable.renounce_ownership(host)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &INTERFACES)),
            Calls::trustedForwarder(call) => call.returns(vault::SET.context.trusted_forwarder(host)?),
            Calls::isTrustedForwarder(call) => call.returns(vault::SET.context.is_trusted_forwarder(host, call.forwarder)?),
        }
    }
}

/// ERC-20, its metadata and ERC-4626.
const INTERFACES: [[u8; 4]; 3] = {
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
    let vault = [
        assetCall::SELECTOR,
        totalAssetsCall::SELECTOR,
        convertToSharesCall::SELECTOR,
        convertToAssetsCall::SELECTOR,
        maxDepositCall::SELECTOR,
        previewDepositCall::SELECTOR,
        depositCall::SELECTOR,
        maxMintCall::SELECTOR,
        previewMintCall::SELECTOR,
        mintCall::SELECTOR,
        maxWithdrawCall::SELECTOR,
        previewWithdrawCall::SELECTOR,
        withdrawCall::SELECTOR,
        maxRedeemCall::SELECTOR,
        previewRedeemCall::SELECTOR,
        redeemCall::SELECTOR,
    ];
    [interface_id(&erc20), interface_id(&metadata), interface_id(&vault)]
};
