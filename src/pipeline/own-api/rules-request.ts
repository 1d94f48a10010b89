/**
 * The query of a request for access rules, which narrows them.
 */
import type { RulesSelection } from '../../api/access-rules-v1alpha1.ts';
import { StatusError } from '../../errors/status-error.ts';
import { allParameters, parameterName } from '../../lib/query.ts';

const LONGEST = 253;
const KNOWN: ReadonlySet<string | undefined> = new Set([
  ...['verb', 'apiGroup', 'resource', 'namespace'],
  // Clients send these with any request.
  ...['limit', 'resourceVersion', 'resourceVersionMatch', 'timeout', 'pretty', 'includeObject'],
]);

/**
 * @throws StatusError RequestMalformed for a parameter that is unknown, since a misspelt one would widen the
 *   response, or that is given twice, too long or empty
 */
export function readRulesRequest(query: string): RulesSelection {
  const names = query
    .split('&')
    .filter((pair) => pair !== '')
    .map(parameterName);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined) throw malformed(`"${unknown.slice(0, LONGEST)}" is unknown`);
  return selectionOf({
    verb: one(query, 'verb'),
    apiGroup: one(query, 'apiGroup'),
    resource: one(query, 'resource'),
    namespace: one(query, 'namespace'),
  });
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
