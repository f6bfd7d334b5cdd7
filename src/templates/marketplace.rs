//! `marketplace`: tokens of ERC-721 and ERC-1155 sold for the native token or for ERC-20 tokens, by listings and by offers. Its ABI is this
//! project's own, close to that of thirdweb's MarketplaceV3.
//!
//! A listing leaves the tokens with their seller, who lets the marketplace move them: it is stale once the seller has fewer or takes the
//! approval back, and a purchase then reverts with `TokenNotHeld` or `TokenNotApproved`. Of a listing of ERC-1155 tokens, any part can be
//! bought. The buyer says the price that it expects, so that a change of the listing in the same block costs it nothing; the tokens go to
//! whom it names. A listing may be for one buyer alone.
//!
//! An offer is for a token whoever has it, and of ERC-1155 tokens any part can be accepted. One in the native token is paid when it is made,
//! and comes back by `cancelOffer` and `withdraw`; one in an ERC-20 token is paid by approval when it is accepted.
//!
//! The price of a sale is divided: the fee of the marketplace, the royalty that the collection says (ERC-2981), and the rest for the seller.
//! Both are rounded down. A sale of which fee and royalty were above the price is refused with `FeesExceedPrice`. The fee is that of the
//! moment in which the listing or the offer was made; the royalty that of the sale. A collection without `royaltyInfo`, or whose function
//! fails or takes more than [`ROYALTY_GAS`], has none.
//!
//! ERC-20 tokens go from the payer to each of these at once, so that the marketplace never has any. Ether is sent to each with at most
//! [`PAYOUT_GAS`]; who does not take it then finds it in `pendingWithdrawals`, and takes it by `withdraw` wherever it wants. So the
//! marketplace has the ether of open offers and of pending withdrawals, and nothing else.
//!
//! The owner sets the fee and its recipient, and which currencies new orders may be in: at first the native token, and the parameter
//! `token` if there is one. Nothing that the owner does changes an order that was made.
//!
//! All functions that change orders or pay are guarded against reentrancy by one lock. It answers ERC-165, with no interface but that.
//!
//! | slot | what |
//! |---|---|
//! | 0 | owner |
//! | 1 | recipient of fees (lowest 160 bits), fee in hundredths of a per cent (16 bits) |
//! | 2 | `mapping(address => bool)` currencies that are accepted |
//! | 3 | `mapping(address => mapping(address => uint256))` pending withdrawals, by account and currency |
//! | 4, 5 | number of listings, `mapping(uint256 => Order)` listings |
//! | 6, 7 | number of offers, `mapping(uint256 => Order)` offers |
//! | [`REENTRANCY_GUARD`](super::common::reentrancy_guard::REENTRANCY_GUARD) | the lock |
//!
//! [`ROYALTY_GAS`]: super::common::sale::ROYALTY_GAS
//! [`PAYOUT_GAS`]: super::common::currency::PAYOUT_GAS

pub mod interface;
mod listings;
mod offers;
mod state;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;

use self::{
    interface::Marketplace::{self as sol, MarketplaceCalls as Calls},
    state::{GUARD, MARKET},
};
use super::common::{ReentrancyGuard, erc165::supports, sale_settings::FeeInfo};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(uint16 fee, address owner, address feeRecipient, address token)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::MarketplaceParams};
/// let (owner, coin) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// let params = MarketplaceParams { fee: 250, token: Some(coin), ..MarketplaceParams::new(owner) };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 13, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarketplaceParams {
    /// Fee of a sale, in hundredths of a per cent, at most 10,000.
    pub fee: u16,
    /// Account that sets the fee and the currencies.
    pub owner: Address,
    /// Account that gets the fees.
    pub fee_recipient: Address,
    /// ERC-20 token that is accepted beside the native token; `None` for none.
    pub token: Option<Address>,
}

impl MarketplaceParams {
    /// Creates parameters of a marketplace without fee, for the native token.
    pub const fn new(owner: Address) -> Self {
        Self { fee: 0, owner, fee_recipient: owner, token: None }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall {
            fee: self.fee,
            owner: self.owner,
            feeRecipient: self.fee_recipient,
            token: self.token.unwrap_or_default(),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Marketplace::ID).init_code(&self.encode())
    }
}

