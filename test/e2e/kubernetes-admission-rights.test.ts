/**
 * A real kube-apiserver with the admission webhook, where the webhook reviews the rights of users: of
 * publishers, of authors of cross-tenant policies, and of users who bind roles. Policies are cluster-scoped
 * here, since only Arktos has objects of a tenant.
 */
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { type AdmissionWebhook, startAdmissionWebhook } from '../support/admission-webhook.ts';
import { eventually } from '../support/eventually.ts';
import { type Kubernetes, startKubernetes } from '../support/kubernetes/api-server.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { grant as grantRole, RBAC } from '../support/kubernetes/rbac.ts';
import { registerAdmission, type Writes, writesOf } from '../support/kubernetes/registered-admission.ts';
import { rule } from '../support/policy-rule.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';
const POLICIES = '/apis/tenancy.stonegate.dev/v1alpha1/crosstenantpolicies';
const PUBLISHED = 'multi-tenancy.k8s.io/published';
const MARKS = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/published-from': 'd' };

interface Site extends Writes {
  readonly kubernetes: Kubernetes;
  readonly webhook: AdmissionWebhook;
  /** Binds the user to a new cluster role with these rules. */
  grant(name: string, user: string, rules: readonly object[]): Promise<void>;
}

async function start(t: Test, mode: 'arktos' | 'shared', sections: object = {}) {
  const kubernetes = await startKubernetes(t, { controllers: true });
  const { certificate } = await kubernetes.user('stonegate-admission');
  if (certificate === undefined) throw new TypeError('a user has a certificate');
  const webhook = await startAdmissionWebhook(
    t,
    mode,
    {},
    {
      ...sections,
      upstream: {
        server: kubernetes.url,
        caFile: 'kubernetes.crt',
        credential: { certFile: 'own.crt', keyFile: 'own.key' },
      },
      files: {
        'kubernetes.crt': kubernetes.authority.cert,
        'own.crt': certificate.cert,
        'own.key': certificate.key,
      },
    },
  );
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'web' } });
  await kubernetes.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', DEFINITION);
  const grant: Site['grant'] = (name, user, rules) =>
    grantRole(kubernetes, { name, subjects: [`user:${user}`], rules });
  const site = { kubernetes, webhook, ...writesOf(kubernetes), grant };
  await registerAdmission(kubernetes, webhook);
  await grant('probe', 'acme:probe', [rule('patch', 'namespaces')]);
  const probe = await kubernetes.user('acme:probe', ['stonegate:tenant:acme']);
  await eventually(async () => {
    const body = { metadata: { labels: { 'stonegate.dev/project-id': 'p' } } };
    const reply = await site.patch(probe, '/api/v1/namespaces/web?dryRun=All', body);
    return reply.status === 403 && /admission webhook/.test(reply.body);
  });
  return site;
}

/** A definition with the smallest schema that the API server accepts. */
const DEFINITION: object = parse(`
  metadata: {name: crosstenantpolicies.tenancy.stonegate.dev}
  spec:
    group: tenancy.stonegate.dev
    scope: Cluster
    names:
      kind: CrossTenantPolicy
      listKind: CrossTenantPolicyList
      plural: crosstenantpolicies
      singular: crosstenantpolicy
    versions:
      - name: v1alpha1
        served: true
        storage: true
        subresources: {status: {}}
        schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`);

const refused = (message: RegExp) => ({ code: 403, reason: 'Forbidden', message });

