// Each template by the ABI that is published for it, by OpenZeppelin or for Multicall3, with ethers: deployed, used and refused as the
// Solidity contract would be. What is this project's own is used by the ABI that the service exports.
import assert from 'node:assert/strict';
import { Interface, Signature, Wallet, ZeroAddress, id, toBeHex } from 'ethers';
import { failure, run, step } from './harness.mjs';
import {
  alice, blocks, bob, carol, deploy, events, interfaceOf, later, mined, now, packagedAbi, provider, refused, signature, templates, typed,
} from './templates.mjs';

const all = (...features) => Object.fromEntries(features.map((feature) => [feature, true]));
const none = Object.fromEntries(['mintable', 'burnable', 'pausable', 'votes', 'flashMint'].map((feature) => [feature, false]));

// A row a template: its constructor's parameters, the published contracts that make it up, what the wizard adds to these, or another
// published ABI as `abi`, its test.
// Later rows use the tokens of earlier ones, which `deployed` holds by template.
const deployed = {};
const rows = {
  'erc20-token': {
    parameters: () => ({
      name: 'Gold', symbol: 'GLD', decimals: 18, totalSupply: 1_000n, cap: 2_000n, owner: alice.address,
      features: all('mintable', 'burnable', 'pausable', 'votes', 'flashMint'), vesting: [],
    }),
    contracts: ['ERC20Capped', 'ERC20Burnable', 'ERC20Pausable', 'ERC20Permit', 'ERC20Votes', 'ERC20FlashMint', 'AccessControl'],
    wizard: ['function mint(address to, uint256 amount)'],
    test: erc20,
  },
  'erc721-nft': {
    parameters: () => ({
      name: 'Art', symbol: 'ART', baseURI: 'ipfs://art/', owner: alice.address, features: all('mintable', 'burnable', 'pausable', 'votes'),
      royaltyReceiver: carol.address, royaltyFee: 250, distribution: [],
    }),
    contracts: ['ERC721Enumerable', 'ERC721URIStorage', 'ERC721Pausable', 'ERC721Burnable', 'ERC721Royalty', 'ERC721Votes', 'AccessControl'],
    wizard: [
      'function safeMint(address to, uint256 tokenId, string uri)', 'function setDefaultRoyalty(address receiver, uint96 feeNumerator)',
      'function setTokenRoyalty(uint256 tokenId, address receiver, uint96 feeNumerator)',
    ],
    test: erc721,
  },
  'erc1155-multi': {
    parameters: () => ({
      uri: 'ipfs://items/{id}.json', owner: alice.address, features: all('mintable', 'burnable', 'pausable'), royaltyReceiver: carol.address,
      royaltyFee: 250, distribution: [],
    }),
    contracts: ['ERC1155Supply', 'ERC1155Pausable', 'ERC1155Burnable', 'ERC2981', 'AccessControl'],
    wizard: [
      'function setURI(string newuri)', 'function mint(address account, uint256 id, uint256 amount, bytes data)',
      'function mintBatch(address to, uint256[] ids, uint256[] amounts, bytes data)',
      'function setTokenRoyalty(uint256 tokenId, address receiver, uint96 feeNumerator)',
    ],
    test: erc1155,
  },
  'erc2771-forwarder': {
    parameters: () => ({ name: 'Forwarder' }),
    contracts: ['ERC2771Forwarder'],
    wizard: [],
    test: forwarder,
  },
  'erc4626-vault': {
    parameters: async () => ({
      name: 'Gold shares', symbol: 'sGLD', asset: await deployed['erc20-token'].getAddress(), decimalsOffset: 3, owner: alice.address,
      entryFee: 0, exitFee: 0, feeRecipient: alice.address, trustedForwarder: deployed['erc2771-forwarder'].target,
    }),
    contracts: ['ERC4626'],
    wizard: [],
    test: erc4626,
  },
  'vesting-wallet': {
    parameters: async () => ({
      beneficiary: bob.address, start: await now(), duration: 1_000, cliff: 100, revocable: false, revoker: ZeroAddress,
    }),
    contracts: ['VestingWalletCliff'],
    wizard: [],
    test: vesting,
  },
  multicall: { parameters: () => ({}), abi: multicall3Abi(), test: multicall },
  batch: { parameters: () => ({}), test: batch },
  'record-registry': { parameters: () => ({ owner: alice.address }), test: records },
  'timelock-controller': {
    parameters: () => ({ minDelay: 100, proposers: [alice.address], executors: [ZeroAddress], admin: ZeroAddress }),
    contracts: ['TimelockController'],
    wizard: [],
    test: timelock,
  },
  'price-feed': {
    parameters: () => ({ decimals: 8, description: 'ETH / USD', answer: 200_000_000_000n, owner: alice.address }),
    // Chainlink's AggregatorV2V3Interface.
    abi: [
      'function decimals() view returns (uint8)', 'function description() view returns (string)', 'function version() view returns (uint256)',
      'function getRoundData(uint80 _roundId) view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
      'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
      'function latestAnswer() view returns (int256)', 'function latestTimestamp() view returns (uint256)',
      'function latestRound() view returns (uint256)', 'function getAnswer(uint256 roundId) view returns (int256)',
      'function getTimestamp(uint256 roundId) view returns (uint256)',
      'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
      'event NewRound(uint256 indexed roundId, address indexed startedBy, uint256 startedAt)',
      // MockV3Aggregator.
      'function updateAnswer(int256 _answer)', 'function updateRoundData(uint80 _roundId, int256 _answer, uint256 _timestamp, uint256 _startedAt)',
      'error OwnableUnauthorizedAccount(address account)',
    ],
    test: priceFeed,
  },
  'staking-pool': {
    parameters: async () => {
      const reward = { name: 'Reward', symbol: 'RWD', decimals: 18, totalSupply: 10n ** 9n, cap: 10n ** 9n, owner: alice.address, features: none, vesting: [] };
      deployed.reward = await deploy('erc20-token', reward, publishedAbi('ERC20'));
      return {
        stakingToken: deployed['erc20-token'].target, rewardToken: deployed.reward.target, rewardRate: 5n, rewards: [], rewardsDuration: 604_800,
        lockPeriod: 0, owner: alice.address, rewardsDistribution: alice.address,
      };
    },
    abi: stakingRewardsAbi(),
    test: staking,
  },
  multisig: {
    parameters: () => ({ owners: [alice, bob, carol].map((owner) => owner.address), threshold: 2 }),
    abi: multiSigWalletAbi(),
    test: multisig,
  },
  'governance-dao': {
    parameters: () => ({
      name: 'Council', token: deployed['erc20-token'].target, votingDelay: 1, votingPeriod: 3, proposalThreshold: 1n, quorum: 4, timelockDelay: 100,
    }),
    contracts: ['GovernorCountingSimple', 'GovernorSettings', 'GovernorStorage', 'GovernorVotes', 'GovernorVotesQuorumFraction', 'GovernorTimelockControl'],
    wizard: [],
    test: governor,
  },
  lending: {
    parameters: lendingParameters,
    // Of Aave v3's IPool, IAaveOracle and IPoolDataProvider.
    abi: [
      'function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)',
      'function withdraw(address asset, uint256 amount, address to) returns (uint256)',
      'function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)',
      'function repay(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf) returns (uint256)',
      'function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover, bool receiveAToken)',
      'function mintToTreasury(address[] assets)',
      'function getUserAccountData(address user) view returns (uint256 totalCollateralBase, uint256 totalDebtBase, uint256 availableBorrowsBase, uint256 currentLiquidationThreshold, uint256 ltv, uint256 healthFactor)',
      'function getReservesList() view returns (address[])', 'function getReserveNormalizedIncome(address asset) view returns (uint256)',
      'function getReserveNormalizedVariableDebt(address asset) view returns (uint256)',
      'function getReserveDeficit(address asset) view returns (uint256)', 'function getVirtualUnderlyingBalance(address asset) view returns (uint128)',
      'function getAssetPrice(address asset) view returns (uint256)', 'function getSourceOfAsset(address asset) view returns (address)',
      'function getUserReserveData(address asset, address user) view returns (uint256 currentATokenBalance, uint256 currentStableDebt, uint256 currentVariableDebt, uint256 principalStableDebt, uint256 scaledVariableDebt, uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateralEnabled)',
      'event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode)',
      'event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount)',
      'event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 interestRateMode, uint256 borrowRate, uint16 indexed referralCode)',
      'event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount, bool useATokens)',
      'event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user, uint256 debtToCover, uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken)',
      'event ReserveDataUpdated(address indexed reserve, uint256 liquidityRate, uint256 stableBorrowRate, uint256 variableBorrowRate, uint256 liquidityIndex, uint256 variableBorrowIndex)',
      'event ReserveUsedAsCollateralEnabled(address indexed reserve, address indexed user)',
      'event ReserveUsedAsCollateralDisabled(address indexed reserve, address indexed user)',
    ],
    test: lending,
  },
  marketplace: {
    parameters: () => ({ fee: 250, owner: alice.address, feeRecipient: carol.address, token: deployed['erc20-token'].target }),
    test: marketplace,
  },
  auction: {
    parameters: () => ({ fee: 250, owner: alice.address, feeRecipient: carol.address, token: deployed['erc20-token'].target }),
    test: auction,
  },
};
const PAUSING = ['function pause()', 'function unpause()'];

