/**
 * A Lease of the API server, by which replicas without Redis agree on one of them. A replica takes it over if
 * the holder has not renewed it for its duration by the replica's own clock: clocks need not agree.
 * https://kubernetes.io/docs/concepts/architecture/leases/
 */
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject, type JSONObject } from '../lib/json-object.ts';
import type { Lease } from '../lib/lease.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../pipeline/ports.ts';

/** Milliseconds for one call of the API server. */
const TIMEOUT = 5_000;

export interface KubernetesLeaseOptions {
  /** With a credential that may get, create and update the Lease. */
  readonly fetcher: UpstreamFetcher;
  /** In Arktos: of the Lease's namespace. */
  readonly tenant?: string;
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds until the lease of a holder that does not renew it expires. */
  readonly ttl: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export function createKubernetesLease(options: KubernetesLeaseOptions): Lease {
  return new KubernetesLease(options);
}

interface StoredLease {
  readonly metadata: JSONObject;
  readonly spec: JSONObject;
}

class KubernetesLease implements Lease {
  readonly #options: KubernetesLeaseOptions;
  readonly #owner: string;
  readonly #collection: string;
  /** The holder's last sign of life, and when it was first seen here. */
  #seen: { readonly sign: string; readonly at: number } | undefined;
  #problem = '';

  constructor(options: KubernetesLeaseOptions) {
    const { tenant, namespace, random } = options;
    this.#options = options;
    this.#owner = random.uuid();
    const place = tenant === undefined ? '' : `/tenants/${tenant}`;
    this.#collection = `/apis/coordination.k8s.io/v1${place}/namespaces/${namespace}/leases`;
  }

  async hold(): Promise<boolean> {
    try {
      const lease = await this.#read();
      if (lease === undefined) return await this.#create();
      return this.#mayWrite(lease) && (await this.#write(lease, this.#owner));
    } catch (error) {
      this.#tell(error);
      return false;
    }
  }

  async release(): Promise<void> {
    try {
      const lease = await this.#read();
      if (lease?.spec.holderIdentity === this.#owner) await this.#write(lease, '');
    } catch (error) {
      this.#tell(error);
    }
  }

  /** Whether it is this replica's, no one's, or its holder's time is over. */
  #mayWrite({ spec }: StoredLease): boolean {
    const { clock, ttl } = this.#options;
    const { holderIdentity = '' } = spec;
    if (holderIdentity === '' || holderIdentity === null || holderIdentity === this.#owner) return true;
    const sign = JSON.stringify([holderIdentity, spec.renewTime, spec.leaseTransitions]);
    if (this.#seen?.sign !== sign) this.#seen = { sign, at: clock.now() };
    return clock.now() - this.#seen.at >= ttl;
  }

  async #read(): Promise<StoredLease | undefined> {
    const response = await this.#ask('GET', `${this.#collection}/${this.#options.name}`);
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw new Error(`the status of the Lease was ${response.status}`);
    const lease: unknown = JSON.parse(response.body.toString('utf8'));
    if (!isJSONObject(lease) || !isJSONObject(lease.metadata)) throw new Error('the Lease is no object');
    return { metadata: lease.metadata, spec: isJSONObject(lease.spec) ? lease.spec : {} };
  }

  /** @returns false if another replica was faster */
  async #create(): Promise<boolean> {
    const metadata = { name: this.#options.name, namespace: this.#options.namespace };
    const response = await this.#ask(
      'POST',
      this.#collection,
      this.#bodyOf({ metadata, spec: {} }, this.#owner),
    );
    return this.#isWritten(response, 201);
  }

  async #write(lease: StoredLease, holder: string): Promise<boolean> {
    const target = `${this.#collection}/${this.#options.name}`;
    return this.#isWritten(await this.#ask('PUT', target, this.#bodyOf(lease, holder)), 200);
  }

  #isWritten({ status }: UpstreamResponse, expected: number): boolean {
    if (status !== expected && status !== 409)
      throw new Error(`the status of writing the Lease was ${status}`);
    if (status === expected) this.#problem = '';
    return status === expected;
  }

  /** With the resourceVersion that was read, so that of two replicas one writes. */
  #bodyOf({ metadata, spec }: StoredLease, holder: string): string {
    const { clock, ttl } = this.#options;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const changes = spec.holderIdentity !== holder;
    const { leaseTransitions = 0 } = spec;
    const times = changes ? { acquireTime: now, renewTime: now } : { renewTime: now };
    return JSON.stringify({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
      spec: {
        ...spec,
        ...times,
        holderIdentity: holder,
        leaseDurationSeconds: Math.ceil(ttl / 1_000),
        leaseTransitions: (typeof leaseTransitions === 'number' ? leaseTransitions : 0) + (changes ? 1 : 0),
      },
    });
  }

  async #ask(method: string, target: string, body?: string): Promise<UpstreamResponse> {
    const ending = new AbortController();
    const timer = this.#options.clock.after(TIMEOUT, () => ending.abort(new Error('the API server is slow')));
    try {
      return await this.#options.fetcher.fetch(
        {
          account: STONEGATE_ACCOUNT,
          sender: { kind: 'stonegate' },
          method,
          target,
          headers: [
            ['Accept', 'application/json'],
            ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
          ],
          ...(body !== undefined && { body }),
        },
        ending.signal,
      );
    } finally {
      timer.cancel();
    }
  }

  /** Once for each problem in a row. */
  #tell(error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error);
    if (problem !== this.#problem)
      this.#options.logger.warn({ error, lease: this.#options.name }, 'the Lease could not be held');
    this.#problem = problem;
  }
}
