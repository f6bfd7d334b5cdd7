//! The token's Solidity interface: functions, events and errors as OpenZeppelin 5 has them.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// A non-fungible token (ERC-721) with metadata, enumeration, stored URIs (ERC-4906), royalties (ERC-2981) and roles, by choice
    /// minting, burning, pausing, votes (ERC-5805).
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Erc721Nft {
        struct Features {
            bool mintable;
            bool burnable;
            bool pausable;
            bool votes;
        }

        struct Allotment {
            address account;
            uint256 amount;
        }

        constructor(string name, string symbol, string baseURI, address owner, Features features, address royaltyReceiver, uint96 royaltyFee, Allotment[] distribution);

        event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
        event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
        event ApprovalForAll(address indexed owner, address indexed operator, bool approved);
        event MetadataUpdate(uint256 _tokenId);
        event BatchMetadataUpdate(uint256 _fromTokenId, uint256 _toTokenId);
        event Paused(address account);
        event Unpaused(address account);
        event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);
        event DelegateChanged(address indexed delegator, address indexed fromDelegate, address indexed toDelegate);
        event DelegateVotesChanged(address indexed delegate, uint256 previousVotes, uint256 newVotes);
        event EIP712DomainChanged();

        error ERC721InvalidOwner(address owner);
        error ERC721NonexistentToken(uint256 tokenId);
        error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner);
        error ERC721InvalidSender(address sender);
        error ERC721InvalidReceiver(address receiver);
        error ERC721InsufficientApproval(address operator, uint256 tokenId);
        error ERC721InvalidApprover(address approver);
        error ERC721InvalidOperator(address operator);
        error ERC721OutOfBoundsIndex(address owner, uint256 index);
        error ERC721EnumerableForbiddenBatchMint();
        error ERC2981InvalidDefaultRoyalty(uint256 numerator, uint256 denominator);
        error ERC2981InvalidDefaultRoyaltyReceiver(address receiver);
        error ERC2981InvalidTokenRoyalty(uint256 tokenId, uint256 numerator, uint256 denominator);
        error ERC2981InvalidTokenRoyaltyReceiver(uint256 tokenId, address receiver);
        error EnforcedPause();
        error ExpectedPause();
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error AccessControlBadConfirmation();
        error VotesExpiredSignature(uint256 expiry);
        error ERC5805FutureLookup(uint256 timepoint, uint48 clock);
        error ERC6372InconsistentClock();
        error CheckpointUnorderedInsertion();
        error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value);
        error InvalidAccountNonce(address account, uint256 currentNonce);
        error ECDSAInvalidSignature();
        error ECDSAInvalidSignatureS(bytes32 s);
        error ECDSAInvalidSignatureLength(uint256 length);
        error StringTooLong(string str);
        error InvalidShortString();

        function name() external view returns (string memory);
        function symbol() external view returns (string memory);
        function tokenURI(uint256 tokenId) external view returns (string memory);
        function balanceOf(address owner) external view returns (uint256);
        function ownerOf(uint256 tokenId) external view returns (address);
        function approve(address to, uint256 tokenId) external;
        function getApproved(uint256 tokenId) external view returns (address);
        function setApprovalForAll(address operator, bool approved) external;
        function isApprovedForAll(address owner, address operator) external view returns (bool);
        function transferFrom(address from, address to, uint256 tokenId) external;
        function safeTransferFrom(address from, address to, uint256 tokenId) external;
        function safeTransferFrom(address from, address to, uint256 tokenId, bytes data) external;
        function totalSupply() external view returns (uint256);
        function tokenByIndex(uint256 index) external view returns (uint256);
        function tokenOfOwnerByIndex(address owner, uint256 index) external view returns (uint256);
        function safeMint(address to, uint256 tokenId) external;
        function safeMint(address to, uint256 tokenId, string uri) external;
        function burn(uint256 tokenId) external;
        function pause() external;
        function unpause() external;
        function paused() external view returns (bool);
        function royaltyInfo(uint256 tokenId, uint256 salePrice) external view returns (address receiver, uint256 amount);
        function setDefaultRoyalty(address receiver, uint96 feeNumerator) external;
        function setTokenRoyalty(uint256 tokenId, address receiver, uint96 feeNumerator) external;
        function DEFAULT_ADMIN_ROLE() external view returns (bytes32);
        function MINTER_ROLE() external view returns (bytes32);
        function PAUSER_ROLE() external view returns (bytes32);
        function hasRole(bytes32 role, address account) external view returns (bool);
        function getRoleAdmin(bytes32 role) external view returns (bytes32);
        function grantRole(bytes32 role, address account) external;
        function revokeRole(bytes32 role, address account) external;
        function renounceRole(bytes32 role, address callerConfirmation) external;
        function clock() external view returns (uint48);
        function CLOCK_MODE() external view returns (string memory);
        function getVotes(address account) external view returns (uint256);
        function getPastVotes(address account, uint256 timepoint) external view returns (uint256);
        function getPastTotalSupply(uint256 timepoint) external view returns (uint256);
        function delegates(address account) external view returns (address);
        function delegate(address delegatee) external;
        function delegateBySig(address delegatee, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s) external;
        function nonces(address owner) external view returns (uint256);
        function eip712Domain() external view returns (bytes1 fields, string memory name, string memory version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] memory extensions);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use Erc721Nft::*;