for (const [name, row] of Object.entries(rows)) step(name, () => exercise(name, row));

// Deploys a template, compares its interface with the published one, and runs its test.
async function exercise(name, { parameters, contracts = [], wizard = [], abi, test }) {
  const own = await interfaceOf(name);
  const others = abi ?? [...contracts.flatMap(publishedAbi), ...wizard];
  const published = others.length > 0 ? new Interface(others) : own;
  published.forEachFunction((theirs) => {
    const ours = own.getFunction(theirs.selector);
    assert.equal(signature(ours), signature(theirs));
  });
  published.forEachEvent((theirs) => assert.equal(typed(own.getEvent(theirs.topicHash)), typed(theirs)));
  const used = published.getFunction('paused') ? [...published.fragments, ...PAUSING] : published;
  deployed[name] = await deploy(name, await parameters(), used);
  await test(deployed[name]);
}

function publishedAbi(contract) {
  return packagedAbi(`@openzeppelin/contracts/build/contracts/${contract}`);
}

// What all tokens with roles and a pause do alike; `move` makes a call that needs them not to be paused.
async function rolesAndPause(token, move) {
  const [admin, pauser] = [await token.DEFAULT_ADMIN_ROLE(), id('PAUSER_ROLE')];
  assert.ok(await token.hasRole(pauser, alice.address));
  const byBob = token.connect(bob);
  await refused(token, () => byBob.pause.staticCall(), 'AccessControlUnauthorizedAccount', [bob.address, pauser]);
  await refused(token, () => byBob.grantRole.staticCall(pauser, bob.address), 'AccessControlUnauthorizedAccount', [bob.address, admin]);
  const granted = await events(token, token.grantRole(pauser, bob.address));
  assert.deepEqual(granted, { names: ['RoleGranted'], last: [pauser, bob.address, alice.address] });
  assert.deepEqual(await events(token, byBob.pause()), { names: ['Paused'], last: [bob.address] });
  assert.ok(await token.paused());
  await refused(token, move, 'EnforcedPause', []);
  await mined(byBob.unpause());
  await refused(token, () => byBob.unpause.staticCall(), 'ExpectedPause', []);
  await mined(byBob.renounceRole(pauser, bob.address));
  assert.ok(!(await token.hasRole(pauser, bob.address)));
  assert.ok(await token.supportsInterface('0x7965db0b'));
}

// Delegates alice's votes by her signature, which bob sends.
async function delegationBySignature(token, votes) {
  const [, name, version, chainId, verifyingContract] = await token.eip712Domain();
  const types = { Delegation: [['delegatee', 'address'], ['nonce', 'uint256'], ['expiry', 'uint256']].map(([name, type]) => ({ name, type })) };
  const message = { delegatee: carol.address, nonce: await token.nonces(alice.address), expiry: (await now()) + 100_000 };
  const { v, r, s } = Signature.from(await alice.signTypedData({ name, version, chainId, verifyingContract }, types, message));
  const sent = token.connect(bob).delegateBySig(carol.address, message.nonce, message.expiry, v, r, s);
  assert.deepEqual(await events(token, sent), { names: ['DelegateChanged', 'DelegateVotesChanged'], last: [carol.address, 0n, votes] });
  assert.equal(await token.delegates(alice.address), carol.address);
  const height = await token.clock();
  await refused(token, () => token.getPastVotes(carol.address, height + 1n), 'ERC5805FutureLookup', [height + 1n, height]);
  await provider.send('evm_mine', []);
  assert.equal(await token.getPastVotes(carol.address, height), votes);
  const replay = () => token.delegateBySig.staticCall(carol.address, message.nonce, message.expiry, v, r, s);
  await refused(token, replay, 'InvalidAccountNonce', [alice.address, message.nonce + 1n]);
}

async function erc20(token) {
  assert.deepEqual([await token.cap(), await token.totalSupply()], [2_000n, 1_000n]);
  assert.deepEqual(await events(token, token.mint(bob.address, 500n)), { names: ['Transfer'], last: [ZeroAddress, bob.address, 500n] });
  await refused(token, () => token.mint.staticCall(bob.address, 501n), 'ERC20ExceededCap', [2_001n, 2_000n]);
  await refused(token, () => token.connect(carol).transfer.staticCall(bob.address, 1n), 'ERC20InsufficientBalance', [carol.address, 0n, 1n]);
  await mined(token.connect(bob).approve(alice.address, 200n));
  await mined(token.transferFrom(bob.address, carol.address, 50n));
  await mined(token.burnFrom(bob.address, 50n));
  assert.equal(await token.allowance(bob.address, alice.address), 100n);
  assert.deepEqual([await token.balanceOf(bob.address), await token.balanceOf(carol.address), await token.totalSupply()], [400n, 50n, 1_450n]);
  assert.equal(await token.maxFlashLoan(await token.getAddress()), 2n ** 256n - 1n - 1_450n);
  const lent = async () => token.flashLoan.staticCall(bob.address, await token.getAddress(), 1n, '0x');
  assert.equal((await failure(lent)).code, 'CALL_EXCEPTION');
  await delegationBySignature(token, 1_000n);
  assert.equal(await token.numCheckpoints(carol.address), 1n);
  await rolesAndPause(token, () => token.transfer.staticCall(bob.address, 1n));
}

