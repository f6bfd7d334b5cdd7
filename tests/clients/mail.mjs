// Mails through a server of SMTP that others wrote (smtp-server, of nodemailer): in clear on this machine, by STARTTLS and over TLS, with and
// without credentials. The certificate is made by openssl.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { drive, run, step } from './outside.mjs';

const folder = mkdtempSync(join(tmpdir(), 'chainbox-mail-'));
const [key, cert, config] = ['key.pem', 'cert.pem', 'openssl.cnf'].map((name) => join(folder, name));
writeFileSync(config, '[req]\ndistinguished_name=dn\nx509_extensions=v3\n[dn]\n[v3]\nbasicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:localhost\n');
execFileSync(
  'openssl',
  ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost']
    .concat(['-config', config, '-keyout', key, '-out', cert]),
  { stdio: 'ignore' },
);

const servers = [];

// A server on a free port that keeps what it takes.
async function serve(options) {
  const taken = [];
  const server = new SMTPServer({
    key: readFileSync(key),
    cert: readFileSync(cert),
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    onData(stream, session, done) {
      const chunks = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('end', () => {
        const { envelope, secure, user, hostNameAppearsAs } = session;
        taken.push({ text: Buffer.concat(chunks).toString(), envelope, secure, user, hello: hostNameAppearsAs });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return { port: server.server.address().port, taken };
}

async function send(url, { to = 'bob@example.org', roots = [cert], credentials } = {}) {
  const driver = drive(['mail', url, to, ...roots], credentials ? { OUTBOUND_SMTP_CREDENTIALS: credentials } : {});
  const report = JSON.parse(await driver.line());
  assert.deepEqual(await driver.end(), { code: 0, errors: '' });
  return report;
}

const fine = { sent: 1, postponed: 0, undeliverable: 0, failure: null };

step('a mail arrives as it was written', async () => {
  const { port, taken } = await serve({ disabledCommands: ['STARTTLS', 'AUTH'] });
  assert.deepEqual(await send(`smtp://127.0.0.1:${port}?tls=none`), fine);
  const [{ text, envelope, hello, secure }] = taken;
  assert.equal(taken.length, 1);
  assert.deepEqual([envelope.mailFrom.address, envelope.rcptTo.map(({ address }) => address)], ['noreply@chainbox.test', ['bob@example.org']]);
  assert.deepEqual([hello, secure], ['chainbox.test', false]);
  assert.match(text, /^Message-ID: <msg_0000000000000001\.-\.\d+@chainbox\.test>\r$/m);
  assert.match(text, /^Auto-Submitted: auto-generated\r$/m);
  // The two parts, decoded by their transfer encodings.
  const parts = [...text.matchAll(/Content-Transfer-Encoding: ([\w-]+)\r\n\r\n([^]*?)\r\n--/g)].map(([, encoding, body]) =>
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : Buffer.from(body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16))), 'latin1').toString(),
  );
  assert.equal(parts.length, 2, text);
  assert.equal(parts[0].replaceAll('\r\n', '\n'), 'Grüße.\n\n.A line that begins with a dot\nhttps://chainbox.test/?token=1234567890');
  assert.equal(parts[1], '<p>Grüße</p>');
});

const authentication = {
  authOptional: false,
  onAuth({ username, password }, _, done) {
    if (username === 'chainbox' && password === 'pass:wörd') done(null, { user: username });
    else done(new Error('Invalid username or password'));
  },
};

for (const [name, scheme, options] of [
  ['STARTTLS', 'smtp', {}],
  ['TLS', 'smtps', { secure: true }],
]) {
  for (const authMethods of [['PLAIN'], ['LOGIN']]) {
    step(`credentials go over ${name} by ${authMethods}`, async () => {
      const { port, taken } = await serve({ ...options, ...authentication, authMethods });
      assert.deepEqual(await send(`${scheme}://localhost:${port}`, { credentials: 'chainbox:pass:wörd' }), fine);
      assert.deepEqual([taken[0].secure, taken[0].user], [true, 'chainbox']);
    });
  }

  step(`a certificate of nobody known ends ${name}`, async () => {
    const { port, taken } = await serve({ ...options, ...authentication });
    const report = await send(`${scheme}://localhost:${port}`, { roots: [], credentials: 'chainbox:pass:wörd' });
    assert.deepEqual([report.sent, report.postponed, taken.length], [0, 1, 0]);
    assert.match(report.failure, /certificate/);
  });
}

step('wrong credentials are told without being repeated', async () => {
  const { port } = await serve({ ...authentication, secure: true });
  const report = await send(`smtps://localhost:${port}`, { credentials: 'chainbox:hunter2' });
  assert.equal(report.postponed, 1);
  assert.match(report.failure, /535/);
  assert.ok(!report.failure.includes('hunter2'), report.failure);
});

step('a server without STARTTLS gets nothing in clear', async () => {
  const { port, taken } = await serve({ disabledCommands: ['STARTTLS'] });
  const report = await send(`smtp://localhost:${port}`);
  assert.deepEqual([report.postponed, taken.length], [1, 0]);
  assert.match(report.failure, /offers no STARTTLS/);
});

step('a recipient who is unknown or full is told apart', async () => {
  const { port, taken } = await serve({
    onRcptTo({ address }, _, done) {
      done(Object.assign(new Error('no'), { responseCode: address.startsWith('full') ? 452 : 550 }));
    },
  });
  const url = `smtp://127.0.0.1:${port}?tls=none`;
  const [unknown, full] = [await send(url, { to: 'unknown@example.org' }), await send(url, { to: 'full@example.org' })];
  assert.deepEqual([unknown.undeliverable, full.postponed, taken.length], [1, 1, 0]);
});

await run('smtp-server', async () => {
  rmSync(folder, { recursive: true });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});
