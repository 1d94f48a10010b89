/** No fact of a tenancy mode stands for another: a mode that mixes them is built, checked and printed. */
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { withBackends } from '../../src/app/backends.ts';
import { checkUpstream } from '../../src/app/commands/check-upstream.ts';
import { provisionerManifests } from '../../src/app/commands/provisioner-manifests.ts';
import { rbacManifests } from '../../src/app/commands/rbac-manifests.ts';
import { withComponents } from '../../src/app/commands/with-components.ts';
import { DEFINITIONS, loadedStonegate } from '../../src/app/configuration.ts';
import { createProxy } from '../../src/app/proxy.ts';
import { broken } from '../../src/config/problem.ts';
import { podSecurityRuleOf } from '../../src/features/admission/pod-security.ts';
import { ResponseMemory } from '../../src/limits/response-memory.ts';
import { StreamRegistry } from '../../src/proxy/streams/stream-registry.ts';
import { fakeExchange } from '../support/fake-exchange.ts';
import { manifestsIn, seedManifests } from '../support/manifests.ts';
import { startTestbed } from '../support/testbed.ts';
import { inThirdMode, THIRD_FACTS, THIRD_MODE } from '../support/third-mode.ts';

const STONEGATE = { kind: 'User', name: 'stonegate' } as const;

/** Stonegate in the third mode, with the rights that it prints, at an API server that has tenants. */
async function setUp(t: Test) {
  const testbed = await startTestbed(t);
  const { apiServer, configFile, configure } = testbed;
  await configure(
    parse(`
    tenancy: {mode: shared}
    access: {index: true, authorizers: [Node, RBAC]}
    admission: {bind: 127.0.0.1:0, tls: {certFile: tls.crt, keyFile: tls.key}}
    quota: {default: {pods: '10'}}
    tokens: {}
    bindings: {credential: {certFile: apiserver.crt, keyFile: apiserver.key}}`),
  );
  const loaded = inThirdMode(await loadedStonegate(configFile));
  const { configuration } = loaded;
  const printed = {
    own: rbacManifests(configuration, STONEGATE, { suffix: '-third' }),
    provisioner: provisionerManifests(configuration, STONEGATE, '-third'),
  };
  seedManifests(apiServer.seed, manifestsIn(printed.own));
  return { testbed, loaded, printed };
}

t.test('the proxy names users as one fact says, and forwards paths as another does', async (t) => {
  const { testbed, loaded } = await setUp(t);
  const token = testbed.keystoneToken('alice');
  await withComponents(loaded, async (build) => {
    const { runtime } = build;
    const { serve, stages } = createProxy(
      { ...withBackends(build), mode: THIRD_MODE },
      {
        observer: { requestReceived() {}, responseStarted() {}, responseComplete() {} },
        streams: new StreamRegistry({ ...runtime, limits: loaded.configuration.limits.streams }),
        responseMemory: new ResponseMemory(),
        startedAt: runtime.clock.now(),
      },
    );
    const names = stages.authorizers.map(({ name }) => name);
    t.notOk(names.includes('tenant-boundary'), 'no path can name another tenant');
    await serve(
      fakeExchange({
        target: '/api/v1/namespaces/web/pods',
        headers: [['Authorization', `Bearer ${token}`]],
      }),
    );
    const { url, headers } = await testbed.apiServer.arrival(
      (request) => request.headers['impersonate-user'] !== undefined,
    );
    t.equal(url, '/api/v1/namespaces/web/pods', 'unlike on Arktos');
    t.equal(
      headers['impersonate-user'],
      'acme:alice',
      'unlike in shared mode, whatever the domain is called',
    );
  });
});

t.test('check finds the mode that of the API server, and the printed rights enough', async (t) => {
  const { loaded } = await setUp(t);
  const { configuration } = loaded;
  const rules = DEFINITIONS.flatMap((definition) => definition.rules?.(configuration) ?? []);
  t.same(broken(rules), []);
  const found = await withComponents(loaded, checkUpstream);
  t.same(
    found.filter(({ isError }) => isError),
    [],
  );
  t.same(
    found.filter(({ path }) => path === 'upstream.credential'),
    [],
  );
});

t.test('manifests are printed by the facts', async (t) => {
  const { loaded, printed } = await setUp(t);
  const { own, provisioner } = printed;
  t.notMatch(own, /serviceaccounts/, 'the name of a service account begins with no tenant');
  t.match(own, /- tenants\n/, 'tenants are objects: users see their own');
  t.notMatch(own, /customresourcedefinitions/, 'no definitions of the operator’s tenant are shared');
  t.match(own, /nonResourceURLs:\n\s+- \/version\n\s+verbs:/, 'no paths of tenants: discovery is forwarded');
  t.match(provisioner, /- tenants\n/, 'tenants are objects: the provisioner reads their UIDs');
  t.notMatch(provisioner, /clusterrolebindings/, 'no role is bound in a tenant');
  t.match(provisioner, /- bind\n/, 'the API server does not compare the roles');
  const place = { namespace: 'stonegate' };
  const registrationsOf = ({ registrations }: (typeof DEFINITIONS)[number]) =>
    registrations?.(loaded.configuration, '', place) ?? [];
  const registrations = DEFINITIONS.flatMap(registrationsOf);
  t.ok(registrations.length > 2, 'each kind has a webhook of its own');
  t.notMatch(JSON.stringify(registrations), 'matchConditions');
  t.match(JSON.stringify(registrations), 'quota.stonegate.dev');
  t.match(podSecurityRuleOf({ tenants: {} }, THIRD_FACTS)('acme'), { level: 'privileged', version: 'v1.24' });
});
