/**
 * Fetches an issuer's keys by discovery and refreshes them in the background. Fetched keys stay valid while
 * the issuer cannot be reached. Unknown key ids and wrong signatures, which any client can invent, cause at
 * most one fetch per interval.
 * OpenID Connect Discovery 1.0 §4; RFC 7517 §5.
 */

import { hash } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { StatusError } from '../../errors/status-error.ts';
import { BackendCall } from '../../lib/backend-call.ts';
import { Backoff } from '../../lib/backoff.ts';
import type { Timer } from '../../lib/clock.ts';
import { innermostCode } from '../../lib/error-code.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import type { ReadinessCheck } from '../../lib/readiness.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { createIssuerHTTP, type IssuerHTTP } from './oidc-http.ts';
import { innermost } from './oidc-login-error.ts';
import { discoverProvider } from './oidc-provider.ts';

/** Milliseconds to wait after failed fetches. */
const RETRY = { first: 1_000, longest: 60_000 };

/** A token without a key id is verified with each key. The largest known set, Entra ID's, has far fewer. */
const MAX_KEYS = 64;

export interface IssuerKeysOptions extends Runtime {
  /** Must equal the document's `issuer` and the token's `iss` exactly. */
  readonly url: string;
  /** URL of the discovery document, if not below `url`; with `/.well-known/…`. */
  readonly discoveryURL?: string | undefined;
  /** Whether keys that belong to another issuer are ignored. */
  readonly ownKeys: boolean;
  /** PEM; when given, only these authorities are trusted. */
  readonly ca?: string | Buffer | undefined;
  /** Milliseconds after which the keys are refreshed in the background, a little early. */
  readonly maxAge: number;
  /** Milliseconds in which unknown key ids and wrong signatures cause at most one fetch. */
  readonly refreshInterval: number;
  /** Timeout of discovery and keys together, in milliseconds. */
  readonly timeout: number;
}

export interface IssuerKeys {
  /**
   * The result is the same object as long as the issuer publishes the same keys. An unknown `kid` or a set
   * in `refuted` causes a refresh, at most once per configured interval.
   *
   * @param kid of the token; undefined if it has none
   * @param refuted the set of an earlier call, with which the signature could not be verified: the issuer may
   *   have changed a key without giving it another `kid`
   * @throws StatusError IssuerUnavailable if there is no key, or if the `kid` is unknown and the issuer
   *   cannot be reached
   */
  keys(kid: string | undefined, refuted?: JSONWebKeySet): Promise<JSONWebKeySet>;
}

interface Fetched {
  readonly set: JSONWebKeySet;
  readonly digest: string;
  readonly kids: ReadonlySet<string | undefined>;
}

export class DiscoveredIssuerKeys implements IssuerKeys, ReadinessCheck {
  readonly name: string;
  readonly #options: IssuerKeysOptions;
  readonly #http: IssuerHTTP;
  readonly #closing = new AbortController();
  readonly #backoff: Backoff;
  #fetched: Fetched | undefined;
  #failure: Error | undefined = new Error('has not been asked yet');
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #nextOnDemand = Number.NEGATIVE_INFINITY;

  constructor(options: IssuerKeysOptions) {
    const { url, ca, random } = options;
    this.name = `issuer ${url}`;
    this.#options = options;
    this.#http = createIssuerHTTP({ ca });
    this.#backoff = new Backoff({ ...RETRY, random });
  }

  /** Starts fetching and retries; returns at once, so that one issuer does not delay another. */
  start(): void {
    void this.#refresh();
  }

