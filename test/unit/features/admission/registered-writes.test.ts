/**
 * Arktos calls each URL of the webhook at most five times a second, and writes that are not registered are
 * not judged. So exactly those kinds and operations of its API are registered of which some request is
 * refused.
 */
import t from 'tap';
import {
  reviewedPolicyWrites,
  reviewedWrites,
} from '../../../../src/features/admission/registered-writes.ts';
import { createReviewPaths } from '../../../../src/kubernetes/review-paths.ts';
import { admissionRequest, decisionOf } from '../../../support/admission-reviews.ts';
import { builtInKinds, type Kind } from '../../../support/apiserver/kinds.ts';
import { eachRow } from '../../../support/rows.ts';

type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

const PUBLISHING = { kinds: [], clusterScoped: [] };
const SYSTEM_KINDS = ['ingresses.networking.k8s.io'];
const KINDS = { admission: { systemKinds: SYSTEM_KINDS }, publishing: PUBLISHING };
const TENANCY = 'tenancy.stonegate.dev';
const POLICIES = { group: TENANCY, resource: 'crosstenantpolicies', verbs: ['create', 'update', 'delete'] };
const STATUS = { name: 'status', verbs: ['update'] };

const OPERATIONS: Readonly<Record<string, Operation>> = {
  create: 'CREATE',
  update: 'UPDATE',
  patch: 'UPDATE',
  delete: 'DELETE',
};
/** Of this group the stand-in serves only deployments. */
const EXTENSIONS = ['daemonsets', 'replicasets'].map((resource) => ({
  group: 'extensions',
  resource,
  verbs: ['create', 'update', 'delete'],
  subresources: [STATUS],
}));
/** A review of these subresources has the operation CONNECT. */
const CONNECTIONS = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** `OPERATION group/resource/subresource` of every write that Arktos serves. */
function servedWrites(): Set<string> {
  type Served = Pick<Kind, 'group' | 'resource' | 'verbs'> & {
    readonly subresources: readonly Pick<Kind['subresources'][number], 'name' | 'verbs'>[];
  };
  const served: Served[] = [
    ...builtInKinds('arktos'),
    ...EXTENSIONS,
    { ...POLICIES, subresources: [STATUS] },
  ];
  return new Set(
    served.flatMap(({ group, resource, verbs, subresources }) =>
      [{ name: '', verbs }, ...subresources]
        .filter(({ name }) => !CONNECTIONS.has(name))
        .flatMap(({ name, verbs: ofKind }) =>
          ofKind
            .filter((verb) => verb in OPERATIONS)
            .map((verb) => `${OPERATIONS[verb]} ${group}/${resource}/${name}`),
        ),
    ),
  );
}

const POD = { nodeName: 'n1', hostNetwork: true, containers: [{ name: 'c', image: 'i' }] };
const TEMPLATE = { metadata: {}, spec: POD };
/** Fields that a user of a tenant may not store, whatever the kind. */
const WORST = {
  spec: {
    ...POD,
    template: TEMPLATE,
    jobTemplate: { spec: { template: TEMPLATE } },
    hostPath: { path: '/' },
    scope: 'Cluster',
  },
  template: TEMPLATE,
  target: { kind: 'Node', name: 'n1' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
};
const metadata = { name: 'x', tenant: 'acme' };
const marked = { ...metadata, labels: { 'stonegate.dev/managed-by': 'stonegate' } };

/** A write by a user of a tenant that should be refused, with the fields that the subresource stores. */
function worstRequest(operation: Operation, subresource: string) {
  if (operation === 'DELETE') return { oldObject: { metadata: marked } };
  const oldObject = operation === 'UPDATE' ? { oldObject: { metadata, spec: {} } } : {};
  switch (subresource) {
    case '':
    case 'binding':
      return { object: { metadata: marked, ...WORST }, ...oldObject };
    case 'status':
    case 'finalize':
      return { object: { metadata: marked, spec: {}, status: { conditions: [{}] } }, ...oldObject };
    default:
      // The subresource has a kind of its own, which stores no metadata.
      return { object: { metadata, spec: {} }, ...oldObject };
  }
}

t.test('exactly the writes that can be refused are registered', async (t) => {
  const decide = decisionOf({ systemKinds: SYSTEM_KINDS, publishing: PUBLISHING });
  const refused = [...servedWrites()].filter((write) => {
    const [operation, group = '', resource = '', subresource = ''] = write.split(/[ /]/);
    if (operation !== 'CREATE' && operation !== 'UPDATE' && operation !== 'DELETE') return false;
    const name = operation === 'CREATE' ? '' : 'x';
    const { violations, required } = decide(
      admissionRequest({
        operation,
        group,
        resource,
        subresource,
        name,
        ...worstRequest(operation, subresource),
      }),
    );
    return violations.length > 0 || required.length > 0;
  });
  const registered = [...reviewedWrites(KINDS), ...reviewedPolicyWrites()].flatMap(
    ({ rule: { apiGroups, resources, operations } }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          operations.map((operation) => {
            const [kind, subresource = ''] = resource.split('/');
            return `${operation} ${group}/${kind}/${subresource}`;
          }),
        ),
      ),
  );
  t.strictSame(registered.sort(), refused.sort());
});

t.test('the proxy finds the URL of a request by its method and kind', async (t) => {
  const pathOf = createReviewPaths([...reviewedWrites(KINDS), ...reviewedPolicyWrites()]);
  const configMaps = { apiGroup: '', resource: 'configmaps', subresource: '' };
  await eachRow(
    `
    POST    |            | pods        |         | /admission/core/pods/create
    POST    |            | pods        | binding | /admission/core/pods/binding/create
    PATCH   | apps       | deployments |         | /admission/apps/deployments/update
    PUT     | extensions | deployments |         | /admission/apps/deployments/update
    POST    | extensions | ingresses   |         | /admission/networking.k8s.io/ingresses/create
    DELETE  |            | configmaps  |         | /admission/core/configmaps/delete
    GET     |            | pods        |         | undefined
    HEAD    |            | pods        |         | undefined
    OPTIONS |            | pods        |         | undefined
    POST    |            | pods        | exec    | undefined
    POST    |            | events      |         | undefined`,
    (method, apiGroup, resource, subresource, path) =>
      t.equal(String(pathOf?.(method, { apiGroup, resource, subresource })), path, `${method} ${resource}`),
  );
  const others = createReviewPaths(reviewedWrites({ admission: { systemKinds: [] } }));
  t.equal(others?.('POST', configMaps), undefined);
});
