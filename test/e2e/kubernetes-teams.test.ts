/**
 * Teams at a real kube-apiserver: members have the rights of their team as soon as they are in it, and only
 * users with the right to change a team can change it.
 */
import t from 'tap';
import { teams as teamsCommand } from '../../src/cli/teams.ts';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { startMembersSite } from '../support/kubernetes/members-site.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, grant } from '../support/kubernetes/rbac.ts';
import { isAllowed } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';

const binaries = findAllKubectls();
const missing = missingKubernetes() || (binaries.length === 0 && NO_KUBECTL);
const PODS = '/api/v1/namespaces/shop/pods';
const TEAMS = '/apis/stonegate.dev/v1alpha1/teams';
const GROUP = 'stonegate:team:acme:web';

t.test('teams of a tenant', { skip: missing }, async (t) => {
  const site = await startMembersSite(t);
  const { kubernetes, stonegate } = site;
  const { cert: ca } = stonegate.authority;
  const tokens = {
    alice: stonegate.keystoneToken('alice'),
    carol: site.newcomer('carol'),
    dave: site.newcomer('dave'),
    gina: site.newcomer('gina', 'globex'),
  };
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
  const rules = [rule('*', 'teams', 'stonegate.dev')];
  await grant(kubernetes, { name: 'team-admins', rules, subjects: ['user:acme:alice'] });
  await bind(kubernetes, {
    name: 'web',
    namespace: 'shop',
    role: 'cluster-admin',
    subjects: [`group:${GROUP}`],
  });
  const resourceAttributes = { namespace: 'shop', verb: 'list', resource: 'pods' };
  await eventually(() => isAllowed(kubernetes, { user: 'x', groups: [GROUP], resourceAttributes }));
  const right = { verb: 'create', group: 'stonegate.dev', resource: 'teams' };
  await eventually(() => isAllowed(kubernetes, { user: 'acme:alice', resourceAttributes: right }));
  const statusOf = async (token: string) => (await stonegate.ask(token, PODS)).status;

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const kubectlAs = (token: string) => {
        const kubectl = createKubectl(t, binary, { server: stonegate.url, ca, token });
        return (words: readonly string[], object?: object) =>
          kubectl.run(words, object === undefined ? undefined : JSON.stringify(object));
      };
      const [alice, carol, dave, gina] = [
        kubectlAs(tokens.alice),
        kubectlAs(tokens.carol),
        kubectlAs(tokens.dave),
        kubectlAs(tokens.gina),
      ];
      const team = (spec: object) => ({
        ...{ apiVersion: 'stonegate.dev/v1alpha1', kind: 'Team' },
        ...{ metadata: { name: 'web' }, spec },
      });

      t.equal(await statusOf(tokens.carol), 403);
      const dry = await alice(['create', '--dry-run=server', '-f', '-'], team({}));
      t.match(dry.stdout, /team.stonegate.dev\/web created \(server dry run\)/, dry.stderr);
      const created = await alice(['create', '-f', '-'], team({ members: ['carol'] }));
      t.match(created.stdout, 'team.stonegate.dev/web created', created.stderr);
      await eventually(async () => (await statusOf(tokens.carol)) === 200);
      t.equal(await statusOf(tokens.dave), 403);
      const again = await alice(['create', '-f', '-'], team({ members: ['carol'] }));
      t.match(again.stderr, /AlreadyExists/);

      for (const kubectl of [alice, carol])
        t.match((await kubectl(['get', 'teams'])).stdout, /^NAME +MEMBERS.+AGE\nweb +1 +acme:alice +\S+\n$/);
      t.match((await carol(['get', 'team', 'web', '-o', 'yaml'])).stdout, `group: ${GROUP}`);
      t.match((await carol(['auth', 'whoami'])).stdout, GROUP);
      t.match((await carol(['auth', 'can-i', 'list', 'pods', '-n', 'shop'])).stdout, /^yes/);

      const joining = team({ members: ['carol', 'dave'], managers: ['dave'] });
      for (const kubectl of [carol, dave, gina])
        t.match(
          await kubectl(['replace', '-f', '-'], joining),
          { code: 1 },
          'a user who is not a manager cannot change it',
        );
      for (const kubectl of [dave, gina]) {
        t.match((await kubectl(['get', 'teams'])).stderr, 'No resources found');
        t.match((await kubectl(['get', 'team', 'web'])).stderr, /teams.stonegate.dev "web" not found/);
      }
      t.match((await carol(['delete', 'team', 'web'])).stderr, /cannot delete resource "teams"/);
      t.match((await dave(['create', '-f', '-'], team({}))).stderr, /cannot create resource "teams"/);

      const replaced = await alice(['replace', '-f', '-'], team({ members: ['dave'], managers: ['carol'] }));
      t.match(replaced.stdout, 'team.stonegate.dev/web replaced', replaced.stderr);
      await eventually(async () => (await statusOf(tokens.dave)) === 200);
      await eventually(async () => (await statusOf(tokens.carol)) === 403);
      const left = await carol(['replace', '-f', '-'], team({ members: ['dave'], managers: [] }));
      t.match(left.stderr, /at least one manager/);

      await alice(['delete', '--dry-run=server', 'team', 'web']);
      t.match(await alice(['get', 'team', 'web']), { code: 0 }, 'a dry run deletes nothing');
      const deleted = await alice(['delete', 'team', 'web']);
      t.match(deleted, { code: 0, stdout: 'team.stonegate.dev "web" deleted' }, deleted.stderr);
      await eventually(async () => (await statusOf(tokens.dave)) === 403);
    });

  await t.test('an open watch ends when its user is no longer in the team', async (t) => {
    const as = (method: string, path: string, object?: object) =>
      stonegate.ask(tokens.alice, path, {
        ...{ method, headers: { 'content-type': 'application/json' } },
        ...(object && { body: JSON.stringify(object) }),
      });
    const team = {
      ...{ apiVersion: 'stonegate.dev/v1alpha1', kind: 'Team' },
      ...{ metadata: { name: 'web' }, spec: { members: ['carol'] } },
    };
    t.equal((await as('POST', TEAMS, team)).status, 201);
    await eventually(async () => (await statusOf(tokens.carol)) === 200);
    const watch = stonegate.ask(tokens.carol, `${PODS}?watch=1`);
    t.equal((await as('DELETE', `${TEAMS}/web`)).status, 200);
    t.equal((await watch).status, 200);
    t.equal(await statusOf(tokens.carol), 403);
  });

  await t.test('stonegate teams creates, changes, lists and deletes teams', async (t) => {
    const files = t.testdir({ 'ca.crt': ca, ...tokens });
    const run = (user: keyof typeof tokens, ...words: readonly string[]) =>
      printedBy(
        teamsCommand,
        [
          ...words,
          '--server',
          stonegate.url,
          '--ca-file',
          `${files}/ca.crt`,
          '--token-file',
          `${files}/${user}`,
        ],
        {},
      );
    const created = await run('alice', 'create', 'web', 'carol', '--description', 'the shop');
    t.match(created, { code: 0, stdout: `web   1        acme:alice  ${GROUP}\n` }, created.stderr);
    t.match(await run('alice', 'add', 'web', 'carol', '--managers'), {
      code: 0,
      stdout: 'acme:alice, acme:carol',
    });
    t.match(await run('carol', 'add', 'web', 'dave', 'oidc:erin'), { code: 0, stdout: /web +3 / });
    await eventually(async () => (await statusOf(tokens.dave)) === 200);
    t.match(await run('carol', 'remove', 'web', 'dave'), { code: 0, stdout: /web +2 / });
    await eventually(async () => (await statusOf(tokens.dave)) === 403);
    t.match(await run('carol', 'remove', 'web', 'dave'), { code: 1, stderr: 'dave is not in it' });
    t.match(await run('dave', 'add', 'web', 'dave'), { code: 1, stderr: 'not found' });
    t.match(await run('dave'), { code: 0, stdout: 'NAME  MEMBERS  MANAGERS  GROUP\n' });
    t.match(JSON.parse((await run('carol', '-o', 'json')).stdout).items, [
      { spec: { description: 'the shop', members: ['acme:carol', 'oidc:erin'] } },
    ]);
    t.match(await run('carol', 'rename', 'web'), { code: 2 });
    t.match(await run('alice', 'delete', 'web'), { code: 0, stderr: 'the team web is deleted' });
    t.match(await run('alice'), { code: 0, stdout: 'NAME  MEMBERS  MANAGERS  GROUP\n' });
  });
});
