/**
 * Access rules of a configuration with the RBAC index: what answers requests for them, and the source of the
 * portal's page.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { heldRolesInSteps } from '../access/held-roles.ts';
import type { AccessIndex } from '../access/ports.ts';
import { accessMatrix } from '../access/rules/access-matrix.ts';
import { RulesCache } from '../access/rules/rules-cache.ts';
import { createRulesDocuments, type RulesDocuments } from '../access/rules/rules-document.ts';
import type { Verifier } from '../access/verification.ts';
import { SELF_ACCESS_RULES_PATH } from '../api/access-rules-v1alpha1.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { Answerer } from '../pipeline/delivery.ts';
import { createSelfAccessRulesAnswerer } from '../pipeline/own-api/answer-access-rules.ts';
import { createRulesReviewAnswerer } from '../pipeline/own-api/answer-rules-review.ts';
import { createReviewedSubjects } from '../pipeline/own-api/reviewed-subject.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import { readRequestInfo } from '../pipeline/request/request-info.ts';
import type { WatchLifetimes } from '../pipeline/response/watch-lifetimes.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { AccessSource } from '../portal/ports.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';

/** The page of a browser that has left is evaluated too. */
const NEVER = new AbortController().signal;

/** The longest review: a token of 16 kB, or a user with very many groups. */
const REVIEW_BYTES = 256 * 1024;

const RULES = new ComponentType<RulesCache>('access rules', { dispose: (cache) => cache.stop() });

export interface AccessRulesOptions {
  readonly access: AccessIndex;
  readonly verifier: Pick<Verifier, 'sampleOne'>;
  readonly stages: Pick<Stages, 'authenticators' | 'mode'>;
  readonly subjects: AccessSubjects;
  readonly responseMemory: ResponseMemory;
  readonly lifetimes: WatchLifetimes;
}

export interface ConfiguredAccessRules {
  readonly answerers: readonly Answerer[];
  /** For the portal. */
  readonly source: AccessSource;
}

export function createAccessRules(
  { loaded, generation, runtime: { clock } }: Build,
  { access, verifier, stages, subjects, responseMemory, lifetimes }: AccessRulesOptions,
): ConfiguredAccessRules {
  const { access: configuration, server } = loaded.configuration;
  const { namedSets } = configuration;
  const cache = generation.component(RULES, {
    create: () => new RulesCache({ index: access.index, clock, namedSets }),
  });
  const { authorizers } = configuration;
  const documents = createRulesDocuments({ access, cache, verifier, authorizers, clock });
  const limits = { bodyBytes: REVIEW_BYTES, bodyTimeout: server.timeouts.body };
  const findSubject = createReviewedSubjects({ ...stages, subjects });
  return {
    source: createAccessSource(documents, subjects, stages.mode),
    answerers: [
      createSelfAccessRulesAnswerer({ documents, subjects, clock, responseMemory, lifetimes }),
      createRulesReviewAnswerer({ documents, findSubject, limits, clock, responseMemory }),
    ],
  };
}

/** As if the user had requested the rules. */
function createAccessSource(
  documents: RulesDocuments,
  subjects: AccessSubjects,
  mode: Stages['mode'],
): AccessSource {
  return {
    async accessOf(identity) {
      const tenant = mode.tenantOf(identity);
      const user = mode.userOf(identity, tenant);
      const info = readRequestInfo('GET', SELF_ACCESS_RULES_PATH, mode);
      const subject = await subjects.subjectOf({ proven: identity, info, tenant, user });
      const { status } = await documents.documentOf({
        subject,
        selection: { verb: '*' },
        expiresAt: identity.expiresAt,
        signal: NEVER,
      });
      const steps = heldRolesInSteps(documents.access.index, subject);
      let step = steps.next();
      while (step.done !== true) {
        await nextTurn();
        step = steps.next();
      }
      const { roles, hidden } = step.value;
      return {
        groups: accessMatrix(status),
        roles,
        hiddenRoles: hidden,
        incompleteReason: status.incompleteReason,
      };
    },
  };
}
