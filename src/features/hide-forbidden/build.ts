/**
 * Shows a user who may not learn of an object the response that the API server has for a missing one, in
 * place of its 403: only if the index knows for certain that the user may not `get` it. The audit log keeps
 * the 403 and its reason. See docs/access.md.
 */

import type { ResourceQuestion } from '../../kubernetes/authorizer-attributes.ts';
import { isWorkload, type ResourceRequest } from '../../kubernetes/request-info.ts';
import { SERVICE_ACCOUNT_PREFIX } from '../../kubernetes/reserved-names.ts';
import type { Replacement } from '../../kubernetes/upstream-ports.ts';
import { goEscaped } from '../../lib/go-json.ts';
import { goQuoted } from '../../lib/go-quoted.ts';
import { readJSONObject } from '../../lib/json-object.ts';
import type { Feature, RequestHook } from '../../proxy/feature.ts';
import { resourceQuestion } from '../../proxy/rbac-reasons.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import type { RBACUser } from '../../rbac/attributes.ts';
import { allows } from '../../rbac/decide.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { SharedIndex } from '../rbac-index/feature.ts';

const VERBS: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete']);

export interface HideForbiddenOptions extends Pick<SharedIndex, 'access'> {
  readonly verifier: Pick<SharedIndex['verifier'], 'sample'>;
}

export function createHideForbidden(
  { reviewTenant }: Pick<TenancyMode, 'reviewTenant'>,
  options: HideForbiddenOptions,
): Feature {
  return {
    responseHooks: [
      (outgoing) => {
        const { info, exchange, tenant, user, proven } = outgoing;
        if (!info.isResourceRequest || !mayHide(info, outgoing)) return undefined;
        const home = reviewTenant(tenant) ?? '';
        const { username, groups } = user;
        const who: RBACUser = { tenant: home, username, groups, home: tenant, scope: proven.accessToken };
        const question = resourceQuestion(info, home);
        let reason: string | undefined;
        return {
          onForbidden(body) {
            if (!isHidden(who, question, options)) return undefined;
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
        } satisfies RequestHook;
      },
    ],
  };
}

function mayHide(info: ResourceRequest, { crossing, exchange }: Outgoing): boolean {
  const isAboutObject = info.name !== '' && info.longRunning === undefined && VERBS.has(info.verb);
  return isAboutObject && crossing === undefined && !isWorkload(info) && exchange.upgrade === undefined;
}

function isHidden(
  user: RBACUser,
  question: ResourceQuestion,
  { access, verifier }: HideForbiddenOptions,
): boolean {
  // Controllers create what they take for missing.
  if (user.username.startsWith(SERVICE_ACCOUNT_PREFIX)) return false;
  if (access.incompleteReason(user.tenant, { namespace: question.namespace }) !== undefined) return false;
  const get: ResourceQuestion = { ...question, verb: 'get', subresource: '' };
  if (allows(access.index, user, question) || allows(access.index, user, get)) return false;
  verifier.sample(user, get, false);
  return true;
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
