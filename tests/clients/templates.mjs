// Templates with ethers: deployed by the ABI that the service exports, compared with published ABIs, called and refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Contract, ContractFactory, Interface, JsonRpcProvider, Wallet } from 'ethers';
import { config, failure, http } from './harness.mjs';

export const provider = new JsonRpcProvider(http, undefined, { cacheTimeout: -1, pollingInterval: 50, batchStallTime: 0 });

// Estimates gas for the next block. In the one at the tip, for which ethers asks, a checkpoint of votes may be written already: another one
// in the next block takes more gas than its change.
class Account extends Wallet {
  async estimateGas(transaction) {
    const request = provider.getRpcTransaction(await this.populateCall(transaction));
    return BigInt(await provider.send('eth_estimateGas', [request, 'pending']));
  }
}

export const [alice, bob, carol] = config.privateKeys.map((key) => new Account(key, provider));

// What the service lists: names, ABIs and the code that a constructor's parameters follow.
export async function templates() {
  const response = await fetch(`${http}/v1/templates?limit=100`, { headers: { 'x-api-key': config.apiKey } });
  return (await response.json()).data;
}

// The ABI of a compiled contract in an npm package.
export function packagedAbi(path) {
  return JSON.parse(readFileSync(new URL(`node_modules/${path}.json`, import.meta.url), 'utf8')).abi;
}

// The interface of a template, by the service.
export async function interfaceOf(name) {
  return new Interface((await templates()).find((listed) => listed.name === name).abi);
}

// Deploys a template with constructor parameters by name, to be used by this interface or by its own.
export async function deploy(name, values, used) {
  const template = (await templates()).find((listed) => listed.name === name);
  const own = new Interface(template.abi);
  const inputs = own.deploy.inputs.map((input) => values[input.name]);
  const contract = await new ContractFactory(own, template.bytecode, alice).deploy(...inputs);
  assert.equal((await contract.deploymentTransaction().wait()).status, 1);
  return new Contract(await contract.getAddress(), used ?? own, alice);
}

// A function with the types of what it takes and returns, without their names.
export function signature(fragment) {
  const outputs = fragment?.outputs.map((output) => output.format('sighash'));
  return `${fragment?.format('sighash')} ${fragment?.stateMutability} (${outputs})`;
}

// An event with the types of its arguments and which of them are topics.
export function typed(event) {
  return `${event?.name}(${event?.inputs.map((input) => `${input.format('sighash')} ${Boolean(input.indexed)}`)})`;
}

export async function now() {
  return (await provider.getBlock('latest')).timestamp;
}

export async function later(seconds) {
  await provider.send('evm_increaseTime', [seconds]);
  await provider.send('evm_mine', []);
}

export async function blocks(count) {
  for (let block = 0; block < count; block += 1) await provider.send('evm_mine', []);
}

export async function mined(sent) {
  const receipt = await (await sent).wait();
  assert.equal(receipt.status, 1);
  return receipt;
}

// Waits for a transaction, and returns the names of the contract's events in it and the arguments of the last one.
export async function events(contract, sent) {
  const { logs } = await mined(sent);
  const parsed = logs.filter((log) => log.address === contract.target).map((log) => contract.interface.parseLog(log));
  return { names: parsed.map((event) => event.name), last: [...parsed.at(-1).args] };
}

// Calls a function that must be refused with this custom error of the published ABI.
export async function refused(contract, call, name, args) {
  const error = await failure(call);
  assert.equal(error.code, 'CALL_EXCEPTION');
  const revert = error.revert ?? contract.interface.parseError(error.data);
  assert.deepEqual([revert?.name, [...revert.args]], [name, args]);
}
