import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { manifests } from '../../../../src/app/commands/manifests.ts';
import { printedIO } from '../../../support/printed-io.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const CONFIGURATION = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: none.crt, keyFile: none.key } }
upstream: { server: "https://10.0.0.1:6443", credential: { tokenFile: none } }
tenancy: { mode: shared }
authentication:
  jwt:
    - issuer: { url: "https://a.example", audiences: [k] }
      claimMappings:
        username: { claim: sub, prefix: "a:" }
      tenant: { value: a }
`;

async function run(...argv: readonly string[]) {
  const { io, printed } = printedIO();
  const code = await manifests(argv, io);
  return { code, ...printed, objects: code === 0 ? objectsOf(printed.stdout) : [] };
}

function objectsOf(text: string): Record<string, unknown>[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}

/** The resources that may be impersonated. */
function impersonated(objects: readonly Record<string, unknown>[]): string[] {
  const role = objects.find(({ kind }) => kind === 'ClusterRole');
  const rules = Array.isArray(role?.rules) ? role.rules : [];
  return rules.flatMap((rule) => (rule.verbs[0] === 'impersonate' ? rule.resources : []));
}

/** Runs the command with a client certificate in place of the token. Returns the subjects of the binding. */
async function boundFor(
  folder: string,
  ...argv: readonly string[]
): Promise<{ code: number; stderr: string; subjects: unknown }> {
  const text = CONFIGURATION.replace('tokenFile: none', 'certFile: own.crt, keyFile: own.key').concat(
    'bindings: { credential: { certFile: other.crt, keyFile: other.key } }\n',
  );
  await writeFile(join(folder, 'c.yaml'), text);
  const { code, stderr, objects } = await run('rbac', '--config', join(folder, 'c.yaml'), ...argv);
  return { code, stderr, subjects: objects.find(({ kind }) => kind === 'ClusterRoleBinding')?.subjects };
}

const userSubject = (name: string) => [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }];

t.test(
  'the rights of impersonator and provisioner are bound to the user of the client certificate',
  async (t) => {
    const authority = await createAuthority('a test CA');
    for (const name of ['stonegate:proxy', 'o’brien']) {
      const { cert } = await authority.client(name, ['ops']);
      const folder = t.testdir({ 'own.crt': cert, 'other.crt': cert });
      t.same(await boundFor(folder), { code: 0, stderr: '', subjects: userSubject(name) });
      t.match(await boundFor(folder, '--provisioner'), { subjects: userSubject(name) });
      t.match(await boundFor(folder, '--user', 'other'), { subjects: userSubject('other') });
    }
  },
);

t.test(
  'if the certificate does not exist yet, the binding names the default user, and a note says so',
  async (t) => {
    const { code, stderr, subjects } = await boundFor(t.testdir({}));
    t.equal(code, 0);
    t.same(subjects, userSubject('stonegate'));
    t.match(
      stderr,
      /^stonegate manifests: upstream\.credential\.certFile: found no such file: .*own\.crt; the binding is for the user "stonegate": issue the certificate with this common name, or use --user NAME\n$/,
    );
  },
);

t.test('a certificate without exactly one common name is an error', async (t) => {
  const authority = await createAuthority('a test CA');
  for (const cert of ['no certificate', (await authority.client('two\nlines', [])).cert]) {
    const result = await boundFor(t.testdir({ 'own.crt': cert }));
    t.match(result, { code: 1, stderr: /own\.crt holds no client certificate with one common name/ });
  }
});

t.test('an invalid configuration is an error that lists its problems', async (t) => {
  const folder = t.testdir({ 'c.yaml': CONFIGURATION.replace('shared', 'bogus') });
  const { code, stderr } = await run('rbac', '--config', join(folder, 'c.yaml'));
  t.equal(code, 1);
  t.match(
    stderr,
    /^tenancy\.mode \(line 5\): expected "arktos" or "shared", found "bogus"\n.*c\.yaml: 1 problem\n$/,
  );
});

t.test('extra keys of an AuthenticationConfiguration are among the rights', async (t) => {
  const own = CONFIGURATION.replace(/ {2}jwt:.*$/s, '').concat(
    '  configurationFile: auth.yaml\n  tenants: { "https://a.example": { value: a } }\n',
  );
  const auth = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: { url: "https://a.example", audiences: [k] }
  claimMappings:
    username: { claim: sub, prefix: "" }
    extra: [{ key: example.com/team, valueExpression: claims.team }]
`;
  const folder = t.testdir({
    'c.yaml': own,
    'auth.yaml': auth,
    'lone.yaml': own.replace('auth.yaml', 'x.yaml'),
  });
  const { code, objects } = await run('rbac', '--config', join(folder, 'c.yaml'));
  t.equal(code, 0);
  t.ok(impersonated(objects).includes('userextras/example.com/team'));
  t.match(await run('rbac', '--config', join(folder, 'lone.yaml')), {
    code: 1,
    stderr: /^authentication\.configurationFile \(line 7\): expected a file that can be read/,
  });
});

for (const [name, argv] of [
  ['without a subject', []],
  ['with both configuration and mode', ['rbac', '--config', 'x', '--mode', 'shared']],
  ['with a user name that would break a comment', ['rbac', '--mode', 'shared', '--user', 'a\nb']],
  ['with a service account without a namespace', ['rbac', '--mode', 'shared', '--service-account', 'b']],
] as const) {
  t.test(`${name}, the command is a usage error`, async (t) => {
    t.match(await run(...argv), { code: 2, stderr: /See: stonegate manifests --help/ });
  });
}

t.test('two configurations with one credential keep their rights apart by a name', async (t) => {
  const file = join(t.testdir(), 'c.yaml');
  const tls = 'tls: { certFile: c, keyFile: k, clientCAFile: ca }';
  const policy = 'policy: { configMap: { namespace: kube-system, name: rules } }';
  const keystone = '  keystone: { url: "https://keystone.example/v3" }';
  await writeFile(file, `${CONFIGURATION}${keystone}\nwebhook: { ${tls}, ${policy} }\n`);
  const namesOf = async (...words: readonly string[]) => {
    const { objects } = await run('rbac', '--config', file, '--user', 'proxy', ...words);
    return objects.map(({ metadata }) => String(Object(metadata).name).replace(/:proxy$/, ''));
  };
  const rules = 'stonegate-webhook-rules';
  for (const [words, names] of [
    [[], ['stonegate-impersonator', rules]],
    [['--provisioner'], ['stonegate-provisioner']],
  ] as const) {
    const twice = (suffix: string) => names.flatMap((name) => [`${name}${suffix}`, `${name}${suffix}`]);
    t.same(await namesOf(...words), twice(''));
    t.same(await namesOf(...words, '--name', 'edge'), twice('-edge'));
  }
  t.equal((await run('rbac', '--mode', 'shared', '--name', 'a:b')).code, 2);
});
