import t from 'tap';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';

const metadata = { annotations: { a: 'b' } };
const spec = { containers: [] };
const pod = { metadata, spec };
const workload = { metadata: { name: 'w' }, spec: { template: pod } };

const PLACES: readonly [group: string, resource: string, object: unknown, prefix: string][] = [
  ['', 'pods', pod, ''],
  ['', 'podtemplates', { template: pod }, 'template.'],
  ['', 'replicationcontrollers', workload, 'spec.template.'],
  ['apps', 'replicasets', workload, 'spec.template.'],
  ['apps', 'deployments', workload, 'spec.template.'],
  ['apps', 'statefulsets', workload, 'spec.template.'],
  ['apps', 'daemonsets', workload, 'spec.template.'],
  ['extensions', 'replicasets', workload, 'spec.template.'],
  ['extensions', 'deployments', workload, 'spec.template.'],
  ['extensions', 'daemonsets', workload, 'spec.template.'],
  ['batch', 'jobs', workload, 'spec.template.'],
  ['batch', 'cronjobs', { spec: { jobTemplate: workload } }, 'spec.jobTemplate.spec.template.'],
];

for (const [group, resource, object, prefix] of PLACES)
  t.test(`the pod of ${resource} in the group "${group}" is found`, async (t) => {
    t.strictSame(podPartOf(group, resource, object), {
      metadata,
      metadataPath: `${prefix}metadata`,
      spec,
      specPath: `${prefix}spec`,
    });
  });

t.test('other kinds have no pod', async (t) => {
  for (const [group, resource] of [
    ['', 'configmaps'],
    ['apps', 'pods'],
    ['', 'deployments'],
    ['apps', 'controllerrevisions'],
    ['', '__proto__'],
    ['extensions', 'ingresses'],
  ] as const)
    t.equal(podPartOf(group, resource, workload), undefined, `${group}/${resource}`);
});

t.test('an object without its template has no pod', async (t) => {
  for (const object of [{}, { spec: null }, { spec: {} }, { spec: { template: null } }])
    t.equal(podPartOf('', 'replicationcontrollers', object), undefined);
});

t.test('what is no object on the way to the pod is returned, to be refused by its reader', async (t) => {
  t.match(podPartOf('apps', 'deployments', { spec: { template: [] } }), {
    spec: [],
    specPath: 'spec.template',
  });
  t.match(podPartOf('apps', 'deployments', { spec: 'x' }), { spec: 'x', specPath: 'spec' });
  t.match(podPartOf('apps', 'deployments', null), { spec: 'null', specPath: '' });
  t.match(podPartOf('', 'pods', 7), { spec: 7, specPath: '' });
  const inherited = Object.create({ spec: { template: pod } });
  t.equal(podPartOf('apps', 'deployments', inherited), undefined, 'an inherited property is no field');
});
