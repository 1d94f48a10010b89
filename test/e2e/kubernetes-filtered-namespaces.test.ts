/**
 * Filtered namespaces in front of a real kube-apiserver: every kubectl on this machine shows the namespaces
 * of its user, byte for byte as the API server would send them.
 */
import t, { type Test } from 'tap';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { followOutput } from '../support/follow-output.ts';
import { posted } from '../support/https-client.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, grant, RBAC } from '../support/kubernetes/rbac.ts';
import { type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { eachRow } from '../support/rows.ts';

const NAMESPACES = '/api/v1/namespaces';
const SELF_ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const OLD_TABLE = 'application/json;as=Table;v=v1beta1;g=meta.k8s.io';
const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const OBJECT_METADATA = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

const access = { index: true, authorizers: ['Node', 'RBAC'] };

async function start(t: Test, settings: object = access) {
  const site = await startKubernetesSite(t, { configuration: { access: settings } });
  const { kubernetes, stonegate } = site;
  for (const [name, labels] of Object.entries({ a: {}, b: { env: 'prod' }, c: {}, d: { text: 'x' } }))
    await kubernetes.create(NAMESPACES, { metadata: { name, labels } });
  for (const place of ['a', 'b']) await view(site, place, 'acme:alice');
  await bind(kubernetes, { name: 'everywhere', role: 'namespace-viewer', subjects: ['user:acme:carol'] });
  // The role comes last, as if Stonegate had learned of it last: it concerns all namespaces, and alice too.
  const rules = [rule('get', 'namespaces')];
  await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'namespace-viewer' }, rules });
  const carol = site.newcomer('carol');
  const all = namesIn((await kubernetes.ask(kubernetes.admin, NAMESPACES)).body);
  await eventually(async () => (await seenBy(site, stonegate.keystoneToken('alice'))) === 'a,b');
  await eventually(async () => (await seenBy(site, carol)) === all.join());
  return site;
}

/** The names of the namespaces in the user's list. */
async function seenBy({ stonegate }: KubernetesSite, token: string) {
  const reply = await stonegate.ask(token, NAMESPACES);
  return namesIn(reply.body).join();
}

const bindingsIn = (place: string) => `${RBAC}/namespaces/${place}/rolebindings`;

async function view({ kubernetes }: KubernetesSite, namespace: string, user: string) {
  await bind(kubernetes, {
    name: 'viewers',
    namespace,
    role: 'namespace-viewer',
    subjects: [`user:${user}`],
  });
}

async function revoke({ kubernetes }: KubernetesSite, place: string) {
  await kubernetes.admit('DELETE', `${bindingsIn(place)}/viewers`);
}

function revisionIn(body: string) {
  const { metadata }: { metadata: { resourceVersion: string } } = JSON.parse(body);
  return Number(metadata.resourceVersion);
}

function namesIn(body: string) {
  const list: { items: { metadata: { name: string } }[] } = JSON.parse(body);
  return list.items.map(({ metadata }) => metadata.name);
}

