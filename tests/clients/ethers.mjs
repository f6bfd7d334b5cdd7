// ethers v6 against the real binary.
import assert from 'node:assert/strict';
import {
  Contract, ContractFactory, JsonRpcProvider, Signature, Transaction, Wallet, WebSocketProvider, getCreateAddress, keccak256,
  parseEther, toBeHex,
} from 'ethers';
import { answers, config, failure, http, post, run, shuffled, step, ws } from './harness.mjs';
import { SUPPLY, UNIT, abi, bytecode, parameters } from './token.mjs';

const provider = new JsonRpcProvider(http, undefined, { cacheTimeout: -1, pollingInterval: 50 });
const socket = new WebSocketProvider(ws);
const alice = new Wallet(config.privateKeys[0], provider);
const bob = new Wallet(config.privateKeys[1], provider);
const nobody = '0x00000000000000000000000000000000000c0ffe';
const tip = () => provider.getBlockNumber();
let token;

step('connect: chain id, accounts, balances, client version', async () => {
  assert.equal((await provider.getNetwork()).chainId, BigInt(config.chainId));
  const accounts = await provider.send('eth_accounts', []);
  assert.deepEqual(accounts.map(lower), config.accounts.map(lower));
  assert.equal(lower(alice.address), lower(config.accounts[0]));
  for (const account of config.accounts) assert.ok((await provider.getBalance(account)) > parseEther('1'));
  assert.equal(await provider.send('net_version', []), String(config.chainId));
  assert.match(await provider.send('web3_clientVersion', []), /chainbox/i);
});

step('send: a transfer is mined, its block and receipt agree', async () => {
  const before = await provider.getBalance(nobody);
  const sent = await alice.sendTransaction({ to: nobody, value: parseEther('1.5') });
  const receipt = await sent.wait();
  assert.equal(receipt.status, 1);
  assert.equal(receipt.gasUsed, 21_000n);
  assert.equal(await provider.getBalance(nobody), before + parseEther('1.5'));
  assert.equal(await provider.getTransactionCount(alice.address), 1);
  const block = await provider.getBlock(receipt.blockNumber, true);
  assert.equal(block.hash, receipt.blockHash);
  assert.equal(block.prefetchedTransactions[0].hash, sent.hash);
  assert.equal((await provider.getTransaction(sent.hash)).from, alice.address);
  assert.equal(await provider.getBalance(nobody, receipt.blockNumber - 1), before);
});

step('send: an unlocked account through eth_sendTransaction', async () => {
  const signer = await provider.getSigner(config.accounts[2]);
  const receipt = await (await signer.sendTransaction({ to: nobody, value: 1n })).wait();
  assert.equal(lower(receipt.from), lower(config.accounts[2]));
});

step('fees: fee data, history, estimate', async () => {
  const fees = await provider.getFeeData();
  assert.ok(fees.maxFeePerGas >= fees.maxPriorityFeePerGas && fees.gasPrice > 0n);
  const history = await provider.send('eth_feeHistory', ['0x2', 'latest', [25, 75]]);
  assert.equal(history.baseFeePerGas.length, 3);
  assert.equal(history.gasUsedRatio.length, 2);
  assert.equal(history.reward.length, 2);
  assert.equal(await provider.estimateGas({ from: alice.address, to: nobody, value: 1n }), 21_000n);
});

step('deploy: erc20-token by a plain creation transaction', async () => {
  const nonce = await alice.getNonce();
  const contract = await new ContractFactory(abi, bytecode, alice).deploy(...parameters(alice.address));
  const receipt = await contract.deploymentTransaction().wait();
  assert.equal(receipt.status, 1);
  assert.equal(receipt.contractAddress, getCreateAddress({ from: alice.address, nonce }));
  assert.ok((await provider.getCode(receipt.contractAddress)).startsWith('0xefcb'));
  token = new Contract(receipt.contractAddress, abi, alice);
  assert.equal(await token.name(), 'Gold');
  assert.equal(await token.symbol(), 'GLD');
  assert.equal(await token.decimals(), 18n);
  assert.equal(await token.totalSupply(), SUPPLY);
  assert.equal(await token.balanceOf(alice.address), SUPPLY);
});

