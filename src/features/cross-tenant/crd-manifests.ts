/**
 * The CustomResourceDefinitions of cross-tenant policies and administrations. In Arktos they are the system
 * tenant's, and their scope is never `Cluster`, whose objects all tenants share.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import type { z } from 'zod';
import { CRD_SHARING_POLICY } from '../../kubernetes/kubernetes-object.ts';
import { toKubernetesSchema } from '../../kubernetes/kubernetes-schema.ts';
import {
  crossTenantPolicySpecSchema,
  policyStatusSchema,
  TENANCY_GROUP,
  TENANCY_VERSION,
  tenantAdministrationSpecSchema,
} from './tenancy-v1alpha1.ts';

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
  readonly spec: z.ZodType;
  readonly columns: readonly object[];
}

/**
 * Spelled so, its objects work in every tenant, and tenants can still be deleted: the tenant controller would
 * wait for ever for a definition that is labelled `forced`.
 */
const SHARED = { [CRD_SHARING_POLICY]: 'Forced' };

export const POLICY_DEFINITIONS: readonly Definition[] = [
  {
    kind: 'CrossTenantPolicy',
    shortName: 'ctp',
    description: 'Lets users of other tenants into the tenant of the object.',
    labels: SHARED,
    spec: crossTenantPolicySpecSchema,
    columns: COMMON_COLUMNS,
  },
  {
    kind: 'TenantAdministration',
    shortName: 'tadm',
    description: 'Lets groups administer a set of tenants. An object of the system tenant.',
    spec: tenantAdministrationSpecSchema,
    columns: [column('Role', '.spec.clusterRole'), ...COMMON_COLUMNS],
  },
];

export function policyDefinitions(): object[] {
  return POLICY_DEFINITIONS.map(definitionOf);
}

export function pluralOf(kind: string): string {
  return kind.toLowerCase().replace(/y$/, 'ie').concat('s');
}

function definitionOf({ kind, shortName, description, labels, spec, columns }: Definition): object {
  const plural = pluralOf(kind);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${TENANCY_GROUP}`, ...(labels && { labels }) },
    spec: {
      group: TENANCY_GROUP,
      scope: 'Tenant',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames: [shortName] },
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
                spec: toKubernetesSchema(spec),
                status: toKubernetesSchema(policyStatusSchema),
              },
            },
          },
        },
      ],
    },
  };
}