async function erc721(token) {
  const address = await token.getAddress();
  const minted = await events(token, token.safeMint(bob.address, 7n, 'seven.json'));
  assert.deepEqual(minted, { names: ['Transfer', 'MetadataUpdate'], last: [7n] });
  for (const [to, tokenId] of [[alice, 1n], [alice, 2n], [bob, 8n]]) await mined(token.safeMint(to.address, tokenId, ''));
  assert.deepEqual([await token.tokenURI(7n), await token.tokenURI(8n)], ['ipfs://art/seven.json', 'ipfs://art/8']);
  assert.deepEqual([await token.totalSupply(), await token.balanceOf(bob.address)], [4n, 2n]);
  assert.deepEqual([await token.tokenByIndex(1n), await token.tokenOfOwnerByIndex(bob.address, 1n)], [1n, 8n]);
  await refused(token, () => token.tokenByIndex(4n), 'ERC721OutOfBoundsIndex', [ZeroAddress, 4n]);
  await refused(token, () => token.ownerOf(9n), 'ERC721NonexistentToken', [9n]);
  await refused(token, () => token.safeMint.staticCall(bob.address, 7n, ''), 'ERC721InvalidSender', [ZeroAddress]);

  const taken = () => token.transferFrom.staticCall(bob.address, carol.address, 7n);
  await refused(token, taken, 'ERC721InsufficientApproval', [alice.address, 7n]);
  await mined(token.connect(bob).approve(alice.address, 7n));
  assert.equal(await token.getApproved(7n), alice.address);
  const moved = await events(token, token['safeTransferFrom(address,address,uint256)'](bob.address, carol.address, 7n));
  assert.deepEqual(moved, { names: ['Transfer'], last: [bob.address, carol.address, 7n] });
  assert.equal(await token.ownerOf(7n), carol.address);
  const intoTheVoid = () => token['safeTransferFrom(address,address,uint256,bytes)'].staticCall(alice.address, address, 1n, '0x00ff');
  await refused(token, intoTheVoid, 'ERC721InvalidReceiver', [address]);
  await mined(token.connect(bob).setApprovalForAll(alice.address, true));
  assert.ok(await token.isApprovedForAll(bob.address, alice.address));
  await mined(token.burn(8n));
  assert.equal((await token.queryFilter(token.filters.Transfer(bob.address, ZeroAddress))).length, 1);

  assert.deepEqual([...(await token.royaltyInfo(1n, 2_000n))], [carol.address, 50n]);
  await mined(token.setTokenRoyalty(1n, bob.address, 10_000n));
  assert.deepEqual([...(await token.royaltyInfo(1n, 2_000n))], [bob.address, 2_000n]);
  const tooMuch = () => token.setDefaultRoyalty.staticCall(bob.address, 10_001n);
  await refused(token, tooMuch, 'ERC2981InvalidDefaultRoyalty', [10_001n, 10_000n]);
  await delegationBySignature(token, 2n);
  await rolesAndPause(token, () => token.transferFrom.staticCall(alice.address, bob.address, 1n));
  for (const interfaceId of ['0x80ac58cd', '0x5b5e139f', '0x780e9d63', '0x49064906', '0x2a55205a']) assert.ok(await token.supportsInterface(interfaceId));
}

async function erc1155(token) {
  const address = await token.getAddress();
  const single = await events(token, token.mint(alice.address, 1n, 100n, '0x'));
  assert.deepEqual(single, { names: ['TransferSingle'], last: [alice.address, ZeroAddress, alice.address, 1n, 100n] });
  await mined(token.mintBatch(bob.address, [1n, 2n], [10n, 20n], '0x01'));
  assert.deepEqual([...(await token.balanceOfBatch([alice.address, bob.address, bob.address], [1n, 1n, 2n]))], [100n, 10n, 20n]);
  assert.deepEqual([await token['totalSupply()'](), await token['totalSupply(uint256)'](1n), await token.exists(3n)], [130n, 110n, false]);
  assert.equal(await token.uri(1n), 'ipfs://items/{id}.json');
  await mined(token.setURI('ipfs://other/{id}.json'));
  assert.equal(await token.uri(1n), 'ipfs://other/{id}.json');

  await mined(token.safeTransferFrom(alice.address, bob.address, 1n, 30n, '0x'));
  const taken = () => token.safeTransferFrom.staticCall(bob.address, alice.address, 1n, 1n, '0x');
  await refused(token, taken, 'ERC1155MissingApprovalForAll', [alice.address, bob.address]);
  await mined(token.connect(bob).setApprovalForAll(alice.address, true));
  const batch = await events(token, token.safeBatchTransferFrom(bob.address, carol.address, [1n, 2n], [15n, 20n], '0x'));
  assert.deepEqual([batch.names, batch.last.slice(0, 3)], [['TransferBatch'], [alice.address, bob.address, carol.address]]);
  assert.deepEqual([await token.balanceOf(bob.address, 1n), await token.balanceOf(carol.address, 2n)], [25n, 20n]);
  const tooMuch = () => token.safeTransferFrom.staticCall(alice.address, bob.address, 1n, 71n, '0x');
  await refused(token, tooMuch, 'ERC1155InsufficientBalance', [alice.address, 70n, 71n, 1n]);
  const uneven = () => token.safeBatchTransferFrom.staticCall(alice.address, bob.address, [1n, 2n], [1n], '0x');
  await refused(token, uneven, 'ERC1155InvalidArrayLength', [2n, 1n]);
  const intoTheVoid = () => token.safeTransferFrom.staticCall(alice.address, address, 1n, 1n, '0x');
  await refused(token, intoTheVoid, 'ERC1155InvalidReceiver', [address]);
  await mined(token.burn(bob.address, 1n, 5n));
  await mined(token.connect(carol).burnBatch(carol.address, [1n, 2n], [15n, 20n]));
  assert.deepEqual([await token['totalSupply()'](), await token.exists(2n)], [90n, false]);

  assert.deepEqual([...(await token.royaltyInfo(1n, 2_000n))], [carol.address, 50n]);
  const toNobody = () => token.setTokenRoyalty.staticCall(1n, ZeroAddress, 1n);
  await refused(token, toNobody, 'ERC2981InvalidTokenRoyaltyReceiver', [1n, ZeroAddress]);
  await rolesAndPause(token, () => token.burn.staticCall(alice.address, 1n, 1n));
  for (const interfaceId of ['0xd9b67a26', '0x0e89341c', '0x2a55205a']) assert.ok(await token.supportsInterface(interfaceId));
}

// A request that bob signs for a call of `to` by alice.
async function requestOfBob(forwarder, to, data) {
  const [, name, version, chainId, verifyingContract] = await forwarder.eip712Domain();
  const members = [
    ['from', 'address'], ['to', 'address'], ['value', 'uint256'], ['gas', 'uint256'], ['nonce', 'uint256'], ['deadline', 'uint48'], ['data', 'bytes'],
  ];
  const types = { ForwardRequest: members.map(([name, type]) => ({ name, type })) };
  const request = { from: bob.address, to, value: 0n, gas: 100_000n, deadline: (await now()) + 100_000, data };
  const message = { ...request, nonce: await forwarder.nonces(bob.address) };
  return { ...request, signature: await bob.signTypedData({ name, version, chainId, verifyingContract }, types, message) };
}

async function forwarder(forwarder) {
  const token = deployed['erc20-token'];
  const request = await requestOfBob(forwarder, token.target, token.interface.encodeFunctionData('transfer', [alice.address, 1n]));
  assert.ok(!(await forwarder.verify(request)));
  await refused(forwarder, () => forwarder.execute.staticCall(request), 'ERC2771UntrustfulTarget', [token.target, forwarder.target]);
}

async function forwarded(vault) {
  const forwarder = deployed['erc2771-forwarder'];
  const request = await requestOfBob(forwarder, vault.target, vault.interface.encodeFunctionData('approve', [alice.address, 5n]));
  assert.ok(await forwarder.verify(request));
  assert.deepEqual(await events(forwarder, forwarder.execute(request)), { names: ['ExecutedForwardRequest'], last: [bob.address, 0n, true] });
  assert.equal(await vault.allowance(bob.address, alice.address), 5n);
  await refused(forwarder, () => forwarder.execute.staticCall({ ...request, deadline: 1 }), 'ERC2771ForwarderExpiredRequest', [1n]);
}

