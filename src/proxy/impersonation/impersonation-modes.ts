/**
 * The rights that kube-apiserver requires of a user who impersonates another, in its order. A server with
 * constrained impersonation tries a narrow mode before the legacy verb `impersonate`: the narrow mode also
 * requires the right to make this very request while impersonating.
 * https://kep.k8s.io/5284; k8s.io/apiserver, pkg/endpoints/filters/impersonation
 */
import { LRUCache } from 'lru-cache';
import type { RequestInfo } from '../../kubernetes/request-info.ts';
import type { ImpersonationTarget } from '../../tenancy/impersonation-target.ts';
import type { ImpersonationRequest } from './impersonation-request.ts';

/** Nodes have modes too, but Stonegate refuses their names before anything is reviewed. */
export type ImpersonationMode = 'serviceaccount' | 'user-info' | 'legacy';

/** One thing that the caller must be allowed to do. */
export type RequiredRight =
  | {
      readonly isResourceRequest: true;
      readonly verb: string;
      readonly apiGroup: string;
      readonly apiVersion: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly isResourceRequest: false; readonly verb: string; readonly rawPath: string };

/** What the caller lacks, and why if no review was made. */
export interface RefusedRight {
  readonly right: RequiredRight;
  readonly reason?: string;
}

/** All of `each` are required, unless `instead` is there and allowed. `never` is refused without a review. */
export interface RequiredRights {
  readonly instead?: RequiredRight;
  readonly each: readonly RequiredRight[];
  readonly never?: RefusedRight;
}

export interface WantedImpersonation {
  readonly request: ImpersonationRequest;
  readonly target: ImpersonationTarget;
  /** The request that is to be made. */
  readonly info: RequestInfo;
}

/** If a request has this many, the server first asks for all groups or all extras at once. */
const MANY = 4;
const AUTHENTICATION = { apiGroup: 'authentication.k8s.io', apiVersion: 'v1' } as const;
const CORE = { apiGroup: '', apiVersion: 'v1' } as const;
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
/** Matches the extra keys that a constrained mode takes: a domain, a slash and a path. */
const DOMAIN_PREFIXED_PATH = new RegExp(`^(?=[^/]{1,253}/)${LABEL}(?:\\.${LABEL})*/.`);

const INVALID_KEY = 'impersonating an invalid key in extra is not allowed: extra.key: Invalid value:';
const EXPECTED_KEY = 'must be a domain-prefixed path (such as "acme.io/foo")';

/** @returns in the server's order; the modes that cannot apply to this target are absent */
export function modesFor(
  { request, target }: WantedImpersonation,
  constrained: boolean,
): ImpersonationMode[] {
  if (!constrained) return ['legacy'];
  if (target.serviceAccount === undefined) return ['user-info', 'legacy'];
  const nameAlone = request.uid === '' && request.groups.length === 0 && isEmpty(request.extra);
  return nameAlone ? ['serviceaccount', 'legacy'] : ['legacy'];
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0;
}

/**
 * @param constrained whether the server has constrained impersonation, which also changed the order of the
 *   legacy mode
 * @returns in the order in which they are reviewed
 */
export function rightsFor(
  mode: ImpersonationMode,
  wanted: WantedImpersonation,
  constrained: boolean,
): RequiredRights[] {
  const verb = mode === 'legacy' ? 'impersonate' : `impersonate:${mode}`;
  const user = { each: [userRight(wanted.target, verb, mode)] };
  const uid = uidRights(wanted.request, verb);
  const groups = groupRights(wanted.request, verb, mode);
  const extra = extraRights(wanted.request, verb, mode);
  if (mode !== 'legacy') return [{ each: [onRight(wanted.info, mode)] }, user, uid, groups, extra];
  return constrained ? [user, uid, groups, extra] : [user, groups, extra, uid];
}

/** The right to make the request itself while impersonating. */
function onRight(info: RequestInfo, mode: ImpersonationMode): RequiredRight {
  const verb = `impersonate-on:${mode}:${info.verb}`;
  if (!info.isResourceRequest) return { isResourceRequest: false, verb, rawPath: info.rawPath };
  const { apiGroup, apiVersion, resource, subresource, namespace, name } = info;
  return { isResourceRequest: true, verb, apiGroup, apiVersion, resource, subresource, namespace, name };
}

function userRight(
  { username, serviceAccount }: ImpersonationTarget,
  verb: string,
  mode: ImpersonationMode,
): RequiredRight {
  const own = mode === 'legacy' ? CORE : AUTHENTICATION;
  const whom =
    serviceAccount === undefined
      ? { resource: 'users', namespace: '', name: username }
      : { resource: 'serviceaccounts', ...serviceAccount };
  return { isResourceRequest: true, verb, ...own, subresource: '', ...whom };
}

function uidRights({ uid }: ImpersonationRequest, verb: string): RequiredRights {
  return { each: uid === '' ? [] : [authenticationRight(verb, 'uids', '', uid)] };
}

function groupRights(
  { groups }: ImpersonationRequest,
  verb: string,
  mode: ImpersonationMode,
): RequiredRights {
  const own = mode === 'legacy' ? CORE : AUTHENTICATION;
  const right = (name: string): RequiredRight => ({
    ...authenticationRight(verb, 'groups', '', name),
    ...own,
  });
  const each = groups.map(right);
  return mode === 'legacy' || each.length < MANY ? { each } : { instead: right('*'), each };
}

function extraRights({ extra }: ImpersonationRequest, verb: string, mode: ImpersonationMode): RequiredRights {
  const right = (key: string, value: string) => authenticationRight(verb, 'userextras', key, value);
  const each = Object.entries(extra).flatMap(([key, values]) => values.map((value) => right(key, value)));
  if (mode === 'legacy') return { each };
  const invalid = Object.keys(extra).find((key) => !DOMAIN_PREFIXED_PATH.test(key));
  if (invalid !== undefined)
    return {
      never: { right: right('', ''), reason: `${INVALID_KEY} ${JSON.stringify(invalid)}: ${EXPECTED_KEY}` },
      each,
    };
  return each.length < MANY ? { each } : { instead: right('*', '*'), each };
}

function authenticationRight(
  verb: string,
  resource: string,
  subresource: string,
  name: string,
): RequiredRight & { isResourceRequest: true } {
  return { isResourceRequest: true, verb, ...AUTHENTICATION, resource, subresource, namespace: '', name };
}

const MAX_CALLERS = 10_000;

/**
 * Which mode last succeeded for each caller. A caller usually needs one mode only, so it is tried first, as
 * the API server does. The order changes the number of reviews and the error, never the decision.
 */
export class LastModes {
  readonly #modes = new LRUCache<string, ImpersonationMode>({ max: MAX_CALLERS });

  /** @returns the same modes, the one that last succeeded for this caller first */
  order(caller: string, modes: readonly ImpersonationMode[]): readonly ImpersonationMode[] {
    const last = this.#modes.get(caller);
    if (last === undefined || !modes.includes(last)) return modes;
    return [last, ...modes.filter((mode) => mode !== last)];
  }

  succeeded(caller: string, mode: ImpersonationMode): void {
    this.#modes.set(caller, mode);
  }
}
