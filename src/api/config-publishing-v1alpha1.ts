/**
 * The section `publishing` of a StonegateConfiguration after loading. `config/schema-publishing.ts` parses
 * it.
 */
import type { PublishedKind } from './published-objects.ts';

/** Objects without a namespace that may be published. */
export interface TenantScopedConfiguration {
  readonly kind: PublishedKind;
  /** A name, with at most one `*` for any text. */
  readonly names: string;
}

/** Which objects of the system tenant (arktos) or of these namespaces (shared) are copied to tenants. */
export interface PublishingConfiguration {
  /** The first one counts if two have an object of the same kind and name (shared). */
  readonly namespaces: readonly string[];
  /** In arktos mode only. */
  readonly clusterScoped: readonly TenantScopedConfiguration[];
  /** Further kinds in the namespaces. */
  readonly kinds: readonly PublishedKind[];
  /** Milliseconds from one run to the next if nothing changes. */
  readonly interval: number;
}
