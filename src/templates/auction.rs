//! `auction`: English and Dutch auctions of tokens of ERC-721 and ERC-1155, for the native token or for ERC-20 tokens. Its ABI is this
//! project's own, close to that of thirdweb's EnglishAuctions.
//!
//! The auction holds a lot, one token or many of one id, from its making until it is sold or given back.
//!
//! In an English auction, the first bid is at least the reserve price, and each other one above the highest by `minIncrement`, rounded up, and
//! by one unit at least. A bid is paid at once, and the one before waits for its bidder to take it by `withdraw`. A bid in the last
//! `timeExtension` seconds moves the end, so that so much time is left after it. After the end, anybody settles the auction: the tokens go
//! to who has bid most, the money to the seller. An ERC-20 token that takes a fee on transfers is refused (`IncompletePayment`).
//!
//! In a Dutch auction, the price falls in a line from `startPrice` to `reservePrice`, rounded up, and the first who pays it buys. The buyer says
//! the highest price that it accepts; of ether that is more than the price, the rest goes back. After the end nobody can buy, and anybody
//! settles the auction, which gives the tokens back.
//!
//! The creator cancels an auction without a bid, at any time. The tokens are sent with at most [`DELIVERY_GAS`]; who does not take them, such
//! as a contract without a function for that, claims them by `claim` wherever it wants, so that nobody holds up the payment of others.
//!
//! The price of a sale is divided as in the marketplace: the fee, the royalty that the collection says (ERC-2981), and the rest for the
//! seller. The fee is that of the moment in which the auction was made. A Dutch sale in which fee and royalty were above the price is
//! refused, and so is the making of an auction in which they were above the reserve price (`FeesExceedPrice`); an English auction,
//! whose price is paid before, is settled without such a royalty. Payments that are not taken wait for their recipients.
//!
//! So the auction has the lots that are open or wait to be claimed, the highest bids of open auctions, and pending withdrawals, and nothing else.
//! Tokens that are sent to it safely are refused (`UnsolicitedToken`).
//!
//! The owner sets the fee and its recipient, and which currencies new auctions may be in: at first the native token, and the parameter
//! `token` if there is one. All functions that change auctions or pay are guarded against reentrancy by one lock.
//!
//! It answers ERC-165, as a receiver of tokens of ERC-1155.
//!
//! | slot | what |
//! |---|---|
//! | 0 | owner |
//! | 1 | recipient of fees (lowest 160 bits), fee in hundredths of a per cent (16 bits) |
//! | 2 | `mapping(address => bool)` currencies that are accepted |
//! | 3 | `mapping(address => mapping(address => uint256))` pending withdrawals, by account and currency |
//! | 4, 5 | number of auctions, `mapping(uint256 => Lot)` auctions |
//! | [`REENTRANCY_GUARD`](super::common::reentrancy_guard::REENTRANCY_GUARD) | the lock |

mod bids;
pub mod interface;
mod lots;
mod prices;
mod state;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;

use self::{
    interface::AuctionHouse::{self as sol, AuctionHouseCalls as Calls},
    state::{Entry, GUARD, HOUSE},
};
use super::common::{
    ReentrancyGuard, erc165::supports, page::page, receivers::ERC1155_RECEIVER_ID, sale_settings::FeeInfo,
};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

pub use lots::DELIVERY_GAS;

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(uint16 fee, address owner, address feeRecipient, address token)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::AuctionParams};
/// let (owner, coin) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// let params = AuctionParams { fee: 250, token: Some(coin), ..AuctionParams::new(owner) };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 19, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuctionParams {
    /// Fee of a sale, in hundredths of a per cent, at most 10,000.
    pub fee: u16,
    /// Account that sets the fee and the currencies.
    pub owner: Address,
    /// Account that gets the fees.
    pub fee_recipient: Address,
    /// ERC-20 token that is accepted beside the native token; `None` for none.
    pub token: Option<Address>,
}

