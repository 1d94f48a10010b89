/** `authentication.clientCertificates`: its defaults, and what it cannot be combined with. */
import t from 'tap';
import { stringify } from 'yaml';
import { loadStonegate } from '../../../src/app/configuration.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { createAuthority } from '../../support/tls/authority.ts';
import { createIssuer } from '../../support/tls/issuer.ts';

const authority = await createAuthority();
const server = await authority.server('localhost');
const company = createIssuer('company');
const branch = company.issuer('branch');

async function load(given: object, { ca = company.cert, tls = {}, keystone = false, mode = 'arktos' } = {}) {
  const text = stringify({
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { tls: { certFile: 'tls.crt', keyFile: 'tls.key', ...tls } },
    upstream: { server: 'https://10.0.0.1:6443', credential: { tokenFile: 'token' } },
    tenancy: { mode, ...(keystone && mode === 'shared' && { domains: { x509: 'certified' } }) },
    authentication: {
      clientCertificates: { caFile: 'clients-ca.crt', ...given },
      ...(keystone && { keystone: { url: 'https://keystone:5000/v3' } }),
    },
  });
  const files: Readonly<Record<string, string>> = {
    'stonegate.yaml': text,
    'tls.crt': server.cert,
    'tls.key': server.key,
    token: 'abc',
    'clients-ca.crt': ca,
  };
  const result = await loadStonegate('/etc/stonegate/stonegate.yaml', {
    env: {},
    readFile: async (name) => Buffer.from(files[name.replace('/etc/stonegate/', '')] ?? ''),
  });
  return {
    problems: result.ok ? [] : result.problems.map(formatProblem),
    settings: result.ok ? result.loaded.configuration.authentication.clientCertificates : undefined,
    ca: result.ok ? result.loaded.file('/etc/stonegate/clients-ca.crt').toString() : undefined,
  };
}

t.test('client certificates suffice as the only source of users, and have defaults', async (t) =>
  t.match(await load({}), {
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
    const { problems } = await load({}, { tls: { clientCAFile: 'clients-ca.crt' } });
    t.match(problems, [
      /^authentication\.clientCertificates \(line \d+\): expected either this or server\.tls\.clientCAFile/,
    ]);
  },
);

t.test('a prefix with which another source could produce the same name is refused', async (t) => {
  const { problems } = await load({ usernamePrefix: '-', groupsPrefix: 'x' }, { keystone: true });
  t.match(problems, [
    /clientCertificates\.usernamePrefix .*ends in ":", .*found none/,
    /clientCertificates\.groupsPrefix .*ends in ":", .*found "x"/,
  ]);
  t.match((await load({ usernamePrefix: 'system:x:' })).problems, [/usernamePrefix .*reserved "system:"/]);
  t.match((await load({}, { keystone: true, mode: 'shared' })).problems, [
    /clientCertificates\.usernamePrefix .*no Keystone domain, found the domain "x509"/,
  ]);
});

t.test('CAs that cannot verify any client certificate are refused', async (t) => {
  const told = async (ca: string) => (await load({}, { ca })).problems;
  t.match(await told(''), [/caFile .*expected certificates in PEM, found none/]);
  t.match(await told(branch.cert), [/caFile .*expected the certificate of a root authority among them/]);
  t.match(await told(company.cert + server.cert), [/caFile .*found that number 2 is none/]);
  t.same(await told(branch.cert + company.cert), []);
});
