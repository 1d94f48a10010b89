/**
 * Whether anybody can be authenticated yet. One source of identities that has been reached once suffices, unless
 * the operator wants all of them; what is lost later does not make the process unready, since cached identities
 * and fetched keys serve on.
 */
import type { ReadinessCheck } from '../lib/readiness.ts';

/**
 * @param sources each says why it was not reached yet
 * @param requireAll ready only when every source was reached, instead of any
 */
export function createAuthenticationReadiness(
  sources: readonly ReadinessCheck[],
  requireAll: boolean,
): ReadinessCheck {
  return {
    name: 'authentication',
    notReadyBecause() {
      const missing = sources.flatMap((source) => {
        const reason = source.notReadyBecause();
        return reason === undefined ? [] : [`${source.name}: ${reason}`];
      });
      const enough = missing.length === 0 || (!requireAll && missing.length < sources.length);
      return enough ? undefined : missing.join('; ');
    },
  };
}
