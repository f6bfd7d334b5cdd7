// The driver of what the service sends out (`outbound.rs`), and named steps that need no node of chainbox.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const LIMIT_MS = 30_000;

// Starts the driver; `line` answers its next line, `say` writes one, `end` answers its exit status and what it wrote as an error.
export function drive(args, env = {}) {
  const driver = process.env.CHAINBOX_OUTBOUND;
  if (!driver) throw new Error('CHAINBOX_OUTBOUND must name the driver: cargo build --all-features --example outbound');
  const child = spawn(driver, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += chunk));
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, errors });
    });
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async line() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`the driver ended: ${JSON.stringify(await ended)}`);
      return value;
    },
    say: (line) => child.stdin.write(`${line}\n`),
    end() {
      child.stdin.end();
      return ended;
    },
  };
}

const steps = [];
export const step = (name, body, limitMs = LIMIT_MS) => steps.push([name, body, limitMs]);

export async function run(client, close = () => {}) {
  let code = 0;
  for (const [name, body, limitMs] of steps) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`step took more than ${limitMs} ms`)), limitMs);
    });
    try {
      await Promise.race([late, body()]);
      console.log(`ok   ${client}: ${name}`);
    } catch (error) {
      console.log(`FAIL ${client}: ${name}`);
      console.log(error);
      code = 1;
      break;
    } finally {
      clearTimeout(timer);
    }
  }
  await close();
  process.exit(code);
}
