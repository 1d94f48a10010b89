/**
 * The query of a request for access rules, which narrows them.
 */
import type { RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import { StatusError } from '../../errors/status-error.ts';
import { allParameters, parameterName } from '../../lib/query.ts';

const LONGEST = 253;
const KNOWN: ReadonlySet<string | undefined> = new Set([
  ...['verb', 'apiGroup', 'resource', 'namespace', 'watch', 'allowWatchBookmarks', 'timeoutSeconds'],
  // Clients send these with any request.
  ...['limit', 'resourceVersion', 'resourceVersionMatch', 'timeout', 'pretty', 'includeObject'],
]);

export interface RulesRequest {
  readonly selection: RulesSelection;
  /** Whether a watch has bookmarks. */
  readonly bookmarks: boolean;
  /** After how many seconds the client wants a watch to end. */
  readonly timeoutSeconds: number | undefined;
}

/**
 * @throws StatusError RequestMalformed for a parameter that is unknown, since a misspelt one would widen the
 *   response, or that is given twice, too long or empty
 */
export function readRulesRequest(query: string): RulesRequest {
  const names = query
    .split('&')
    .filter((pair) => pair !== '')
    .map(parameterName);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined) throw malformed(`"${unknown.slice(0, LONGEST)}" is unknown`);
  const bookmarks = one(query, 'allowWatchBookmarks');
  const timeout = Number(one(query, 'timeoutSeconds') ?? Number.NaN);
  return {
    selection: selectionOf({
      verb: one(query, 'verb'),
      apiGroup: one(query, 'apiGroup'),
      resource: one(query, 'resource'),
      namespace: one(query, 'namespace'),
    }),
    bookmarks: bookmarks !== undefined && bookmarks !== 'false' && bookmarks !== '0',
    timeoutSeconds: Number.isInteger(timeout) && timeout > 0 ? timeout : undefined,
  };
}

type Given = Readonly<Record<keyof RulesSelection, string | undefined>>;

/** @throws StatusError RequestMalformed */
export function selectionOf({ verb, apiGroup, resource, namespace }: Given): RulesSelection {
  for (const [name, value] of Object.entries({ verb, apiGroup, resource, namespace })) {
    if (value === undefined) continue;
    if (value.length > LONGEST) throw malformed(`"${name}" is too long`);
    // The core group's name is empty.
    if (value === '' && name !== 'apiGroup') throw malformed(`"${name}" is empty`);
  }
  return {
    verb: verb ?? '*',
    ...(apiGroup !== undefined && { apiGroup }),
    ...(resource !== undefined && { resource }),
    ...(namespace !== undefined && { namespace }),
  };
}

function one(query: string, name: string): string | undefined {
  const [value, ...more] = allParameters(query, name);
  if (more.length > 0) throw malformed(`"${name}" is given twice`);
  return value;
}

function malformed(why: string): StatusError {
  return new StatusError('RequestMalformed', `the request for access rules is refused: ${why}`);
}