async function erc4626(vault) {
  const asset = deployed['erc20-token'];
  const address = await vault.getAddress();
  assert.deepEqual([await vault.asset(), await vault.decimals()], [await asset.getAddress(), 21n]);
  await mined(asset.approve(address, 300n));
  assert.equal(await vault.previewDeposit(200n), 200_000n);
  const deposit = await events(vault, vault.deposit(200n, bob.address));
  assert.deepEqual(deposit, { names: ['Transfer', 'Deposit'], last: [alice.address, bob.address, 200n, 200_000n] });
  // A donation: shares are worth more, and rounding is the vault's.
  await mined(asset.transfer(address, 100n));
  assert.equal(await vault.totalAssets(), 300n);
  assert.equal(await vault.convertToAssets(200_000n), 299n);
  assert.equal(await vault.maxWithdraw(bob.address), 299n);
  const byBob = vault.connect(bob);
  const tooMuch = () => byBob.withdraw.staticCall(300n, bob.address, bob.address);
  await refused(vault, tooMuch, 'ERC4626ExceededMaxWithdraw', [bob.address, 300n, 299n]);
  const shares = await vault.previewWithdraw(100n);
  await mined(byBob.withdraw(100n, carol.address, bob.address));
  assert.equal(await vault.balanceOf(bob.address), 200_000n - shares);
  const stranger = () => vault.redeem.staticCall(1n, alice.address, bob.address);
  await refused(vault, stranger, 'ERC20InsufficientAllowance', [alice.address, 0n, 1n]);
  const rest = await vault.balanceOf(bob.address);
  const assets = await vault.previewRedeem(rest);
  const { names, last } = await events(vault, byBob.redeem(rest, bob.address, bob.address));
  assert.deepEqual([names.at(-1), last], ['Withdraw', [bob.address, bob.address, bob.address, assets, rest]]);
  assert.equal(await vault.totalSupply(), 0n);
  await forwarded(vault);
}

async function vesting(wallet) {
  const asset = deployed['erc20-token'];
  const [address, token] = [await wallet.getAddress(), await asset.getAddress()];
  const start = await wallet.start();
  assert.deepEqual([await wallet.owner(), await wallet.end(), await wallet.cliff()], [bob.address, start + 1_000n, start + 100n]);
  await mined(alice.sendTransaction({ to: address, value: 1_000n }));
  await mined(asset.transfer(address, 100n));
  const at = async (seconds) => {
    await provider.send('evm_setNextBlockTimestamp', [toBeHex(start + seconds)]);
    await provider.send('evm_mine', []);
  };
  await at(50n);
  assert.equal(await wallet['releasable()'](), 0n);
  assert.equal(await wallet['vestedAmount(uint64)'](start + 500n), 500n);
  await provider.send('evm_setNextBlockTimestamp', [toBeHex(start + 400n)]);
  // Gas would be estimated for a release before the cliff, of nothing.
  const ether = await events(wallet, wallet['release()']({ gasLimit: 200_000n }));
  assert.deepEqual(ether, { names: ['EtherReleased'], last: [400n] });
  assert.equal(await wallet['released()'](), 400n);
  await at(1_000n);
  const before = await asset.balanceOf(bob.address);
  assert.deepEqual(await events(wallet, wallet['release(address)'](token)), { names: ['ERC20Released'], last: [token, 100n] });
  assert.equal(await asset.balanceOf(bob.address), before + 100n);
  assert.deepEqual([await wallet['releasable()'](), await wallet['releasable(address)'](token)], [600n, 0n]);
  await refused(wallet, () => wallet.transferOwnership.staticCall(alice.address), 'OwnableUnauthorizedAccount', [alice.address]);
  await mined(wallet.connect(bob).transferOwnership(carol.address));
  assert.equal(await wallet.owner(), carol.address);
}

// https://github.com/gnosis/MultiSigWallet: human-readable.
function multiSigWalletAbi() {
  return [
    'function MAX_OWNER_COUNT() view returns (uint256)',
    'function transactions(uint256) view returns (address destination, uint256 value, bytes data, bool executed)',
    'function confirmations(uint256, address) view returns (bool)', 'function isOwner(address) view returns (bool)',
    'function owners(uint256) view returns (address)', 'function required() view returns (uint256)',
    'function transactionCount() view returns (uint256)', 'function addOwner(address owner)', 'function removeOwner(address owner)',
    'function replaceOwner(address owner, address newOwner)', 'function changeRequirement(uint256 _required)',
    'function submitTransaction(address destination, uint256 value, bytes data) returns (uint256 transactionId)',
    'function confirmTransaction(uint256 transactionId)', 'function revokeConfirmation(uint256 transactionId)',
    'function executeTransaction(uint256 transactionId)', 'function isConfirmed(uint256 transactionId) view returns (bool)',
    'function getConfirmationCount(uint256 transactionId) view returns (uint256 count)',
    'function getTransactionCount(bool pending, bool executed) view returns (uint256 count)', 'function getOwners() view returns (address[])',
    'function getConfirmations(uint256 transactionId) view returns (address[] _confirmations)',
    'function getTransactionIds(uint256 from, uint256 to, bool pending, bool executed) view returns (uint256[] _transactionIds)',
    ...['Confirmation', 'Revocation'].map((name) => `event ${name}(address indexed sender, uint256 indexed transactionId)`),
    ...['Submission', 'Execution', 'ExecutionFailure'].map((name) => `event ${name}(uint256 indexed transactionId)`),
    'event Deposit(address indexed sender, uint256 value)', 'event OwnerAddition(address indexed owner)',
    'event OwnerRemoval(address indexed owner)', 'event RequirementChange(uint256 required)', 'fallback() payable',
  ];
}

async function multisig(wallet) {
  const address = wallet.target;
  // The least gas with which a confirmation succeeds is too little for what it executes: a failure of that is no failure of the confirmation.
  const gas = { gasLimit: 500_000n };
  const [byBob, byCarol] = [wallet.connect(bob), wallet.connect(carol)];
  // Refusals have no reasons.
  const refusedSilently = async (call) => {
    const error = await failure(call);
    assert.deepEqual([error.code, error.data], ['CALL_EXCEPTION', '0x']);
  };
  assert.deepEqual([[...(await wallet.getOwners())], await wallet.required()], [[alice, bob, carol].map((owner) => owner.address), 2n]);
  const deposit = await events(wallet, alice.sendTransaction({ to: address, value: 1_000n }));
  assert.deepEqual(deposit, { names: ['Deposit'], last: [alice.address, 1_000n] });
  const recipient = Wallet.createRandom().address;
  assert.deepEqual(await events(wallet, wallet.submitTransaction(recipient, 400n, '0x')), { names: ['Submission', 'Confirmation'], last: [alice.address, 0n] });
  await refusedSilently(() => wallet.confirmTransaction.staticCall(0n));
  await refusedSilently(() => byBob.executeTransaction.staticCall(0n));
  await refusedSilently(() => wallet.changeRequirement.staticCall(1n));
  assert.deepEqual([await wallet.isConfirmed(0n), await wallet.getTransactionCount(true, false)], [false, 1n]);
  assert.deepEqual(await events(wallet, byBob.confirmTransaction(0n, gas)), { names: ['Confirmation', 'Execution'], last: [0n] });
  assert.deepEqual([await provider.getBalance(recipient), (await wallet.transactions(0n)).executed], [400n, true]);
  // A token's transfer that fails, and succeeds when the wallet has tokens.
  const token = deployed.reward;
  const transfer = token.interface.encodeFunctionData('transfer', [recipient, 5n]);
  await mined(byCarol.submitTransaction(token.target, 0n, transfer));
  assert.deepEqual(await events(wallet, wallet.confirmTransaction(1n, gas)), { names: ['Confirmation', 'ExecutionFailure'], last: [1n] });
  await mined(token.transfer(address, 5n));
  assert.deepEqual(await events(wallet, byCarol.executeTransaction(1n, gas)), { names: ['Execution'], last: [1n] });
  assert.equal(await token.balanceOf(recipient), 5n);
  // The wallet removes an owner, whose confirmation no longer counts.
  await mined(byCarol.submitTransaction(recipient, 1n, '0x'));
  await mined(wallet.submitTransaction(address, 0n, wallet.interface.encodeFunctionData('removeOwner', [carol.address])));
  const removed = await events(wallet, byBob.confirmTransaction(3n, gas));
  assert.deepEqual(removed, { names: ['Confirmation', 'OwnerRemoval', 'Execution'], last: [3n] });
  assert.deepEqual([await wallet.getConfirmationCount(2n), await wallet.isOwner(carol.address)], [0n, false]);
  await mined(wallet.confirmTransaction(2n));
  assert.deepEqual(await events(wallet, wallet.revokeConfirmation(2n)), { names: ['Revocation'], last: [alice.address, 2n] });
  assert.deepEqual([...(await wallet.getTransactionIds(0n, 3n, false, true))], [0n, 1n, 3n]);
}

