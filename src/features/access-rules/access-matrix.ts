/**
 * Access rules as a matrix of kinds and verbs: one group of rows for each set of namespaces that have equal
 * rules.
 */
import type { AccessRule, AccessRules } from './access-rules-v1alpha1.ts';

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
  /** Names of the objects for which a cell is `named`, sorted. */
  readonly names: readonly string[];
}

export interface MatrixGroup {
  readonly scope: 'everywhere' | 'cluster' | 'namespaces' | 'otherNamespaces';
  /** The namespaces, if these are `namespaces`. */
  readonly names: readonly string[];
  readonly rows: readonly MatrixRow[];
  /** Further rows. */
  readonly moreRows: number;
}

export interface AccessMatrix {
  readonly groups: readonly MatrixGroup[];
  /** Further groups. */
  readonly moreGroups: number;
}

/** A row for each kind would repeat the names and verbs of a wildcard. */
export interface MatrixLimits {
  readonly groups: number;
  /** Rows of all groups. */
  readonly rows: number;
  /** Names, and verbs without a column, in one row; `…` stands for the others. */
  readonly names: number;
  /** Characters of one name, kind or verb. */
  readonly characters: number;
}

/**
 * A kind of a namespace has the verbs that are allowed everywhere too. Groups without rows are left out.
 *
 * @param rules for all verbs
 * @param filter what the names of namespaces contain; if it is empty, every group counts
 */
export function accessMatrix(rules: AccessRules, limits: MatrixLimits, filter = ''): AccessMatrix {
  const { everywhere, cluster, namespaces, otherNamespaces } = rules;
  const common = new RulesByKind(everywhere, limits);
  const all = [
    { scope: 'everywhere' as const, names: [], rules: everywhere },
    { scope: 'cluster' as const, names: [], rules: cluster },
    ...namespaces.map(({ names, rules: own }) => ({
      scope: 'namespaces' as const,
      names: names.filter((name) => name.includes(filter)),
      rules: own,
    })),
    { scope: 'otherNamespaces' as const, names: [], rules: otherNamespaces },
  ].filter(({ names, rules: own }) => own.length > 0 && (filter === '' || names.length > 0));
  const groups: MatrixGroup[] = [];
  let room = limits.rows;
  for (const { scope, names, rules: own } of all.slice(0, limits.groups)) {
    if (room === 0) break;
    const counted = own === everywhere ? [common] : [new RulesByKind(own, limits), common];
    const kinds = kindsOf(own);
    const rows = kinds.slice(0, room).map((kind) => rowOf(kind, counted, limits));
    room -= rows.length;
    groups.push({ scope, names, rows, moreRows: kinds.length - rows.length });
  }
  return { groups, moreGroups: all.length - groups.length };
}

interface Kind {
  readonly text: string;
  readonly apiGroup: string;
  readonly resource: string;
}

/** Sorted. */
function kindsOf(rules: readonly AccessRule[]): readonly Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { apiGroups, resources } of rules)
    for (const apiGroup of apiGroups)
      for (const resource of resources) {
        const text = kindOf(apiGroup, resource);
        if (!kinds.has(text)) kinds.set(text, { text, apiGroup, resource });
      }
  return [...kinds.values()].sort((one, other) => (one.text < other.text ? -1 : 1));
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

/** Indexes rules by kind, so that the cost of a row does not depend on the number of rules. */
class RulesByKind {
  /** API group → resource. */
  readonly #granted = new Map<string, Map<string, Granted>>();

  constructor(rules: readonly AccessRule[], limits: MatrixLimits) {
    for (const rule of rules)
      for (const apiGroup of rule.apiGroups)
        for (const resource of rule.resources) add(this.#at(apiGroup, resource), rule, limits);
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

function add(granted: Granted, { verbs = [], resourceNames }: AccessRule, limits: MatrixLimits): void {
  for (const verb of verbs)
    if (resourceNames === undefined) granted.verbs.set(verb, 'all');
    else if (!granted.verbs.has(verb)) granted.verbs.set(verb, 'named');
  // More are not shown.
  for (const name of resourceNames ?? []) {
    if (granted.names.size > limits.names) break;
    granted.names.add(name);
  }
}

function rowOf(
  { text, apiGroup, resource }: Kind,
  counted: readonly RulesByKind[],
  limits: MatrixLimits,
): MatrixRow {
  const granted = counted.flatMap((rules) => rules.covering(apiGroup, resource));
  const cellOf = (verb: string): MatrixCell => {
    const cells = granted.flatMap(({ verbs }) => [verbs.get('*'), verbs.get(verb)]);
    return cells.includes('all') ? 'all' : cells.includes('named') ? 'named' : 'none';
  };
  const columns: ReadonlySet<string> = new Set(MATRIX_VERBS);
  const others = new Set<string>();
  const names = new Set<string>();
  for (const { verbs, names: more } of granted) {
    for (const verb of verbs.keys()) {
      if (others.size > limits.names) break;
      if (!columns.has(verb)) others.add(verb);
    }
    for (const name of more) names.add(name);
  }
  return {
    kind: shortened(text, limits.characters),
    cells: {
      get: cellOf('get'),
      list: cellOf('list'),
      watch: cellOf('watch'),
      create: cellOf('create'),
      update: cellOf('update'),
      patch: cellOf('patch'),
      delete: cellOf('delete'),
    },
    otherVerbs: shown(others, limits),
    names: shown(names, limits),
  };
}

/** Sorted. */
function shown(values: ReadonlySet<string>, limits: MatrixLimits): readonly string[] {
  const sorted = [...values].sort();
  const some = sorted.slice(0, limits.names).map((value) => shortened(value, limits.characters));
  return some.length < sorted.length ? [...some, '…'] : some;
}

export function shortened(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1)}…`;
}
