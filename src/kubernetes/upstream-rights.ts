/**
 * Asks the API server what Stonegate's own credential may do. What it may impersonate, and whether the API
 * server has constrained impersonation, is asked at startup, every hour and after a refusal: an optional
 * extra key without the right is omitted, so that an older ClusterRole does not make every request fail.
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/
 */
import type { Clock, Timer } from '../lib/clock.ts';
import type { HeaderList } from '../lib/header-list.ts';
import { readJSONObject } from '../lib/json-object.ts';
import { createChangedStates, type Logger } from '../lib/logger.ts';
import { postReview, reviewAbout, reviewStatusOf } from './access-reviewer.ts';
import type { SubjectAccessReviewSpec } from './authorization-v1.ts';
import type { PolicyRule } from './kubernetes-object.ts';
import type { UpstreamFetcher, UpstreamRights } from './upstream-ports.ts';
import { ownGet, STONEGATE_ACCOUNT } from './upstream-request.ts';

/** Milliseconds. */
const HOUR = 3_600_000;
/**
 * Used if a key is omitted or the API server could not be reached: the operator may be about to grant the
 * right.
 */
const MINUTE = 60_000;
/** The shortest time between two rounds: a flood of refused requests causes no flood of reviews. */
const SHORTEST = 10_000;

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

/**
 * Before the first response every optional key is omitted, and impersonation is taken for unconstrained.
 */
export class PolledUpstreamRights implements UpstreamRights {
  readonly #options: UpstreamRightsOptions;
  readonly #stopped = new AbortController();
  #withheld: ReadonlySet<string>;
  #constrained: boolean;
  readonly #isNew = createChangedStates();
  #timer: Timer | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #askAgain = false;

  constructor(options: UpstreamRightsOptions) {
    this.#options = options;
    this.#withheld = options.known?.withheld ?? new Set(options.optionalKeys);
    this.#constrained = options.known?.constrained ?? false;
  }

  get withheld(): ReadonlySet<string> {
    return this.#withheld;
  }

  get constrained(): boolean {
    return this.#constrained;
  }

