/** `stonegate whoami` with kubectl's credentials: by certificate, by password, and with both. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hash } from '@node-rs/bcrypt';
import t, { type Test } from 'tap';
import { whoami } from '../../src/cli/whoami.ts';
import { printedBy } from '../support/printed-io.ts';
import { startStonegate } from '../support/stonegate.ts';
import { createIssuer } from '../support/tls/issuer.ts';

const company = createIssuer('company');

/** @returns a function that runs the command with a kubeconfig of the given user */
async function setUp(t: Test) {
  const folder = t.testdir({
    'people-ca.crt': company.cert,
    'passwords.csv': `${await hash('erins password', 4)},erin,42,,globex\n`,
  });
  const stonegate = await startStonegate(t, {
    folder,
    configuration: {
      authentication: {
        clientCertificates: { caFile: 'people-ca.crt' },
        basicAuthFile: { file: 'passwords.csv' },
      },
    },
  });
  return async (user: object) => {
    const config = {
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: stonegate.url, 'certificate-authority': 'ca.crt' } }],
      users: [{ name: 'u', user }],
    };
    await writeFile(join(folder, 'config'), JSON.stringify(config));
    return printedBy(whoami, ['--kubeconfig', join(folder, 'config')], {});
  };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

t.test('whoami authenticates by certificate or by password, but not by both', async (t) => {
  const whoamiAs = await setUp(t);
  const { cert, key } = company.issue([
    ['O', 'tenant:acme'],
    ['CN', 'carol'],
  ]);
  const certificate = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
  t.match(await whoamiAs(certificate), { code: 0, stdout: /^User +acme:x509:carol$/m });
  const erin = await whoamiAs({ username: 'erin', password: 'erins password' });
  t.match(erin, { code: 0, stdout: /^User +globex:basic:erin$/m });
  t.notMatch(erin.stdout, /Until/, 'a user of a file has no expiry');
  t.match(await whoamiAs({ username: 'erin', password: 'guess' }), { code: 1, stderr: /Unauthorized/ });
  const both = await whoamiAs({ ...certificate, username: 'erin', password: 'erins password' });
  t.match(both, { code: 1, stderr: /more than one credential/ }, 'as kubectl would be refused');
});
