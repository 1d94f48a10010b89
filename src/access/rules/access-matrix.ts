/**
 * Access rules as a matrix of kinds and verbs: one group of rows for each set of namespaces that have equal
 * rules.
 */
import type { AccessRule, AccessRules } from '../../api/access-rules-v1alpha1.ts';

export const MATRIX_VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const;
type MatrixVerb = (typeof MATRIX_VERBS)[number];

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
  const group = (scope: MatrixGroup['scope'], own: readonly AccessRule[], names: readonly string[] = []) => ({
    scope,
    names,
    rows: rowsOf(own, scope === 'everywhere' ? own : [...own, ...everywhere]),
  });
  return [
    group('everywhere', everywhere),
    group('cluster', cluster),
    ...namespaces.map((entry) => group('namespaces', entry.rules, entry.names)),
    group('otherNamespaces', otherNamespaces),
  ].filter(({ rows }) => rows.length > 0);
}

/**
 * @param shown rules that have rows
 * @param counted rules that count in these rows
 */
function rowsOf(shown: readonly AccessRule[], counted: readonly AccessRule[]): readonly MatrixRow[] {
  const rows = new Map<string, MatrixRow>();
  for (const { apiGroups, resources } of shown)
    for (const apiGroup of apiGroups)
      for (const resource of resources) {
        const kind = kindOf(apiGroup, resource);
        if (!rows.has(kind)) rows.set(kind, rowOf(kind, covering(counted, apiGroup, resource)));
      }
  return [...rows.values()].sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

function kindOf(apiGroup: string, resource: string): string {
  if (apiGroup === '' || (apiGroup === '*' && resource === '*')) return resource;
  const [name = '', ...subresource] = resource.split('/');
  return [`${name}.${apiGroup}`, ...subresource].join('/');
}

function covering(rules: readonly AccessRule[], apiGroup: string, resource: string): readonly AccessRule[] {
  const [, subresource] = resource.split('/');
  const wider = ['*', resource, ...(subresource === undefined ? [] : [`*/${subresource}`])];
  return rules.filter(
    ({ apiGroups, resources }) =>
      (apiGroups.includes('*') || apiGroups.includes(apiGroup)) &&
      wider.some((one) => resources.includes(one)),
  );
}

function rowOf(kind: string, rules: readonly AccessRule[]): MatrixRow {
  const cellOf = (verb: string): MatrixCell => {
    const allowing = rules.filter(({ verbs = [] }) => verbs.includes('*') || verbs.includes(verb));
    if (allowing.length === 0) return 'none';
    return allowing.some(({ resourceNames }) => resourceNames === undefined) ? 'all' : 'named';
  };
  const columns: ReadonlySet<string> = new Set(MATRIX_VERBS);
  const others = rules.flatMap(({ verbs = [] }) => verbs).filter((verb) => !columns.has(verb));
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
    otherVerbs: [...new Set(others)].sort(),
    names: [...new Set(rules.flatMap(({ resourceNames = [] }) => resourceNames))].sort(),
  };
}
