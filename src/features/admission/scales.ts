/**
 * Arktos refuses a Scale that is replaced without `metadata.tenant`, though it fills the tenant into other
 * objects. Clients of Kubernetes know no such field: `kubectl scale --current-replicas` writes a whole Scale.
 */
import { fieldOf, objectOf, textOf } from '../../kubernetes/body-fields.ts';
import type { BodyRule } from '../../proxy/body-rule.ts';

const MAX_BYTES = 64 * 1024;

/** For an API server with tenants. */
export const scaleTenantRule: BodyRule = {
  maxBytes: MAX_BYTES,
  formats: new Set(['object', 'json-patch', 'merge-patch', 'strategic-merge-patch']),
  appliesTo: ({ subresource }) => subresource === 'scale',
  admit({ format, content }, { info, tenant }) {
    if (format !== 'object') return undefined;
    const scale = objectOf(content, 'the body');
    const metadata = objectOf(fieldOf(scale, 'metadata') ?? {}, 'metadata');
    if (textOf(metadata, 'tenant') !== '') return undefined;
    return { ...scale, metadata: { ...metadata, tenant: info.tenant || tenant } };
  },
};