// https://docs.synthetix.io, "StakingRewards": human-readable.
function stakingRewardsAbi() {
  const views = [
    'owner() view returns (address)', 'nominatedOwner() view returns (address)', 'rewardsDistribution() view returns (address)',
    'lastPauseTime() view returns (uint256)', 'paused() view returns (bool)', 'rewardsToken() view returns (address)',
    'stakingToken() view returns (address)', 'periodFinish() view returns (uint256)', 'rewardRate() view returns (uint256)',
    'rewardsDuration() view returns (uint256)', 'lastUpdateTime() view returns (uint256)', 'rewardPerTokenStored() view returns (uint256)',
    'userRewardPerTokenPaid(address) view returns (uint256)', 'rewards(address) view returns (uint256)', 'totalSupply() view returns (uint256)',
    'balanceOf(address account) view returns (uint256)', 'lastTimeRewardApplicable() view returns (uint256)',
    'rewardPerToken() view returns (uint256)', 'earned(address account) view returns (uint256)', 'getRewardForDuration() view returns (uint256)',
  ];
  const changes = [
    'stake(uint256 amount)', 'withdraw(uint256 amount)', 'getReward()', 'exit()', 'notifyRewardAmount(uint256 reward)',
    'recoverERC20(address tokenAddress, uint256 tokenAmount)', 'setRewardsDuration(uint256 _rewardsDuration)', 'setPaused(bool _paused)',
    'setRewardsDistribution(address _rewardsDistribution)', 'nominateNewOwner(address _owner)', 'acceptOwnership()',
  ];
  return [
    ...[...views, ...changes].map((text) => `function ${text}`),
    'event RewardAdded(uint256 reward)', 'event Staked(address indexed user, uint256 amount)', 'event Withdrawn(address indexed user, uint256 amount)',
    'event RewardPaid(address indexed user, uint256 reward)', 'event RewardsDurationUpdated(uint256 newDuration)',
    'event Recovered(address token, uint256 amount)', 'event OwnerNominated(address newOwner)',
    'event OwnerChanged(address oldOwner, address newOwner)', 'event PauseChanged(bool isPaused)',
  ];
}

async function staking(pool) {
  const [staked, reward, week] = [deployed['erc20-token'], deployed.reward, 604_800n];
  const refusedWith = (call, reason) => refused(pool, call, 'Error', [reason]);
  assert.deepEqual([await pool.rewardsToken(), await pool.stakingToken()], [reward.target, staked.target]);
  // A rate that nobody funded pays nothing.
  assert.deepEqual([await pool.rewardRate(), await pool.periodFinish(), await pool.rewardsDuration()], [5n, 0n, week]);
  await mined(staked.approve(pool.target, 1_000n));
  assert.deepEqual(await events(pool, pool.stake(100n)), { names: ['Staked'], last: [alice.address, 100n] });
  await refusedWith(() => pool.stake.staticCall(0n), 'Cannot stake 0');
  await refusedWith(() => pool.connect(bob).notifyRewardAmount.staticCall(1n), 'Caller is not RewardsDistribution contract');
  await refusedWith(() => pool.notifyRewardAmount.staticCall(10n * week), 'Provided reward too high');
  await mined(reward.transfer(pool.target, 10n * week));
  assert.deepEqual(await events(pool, pool.notifyRewardAmount(10n * week)), { names: ['RewardAdded'], last: [10n * week] });
  assert.deepEqual([await pool.rewardRate(), await pool.getRewardForDuration()], [10n, 10n * week]);
  const start = await pool.lastUpdateTime();
  const at = async (seconds) => {
    await provider.send('evm_setNextBlockTimestamp', [toBeHex(start + seconds)]);
    await provider.send('evm_mine', []);
  };
  await at(50n);
  assert.equal(await pool.earned(alice.address), 500n);
  assert.equal(await pool.rewardPerToken(), 5n * 10n ** 18n);
  await at(2n * week);
  assert.equal(await pool.earned(alice.address), 10n * week);
  const left = await events(pool, pool.exit());
  assert.deepEqual(left, { names: ['Withdrawn', 'RewardPaid'], last: [alice.address, 10n * week] });
  assert.deepEqual([await pool.totalSupply(), await reward.balanceOf(alice.address)], [0n, 10n ** 9n]);
  await refusedWith(() => pool.exit.staticCall(), 'Cannot withdraw 0');
  await refusedWith(() => pool.connect(bob).setPaused.staticCall(true), 'Only the contract owner may perform this action');
  assert.deepEqual(await events(pool, pool.setPaused(true)), { names: ['PauseChanged'], last: [true] });
  await refusedWith(() => pool.stake.staticCall(1n), 'This action cannot be performed while the contract is paused');
  await mined(pool.nominateNewOwner(bob.address));
  const changed = await events(pool, pool.connect(bob).acceptOwnership());
  assert.deepEqual(changed, { names: ['OwnerChanged'], last: [alice.address, bob.address] });
}

// https://github.com/mds1/multicall3, "ABI": human-readable.
function multicall3Abi() {
  const results = 'tuple(bool success, bytes returnData)[] returnData';
  const [calls, call3] = ['tuple(address target, bytes callData)[] calls', 'tuple(address target, bool allowFailure, bytes callData)[] calls'];
  return [
    `function aggregate(${calls}) payable returns (uint256 blockNumber, bytes[] returnData)`,
    `function aggregate3(${call3}) payable returns (${results})`,
    `function aggregate3Value(tuple(address target, bool allowFailure, uint256 value, bytes callData)[] calls) payable returns (${results})`,
    `function blockAndAggregate(${calls}) payable returns (uint256 blockNumber, bytes32 blockHash, ${results})`,
    'function getBasefee() view returns (uint256 basefee)',
    'function getBlockHash(uint256 blockNumber) view returns (bytes32 blockHash)',
    'function getBlockNumber() view returns (uint256 blockNumber)',
    'function getChainId() view returns (uint256 chainid)',
    'function getCurrentBlockCoinbase() view returns (address coinbase)',
    'function getCurrentBlockDifficulty() view returns (uint256 difficulty)',
    'function getCurrentBlockGasLimit() view returns (uint256 gaslimit)',
    'function getCurrentBlockTimestamp() view returns (uint256 timestamp)',
    'function getEthBalance(address addr) view returns (uint256 balance)',
    'function getLastBlockHash() view returns (bytes32 blockHash)',
    `function tryAggregate(bool requireSuccess, ${calls}) payable returns (${results})`,
    `function tryBlockAndAggregate(bool requireSuccess, ${calls}) payable returns (uint256 blockNumber, bytes32 blockHash, ${results})`,
  ];
}

