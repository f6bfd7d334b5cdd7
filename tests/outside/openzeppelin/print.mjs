// Prints the contracts of contracts/printed: OpenZeppelin's wizard, then the edits named below, each of which must fit exactly once.
//
//   node print.mjs           writes the files
//   node print.mjs --check   fails when a committed file is not what would be written

import { erc20, erc721, erc1155, governor } from '@openzeppelin/wizard';
import { readFileSync, writeFileSync } from 'node:fs';

const everyExtension = { burnable: true, pausable: true, mintable: true };

const named = (contract) => [
  // Names are parameters, so that long ones are tried too.
  [`ERC20("${contract}", "REF")`, 'ERC20(name_, symbol_)'],
  [`ERC20Permit("${contract}")`, 'ERC20Permit(name_)'],
];

const capped = (overridden) => [
  ['ERC20Burnable.sol";', 'ERC20Burnable.sol";\nimport {ERC20Capped} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Capped.sol";'],
  [`override(${overridden})`, `override(${overridden}, ERC20Capped)`],
];

const decimals = [
  ['    function pause()', '    function decimals() public view override returns (uint8) {\n        return _unit;\n    }\n\n    function pause()'],
  ['    constructor(', '    uint8 private immutable _unit;\n\n    constructor('],
];

// The constructor's parameters are those of the template erc20-token.
const asTheTemplate = [
  ...decimals,
  ['    uint8 private immutable', `    struct Features {
        bool mintable;
        bool burnable;
        bool pausable;
        bool votes;
        bool flashMint;
    }

    struct VestingAllocation {
        address beneficiary;
        uint256 amount;
        uint64 start;
        uint64 duration;
        uint64 cliff;
        bool revocable;
    }

    uint8 private immutable`],
  ['constructor(address recipient, address defaultAdmin, address pauser, address minter)', `constructor(
        string memory name_,
        string memory symbol_,
        uint8 unit,
        uint256 premint,
        uint256 cap_,
        address initialOwner,
        Features memory,
        VestingAllocation[] memory
    )`],
  ['ERC20Permit(name_)', 'ERC20Permit(name_)\n        ERC20Capped(cap_)'],
  ['_mint(recipient, 1 * 10 ** decimals());', '_unit = unit;\n        if (premint > 0) _mint(initialOwner, premint);'],
  ['DEFAULT_ADMIN_ROLE, defaultAdmin', 'DEFAULT_ADMIN_ROLE, initialOwner'],
  ['PAUSER_ROLE, pauser', 'PAUSER_ROLE, initialOwner'],
  ['MINTER_ROLE, minter', 'MINTER_ROLE, initialOwner'],
];

const royaltySetters = [
  '    function pause()',
  `    function setDefaultRoyalty(address receiver, uint96 feeNumerator) public onlyRole(DEFAULT_ADMIN_ROLE) {
        _setDefaultRoyalty(receiver, feeNumerator);
    }

    function setTokenRoyalty(uint256 tokenId, address receiver, uint96 feeNumerator)
        public
        onlyRole(DEFAULT_ADMIN_ROLE)
    {
        _setTokenRoyalty(tokenId, receiver, feeNumerator);
    }

    function pause()`,
];

const royalty721 = (parents) => [
  ['import {ERC721URIStorage}', 'import {ERC721Royalty} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Royalty.sol";\nimport {ERC721URIStorage}'],
  [`${parents} {`, `${parents}, ERC721Royalty {`],
  ['override(ERC721, ERC721Enumerable, ERC721URIStorage, AccessControl)', 'override(ERC721, ERC721Enumerable, ERC721URIStorage, AccessControl, ERC721Royalty)'],
  royaltySetters,
];

