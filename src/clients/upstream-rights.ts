/**
 * Reviews what Stonegate's own credential may impersonate, and whether the API server has constrained
 * impersonation: at startup, every hour and after a refusal. An optional extra key without the right is
 * omitted, so that an older ClusterRole does not make every request fail.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/
 */
import { INDEXED_RESOURCES } from '../api/rbac-v1.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { HeaderList } from '../lib/header-list.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import type { Logger } from '../lib/logger.ts';
import type { UpstreamFetcher, UpstreamResponse, UpstreamRights } from '../pipeline/ports.ts';

/** Milliseconds. */
const HOUR = 3_600_000;
/**
 * Used if a key is omitted or the API server could not be reached: the operator may be about to grant the
 * right.
 */
const MINUTE = 60_000;
/** The shortest time between two rounds: a flood of refused requests causes no flood of reviews. */
const SHORTEST = 10_000;

const PATH = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const AUTHENTICATION = 'authentication.k8s.io';
const ACCEPT: HeaderList[number] = ['Accept', 'application/json'];
/**
 * A request that impersonates a group and no user is refused by both implementations, each in its own words.
 */
const PROBE: HeaderList = [ACCEPT, ['Impersonate-Group', 'stonegate:probe']];
const CONSTRAINED_WORDS = 'without impersonating a user name';