async function multicall(deployedHere) {
  const token = deployed['erc20-token'];
  const call = (allowFailure, name, args) => ({ target: token.target, allowFailure, callData: token.interface.encodeFunctionData(name, args) });
  const balance = await token.balanceOf(alice.address);
  // A development chain has one at the usual address, too.
  for (const multicall of [deployedHere, deployedHere.attach('0xcA11bde05977b3631167028862bE2a173976CA11')]) {
    const read = call(false, 'balanceOf', [alice.address]);
    const [has, lacks] = await multicall.aggregate3.staticCall([read, call(true, 'transfer', [alice.address, 1n])]);
    assert.deepEqual([has.success, ...token.interface.decodeFunctionResult('balanceOf', has.returnData)], [true, balance]);
    const { name, args } = token.interface.parseError(lacks.returnData);
    assert.deepEqual([lacks.success, name, [...args]], [false, 'ERC20InsufficientBalance', [multicall.target, 0n, 1n]]);
    const strict = () => multicall.aggregate3.staticCall([read, call(false, 'transfer', [alice.address, 1n])]);
    await refused(multicall, strict, 'Error', ['Multicall3: call failed']);

    const before = await multicall.getEthBalance(carol.address);
    const gift = { target: carol.address, allowFailure: false, value: 5n, callData: '0x' };
    await mined(multicall.aggregate3Value([gift, { ...gift, value: 2n }], { value: 7n }));
    assert.equal(await provider.getBalance(carol.address), before + 7n);
    const tooMuch = () => multicall.aggregate3Value.staticCall([gift], { value: 6n });
    await refused(multicall, tooMuch, 'Error', ['Multicall3: value mismatch']);
    await mined(multicall.aggregate3([call(false, 'approve', [bob.address, 3n])]));
    assert.equal(await token.allowance(multicall.target, bob.address), 3n);
  }
}

async function batch(deployedHere) {
  const token = deployed['erc20-token'];
  const transfer = (value) => ({ target: token.target, value: 0n, data: token.interface.encodeFunctionData('transfer', [carol.address, value]) });
  const gift = { target: carol.address, value: 5n, data: '0x' };
  for (const batch of [deployedHere, deployedHere.attach('0xcb0000000000000000000000000000000000ba7c')]) {
    const [tokens, ether] = [await token.balanceOf(carol.address), await provider.getBalance(carol.address)];
    const sender = await token.balanceOf(alice.address);
    const returned = await batch.execute.staticCall([transfer(2n), gift]);
    assert.deepEqual([...returned], [token.interface.encodeFunctionResult('transfer', [true]), '0x']);
    await mined(batch.execute([transfer(2n), gift, transfer(1n)]));
    // Each operation has the signer as its caller: alice's tokens and ether moved, none of the contract's.
    assert.deepEqual([await token.balanceOf(carol.address), await provider.getBalance(carol.address)], [tokens + 3n, ether + 5n]);
    assert.equal(await token.balanceOf(alice.address), sender - 3n);
    const poor = token.interface.encodeErrorResult('ERC20InsufficientBalance', [alice.address, sender - 4n, sender]);
    await refused(batch, () => batch.execute.staticCall([transfer(1n), transfer(sender)]), 'OperationFailed', [1n, poor]);
    // Out of an operation, whose caller is the signer but calls no longer directly.
    const nested = { target: batch.target, value: 0n, data: batch.interface.encodeFunctionData('execute', [[gift]]) };
    const error = batch.interface.encodeErrorResult('OnlySigner', [alice.address]);
    await refused(batch, () => batch.execute.staticCall([nested]), 'OperationFailed', [0n, error]);
  }
  const { bytecode } = (await templates()).find((listed) => listed.name === 'batch');
  const creation = { target: ZeroAddress, value: 0n, data: bytecode };
  const [created] = await deployedHere.execute.staticCall([creation]);
  await mined(deployedHere.execute([creation]));
  assert.ok(created.length === 66 && created !== toBeHex(0n, 32));
}

async function records(registry) {
  const [collection, first, second] = ['notes', 'first', 'second'].map((word) => id(word));
  const [anyone, owner, , , admin] = [0n, 1n, 2n, 3n, 4n];
  const rules = { create: anyone, update: owner, remove: owner, transfer: admin };
  const byBob = registry.connect(bob);
  const role = await registry.DEFAULT_ADMIN_ROLE();
  const byStranger = () => byBob.createCollection.staticCall(collection, 'notes', rules);
  await refused(registry, byStranger, 'AccessControlUnauthorizedAccount', [bob.address, role]);
  assert.deepEqual((await events(registry, registry.createCollection(collection, 'notes', rules))).names, ['CollectionCreated']);
  assert.deepEqual([await registry.name(collection), [...(await registry.rules(collection))]], ['notes', [anyone, owner, owner, admin]]);

  const created = await events(registry, byBob.create(collection, first, '0x0102'));
  assert.deepEqual(created, { names: ['RecordCreated'], last: [collection, first, bob.address, 1n, '0x0102'] });
  await refused(registry, () => byBob.create.staticCall(collection, first, '0x'), 'RecordExists', [collection, first]);
  await refused(registry, () => byBob.update.staticCall(collection, first, 2n, '0x03'), 'VersionMismatch', [2n, 1n]);
  const foreign = () => registry.update.staticCall(collection, first, 1n, '0x03');
  await refused(registry, foreign, 'RecordUnauthorizedAccount', [collection, first, alice.address, owner]);
  assert.deepEqual((await events(registry, byBob.update(collection, first, 1n, '0x03'))).last, [collection, first, bob.address, 2n, '0x03']);
  const moved = await events(registry, registry.transferRecord(collection, first, 2n, carol.address));
  assert.deepEqual(moved, { names: ['RecordTransferred'], last: [collection, first, alice.address, 3n, bob.address, carol.address] });
  await mined(registry.connect(carol).create(collection, second, '0x'));

  const record = await registry.get(collection, first);
  assert.deepEqual([record.id, record.owner, record.version, record.data], [first, carol.address, 3n, '0x03']);
  const version = await registry.versionAt(collection, first, 1n);
  assert.deepEqual([version.author, version.owner, version.data], [bob.address, bob.address, '0x0102']);
  assert.deepEqual([await registry.count(collection), [...(await registry.ids(collection, 1n, 9n))]], [2n, [second]]);
  const page = await registry.records(collection, 0n, 9n);
  assert.deepEqual(page.map((one) => one.id), [first, second]);
  await mined(registry.connect(carol).remove(collection, first, 0n));
  assert.equal(await registry.exists(collection, first), false);
  await refused(registry, () => registry.get(collection, first), 'NonexistentRecord', [collection, first]);
  assert.ok(await registry.supportsInterface('0x7965db0b'));
}

