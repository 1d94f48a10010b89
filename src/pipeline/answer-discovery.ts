/**
 * Answers discovery: fetched as Stonegate itself, reduced to what the tenant may see, and kept for seconds, since
 * a kubectl without a cache asks some forty documents in a row. The identity of the person is not on these
 * requests, so their paths are a closed list (`tenancy/discovery-paths.ts`).
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import type { Account } from '../api/account.ts';
import { StatusError } from '../errors/status-error.ts';
import type { DocumentCache } from '../lib/document-cache.ts';
import { type HeaderList, headerValue, headerValues } from '../lib/header-list.ts';
import { firstParameter } from '../lib/query.ts';
import { isHealth } from '../tenancy/discovery-paths.ts';
import {
  type GroupNames,
  type ResourceNames,
  reduceGroups,
  reduceResources,
} from '../tenancy/reduce-discovery.ts';
import type { Reduction, Route, TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Answer, Answerer } from './answerer.ts';
import { discoveryForm } from './discovery-form.ts';
import type { Outgoing } from './request-state.ts';
import type { UpstreamFetcher } from './upstream.ts';

export interface DiscoveryOptions {
  readonly fetcher: UpstreamFetcher;
  /** Must keep answers with status 200 only. */
  readonly cache: DocumentCache<Answer>;
  readonly mode: Hidden;
}

type Hidden = Pick<TenancyMode, 'hiddenResources' | 'hiddenGroups'>;
type DiscoveryRoute = Extract<Route, { kind: 'discovery' }>;

const JSON_TYPE = 'application/json';
/** The rest is about the connection, or about a body that we may have changed. */
const RELAYED: ReadonlySet<string> = new Set([
  'content-type',
  'cache-control',
  'expires',
  'location',
  'retry-after',
  'vary',
  'warning',
]);

export function createDiscoveryAnswerer({ fetcher, cache, mode }: DiscoveryOptions): Answerer {
  async function fetchDocument(
    route: DiscoveryRoute,
    account: Account,
    accept: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const target = route.query === '' ? route.path : `${route.path}?${route.query}`;
    const { status, headers, body } = await fetcher.fetch(
      { account, sender: { kind: 'stonegate' }, method: 'GET', target, headers: [['Accept', accept]] },
      signal,
    );
    return {
      status,
      headers: headers.filter(([name]) => RELAYED.has(name.toLowerCase())),
      body: status === 200 ? reduce(route.reduce, body, headers, mode) : body,
    };
  }

  async function answerDiscovery({ tenant, exchange }: Outgoing, route: DiscoveryRoute): Promise<Answer> {
    const health = isHealth(route.path);
    const accept = health
      ? '*/*'
      : discoveryForm(route.path, headerValues(exchange.headers, 'accept').join());
    const version = firstParameter(route.query, 'hash');
    return cache.get(
      {
        owner: tenant,
        // The tenant in the query is the owner, and the hash is the version.
        key: JSON.stringify([route.path, accept, version !== undefined]),
        ...(version === undefined ? {} : { version }),
        reusable: !health,
      },
      exchange.signal,
      (signal) => fetchDocument(route, { kind: 'tenant', tenant }, accept, signal),
    );
  }

  return {
    answer: (outgoing) =>
      outgoing.route.kind === 'discovery' ? answerDiscovery(outgoing, outgoing.route) : undefined,
  };
}

/** @throws StatusError UpstreamUnavailable where the document cannot be read: what is not reduced is not shown */
function reduce(reduction: Reduction, body: Buffer, headers: HeaderList, hidden: Hidden): Buffer {
  if (reduction === 'none') return body;
  const type = headerValue(headers, 'content-type') ?? '';
  if (!type.startsWith(JSON_TYPE)) throw unreadable(`its type is ${JSON.stringify(type)}`);
  const list = parseDocument(body);
  const visible = reduction === 'groups' ? visibleGroups(list, hidden) : visibleResources(list, hidden);
  return Buffer.from(`${JSON.stringify(visible)}\n`);
}

function visibleGroups(list: unknown, { hiddenGroups }: Hidden): GroupNames {
  if (!isGroupList(list)) throw unreadable('it is no APIGroupList');
  return reduceGroups(list, hiddenGroups);
}

function visibleResources(list: unknown, { hiddenResources }: Hidden): ResourceNames {
  if (!isResourceList(list)) throw unreadable('it is no APIResourceList');
  return reduceResources(list, hiddenResources);
}

function parseDocument(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw unreadable(cause);
  }
}

function isResourceList(list: unknown): list is ResourceNames {
  return (
    typeof list === 'object' &&
    list !== null &&
    'groupVersion' in list &&
    typeof list.groupVersion === 'string' &&
    'resources' in list &&
    Array.isArray(list.resources) &&
    list.resources.every(isNamed)
  );
}

function isGroupList(list: unknown): list is GroupNames {
  return (
    typeof list === 'object' &&
    list !== null &&
    'groups' in list &&
    Array.isArray(list.groups) &&
    list.groups.every(isNamed)
  );
}

function isNamed(resource: unknown): resource is { readonly name: string } {
  return (
    typeof resource === 'object' &&
    resource !== null &&
    'name' in resource &&
    typeof resource.name === 'string'
  );
}

function unreadable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    'the API server answered discovery with something that cannot be read',
    {
      cause,
    },
  );
}
