/**
 * Certificates that operators create with openssl: by the commands of docs/authentication.md, and with
 * unusual subjects.
 */
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { describeCertificate } from '../../src/server/client-certificates.ts';
import { commandsRunBy } from '../support/page-commands.ts';
import { listenFor, readAll, certificate as served } from '../support/server/listening.ts';

const installed = spawnSync('openssl', ['version']).status === 0;
const skip = installed ? false : 'openssl is not installed: apt-get install openssl';
const DOCUMENT = 'docs/authentication.md';

function openssl(folder: string, words: readonly string[]) {
  const { status, stderr } = spawnSync('openssl', words, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

function authorityIn(t: Test) {
  const folder = t.testdir({});
  const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', 'users-ca.key'];
  openssl(folder, ['req', '-x509', ...key, '-out', 'users-ca.crt', '-subj', '/CN=users', '-days', '10']);
  return folder;
}

t.test('a certificate made by the documented commands is verified', { skip }, async (t) => {
  const folder = t.testdir({});
  const [block = ''] = commandsRunBy('test/integration/openssl-certificates.test.ts', DOCUMENT);
  const [commands = '', kubectl = ''] = block.split(/^(?=kubectl )/m);
  t.match(kubectl, 'set-credentials carol --client-certificate carol.crt --client-key carol.key');
  t.match(commands, /^openssl req -x509 /m, 'a CA and a user');
  const script = spawnSync('bash', ['-e', '-c', commands], { cwd: folder, encoding: 'utf8' });
  t.equal(script.status, 0, script.stderr);
  const file = (name: string) => readFileSync(join(folder, name), 'utf8');
  const listening = await listenFor(
    t,
    async ({ response, clientCertificate }) => {
      response.writeHead(200, []);
      response.end(JSON.stringify(clientCertificate));
    },
    { tls: { ...served, credentialCA: file('users-ca.crt') } },
  );
  const socket = await listening.socket({ cert: file('carol.crt'), key: file('carol.key') });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  t.match(
    await readAll(socket),
    /"verified":true,"commonNames":\["carol"\],"organizations":\["tenant:acme"\],"organizationalUnits":\["dev"\]/,
  );
});

t.test('unusual subjects that openssl writes are read correctly', { skip }, async (t) => {
  const folder = authorityIn(t);
  const read = (subject: string, ...options: string[]) => {
    const key = ['-key', 'users-ca.key', '-out', 'odd.crt', '-days', '10'];
    openssl(folder, ['req', '-x509', '-utf8', ...key, '-subj', subject, ...options]);
    return describeCertificate(new X509Certificate(readFileSync(join(folder, 'odd.crt'))), []);
  };
  t.match(read('/O=tenant:acme+OU=dev/CN=bob', '-multivalue-rdn'), {
    commonNames: ['bob'],
    organizations: ['tenant:acme'],
    organizationalUnits: ['dev'],
  });
  t.match(read('/CN=acme:zoë\\/O=tenant:globex, O=x\nO=y'), {
    commonNames: ['acme:zoë/O=tenant:globex, O=x\nO=y'],
    organizations: [],
  });
  writeFileSync(join(folder, 'latin.cnf'), '[req]\nstring_mask = pkix\ndistinguished_name = dn\n[dn]\n');
  t.match(read('/O=tenant:acme/CN=zoë', '-config', 'latin.cnf'), { commonNames: ['zoë'] }, 'not as UTF-8');
});