async function timelock(controller) {
  const none = toBeHex(0, 32);
  const [target, salt] = [controller.target, id('salt')];
  const call = [target, 0n, controller.interface.encodeFunctionData('updateDelay', [7n]), none, salt];
  const operation = await controller.hashOperation(...call);
  const scheduled = await events(controller, controller.schedule(...call, 100n));
  assert.deepEqual(scheduled, { names: ['CallScheduled', 'CallSalt'], last: [operation, salt] });
  assert.equal(await controller.getOperationState(operation), 1n);
  const ready = toBeHex(4, 32);
  await refused(controller, () => controller.execute.staticCall(...call), 'TimelockUnexpectedOperationState', [operation, ready]);
  const proposer = id('PROPOSER_ROLE');
  const stranger = () => controller.connect(bob).schedule.staticCall(...call, 100n);
  await refused(controller, stranger, 'AccessControlUnauthorizedAccount', [bob.address, proposer]);
  await later(100);
  assert.deepEqual((await events(controller, controller.connect(bob).execute(...call))).names, ['MinDelayChange', 'CallExecuted']);
  assert.deepEqual([await controller.getMinDelay(), await controller.isOperationDone(operation)], [7n, true]);
  await refused(controller, () => controller.updateDelay.staticCall(1n), 'TimelockUnauthorizedCaller', [alice.address]);
  assert.ok(await controller.supportsInterface('0x4e2312e0'));
}

async function priceFeed(feed) {
  assert.deepEqual([await feed.decimals(), await feed.description(), await feed.version()], [8n, 'ETH / USD', 0n]);
  const first = await feed.latestRoundData();
  assert.deepEqual([first.roundId, first.answer, first.answeredInRound], [1n, 200_000_000_000n, 1n]);
  const updated = await events(feed, feed.updateAnswer(-5n));
  assert.deepEqual(updated, { names: ['NewRound', 'AnswerUpdated'], last: [-5n, 2n, BigInt(await now())] });
  assert.deepEqual([await feed.latestAnswer(), await feed.getAnswer(1n), await feed.latestRound()], [-5n, 200_000_000_000n, 2n]);
  await mined(feed.updateRoundData(9n, 7n, 1_000n, 900n));
  assert.deepEqual([...await feed.getRoundData(9n)], [9n, 7n, 900n, 1_000n, 9n]);
  await refused(feed, () => feed.connect(bob).updateAnswer.staticCall(1n), 'OwnableUnauthorizedAccount', [bob.address]);
}

// Two tokens of 6 decimals, a price of two for the collateral.
async function lendingParameters() {
  const token = (symbol) => deploy('erc20-token', {
    name: symbol, symbol, decimals: 6, totalSupply: 1_000_000_000n, cap: 2_000_000_000n, owner: alice.address, vesting: [],
    features: { mintable: false, burnable: false, pausable: false, votes: false, flashMint: false },
  });
  const [usd, gold] = [await token('USD'), await token('GLD')];
  const feed = await deploy('price-feed', { decimals: 8, description: 'GLD / USD', answer: 200_000_000n, owner: alice.address });
  Object.assign(deployed, { usd, gold, feed });
  return {
    token: usd.target, collateral: gold.target, oracle: feed.target, tokenOracle: ZeroAddress, ltv: 7_500, liquidationThreshold: 8_000,
    liquidationBonus: 500, reserveFactor: 1_000, optimalUsageRatio: 8_000, baseVariableBorrowRate: 0, variableRateSlope1: 400,
    variableRateSlope2: 7_500, maxPriceAge: 86_400, owner: alice.address,
  };
}

// Bob borrows of what alice supplied, the price falls, and carol liquidates him.
async function lending(market) {
  const { usd, gold, feed } = deployed;
  const all = 2n ** 256n - 1n;
  await mined(gold.transfer(bob.address, 1_000_000n));
  await mined(usd.transfer(carol.address, 10_000_000n));
  await mined(usd.approve(market.target, all));
  await mined(gold.connect(bob).approve(market.target, all));
  await mined(usd.connect(carol).approve(market.target, all));
  const supplied = await events(market, market.supply(usd.target, 10_000_000n, alice.address, 7));
  assert.deepEqual(supplied.last, [usd.target, alice.address, alice.address, 10_000_000n, 7n]);
  await mined(market.connect(bob).supply(gold.target, 1_000_000n, bob.address, 0));
  const borrow = (amount) => market.connect(bob).borrow.populateTransaction(usd.target, amount, 2, 0, bob.address);
  const reverts = async (call, reason) => assert.equal((await failure(call)).reason, reason);
  const refusedBorrow = async (amount) => market.connect(bob).borrow.staticCall(usd.target, amount, 2, 0, bob.address);
  await reverts(() => refusedBorrow(1_500_001n), '36');
  const borrowed = await events(market, bob.sendTransaction(await borrow(1_500_000n)));
  assert.deepEqual(borrowed.last.slice(0, 5), [usd.target, bob.address, bob.address, 1_500_000n, 2n]);
  const account = await market.getUserAccountData(bob.address);
  assert.deepEqual([account.totalCollateralBase, account.ltv, account.currentLiquidationThreshold], [200_000_000n, 7_500n, 8_000n]);
  const liquidate = (method) => market.connect(carol).liquidationCall[method](gold.target, usd.target, bob.address, all, false);
  await reverts(() => liquidate('staticCall'), '45');
  await mined(feed.updateAnswer(180_000_000n));
  assert.ok((await market.getUserAccountData(bob.address)).healthFactor < 10n ** 18n);
  const liquidated = await events(market, liquidate('send'));
  assert.deepEqual([liquidated.last[0], liquidated.last[2], liquidated.last[5]], [gold.target, bob.address, carol.address]);
  assert.equal(await gold.balanceOf(carol.address), liquidated.last[4]);
  const repaid = await events(market, (async () => {
    await mined(usd.transfer(bob.address, 1_000_000n));
    await mined(usd.connect(bob).approve(market.target, all));
    return market.connect(bob).repay(usd.target, all, 2, bob.address);
  })());
  assert.equal(repaid.last[1], bob.address);
  assert.equal((await market.getUserReserveData(usd.target, bob.address)).currentVariableDebt, 0n);
  await mined(market.withdraw(usd.target, all, alice.address));
  assert.ok(await usd.balanceOf(alice.address) > 988_000_000n);
}

// A proposal mints tokens: voted for by a transaction and by a signature, queued and executed.
async function governor(dao) {
  const token = deployed['erc20-token'];
  const executor = await dao.timelock();
  await mined(token.grantRole(id('MINTER_ROLE'), executor));
  await mined(token.delegate(alice.address));
  await mined(token.connect(bob).delegate(bob.address));
  await blocks(1);
  const mint = token.interface.encodeFunctionData('mint', [carol.address, 5n]);
  const [calls, description] = [[[token.target], [0n], [mint]], 'Mint five'];
  const lists = [...calls, id(description)];
  const proposal = await dao.getProposalId(...lists);
  const proposed = await events(dao, dao.propose(...calls, description));
  assert.deepEqual([proposed.names, proposed.last[0], proposed.last[8]], [['ProposalCreated'], proposal, description]);
  const active = toBeHex(2, 32);
  await refused(dao, () => dao.castVote.staticCall(proposal, 1), 'GovernorUnexpectedProposalState', [proposal, 0n, active]);
  await blocks(2);
  const weight = await dao.getVotes(alice.address, await dao.proposalSnapshot(proposal));
  const voted = await events(dao, dao.castVoteWithReason(proposal, 1, 'because'));
  assert.deepEqual(voted, { names: ['VoteCast'], last: [alice.address, proposal, 1n, weight, 'because'] });
  const [, name, version, chainId, verifyingContract] = await dao.eip712Domain();
  const types = { Ballot: [['proposalId', 'uint256'], ['support', 'uint8'], ['voter', 'address'], ['nonce', 'uint256']].map(([name, type]) => ({ name, type })) };
  const ballot = { proposalId: proposal, support: 1, voter: bob.address, nonce: await dao.nonces(bob.address) };
  const signature = await bob.signTypedData({ name, version, chainId, verifyingContract }, types, ballot);
  await refused(dao, () => dao.castVoteBySig.staticCall(proposal, 0, bob.address, signature), 'GovernorInvalidSignature', [bob.address]);
  await mined(dao.castVoteBySig(proposal, 1, bob.address, signature));
  assert.ok(await dao.hasVoted(proposal, bob.address));
  const [against, inFavour] = await dao.proposalVotes(proposal);
  const bobs = await dao.getVotes(bob.address, await dao.proposalSnapshot(proposal));
  assert.deepEqual([inFavour, against, bobs > 0n], [weight + bobs, 0n, true]);
  await blocks(3);
  assert.equal(await dao.state(proposal), 4n);
  assert.deepEqual((await events(dao, dao['queue(uint256)'](proposal))).names, ['ProposalQueued']);
  await later(100);
  const before = await token.balanceOf(carol.address);
  const executed = await events(dao, dao['execute(address[],uint256[],bytes[],bytes32)'](...lists));
  assert.deepEqual(executed, { names: ['ProposalExecuted'], last: [proposal] });
  assert.deepEqual([await token.balanceOf(carol.address), await dao.state(proposal)], [before + 5n, 7n]);
  await refused(dao, () => dao.setVotingDelay.staticCall(1), 'GovernorOnlyExecutor', [alice.address]);
}

