/**
 * Sends requests of a feature to the API server as a user, so that what the feature changes for the user
 * needs the user's rights. The path decides about tenant, roles and body rules, as it does for a request that
 * is forwarded, and no caller chooses a header.
 */
import { StatusError } from '../errors/status-error.ts';
import { JSON_TYPE } from '../kubernetes/meta-v1.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import { readJSON } from '../lib/json-object.ts';
import type { SubjectByNamespace } from '../rbac/attributes.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { AccessSubjectStages, AccessSubjects } from './access-subject.ts';
import { accountOf } from './acting-tenant.ts';
import type { BodyRule } from './body-rule.ts';
import { kubernetesIdentity } from './identity-source.ts';
import {
  type ImpersonationOptions,
  withImpersonationHeaders,
  withoutWithheld,
} from './impersonation/impersonate.ts';
import { readRequestInfo } from './request/request-info.ts';
import type { Outgoing } from './request-context.ts';
import { noHandler } from './route-kind.ts';
import { roleScopeOf } from './stages.ts';

/** The client's request that is the reason for this one, for the API server's audit log. */
export type RequestOrigin = Pick<ImpersonationOptions, 'auditID' | 'clientAddress'>;

export interface RequestAsIdentity {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The short path, as a client of the tenant writes it, perhaps with a query. */
  readonly target: string;
  readonly body?: object;
  readonly origin: RequestOrigin;
}

export interface IdentityRequests {
  /** @throws StatusError KeystoneUnavailable, IdentityUnusable, TenantUnknown */
  subjectOf(identity: Identity): Promise<SubjectByNamespace>;
  /**
   * @param identity one that Stonegate may impersonate: none that came with a token of the API server
   * @throws StatusError as `subjectOf`, the body rules and the fetcher do; IdentityTooLarge
   */
  send(identity: Identity, request: RequestAsIdentity, signal: AbortSignal): Promise<UpstreamResponse>;
}

export interface IdentityRequestsOptions extends AccessSubjectStages {
  readonly subjects: Pick<AccessSubjects, 'subjectOf'>;
  readonly fetcher: UpstreamFetcher;
  readonly bodyRules: () => readonly BodyRule[];
}

/**
 * The identity as which a client's request acts. If it impersonates another user (`kubectl --as`), that user
 * has neither the name nor the looked-up roles of the client.
 */
export function actingIdentity({
  proven,
  impersonator,
  user,
}: Pick<Outgoing, 'proven' | 'impersonator' | 'user'>): Identity {
  if (impersonator === undefined) return proven;
  const { assignmentsOf: _, ...named } = proven;
  return { ...named, groups: user.groups, subject: { kind: 'upstream', user } };
}

/** @throws StatusError ImpersonationForbidden: only a credential of their own proves who a user is */
export function ownIdentity({ proven, impersonator }: Pick<Outgoing, 'proven' | 'impersonator'>): Identity {
  if (impersonator === undefined) return proven;
  throw new StatusError(
    'ImpersonationForbidden',
    'impersonation is refused: users do this for themselves alone',
  );
}

export function createIdentityRequests(options: IdentityRequestsOptions): IdentityRequests {
  const { mode, roles, maxHeaderBytes, upstreamRights, subjects, fetcher, bodyRules } = options;
  return {
    subjectOf(identity) {
      const info = readRequestInfo('GET', '/api/v1/namespaces', mode.facts);
      return subjects.subjectOf({ proven: identity, info, ...kubernetesIdentity(identity, mode) });
    },
    async send(identity, { method, target, body, origin }, signal) {
      const tenant = mode.tenantOf(identity);
      const account = accountOf({ tenant });
      const info = readRequestInfo(method, target, mode.facts);
      const scope = roleScopeOf(info, identity, tenant, mode);
      const named = mode.userOf((await roles?.inScope(identity, scope)) ?? identity, tenant);
      const user = withoutWithheld(named, upstreamRights.withheld);
      const route = mode.route(info, method, tenant, user);
      if (route.kind !== 'forward' || !info.isResourceRequest) throw noHandler();
      const { path, query } = route;
      const json = [['Accept', JSON_TYPE] as const, ['Content-Type', JSON_TYPE] as const];
      const headers = withImpersonationHeaders(json, user, { ...origin, maxHeaderBytes });
      const common = { account, sender: { kind: 'stonegate' }, headers } as const;
      const readStored = async () => {
        const stored = await fetcher.fetch({ ...common, method: 'GET', target: path }, signal);
        return { status: stored.status, content: readJSON(stored.body) };
      };
      let content: unknown = body;
      for (const rule of method === 'POST' || method === 'PUT' ? bodyRules() : []) {
        if (!rule.appliesTo(info, tenant)) continue;
        const inspected = { ...common, method, info, path, user, tenant, signal, readStored };
        content = (await rule.admit({ format: 'object', content }, inspected)) ?? content;
      }
      return fetcher.fetch(
        {
          ...common,
          method,
          target: query === '' ? path : `${path}?${query}`,
          ...(content !== undefined && { body: JSON.stringify(content) }),
        },
        signal,
      );
    },
  };
}
