import t from 'tap';
import { loadConfiguration } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/problem.ts';

/** Everything that is said of a configuration whose files are all missing. */
async function saidOf(yaml: string): Promise<string[]> {
  const missing = Object.assign(new Error('none'), { code: 'ENOENT' });
  const readFile = async (name: string) => {
    if (name.endsWith('stonegate.yaml')) return Buffer.from(yaml);
    throw missing;
  };
  const result = await loadConfiguration('/etc/stonegate/stonegate.yaml', { readFile, env: {} });
  return result.ok ? [] : result.problems.map(formatProblem);
}

const HEAD = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server:
  bind: 127.0.0.1:8443
  tls: { certFile: tls.crt, keyFile: tls.key }
upstream:
  server: https://127.0.0.1:6443
  credential: { tokenFile: token }
tenancy: { mode: arktos }
`;

t.test(
  'fields that are wrong, fields that do not go together and files that are missing are told in one run',
  async (t) => {
    const said = await saidOf(`${HEAD}limits: { perTenant: { perSecond: -1, burst: 1 } }
log: { level: loud }
colour: blue
cache: { redis: { url: { fromEnv: REDIS_URL } } }
authentication: { keystone: { url: "https://keystone.example.com/v3", timeout: soon } }
`);
    for (const expected of [
      /^limits\.perTenant\.perSecond/,
      /^log\.level/,
      /^colour .*is no known key/,
      /^authentication\.keystone\.timeout/,
      /^cache\.sealingKeys/,
      /^server\.tls\.certFile .*expected a file/,
      /^upstream\.credential\.tokenFile .*expected a file/,
      /^cache\.redis\.url\.fromEnv .*REDIS_URL/,
    ]) {
      t.ok(
        said.some((line) => expected.test(line)),
        `${expected}\n${said.join('\n')}`,
      );
    }
  },
);

t.test('what only follows from a wrong field is not told as well', async (t) => {
  const said = await saidOf(`${HEAD}authentication: { keystone: { url: 7 } }\n`);
  t.same(said.filter((line) => line.startsWith('authentication')).length, 1, said.join('\n'));
});

t.test('an entry of a list that is wrong keeps its place: the others keep their paths', async (t) => {
  const jwt = (url: string, extra = '') =>
    `{ issuer: { url: "${url}", audiences: [a] }, claimMappings: { username: { claim: sub, prefix: "x:" } }, tenant: { value: acme }${extra} }`;
  const said = await saidOf(
    `${HEAD}authentication: { jwt: [${jwt('https://one.example.com', ', colour: blue')}, ${jwt('https://two.example.com')}] }\n`,
  );
  t.ok(
    said.some((line) => line.startsWith('authentication.jwt[0].colour')),
    said.join('\n'),
  );
  t.ok(
    said.some((line) => line.startsWith('authentication.jwt[1].claimMappings.username.prefix')),
    said.join('\n'),
  );
});

t.test('where too little is left, the wrong fields are told alone', async (t) => {
  const said = await saidOf('apiVersion: stonegate.dev/v1alpha1\nkind: StonegateConfiguration\nserver: 7\n');
  t.ok(said.length > 1);
  t.ok(said.every((line) => !line.includes('expected a file')));
});
