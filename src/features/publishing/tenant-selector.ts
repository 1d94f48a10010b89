/**
 * The value of the annotation that publishes an object: `all`, names of tenants, or labels that all must
 * hold. There are no negations, blanks or wildcards, and no form has an empty part, so that no value selects
 * more tenants than its author reads in it.
 */

/** A tenant, or in shared mode a namespace of a tenant. */
export interface SelectedTenant {
  /** The tenant (arktos), or the id of the Keystone domain (shared). */
  readonly name: string;
  /** Labels of the Tenant object (arktos), or of the namespace (shared). */
  readonly labels: Readonly<Record<string, string>>;
}

export type TenantSelector =
  | { readonly all: true }
  | { readonly names: ReadonlySet<string> }
  | { readonly labels: ReadonlyMap<string, string> };

/** More parts than anyone reads are refused. */
const MAX_PARTS = 100;
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LABEL_NAME = '[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?';
const LABEL = new RegExp(`^((?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?${LABEL_NAME})=(${LABEL_NAME})$`);
/** What a selector must be. */
export const SELECTOR_FORMS =
  'expected all, or names of tenants as a,b, or labels as key=value,key=value, nothing twice';

/** @returns undefined if the value is no selector */
export function parseTenantSelector(value: string): TenantSelector | undefined {
  if (value === 'all') return { all: true };
  const parts = value.split(',');
  const names = new Set(parts);
  if (parts.length > MAX_PARTS || names.size < parts.length || names.has('all')) return undefined;
  if (parts.every((part) => NAME.test(part))) return { names };
  const labels = new Map(
    parts.flatMap((part) => {
      const [, key, label] = LABEL.exec(part) ?? [];
      return key === undefined || label === undefined ? [] : [[key, label] as const];
    }),
  );
  return labels.size < parts.length ? undefined : { labels };
}

export function selectsTenant(selector: TenantSelector, { name, labels }: SelectedTenant): boolean {
  if ('all' in selector) return true;
  if ('names' in selector) return selector.names.has(name);
  return [...selector.labels].every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}
