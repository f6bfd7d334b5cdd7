// viem against the real binary.
import assert from 'node:assert/strict';
import {
  BaseError, ContractFunctionRevertedError, createPublicClient, createTestClient, createWalletClient, defineChain, getContractAddress,
  http as httpTransport, keccak256, pad, parseEther, parseEventLogs, parseSignature, webSocket,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { answers, config, failure, http, run, step, ws } from './harness.mjs';
import { SUPPLY, UNIT, abi, bytecode, parameters } from './token.mjs';

const chain = defineChain({
  id: config.chainId,
  name: 'chainbox',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [http], webSocket: [ws] } },
});
const once = { retryCount: 0 };
const shared = { chain, transport: httpTransport(http, once), pollingInterval: 50, cacheTime: 0 };
const reader = createPublicClient({ ...shared });
const batching = createPublicClient({ ...shared, transport: httpTransport(http, { ...once, batch: true }) });
const live = createPublicClient({ ...shared, transport: webSocket(ws, once) });
const test = createTestClient({ ...shared, mode: 'anvil' });
const alice = createWalletClient({ ...shared, account: privateKeyToAccount(config.privateKeys[0]) });
const bob = createWalletClient({ ...shared, account: privateKeyToAccount(config.privateKeys[1]) });
const unlocked = createWalletClient({ ...shared, account: config.accounts[2] });
const nobody = '0x00000000000000000000000000000000000c0ffe';
let token;

const mined = (hash) => reader.waitForTransactionReceipt({ hash });
const read = (functionName, ...args) => reader.readContract({ abi, address: token, functionName, args });
const write = (wallet, functionName, ...args) => wallet.writeContract({ abi, address: token, functionName, args });

step('connect: chain id, accounts, balances', async () => {
  assert.equal(await reader.getChainId(), config.chainId);
  assert.deepEqual((await unlocked.getAddresses()).map(lower), config.accounts.map(lower));
  assert.equal(lower(alice.account.address), lower(config.accounts[0]));
  assert.ok((await reader.getBalance({ address: alice.account.address })) > parseEther('1'));
});

step('send: signed here, and by an unlocked account', async () => {
  const before = await reader.getBalance({ address: nobody });
  const signed = await mined(await alice.sendTransaction({ to: nobody, value: parseEther('1') }));
  const remote = await mined(await unlocked.sendTransaction({ to: nobody, value: 1n }));
  assert.deepEqual([signed.status, signed.type, signed.gasUsed, remote.status], ['success', 'eip1559', 21_000n, 'success']);
  assert.equal(await reader.getBalance({ address: nobody }), before + parseEther('1') + 1n);
  assert.equal(await reader.getTransactionCount({ address: alice.account.address }), 1);
  const block = await reader.getBlock({ blockHash: signed.blockHash, includeTransactions: true });
  assert.equal(block.transactions[0].hash, signed.transactionHash);
});

step('fees: legacy and EIP-2930 too, history, estimate', async () => {
  const gasPrice = await reader.getGasPrice();
  const legacy = await mined(await alice.sendTransaction({ to: nobody, value: 1n, gasPrice, type: 'legacy' }));
  const listed = await mined(await alice.sendTransaction({ to: nobody, value: 1n, gasPrice, accessList: [{ address: nobody, storageKeys: [pad('0x1')] }] }));
  assert.deepEqual([legacy.type, listed.type], ['legacy', 'eip2930']);
  assert.ok(listed.gasUsed > 21_000n);
  const history = await reader.getFeeHistory({ blockCount: 2, rewardPercentiles: [50] });
  assert.equal(history.baseFeePerGas.length, 3);
  const fees = await reader.estimateFeesPerGas();
  assert.ok(fees.maxFeePerGas >= fees.maxPriorityFeePerGas);
  assert.equal(await reader.estimateGas({ account: alice.account.address, to: nobody, value: 1n }), 21_000n);
});

