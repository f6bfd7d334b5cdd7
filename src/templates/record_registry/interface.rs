//! The registry's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Collections of versioned records with owners, access rules and histories, under OpenZeppelin 5's AccessControl.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract RecordRegistry {
        /// Who may do something with a record. Who creates a record counts as its owner.
        enum Access {
            Anyone,
            RecordOwner,
            Writers,
            OwnerOrWriters,
            Admin
        }

        /// Who may do what with the records of a collection.
        struct Rules {
            Access create;
            Access update;
            Access remove;
            Access transfer;
        }

        /// What made a version of a record.
        enum Change {
            Created,
            Updated,
            Removed,
            Transferred
        }

        /// A record as it is; times in seconds since the Unix epoch.
        struct Record {
            bytes32 id;
            address owner;
            uint64 createdAt;
            uint64 updatedAt;
            uint64 version;
            bytes data;
        }

        /// A record as a change left it; after a removal the last owner and no data.
        struct Version {
            Change change;
            address author;
            uint64 at;
            address owner;
            bytes data;
        }

        constructor(address owner);

        event CollectionCreated(bytes32 indexed collection, string name, Rules rules);
        event RulesChanged(bytes32 indexed collection, Rules rules);
        /// The author owns the record.
        event RecordCreated(bytes32 indexed collection, bytes32 indexed id, address indexed author, uint64 version, bytes data);
        event RecordUpdated(bytes32 indexed collection, bytes32 indexed id, address indexed author, uint64 version, bytes data);
        event RecordRemoved(bytes32 indexed collection, bytes32 indexed id, address indexed author, uint64 version);
        event RecordTransferred(bytes32 indexed collection, bytes32 indexed id, address indexed author, uint64 version, address previousOwner, address newOwner);
        event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);

        error CollectionExists(bytes32 collection);
        error NonexistentCollection(bytes32 collection);
        error RecordExists(bytes32 collection, bytes32 id);
        error NonexistentRecord(bytes32 collection, bytes32 id);
        error NonexistentVersion(bytes32 collection, bytes32 id, uint64 version);
        /// The record is not at the version that the caller expects.
        error VersionMismatch(uint64 expected, uint64 actual);
        /// The collection's rule needs somebody else.
        error RecordUnauthorizedAccount(bytes32 collection, bytes32 id, address account, Access needed);
        /// An owner is no valid account, such as the zero address.
        error InvalidOwner(address owner);
        /// A collection has only `count` records.
        error OutOfBoundsIndex(bytes32 collection, uint256 index, uint256 count);
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error AccessControlBadConfirmation();

        function createCollection(bytes32 collection, string name, Rules rules) external;
        function setRules(bytes32 collection, Rules rules) external;
        function collectionCount() external view returns (uint256);
        function collections(uint256 from, uint256 count) external view returns (bytes32[] memory);
        function name(bytes32 collection) external view returns (string memory);
        function rules(bytes32 collection) external view returns (Rules memory);

        function create(bytes32 collection, bytes32 id, bytes data) external;
        function update(bytes32 collection, bytes32 id, uint64 expectedVersion, bytes data) external;
        function remove(bytes32 collection, bytes32 id, uint64 expectedVersion) external;
        function transferRecord(bytes32 collection, bytes32 id, uint64 expectedVersion, address newOwner) external;

        function exists(bytes32 collection, bytes32 id) external view returns (bool);
        function get(bytes32 collection, bytes32 id) external view returns (Record memory);
        function versions(bytes32 collection, bytes32 id) external view returns (uint64);
        function versionAt(bytes32 collection, bytes32 id, uint64 version) external view returns (Version memory);
        function count(bytes32 collection) external view returns (uint256);
        function idAt(bytes32 collection, uint256 index) external view returns (bytes32);
        function ids(bytes32 collection, uint256 from, uint256 count) external view returns (bytes32[] memory);
        function records(bytes32 collection, uint256 from, uint256 count) external view returns (Record[] memory);

        function DEFAULT_ADMIN_ROLE() external view returns (bytes32);
        function WRITER_ROLE() external view returns (bytes32);
        function hasRole(bytes32 role, address account) external view returns (bool);
        function getRoleAdmin(bytes32 role) external view returns (bytes32);
        function grantRole(bytes32 role, address account) external;
        function revokeRole(bytes32 role, address account) external;
        function renounceRole(bytes32 role, address callerConfirmation) external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use RecordRegistry::*;
