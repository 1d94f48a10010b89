/**
 * Invitations at a real kube-apiserver, through two replicas: one user gets what the inviter may give at the
 * time of acceptance, and no user learns which other users exist.
 */
import t from 'tap';
import { invite as inviteCommand } from '../../src/cli/invite.ts';
import { TENANT_CLUSTER_ROLES } from '../../src/rbac/cluster-roles.ts';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { posted } from '../support/https-client.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, grant, RBAC } from '../support/kubernetes/rbac.ts';
import { isAllowed } from '../support/kubernetes/site.ts';
import { startTokenSite } from '../support/kubernetes/token-site.ts';
import { printedBy } from '../support/printed-io.ts';
import { startReplica } from '../support/stonegate.ts';

const binaries = findAllKubectls();
const missing = missingKubernetes() || (binaries.length === 0 && NO_KUBECTL);
const OWN = '/apis/stonegate.dev/v1alpha1';
const INVITATIONS = `${OWN}/invitations`;
const ACCEPTANCES = `${OWN}/invitationacceptances`;
const BINDINGS = `${RBAC}/namespaces/shop/rolebindings`;
const AUDIT_ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const EDIT = { namespace: 'shop', role: 'edit' };

t.test('invitations', { skip: missing }, async (t) => {
  const { kubernetes, testbed, stonegate, make, post } = await startTokenSite(t, {
    configuration: { members: {} },
  });
  const replica = await startReplica(t, testbed);
  const { keystone, provider } = testbed;
  const { directory } = keystone;
  const tokenOf = (name: string, tenant = 'acme') => keystone.issue(directory.user(tenant, name));
  const alice = testbed.keystoneToken('alice');
  const [erin, frank, bob] = [tokenOf('erin'), tokenOf('frank'), testbed.keystoneToken('bob')];
  const carol = await provider.idToken('carol');
  for (const [name, rules] of TENANT_CLUSTER_ROLES)
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
  const place = { namespace: 'shop' };
  const bindingsOf = {
    group: 'rbac.authorization.k8s.io',
    resource: 'rolebindings',
    verb: 'create',
    ...place,
  };
  const mayBind = (user: string) => isAllowed(kubernetes, { user, resourceAttributes: bindingsOf });
  const manages = async (name: string, user: string) => {
    await bind(kubernetes, { ...place, name, role: 'stonegate:manage', subjects: [`user:${user}`] });
    await eventually(() => mayBind(user));
  };
  await manages('owner', 'acme:alice');

  type Through = typeof stonegate;
  const send = async (
    token: string | undefined,
    path: string,
    object: object,
    through: Through = stonegate,
  ) => {
    const reply = await through.ask(token, path, posted({ apiVersion: 'stonegate.dev/v1alpha1', ...object }));
    const refusal = `${reply.status} ${reply.body.replaceAll(AUDIT_ID, '')}`;
    return { ...reply, json: JSON.parse(reply.body), refusal };
  };
  const invite = (token: string, spec: object) => send(token, INVITATIONS, { kind: 'Invitation', spec });
  const accept = (token: string | undefined, secret: string, through?: Through) =>
    send(
      token,
      ACCEPTANCES,
      { kind: 'InvitationAcceptance', spec: { token: secret, accept: true } },
      through,
    );
  const secretFor = async (spec: object, token = alice) => {
    const { status, body, json } = await invite(token, spec);
    if (status !== 201) throw new Error(body);
    return json.status.link;
  };
  const stateOf = async (secret: string, token = alice) => {
    const { body } = await stonegate.ask(token, `${INVITATIONS}/${secret.slice(4, 12)}`);
    return JSON.parse(body).status;
  };
  const bindings = async (): Promise<readonly { subjects: readonly { name: string }[] }[]> =>
    JSON.parse((await kubernetes.ask(kubernetes.admin, BINDINGS)).body).items;
  const isBound = async (user: string) =>
    (await bindings()).some(({ subjects }) => subjects.some(({ name }) => name === user));

  await t.test('if two users accept at once at two replicas, only one of them gets the role', async (t) => {
    const secret = await secretFor(EDIT);
    const statuses = await Promise.all([accept(erin, secret), accept(frank, secret, replica)]);
    t.same(statuses.map(({ status }) => status).sort(), [201, 404]);
    t.equal([await isBound('acme:erin'), await isBound('acme:frank')].filter(Boolean).length, 1);
    const winner = statuses[0]?.status === 201 ? 'erin' : 'frank';
    await eventually(async () => (await stateOf(secret))?.reason === `accepted by acme:${winner}`);
    t.match(await stonegate.ask(winner === 'erin' ? erin : frank, '/api/v1/namespaces/shop/configmaps'), {
      status: 200,
    });
  });

  await t.test('only the user with the verified address can accept an invitation for it', async (t) => {
    const secret = await secretFor({ ...EDIT, email: 'carol@Acme.example' });
    t.match(await accept(erin, secret), { status: 404 });
    t.match(await accept(carol, secret, replica), {
      status: 201,
      json: { kind: 'InvitationAcceptance', status: { ...EDIT, inviter: 'acme:alice', accepted: true } },
    });
    t.ok(await isBound('oidc:carol@acme.example'));
  });

  await t.test('D435 nothing reveals whether an invited address exists', async (t) => {
    const addresses = ['carol@acme.example', 'nora@acme.example', 'bob@globex.example', 'alice@acme.example'];
    const answers = [];
    for (const email of addresses) {
      const { status, headers, json } = await invite(alice, { ...EDIT, email });
      const { 'audit-id': _, date: __, ...others } = headers;
      t.match(json, { spec: { email }, status: { state: 'open', inviter: 'acme:alice' } });
      const shape = Object.keys({ ...json, ...json.metadata, ...json.spec, ...json.status });
      const length = Number(others['content-length']) - email.length;
      answers.push(JSON.stringify([status, { ...others, 'content-length': length }, shape]));
    }
    t.equal(new Set(answers).size, 1, answers.join('\n'));
    const audited = (await stonegate.audited())
      .filter(
        ({ requestURI, verb, stage }) =>
          `${verb} ${requestURI} ${stage}` === `create ${INVITATIONS} ResponseComplete`,
      )
      .slice(-addresses.length)
      .map(({ auditID: _, requestReceivedTimestamp: __, stageTimestamp: ___, ...entry }) => {
        t.notMatch(JSON.stringify(entry), 'example');
        return JSON.stringify(entry);
      });
    t.equal(new Set(audited).size, 1, audited.join('\n'));
  });

  await t.test('D436 without a credential every invitation gets the same refusal', async (t) => {
    const secret = await secretFor({ ...EDIT, email: 'carol@acme.example' });
    const answers = [];
    for (const given of [secret, `${secret.slice(0, -1)}!`, 'nonsense'])
      for (const query of ['', '?email=carol@acme.example', '?email=nora@acme.example']) {
        const spec = { token: given, accept: true };
        const answer = await send(undefined, `${ACCEPTANCES}${query}`, {
          kind: 'InvitationAcceptance',
          spec,
        });
        answers.push(answer.refusal);
      }
    t.match(answers[0], /^401 /);
    t.equal(new Set(answers).size, 1, answers.join('\n'));
    t.match(await stateOf(secret), { state: 'open' });
  });

  await t.test('D437 a second use, another tenant and a lost right get the same 404', async (t) => {
    const used = await secretFor(EDIT);
    t.match(await accept(erin, used), { status: 201 });
    const lost = await secretFor(EDIT);
    const answers = [await accept(erin, used), await accept(frank, used, replica), await accept(bob, lost)];
    await kubernetes.admit('DELETE', `${BINDINGS}/owner`);
    const before = (await bindings()).length;
    await eventually(async () => !(await mayBind('acme:alice')));
    answers.push(await accept(frank, lost));
    t.equal(new Set(answers.map(({ refusal }) => refusal)).size, 1);
    t.match(answers[0], { status: 404, json: { reason: 'NotFound' } });
    t.equal((await bindings()).length, before);
    await eventually(async () => (await stateOf(lost))?.state === 'refused');
    t.match(await stateOf(lost), {
      reason: /^it could not be granted: .*cannot create resource "rolebindings"/,
    });
    await manages('owner', 'acme:alice');
    t.match(await accept(frank, lost), { status: 404 }, 'it has ended for good');
  });

  await t.test('no user can invite to more than they have', async (t) => {
    t.match(await invite(frank, { ...EDIT, namespace: 'nowhere' }), { status: 403 });
    const rules = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['*'] }];
    await grant(kubernetes, { ...place, name: 'binders', rules, subjects: ['user:acme:gina'] });
    const gina = tokenOf('gina');
    await eventually(() => mayBind('acme:gina'));
    t.match(await invite(gina, EDIT), { status: 403, body: /not currently held/ });
    const { secret } = await make(alice, 'namespace/shop/manage');
    t.match(await invite(secret, EDIT), { status: 403 }, 'an access token without +rbac');
    const rule = {
      verbs: ['create'],
      apiGroups: ['stonegate.dev'],
      resources: ['invitations'],
      namespaces: ['*'],
    };
    const inviting = await post(alice, { scopes: ['+rbac'], rules: [rule] });
    t.match(await invite(JSON.parse(inviting.body).status.token, EDIT), {
      status: 403,
      body: /scopes of the access token/,
    });
    for (const scope of ['tenant/manage', 'namespace/shop/manage']) {
      const managing = await make(alice, scope, '+rbac');
      t.match(await invite(managing.secret, EDIT), { status: 201 }, scope);
    }
  });

  await t.test('stonegate invite creates, shows, accepts, lists and withdraws invitations', async (t) => {
    const rules = [{ apiGroups: ['stonegate.dev'], resources: ['teams'], verbs: ['create'] }];
    await grant(kubernetes, { name: 'team-makers', rules, subjects: ['user:acme:alice'] });
    const team = { kind: 'Team', metadata: { name: 'web' }, spec: {} };
    await eventually(async () => (await send(alice, `${OWN}/teams`, team)).status === 201);
    const files = t.testdir({ 'ca.crt': stonegate.authority.cert, alice, erin, frank });
    const run = (user: string, ...words: readonly string[]) => {
      const destination = ['--server', stonegate.url, '--ca-file', `${files}/ca.crt`];
      return printedBy(inviteCommand, [...words, ...destination, '--token-file', `${files}/${user}`], {});
    };
    t.match(await run('frank', '--team', 'web'), { code: 1, stderr: /"web" not found/ });
    const { stdout, stderr } = await run('alice', '--team', 'web');
    t.match(stdout, /^sgi_\w+\n$/, stderr);
    const link = `https://portal.example.com/invitation/${stdout.trim()}`;
    t.match(await run('erin', 'show', link), { stdout: 'acme:alice invites you to the team web\n' });
    t.match(await run('erin', 'accept', link), {
      stdout: 'acme:alice invites you to the team web: accepted\n',
    });
    t.match(JSON.parse((await stonegate.ask(alice, `${OWN}/teams/web`)).body).spec.members, ['acme:erin']);
    t.match(await run('frank', 'accept', link), { code: 1, stderr: /no such invitation for you/ });
    const other = await run('alice', '-n', 'shop', '--role', 'read');
    const id = other.stdout.slice(4, 12);
    await eventually(async () => (await run('alice', 'list')).stdout.includes(`${id}  read in shop`));
    t.match(await run('erin', 'list'), { stdout: /^ID +TO +EMAIL +INVITER +STATE +EXPIRES\n$/ });
    t.match(await run('alice', 'withdraw', id), { code: 0, stderr: `the invitation ${id} is withdrawn` });
    t.match(await run('erin', 'accept', other.stdout.trim()), { code: 1 });
    for (const words of [[], ['list', 'x'], ['withdraw'], ['revoke', id], ['list', '--team', 'web']])
      t.match(await run('alice', ...words), { code: 2 }, words.join(' '));
  });

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const { cert: ca } = stonegate.authority;
      const kubectl = createKubectl(t, binary, { server: stonegate.url, ca, token: alice });
      const object = {
        apiVersion: 'stonegate.dev/v1alpha1',
        kind: 'Invitation',
        metadata: { name: 'x' },
        spec: EDIT,
      };
      const made = await kubectl.run('create -o json -f -', JSON.stringify(object));
      const { metadata, status } = JSON.parse(made.stdout);
      await eventually(async () =>
        (await kubectl.run('get invitations')).stdout.includes(`${metadata.name}   edit in shop`),
      );
      const deleted = await kubectl.run(['delete', 'invitation', metadata.name]);
      t.match(deleted, { code: 0 }, deleted.stderr);
      t.match(await accept(erin, status.link), { status: 404 });
    });
});