step('deploy: erc20-token by deployContract', async () => {
  const nonce = await reader.getTransactionCount({ address: alice.account.address });
  const receipt = await mined(await alice.deployContract({ abi, bytecode, args: parameters(alice.account.address) }));
  assert.equal(receipt.status, 'success');
  token = receipt.contractAddress;
  assert.equal(lower(token), lower(getContractAddress({ from: alice.account.address, nonce: BigInt(nonce) })));
  assert.ok((await reader.getCode({ address: token })).startsWith('0xefcb'));
  assert.deepEqual([await read('name'), await read('symbol'), await read('decimals'), await read('totalSupply')], ['Gold', 'GLD', 18, SUPPLY]);
});

step('transfer: simulated, sent, and found in the logs', async () => {
  const { request, result } = await reader.simulateContract({ abi, address: token, functionName: 'transfer', args: [bob.account.address, 25n * UNIT], account: alice.account });
  assert.equal(result, true);
  const receipt = await mined(await alice.writeContract(request));
  const [event] = parseEventLogs({ abi, logs: receipt.logs, eventName: 'Transfer' });
  assert.deepEqual(event.args, { from: alice.account.address, to: bob.account.address, value: 25n * UNIT });
  const found = await reader.getContractEvents({ abi, address: token, eventName: 'Transfer', args: { to: bob.account.address }, fromBlock: 0n });
  assert.deepEqual(found.map((log) => log.transactionHash), [receipt.transactionHash]);
  assert.equal(await read('balanceOf', bob.account.address), 25n * UNIT);
});

step('revert: a custom error is decoded', async () => {
  const error = await failure(() => reader.simulateContract({ abi, address: token, functionName: 'transfer', args: [nobody, SUPPLY], account: bob.account }));
  const revert = error instanceof BaseError && error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  assert.equal(revert.data.errorName, 'ERC20InsufficientBalance');
  assert.deepEqual(revert.data.args, [bob.account.address, 25n * UNIT, SUPPLY]);
  const receipt = await mined(await bob.writeContract({ abi, address: token, functionName: 'transfer', args: [nobody, SUPPLY], gas: 200_000n }));
  assert.equal(receipt.status, 'reverted');
});

step('permit: an EIP-2612 signature gives an allowance', async () => {
  const { timestamp } = await reader.getBlock();
  const message = { owner: bob.account.address, spender: alice.account.address, value: 7n * UNIT, nonce: await read('nonces', bob.account.address), deadline: timestamp + 100_000n };
  const types = { Permit: [['owner', 'address'], ['spender', 'address'], ['value', 'uint256'], ['nonce', 'uint256'], ['deadline', 'uint256']].map(([name, type]) => ({ name, type })) };
  const signature = await bob.signTypedData({ domain: { name: 'Gold', version: '1', chainId: config.chainId, verifyingContract: token }, types, primaryType: 'Permit', message });
  const { r, s, yParity } = parseSignature(signature);
  await mined(await write(alice, 'permit', message.owner, message.spender, message.value, message.deadline, 27 + yParity, r, s));
  assert.equal(await read('allowance', message.owner, message.spender), 7n * UNIT);
  await mined(await write(alice, 'transferFrom', message.owner, nobody, 7n * UNIT));
  assert.equal(await read('balanceOf', nobody), 7n * UNIT);
});

step('subscribe: heads and logs over WebSocket', async () => {
  const stops = [];
  const subscribed = answers(live.transport, 'subscribe', 2);
  try {
    const head = new Promise((resolve, reject) => stops.push(live.watchBlocks({ onBlock: resolve, onError: reject })));
    const transfer = new Promise((resolve, reject) => {
      stops.push(live.watchContractEvent({ abi, address: token, eventName: 'Transfer', onLogs: resolve, onError: reject }));
    });
    await subscribed;
    const receipt = await mined(await write(alice, 'transfer', bob.account.address, 1n));
    assert.equal((await head).number, receipt.blockNumber);
    const [log] = await transfer;
    assert.deepEqual([log.transactionHash, log.args.value], [receipt.transactionHash, 1n]);
  } finally {
    for (const stop of stops) stop();
  }
});

