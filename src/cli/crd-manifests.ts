/**
 * The CustomResourceDefinitions of cross-tenant policies and administrations. In Arktos they are the system
 * tenant's, and their scope is never `Cluster`, whose objects all tenants share.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import { stringify } from 'yaml';
import { CRD_SHARING_POLICY } from '../api/kubernetes-object.ts';
import { TENANCY_GROUP, TENANCY_VERSION } from '../api/tenancy-v1alpha1.ts';

/** Of lists in a spec: the policies' own code refuses longer ones. */
const MAX_ITEMS = 100;
const MAX_TEXT = 512;

const text = (description: string) => ({ type: 'string', maxLength: MAX_TEXT, description });
const texts = (description: string) => ({
  type: 'array',
  maxItems: MAX_ITEMS,
  description,
  items: { type: 'string', maxLength: MAX_TEXT },
});
const time = (description: string) => ({ type: 'string', format: 'date-time', description });

const RULE = {
  type: 'object',
  required: ['apiGroups', 'resources', 'verbs'],
  properties: {
    apiGroups: texts('Names of API groups; the core group is the empty text.'),
    resources: texts('Names of resources, with the subresource if one is meant: pods, pods/log.'),
    resourceNames: texts('Names of objects; without it, all.'),
    verbs: texts('get, list, watch, create, update, patch, delete or deletecollection.'),
  },
};

const CROSS_TENANT_POLICY_SPEC = {
  type: 'object',
  required: ['subjects', 'namespaces', 'rules'],
  properties: {
    subjects: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_ITEMS,
      description: 'Whom the policy lets into this tenant.',
      items: {
        type: 'object',
        required: ['kind', 'tenant', 'name'],
        properties: {
          kind: { type: 'string', enum: ['User', 'Group'], description: 'User or Group.' },
          tenant: text('The tenant to which the user belongs: another one than this.'),
          name: text(
            'Of a user: the name within the tenant, or * for every user of the tenant. Of a group: its name.',
          ),
        },
      },
    },
    namespaces: {
      ...texts('Names of namespaces of this tenant; or * alone for all, and for what has no namespace.'),
      minItems: 1,
    },
    rules: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_ITEMS,
      description: 'What they may do: nothing that the author may not do. No * anywhere.',
      items: RULE,
    },
    notAfter: time('When the policy ends; it has no end without it.'),
  },
};

const TENANT_ADMINISTRATION_SPEC = {
  type: 'object',
  required: ['groups', 'tenants', 'clusterRole', 'reason'],
  properties: {
    groups: { ...texts('Groups whose members administer the tenants.'), minItems: 1 },
    domain: text('The Keystone domain of the members; without it, the system tenant.'),
    tenants: {
      type: 'object',
      minProperties: 1,
      description: 'Which tenants; all conditions that are given must hold.',
      properties: {
        names: texts('Names of tenants; or * alone for every tenant but the system tenant.'),
        matchLabels: {
          type: 'object',
          description: 'Labels that the Tenant objects must have.',
          additionalProperties: { type: 'string' },
        },
        domains: texts('Names of Keystone domains whose tenants are meant.'),
      },
    },
    clusterRole: text('What they may do there: a ClusterRole of Stonegate or of the system tenant.'),
    notAfter: time('When the administration ends.'),
    reason: text('Why, for audit events.'),
  },
};

const STATUS = {
  type: 'object',
  properties: {
    conditions: {
      type: 'array',
      description: 'Ready: whether it is in force; if not, the reason says why.',
      items: {
        type: 'object',
        required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
        properties: {
          type: { type: 'string' },
          status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
          reason: { type: 'string' },
          message: { type: 'string' },
          lastTransitionTime: { type: 'string', format: 'date-time' },
          observedGeneration: { type: 'integer', format: 'int64' },
        },
      },
    },
  },
};

const column = (name: string, jsonPath: string, type = 'string') => ({ name, type, jsonPath });
const READY = '.status.conditions[?(@.type=="Ready")]';
const COMMON_COLUMNS = [
  column('Ready', `${READY}.status`),
  column('Reason', `${READY}.reason`),
  column('Until', '.spec.notAfter'),
  column('Age', '.metadata.creationTimestamp', 'date'),
];

interface Definition {
  readonly kind: string;
  readonly shortName: string;
  readonly description: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec: object;
  readonly columns: readonly object[];
}

/**
 * Spelled so, its objects work in every tenant, and tenants can still be deleted: the tenant controller would
 * wait for ever for a definition that is labelled `forced`.
 */
const SHARED = { [CRD_SHARING_POLICY]: 'Forced' };

const DEFINITIONS: readonly Definition[] = [
  {
    kind: 'CrossTenantPolicy',
    shortName: 'ctp',
    description: 'Lets users of other tenants into the tenant of the object.',
    labels: SHARED,
    spec: CROSS_TENANT_POLICY_SPEC,
    columns: COMMON_COLUMNS,
  },
  {
    kind: 'TenantAdministration',
    shortName: 'tadm',
    description: 'Lets groups administer a set of tenants. An object of the system tenant.',
    spec: TENANT_ADMINISTRATION_SPEC,
    columns: [column('Role', '.spec.clusterRole'), ...COMMON_COLUMNS],
  },
];

/** @returns YAML documents for `kubectl apply -f -` */
export function crdManifests(): string {
  return `# Custom resources of Stonegate, for the system tenant: apply as an administrator of it.\n${DEFINITIONS.map(
    (definition) => stringify(definitionOf(definition), { lineWidth: 0 }),
  ).join('---\n')}`;
}

function definitionOf({ kind, shortName, description, labels, spec, columns }: Definition): object {
  const singular = kind.toLowerCase();
  const plural = singular.replace(/y$/, 'ie').concat('s');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${TENANCY_GROUP}`, ...(labels && { labels }) },
    spec: {
      group: TENANCY_GROUP,
      scope: 'Tenant',
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName] },
      versions: [
        {
          name: TENANCY_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec,
                status: STATUS,
              },
            },
          },
        },
      ],
    },
  };
}
