/**
 * `stonegate access`: what the user may do, as a matrix of kinds and verbs, as Stonegate knows it from the
 * RBAC index.
 */
import {
  accessMatrix,
  MATRIX_VERBS,
  type MatrixCell,
  type MatrixGroup,
} from '../features/access-rules/access-matrix.ts';
import {
  SELF_ACCESS_RULES_PATH,
  type SelfAccessRules,
} from '../features/access-rules/access-rules-v1alpha1.ts';
import { createAskingCommand } from './asking-command.ts';
import { columns } from './command.ts';
import { DESTINATION_USAGE } from './destination.ts';

const USAGE = `Usage: stonegate access [-n NAMESPACE] [--context NAME] [--kubeconfig FILE]
                        [-o table|json|yaml]
       stonegate access [-n NAMESPACE] --server URL [--ca-file FILE]
                        --token-file FILE [-o table|json|yaml]

Shows what you may do: kinds and verbs, for each set of namespaces with equal
rules. (✔) is access to some objects only.

  -n, --namespace NAMESPACE  only what you may do in this namespace
${DESTINATION_USAGE}
Exit codes: 0 fine, 1 not logged in or not reached, 2 wrong usage.
`;

const OPTIONS = { namespace: { type: 'string', short: 'n' } } as const;

export const access = createAskingCommand(
  { usage: USAGE, options: OPTIONS },
  async ({ values: { namespace }, ask, print, note }) => {
    const query = namespace === undefined ? '' : `?namespace=${encodeURIComponent(namespace)}`;
    const rules = await ask<SelfAccessRules>(SELF_ACCESS_RULES_PATH + query);
    await print(rules, () => tableOf(rules));
    const { incomplete, incompleteReason } = rules.status;
    if (incomplete) note(`this may be incomplete: ${incompleteReason}`);
  },
);

const ALL = Number.POSITIVE_INFINITY;
const LIMITS = { groups: ALL, rows: ALL, names: 50, characters: 253 };
const CELLS: Readonly<Record<MatrixCell, string>> = { all: '✔', named: '(✔)', none: '' };
const HEADER = ['NAMESPACES', 'KIND', ...MATRIX_VERBS.map((verb) => verb.toUpperCase()), 'OTHER', 'NAMES'];
/** Place, kind and the verbs always have a column; the others only if one of their cells has a value. */
const OPTIONAL_FROM = 2 + MATRIX_VERBS.length;

/** Each place is named once. */
function tableOf({ status }: SelfAccessRules): string {
  const lines = accessMatrix(status, LIMITS).groups.flatMap((group) =>
    group.rows.map(({ kind, cells, otherVerbs, names }, at) => [
      at === 0 ? placeOf(group) : '',
      kind,
      ...MATRIX_VERBS.map((verb) => CELLS[cells[verb]]),
      otherVerbs.join(','),
      names.join(','),
    ]),
  );
  if (lines.length === 0) return 'You may do nothing here.\n';
  const isShown = HEADER.map((_, at) => at < OPTIONAL_FROM || lines.some((cells) => cells[at] !== ''));
  return columns([HEADER, ...lines].map((cells) => cells.filter((_, at) => isShown[at] === true)));
}

/** Namespaces that a cell names. */
const NAMED = 3;

function placeOf({ scope, names }: MatrixGroup): string {
  if (scope === 'everywhere') return '(everywhere)';
  if (scope === 'cluster') return '(cluster)';
  if (scope === 'otherNamespaces') return '(other namespaces)';
  const rest = names.length - NAMED;
  return rest > 0 ? `${names.slice(0, NAMED).join(',')} and ${rest} more` : names.join(',');
}
