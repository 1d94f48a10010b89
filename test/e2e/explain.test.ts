/** Why was a user refused? `stonegate whoami` and `stonegate explain` against the whole program. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { explainWith } from '../../src/app/commands/explain.ts';
import { explain } from '../../src/cli/explain.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';
import { startStonegate } from '../support/stonegate.ts';
import type { Mode } from '../support/testbed.ts';

const SELF = '/apis/stonegate.dev/v1alpha1/selfidentity';
const EXPLANATIONS = '/apis/stonegate.dev/v1alpha1/explanations';
const EXPLAINER = [rule('create', 'explanations', 'stonegate.dev')];

async function setUp(t: Test, mode: Mode = 'arktos') {
  const folder = t.testdir();
  const stonegate = await startStonegate(t, { folder, mode });
  const files = {
    alice: stonegate.keystoneToken('alice'),
    bob: stonegate.keystoneToken('bob'),
    carol: await stonegate.provider.idToken('carol'),
    garbage: 'no-token-of-anybody',
  };
  for (const [name, token] of Object.entries(files)) await writeFile(join(folder, name), `${token}\n`);
  const file = (name: keyof typeof files) => join(folder, name);
  const server = ['--server', stonegate.url, '--ca-file', join(folder, 'ca.crt')];
  return { ...stonegate, folder, file, server, tokens: files };
}

const run = (...argv: string[]) => printedBy(explain, argv, explainWith);

for (const mode of ['arktos', 'shared'] as const) {
  t.test(`${mode}: every user may ask whoami, and no request reaches the API server`, async (t) => {
    const { ask, tokens, apiServer } = await setUp(t, mode);
    const before = apiServer.requests.length;
    const { status, json } = await ask(tokens.alice, SELF);
    t.equal(status, 200);
    t.match(
      json(),
      parse(`
      kind: SelfIdentity
      status:
        user: {username: acme:alice}
        tenant: acme
        authenticator: keystone
        scope: {kind: project, name: web}
        roles: [member]`),
    );
    t.match((await ask(tokens.carol, SELF)).json(), { status: { authenticator: 'jwt', tenant: 'acme' } });
    t.equal((await ask(undefined, SELF)).status, 401);
    t.equal((await ask(tokens.alice, SELF, { method: 'DELETE' })).status, 405);
    t.equal((await ask(tokens.alice, '/apis/stonegate.dev/v1alpha1/pods')).status, 404);
    t.same(
      apiServer.requests.slice(before).filter(({ url }) => url.includes('stonegate.dev')),
      [],
    );
  });

  t.test(`${mode}: explain predicts from a configuration file what then happens`, async (t) => {
    const { configFile, file, ask, tokens } = await setUp(t, mode);
    const namespace = mode === 'arktos' ? 'default' : 'acme';
    const words = ['get', 'pods', '-n', namespace, '--token-file', file('alice'), '--config', configFile];
    const { code, stdout, stderr } = await run(...words, '-o', 'json');
    t.same([code, stderr], [0, '']);
    const { status } = JSON.parse(stdout);
    t.match(status, { outcome: 'forwarded', tenant: 'acme', user: { username: 'acme:alice' } });
    t.match(status.stages.at(-1), { name: 'accessReview', decision: 'passed' });
    t.equal((await ask(tokens.alice, `/api/v1/namespaces/${namespace}/pods`)).status, 200);
  });

  t.test(
    `${mode}: a user without the right to create explanations gets none from a running Stonegate`,
    async (t) => {
      const { server, file } = await setUp(t, mode);
      const words = ['get', 'nodes', '--token-file', file('alice'), ...server];
      const refused = await run(...words, '--admin-token-file', file('bob'));
      t.equal(refused.code, 1);
      t.match(
        refused.stderr,
        /cannot create resource "explanations" in API group "stonegate.dev" at the cluster/,
      );
      t.equal(refused.stdout, '');
    },
  );
}

t.test(
  'a user who may create explanations can have requests of others explained, and no token is logged',
  async (t) => {
    const { server, file, apiServer, logged, audited, tokens } = await setUp(t, 'shared');
    apiServer.seed.clusterRole('explainer', EXPLAINER);
    apiServer.seed.clusterRoleBinding('explainers', 'explainer', ['user:globex:bob']);
    const words = ['get', 'nodes', '--token-file', file('alice'), ...server];
    const { code, stdout, stderr } = await run(...words, '--admin-token-file', file('bob'));
    t.equal(code, 0, stderr);
    t.match(stdout, /^accessReview +REFUSED +the API server will answer 403/m);
    t.match(stdout, /^Outcome +forwarded, and refused by the API server$/m);
    const written = [...logged, JSON.stringify(await audited())].join('\n');
    t.match(written, EXPLANATIONS);
    for (const token of [tokens.alice, tokens.bob]) t.notOk(written.includes(token));
  },
);

t.test(
  'arktos: not even a wildcard in the user’s own tenant is the right to create explanations',
  async (t) => {
    const { server, file } = await setUp(t);
    const words = ['get', 'pods', ...server, '--admin-token-file', file('alice')];
    t.equal((await run(...words)).code, 1);
  },
);

t.test('arktos: an administrator of the system tenant may create explanations', async (t) => {
  const { keystone, apiServer, configure, app, server, folder, file } = await setUp(t);
  await configure({ tenancy: { domains: { Operators: 'system' } } });
  await app.reload();
  const { directory } = keystone;
  const project = directory.project('Operators', 'ops');
  const oscar = directory.user('Operators', 'oscar');
  directory.assign(oscar, 'admin', { project });
  await writeFile(join(folder, 'oscar'), keystone.issue(oscar, { project }));
  apiServer.seed.clusterRole('explainer', EXPLAINER);
  apiServer.seed.clusterRoleBinding('explainers', 'explainer', ['user:system:stonegate:oscar']);
  const words = ['get', 'pods', '--token-file', file('carol'), ...server, '--admin-token-file'];
  const { code, stdout, stderr } = await run(...words, join(folder, 'oscar'));
  t.equal(code, 0, stderr);
  t.match(stdout, /^User +acme:oidc:carol@acme.example$/m);
  t.match(stdout, /^Path +\/api\/v1\/tenants\/acme\/namespaces\/default\/pods$/m);
});

t.test('a refusal is explained with its stage and the cause that the client does not see', async (t) => {
  const { configFile, file, keystone, tokens } = await setUp(t);
  const explain = (...words: string[]) => run(...words, '--config', configFile);
  const other = await explain('--path', '/api/v1/tenants/globex/pods', '--token-file', file('alice'));
  t.match(other.stdout, /^authorize +REFUSED/m);
  t.match(other.stdout, /^ {2}tenant-boundary +REFUSED/m);
  t.match(other.stdout, /^Outcome +refused by authorize$/m);

  const garbage = await explain('get', 'pods', '--token-file', file('garbage'));
  t.match(garbage.stdout, /^ {2}keystone +passed on +not its kind of credential: it takes Keystone tokens/m);
  t.match(garbage.stdout, /^Answer +401 CredentialInvalid: Unauthorized$/m);

  keystone.revoke(tokens.alice);
  const revoked = await explain('get', 'pods', '--token-file', file('alice'));
  t.match(revoked.stdout, /^Cause +Keystone does not vouch for the token$/m);

  const without = await explain('get', 'pods');
  t.match(without.stdout, /^Answer +401 CredentialMissing/m);
  for (const { code, stdout } of [other, garbage, revoked, without]) {
    t.equal(code, 0, 'the command succeeds if it explains a refusal');
    for (const token of Object.values(tokens)) t.notOk(stdout.includes(token));
  }
});
