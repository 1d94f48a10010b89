/**
 * Shows a user who may not learn of an object the response that the API server has for a missing one, in
 * place of its 403. The audit log keeps the 403 and its reason.
 */

import { isWorkload, type ResourceRequest } from '../../kubernetes/request-info.ts';
import type { RelayResult, Replacement } from '../../kubernetes/upstream-ports.ts';
import { goEscaped } from '../../lib/go-json.ts';
import { goQuoted } from '../../lib/go-quoted.ts';
import { readJSONObject } from '../../lib/json-object.ts';
import type { ResponseHook } from '../../proxy/feature.ts';
import { resourceQuestion } from '../../proxy/rbac-reasons.ts';
import type { RBACUser } from '../../rbac/attributes.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { HiddenObjects } from './hidden-objects.ts';

const VERBS: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete']);

export function createForbiddenHook(
  hidden: HiddenObjects,
  { reviewTenant }: Pick<TenancyMode, 'reviewTenant'>,
): ResponseHook<{
  onForbidden(body: Buffer): Replacement | undefined;
  completed(result: RelayResult): RelayResult;
}> {
  return ({ info, exchange, tenant, user, crossing }) => {
    if (!info.isResourceRequest || info.name === '' || info.longRunning !== undefined) return undefined;
    if (crossing !== undefined || !VERBS.has(info.verb) || isWorkload(info) || exchange.upgrade !== undefined)
      return undefined;
    const home = reviewTenant(tenant) ?? '';
    const { username, groups } = user;
    const who: RBACUser = { tenant: home, username, groups, home: tenant };
    const question = resourceQuestion(info, home);
    let reason: string | undefined;
    return {
      onForbidden(body) {
        if (!hidden.isHidden(who, question)) return undefined;
        reason = messageOf(body);
        return notFound(info, exchange.method, body);
      },
      completed: (result) =>
        reason === undefined
          ? result
          : {
              ...result,
              message: reason,
              annotations: { ...result.annotations, 'stonegate.dev/shown-as': 'NotFound' },
            },
    };
  };
}

/** The API server's response for a missing object, in the form in which it wrote the refusal. */
function notFound(
  { apiGroup, resource, name }: ResourceRequest,
  method: string,
  refusal: Buffer,
): Replacement {
  const kind = apiGroup === '' ? resource : `${resource}.${apiGroup}`;
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `${kind} ${goQuoted(name)} not found`,
    reason: 'NotFound',
    details: { name, ...(apiGroup !== '' && { group: apiGroup }), kind: resource },
    code: 404,
  };
  // The API server indents it for browsers and curl.
  const isIndented = refusal.subarray(0, 2).toString() === '{\n';
  const json = isIndented ? JSON.stringify(status, undefined, 2) : `${JSON.stringify(status)}\n`;
  const body = Buffer.from(goEscaped(json));
  return {
    status: 404,
    headers: [
      ['Content-Type', 'application/json'],
      ['Content-Length', String(body.length)],
    ],
    body: method === 'HEAD' ? Buffer.alloc(0) : body,
  };
}

/** The message that the audit log gets. */
function messageOf(body: Buffer): string {
  const message = readJSONObject(body)?.message;
  // It has none in another format, and in the response to a HEAD.
  return typeof message === 'string' ? message : 'forbidden by the API server';
}
