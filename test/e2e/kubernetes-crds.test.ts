/**
 * A real kube-apiserver accepts the definitions that `stonegate manifests crds` prints, except for the scope
 * that only Arktos has.
 */
import t from 'tap';
import { parse } from 'yaml';
import { DEFINITIONS } from '../../src/app/configuration.ts';
import { definitionOf } from '../../src/kubernetes/custom-resource.ts';
import { isObject } from '../support/apiserver/json.ts';
import { createKubectl, findKubectls } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { patched, posted } from '../support/https-client.ts';
import { startKubernetes } from '../support/kubernetes/api-server.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';

const TENANCY = '/apis/tenancy.stonegate.dev/v1alpha1';

t.test(
  'kube-apiserver accepts the definitions, and kubectl explains and shows their objects',
  { skip: missingKubernetes() },
  async (t) => {
    const kubernetes = await startKubernetes(t);
    for (const definition of DEFINITIONS.flatMap(({ storedKinds = [] }) => storedKinds).map((kind) =>
      definitionOf(kind.definition),
    )) {
      if (!('spec' in definition) || !isObject(definition.spec)) throw new TypeError('it is no definition');
      // An ordinary cluster has no scope `Tenant`.
      const { scope } = definition.spec;
      const spec = { ...definition.spec, scope: scope === 'Tenant' ? 'Cluster' : scope };
      await kubernetes.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
        ...definition,
        spec,
      });
    }
    const spec = parse(`
      subjects: [{kind: Group, tenant: acme, name: devs}]
      namespaces: ['*']
      rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]`);
    const policy = (name: string, given: object) => ({
      apiVersion: 'tenancy.stonegate.dev/v1alpha1',
      kind: 'CrossTenantPolicy',
      metadata: { name },
      spec: given,
    });
    const path = `${TENANCY}/crosstenantpolicies`;
    await eventually(async () => (await kubernetes.ask(kubernetes.admin, path)).status === 200);
    await kubernetes.create(path, policy('good', spec));
    for (const [field, wrong] of Object.entries({
      subjects: [],
      namespaces: 'all',
      notAfter: 'soon',
      rules: undefined,
    })) {
      const bad = posted(policy('bad', { ...spec, [field]: wrong }));
      t.equal((await kubernetes.ask(kubernetes.admin, path, bad)).status, 422, field);
    }
    const status = parse(`
      conditions:
        - type: Ready
          status: 'False'
          reason: AdmissionRequired
          message: no webhook
          lastTransitionTime: '2026-01-01T00:00:00Z'
          observedGeneration: 1`);
    const changed = await kubernetes.ask(kubernetes.admin, `${path}/good/status`, patched({ status }));
    t.equal(changed.status, 200);
    await kubernetes.create(
      `${TENANCY}/tenantadministrations`,
      parse(`
      apiVersion: tenancy.stonegate.dev/v1alpha1
      kind: TenantAdministration
      metadata: {name: support}
      spec:
        groups: [ops]
        tenants: {matchLabels: {region: eu}}
        clusterRole: stonegate:read
        reason: x`),
    );
    const [binary] = findKubectls();
    if (binary === undefined) return;
    const kubectl = createKubectl(t, binary, {
      server: kubernetes.url,
      ca: kubernetes.authority.cert,
      ...kubernetes.admin,
    });
    const shown = await kubectl.run('get ctp');
    t.match(shown.stdout, /NAME +READY +REASON +UNTIL +AGE/, shown.stderr);
    t.match(shown.stdout, /good +False +AdmissionRequired/);
    const explained = await kubectl.run('explain crosstenantpolicies.spec.subjects');
    t.match(explained.stdout, 'lets into this tenant', explained.stderr);
  },
);