t.test('lists, watches and reviews', { skip: missingKubernetes() }, async (t) => {
  const site = await start(t);
  const { kubernetes, stonegate } = site;
  const alice = stonegate.keystoneToken('alice');
  const carol = site.newcomer('carol');

  /** The list without ages, and without its revision, which is that of the index. */
  const comparable = (text: string) =>
    text
      .replace(
        /^(\{"kind":"\w+","apiVersion":"[\w./]+","metadata":\{)"resourceVersion":"\d+"/,
        '$1"resourceVersion":"N"',
      )
      .replace(/"(\d+[smhd])+"\]?/g, '"AGE"');

  await t.test('a user gets the bytes that the API server would send', async (t) => {
    for (const accept of [undefined, TABLE, OLD_TABLE, METADATA, `${TABLE},application/json`])
      for (const query of [
        '',
        '?labelSelector=env',
        '?labelSelector=env%20in%20(prod,test),text!%3Dx',
        '?labelSelector=kubernetes.io%2Fmetadata.name%20notin%20(a,b)',
        '?fieldSelector=metadata.name%3Da',
        '?fieldSelector=status.phase!%3DActive',
        '?includeObject=None',
        '?includeObject=Object',
        '?pretty=true&labelSelector=env',
      ]) {
        const options = { headers: { ...(accept && { accept }) } };
        const [ours, theirs] = await Promise.all([
          stonegate.ask(carol, `${NAMESPACES}${query}`, options),
          kubernetes.ask(kubernetes.admin, `${NAMESPACES}${query}`, options),
        ]);
        t.equal(ours.headers['stonegate-filtered'], 'rbac');
        t.equal(ours.headers['content-type'], theirs.headers['content-type']);
        const [one, other] = [ours.body, theirs.body].map((body) =>
          query.includes('pretty') ? JSON.stringify(without(JSON.parse(body))) : comparable(body),
        );
        t.equal(one, other, `${accept} ${query}`);
      }
  });

  await t.test('refusals are in the API server’s own words', async (t) => {
    await eachRow(
      `
      labelSelector=a%3D%3D%3Db
      labelSelector=a+in+b
      labelSelector=%21
      labelSelector=a,b%3D%40
      labelSelector=a%3Eb
      labelSelector=-a
      labelSelector=a%2Fb%2Fc
      labelSelector=A..b%2Fc
      labelSelector=env%3Dprod,
      labelSelector=,env
      labelSelector=env+prod
      labelSelector=env%20in%20(a%20b)
      fieldSelector=name%3Da
      fieldSelector=metadata.name
      fieldSelector=metadata.name%3Da%3Db
      fieldSelector=metadata.name%3Da%5Cb
      resourceVersion=abc
      resourceVersion=-1
      resourceVersionMatch=Exact
      resourceVersionMatch=Foo&resourceVersion=1
      resourceVersionMatch=Exact&resourceVersion=0
      limit=abc
      sendInitialEvents=true
      watch=1&sendInitialEvents=true
      watch=1&sendInitialEvents=true&resourceVersionMatch=Exact
      watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1
      watch=1&continue=abc
      watch=1&fieldSelector=x%3Da
      includeObject=Bad | ${TABLE}
      | ${OBJECT_METADATA}`,
      async (query = '', accept = '') => {
        const options = { headers: accept === '' ? {} : { accept } };
        const [ours, theirs] = await Promise.all([
          stonegate.ask(alice, `${NAMESPACES}?${query}`, options),
          kubernetes.ask(kubernetes.admin, `${NAMESPACES}?${query}`, options),
        ]);
        t.equal(ours.status, theirs.status, query);
        t.equal(messageOf(ours.body), messageOf(theirs.body), query);
      },
    );
  });

  await t.test('the events of a watch are byte for byte those of the API server', async (t) => {
    for (const accept of [undefined, TABLE, OBJECT_METADATA])
      for (const query of ['', '&labelSelector=env', '&fieldSelector=metadata.name%3Dd']) {
        const options = { headers: { ...(accept && { accept }) } };
        const path = `${NAMESPACES}?watch=1&timeoutSeconds=1${query}`;
        const [ours, theirs] = await Promise.all([
          stonegate.ask(carol, path, options),
          kubernetes.ask(kubernetes.admin, path, options),
        ]);
        const [one, other] = [ours.body, theirs.body].map((body) =>
          body.replace(/"(\d+[smhd])+"\]?/g, '"AGE"'),
        );
        t.equal(one, other, `${accept} ${query}`);
      }
  });

  await t.test('D009 the next list of a user who has created a namespace includes it', async (t) => {
    const rules = [rule('create,patch', 'namespaces')];
    await grant(kubernetes, { name: 'creator', subjects: ['user:acme:carol'], rules });
    const send = (method: string, path: string, headers: Record<string, string>, name: string) => {
      const body = JSON.stringify({ kind: 'Namespace', apiVersion: 'v1', metadata: { name } });
      return stonegate.ask(carol, path, { method, headers, body });
    };
    const type = { 'content-type': 'application/json' };
    await eventually(async () => (await send('POST', NAMESPACES, type, 'created')).status === 201);
    for (const [name, method, headers] of [
      ['created-in-json', 'POST', type],
      ['created-in-protobuf', 'POST', { ...type, accept: 'application/vnd.kubernetes.protobuf' }],
      ['created-as-table', 'POST', { ...type, accept: TABLE }],
      ['created-by-apply', 'PATCH', { 'content-type': 'application/apply-patch+yaml' }],
    ] as const) {
      const path = method === 'POST' ? NAMESPACES : `${NAMESPACES}/${name}?fieldManager=test`;
      const created = await send(method, path, headers, name);
      t.equal(created.status, 201, `${name}: ${created.body}`);
      const list = (await stonegate.ask(carol, NAMESPACES)).body;
      t.ok(namesIn(list).includes(name), name);
      const stored = (await kubernetes.ask(kubernetes.admin, `${NAMESPACES}/${name}`)).body;
      t.ok(revisionIn(list) >= revisionIn(stored), name);
    }
  });

  await t.test('D003 a user who may list all namespaces gets the API server’s response', async (t) => {
    const admin = site.newcomer('admin');
    await bind(kubernetes, { name: 'lister', role: 'cluster-admin', subjects: ['user:acme:admin'] });
    await eventually(async () => {
      const reply = await stonegate.ask(admin, NAMESPACES);
      return reply.headers['stonegate-filtered'] === undefined;
    });
    const [ours, theirs] = await Promise.all([
      stonegate.ask(admin, `${NAMESPACES}?resourceVersion=0`),
      kubernetes.ask(kubernetes.admin, `${NAMESPACES}?resourceVersion=0`),
    ]);
    t.same(namesIn(ours.body), namesIn(theirs.body));
  });

  await t.test('D019 a self review agrees with the list, and says that it is filtered', async (t) => {
    const review = async (token: string, resourceAttributes: object) => {
      const kind = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1' };
      const review = posted({ ...kind, spec: { resourceAttributes } });
      const reply = await stonegate.ask(token, SELF_ACCESS_REVIEWS, review);
      const { status }: { status: { allowed: boolean; reason?: string } } = JSON.parse(reply.body);
      return status;
    };
    for (const verb of ['list', 'watch'])
      for (const namespace of ['', 'a']) {
        const { allowed, reason } = await review(alice, { verb, resource: 'namespaces', namespace });
        t.equal(allowed, true);
        t.match(reason, /filtered/);
      }
    t.match(await review(alice, { verb: 'delete', resource: 'namespaces' }), { allowed: false });
    t.match(await review(alice, { verb: 'get', resource: 'namespaces', name: 'c' }), { allowed: false });
    t.match(await review(alice, { verb: 'list', resource: 'pods' }), { allowed: false });
    t.match(await review(alice, { verb: 'list', resource: 'secrets' }), { allowed: false });
  });
});