t.test('publishing', { skip: missingControllers() }, async (t) => {
  const site = await start(t, 'shared', { publishing: { namespaces: ['web'] } });
  const { kubernetes, webhook, post, patch, remove, grant } = site;
  const maps = '/api/v1/namespaces/web/configmaps';
  const editor = await kubernetes.user('editor');
  await grant('editor', 'editor', [rule('get,create,update,patch,delete', 'configmaps')]);
  const annotated = (value: string | null, metadata: object = { name: 'm' }) => ({
    metadata: { ...metadata, annotations: { [PUBLISHED]: value } },
  });
  const cannot = refused(/annotations\[multi-tenancy\.k8s\.io\/published\]: the user may not publish/);

  await t.test('setting, changing and removing the annotation needs the verb `publish`', async (t) => {
    await eventually(async () => (await post(editor, maps, { metadata: { name: 'probe' } })).status === 201);
    t.match((await post(editor, maps, annotated('all'))).json(), cannot);
    t.match((await post(editor, `${maps}?dryRun=All`, annotated('all'))).json(), cannot);
    t.match((await post(editor, maps, annotated('all', { generateName: 'm-' }))).json(), cannot);
    await kubernetes.create(maps, annotated('all'));
    for (const value of ['acme', null])
      t.match((await patch(editor, `${maps}/m`, annotated(value, {}))).json(), cannot, `${value}`);
    await kubernetes.create(maps, { metadata: { name: 'other' } });
    t.match(
      (await patch(editor, `${maps}/other`, annotated('all', {}))).json(),
      cannot,
      'on an existing object',
    );
    t.equal(
      (await patch(editor, `${maps}/m`, { data: { a: 'b' } })).status,
      200,
      'any other change is allowed',
    );
    await grant('publisher', 'editor', [{ ...rule('publish', 'configmaps'), resourceNames: ['m'] }]);
    await eventually(async () => (await patch(editor, `${maps}/m`, annotated('acme', {}))).status === 200);
    t.match(
      (await patch(editor, `${maps}/other`, annotated('all', {}))).json(),
      cannot,
      'the right is for one object',
    );
    t.equal((await remove(editor, `${maps}/m`)).status, 200, 'a deletion needs no such right');
  });

  const alice = await kubernetes.user('acme:alice', ['stonegate:tenant:acme']);
  await grant('alice', 'acme:alice', [rule('*', '*', '*')]);
  await t.test(
    'tenants cannot change or delete copies, or create objects that look like copies',
    async (t) => {
      const copy = (name: string, data: object) => ({ metadata: { name, labels: MARKS }, data });
      await kubernetes.create(maps, copy('copy', { a: 'b' }));
      await eventually(async () => (await post(alice, maps, { metadata: { name: 'own' } })).status === 201);
      const managed = refused(/managed by Stonegate/);
      t.match((await patch(alice, `${maps}/copy`, { data: { a: 'c' } })).json(), managed);
      t.match((await remove(alice, `${maps}/copy`)).json(), managed);
      t.match((await remove(alice, maps)).json(), managed, 'the whole collection');
      t.match(
        (
          await patch(alice, `${maps}/copy`, { metadata: { labels: { 'stonegate.dev/managed-by': null } } })
        ).json(),
        refused(/metadata\.labels\[stonegate\.dev\/managed-by\]/),
      );
      t.match((await post(alice, maps, copy('fake', {}))).json(), refused(/metadata\.labels/));
    },
  );

  await t.test('while no instance responds, only requests that concern publishing fail', async (t) => {
    await webhook.stop();
    t.equal((await post(editor, maps, { metadata: { name: 'plain' } })).status, 201);
    t.equal((await post(alice, '/api/v1/namespaces/web/secrets', { metadata: { name: 's' } })).status, 201);
    t.equal((await post(kubernetes.admin, maps, annotated('all'))).status, 500);
    t.equal((await remove(alice, `${maps}/copy`)).status, 500);
    await webhook.start();
    await eventually(async () => (await post(kubernetes.admin, maps, annotated('all'))).status === 201);
  });

  await t.test('a namespace can be deleted with its copies', async (t) => {
    await kubernetes.admit('DELETE', '/api/v1/namespaces/web');
    await eventually(
      async () => (await kubernetes.ask(kubernetes.admin, '/api/v1/namespaces/web')).status === 404,
    );
    t.pass('the namespace controller deletes them');
  });
});

