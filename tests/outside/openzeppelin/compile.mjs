// Compiles contracts/ with solc over @openzeppelin/contracts and prints the path of the result: one JSON file with ABI, creation code and
// storage layout of each contract. Its name is the hash of all that decides it, so that unchanged contracts are not compiled again.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const at = (path) => new URL(path, import.meta.url);
const read = (path) => readFileSync(at(path), 'utf8');

const sources = Object.fromEntries(
  readdirSync(at('contracts'), { recursive: true })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.sol'))
    .sort()
    .map((path) => [`contracts/${path}`, { content: read(`contracts/${path}`) }]),
);

const deployed = ['VestingWallet', 'TimelockController', 'ERC2771Forwarder'];

const input = {
  language: 'Solidity',
  sources,
  settings: {
    // The fork of revm in ../tests/openzeppelin.
    evmVersion: 'osaka',
    optimizer: { enabled: true, runs: 200 },
    metadata: { appendCBOR: false, bytecodeHash: 'none' },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'storageLayout'] } },
  },
};

// Uniswap's published bytecode, which is run as it is. Its packages have no storage layout: that of the published sources is made by the
// compiler that they name.
const published = {
  '@uniswap/v2-core': ['UniswapV2Factory', 'UniswapV2Pair'],
  '@uniswap/v2-periphery': ['UniswapV2Router02', 'WETH9'],
};
const NO_STORAGE = { storage: [], types: {} };

const hash = createHash('sha256');
for (const part of [JSON.stringify(input), read('compile.mjs'), read('package-lock.json'), read('unpacked.json')]) hash.update(part);
const result = at(`out/${hash.digest('hex').slice(0, 16)}.json`);
if (!existsSync(result)) compile();
console.log(result.pathname);

function compile() {
  const started = Date.now();
  const require = createRequire(import.meta.url);
  const solc = require('solc');
  const imports = (path) => {
    try {
      return { contents: readFileSync(require.resolve(path), 'utf8') };
    } catch (error) {
      return { error: String(error) };
    }
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: imports }));
  // Aave's sources were written for an older compiler, which warned of less.
  const isOld = ({ severity, sourceLocation }) => severity === 'warning' && sourceLocation?.file.startsWith('@aave/');
  const problems = (output.errors ?? []).filter((problem) => problem.severity !== 'info' && !isOld(problem));
  for (const { formattedMessage } of problems) console.error(formattedMessage);
  if (problems.length > 0) process.exit(1);

  const contracts = {};
  for (const [path, found] of Object.entries(output.contracts)) {
    for (const [name, { abi, evm, storageLayout }] of Object.entries(found)) {
      if (!path.startsWith('contracts/') && !deployed.includes(name)) continue;
      contracts[name] = { abi, creationCode: evm.bytecode.object, storageLayout };
    }
  }
  const layouts = layoutsOfUniswap(require);
  contracts.StakingRewards = stakingRewards(require);
  contracts.MultiSigWallet = multiSigWallet(require);
  for (const [name, contractNames] of Object.entries(published)) {
    for (const contract of contractNames) {
      const { abi, evm } = require(`${name}/build/${contract}.json`);
      contracts[contract] = { abi, creationCode: evm.bytecode.object, storageLayout: layouts[contract] ?? NO_STORAGE };
    }
  }
  // What earlier sources gave.
  rmSync(at('out'), { recursive: true, force: true });
  mkdirSync(at('out'), { recursive: true });
  const unfinished = at(`out/unfinished-${process.pid}`);
  writeFileSync(unfinished, JSON.stringify({ compiler: solc.version(), contracts }));
  renameSync(unfinished, result);
  console.error(`solc ${solc.version()}: ${Object.keys(contracts).length} contracts in ${Math.round((Date.now() - started) / 1000)} s`);
}

// Returns the layouts of Uniswap's core contracts by name.
function layoutsOfUniswap(require) {
  const root = '@uniswap/v2-core/contracts';
  const folder = new URL(`node_modules/${root}/`, import.meta.url);
  const paths = readdirSync(folder, { recursive: true }).map((path) => path.replaceAll('\\', '/')).filter((path) => path.endsWith('.sol'));
  const content = (path) => ({ content: readFileSync(new URL(path, folder), 'utf8') });
  const files = compileBefore08(require, Object.fromEntries(paths.map((path) => [`${root}/${path}`, content(path)])));
  return Object.fromEntries(Object.values(files).flatMap(Object.entries).map(([name, { storageLayout }]) => [name, withTypes(storageLayout)]));
}

// Returns Synthetix' contract, compiled by the version of solc that it names.
function stakingRewards(require) {
  const path = 'synthetix/contracts/StakingRewards.sol';
  const files = compileBefore08(require, { [path]: { content: read(`node_modules/.unpacked/${path}`) } });
  const { abi, evm, storageLayout } = files[path].StakingRewards;
  return { abi, creationCode: evm.bytecode.object, storageLayout: withTypes(storageLayout) };
}

// Returns Gnosis' contract as 0x publishes it, unchanged and compiled by solc 0.4.25. Compilers of that age tell no layout: that of its
// variables, which are the same text to a later one, is made by this.
function multiSigWallet(require) {
  const root = 'node_modules/.unpacked/contracts-multisig';
  const { abi, evm } = JSON.parse(read(`${root}/generated-artifacts/MultiSigWallet.json`)).compilerOutput;
  const source = read(`${root}/contracts/multisig/MultiSigWallet.sol`);
  const variables = /mapping \(uint => Transaction\) public transactions;[^]*?struct Transaction {[^]*?}/.exec(source)[0];
  const files = compileBefore08(require, { 'Variables.sol': { content: `pragma solidity 0.5.16; contract Variables { ${variables} }` } });
  const { storageLayout } = files['Variables.sol'].Variables;
  return { abi, creationCode: evm.bytecode.object.replace(/^0x/, ''), storageLayout: withTypes(storageLayout) };
}

function compileBefore08(require, sources) {
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'storageLayout'] } },
    },
  };
  const imports = (path) => ({ contents: read(`node_modules/.unpacked/${path}`) });
  const output = JSON.parse(require('solc-0.5.16').compile(JSON.stringify(input), imports));
  const problems = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  for (const { formattedMessage } of problems) console.error(formattedMessage);
  if (problems.length > 0) process.exit(1);
  return output.contracts;
}

// A contract without variables has no types.
function withTypes(storageLayout) {
  return { ...storageLayout, types: storageLayout.types ?? {} };
}
