//! The auction's Solidity interface. No contract is published that it stands for: names are those of thirdweb's EnglishAuctions where the
//! functions do the same.
//!
//! An address of a currency is that of an ERC-20 token, or zero for the native token. Amounts are in the currency's smallest unit and for
//! the whole lot, times in seconds since the Unix epoch, fees and increments in hundredths of a per cent.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Sells tokens of ERC-721 and ERC-1155 to who bids most (English), or to who first takes a price that falls (Dutch).
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract AuctionHouse {
        enum TokenType { ERC721, ERC1155 }

        enum Kind { ENGLISH, DUTCH }

        /// Never made, open until it is settled, settled, cancelled. One that is open may be too early or over.
        enum Status { UNSET, CREATED, COMPLETED, CANCELLED }

        struct EnglishParameters {
            address assetContract;
            uint256 tokenId;
            /// One for a token of ERC-721.
            uint256 quantity;
            address currency;
            /// Least first bid.
            uint256 reservePrice;
            /// Least part of a bid by which the next one is above it, at least 1 unit.
            uint16 minIncrement;
            /// Least time from a bid to the end, in seconds.
            uint64 timeExtension;
            /// From when on bids are taken; 0 for at once.
            uint64 startTimestamp;
            /// From when on bids are taken no longer, if none extends it.
            uint64 endTimestamp;
        }

        struct DutchParameters {
            address assetContract;
            uint256 tokenId;
            /// One for a token of ERC-721.
            uint256 quantity;
            address currency;
            /// Price at the start, from which it falls in a line.
            uint256 startPrice;
            /// Price at the end.
            uint256 reservePrice;
            /// 0 for at once.
            uint64 startTimestamp;
            /// From when on nobody can buy any longer.
            uint64 endTimestamp;
        }

        struct Auction {
            uint256 auctionId;
            Kind kind;
            Status status;
            address auctionCreator;
            TokenType tokenType;
            address assetContract;
            uint256 tokenId;
            uint256 quantity;
            address currency;
            /// The reserve price of an English auction.
            uint256 startPrice;
            uint256 reservePrice;
            /// 0 in a Dutch auction.
            uint16 minIncrement;
            /// 0 in a Dutch auction.
            uint64 timeExtension;
            uint64 startTimestamp;
            /// With what bids have extended it by.
            uint64 endTimestamp;
            /// The fee when the auction was made, which is that of its sale.
            uint16 fee;
            /// Who has bid most, or has bought; zero for nobody.
            address highestBidder;
            uint256 highestBid;
        }

        constructor(uint16 fee, address owner, address feeRecipient, address token);

        event NewAuction(address indexed auctionCreator, uint256 indexed auctionId, address indexed assetContract, Auction auction);
        event CancelledAuction(address indexed auctionCreator, uint256 indexed auctionId);
        event NewBid(uint256 indexed auctionId, address indexed bidder, uint256 amount, uint64 endTimestamp);
        /// The auction is over: `royalty` and `fee` are parts of the price, all zero if nothing was sold.
        event AuctionSettled(address indexed auctionCreator, uint256 indexed auctionId, address indexed winner, uint256 price, uint256 fee, address royaltyReceiver, uint256 royalty);
        /// The lot was not taken by whom it was sent to, and waits.
        event TokenUndelivered(uint256 indexed auctionId, address indexed claimant);
        event TokenClaimed(uint256 indexed auctionId, address indexed claimant, address to);
        event PaymentCredited(address indexed account, address indexed currency, uint256 amount);
        event PaymentWithdrawn(address indexed account, address indexed currency, address to, uint256 amount);
        event FeeChanged(uint16 fee, address indexed recipient);
        event CurrencyChanged(address indexed currency, bool accepted);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        /// The auction is not open: never made, settled or cancelled.
        error AuctionNotOpen(uint256 auctionId, Status status);
        /// It is too early.
        error AuctionNotStarted(uint256 auctionId, uint64 startTimestamp);
        /// It is too late.
        error AuctionEnded(uint256 auctionId, uint64 endTimestamp);
        /// It is too early to settle it.
        error AuctionNotEnded(uint256 auctionId, uint64 endTimestamp);
        /// Only its creator may cancel it.
        error AuctionUnauthorizedAccount(uint256 auctionId, address account);
        /// It can't be cancelled any longer.
        error AuctionHasBid(uint256 auctionId, address highestBidder);
        /// The auction is of the other kind: bids are for English ones, purchases for Dutch ones.
        error AuctionOfOtherKind(uint256 auctionId, Kind kind);
        error BidTooLow(uint256 auctionId, uint256 amount, uint256 needed);
        /// The price is above what the buyer wants to pay.
        error PriceTooHigh(uint256 auctionId, uint256 price, uint256 maxPrice);
        /// It would end before it starts, or is over already.
        error InvalidTime(uint64 startTimestamp, uint64 endTimestamp);
        /// The price would rise.
        error InvalidPrice(uint256 startPrice, uint256 reservePrice);
        /// No lot of this auction waits for the account.
        error NothingToClaim(uint256 auctionId, address account);
        /// Tokens come by the making of an auction alone.
        error UnsolicitedToken(address assetContract, address operator);
        error UnsupportedToken(address assetContract);
        error TokenNotHeld(address assetContract, uint256 tokenId, address holder, uint256 quantity);
        error TokenNotApproved(address assetContract, uint256 tokenId, address holder);
        error InvalidQuantity(uint256 quantity, uint256 available);
        error IncorrectValue(uint256 value, uint256 needed);
        error IncompletePayment(address token, uint256 received, uint256 needed);
        error FeesExceedPrice(uint256 price, uint256 fee, uint256 royalty);
        error CurrencyNotAccepted(address currency);
        error InvalidFee(uint16 fee, uint16 max);
        error InvalidFeeRecipient(address recipient);
        error NothingToWithdraw(address account, address currency);
        error InvalidRecipient(address recipient);
        error ReentrancyGuardReentrantCall();
        error SafeERC20FailedOperation(address token);
        error InsufficientBalance(uint256 balance, uint256 needed);
        error FailedCall();
        error OwnableUnauthorizedAccount(address account);
        error OwnableInvalidOwner(address owner);

        function createEnglishAuction(EnglishParameters params) external returns (uint256 auctionId);
        function createDutchAuction(DutchParameters params) external returns (uint256 auctionId);
        function cancelAuction(uint256 auctionId) external;
        function bid(uint256 auctionId, uint256 amount) external payable;
        function buy(uint256 auctionId, uint256 maxPrice) external payable;
        function settle(uint256 auctionId) external;
        function claim(uint256 auctionId, address to) external;
        function currentPrice(uint256 auctionId) external view returns (uint256);
        function claimantOf(uint256 auctionId) external view returns (address);
        function totalAuctions() external view returns (uint256);
        function getAuction(uint256 auctionId) external view returns (Auction memory auction);
        function getAuctions(uint256 from, uint256 count) external view returns (Auction[] memory auctions);
        function pendingWithdrawals(address account, address currency) external view returns (uint256);
        function withdraw(address currency, address to) external returns (uint256 amount);
        function fee() external view returns (uint16);
        function feeRecipient() external view returns (address);
        function setFee(uint16 fee, address recipient) external;
        function isCurrencyAccepted(address currency) external view returns (bool);
        function setCurrency(address currency, bool accepted) external;
        function owner() external view returns (address);
        function transferOwnership(address newOwner) external;
        function renounceOwnership() external;
        function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes data) external returns (bytes4);
        function onERC1155BatchReceived(address operator, address from, uint256[] ids, uint256[] values, bytes data) external returns (bytes4);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use AuctionHouse::*;