export interface UpstreamRightsOptions {
  readonly fetcher: UpstreamFetcher;
  /** The extra keys that are sent only with the right to impersonate them. */
  readonly optionalKeys: readonly string[];
  /** Whether the API server may have constrained impersonation: Arktos has not. */
  readonly mayBeConstrained: boolean;
  /** The previous result for the same account, API server and keys: it is valid until the first response. */
  readonly known?: Pick<UpstreamRights, 'withheld' | 'constrained'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface AskedUpstreamRights extends UpstreamRights {
  /**
   * Reviews now.
   *
   * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is not a review; the
   *   previous result stays
   */
  ask(): Promise<void>;
  /** Reviews now and periodically. */
  start(): void;
  stop(): void;
}

/**
 * Until the first response, if nothing is known, every optional key is omitted and impersonation is taken for
 * unconstrained.
 */
export function createUpstreamRights(options: UpstreamRightsOptions): AskedUpstreamRights {
  const { fetcher, optionalKeys, mayBeConstrained, known, clock, logger } = options;
  const stopped = new AbortController();
  let withheld: ReadonlySet<string> = known?.withheld ?? new Set(optionalKeys);
  let constrained = known?.constrained ?? false;
  let said = '';
  let timer: Timer | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let isAsking = false;
  let askAgain = false;

  async function ask(): Promise<void> {
    if (optionalKeys.length === 0 && !mayBeConstrained) return;
    const mode = mayBeConstrained && (await hasConstrained(fetcher, stopped.signal));
    const refused: string[] = [];
    for (const key of optionalKeys)
      if (!(await mayImpersonate(fetcher, key, mode, stopped.signal))) refused.push(key);
    constrained = mode;
    if (refused.join() !== [...withheld].join()) withheld = new Set(refused);
    say();
  }

  /** Once per change: what is omitted is a warning, as the operator has to grant it. */
  function say(): void {
    const found = { constrained, omitted: [...withheld] };
    const now = JSON.stringify(found);
    if (now === said) return;
    said = now;
    if (withheld.size > 0) logger.warn(found, OMITTED);
    else logger.info(found, 'asked the API server what Stonegate may impersonate');
  }

  function start(): void {
    timer?.cancel();
    askedAt = clock.now();
    isAsking = true;
    askAgain = false;
    ask()
      .then(
        () => schedule(withheld.size === 0 ? HOUR : MINUTE),
        (error: unknown) => {
          if (!stopped.signal.aborted) logger.warn({ error }, 'Stonegate could not ask for its own rights');
          schedule(MINUTE);
        },
      )
      .finally(() => {
        isAsking = false;
        if (askAgain) soon();
      });
  }

  function schedule(delay: number): void {
    timer?.cancel();
    if (!stopped.signal.aborted) timer = clock.after(delay, start);
  }

  function soon(): void {
    const delay = askedAt + SHORTEST - clock.now();
    if (delay <= 0 && !stopped.signal.aborted) start();
    else schedule(delay);
  }

  return {
    get withheld() {
      return withheld;
    },
    get constrained() {
      return constrained;
    },
    refused() {
      if (isAsking) askAgain = true;
      else soon();
    },
    ask,
    start,
    stop() {
      stopped.abort();
      timer?.cancel();
    },
  };
}

const OMITTED =
  'Stonegate may not impersonate some extra keys and omits them: apply the output of `stonegate manifests rbac --config FILE`';

/** Both the key and users in one mode, as the API server decides a request in one mode as a whole. */
async function mayImpersonate(
  fetcher: UpstreamFetcher,
  key: string,
  constrained: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const may = (verb: string, group: string, resource: string, subresource: string) =>
    isAllowed(fetcher, { verb, group, version: 'v1', resource, subresource }, signal);
  const legacy =
    (await may('impersonate', AUTHENTICATION, 'userextras', key)) &&
    (await may('impersonate', '', 'users', ''));
  if (legacy || !constrained) return legacy;
  const verb = 'impersonate:user-info';
  return (
    (await may(verb, AUTHENTICATION, 'userextras', key)) && (await may(verb, AUTHENTICATION, 'users', ''))
  );
}

/**
 * Whether the credential may impersonate users and groups at all: without that, every forwarded request is
 * refused.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export async function mayImpersonateUsers(
  { fetcher, mayBeConstrained }: Pick<UpstreamRightsOptions, 'fetcher' | 'mayBeConstrained'>,
  signal: AbortSignal,
): Promise<boolean> {
  const may = async (verb: string, group: string) => {
    const review = (resource: string) => isAllowed(fetcher, { verb, group, version: 'v1', resource }, signal);
    return (await review('users')) && (await review('groups'));
  };
  if (await may('impersonate', '')) return true;
  return (
    mayBeConstrained &&
    (await hasConstrained(fetcher, signal)) &&
    may('impersonate:user-info', AUTHENTICATION)
  );
}

/**
 * What the RBAC index needs and the credential lacks, such as `watch roles`.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export async function missingIndexRights(
  { fetcher }: Pick<UpstreamRightsOptions, 'fetcher'>,
  signal: AbortSignal,
): Promise<string[]> {
  const missing: string[] = [];
  for (const resource of INDEXED_RESOURCES)
    for (const verb of ['list', 'watch']) {
      const group = resource === 'namespaces' ? '' : 'rbac.authorization.k8s.io';
      if (!(await isAllowed(fetcher, { verb, group, version: 'v1', resource }, signal)))
        missing.push(`${verb} ${resource}`);
    }
  return missing;
}

/**
 * Whether the credential may read Tenant objects, which Arktos shows to users of the system tenant alone.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export function mayReadTenants(
  { fetcher }: Pick<UpstreamRightsOptions, 'fetcher'>,
  signal: AbortSignal,
): Promise<boolean> {
  return isAllowed(fetcher, { verb: 'get', group: '', version: 'v1', resource: 'tenants' }, signal);
}

async function isAllowed(
  fetcher: UpstreamFetcher,
  resourceAttributes: JSONObject,
  signal: AbortSignal,
): Promise<boolean> {
  const kind = 'SelfSubjectAccessReview';
  const review = { kind, apiVersion: 'authorization.k8s.io/v1', spec: { resourceAttributes } };
  const response = await fetcher.fetch(
    {
      account: STONEGATE_ACCOUNT,
      sender: { kind: 'stonegate' },
      method: 'POST',
      target: PATH,
      headers: [['Content-Type', 'application/json'], ACCEPT],
      body: JSON.stringify(review),
    },
    signal,
  );
  const status = response.status === 201 || response.status === 200 ? objectIn(response)?.status : undefined;
  if (isJSONObject(status) && typeof status.allowed === 'boolean')
    return status.allowed && status.denied !== true;
  throw new StatusError(
    'UpstreamUnavailable',
    `the API server's response to a SelfSubjectAccessReview is no review: its status is ${response.status}`,
  );
}

/**
 * The feature has no discovery, and a version is only a hint, as its gate can be off. The two implementations
 * of the impersonation filter word one refusal differently, before any authorization (k8s.io/apiserver 0.35
 * and later).
 */
async function hasConstrained(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<boolean> {
  const response = await fetcher.fetch(
    {
      account: STONEGATE_ACCOUNT,
      sender: { kind: 'stonegate' },
      method: 'GET',
      target: '/version',
      headers: PROBE,
    },
    signal,
  );
  const message = response.status === 400 ? objectIn(response)?.message : undefined;
  return typeof message === 'string' && message.endsWith(CONSTRAINED_WORDS);
}

function objectIn({ body }: UpstreamResponse): JSONObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isJSONObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