step('transfer: balances move, the event is found three ways', async () => {
  const receipt = await (await token.transfer(bob.address, 25n * UNIT)).wait();
  assert.equal(await token.balanceOf(bob.address), 25n * UNIT);
  const parsed = token.interface.parseLog(receipt.logs[0]);
  assert.equal(parsed.name, 'Transfer');
  assert.deepEqual([...parsed.args], [alice.address, bob.address, 25n * UNIT]);
  const found = await token.queryFilter(token.filters.Transfer(alice.address, bob.address), receipt.blockNumber);
  assert.equal(found.length, 1);
  assert.equal(found[0].transactionHash, receipt.hash);
  const logs = await provider.getLogs({ blockHash: receipt.blockHash, address: await token.getAddress() });
  assert.equal(logs.length, 1);
});

step('revert: a custom error is decoded from call, estimate and a mined failure', async () => {
  const poor = token.connect(bob);
  for (const attempt of [() => poor.transfer.staticCall(nobody, SUPPLY), () => poor.transfer.estimateGas(nobody, SUPPLY)]) {
    const error = await failure(attempt);
    assert.equal(error.code, 'CALL_EXCEPTION');
    assert.equal(error.revert?.name ?? token.interface.parseError(error.data)?.name, 'ERC20InsufficientBalance');
    const args = error.revert?.args ?? token.interface.parseError(error.data).args;
    assert.deepEqual([...args], [bob.address, 25n * UNIT, SUPPLY]);
  }
  const sent = await poor.transfer(nobody, SUPPLY, { gasLimit: 200_000 });
  const error = await failure(() => sent.wait());
  assert.equal(error.receipt.status, 0);
  assert.ok(error.receipt.gasUsed > 21_000n);
});

step('permit: an EIP-2612 signature gives an allowance', async () => {
  const address = await token.getAddress();
  const types = { Permit: [['owner', 'address'], ['spender', 'address'], ['value', 'uint256'], ['nonce', 'uint256'], ['deadline', 'uint256']].map(([name, type]) => ({ name, type })) };
  const domain = { name: 'Gold', version: '1', chainId: config.chainId, verifyingContract: address };
  const deadline = (await provider.getBlock('latest')).timestamp + 100_000;
  const message = { owner: bob.address, spender: alice.address, value: 7n * UNIT, nonce: await token.nonces(bob.address), deadline };
  const { v, r, s } = Signature.from(await bob.signTypedData(domain, types, message));
  await (await token.permit(bob.address, alice.address, message.value, deadline, v, r, s)).wait();
  assert.equal(await token.allowance(bob.address, alice.address), 7n * UNIT);
  assert.equal(await token.nonces(bob.address), 1n);
  await (await token.transferFrom(bob.address, nobody, 7n * UNIT)).wait();
  assert.equal(await token.balanceOf(nobody), 7n * UNIT);
  const replay = await failure(() => token.permit.staticCall(bob.address, alice.address, message.value, deadline, v, r, s));
  assert.equal(replay.revert?.name, 'ERC2612InvalidSigner');
});

step('subscribe: blocks, logs and pending transactions over WebSocket', async () => {
  const live = new Contract(await token.getAddress(), abi, socket);
  // Subscribing is asynchronous in ethers.
  const subscribed = answers(socket, 'send', 3, (method) => method === 'eth_subscribe');
  const block = new Promise((resolve) => socket.once('block', resolve));
  const pending = new Promise((resolve) => socket.once('pending', resolve));
  const transfer = new Promise((resolve) => live.once('Transfer', (from, to, value, event) => resolve({ from, to, value, event })));
  await subscribed;
  const sent = await token.transfer(bob.address, 1n);
  const receipt = await sent.wait();
  assert.equal(await block, receipt.blockNumber);
  assert.equal(await pending, sent.hash);
  const { from, to, value, event } = await transfer;
  assert.deepEqual([from, to, value], [alice.address, bob.address, 1n]);
  assert.equal(event.log.transactionHash, sent.hash);
});

