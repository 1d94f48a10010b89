/**
 * CustomResourceDefinitions of Stonegate's stored objects. In Arktos they are the system tenant's, and their
 * scope is never `Cluster`, whose objects all tenants share.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import type { z } from 'zod';
import type { ResourceKind } from './kubernetes-object.ts';
import { toKubernetesSchema } from './kubernetes-schema.ts';

/** The group and version of all stored objects. */
export const TENANCY_GROUP = 'tenancy.stonegate.dev';
export const TENANCY_VERSION = 'v1alpha1';
export const TENANCY_API_VERSION = `${TENANCY_GROUP}/${TENANCY_VERSION}` as const;

/** A kind of stored objects. One without a namespace has the scope `Tenant`, which Arktos alone knows. */
export interface CustomResource extends ResourceKind {
  readonly kind: string;
  /** Absent where a resource of Stonegate's own API has it: kubectl would warn of each use. */
  readonly shortName?: string;
  readonly description: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  /** What `kubectl get` shows after the name. */
  readonly columns: readonly object[];
}

export const column = (name: string, jsonPath: string, type = 'string') => ({ name, type, jsonPath });

export function definitionOf(resource: CustomResource): object {
  const { group, version, resource: plural, namespaced, kind, shortName, ...described } = resource;
  const { description, labels, spec, status, columns } = described;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(labels && { labels }) },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Tenant',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortName && { shortNames: [shortName] }),
      },
      versions: [
        {
          name: version,
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
                status: toKubernetesSchema(status),
              },
            },
          },
        },
      ],
    },
  };
}
