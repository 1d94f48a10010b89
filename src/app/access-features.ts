/**
 * The features on top of the RBAC index: filtered lists, access rules, who-can and hidden objects. A verifier
 * compares the index that they use with the API server.
 */
import { createHiddenObjects } from '../access/hidden-objects.ts';
import type { RulesTrust } from '../access/incomplete-rules.ts';
import type { AccessIndex } from '../access/ports.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { Answerer } from '../pipeline/delivery.ts';
import type { DiscoveryDocuments } from '../pipeline/discovery/discovery-documents.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import { createForbiddenHiding, type ForbiddenHiding } from '../pipeline/rbac/hide-forbidden.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { AccessSource } from '../portal/ports.ts';
import { createAccessRules } from './access-rules.ts';
import { createAccessVerifier } from './access-verification.ts';
import type { Build } from './build.ts';
import { createFiltering, type Filtering } from './filtering.ts';
import { createWatchLifetimes } from './watch-lifetimes.ts';
import { createWhoCan } from './who-can.ts';

export interface AccessFeaturesOptions {
  readonly access: AccessIndex;
  readonly stages: Stages;
  readonly subjects: AccessSubjects;
  readonly reviewer: AccessReviewer;
  readonly discovered: DiscoveryDocuments;
  readonly responseMemory: ResponseMemory;
  readonly streams: StreamRegistry;
}

export interface AccessFeatures {
  readonly filtering: Filtering;
  /** Of Stonegate's own API. */
  readonly answerers: readonly Answerer[];
  /** Undefined unless it is configured. */
  readonly hiding: ForbiddenHiding | undefined;
  /** For self reviews of rules. */
  readonly rulesTrust: RulesTrust;
  /** For the portal. */
  readonly source: AccessSource;
}

export function createAccessFeatures(build: Build, options: AccessFeaturesOptions): AccessFeatures {
  const { access, stages, reviewer, responseMemory } = options;
  const { mode } = stages;
  const { hideForbidden } = build.loaded.configuration.authorization;
  const verifier = createAccessVerifier(build, access, reviewer);
  const lifetimes = createWatchLifetimes(build);
  const rules = createAccessRules(build, { ...options, verifier, lifetimes });
  return {
    filtering: createFiltering(build, { ...options, mode, verifier, lifetimes }),
    answerers: [createWhoCan(build, access, mode, responseMemory), ...rules.answerers],
    hiding: hideForbidden ? createForbiddenHiding(createHiddenObjects(access, verifier), mode) : undefined,
    rulesTrust: { access, authorizers: build.loaded.configuration.access.authorizers },
    source: rules.source,
  };
}
