/**
 * An API server in memory with tenants and published objects, for tests of publishing.
 */

import { type PublishingRules, planPublishing } from '../../src/features/publishing/plan.ts';
import type { PublishingConfiguration } from '../../src/features/publishing/publishing-configuration.ts';
import { readPublishing } from '../../src/features/publishing/read-state.ts';
import { KINDS, type Place, type StoredObject } from '../../src/kubernetes/kubernetes-object.ts';
import {
  NAMESPACED_KINDS,
  PUBLISHED,
  type PublishedKind,
  TENANT_KINDS,
} from '../../src/kubernetes/published-objects.ts';
import { applyPlan } from '../../src/kubernetes/reconcile/apply.ts';
import { createRulesCheck } from '../../src/rbac/granted-rules.ts';
import { TENANCY_FACTS } from '../../src/tenancy/facts.ts';
import { createMemoryObjects } from './memory-objects.ts';

export type Mode = 'arktos' | 'shared';

export function kindOf(resource: string): PublishedKind {
  const kind = [...NAMESPACED_KINDS, ...TENANT_KINDS, NAMESPACES].find((one) => one.resource === resource);
  if (kind === undefined) throw new Error(`no kind ${resource}`);
  return kind;
}

export const TENANTS = KINDS.Tenant;
const NAMESPACES = KINDS.Namespace;

/** One run of publishing: its plan and the result. */
export async function publish(site: PublishingSite, withdraw = false) {
  const { objects, rules } = site;
  const { signal } = new AbortController();
  const plan = await planPublishing(await readPublishing({ ...site, withdraw, signal }), rules);
  return { plan, applied: await applyPlan(plan, { objects, signal }) };
}

export type PublishingSite = ReturnType<typeof publishingSite>;

export interface SiteOptions {
  readonly mode?: Mode;
  readonly configuration?: Partial<PublishingConfiguration>;
}

/** The tenants acme and globex, and the namespace `shared` whose objects are published. */
export function publishingSite({ mode = 'arktos', configuration }: SiteOptions = {}) {
  const objects = createMemoryObjects();
  const system: Place = mode === 'arktos' ? { tenant: 'system' } : {};
  const home = { ...system, namespace: 'shared' };
  const rules: PublishingRules = {
    facts: TENANCY_FACTS[mode],
    checkRules: createRulesCheck([]),
    mayPublishName: (_kind, name) => name.startsWith('shared') || name.endsWith('.example.com'),
    namespaces: configuration?.namespaces ?? ['shared'],
    systemTenant: 'system',
  };
  const site = {
    objects,
    rules,
    home,
    configuration: {
      namespaces: ['shared'],
      clusterScoped: mode === 'arktos' ? TENANT_KINDS.map((kind) => ({ kind, names: 'shared*' })) : [],
      kinds: [],
      interval: 300_000,
      ...configuration,
    },
    /** Creates an annotated object in the namespace `shared`, or outside of namespaces. */
    publish(resource: string, name: string, fields: object, annotation = 'all', more: object = {}) {
      const kind = kindOf(resource);
      objects.put(kind, kind.namespaced ? home : system, {
        ...fields,
        metadata: { name, ...more, annotations: { [PUBLISHED]: annotation, ...annotationsIn(more) } },
      });
    },
    /**
     * The copy in the tenant (arktos) or in the namespace of the tenant (shared), which have the same name.
     */
    copy(resource: string, name: string, tenant: string): StoredObject | undefined {
      const kind = kindOf(resource);
      const namespace = mode === 'arktos' ? 'shared' : tenant;
      const place = { ...(mode === 'arktos' && { tenant }), ...(kind.namespaced && { namespace }) };
      return objects.find(kind, place, name);
    },
    /** Creates a tenant and, in shared mode, its namespace. */
    tenant(name: string, labels: Readonly<Record<string, string>> = {}) {
      if (mode === 'arktos') objects.put(TENANTS, {}, { metadata: { name, labels } });
      else {
        const own = { 'managed-by': 'stonegate', 'project-id': `p-${name}`, 'domain-id': name };
        const marks = Object.entries(own).map(([key, value]) => [`stonegate.dev/${key}`, value]);
        objects.put(
          NAMESPACES,
          {},
          { metadata: { name, labels: { ...Object.fromEntries(marks), ...labels } } },
        );
      }
    },
  };
  objects.put(NAMESPACES, system, { metadata: { name: 'shared' } });
  if (mode === 'arktos') objects.put(TENANTS, {}, { metadata: { name: 'system' } });
  for (const name of ['acme', 'globex']) site.tenant(name);
  return site;
}

function annotationsIn(more: object): object {
  return 'annotations' in more && typeof more.annotations === 'object' ? { ...more.annotations } : {};
}
