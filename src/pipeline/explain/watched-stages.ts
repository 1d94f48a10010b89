/**
 * The stages with a trail: what each authenticator, authorizer and admission plugin says is recorded.
 */
import type { AdmissionPlugin } from '../../admission/admission.ts';
import type { Authenticator } from '../../authentication/authenticator.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { Stages } from '../stages.ts';
import type { Trail } from './trail.ts';

export function watchedStages<S extends Stages>(stages: S, trail: Trail): S {
  return {
    ...stages,
    authenticators: stages.authenticators.map((authenticator) => watchedAuthenticator(authenticator, trail)),
    authorizers: stages.authorizers.map((authorizer) => watchedAuthorizer(authorizer, trail)),
    admission: stages.admission.map((plugin) => watchedPlugin(plugin, trail)),
  };
}

function watchedAuthenticator(authenticator: Authenticator, trail: Trail): Authenticator {
  const { name, takes = 'others' } = authenticator;
  return {
    ...authenticator,
    async authenticate(credential, context) {
      try {
        const identity = await authenticator.authenticate(credential, context);
        trail.part(
          identity === undefined
            ? { name, decision: 'passedOn', reason: `not its kind of credential: it takes ${takes}` }
            : { name, decision: 'accepted', reason: 'vouches for the credential' },
        );
        return identity;
      } catch (error) {
        noteRefusal(trail, name, error);
        throw error;
      }
    },
  };
}

function watchedAuthorizer(authorizer: Authorizer, trail: Trail): Authorizer {
  const { name } = authorizer;
  return {
    ...authorizer,
    async authorize(attributes) {
      try {
        await authorizer.authorize(attributes);
        trail.part({ name, decision: 'accepted', reason: 'has no objection' });
      } catch (error) {
        noteRefusal(trail, name, error);
        throw error;
      }
    },
  };
}

function watchedPlugin(plugin: AdmissionPlugin, trail: Trail): AdmissionPlugin {
  const { name } = plugin;
  return {
    ...plugin,
    admit(request, info) {
      try {
        plugin.admit(request, info);
        trail.part({ name, decision: 'accepted', reason: 'has no objection' });
      } catch (error) {
        noteRefusal(trail, name, error);
        throw error;
      }
    },
  };
}

function noteRefusal(trail: Trail, name: string, error: unknown): void {
  const cause = trail.causeOf(error);
  const message = error instanceof StatusError ? error.message : 'failed';
  trail.part({ name, decision: 'refused', reason: cause === '' ? message : cause });
}
