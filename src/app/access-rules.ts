/**
 * Access rules of a configuration with the RBAC index: what answers requests for them, and the source of the
 * portal's page.
 */
import { heldRoles } from '../access/held-roles.ts';
import type { AccessIndex } from '../access/ports.ts';
import { createRulesDocuments, type RulesDocuments } from '../access/rules/rules-document.ts';
import { accessMatrix } from '../api/access-matrix.ts';
import { SELF_ACCESS_RULES_PATH } from '../api/access-rules-v1alpha1.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { Answerer } from '../pipeline/delivery.ts';
import { createSelfAccessRulesAnswerer } from '../pipeline/own-api/answer-access-rules.ts';
import { createRulesReviewAnswerer } from '../pipeline/own-api/answer-rules-review.ts';
import { createReviewedSubjects } from '../pipeline/own-api/reviewed-subject.ts';
import type { UpstreamResponse } from '../pipeline/ports.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import { readRequestInfo } from '../pipeline/request/request-info.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { AccessSource } from '../portal/ports.ts';
import type { Build } from './build.ts';

/** The page of a browser that has left is evaluated too. */
const NEVER = new AbortController().signal;

/** The longest review: a token of 16 kB, or a user with very many groups. */
const REVIEW_BYTES = 256 * 1024;

/** Bounds of what the portal's page shows. */
const PAGE = { groups: 20, rows: 100, names: 5, characters: 80 };

export interface AccessRulesOptions {
  readonly access: AccessIndex;
  readonly stages: Pick<Stages, 'authenticators' | 'mode'>;
  readonly subjects: AccessSubjects;
  readonly responseMemory: ResponseMemory;
}

export interface ConfiguredAccessRules {
  readonly answerers: readonly Answerer<UpstreamResponse>[];
  /** For the portal. */
  readonly source: AccessSource;
}

export function createAccessRules(
  { loaded, runtime: { clock } }: Build,
  { access, stages, subjects, responseMemory }: AccessRulesOptions,
): ConfiguredAccessRules {
  const {
    access: { namedSets, authorizers },
    server,
  } = loaded.configuration;
  const documents = createRulesDocuments({ access, namedSets, authorizers, clock });
  const limits = { bodyBytes: REVIEW_BYTES, bodyTimeout: server.timeouts.body };
  const findSubject = createReviewedSubjects({ ...stages, subjects });
  return {
    source: createAccessSource(documents, subjects, stages.mode),
    answerers: [
      createSelfAccessRulesAnswerer({ documents, subjects, responseMemory }),
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
      return {
        matrix: accessMatrix(status, PAGE),
        ...heldRoles(documents.access.index, subject),
        incompleteReason: status.incompleteReason,
      };
    },
  };
}
