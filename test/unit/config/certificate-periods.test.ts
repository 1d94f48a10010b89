/**
 * Certificates that have expired or are not valid yet: each is reported with the field that names
 * its file.
 */
import t from 'tap';
import { loadStonegate } from '../../../src/app/configuration.ts';
import { certificatesOutOfPeriod } from '../../../src/config/certificate-periods.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { configurationText, filesIn } from '../../support/configuration-problems.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const FROM = new Date('2030-01-01T00:00:00Z');
const UNTIL = new Date('2031-01-01T00:00:00Z');
const BEFORE = new Date('2029-12-31T23:59:59Z').getTime();
const DURING = new Date('2030-06-01T00:00:00Z').getTime();
const AFTER = UNTIL.getTime() + 1_000;

const authority = await createAuthority();
const server = await authority.server('localhost', [], { notBeforeDate: FROM, notAfterDate: UNTIL });
const older = await authority.server('older', [], { notBeforeDate: new Date(0), notAfterDate: FROM });

const TLS = 'certFile: tls.crt, keyFile: tls.key';

async function said(now: number, { certificates = server.cert, sections = {}, rest = '' } = {}) {
  const files = filesIn({
    'stonegate.yaml': configurationText({ server: `{ tls: { ${TLS} } }`, ...sections }, rest),
    'tls.crt': certificates,
    'tls.key': server.key,
    'ca.crt': authority.cert,
    token: 'abc',
  });
  const result = await loadStonegate('/etc/stonegate/stonegate.yaml', files);
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join('\n'));
  return certificatesOutOfPeriod(result.loaded, now).map(formatProblem);
}

const refused = 'peers that verify it refuse the connection';

t.test('a certificate that is not currently valid is reported, also further up in the chain', async (t) => {
  t.same(await said(FROM.getTime()), []);
  t.same(await said(AFTER - 1), []);
  t.same(await said(AFTER), [
    `server.tls.certFile: the certificate has expired at 2031-01-01T00:00:00.000Z: ${refused}`,
  ]);
  t.same(await said(BEFORE), [
    `server.tls.certFile: the certificate is not valid before 2030-01-01T00:00:00.000Z: ${refused}`,
  ]);
  t.same(await said(DURING, { certificates: `${server.cert}\n${older.cert}` }), [
    `server.tls.certFile: certificate number 2 of the chain has expired at 2030-01-01T00:00:00.000Z: ${refused}`,
  ]);
});

t.test(
  'certificates of the portal, of the webhook and for the API server are reported with their fields',
  async (t) => {
    const secret = 'applicationCredential: { id: a, secret: { fromFile: token } }';
    const sections = {
      upstream: `{ server: "https://10.0.0.1:6443", credential: { ${TLS} } }`,
      authentication: `{ keystone: { url: "https://keystone:5000/v3", serviceCredential: { ${secret} } } }`,
      webhook: `{ tls: { ${TLS}, clientCAFile: ca.crt } }`,
    };
    const rest = `portal:
  publicURL: https://login.example.com
  tls: { ${TLS} }
  kubernetes: { server: "https://k8s.example.com:8443", caFile: ca.crt }
  keystone: {}
`;
    const fields = (await said(AFTER, { sections, rest })).map((line) => line.split(':')[0]);
    t.same(fields, [
      'server.tls.certFile',
      'upstream.credential.certFile',
      'portal.tls.certFile',
      'webhook.tls.certFile',
    ]);
  },
);