impl AuctionParams {
    /// Creates parameters of an auction without fee, for the native token.
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
        Marker(Auction::ID).init_code(&self.encode())
    }
}

/// The template `auction`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct Auction;

impl Auction {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(19, 1);
    /// Name of the template.
    pub const NAME: &'static str = "auction";
}

/// Functions that take ether.
const PAYABLE: &[[u8; 4]] = &[sol::bidCall::SELECTOR, sol::buyCall::SELECTOR];

impl Template for Auction {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "English and Dutch auctions of NFTs"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("fee", "Part of each price that the auction keeps.")
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
        StorageLayout::of::<state::AuctionStorage>().and::<ReentrancyGuard>()
    }

    fn gas_table(&self) -> &str {
        include_str!("auction/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        state::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, PAYABLE)? {
            Calls::createEnglishAuction(call) => call.returns(GUARD.non_reentrant(host, |host| lots::create_english(host, &call.params))?),
            Calls::createDutchAuction(call) => call.returns(GUARD.non_reentrant(host, |host| lots::create_dutch(host, &call.params))?),
            Calls::cancelAuction(call) => call.returns(GUARD.non_reentrant(host, |host| lots::cancel(host, call.auctionId))?),
            Calls::bid(call) => call.returns(GUARD.non_reentrant(host, |host| bids::bid(host, call.auctionId, call.amount))?),
            Calls::buy(call) => call.returns(GUARD.non_reentrant(host, |host| bids::buy(host, call.auctionId, call.maxPrice))?),
            Calls::settle(call) => call.returns(GUARD.non_reentrant(host, |host| bids::settle(host, call.auctionId))?),
            Calls::claim(call) => call.returns(GUARD.non_reentrant(host, |host| lots::claim(host, call.auctionId, call.to))?),
            Calls::currentPrice(call) => call.returns(prices::current(host, call.auctionId)?),
            Calls::claimantOf(call) => call.returns(HOUSE.auctions.at(host, call.auctionId)?.claimant.get(host)?),
            Calls::totalAuctions(call) => call.returns(HOUSE.auction_count.get(host)?),
            Calls::getAuction(call) => call.returns(Entry::read(host, call.auctionId)?.auction()),
            Calls::getAuctions(call) => {
                let ids = page(HOUSE.auction_count.get(host)?, call.from, call.count);
                let auctions: Result<Vec<_>, Stop> = ids.map(|id| Ok(Entry::read(host, id)?.auction())).collect();
                call.returns(auctions?)
            }
            Calls::pendingWithdrawals(call) => call.returns(HOUSE.withdrawals.pending(host, call.account, call.currency)?),
            Calls::withdraw(call) => call.returns(GUARD.non_reentrant(host, |host| HOUSE.withdrawals.withdraw(host, call.currency, call.to))?),
            Calls::fee(call) => call.returns(HOUSE.settings.fee_info.get(host)?.fee),
            Calls::feeRecipient(call) => call.returns(HOUSE.settings.fee_info.get(host)?.recipient),
            Calls::setFee(call) => {
                HOUSE.ownable.only_owner(host)?;
                call.returns(HOUSE.settings.set_fee(host, FeeInfo { recipient: call.recipient, fee: call.fee })?)
            }
            Calls::isCurrencyAccepted(call) => call.returns(HOUSE.settings.accepted_currencies.get(host, call.currency)?),
            Calls::setCurrency(call) => {
                HOUSE.ownable.only_owner(host)?;
                call.returns(HOUSE.settings.set_currency(host, call.currency, call.accepted)?)
            }
            Calls::owner(call) => call.returns(HOUSE.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(HOUSE.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::renounceOwnership(call) => call.returns(HOUSE.ownable.renounce_ownership(host)?),
            Calls::onERC1155Received(call) => call.returns(lots::receive(host, &call)?),
            Calls::onERC1155BatchReceived(call) => call.returns(lots::receive_batch(host, call.operator)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[ERC1155_RECEIVER_ID])),
        }
    }
}