t.test('policies and bindings, as on Arktos', { skip: missingControllers() }, async (t) => {
  const { kubernetes, webhook, post, patch, remove, grant } = await start(t, 'arktos');
  const alice = await kubernetes.user('acme:alice');
  const podRule = (verbs: readonly string[], extra: object = {}) => ({
    verbs,
    apiGroups: [''],
    resources: ['pods'],
    ...extra,
  });
  const policy = (rules: readonly object[], namespaces: readonly string[] = ['web'], name = 'p') => ({
    apiVersion: 'tenancy.stonegate.dev/v1alpha1',
    kind: 'CrossTenantPolicy',
    metadata: { name },
    spec: { subjects: [{ kind: 'User', tenant: 'globex', name: 'gina' }], namespaces, rules },
  });
  await grant('policies', 'acme:alice', [
    rule(
      'get,create,update,patch,delete',
      'crosstenantpolicies,crosstenantpolicies/status',
      'tenancy.stonegate.dev',
    ),
    rule('create', 'rolebindings', RBAC_GROUP),
  ]);
  await grantRole(kubernetes, {
    name: 'pods',
    namespace: 'web',
    subjects: ['user:acme:alice'],
    rules: [podRule(['get', 'list'])],
  });

  await t.test('an author can grant the rights they have, and no more', async (t) => {
    await eventually(async () => (await post(alice, POLICIES, policy([podRule(['get'])]))).status === 201);
    const lacks = (what: RegExp) =>
      refused(new RegExp(`it lets users ${what.source}, which the author may not`));
    const cases: readonly [object, RegExp][] = [
      [policy([podRule(['get']), podRule(['delete'])], ['web'], 'q'), /delete pods in the namespace "web"/],
      [policy([podRule(['get'])], ['default'], 'q'), /get pods in the namespace "default"/],
      [policy([podRule(['get'])], ['*'], 'q'), /get pods in the whole tenant/],
      [
        policy([podRule(['get'], { resources: ['pods/log'] })], ['web'], 'q'),
        /get pods\/log in the namespace "web"/,
      ],
    ];
    for (const [object, what] of cases) t.match((await post(alice, POLICIES, object)).json(), lacks(what));
    t.match(
      (await post(alice, POLICIES, policy([podRule(['*'])], ['web'], 'q'))).json(),
      refused(/spec\.rules\[0\]\.verbs/),
    );
    const wider = { spec: { rules: [podRule(['get', 'delete'])] } };
    t.match((await patch(alice, `${POLICIES}/p`, wider)).json(), lacks(/delete pods in the namespace "web"/));
    t.equal((await patch(alice, `${POLICIES}/p`, { metadata: { labels: { a: 'b' } } })).status, 200);
  });

  await t.test('a right to some objects is not a right to all', async (t) => {
    await grant('one-secret', 'acme:alice', [{ ...rule('get', 'secrets'), resourceNames: ['s', ''] }]);
    const secrets = (names: object) =>
      policy([podRule(['get'], { resources: ['secrets'], ...names })], ['web'], 's');
    await eventually(
      async () => (await post(alice, POLICIES, secrets({ resourceNames: ['s'] }))).status === 201,
    );
    t.match((await post(alice, POLICIES, secrets({}))).json(), refused(/get secrets in the namespace/));
  });

  await t.test('only Stonegate writes the status, and authors may delete their own policies', async (t) => {
    const status = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    t.match((await patch(alice, `${POLICIES}/p/status`, status)).json(), refused(/status: only Stonegate/));
    t.equal((await remove(alice, `${POLICIES}/p`)).status, 200);
  });

  await t.test('with `escalate` an author may grant rights they do not have', async (t) => {
    await grant('escalate', 'acme:alice', [rule('escalate', 'crosstenantpolicies', 'tenancy.stonegate.dev')]);
    await eventually(
      async () => (await post(alice, POLICIES, policy([podRule(['delete'])], ['*'], 'wide'))).status === 201,
    );
    t.pass('in the whole tenant');
  });

  await t.test('a role can be bound by users with the right to bind it', async (t) => {
    const bindings = `${RBAC}/namespaces/web/rolebindings`;
    const binding = parse(`
      metadata: {name: given}
      roleRef: {apiGroup: ${RBAC_GROUP}, kind: Role, name: pods}
      subjects: [{apiGroup: ${RBAC_GROUP}, kind: User, name: acme:eve}]`);
    t.match((await post(alice, bindings, binding)).json(), refused(/may not bind the Role "pods"/));
    await grant('bind', 'acme:alice', [
      { apiGroups: [RBAC_GROUP], resources: ['roles'], resourceNames: ['pods'], verbs: ['bind'] },
    ]);
    await eventually(async () => (await post(alice, bindings, binding)).status === 201);
  });

  await t.test('a request is refused if the webhook cannot review the rights of its user', async (t) => {
    await kubernetes.admit('DELETE', `${RBAC}/clusterrolebindings/stonegate-admission:stonegate-admission`);
    await eventually(async () => {
      const reply = await post(alice, POLICIES, policy([podRule(['get'])], ['web'], 'late'));
      return reply.status === 503 && /could not be reviewed/.test(reply.body);
    });
    t.notMatch(webhook.logged.join('\n'), /"gina"/, 'the log contains no object');
  });
});
