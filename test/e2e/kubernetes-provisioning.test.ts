/**
 * `stonegate sync` and provisioning on request at a real kube-apiserver, which itself decides whether a role
 * may be created or bound, with the rights that `stonegate manifests rbac --provisioner` prints.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { sync } from '../../src/app/commands/sync.ts';
import { isObject } from '../support/apiserver/json.ts';
import { eventually } from '../support/eventually.ts';
import { posted } from '../support/https-client.ts';
import { admitBridge, BRIDGE } from '../support/keystone/bridge.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { includes, type ResourceRule as Rule, single } from '../support/kubernetes/rules.ts';
import {
  apply,
  isAllowed,
  type KubernetesSite,
  serviceAccountToken,
  startKubernetesSite,
} from '../support/kubernetes/site.ts';
import { printedManifests } from '../support/manifests.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ACCOUNT = 'stonegate-provisioner';
const ROLE = `stonegate-provisioner:stonegate:${ACCOUNT}`;
const PROVISIONER = 'system:serviceaccount:stonegate:stonegate-provisioner';

type Provisioned = Awaited<ReturnType<typeof start>>;

async function start(t: Test) {
  const site = await startKubernetesSite(t, { controllers: true });
  const { kubernetes, stonegate } = site;
  // No tenant belongs to Keystone's first domain.
  const domains = { [stonegate.keystone.directory.domain('Default').id]: { ignore: true } };
  const bindings = { credential: { tokenFile: 'provisioner-token' }, domains };
  // This binding would let all users review their own access.
  await kubernetes.admit('DELETE', `${RBAC}/clusterrolebindings/system:basic-user`);
  const { configFile, keystone } = stonegate;
  await admitBridge(keystone, configFile);
  for (const role of ['admin', 'reader']) keystone.directory.role(role);
  const folder = dirname(configFile);
  const configure = (changes: object) =>
    stonegate.configure({
      upstream: {
        server: kubernetes.url,
        caFile: 'kubernetes.crt',
        credential: { tokenFile: 'kubernetes-token' },
      },
      authentication: {
        keystone: { url: keystone.url, caFile: 'ca.crt', serviceCredential: BRIDGE },
      },
      bindings: { ...bindings, ...changes },
    });
  await configure({});
  const printed = await printedManifests('rbac', '--config', configFile, '--provisioner');
  for (const object of printed) await apply(kubernetes, object);
  const token = await serviceAccountToken(kubernetes, 'stonegate', ACCOUNT);
  await writeFile(join(folder, 'provisioner-token'), token);
  const role = printed.find(({ kind }) => kind === 'ClusterRole');
  const rules: Rule[] = JSON.parse(JSON.stringify(isObject(role) ? role.rules : []));
  return {
    ...site,
    /** The rules of the provisioner's ClusterRole. */
    rules,
    configure,
    sync: (...words: readonly string[]) => printedBy(sync, ['--config', configFile, ...words]),
  };
}