const contracts = {
  Erc20: {
    printed: () =>
      erc20.print({ name: 'Erc20', symbol: 'REF', premint: '1', access: 'roles', permit: true, votes: 'blocknumber', flashmint: true, ...everyExtension }),
    edits: [
      ...named('Erc20'),
      ...capped('ERC20, ERC20Pausable, ERC20Votes'),
      ['ERC20Votes, ERC20FlashMint {', 'ERC20Votes, ERC20FlashMint, ERC20Capped {'],
      ...asTheTemplate,
    ],
  },
  Erc20WithoutVotes: {
    printed: () => erc20.print({ name: 'Erc20WithoutVotes', symbol: 'REF', premint: '1', access: 'roles', permit: true, ...everyExtension }),
    edits: [
      ...named('Erc20WithoutVotes'),
      ...capped('ERC20, ERC20Pausable'),
      ['AccessControl, ERC20Permit {', 'AccessControl, ERC20Permit, ERC20Capped {'],
      ...asTheTemplate,
    ],
  },
  Erc721: {
    printed: () =>
      erc721.print({ name: 'Erc721', symbol: 'REF', baseUri: 'ipfs://reference/', access: 'roles', enumerable: true, uriStorage: true, ...everyExtension }),
    edits: [
      ['ERC721("Erc721", "REF")', 'ERC721(name_, symbol_)'],
      ['constructor(', 'constructor(string memory name_, string memory symbol_, '],
      ...royalty721('AccessControl, ERC721Burnable'),
    ],
  },
  // Without a base URI, so that both forms of a token's URI are compared.
  Erc721Votes: {
    printed: () =>
      erc721.print({ name: 'Erc721Votes', symbol: 'REF', access: 'roles', enumerable: true, uriStorage: true, votes: 'blocknumber', ...everyExtension }),
    edits: [
      ['ERC721("Erc721Votes", "REF")', 'ERC721(name_, symbol_)'],
      ['EIP712("Erc721Votes", "1")', 'EIP712(name_, "1")'],
      ['constructor(', 'constructor(string memory name_, string memory symbol_, '],
      ...royalty721('AccessControl, ERC721Burnable, EIP712, ERC721Votes'),
    ],
  },
  Erc1155: {
    printed: () => erc1155.print({ name: 'Erc1155', uri: 'ipfs://reference/', access: 'roles', supply: true, updatableUri: true, ...everyExtension }),
    edits: [
      ['ERC1155("ipfs://reference/")', 'ERC1155(uri_)'],
      ['constructor(address defaultAdmin, address pauser, address minter)', `constructor(
        string memory uri_,
        address defaultAdmin,
        address pauser,
        address minter,
        address uriSetter,
        address royaltyReceiver,
        uint96 royaltyFee
    )`],
      ['_grantRole(MINTER_ROLE, minter);', `_grantRole(MINTER_ROLE, minter);
        _grantRole(URI_SETTER_ROLE, uriSetter);
        if (royaltyFee > 0) _setDefaultRoyalty(royaltyReceiver, royaltyFee);`],
      ['ERC1155Supply.sol";', 'ERC1155Supply.sol";\nimport {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";'],
      ['ERC1155Burnable, ERC1155Supply {', 'ERC1155Burnable, ERC1155Supply, ERC2981 {'],
      ['override(ERC1155, AccessControl)', 'override(ERC1155, AccessControl, ERC2981)'],
      royaltySetters,
    ],
  },
  Dao: {
    printed: () => governor.print({ name: 'Dao', delay: '1 day', period: '1 week', timelock: 'openzeppelin', settings: true, storage: true }),
    edits: [
      ['constructor(IVotes _token, TimelockController _timelock)', `constructor(
        string memory name_,
        IVotes _token,
        TimelockController _timelock,
        uint48 votingDelay_,
        uint32 votingPeriod_,
        uint256 proposalThreshold_,
        uint256 quorumNumerator_
    )`],
      ['Governor("Dao")', 'Governor(name_)'],
      ['GovernorSettings(7200 /* 1 day */, 50400 /* 1 week */, 0)', 'GovernorSettings(votingDelay_, votingPeriod_, proposalThreshold_)'],
      ['GovernorVotesQuorumFraction(4)', 'GovernorVotesQuorumFraction(quorumNumerator_)'],
    ],
  },
};

function edited(name, { printed, edits }) {
  return edits.reduce((source, [from, to]) => {
    const times = source.split(from).length - 1;
    if (times !== 1) throw new Error(`${name}: the wizard's print has ${times} times what an edit replaces once: ${from}`);
    return source.replace(from, () => to);
  }, printed());
}

const isCheck = process.argv.includes('--check');
const stale = [];
for (const [name, contract] of Object.entries(contracts)) {
  const file = new URL(`contracts/printed/${name}.sol`, import.meta.url);
  const source = edited(name, contract);
  if (!isCheck) writeFileSync(file, source);
  else if (readFileSync(file, 'utf8') !== source) stale.push(`contracts/printed/${name}.sol`);
}
if (stale.length > 0) {
  console.error(`not what the wizard prints with the edits of print.mjs: ${stale.join(', ')}; run node print.mjs`);
  process.exit(1);
}
