/**
 * Access rules as a Table, which kubectl and `stonegate access` print.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import type { AccessRule, AccessRulesStatus } from '../../api/access-rules-v1alpha1.ts';
import { accessMatrix, MATRIX_VERBS, type MatrixCell, type MatrixGroup } from './access-matrix.ts';

interface Column {
  readonly name: string;
  readonly type: 'string';
  readonly format: string;
  readonly description: string;
  /** Above 0: only with `-o wide`. */
  readonly priority: number;
}

export interface AccessTable {
  readonly kind: 'Table';
  readonly apiVersion: 'meta.k8s.io/v1';
  readonly metadata: { readonly resourceVersion: string };
  readonly columnDefinitions: readonly Column[];
  readonly rows: readonly { readonly cells: readonly string[]; readonly object: object }[];
}

const CELLS: Readonly<Record<MatrixCell, string>> = { all: '✔', named: '(✔)', none: '' };
/** Namespaces that a cell names. */
const NAMED = 3;

export function accessTable(status: AccessRulesStatus): AccessTable {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: status.revision },
    ...(status.verb === '*' ? matrixTable(status) : verbTable(status)),
  };
}

type Content = Pick<AccessTable, 'columnDefinitions' | 'rows'>;

function matrixTable(status: AccessRulesStatus): Content {
  return {
    columnDefinitions: [
      column('Namespaces', 'Where it is allowed.'),
      column('Kind', 'The resource with its API group.'),
      ...MATRIX_VERBS.map((verb) =>
        column(title(verb), `Whether ${verb} is allowed; (✔): for some objects.`),
      ),
      column('Other', 'Further verbs.'),
      column('Names', 'The objects, if the access is limited to some.'),
    ],
    rows: accessMatrix(status).flatMap((group) =>
      group.rows.map(({ kind, cells, otherVerbs, names }) =>
        row([
          placeOf(group),
          kind,
          ...MATRIX_VERBS.map((verb) => CELLS[cells[verb]]),
          otherVerbs.join(','),
          names.join(','),
        ]),
      ),
    ),
  };
}

/** Of rules for one verb. */
function verbTable({ everywhere, cluster, namespaces, otherNamespaces }: AccessRulesStatus): Content {
  const rowsOf = (scope: MatrixGroup['scope'], rules: readonly AccessRule[], names: readonly string[] = []) =>
    rules.map(({ apiGroups, resources, resourceNames = [] }) =>
      row([
        placeOf({ scope, names }),
        apiGroups.map((group) => (group === '' ? 'core' : group)).join(','),
        resources.join(','),
        resourceNames.join(','),
      ]),
    );
  return {
    columnDefinitions: [
      column('Namespaces', 'Where it is allowed.'),
      column('API Groups', 'Of the resources; core is the group without a name.'),
      column('Resources', 'The resources.'),
      column('Names', 'The objects, if the access is limited to some.'),
    ],
    rows: [
      ...rowsOf('everywhere', everywhere),
      ...rowsOf('cluster', cluster),
      ...namespaces.flatMap(({ names, rules }) => rowsOf('namespaces', rules, names)),
      ...rowsOf('otherNamespaces', otherNamespaces),
    ],
  };
}

/** In words, with at most three names. */
function placeOf({ scope, names }: Pick<MatrixGroup, 'scope' | 'names'>): string {
  if (scope === 'everywhere') return '(everywhere)';
  if (scope === 'cluster') return '(cluster)';
  if (scope === 'otherNamespaces') return '(other namespaces)';
  const rest = names.length - NAMED;
  const shown = names.slice(0, rest > 0 ? NAMED : names.length).join(',');
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

function row(cells: readonly string[]): AccessTable['rows'][number] {
  return {
    cells,
    object: {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { creationTimestamp: null },
    },
  };
}

function column(name: string, description: string): Column {
  return { name, type: 'string', format: '', description, priority: 0 };
}

function title(verb: string): string {
  return `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`;
}
