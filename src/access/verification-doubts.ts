/**
 * Whose filtered responses are off because the index and the API server disagree: a user's for ten minutes,
 * a tenant's or all until the next reload. Users of one tenant never turn the feature off for another.
 */
import type { Clock } from '../lib/clock.ts';
import type { Suspensions } from '../lib/telemetry.ts';
import type { RBACUser } from '../rbac/attributes.ts';

const SUSPENSION = 600_000;
/** Milliseconds for which a disagreement counts. */
const WITHIN = 3_600_000;
/** This many users of one tenant turn the feature off for the tenant. */
const USERS = 3;
/** This many tenants turn it off for all. */
const TENANTS = 3;

/** A user whose tenant is not known counts as one of the tenant `''`. */
export type DoubtedUser = Pick<RBACUser, 'tenant' | 'username' | 'home'>;

export class Doubts {
  readonly #clock: Clock;
  /** By user. */
  readonly #confirmed = new Map<string, { readonly home: string; readonly at: number }>();
  readonly #tenants = new Set<string>();
  #isOff = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the feature is off for all. */
  get isOff(): boolean {
    return this.#isOff;
  }

  /** How many are affected now. */
  get suspensions(): Suspensions {
    const since = this.#clock.now() - SUSPENSION;
    const users = [...this.#confirmed.values()].filter(({ at }) => at > since).length;
    return { users, tenants: this.#tenants.size, all: this.#isOff };
  }

  isDoubted(user: DoubtedUser): boolean {
    if (this.#isOff || this.#tenants.has(homeOf(user))) return true;
    if (this.#confirmed.size === 0) return false;
    const known = this.#confirmed.get(keyOf(user));
    return known !== undefined && known.at + SUSPENSION > this.#clock.now();
  }

  /** Why enumerations over several users are incomplete. */
  get reason(): string | undefined {
    if (this.#isOff) return 'the RBAC index and the API server disagreed about users of several tenants';
    if (this.#tenants.size > 0) return 'the RBAC index and the API server disagreed about several users';
    for (const { at } of this.#confirmed.values())
      if (at + SUSPENSION > this.#clock.now())
        return 'the RBAC index and the API server disagree about a user';
    return undefined;
  }

  /** @returns for whom the feature is off now */
  add(user: DoubtedUser): 'user' | 'tenant' | 'all' {
    const now = this.#clock.now();
    const home = homeOf(user);
    for (const [key, { at }] of this.#confirmed) if (at < now - WITHIN) this.#confirmed.delete(key);
    this.#confirmed.set(keyOf(user), { home, at: now });
    const homes = [...this.#confirmed.values()].map((confirmed) => confirmed.home);
    if (new Set(homes).size >= TENANTS) {
      this.#isOff = true;
      return 'all';
    }
    if (homes.filter((each) => each === home).length < USERS) return 'user';
    this.#tenants.add(home);
    return 'tenant';
  }
}

function homeOf({ home = '' }: DoubtedUser): string {
  return home;
}

/** No tenant's name contains a slash. */
function keyOf({ tenant, username }: DoubtedUser): string {
  return `${tenant}/${username}`;
}