step('filters: new blocks and logs by polling', async () => {
  const blocks = await provider.send('eth_newBlockFilter', []);
  const logs = await provider.send('eth_newFilter', [{ address: await token.getAddress() }]);
  const receipt = await (await token.transfer(bob.address, 2n)).wait();
  assert.deepEqual(await provider.send('eth_getFilterChanges', [blocks]), [receipt.blockHash]);
  assert.equal((await provider.send('eth_getFilterChanges', [logs]))[0].transactionHash, receipt.hash);
  assert.deepEqual(await provider.send('eth_getFilterChanges', [logs]), []);
  assert.equal(await provider.send('eth_uninstallFilter', [logs]), true);
  assert.equal(await provider.send('eth_uninstallFilter', [logs]), false);
  assert.equal(await provider.send('eth_uninstallFilter', [blocks]), true);
});

step('batch: answers by id; transactions of one batch share a block', async () => {
  const { body } = await post([
    { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] },
    { jsonrpc: '2.0', id: 2, method: 'eth_noSuchMethod', params: [] },
    { jsonrpc: '2.0', id: 3, method: 'eth_blockNumber', params: [] },
  ]);
  assert.equal(body.length, 3);
  const byId = Object.fromEntries(body.map((answer) => [answer.id, answer]));
  assert.equal(BigInt(byId[1].result), BigInt(config.chainId));
  assert.equal(byId[2].error.code, -32601);
  assert.match(byId[2].error.message, /the method eth_noSuchMethod does not exist\/is not available/);

  const raw = await signed(alice, 5);
  const sent = await post(raw.map((tx, id) => ({ jsonrpc: '2.0', id, method: 'eth_sendRawTransaction', params: [tx] })));
  const receipts = await Promise.all(sent.body.map((answer) => provider.waitForTransaction(answer.result)));
  assert.equal(new Set(receipts.map((receipt) => receipt.blockNumber)).size, 1);
});

step('nonces: thirty shuffled transactions sent at once are all mined', async () => {
  const raw = shuffled(await signed(bob, 30));
  const sent = await Promise.all(raw.map((tx) => post({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [tx] })));
  for (const { body } of sent) assert.equal((await provider.waitForTransaction(body.result)).status, 1);
});

step('proof: the account proof starts at the state root', async () => {
  const address = await token.getAddress();
  const block = await provider.send('eth_getBlockByNumber', ['latest', false]);
  const proof = await provider.send('eth_getProof', [address, [toBeHex(2, 32)], block.number]);
  assert.equal(keccak256(proof.accountProof[0]), block.stateRoot);
  assert.equal(keccak256(proof.storageProof[0].proof[0]), proof.storageHash);
  assert.equal(keccak256(await provider.getCode(address)), proof.codeHash);
  assert.equal(BigInt(proof.storageProof[0].value), BigInt(await provider.getStorage(address, 2)));
});

step('trace: the call tracer names the call and its outcome', async () => {
  const receipt = await (await token.transfer(bob.address, 3n)).wait();
  const trace = await provider.send('debug_traceTransaction', [receipt.hash, { tracer: 'callTracer' }]);
  assert.equal(trace.type, 'CALL');
  assert.equal(lower(trace.to), lower(await token.getAddress()));
  assert.equal(BigInt(trace.gasUsed), receipt.gasUsed);
});

step('pool: mining by hand, ready and queued are listed', async () => {
  await provider.send('evm_setAutomine', [false]);
  try {
    const nonce = await alice.getNonce();
    const ready = await alice.sendTransaction({ to: nobody, value: 1n, nonce });
    await alice.sendTransaction({ to: nobody, value: 1n, nonce: nonce + 2 });
    const status = await provider.send('txpool_status', []);
    assert.deepEqual([BigInt(status.pending), BigInt(status.queued)], [1n, 1n]);
    assert.equal(await provider.getTransactionCount(alice.address, 'pending'), nonce + 1);
    assert.equal(await provider.getTransactionReceipt(ready.hash), null);
    const underpriced = await failure(() => alice.sendTransaction({ to: nobody, value: 2n, nonce, maxFeePerGas: ready.maxFeePerGas, maxPriorityFeePerGas: ready.maxPriorityFeePerGas }));
    assert.match(underpriced.message, /replacement transaction underpriced|replacement fee too low/);
    await alice.sendTransaction({ to: nobody, value: 1n, nonce: nonce + 1 });
    await provider.send('evm_mine', []);
    assert.equal(await provider.getTransactionCount(alice.address), nonce + 3);
  } finally {
    await provider.send('evm_setAutomine', [true]);
  }
});

