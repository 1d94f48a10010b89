/**
 * Requests about the permitted namespaces until the API server refuses none of them. What RBAC permits and
 * the API server refuses is a matter of moments: it is starting, or one of the two has not seen a
 * deletion. Nothing that is permitted is left out meanwhile.
 */
import { cancelled, ONLY_OPERATOR, StatusError } from '../../errors/status-error.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';

/** The API server refuses a namespace with 403. */
export class NamespaceRefused extends Error {
  readonly namespace: string;

  constructor(namespace: string) {
    super(`the API server refuses the namespace ${namespace}`);
    this.namespace = namespace;
  }
}

export interface RefusalOptions {
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
}

/** Milliseconds for which one namespace may be permitted and refused. */
const MAX_REFUSED = 3_000;
/** Milliseconds between two attempts: at least the first, and less than the sum. */
const PAUSE = { least: 50, spread: 100 };

/**
 * @param attempt asks for all namespaces that are permitted now, `first` for the one that was refused; what
 *   it has of the others from an earlier attempt, it may keep
 * @param describe completes "the API server refuses to"
 * @throws StatusError UpstreamUnavailable for a namespace that stays permitted and refused; what `attempt`
 *   throws but `NamespaceRefused`
 */
export async function untilNoneRefused<T>(
  attempt: (first: string | undefined) => Promise<T>,
  describe: string,
  signal: AbortSignal,
  { clock, random }: RefusalOptions,
): Promise<T> {
  let refused: { readonly namespace: string; readonly since: number } | undefined;
  for (;;) {
    try {
      return await attempt(refused?.namespace);
    } catch (error) {
      if (!(error instanceof NamespaceRefused)) throw error;
      const { namespace } = error;
      if (refused?.namespace !== namespace) refused = { namespace, since: clock.now() };
      else if (clock.now() - refused.since >= MAX_REFUSED) throw staysRefused(namespace, describe);
    }
    await pause(clock, PAUSE.least + random.fraction() * PAUSE.spread, signal);
    if (signal.aborted) throw cancelled(signal);
  }
}

function staysRefused(namespace: string, describe: string): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    `the API server refuses to ${describe} in the namespace ${JSON.stringify(namespace)}, which RBAC allows: another authorizer than access.authorizers states decides${ONLY_OPERATOR}`,
  );
}