/// The template `marketplace`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct Marketplace;

impl Marketplace {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(13, 1);
    /// Name of the template.
    pub const NAME: &'static str = "marketplace";
}

/// Functions that take ether.
const PAYABLE: &[[u8; 4]] = &[sol::buyFromListingCall::SELECTOR, sol::makeOfferCall::SELECTOR];

impl Template for Marketplace {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "NFTs listed, offered for and sold"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("fee", "Part of each price that the marketplace keeps.")
                .with_unit(Unit::BASIS_POINTS)
                .with_default(0),
            ParameterNote::of("owner", "Account that sets the fee and the currencies.").with_default_deployer(),
            ParameterNote::of("feeRecipient", "Account that gets the fees.").with_default_deployer(),
            ParameterNote::of(
                "token",
                "ERC-20 token that may be paid in beside the native token; the zero address for none.",
            )
            .with_default(Address::ZERO.to_string()),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::MarketplaceStorage>().and::<ReentrancyGuard>()
    }

    fn gas_table(&self) -> &str {
        include_str!("marketplace/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        state::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, PAYABLE)? {
            Calls::createListing(call) => call.returns(GUARD.non_reentrant(host, |host| listings::create(host, &call.params))?),
            Calls::updateListing(call) => call.returns(GUARD.non_reentrant(host, |host| listings::update(host, &call))?),
            Calls::cancelListing(call) => call.returns(GUARD.non_reentrant(host, |host| listings::cancel(host, call.listingId))?),
            Calls::buyFromListing(call) => call.returns(GUARD.non_reentrant(host, |host| listings::buy(host, &call))?),
            Calls::totalListings(call) => call.returns(MARKET.listing_count.get(host)?),
            Calls::getListing(call) => call.returns(listings::get(host, call.listingId)?),
            Calls::getListings(call) => call.returns(listings::list(host, &call)?),
            Calls::isListingValid(call) => call.returns(listings::is_valid(host, call.listingId)?),
            Calls::makeOffer(call) => call.returns(GUARD.non_reentrant(host, |host| offers::make(host, &call.params))?),
            Calls::cancelOffer(call) => call.returns(GUARD.non_reentrant(host, |host| offers::cancel(host, call.offerId))?),
            Calls::acceptOffer(call) => call.returns(GUARD.non_reentrant(host, |host| offers::accept(host, call.offerId, call.quantity))?),
            Calls::totalOffers(call) => call.returns(MARKET.offer_count.get(host)?),
            Calls::getOffer(call) => call.returns(offers::get(host, call.offerId)?),
            Calls::getOffers(call) => call.returns(offers::list(host, &call)?),
            Calls::pendingWithdrawals(call) => call.returns(MARKET.withdrawals.pending(host, call.account, call.currency)?),
            Calls::withdraw(call) => call.returns(GUARD.non_reentrant(host, |host| MARKET.withdrawals.withdraw(host, call.currency, call.to))?),
            Calls::fee(call) => call.returns(MARKET.settings.fee_info.get(host)?.fee),
            Calls::feeRecipient(call) => call.returns(MARKET.settings.fee_info.get(host)?.recipient),
            Calls::setFee(call) => {
                MARKET.ownable.only_owner(host)?;
                call.returns(MARKET.settings.set_fee(host, FeeInfo { recipient: call.recipient, fee: call.fee })?)
            }
            Calls::isCurrencyAccepted(call) => call.returns(MARKET.settings.accepted_currencies.get(host, call.currency)?),
            Calls::setCurrency(call) => {
                MARKET.ownable.only_owner(host)?;
                call.returns(MARKET.settings.set_currency(host, call.currency, call.accepted)?)
            }
            Calls::owner(call) => call.returns(MARKET.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(MARKET.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::renounceOwnership(call) => call.returns(MARKET.ownable.renounce_ownership(host)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}
