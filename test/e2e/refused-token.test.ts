/**
 * The commands say why a token is refused, as far as the token itself shows it; the server's 401 does not.
 * Each refusal has the audit ID by which the operator finds the rest.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { access } from '../../src/cli/access.ts';
import { whoami } from '../../src/cli/whoami.ts';
import { SELF_IDENTITY_PATH } from '../../src/features/explain/stonegate-v1alpha1.ts';
import { readJSONObject } from '../../src/lib/json-object.ts';
import { freePort } from '../support/free-port.ts';
import { loginKubeconfig, runLogin } from '../support/login-process.ts';
import { printedBy } from '../support/printed-io.ts';
import { startStonegate } from '../support/stonegate.ts';

const folder = t.testdir();
const stonegate = await startStonegate(t, { folder, portal: { port: await freePort() } });
const { url, ask, keystone, provider, authority } = stonegate;
const CA = join(folder, 'ca.crt');
const SERVER = ['--server', url, '--ca-file', CA];
const { issuer, clientID } = provider;
const MINUTE = 60;
const now = Math.floor(Date.now() / 1_000);

/** A token that no issuer has signed. */
function forged(claims: object) {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256', kid: 'x' })}.${part({ sub: 'carol', ...claims })}.${'A'.repeat(342)}`;
}

function runWith(token: string, command = whoami) {
  const file = join(folder, 'token');
  writeFileSync(file, token);
  return printedBy(command, [...SERVER, '--token-file', file]);
}

const alive = { iss: issuer, aud: clientID, exp: now + MINUTE };
const named = `The token is of the issuer ${issuer}, for ${clientID}.`;
const REFUSED = [
  [
    'expired',
    forged({ ...alive, exp: now - MINUTE }),
    [`The token expired at ${new Date((now - MINUTE) * 1_000).toISOString()}: log in again.`],
  ],
  [
    'of an unknown issuer',
    forged({ ...alive, iss: 'https://login.other.example', aud: ['a', 'b'] }),
    [
      'The token is of the issuer https://login.other.example, for a, b.',
      `The server names other issuers: ${issuer}`,
    ],
  ],
  [
    'of another audience',
    forged({ ...alive, aud: 'grafana' }),
    [
      `The token is of the issuer ${issuer}, for grafana.`,
      `The server names another client of this issuer: ${clientID}`,
    ],
  ],
  ['forged', forged(alive), [named, 'The server names both, and the token has not expired.']],
  ['opaque', 'gAAAAABunknown', []],
] as const;
for (const [what, token, lines] of REFUSED)
  t.test(`whoami says what it can about a token that is ${what}`, async (t) => {
    const { code, stdout, stderr } = await runWith(token);
    t.match({ code, stdout }, { code: 1, stdout: '' });
    const [first, ...others] = stderr.trimEnd().split('\n');
    const last = others.pop() ?? '';
    t.equal(first, 'stonegate whoami: Unauthorized (401)');
    t.same(others, lines);
    t.match(last, /^Audit-ID: [0-9a-f-]{36}$/);
    t.ok(stderr.split('\n').every((line) => line.length <= 80));
    const audited = (await stonegate.audited()).find(({ auditID }) => last.endsWith(auditID));
    t.equal(audited?.requestURI, SELF_IDENTITY_PATH);
    const { body } = await ask(token, SELF_IDENTITY_PATH);
    t.equal(readJSONObject(body)?.message, 'Unauthorized', 'the server gives no reason');
  });

t.test('other commands say it too, and a token cannot send escape sequences to the terminal', async (t) => {
  const { code, stderr } = await runWith(forged({ ...alive, aud: '\u001b[2J' }), access);
  t.match({ code, stderr }, { code: 1, stderr: `${issuer}, for \ufffd[2J.\n` });
  t.match(stderr, /^Audit-ID: /m);
});

t.test('a refusal other than a 401 is printed with the audit ID alone', async (t) => {
  const file = join(folder, 'alice');
  writeFileSync(file, stonegate.keystoneToken('alice'));
  const { code, stderr } = await printedBy(
    whoami,
    [...SERVER, '--token-file', file, '--as', 'system:admin'],
    {},
  );
  t.equal(code, 1);
  t.match(stderr, /\(403\)\nAudit-ID: [0-9a-f-]{36}\n$/);
});

t.test('for a revoked Keystone token, the command says that it has not expired', async (t) => {
  const env = {
    ...{ HOME: folder, OS_AUTH_URL: keystone.url, OS_CACERT: CA, OS_PASSWORD: 'alice-pass' },
    ...{ OS_USERNAME: 'alice', OS_USER_DOMAIN_NAME: 'acme' },
    ...{ OS_PROJECT_NAME: 'web', OS_PROJECT_DOMAIN_NAME: 'acme' },
  };
  const { stdout } = await runLogin(['--keystone'], env);
  keystone.revoke(JSON.parse(stdout).status.token);
  const config = join(folder, 'config');
  writeFileSync(config, loginKubeconfig({ server: url, ca: authority.cert, words: ['--keystone'], env }));
  const { code, stderr } = await printedBy(whoami, ['--kubeconfig', config], {});
  t.equal(code, 1);
  t.match(
    stderr,
    '(401)\nThe token has not expired; it may have been revoked. Run stonegate logout.\nAudit-ID',
  );
  t.equal((await runLogin([], env, 'logout')).code, 0);
  t.match(await printedBy(whoami, ['--kubeconfig', config], {}), { code: 0, stdout: 'acme:alice' });
});