step('snapshot: revert restores balances, height and nonces', async () => {
  const [height, balance, nonce] = [await tip(), await provider.getBalance(nobody), await alice.getNonce()];
  const id = await provider.send('evm_snapshot', []);
  await (await alice.sendTransaction({ to: nobody, value: 5n })).wait();
  assert.equal(await provider.getBalance(nobody), balance + 5n);
  assert.equal(await provider.send('evm_revert', [id]), true);
  assert.deepEqual([await tip(), await provider.getBalance(nobody), await alice.getNonce()], [height, balance, nonce]);
  assert.equal(await provider.send('evm_revert', [id]), false);
});

step('time: increase, and the next timestamp set by hand', async () => {
  const before = (await provider.getBlock('latest')).timestamp;
  await provider.send('evm_increaseTime', [3600]);
  await provider.send('evm_mine', []);
  const after = (await provider.getBlock('latest')).timestamp;
  assert.ok(after >= before + 3600 && after < before + 3700, `${before} to ${after}`);
  await provider.send('evm_setNextBlockTimestamp', [after + 500]);
  await provider.send('evm_mine', []);
  assert.equal((await provider.getBlock('latest')).timestamp, after + 500);
});

step('impersonate: a contract spends its own tokens', async () => {
  const vault = '0x00000000000000000000000000000000000ba1e5';
  await (await token.transfer(vault, 9n)).wait();
  await provider.send('anvil_setBalance', [vault, toBeHex(parseEther('1'))]);
  await provider.send('anvil_impersonateAccount', [vault]);
  const signer = await provider.getSigner(vault);
  await (await token.connect(signer).transfer(bob.address, 9n)).wait();
  assert.equal(await token.balanceOf(vault), 0n);
  await provider.send('anvil_stopImpersonatingAccount', [vault]);
  await failure(() => provider.send('eth_sendTransaction', [{ from: vault, to: nobody, value: '0x1' }]));
});

step('bad input: specific errors, and the node goes on', async () => {
  const poor = Wallet.createRandom(provider);
  const broke = await failure(() => poor.sendTransaction({ to: nobody, value: 1n, gasLimit: 21_000 }));
  assert.equal(broke.code, 'INSUFFICIENT_FUNDS');
  const low = await failure(() => alice.sendTransaction({ to: nobody, value: 1n, nonce: 0 }));
  assert.equal(low.code, 'NONCE_EXPIRED');
  const garbage = await post({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: ['0x02c0ffee'] });
  assert.ok(garbage.body.error.message.length > 0);
  const other = Transaction.from({ type: 2, chainId: 999, nonce: await alice.getNonce(), to: nobody, gasLimit: 21_000, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n });
  other.signature = alice.signingKey.sign(other.unsignedHash);
  const elsewhere = await post({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [other.serialized] });
  assert.match(elsewhere.body.error.message, /chain/i);
  const evm = await failure(() => alice.estimateGas({ data: '0x6080604052' }));
  assert.match(evm.message + JSON.stringify(evm.info ?? {}), /EVM|bytecode|not supported/i);
  assert.ok((await tip()) > 0);
});

function lower(address) {
  return address.toLowerCase();
}

async function signed(wallet, count) {
  const nonce = await wallet.getNonce();
  const { maxFeePerGas, maxPriorityFeePerGas } = await provider.getFeeData();
  const fields = { type: 2, chainId: config.chainId, to: nobody, value: 1n, gasLimit: 21_000, maxFeePerGas: maxFeePerGas * 2n, maxPriorityFeePerGas };
  return Promise.all(Array.from({ length: count }, (_, i) => wallet.signTransaction({ ...fields, nonce: nonce + i })));
}

await run('ethers', () => socket.destroy());