function without(list: { metadata: { resourceVersion?: string } }) {
  const { resourceVersion: _, ...metadata } = list.metadata;
  return { ...list, metadata };
}

function messageOf(body: string) {
  const { message }: { message: string } = JSON.parse(body);
  return message;
}

const binaries = findAllKubectls();
const missing = missingKubernetes() || (binaries.length === 0 && NO_KUBECTL);

t.test('D001 every kubectl shows the user’s namespaces', { skip: missing }, async (t) => {
  const site = await start(t);
  const { stonegate } = site;
  const token = stonegate.keystoneToken('alice');
  for (const binary of binaries)
    await t.test(binary.split('/').at(-1) ?? '', async (t) => {
      const kubectl = createKubectl(t, binary, {
        server: stonegate.url,
        ca: stonegate.authority.cert,
        token,
      });
      const run = async (words: string) => {
        const { code, stdout, stderr } = await kubectl.run(words.split(' '));
        t.equal(code, 0, `${words}: ${stderr}`);
        return stdout;
      };
      t.match(await run('get ns'), /^NAME +STATUS +AGE\na +Active +\S+\nb +Active +\S+\n$/);
      t.equal(await run('get ns -o name'), 'namespace/a\nnamespace/b\n');
      t.equal(await run('get ns -o name --selector env=prod'), 'namespace/b\n');
      t.equal(await run('get ns -o name --chunk-size=1'), 'namespace/a\nnamespace/b\n');
      t.equal(await run('get ns -o name --field-selector metadata.name=a'), 'namespace/a\n');
      t.match(await run('get ns -o yaml'), /name: a\n.*name: b\n/s);
      t.match(await run('auth can-i list namespaces'), /^yes/m);
      // Each run has its own namespace: a watch may repeat recent changes, also those of the previous run.
      const name = `granted-${kubectl.minor}`;
      await site.kubernetes.create(NAMESPACES, { metadata: { name } });
      const watch = followOutput(kubectl.start('get ns -w -o name'));
      t.teardown(() => watch.stop());
      await watch.until((shown) => shown.startsWith('namespace/a\nnamespace/b\n'));
      await view(site, name, 'acme:alice');
      await watch.until((shown) => shown.endsWith(`\nnamespace/${name}\n`));
      await revoke(site, name);
      await watch.until((shown) => shown.endsWith(`\nnamespace/${name}\nnamespace/${name}\n`));
    });
});