  refused(): void {
    if (this.#isAsking) this.#askAgain = true;
    else this.#soon();
  }

  /**
   * Reviews now.
   *
   * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is not a review; the
   *   previous result stays
   */
  async ask(): Promise<void> {
    const { fetcher, optionalKeys, mayBeConstrained } = this.#options;
    const { signal } = this.#stopped;
    if (optionalKeys.length === 0 && !mayBeConstrained) return;
    const constrained = mayBeConstrained && (await hasConstrained(fetcher, signal));
    const refused: string[] = [];
    for (const key of optionalKeys)
      if (!(await mayImpersonate(fetcher, key, constrained, signal))) refused.push(key);
    this.#constrained = constrained;
    if (refused.join() !== [...this.#withheld].join()) this.#withheld = new Set(refused);
    this.#log();
  }

  /** Reviews now and periodically. */
  start(): void {
    const { clock, logger } = this.#options;
    this.#timer?.cancel();
    this.#askedAt = clock.now();
    this.#isAsking = true;
    this.#askAgain = false;
    this.ask()
      .then(
        () => this.#schedule(this.#withheld.size === 0 ? HOUR : MINUTE),
        (error: unknown) => {
          if (!this.#stopped.signal.aborted)
            logger.warn({ error }, 'Stonegate could not ask for its own rights');
          this.#schedule(MINUTE);
        },
      )
      .finally(() => {
        this.#isAsking = false;
        if (this.#askAgain) this.#soon();
      });
  }

  stop(): void {
    this.#stopped.abort();
    this.#timer?.cancel();
  }

  /** Once per change: what is omitted is a warning, as the operator has to grant it. */
  #log(): void {
    const { logger } = this.#options;
    const found = { constrained: this.#constrained, omitted: [...this.#withheld] };
    if (!this.#isNew('rights', JSON.stringify(found))) return;
    if (this.#withheld.size > 0) logger.warn(found, OMITTED);
    else logger.info(found, 'asked the API server what Stonegate may impersonate');
  }

  #schedule(delay: number): void {
    this.#timer?.cancel();
    if (!this.#stopped.signal.aborted) this.#timer = this.#options.clock.after(delay, () => this.start());
  }

  #soon(): void {
    const delay = this.#askedAt + SHORTEST - this.#options.clock.now();
    if (delay <= 0 && !this.#stopped.signal.aborted) this.start();
    else this.#schedule(delay);
  }
}

const OMITTED =
  'Stonegate may not impersonate some extra keys and omits them: apply the output of `stonegate manifests rbac --config FILE`';

const PATH = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const AUTHENTICATION = 'authentication.k8s.io';
/**
 * A request that impersonates a group and no user is refused by both implementations, each in its own words.
 */
const PROBE: HeaderList = [
  ['Accept', 'application/json'],
  ['Impersonate-Group', 'stonegate:probe'],
];
const CONSTRAINED_WORDS = 'without impersonating a user name';

/**
 * Whether the credential may impersonate an extra key: both the key and users in one mode, as the API server
 * decides a request in one mode as a whole.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
async function mayImpersonate(
  fetcher: UpstreamFetcher,
  key: string,
  constrained: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const may = resourceQuestions(fetcher, signal);
  const mayBoth = async (verb: string, groupOfUsers: string) =>
    (await may(verb, AUTHENTICATION, 'userextras', key)) && (await may(verb, groupOfUsers, 'users'));
  if (await mayBoth('impersonate', '')) return true;
  return constrained && mayBoth('impersonate:user-info', AUTHENTICATION);
}

/**
 * Whether the credential may impersonate users and groups at all: without that, every forwarded request is
 * refused.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export async function mayImpersonateUsers(
  fetcher: UpstreamFetcher,
  mayBeConstrained: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const may = resourceQuestions(fetcher, signal);
  const mayBoth = async (verb: string, group: string) =>
    (await may(verb, group, 'users')) && (await may(verb, group, 'groups'));
  if (await mayBoth('impersonate', '')) return true;
  return (
    mayBeConstrained &&
    (await hasConstrained(fetcher, signal)) &&
    mayBoth('impersonate:user-info', AUTHENTICATION)
  );
}

function resourceQuestions(fetcher: UpstreamFetcher, signal: AbortSignal) {
  return (verb: string, group: string, resource: string, subresource = '') =>
    isAllowed(fetcher, { resourceAttributes: { verb, group, version: 'v1', resource, subresource } }, signal);
}

/** Reviews that are sent together: Stonegate's own requests share few connections. */
const AT_ONCE = 8;

/**
 * Asks which rights of a rule the credential lacks, such as `watch roles`.
 *
 * @throws StatusError as the fetcher does, UpstreamUnavailable for a response that is no review
 */
export async function missingRights(
  fetcher: UpstreamFetcher,
  { apiGroups = [], resources = [], resourceNames, nonResourceURLs = [], verbs }: PolicyRule,
  signal: AbortSignal,
): Promise<string[]> {
  const names: readonly (string | undefined)[] = resourceNames ?? [undefined];
  const questions = [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((each) => {
        const [resource = '', subresource = ''] = each.split('/');
        return names.flatMap((name) =>
          verbs.map((verb) => ({
            right: `${verb} ${each}${name === undefined ? '' : ` ${name}`}`,
            spec: {
              resourceAttributes: { verb, group, resource, subresource, ...(name !== undefined && { name }) },
            },
          })),
        );
      }),
    ),
    ...nonResourceURLs.flatMap((path) =>
      verbs.map((verb) => ({ right: `${verb} ${path}`, spec: { nonResourceAttributes: { verb, path } } })),
    ),
  ];
  const missing: string[] = [];
  for (let at = 0; at < questions.length; at += AT_ONCE) {
    const together = questions.slice(at, at + AT_ONCE);
    const allowed = await Promise.all(together.map(({ spec }) => isAllowed(fetcher, spec, signal)));
    missing.push(...together.filter((_, index) => allowed[index] === false).map(({ right }) => right));
  }
  return missing;
}

async function isAllowed(
  fetcher: UpstreamFetcher,
  spec: SubjectAccessReviewSpec,
  signal: AbortSignal,
): Promise<boolean> {
  const request = { account: STONEGATE_ACCOUNT, sender: { kind: 'stonegate' }, target: PATH } as const;
  const review = reviewAbout('SelfSubjectAccessReview', spec);
  return reviewStatusOf(await postReview(fetcher, request, review, signal), review.kind).allowed;
}

/**
 * The feature has no discovery, and a version is only a hint, as its gate can be off. The two implementations
 * of the impersonation filter word one refusal differently, before any authorization (k8s.io/apiserver 0.35
 * and later).
 */
async function hasConstrained(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<boolean> {
  const response = await fetcher.fetch({ ...ownGet('/version'), headers: PROBE }, signal);
  const message = response.status === 400 ? readJSONObject(response.body)?.message : undefined;
  return typeof message === 'string' && message.endsWith(CONSTRAINED_WORDS);
}
