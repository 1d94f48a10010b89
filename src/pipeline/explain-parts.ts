/**
 * The stages with each authenticator, authorizer and admission plugin watched: the same parts asked in the same way,
 * and a note of what each said.
 */
import { StatusError } from '../errors/status-error.ts';
import type { Trail } from './explain-trail.ts';
import type { Stages } from './stages.ts';

export function watchParts<S extends Stages>(stages: S, trail: Trail): S {
  const refused = (name: string, error: unknown): void => {
    const cause = trail.causeOf(error);
    const message = error instanceof StatusError ? error.message : 'failed';
    trail.part({ name, decision: 'refused', reason: cause === '' ? message : cause });
  };
  return {
    ...stages,
    authenticators: stages.authenticators.map((authenticator) => ({
      ...authenticator,
      async authenticate(credential, context) {
        const { name, takes = 'others' } = authenticator;
        try {
          const identity = await authenticator.authenticate(credential, context);
          if (identity === undefined)
            trail.part({
              name,
              decision: 'passedOn',
              reason: `not its kind of credential: it takes ${takes}`,
            });
          else trail.part({ name, decision: 'accepted', reason: 'vouches for the credential' });
          return identity;
        } catch (error) {
          refused(name, error);
          throw error;
        }
      },
    })),
    authorizers: stages.authorizers.map((authorizer) => ({
      ...authorizer,
      async authorize(attributes) {
        try {
          await authorizer.authorize(attributes);
          trail.part({ name: authorizer.name, decision: 'accepted', reason: 'has no objection' });
        } catch (error) {
          refused(authorizer.name, error);
          throw error;
        }
      },
    })),
    admission: stages.admission.map((plugin) => ({
      ...plugin,
      admit(request, info) {
        try {
          plugin.admit(request, info);
          trail.part({ name: plugin.name, decision: 'accepted', reason: 'has no objection' });
        } catch (error) {
          refused(plugin.name, error);
          throw error;
        }
      },
    })),
  };
}
