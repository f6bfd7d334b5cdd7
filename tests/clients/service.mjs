// Starts the binary as a service of its own, and gathers the mails that it sends.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { SMTPServer } from 'smtp-server';

const binary = process.env.CHAINBOX_BIN;
if (!binary) throw new Error('CHAINBOX_BIN must name the binary of chainbox');

const START_MS = 30_000;
const STOP_MS = 10_000;
// Time for what follows the address on the console.
const SAID_MS = 10_000;
// Time for a mail: the service looks for mails once a second.
const MAIL_MS = 10_000;

// Starts `chainbox ARGS --port PORT` (0: a free one) and waits for its address. `secret` finds a secret that the console shows.
export async function start(args, { port = 0 } = {}) {
  const child = spawn(binary, [...args, '--port', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill('SIGKILL'));
  let said = '';
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const ready = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`chainbox did not come up; it said:\n${said}`)), START_MS);
    const hear = (chunk) => {
      said += chunk;
      const [, address] = /(?:serves|Listening) on (\S+)\n/.exec(said) ?? [];
      if (!address) return;
      clearTimeout(timer);
      resolve(address);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    ended.then(({ code }) => reject(new Error(`chainbox ended with ${code}; it said:\n${said}`)), reject);
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    const { code, signal } = await ended;
    clearTimeout(timer);
    if (code !== 0) throw new Error(`chainbox ended with ${code ?? signal} after SIGTERM; it said:\n${said}`);
  };
  try {
    const url = `http://${await ready}`;
    return {
      url,
      pid: child.pid,
      stop,
      // Ends it as a crash does.
      async kill() {
        child.kill('SIGKILL');
        await ended;
      },
      // The first secret with this prefix; what is printed after the address is waited for.
      async secret(prefix) {
        const pattern = new RegExp(`\\b${prefix}_[0-9a-f]+`);
        for (let waited = 0; waited < SAID_MS; waited += 20) {
          const found = pattern.exec(said);
          if (found) return found[0];
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        throw new Error(`the console shows no ${prefix}_...:\n${said}`);
      },
    };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

// A port that was free a moment ago, for a service that must know its public URL before it starts.
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// A mail server in clear on this machine that keeps what it takes. `link` waits for the link in the mail to an address. `answer` answers
// to the text of a mail; `options` are smtp-server's.
export async function mailServer({ answer = (done) => done(), ...options } = {}) {
  const taken = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    onData(stream, session, done) {
      const chunks = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('end', () => {
        const mail = Buffer.concat(chunks).toString('latin1');
        const [, id] = /^message-id: (\S+)/im.exec(mail) ?? [];
        taken.push({ id, to: session.envelope.rcptTo.map(({ address }) => address), text: decoded(mail) });
        answer(done);
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${server.server.address().port}?tls=none`,
    taken,
    async link(to, limitMs = MAIL_MS) {
      for (let waited = 0; waited < limitMs; waited += 50) {
        const mail = taken.findLast((mail) => mail.to.includes(to));
        if (mail) return linkIn(mail.text);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`no mail to ${to} within ${limitMs / 1000} s`);
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

// Undoes the transfer encoding of a mail of one part.
function decoded(mail) {
  const [head, body] = [mail.slice(0, mail.indexOf('\r\n\r\n')), mail.slice(mail.indexOf('\r\n\r\n') + 4)];
  if (/^content-transfer-encoding: base64/im.test(head)) return Buffer.from(body, 'base64').toString();
  if (!/^content-transfer-encoding: quoted-printable/im.test(head)) return body;
  const plain = body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(plain, 'latin1').toString();
}

export function linkIn(text) {
  const [link] = /^http\S+\?token=\S+/m.exec(text) ?? [];
  if (!link) throw new Error(`no link with a token in: ${text}`);
  return link;
}