  /** Cancels requests and timers. Fetched keys stay available. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    await this.#running;
    await this.#http.close();
  }

  notReadyBecause(): string | undefined {
    return this.#fetched === undefined ? this.#failure?.message : undefined;
  }

  async keys(kid: string | undefined, refuted?: JSONWebKeySet): Promise<JSONWebKeySet> {
    if (!this.#isKnown(kid, refuted)) await this.#refreshOnDemand(kid, refuted);
    const [fetched, failure] = [this.#fetched, this.#failure];
    const undecided = failure !== undefined && !this.#isKnown(kid);
    if (fetched === undefined || fetched.set.keys.length === 0 || undecided) {
      throw new StatusError(
        'IssuerUnavailable',
        `the keys of the issuer ${this.#options.url} cannot be fetched: try again later`,
        { cause: failure ?? new Error('the issuer publishes no key') },
      );
    }
    return fetched.set;
  }

  #refresh(): Promise<void> {
    this.#running ??= this.#attempt().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #attempt(): Promise<void> {
    const { url, timeout, clock, logger } = this.#options;
    const { signal } = this.#closing;
    this.#timer?.cancel();
    const call = new BackendCall('issuer', this.#options);
    const deadline = new AbortController();
    const limit = clock.after(timeout, () => deadline.abort(new Error('timed out')));
    try {
      this.#accept(await fetchKeys(this.#options, this.#http, AbortSignal.any([signal, deadline.signal])));
      call.end('ok');
    } catch (error) {
      if (signal.aborted) return;
      const isLate = deadline.signal.aborted;
      const failure = isLate
        ? fetchFailure(`did not answer within ${timeout} ms`, 'ETIMEDOUT')
        : fetchFailure(innermost(error), innermostCode(error));
      this.#failure = failure;
      call.end(isLate ? 'timeout' : 'error');
      logger.warn(
        { issuer: url, failure: failure.message, keysKept: this.#fetched !== undefined },
        'issuer keys not fetched',
      );
    } finally {
      limit.cancel();
      this.#schedule();
    }
  }

  #accept(next: Fetched): void {
    const { url, logger } = this.#options;
    this.#failure = undefined;
    this.#backoff.reset();
    if (next.digest === this.#fetched?.digest) return;
    this.#fetched = next;
    const fields = { issuer: url, keys: next.set.keys.length };
    if (next.set.keys.length === 0) logger.error(fields, 'issuer publishes no key: its tokens are refused');
    else logger.info(fields, 'issuer keys fetched');
  }

  #schedule(): void {
    const { maxAge, random, clock } = this.#options;
    if (this.#closing.signal.aborted) return;
    const isFresh = this.#failure === undefined;
    const span = isFresh ? maxAge * (1 - 0.2 * random.fraction()) : this.#backoff.next();
    this.#timer = clock.after(span, () => void this.#refresh());
  }

  #isKnown(kid: string | undefined, refuted?: JSONWebKeySet): boolean {
    const fetched = this.#fetched;
    if (fetched === undefined || fetched.set.keys.length === 0 || fetched.set === refuted) return false;
    return kid === undefined || fetched.kids.has(kid);
  }

  /**
   * Waits for a running refresh, which may have started before the key was published; then one more may
   * follow. Only refreshes that do not find the `kid` are rate-limited, and those for a wrong signature,
   * since another set of keys does not mean that it has the right one.
   */
  async #refreshOnDemand(kid: string | undefined, refuted?: JSONWebKeySet): Promise<void> {
    const { clock, refreshInterval } = this.#options;
    const running = this.#running;
    if (running) {
      await running;
      if (this.#isKnown(kid, refuted) || this.#failure !== undefined) return;
      if (this.#running) return this.#running;
    }
    if (this.#closing.signal.aborted || clock.now() < this.#nextOnDemand) return;
    this.#nextOnDemand = clock.now() + refreshInterval;
    await this.#refresh();
    if (refuted === undefined && this.#isKnown(kid)) this.#nextOnDemand = Number.NEGATIVE_INFINITY;
  }
}

/**
 * Made anew, since errors of libraries may contain tokens.
 *
 * @param code of the system, such as `ECONNREFUSED`
 */
function fetchFailure(reason: string, code: string | undefined): Error {
  return Object.assign(new Error(reason), code !== undefined && { code });
}

async function fetchKeys(
  options: IssuerKeysOptions,
  http: IssuerHTTP,
  signal: AbortSignal,
): Promise<Fetched> {
  const { url: issuerURL, discoveryURL } = options;
  const found = await discoverProvider(
    { issuer: issuerURL, discoveryURL, clientID: 'stonegate', signal },
    http,
  );
  const { issuer, jwks_uri } = found.serverMetadata();
  if (issuer !== issuerURL)
    throw new Error(`the discovery document names the issuer ${JSON.stringify(issuer)}`);
  if (jwks_uri === undefined) throw new Error('the discovery document names no jwks_uri');
  const response = await http.send(jwks_uri, { method: 'GET', signal });
  if (response.status !== 200) throw new Error(`the response with the keys has status ${response.status}`);
  const text = await response.text();
  const set = parseKeySet(text, options.ownKeys ? options.url : undefined);
  const digest = hash('sha256', text, 'base64');
  return { set, digest, kids: new Set(set.keys.map((key) => key.kid)) };
}

type Key = JSONWebKeySet['keys'][number];

const ASYMMETRIC = new Set(['RSA', 'EC', 'OKP']);

/**
 * Parses a JSON Web Key Set. Only public keys of asymmetric algorithms that belong to the issuer are used;
 * other members are ignored (RFC 7517 §5).
 *
 * @param text the fetched document
 * @param issuer that the keys must belong to; undefined to accept keys of any issuer
 * @returns the set; empty if the issuer has withdrawn all keys
 * @throws Error if the text is not a key set, or one of more than MAX_KEYS keys
 */
export function parseKeySet(text: string, issuer: string | undefined): JSONWebKeySet {
  const document: unknown = JSON.parse(text);
  if (!isJSONObject(document) || !Array.isArray(document.keys))
    throw new Error('the response is not a JSON Web Key Set');
  const members: unknown[] = document.keys;
  const keys = members.filter(isPublicKey).filter((key) => issuer === undefined || belongsTo(key, issuer));
  if (keys.length > MAX_KEYS) throw new Error(`the key set has ${keys.length} keys, more than ${MAX_KEYS}`);
  return { keys };
}

function isPublicKey(value: unknown): value is Key {
  if (!isJSONObject(value) || typeof value.kty !== 'string') return false;
  return (
    ASYMMETRIC.has(value.kty) && !('d' in value) && (value.kid === undefined || typeof value.kid === 'string')
  );
}

/**
 * Entra ID serves one set for many tenants and names in each key's `issuer` whose tokens it signs, with
 * `{tenantid}` for any tenant. A key for another issuer's tokens must not verify ours.
 * https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-the-signing-key-issuer
 */
function belongsTo(key: Key, issuer: string): boolean {
  const owner: unknown = Object.hasOwn(key, 'issuer') ? Reflect.get(key, 'issuer') : undefined;
  if (typeof owner !== 'string' || owner === issuer) return true;
  const [before, after, ...more] = owner.split('{tenantid}');
  if (before === undefined || after === undefined || more.length > 0) return false;
  const tenant = issuer.slice(before.length, issuer.length - after.length);
  return issuer === `${before}${tenant}${after}` && tenant !== '' && !tenant.includes('/');
}