// A token listed for coins and bought; an offer in ether accepted in part, cancelled and withdrawn.
async function marketplace(market) {
  const [coin, art, items] = ['erc20-token', 'erc721-nft', 'erc1155-multi'].map((name) => deployed[name]);
  for (const token of [art, items]) await mined(token.setApprovalForAll(market.target, true));
  await mined(coin.transfer(bob.address, 200n));
  await mined(coin.connect(bob).approve(market.target, 200n));
  const listing = {
    assetContract: art.target, tokenId: 2n, quantity: 1n, currency: coin.target, pricePerToken: 200n, startTimestamp: 0n, endTimestamp: 0n,
    reservedFor: ZeroAddress,
  };
  const byBob = market.connect(bob);
  await refused(market, () => byBob.createListing.staticCall(listing), 'TokenNotHeld', [art.target, 2n, bob.address, 1n]);
  const listed = await events(market, market.createListing(listing));
  assert.deepEqual([listed.names, listed.last.slice(0, 3)], [['NewListing'], [alice.address, 0n, art.target]]);
  assert.ok(await market.isListingValid(0n));
  const dear = () => byBob.buyFromListing.staticCall(0n, bob.address, 1n, coin.target, 199n);
  await refused(market, dear, 'UnexpectedPrice', [coin.target, 200n, coin.target, 199n]);
  const fees = await coin.balanceOf(carol.address);
  // 2.5 % each for the marketplace and as the royalty, both carol's.
  const sold = await events(market, byBob.buyFromListing(0n, bob.address, 1n, coin.target, 200n));
  assert.deepEqual(sold, { names: ['NewSale'], last: [alice.address, 0n, art.target, 2n, bob.address, 1n, 200n, 5n, carol.address, 5n] });
  assert.deepEqual([await art.ownerOf(2n), await coin.balanceOf(carol.address)], [bob.address, fees + 10n]);
  await refused(market, () => byBob.buyFromListing.staticCall(0n, bob.address, 1n, coin.target, 200n), 'ListingNotOpen', [0n, 2n]);

  await mined(items.mint(alice.address, 77n, 10n, '0x'));
  const offer = { assetContract: items.target, tokenId: 77n, quantity: 4n, currency: ZeroAddress, pricePerToken: 1_000n, expirationTimestamp: 0n };
  await refused(market, () => byBob.makeOffer.staticCall(offer, { value: 1n }), 'IncorrectValue', [1n, 4_000n]);
  await mined(byBob.makeOffer(offer, { value: 4_000n }));
  await mined(market.acceptOffer(0n, 1n));
  assert.deepEqual([await items.balanceOf(bob.address, 77n), await provider.getBalance(market.target)], [1n, 3_000n]);
  assert.deepEqual((await events(market, byBob.cancelOffer(0n))).names, ['CancelledOffer', 'PaymentCredited']);
  assert.equal(await market.pendingWithdrawals(bob.address, ZeroAddress), 3_000n);
  await mined(byBob.withdraw(ZeroAddress, bob.address));
  assert.equal(await provider.getBalance(market.target), 0n);
  assert.ok(await market.supportsInterface('0x01ffc9a7'));
}

// An English auction in coins, in which bob is outbid; a Dutch one in ether.
async function auction(house) {
  const [coin, items] = ['erc20-token', 'erc1155-multi'].map((name) => deployed[name]);
  await mined(items.mint(alice.address, 88n, 10n, '0x'));
  await mined(items.setApprovalForAll(house.target, true));
  await mined(coin.transfer(bob.address, 200n));
  for (const bidder of [alice, bob]) await mined(coin.connect(bidder).approve(house.target, 400n));
  const lot = { assetContract: items.target, tokenId: 88n, quantity: 4n, startTimestamp: 0n };
  const english = { ...lot, currency: coin.target, reservePrice: 100n, minIncrement: 500n, timeExtension: 60n, endTimestamp: BigInt(await now()) + 1_000n };
  const made = await events(house, house.createEnglishAuction(english));
  assert.deepEqual([made.names, made.last.slice(0, 3)], [['NewAuction'], [alice.address, 0n, items.target]]);
  assert.equal(await items.balanceOf(house.target, 88n), 4n);
  const byBob = house.connect(bob);
  await refused(house, () => byBob.bid.staticCall(0n, 99n), 'BidTooLow', [0n, 99n, 100n]);
  await mined(byBob.bid(0n, 100n));
  assert.equal(await house.currentPrice(0n), 105n);
  await refused(house, () => house.settle.staticCall(0n), 'AuctionNotEnded', [0n, english.endTimestamp]);
  assert.deepEqual((await events(house, house.bid(0n, 200n))).names, ['PaymentCredited', 'NewBid']);
  assert.equal(await house.pendingWithdrawals(bob.address, coin.target), 100n);
  await mined(byBob.withdraw(coin.target, bob.address));
  await refused(house, () => byBob.withdraw.staticCall(coin.target, bob.address), 'NothingToWithdraw', [bob.address, coin.target]);
  await later(2_000);
  // 2.5 % each for the auction and as the royalty.
  const settled = await events(house, byBob.settle(0n));
  assert.deepEqual(settled, { names: ['AuctionSettled'], last: [alice.address, 0n, alice.address, 200n, 5n, carol.address, 5n] });
  assert.deepEqual([await items.balanceOf(alice.address, 88n), await coin.balanceOf(house.target)], [10n, 0n]);

  const dutch = { ...lot, currency: ZeroAddress, startPrice: 10_000n, reservePrice: 1_000n, endTimestamp: BigInt(await now()) + 9_000n };
  await mined(house.createDutchAuction(dutch));
  await later(4_500);
  const price = await house.currentPrice(1n);
  assert.ok(price < 5_600n && price > 5_000n);
  const error = await failure(() => byBob.buy.staticCall(1n, 1_000n, { value: 10_000n }));
  assert.equal((error.revert ?? house.interface.parseError(error.data)).name, 'PriceTooHigh');
  await mined(byBob.buy(1n, 10_000n, { value: 10_000n }));
  assert.deepEqual([await items.balanceOf(bob.address, 88n), await provider.getBalance(house.target)], [4n, 0n]);
  await refused(house, () => house.cancelAuction.staticCall(1n), 'AuctionNotOpen', [1n, 2n]);
  assert.ok(await house.supportsInterface('0x4e2312e0'));
}

await run("OpenZeppelin's ABIs");
