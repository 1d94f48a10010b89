/**
 * The stages with a trail: what each authenticator and authorizer says is recorded.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { Stages } from '../../proxy/stages.ts';
import type { ExplainedPart } from './stonegate-v1alpha1.ts';
import type { Trail } from './trail.ts';

type Words = Pick<ExplainedPart, 'decision' | 'reason'>;

const ACCEPTED: Words = { decision: 'accepted', reason: 'has no objection' };
const VOUCHED: Words = { decision: 'accepted', reason: 'vouches for the credential' };

export function watchedStages<S extends Stages>(stages: S, trail: Trail): S {
  async function watched<T>(name: string, run: () => T | Promise<T>, words: (made: T) => Words): Promise<T> {
    try {
      const made = await run();
      trail.part({ name, ...words(made) });
      return made;
    } catch (error) {
      const message = error instanceof StatusError ? error.message : 'failed';
      trail.part({ name, decision: 'refused', reason: trail.causeOf(error) || message });
      throw error;
    }
  }
  return {
    ...stages,
    authenticators: stages.authenticators.map((one) => {
      const { name, takes = 'others' } = one;
      const other: Words = {
        decision: 'passedOn',
        reason: `not its kind of credential: it takes ${takes}`,
      };
      const authenticate: typeof one.authenticate = (credential, context) =>
        watched(
          name,
          () => one.authenticate(credential, context),
          (identity) => (identity === undefined ? other : VOUCHED),
        );
      return { ...one, authenticate };
    }),
    authorizers: stages.authorizers.map((one) => ({
      ...one,
      authorize: (attributes) =>
        watched(
          one.name,
          () => one.authorize(attributes),
          () => ACCEPTED,
        ),
    })),
  };
}
