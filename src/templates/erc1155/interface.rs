//! The token's Solidity interface: functions, events and errors as OpenZeppelin 5 has them.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Tokens of many ids (ERC-1155) with a URI, supplies, roles, royalties (ERC-2981), and by choice minting, burning,
    /// pausing.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Erc1155Token {
        struct Features {
            bool mintable;
            bool burnable;
            bool pausable;
        }

        struct VestingAllocation {
            address beneficiary;
            uint256 amount;
            uint64 start;
            uint64 duration;
            uint64 cliff;
            bool revocable;
        }

        constructor(string uri, address owner, Features features, address royaltyReceiver, uint96 royaltyFee, VestingAllocation[] distribution);

        event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
        event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);
        event ApprovalForAll(address indexed account, address indexed operator, bool approved);
        event URI(string value, uint256 indexed id);
        /// The constructor made a wallet in which `amount` of the tokens of an id vests.
        event VestingWalletCreated(address indexed beneficiary, address indexed wallet, uint256 id, uint256 amount);
        event Paused(address account);
        event Unpaused(address account);
        event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);

        error ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId);
        error ERC1155InvalidSender(address sender);
        error ERC1155InvalidReceiver(address receiver);
        error ERC1155MissingApprovalForAll(address operator, address owner);
        error ERC1155InvalidApprover(address approver);
        error ERC1155InvalidOperator(address operator);
        error ERC1155InvalidArrayLength(uint256 idsLength, uint256 valuesLength);
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error AccessControlBadConfirmation();
        error EnforcedPause();
        error ExpectedPause();
        error ERC2981InvalidDefaultRoyalty(uint256 numerator, uint256 denominator);
        error ERC2981InvalidDefaultRoyaltyReceiver(address receiver);
        error ERC2981InvalidTokenRoyalty(uint256 tokenId, uint256 numerator, uint256 denominator);
        error ERC2981InvalidTokenRoyaltyReceiver(uint256 tokenId, address receiver);

        function balanceOf(address account, uint256 id) external view returns (uint256);
        function balanceOfBatch(address[] memory accounts, uint256[] memory ids) external view returns (uint256[] memory);
        function setApprovalForAll(address operator, bool approved) external;
        function isApprovedForAll(address account, address operator) external view returns (bool);
        function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes memory data) external;
        function safeBatchTransferFrom(address from, address to, uint256[] memory ids, uint256[] memory values, bytes memory data) external;
        function uri(uint256 id) external view returns (string memory);
        function setURI(string memory newuri) external;
        function totalSupply() external view returns (uint256);
        function totalSupply(uint256 id) external view returns (uint256);
        function exists(uint256 id) external view returns (bool);
        function mint(address account, uint256 id, uint256 amount, bytes memory data) external;
        function mintBatch(address to, uint256[] memory ids, uint256[] memory amounts, bytes memory data) external;
        function burn(address account, uint256 id, uint256 value) external;
        function burnBatch(address account, uint256[] memory ids, uint256[] memory values) external;
        function pause() external;
        function unpause() external;
        function paused() external view returns (bool);
        function DEFAULT_ADMIN_ROLE() external view returns (bytes32);
        function MINTER_ROLE() external view returns (bytes32);
        function PAUSER_ROLE() external view returns (bytes32);
        function URI_SETTER_ROLE() external view returns (bytes32);
        function hasRole(bytes32 role, address account) external view returns (bool);
        function getRoleAdmin(bytes32 role) external view returns (bytes32);
        function grantRole(bytes32 role, address account) external;
        function revokeRole(bytes32 role, address account) external;
        function renounceRole(bytes32 role, address callerConfirmation) external;
        function royaltyInfo(uint256 tokenId, uint256 salePrice) external view returns (address receiver, uint256 amount);
        function setDefaultRoyalty(address receiver, uint96 feeNumerator) external;
        function setTokenRoyalty(uint256 tokenId, address receiver, uint96 feeNumerator) external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use Erc1155Token::*;
