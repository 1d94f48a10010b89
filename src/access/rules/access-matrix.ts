/**
 * Access rules as a matrix of kinds and verbs: one group of rows for each set of namespaces that have equal
 * rules.
 */
import type { AccessRule, AccessRules } from '../../api/access-rules-v1alpha1.ts';

export const MATRIX_VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const;
type MatrixVerb = (typeof MATRIX_VERBS)[number];

/** Verbs without a column, and names, in one row: a row for each kind would repeat those of a wildcard. */
const MAX_SHOWN = 50;

/** `named`: for some objects only. */
export type MatrixCell = 'all' | 'named' | 'none';

export interface MatrixRow {
  /** `deployments.apps`, `pods/log`, `*`; of a group with a wildcard: `deployments.*`. */
  readonly kind: string;
  readonly cells: Readonly<Record<MatrixVerb, MatrixCell>>;
  /** Verbs without a column, sorted. */
  readonly otherVerbs: readonly string[];
  /** Of the objects for which a cell is `named`, sorted. */
  readonly names: readonly string[];
}

export interface MatrixGroup {
  readonly scope: 'everywhere' | 'cluster' | 'namespaces' | 'otherNamespaces';
  /** The namespaces, if these are `namespaces`. */
  readonly names: readonly string[];
  readonly rows: readonly MatrixRow[];
}

/**
 * A kind of a namespace has the verbs that are allowed everywhere too. Groups without rows are left out.
 *
 * @param rules for all verbs
 */
export function accessMatrix(rules: AccessRules): readonly MatrixGroup[] {
  const { everywhere, cluster, namespaces, otherNamespaces } = rules;
  const common = new RulesByKind(everywhere);
  const group = (scope: MatrixGroup['scope'], own: readonly AccessRule[], names: readonly string[] = []) => ({
    scope,
    names,
    rows: rowsOf(own, [new RulesByKind(own), common]),
  });
  return [
    { scope: 'everywhere' as const, names: [], rows: rowsOf(everywhere, [common]) },
    group('cluster', cluster),
    ...namespaces.map((entry) => group('namespaces', entry.rules, entry.names)),
    group('otherNamespaces', otherNamespaces),
  ].filter(({ rows }) => rows.length > 0);
}

/**
 * @param shown rules that have rows
 * @param counted rules that count in these rows
 */
function rowsOf(shown: readonly AccessRule[], counted: readonly RulesByKind[]): readonly MatrixRow[] {
  const rows = new Map<string, MatrixRow>();
  for (const { apiGroups, resources } of shown)
    for (const apiGroup of apiGroups)
      for (const resource of resources) {
        const kind = kindOf(apiGroup, resource);
        if (!rows.has(kind)) rows.set(kind, rowOf(kind, counted, apiGroup, resource));
      }
  return [...rows.values()].sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

function kindOf(apiGroup: string, resource: string): string {
  if (apiGroup === '' || (apiGroup === '*' && resource === '*')) return resource;
  const [name = '', ...subresource] = resource.split('/');
  return [`${name}.${apiGroup}`, ...subresource].join('/');
}

/** Verbs and names that rules grant for one API group and resource, which may be wildcards. */
interface Granted {
  readonly verbs: Map<string, 'all' | 'named'>;
  readonly names: Set<string>;
}

/** Found by look-up: a row does not cost the number of rules. */
class RulesByKind {
  /** API group → resource. */
  readonly #granted = new Map<string, Map<string, Granted>>();

  constructor(rules: readonly AccessRule[]) {
    for (const rule of rules)
      for (const apiGroup of rule.apiGroups)
        for (const resource of rule.resources) add(this.#at(apiGroup, resource), rule);
  }

  /** What rules grant for the kind, by its name and by wildcards. */
  covering(apiGroup: string, resource: string): readonly Granted[] {
    const [, subresource] = resource.split('/');
    const resources = new Set(['*', resource, ...(subresource === undefined ? [] : [`*/${subresource}`])]);
    return [...new Set(['*', apiGroup])].flatMap((group) =>
      [...resources].flatMap((wider) => this.#granted.get(group)?.get(wider) ?? []),
    );
  }

  #at(apiGroup: string, resource: string): Granted {
    const resources = this.#granted.get(apiGroup) ?? new Map<string, Granted>();
    this.#granted.set(apiGroup, resources);
    const granted = resources.get(resource) ?? { verbs: new Map(), names: new Set() };
    resources.set(resource, granted);
    return granted;
  }
}

function add(granted: Granted, { verbs = [], resourceNames }: AccessRule): void {
  for (const verb of verbs)
    if (resourceNames === undefined) granted.verbs.set(verb, 'all');
    else if (!granted.verbs.has(verb)) granted.verbs.set(verb, 'named');
  // More are not shown.
  for (const name of resourceNames ?? []) if (granted.names.size <= MAX_SHOWN) granted.names.add(name);
}

function rowOf(kind: string, counted: readonly RulesByKind[], apiGroup: string, resource: string): MatrixRow {
  const granted = counted.flatMap((rules) => rules.covering(apiGroup, resource));
  const cellOf = (verb: string): MatrixCell => {
    const cells = granted.flatMap(({ verbs }) => [verbs.get('*'), verbs.get(verb)]);
    return cells.includes('all') ? 'all' : cells.includes('named') ? 'named' : 'none';
  };
  const columns: ReadonlySet<string> = new Set(MATRIX_VERBS);
  const others = new Set<string>();
  const names = new Set<string>();
  for (const { verbs, names: more } of granted) {
    for (const verb of verbs.keys()) if (!columns.has(verb) && others.size <= MAX_SHOWN) others.add(verb);
    for (const name of more) names.add(name);
  }
  return {
    kind,
    cells: {
      get: cellOf('get'),
      list: cellOf('list'),
      watch: cellOf('watch'),
      create: cellOf('create'),
      update: cellOf('update'),
      patch: cellOf('patch'),
      delete: cellOf('delete'),
    },
    otherVerbs: shown(others),
    names: shown(names),
  };
}

/** Sorted. */
function shown(values: ReadonlySet<string>): readonly string[] {
  const sorted = [...values].sort();
  return sorted.length <= MAX_SHOWN ? sorted : [...sorted.slice(0, MAX_SHOWN), '…'];
}
