/**
 * Custom resources with kubectl, the oldest and the newest on this machine, through Stonegate in front of
 * Arktos.
 */
import t, { type Test } from 'tap';
import { type Kubectl, kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import { startForKubectl, succeeds } from '../support/kubectl-users.ts';

const binaries = kubectlsOrSkip(t, 'kubectl and custom resources');
for (const binary of binaries)
  t.test(`${binary.split('/').at(-1)}`, async (t) => {
    const { stonegate, as } = await startForKubectl(t);
    const alice = as(binary, stonegate.keystoneToken('alice'));
    const bob = as(binary, stonegate.keystoneToken('bob'));
    const { seed } = stonegate.apiServer;
    await t.test('definitions of the system tenant do not break a tenant’s discovery', async (t) => {
      seed.customResource({ group: 'ops.io', plural: 'hiddens', kind: 'Hidden', scope: 'Namespaced' });
      const requests = {
        group: 'shared.io',
        plural: 'requests',
        kind: 'Request',
        scope: 'Namespaced',
      } as const;
      seed.customResource({ ...requests, sharing: 'Forced' });
      const resources = await succeeds(t, alice, ['api-resources']);
      t.match(resources, /^requests .*shared\.io\/v1 +true +Request$/m, 'shared resources are shown');
      t.notMatch(resources, /hiddens|ops\.io/, 'other resources are not shown');
      await succeeds(t, alice, 'create -f -', object('shared.io/v1', 'Request', 'r1'));
      t.match(await succeeds(t, alice, 'get requests -o name'), 'request.shared.io/r1');
      t.equal(await succeeds(t, bob, 'get requests -o name'), '', 'each tenant has its own objects');
    });
    await t.test('a new custom resource can be used at once', async (t) => {
      await applied(t, alice, 'widgets', 'Widget');
      await applied(t, alice, 'gears', 'Gear');
    });
  });

/** Requests discovery first, so that the cached documents do not have the new resource. */
async function applied(t: Test, kubectl: Kubectl, plural: string, kind: string) {
  await succeeds(t, kubectl, ['api-resources']);
  await succeeds(t, kubectl, 'apply -f -', definition(plural, kind));
  await succeeds(t, kubectl, 'apply -f -', object('example.com/v1', kind, 'one'));
  t.match(await succeeds(t, kubectl, ['get', plural, '-o', 'name']), '/one');
}

function definition(plural: string, kind: string) {
  const names = { plural, singular: kind.toLowerCase(), kind };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
}

function object(apiVersion: string, kind: string, name: string) {
  return JSON.stringify({ apiVersion, kind, metadata: { name } });
}
