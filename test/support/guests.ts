/**
 * A pipeline in front of an Arktos API server, in which policies let users of other tenants in. It records
 * everything that the API server receives.
 */

import { unauthorized } from '../../src/errors/status-error.ts';
import type { Policy } from '../../src/features/cross-tenant/policy.ts';
import { createPoliciesInForce, createPolicySet } from '../../src/features/cross-tenant/policy-set.ts';
import { createDiscoveryHandler } from '../../src/features/discovery/handle-discovery.ts';
import { createOwnAPIRights } from '../../src/features/own-api/own-api-rights.ts';
import { createSelfIdentityHandler } from '../../src/features/self-identity.ts';
import { createGuestReviewHandler } from '../../src/features/self-reviews/handle-guest-review.ts';
import { createConnectCreate } from '../../src/features/tenant-boundary/connect-create.ts';
import { createPathBoundary } from '../../src/features/tenant-boundary/tenant-boundary.ts';
import { createUpgradePlaces } from '../../src/features/tenant-boundary/upgrade-places.ts';
import type { AccessAttributes, AccessReviewer } from '../../src/kubernetes/access-reviewer.ts';
import type { UserInfo } from '../../src/kubernetes/authentication-v1.ts';
import type { PolicyRule } from '../../src/kubernetes/kubernetes-object.ts';
import type { Upgrade } from '../../src/lib/exchange.ts';
import type { HeaderList } from '../../src/lib/header-list.ts';
import { LastModes } from '../../src/proxy/impersonation/impersonation-modes.ts';
import { serveRequest } from '../../src/proxy/serve-request.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import { memoizedMode } from '../../src/tenancy/tenancy-mode.ts';
import { type FakeExchange, fakeExchange } from './fake-exchange.ts';
import { fakePipeline } from './fake-pipeline.ts';
import { claimIdentity, keystoneIdentity, upstreamIdentity } from './identities.ts';
import { OWN_RESOURCES, ownAPIHandler } from './own-api.ts';
import { rule } from './policy-rule.ts';
import { tokenScope } from './token-scope.ts';

const EXPIRY = { expiresAt: Number.POSITIVE_INFINITY };

/** Bearer token → user. */
const USERS: Readonly<Record<string, Identity>> = {
  alice: keystoneIdentity('alice', {
    ...EXPIRY,
    groups: ['keystone:group:auditors'],
    extra: { 'alpha.kubernetes.io/identity/roles': ['admin'] },
  }),
  session: { ...keystoneIdentity('alice', EXPIRY), accessToken: tokenScope('session', [], 'acme') },
  bob: keystoneIdentity('bob', { ...EXPIRY, home: 'globex' }),
  root: claimIdentity('root', 'system', EXPIRY),
  posing: claimIdentity('guest:acme:alice', 'globex', EXPIRY),
  grouped: claimIdentity('eve', 'globex', { ...EXPIRY, groups: ['stonegate:guest:acme'] }),
  robot: upstreamIdentity('system:serviceaccount:ci:robot', 'acme', EXPIRY),
  colons: claimIdentity('oidc:a:b', 'acme', EXPIRY),
};

const READ_PODS: PolicyRule = rule('get,list,watch', 'pods,pods/log');

/** Lets alice of acme read pods in globex. */
export function readPods(changes: Partial<Policy> = {}): Policy {
  return {
    form: 'tenant',
    name: 'auditors',
    source: 'crosstenantpolicies/auditors of globex',
    subjects: [{ tenant: 'acme', user: 'alice' }],
    tenants: new Set(['globex']),
    namespaces: 'all',
    rules: [READ_PODS],
    ...changes,
  };
}

export interface Review {
  readonly user: UserInfo;
  readonly attributes: AccessAttributes;
}

/** @param policies the policies in force; `none` if the feature is not configured */
export function guestPipeline(policies: readonly Policy[] | 'none' = [readPods()], isAllowed = true) {
  const inForce = createPoliciesInForce();
  inForce.replace(createPolicySet(policies === 'none' ? [] : policies));
  const mode = memoizedMode(createArktosMode({ systemTenant: 'system', domains: {}, showsOwnTenant: true }));
  const reviews: Review[] = [];
  const reviewer: AccessReviewer = {
    async review(user, attributes) {
      reviews.push({ user, attributes });
      return { allowed: isAllowed };
    },
    reviewSelf: async () => ({ allowed: isAllowed }),
  };
  const fetched: { readonly tenant: string; readonly account: unknown; readonly path: string }[] = [];
  const provisioned: string[] = [];
  const limited: string[] = [];
  const limits = { bodyBytes: 65_536, bodyTimeout: 1_000 };
  const base = fakePipeline();
  const pipeline = fakePipeline({
    mode,
    ...(policies !== 'none' && { tenantEntry: inForce }),
    authenticators: [
      {
        name: 'tokens',
        async authenticate(credential) {
          const known = credential.kind === 'bearer' ? USERS[credential.token] : undefined;
          if (known === undefined) throw unauthorized('no such token');
          return known;
        },
      },
    ],
    authorizers: [
      createUpgradePlaces(mode),
      createPathBoundary(mode),
      createConnectCreate({ reviewer, reviewTenant: mode.reviewTenant }),
      createOwnAPIRights({ ...mode, reviewer, resources: OWN_RESOURCES }),
    ],
    impersonation: { reviewer, extraKeys: new Set(), lastModes: new LastModes() },
    provisioner: {
      async ensure(identity) {
        provisioned.push(identity.authenticator);
      },
    },
    limiter: {
      admit({ tenant }) {
        limited.push(tenant);
        return undefined;
      },
    },
    handlers: {
      discovery: createDiscoveryHandler({
        async get(tenant, route, _accept, _signal, account) {
          fetched.push({ tenant, account, path: route.path });
          return { status: 200, headers: [], body: Buffer.from('{}') };
        },
      }),
      ...ownAPIHandler({ selfidentity: createSelfIdentityHandler(() => undefined) }),
      'guest-review': createGuestReviewHandler({
        mode,
        policies: inForce,
        reviewer,
        clock: base.clock,
        limits,
      }),
    },
  });

  async function ask(
    user: string,
    target: string,
    more: { method?: string; headers?: HeaderList; upgrade?: Upgrade; body?: string } = {},
  ): Promise<FakeExchange> {
    const { headers = [] } = more;
    const credential = user === '' ? [] : [['Authorization', `Bearer ${user}`] as const];
    const exchange = fakeExchange({ ...more, target, headers: [...credential, ...headers] });
    await serveRequest(exchange, pipeline);
    return exchange;
  }

  const status = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).response.status;
  return { pipeline, inForce, reviews, fetched, provisioned, limited, ask, status };
}
