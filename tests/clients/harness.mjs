// Reads what `chainbox dev --config-out` wrote, and runs named steps one after the other: each prints a line, the first
// failure ends the process with its reason.
import { readFileSync } from 'node:fs';

export const config = JSON.parse(readFileSync(process.argv[2] ?? process.env.CHAINBOX_CONFIG, 'utf8'));
export const http = config.urls.http;
export const ws = config.urls.ws;

const STEP_LIMIT_MS = 30_000;
const steps = [];

export function step(name, run) {
  steps.push([name, run]);
}

// Runs all steps, then `close`, and ends the process: an open subscription must not keep it alive.
export async function run(client, close = () => {}) {
  let code = 0;
  for (const [name, body] of steps) {
    try {
      await within(STEP_LIMIT_MS, `step took more than ${STEP_LIMIT_MS} ms`, body());
      console.log(`ok   ${client}: ${name}`);
    } catch (error) {
      console.log(`FAIL ${client}: ${name}`);
      console.log(error);
      code = 1;
      break;
    }
  }
  await close();
  process.exit(code);
}

export function within(ms, message, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// One JSON-RPC body (an object or a batch), sent as it is.
export async function post(body) {
  const response = await fetch(http, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

// Calls `attempt`, which must fail, and hands back its error.
export async function failure(attempt) {
  let value;
  try {
    value = await attempt();
  } catch (error) {
    return error;
  }
  throw new Error(`expected a failure, got ${String(value)}`);
}

// Waits until so many calls of a client's method have been answered, of those from now on that count.
export function answers(client, name, count, counts = () => true) {
  const method = client[name];
  let left = count;
  return new Promise((resolve) => {
    client[name] = async (...args) => {
      const answer = await method.apply(client, args);
      if (counts(...args) && (left -= 1) === 0) {
        client[name] = method;
        resolve();
      }
      return answer;
    };
  });
}

// A small generator, so that a shuffled order is the same in every run.
export function shuffled(list, seed = 7) {
  const out = [...list];
  let state = seed;
  for (let i = out.length - 1; i > 0; i--) {
    state = (state * 1103515245 + 12345) % 2147483648;
    const j = state % (i + 1);
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}