step('filters: created, read, uninstalled', async () => {
  const filter = await reader.createContractEventFilter({ abi, address: token, eventName: 'Transfer' });
  const hash = await write(alice, 'transfer', bob.account.address, 2n);
  await mined(hash);
  assert.deepEqual((await reader.getFilterChanges({ filter })).map((log) => log.transactionHash), [hash]);
  assert.equal(await reader.uninstallFilter({ filter }), true);
});

step('batch: twenty reads in one body', async () => {
  const balances = await Promise.all(Array.from({ length: 20 }, (_, i) => batching.getBalance({ address: config.accounts[i % config.accounts.length] })));
  assert.ok(balances.every((balance) => balance > 0n));
});

step('proof: account and storage', async () => {
  const block = await reader.getBlock();
  const proof = await reader.getProof({ address: token, storageKeys: [pad('0x2')], blockNumber: block.number });
  assert.equal(keccak256(proof.accountProof[0]), block.stateRoot);
  assert.equal(keccak256(proof.storageProof[0].proof[0]), proof.storageHash);
});

step('snapshot, time, mining and balances by the test client', async () => {
  const height = await reader.getBlockNumber();
  const id = await test.snapshot();
  await test.setBalance({ address: nobody, value: 123n });
  assert.equal(await reader.getBalance({ address: nobody }), 123n);
  await test.mine({ blocks: 3 });
  assert.ok((await reader.getBlockNumber()) >= height + 3n);
  await test.revert({ id });
  assert.equal(await reader.getBlockNumber(), height);
  assert.notEqual(await reader.getBalance({ address: nobody }), 123n);

  const { timestamp } = await reader.getBlock();
  await test.increaseTime({ seconds: 600 });
  await test.mine({ blocks: 1 });
  const later = (await reader.getBlock()).timestamp;
  assert.ok(later >= timestamp + 600n);
  await test.setNextBlockTimestamp({ timestamp: later + 50n });
  await test.mine({ blocks: 1 });
  assert.equal((await reader.getBlock()).timestamp, later + 50n);
});

step('impersonate, set nonce, storage and code', async () => {
  const other = '0x00000000000000000000000000000000000ba1e5';
  await test.setBalance({ address: other, value: parseEther('1') });
  await test.impersonateAccount({ address: other });
  const receipt = await mined(await createWalletClient({ ...shared, account: other }).sendTransaction({ to: nobody, value: 1n }));
  assert.equal(lower(receipt.from), other);
  await test.stopImpersonatingAccount({ address: other });
  await test.setNonce({ address: other, nonce: 9 });
  assert.equal(await reader.getTransactionCount({ address: other }), 9);
  await test.setStorageAt({ address: other, index: 1, value: pad('0x2a') });
  assert.equal(BigInt(await reader.getStorageAt({ address: other, slot: '0x1' })), 42n);
  await test.setCode({ address: other, bytecode: await reader.getCode({ address: token }) });
  assert.equal(await reader.getCode({ address: other }), await reader.getCode({ address: token }));
});

step('dump and load: the state comes back', async () => {
  const balance = await reader.getBalance({ address: nobody });
  const first = await test.dumpState();
  assert.equal(await test.dumpState(), first);
  await mined(await alice.sendTransaction({ to: nobody, value: 77n }));
  await test.loadState({ state: first });
  assert.equal(await reader.getBalance({ address: nobody }), balance);
});

step('reset: back to genesis', async () => {
  await test.reset();
  assert.equal(await reader.getBlockNumber(), 0n);
  assert.equal(await reader.getTransactionCount({ address: alice.account.address }), 0);
});

function lower(address) {
  return address.toLowerCase();
}

await run('viem');
