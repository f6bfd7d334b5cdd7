// Unpacks the packages of unpacked.json, of which contracts are read and nothing is run: what they depend on, hundreds of packages, is not
// installed. Each is what its checksum says, or nothing is unpacked.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const packages = JSON.parse(readFileSync(new URL('unpacked.json', import.meta.url), 'utf8'));
const work = mkdtempSync(join(tmpdir(), 'unpack-'));
try {
  for (const [folder, { package: name, integrity }] of Object.entries(packages)) {
    const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', work, name], { encoding: 'utf8' }).trim();
    const file = join(work, packed);
    const sum = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
    if (sum !== integrity) throw new Error(`${name} is ${sum}, not ${integrity}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xzf', file, '-C', folder, '--strip-components=1']);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
