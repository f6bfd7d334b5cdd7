//! The marketplace's Solidity interface. No contract is published that it stands for: names are those of thirdweb's MarketplaceV3 where the
//! functions do the same.
//!
//! An address of a currency is that of an ERC-20 token, or zero for the native token. Amounts are in the currency's smallest unit, times in
//! seconds since the Unix epoch, fees in hundredths of a per cent.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.
#![allow(clippy::too_many_arguments)] // And functions that take all fields of an event.

alloy_sol_types::sol! {
    /// Sells tokens of ERC-721 and ERC-1155 for the native token or for ERC-20 tokens.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Marketplace {
        enum TokenType { ERC721, ERC1155 }

        /// Never made, open until it is sold out, sold out, cancelled. One that is open may be too early, too late or stale.
        enum Status { UNSET, CREATED, COMPLETED, CANCELLED }

        struct ListingParameters {
            address assetContract;
            uint256 tokenId;
            /// One for a token of ERC-721.
            uint256 quantity;
            address currency;
            uint256 pricePerToken;
            /// From when on it may be bought; 0 for at once.
            uint64 startTimestamp;
            /// From when on it may no longer be bought; 0 for never.
            uint64 endTimestamp;
            /// Who alone may buy; zero for anybody.
            address reservedFor;
        }

        struct Listing {
            uint256 listingId;
            address listingCreator;
            TokenType tokenType;
            Status status;
            address assetContract;
            uint256 tokenId;
            /// What is left of it.
            uint256 quantity;
            address currency;
            uint256 pricePerToken;
            uint64 startTimestamp;
            uint64 endTimestamp;
            address reservedFor;
            /// The fee when the listing was made, which is that of its sales.
            uint16 fee;
        }

        struct OfferParameters {
            address assetContract;
            uint256 tokenId;
            /// One for a token of ERC-721.
            uint256 quantity;
            address currency;
            uint256 pricePerToken;
            /// From when on it may no longer be accepted; 0 for never.
            uint64 expirationTimestamp;
        }

        struct Offer {
            uint256 offerId;
            address offeror;
            TokenType tokenType;
            Status status;
            address assetContract;
            uint256 tokenId;
            /// What is left of it.
            uint256 quantity;
            address currency;
            uint256 pricePerToken;
            uint64 expirationTimestamp;
            /// The fee when the offer was made, which is that of its sales.
            uint16 fee;
        }

        constructor(uint16 fee, address owner, address feeRecipient, address token);

        event NewListing(address indexed listingCreator, uint256 indexed listingId, address indexed assetContract, Listing listing);
        event UpdatedListing(address indexed listingCreator, uint256 indexed listingId, address currency, uint256 pricePerToken, uint64 endTimestamp);
        event CancelledListing(address indexed listingCreator, uint256 indexed listingId);
        /// A part of a listing, or all of it, was bought: `royalty` and `fee` are parts of the price.
        event NewSale(address indexed listingCreator, uint256 indexed listingId, address indexed assetContract, uint256 tokenId, address buyer, uint256 quantityBought, uint256 totalPricePaid, uint256 fee, address royaltyReceiver, uint256 royalty);
        event NewOffer(address indexed offeror, uint256 indexed offerId, address indexed assetContract, Offer offer);
        event CancelledOffer(address indexed offeror, uint256 indexed offerId);
        /// A part of an offer, or all of it, was accepted: `royalty` and `fee` are parts of the price.
        event AcceptedOffer(address indexed offeror, uint256 indexed offerId, address indexed assetContract, uint256 tokenId, address seller, uint256 quantityBought, uint256 totalPricePaid, uint256 fee, address royaltyReceiver, uint256 royalty);
        event PaymentCredited(address indexed account, address indexed currency, uint256 amount);
        event PaymentWithdrawn(address indexed account, address indexed currency, address to, uint256 amount);
        event FeeChanged(uint16 fee, address indexed recipient);
        event CurrencyChanged(address indexed currency, bool accepted);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        /// The listing is not open: never made, sold out or cancelled.
        error ListingNotOpen(uint256 listingId, Status status);
        /// It is too early.
        error ListingNotStarted(uint256 listingId, uint64 startTimestamp);
        /// It is too late.
        error ListingExpired(uint256 listingId, uint64 endTimestamp);
        /// Only its creator may change it.
        error ListingUnauthorizedAccount(uint256 listingId, address account);
        /// The listing is for another buyer.
        error ListingReserved(uint256 listingId, address buyer, address reservedFor);
        /// The listing's currency and price are others than the buyer expects.
        error UnexpectedPrice(address currency, uint256 totalPrice, address expectedCurrency, uint256 expectedTotalPrice);
        /// The offer is not open: never made, accepted in full or cancelled.
        error OfferNotOpen(uint256 offerId, Status status);
        /// It is too late.
        error OfferExpired(uint256 offerId, uint64 expirationTimestamp);
        /// Only its offeror may cancel it.
        error OfferUnauthorizedAccount(uint256 offerId, address account);
        /// It would end before it starts, or is over already.
        error InvalidTime(uint64 startTimestamp, uint64 endTimestamp);
        error UnsupportedToken(address assetContract);
        error TokenNotHeld(address assetContract, uint256 tokenId, address holder, uint256 quantity);
        error TokenNotApproved(address assetContract, uint256 tokenId, address holder);
        error InvalidQuantity(uint256 quantity, uint256 available);
        error IncorrectValue(uint256 value, uint256 needed);
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

        function createListing(ListingParameters params) external returns (uint256 listingId);
        function updateListing(uint256 listingId, address currency, uint256 pricePerToken, uint64 endTimestamp) external;
        function cancelListing(uint256 listingId) external;
        function buyFromListing(uint256 listingId, address buyFor, uint256 quantity, address currency, uint256 expectedTotalPrice) external payable;
        function totalListings() external view returns (uint256);
        function getListing(uint256 listingId) external view returns (Listing memory listing);
        function getListings(uint256 from, uint256 count) external view returns (Listing[] memory listings);
        function isListingValid(uint256 listingId) external view returns (bool);
        function makeOffer(OfferParameters params) external payable returns (uint256 offerId);
        function cancelOffer(uint256 offerId) external;
        function acceptOffer(uint256 offerId, uint256 quantity) external;
        function totalOffers() external view returns (uint256);
        function getOffer(uint256 offerId) external view returns (Offer memory offer);
        function getOffers(uint256 from, uint256 count) external view returns (Offer[] memory offers);
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
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use Marketplace::*;
