/**
 * `stonegate access`: what the user may do, as a matrix of kinds and verbs, as Stonegate knows it from the
 * RBAC index.
 */
import { SELF_ACCESS_RULES_PATH } from '../api/access-rules-v1alpha1.ts';
import { askStonegate, TABLE_TYPE } from '../clients/stonegate-api.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import { ASK_OPTIONS, ASK_USAGE, ask } from './ask.ts';
import { type CommandIO, columns, outputFormat, print, refuseWords, runCommand } from './command.ts';
import { missingNamespace } from './missing-namespace.ts';

const USAGE = `Usage: stonegate access [-n NAMESPACE] [--context NAME] [--kubeconfig FILE] [-o table|json|yaml]
       stonegate access [-n NAMESPACE] --server URL [--ca-file FILE] --token-file FILE [-o table|json|yaml]

Shows what you may do: kinds and verbs, for each set of namespaces with equal rules. (✔) is access to some objects only.

  -n, --namespace NAMESPACE  only what you may do in this namespace
${ASK_USAGE}
Exit codes: 0 fine, 1 not logged in or not reached, 2 wrong usage.
`;

const OPTIONS = {
  namespace: { type: 'string', short: 'n' },
  ...ASK_OPTIONS,
} as const;

const TOO_OLD = 'it answers no questions about access; its operator enables the RBAC index for them';

/** @param argv what follows `access` */
export function access(
  argv: readonly string[],
  io: CommandIO,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  return runCommand({ usage: USAGE, options: OPTIONS, argv, io }, async (values, words) => {
    refuseWords(words);
    const format = outputFormat(values.output);
    const { namespace } = values;
    const path =
      namespace === undefined
        ? SELF_ACCESS_RULES_PATH
        : `${SELF_ACCESS_RULES_PATH}?namespace=${encodeURIComponent(namespace)}`;
    return ask('access', values, { io, env }, async (address) => {
      const note = (line: string) => io.stderr(columns([[`stonegate access: ${line}`]]));
      const rules = await askStonegate(address, path);
      const status = isJSONObject(rules) ? rules.status : undefined;
      if (!isJSONObject(rules) || !isJSONObject(status)) throw new Error(`${address.url}: ${TOO_OLD}`);
      const table =
        format === 'table' ? tableOf(await askStonegate(address, path, undefined, TABLE_TYPE)) : '';
      await print(rules, format, () => table, io.stdout);
      const missing = await missingNamespace(namespace, address);
      if (missing !== undefined) note(missing);
      if (status.incomplete === true) note(`this may be incomplete: ${String(status.incompleteReason)}`);
    });
  });
}

/** Each place is named once; a column without a value is left out. */
function tableOf(answer: unknown): string {
  const { columnDefinitions, rows } = isJSONObject(answer) ? answer : {};
  if (!Array.isArray(columnDefinitions) || !Array.isArray(rows)) throw new Error(`no table: ${TOO_OLD}`);
  const header = columnDefinitions.filter(isJSONObject).map(({ name }) => String(name).toUpperCase());
  const lines = rows.filter(isJSONObject).map(cellsOf);
  if (lines.length === 0) return 'You may do nothing here.\n';
  const isShown = header.map((_, at) => at < OPTIONAL_FROM || lines.some((cells) => cells[at] !== ''));
  const shown = lines.map((cells, at) => (cells[0] === lines[at - 1]?.[0] ? ['', ...cells.slice(1)] : cells));
  return columns([header, ...shown].map((cells) => cells.filter((_, at) => isShown[at] === true)));
}

/** Place, kind and the seven verbs always have a column. */
const OPTIONAL_FROM = 9;

function cellsOf({ cells }: JSONObject): readonly string[] {
  return Array.isArray(cells) ? cells.map(String) : [];
}
