/** `authentication.clientCertificates`: its defaults, and what it cannot be combined with. */
import t from 'tap';
import { loadStonegate } from '../../../src/app/configuration.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { configurationText, filesIn } from '../../support/configuration-problems.ts';
import { createAuthority } from '../../support/tls/authority.ts';
import { createIssuer } from '../../support/tls/issuer.ts';

const authority = await createAuthority();
const server = await authority.server('localhost');
const company = createIssuer('company');
const branch = company.issuer('branch');

const KEYSTONE = 'keystone: { url: "https://keystone:5000/v3" }';

/** @param fields of `clientCertificates` */
async function load(fields: string, { ca = company.cert, sources = '', sections = {} } = {}) {
  const text = configurationText({
    server: '{ tls: { certFile: tls.crt, keyFile: tls.key } }',
    authentication: `{ clientCertificates: { caFile: clients-ca.crt, ${fields} }, ${sources} }`,
    ...sections,
  });
  const result = await loadStonegate(
    '/etc/stonegate/stonegate.yaml',
    filesIn({
      ...{ 'stonegate.yaml': text, token: 'abc', 'clients-ca.crt': ca },
      ...{ 'tls.crt': server.cert, 'tls.key': server.key },
    }),
  );
  return {
    problems: result.ok ? [] : result.problems.map(formatProblem),
    settings: result.ok ? result.loaded.configuration.authentication.clientCertificates : undefined,
    ca: result.ok ? result.loaded.file('/etc/stonegate/clients-ca.crt').toString() : undefined,
  };
}

t.test('client certificates suffice as the only source of users, and have defaults', async (t) =>
  t.match(await load(''), {
    problems: [],
    settings: {
      caFile: '/etc/stonegate/clients-ca.crt',
      usernamePrefix: 'x509:',
      groupsPrefix: 'x509:',
      allowSystemTenant: false,
    },
    ca: company.cert,
  }),
);

t.test(
  'client certificates as credentials exclude a certificate that every client must present',
  async (t) => {
    const { problems } = await load('', {
      sections: { server: '{ tls: { certFile: tls.crt, keyFile: tls.key, clientCAFile: clients-ca.crt } }' },
    });
    t.match(problems, [
      /^authentication\.clientCertificates \(line \d+\): expected either this or server\.tls\.clientCAFile/,
    ]);
  },
);

t.test('a prefix with which another source could produce the same name is refused', async (t) => {
  const { problems } = await load('usernamePrefix: "-", groupsPrefix: x', { sources: KEYSTONE });
  t.match(problems, [
    /clientCertificates\.usernamePrefix .*ends in ":", .*found none/,
    /clientCertificates\.groupsPrefix .*ends in ":", .*found "x"/,
  ]);
  t.match((await load('usernamePrefix: "system:x:"')).problems, [/usernamePrefix .*reserved "system:"/]);
  const sections = { tenancy: '{ mode: shared, domains: { x509: certified } }' };
  t.match((await load('', { sources: KEYSTONE, sections })).problems, [
    /clientCertificates\.usernamePrefix .*no Keystone domain, found the domain "x509"/,
  ]);
});

t.test('CAs that cannot verify any client certificate are refused', async (t) => {
  const told = async (ca: string) => (await load('', { ca })).problems;
  t.match(await told(''), [/caFile .*expected certificates in PEM, found none/]);
  t.match(await told(branch.cert), [/caFile .*expected the certificate of a root authority among them/]);
  t.match(await told(company.cert + server.cert), [/caFile .*found that number 2 is none/]);
  t.same(await told(branch.cert + company.cert), []);
});