t.test('provisioning', { skip: missingControllers() }, async (t) => {
  const site = await start(t);
  const { kubernetes, stonegate, sync } = site;
  const { directory } = stonegate.keystone;
  const web = directory.project('acme', 'web');
  const tokenFor = (name: string, role: string, project = web) => {
    const user = directory.user('acme', name);
    directory.assign(user, role, { project });
    return stonegate.keystone.issue(user, { project });
  };
  const [manager, member, reader] = [
    tokenFor('mary', 'admin'),
    tokenFor('mike', 'member'),
    tokenFor('rita', 'reader'),
  ];
  const inWeb = (resource: string) => `/api/v1/namespaces/${web.id}/${resource}`;
  const status = async (token: string, path: string, body?: object) => {
    const options = body === undefined ? {} : posted(body);
    return (await stonegate.ask(token, path, options)).status;
  };

  await t.test(
    'sync creates namespaces, roles and bindings, and a second run finds nothing to do',
    async (t) => {
      t.match(await sync('--dry-run'), {
        code: 0,
        stdout: new RegExp(`create +Namespace +\\S+ +${web.id} `),
      });
      t.match(await sync(), { code: 0, stdout: / 0 failed/ });
      t.match(await sync(), { code: 0, stdout: /^0 done, 0 failed, [1-9]\d* as they should be/ });
    },
  );

  await t.test('each role allows what the documents say', async (t) => {
    await eventually(async () => (await status(reader, inWeb('pods'))) === 200);
    const configMap = { metadata: { generateName: 'made-' } };
    t.equal(await status(reader, inWeb('secrets')), 403, 'a reader sees no secrets');
    t.equal(await status(reader, inWeb('configmaps'), configMap), 403, 'and changes nothing');
    t.equal(await status(member, inWeb('secrets')), 200, 'a member sees secrets');
    t.equal(await status(member, inWeb('configmaps'), configMap), 201, 'and changes things');
    const bindings = `${RBAC}/namespaces/${web.id}/rolebindings`;
    const binding = (name: string) => ({
      metadata: { generateName: 'given-' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'acme:friend' }],
    });
    t.equal(await status(member, bindings, binding('stonegate:read')), 403, 'but may not create bindings');
    t.equal(await status(manager, bindings, binding('stonegate:edit')), 201, 'an admin may bind others');
    t.equal(
      await status(manager, bindings, binding('cluster-admin')),
      403,
      'but to no role with more rights than they have',
    );
    const elsewhere = `${RBAC}/namespaces/default/rolebindings`;
    t.equal(await status(manager, elsewhere, binding('stonegate:read')), 403, 'and in no other namespace');
    t.equal(await status(manager, inWeb('resourcequotas'), { metadata: { name: 'all' } }), 403);
  });

  await t.test('the provisioner cannot give itself or others more rights', async (t) => {
    const headers = { 'content-type': 'application/json', 'impersonate-user': PROVISIONER };
    const ask = async (path: string, body: object) => {
      const options = { method: 'POST', headers, body: JSON.stringify(body) };
      return (await kubernetes.ask(kubernetes.admin, path, options)).status;
    };
    const rules = [rule('*', '*', '*')];
    t.equal(await ask(`${RBAC}/clusterroles`, { metadata: { name: 'almighty' }, rules }), 403);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
    const subjects = [{ kind: 'ServiceAccount', namespace: 'stonegate', name: ACCOUNT }];
    const metadata = { name: 'almighty' };
    t.equal(await ask(`${RBAC}/clusterrolebindings`, { metadata, roleRef, subjects }), 403);
    t.equal(await ask(`${RBAC}/namespaces/default/rolebindings`, { metadata, roleRef, subjects }), 403);
  });

  await t.test('every rule that `manifests rbac --provisioner` prints is needed', async (t) => {
    t.match(await everything(site, 'complete'), { codes: [0, 0, 0] }, 'with all rules every run succeeds');
    for (const [index, left] of site.rules.entries()) {
      const others = site.rules.filter((rule) => rule !== left);
      const lost = single([left]).find((one) => !others.some((other) => includes(other, one)));
      if (lost === undefined) {
        t.fail(`${JSON.stringify(left)} is in other rules already`);
        continue;
      }
      await give(site, others, lost, false);
      const { codes } = await everything(site, `without-${index}`);
      t.notSame(codes, [0, 0, 0], `without ${JSON.stringify(left)} something fails`);
      await give(site, site.rules, lost, true);
    }
  });

  await t.test(
    'with provisioning on request, the first request for a new project creates what it needs',
    async (t) => {
      await site.configure({ provision: 'onRequest' });
      await stonegate.app.reload();
      const project = directory.project('acme', 'api');
      const token = tokenFor('nora', 'member', project);
      const path = `/api/v1/namespaces/${project.id}/secrets`;
      t.ok([200, 403].includes(await status(token, path)));
      const { body } = await kubernetes.admit('GET', `${RBAC}/namespaces/${project.id}/rolebindings`);
      t.match(body, 'stonegate:edit', 'the binding exists by the time of the first response');
      // RBAC's authorizer may learn of it a moment later.
      await eventually(async () => (await status(token, path)) === 200);
    },
  );
});

/** Makes, changes and removes one of each kind. @returns the exit codes of `sync` */
async function everything({ kubernetes, stonegate, sync }: Provisioned, name: string) {
  const { directory } = stonegate.keystone;
  for (const { metadata } of await own(kubernetes, 'clusterroles', /^stonegate:/))
    await kubernetes.admit('DELETE', `${RBAC}/clusterroles/${metadata.name}`);
  const project = directory.project('acme', name);
  directory.assign(directory.user('acme', 'alice'), 'member', { project });
  const made = (await sync('--force')).code;
  for (const role of await own(kubernetes, 'clusterroles', /^stonegate:read$/))
    await kubernetes.admit('PUT', `${RBAC}/clusterroles/${role.metadata.name}`, { ...role, rules: [] });
  const bindings = `namespaces/${project.id}/rolebindings`;
  for (const binding of await own(kubernetes, bindings, /^stonegate-/))
    await kubernetes.admit('PUT', `${RBAC}/${bindings}/${binding.metadata.name}`, {
      ...binding,
      subjects: [],
    });
  const changed = (await sync('--force')).code;
  project.enabled = false;
  const removed = (await sync('--force')).code;
  return { codes: [made, changed, removed] };
}

interface Listed {
  readonly metadata: { readonly name: string };
}

async function own(
  { admit }: KubernetesSite['kubernetes'],
  collection: string,
  name: RegExp,
): Promise<Listed[]> {
  const { items }: { items: Listed[] } = JSON.parse((await admit('GET', `${RBAC}/${collection}`)).body);
  return items.filter(({ metadata }) => name.test(metadata.name));
}

/** Sets the rules of the role, and waits until the API server's authorizer knows of it. */
async function give(
  { kubernetes }: Provisioned,
  rules: readonly Rule[],
  { apiGroups: [group], resources: [name = ''], verbs: [verb] }: Rule,
  allowed: boolean,
) {
  await kubernetes.admit('PUT', `${RBAC}/clusterroles/${ROLE}`, { metadata: { name: ROLE }, rules });
  const [resource, subresource] = name.split('/');
  const resourceAttributes = { group, resource, subresource, verb };
  const groups = ['system:authenticated', 'system:serviceaccounts'];
  await eventually(
    async () => (await isAllowed(kubernetes, { user: PROVISIONER, groups, resourceAttributes })) === allowed,
  );
}
