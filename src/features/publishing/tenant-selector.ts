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
const FORMS = 'expected all, or names of tenants as a,b, or labels as key=value,key=value';

/** @returns the selector, or why the value is none */
export function parseTenantSelector(value: string): TenantSelector | { readonly problem: string } {
  if (value === 'all') return { all: true };
  const parts = value.split(',');
  if (parts.length > MAX_PARTS) return { problem: `${FORMS}; found more than ${MAX_PARTS} of them` };
  if (parts.includes('all')) return { problem: `${FORMS}; found all among others` };
  if (parts.every((part) => NAME.test(part)))
    return new Set(parts).size === parts.length
      ? { names: new Set(parts) }
      : { problem: `${FORMS}; found a name twice` };
  const labels = new Map<string, string>();
  for (const part of parts) {
    const [, key, label] = LABEL.exec(part) ?? [];
    if (key === undefined || label === undefined)
      return { problem: `${FORMS}; found ${JSON.stringify(firstFault(parts, part).slice(0, 100))}` };
    if (labels.has(key)) return { problem: `${FORMS}; found the label ${key} twice` };
    labels.set(key, label);
  }
  return { labels };
}

/** @returns the part that would be wrong among others too, or else the given one, which is so among these */
function firstFault(parts: readonly string[], among: string): string {
  return parts.find((part) => !NAME.test(part) && !LABEL.test(part)) ?? among;
}

export function selectsTenant(selector: TenantSelector, { name, labels }: SelectedTenant): boolean {
  if ('all' in selector) return true;
  if ('names' in selector) return selector.names.has(name);
  return [...selector.labels].every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}
