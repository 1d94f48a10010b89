/**
 * The features on top of the RBAC index: filtered lists, access rules, who-can and hidden objects. A verifier
 * compares the index that they use with the API server.
 */

import { ComponentType } from '../config/component.ts';
import { accessMatrix } from '../features/access-rules/access-matrix.ts';
import { SELF_ACCESS_RULES_PATH } from '../features/access-rules/access-rules-v1alpha1.ts';
import { createSelfAccessRulesHandler } from '../features/access-rules/handle-access-rules.ts';
import { createRulesReviewHandler } from '../features/access-rules/handle-rules-review.ts';
import { createReviewedSubjects } from '../features/access-rules/reviewed-subject.ts';
import { createRulesDocuments, type RulesDocuments } from '../features/access-rules/rules-document.ts';
import { createMergedNamespaces } from '../features/all-namespaces/handle-all-namespaces.ts';
import type { FeatureBuild, Parts } from '../features/build.ts';
import { createHiddenObjects } from '../features/hide-forbidden/hidden-objects.ts';
import { createForbiddenHook } from '../features/hide-forbidden/hide-forbidden.ts';
import { CreatedNamespaces } from '../features/namespaces/created-namespaces.ts';
import { createFilteredNamespaces } from '../features/namespaces/handle-namespaces.ts';
import type { NamespacesMemory } from '../features/namespaces/request.ts';
import { VisibleNamespacesCache } from '../features/namespaces/visible-namespaces-cache.ts';
import type { AccessSource } from '../features/portal/context.ts';
import { fingerprintOfIndex } from '../features/rbac-index/feature.ts';
import { createVerifier, type OwnedVerifier } from '../features/rbac-index/verification.ts';
import { createVerificationSource } from '../features/rbac-index/verification-source.ts';
import { watchLifetimesOf } from '../features/watch-lifetimes.ts';
import { createWhoCanHandler } from '../features/who-can/handle-who-can.ts';
import { createKeystoneNames } from '../features/who-can/keystone-names.ts';
import { filteringMode, isRBACAlone } from '../kubernetes/authorization-mode.ts';
import type { Feature } from '../proxy/feature.ts';
import { createFilteredReason, type FilteredReason } from '../proxy/filtered-reason.ts';
import { readRequestInfo } from '../proxy/request/request-info.ts';
import { AccessChanges } from '../rbac/access-changes.ts';
import type { AccessIndex, Verifier } from '../rbac/access-index.ts';
import { heldRoles } from '../rbac/held-roles.ts';
import type { RulesTrust } from '../rbac/incomplete-rules.ts';
import { ownUserName } from '../upstream/credential.ts';
import { ownCredential } from './upstream.ts';

export interface AccessFeatures {
  readonly features: readonly Feature[];
  /** Whether a response would be filtered, and how. */
  readonly filteredReason: FilteredReason;
  /** What the handler of self reviews of rules needs. */
  readonly rulesTrust: RulesTrust;
  /** What the portal shows of a user's access. */
  readonly source: AccessSource;
}

/** One for each generation: call it once. */
export function createAccessFeatures(build: FeatureBuild, parts: Parts, access: AccessIndex): AccessFeatures {
  const { authorization, access: configuration } = build.loaded.configuration;
  const { mode, subjects } = parts;
  const { authorizers, namedSets } = configuration;
  const verifier = createAccessVerifier(build, parts, access);
  const lists =
    filteringMode(configuration) === 'off' ? undefined : createLists(build, parts, access, verifier);
  const { clock } = build.runtime;
  const documents = createRulesDocuments({ access, namedSets, authorizers, clock });
  const hidden = authorization.hideForbidden ? createHiddenObjects(access, verifier) : undefined;
  return {
    features: [
      ...(lists ? [lists.feature] : []),
      createRulesFeature(parts, documents),
      createWhoCanFeature(build, parts, access),
      ...(hidden ? [{ responseHooks: [createForbiddenHook(hidden, mode)] }] : []),
    ],
    filteredReason: createFilteredReason({ mode, ...lists }),
    rulesTrust: { access, authorizers },
    source: createAccessSource(documents, subjects, mode),
  };
}

const VERIFIER = new ComponentType<OwnedVerifier>('verification of the RBAC index', {
  dispose: (verifier) => verifier.stop(),
});

/** A reload begins the comparison anew. */
function createAccessVerifier(
  { generation, loaded, runtime }: FeatureBuild,
  { mode, reviewer }: Parts,
  { index }: AccessIndex,
): Verifier {
  const { verifyOneIn, authorizers } = loaded.configuration.access;
  const source = createVerificationSource({ reviewer, hasTenants: mode.readsTenantFromPath });
  const options = { index, source, oneIn: verifyOneIn, isRBACAlone: isRBACAlone(authorizers) };
  return generation.component(VERIFIER, { create: () => createVerifier({ ...runtime, ...options }) });
}

const NAMESPACES_MEMORY = new ComponentType<NamespacesMemory>('visible namespaces');

/** It lives as long as the index. */
function namespacesMemory(build: FeatureBuild, { index }: AccessIndex): NamespacesMemory {
  return build.generation.component(NAMESPACES_MEMORY, {
    fingerprint: fingerprintOfIndex(build),
    create() {
      const changes = new AccessChanges(index, build.runtime.clock);
      return { changes, views: new VisibleNamespacesCache(index, changes), created: new CreatedNamespaces() };
    },
  });
}

function createLists(build: FeatureBuild, parts: Parts, access: AccessIndex, verifier: Verifier) {
  const { access: configuration } = build.loaded.configuration;
  const { upstream, discovery, responseMemory } = parts;
  const memory = namespacesMemory(build, access);
  const options = {
    ...build.runtime,
    ...parts,
    access,
    verifier,
    lifetimes: watchLifetimesOf(build.generation, build.runtime),
    othersMayAllow: filteringMode(configuration) === 'othersMayAllow',
  };
  const namespaces = createFilteredNamespaces({ ...options, memory });
  const allNamespaces = createMergedNamespaces({
    ...options,
    fetcher: upstream,
    streamer: upstream,
    discovered: discovery.documents,
    maxNamespaces: configuration.maxNamespaces,
    changes: memory.changes,
    memory: responseMemory,
  });
  const feature: Feature = {
    handlers: { namespaces: namespaces.handle, 'all-namespaces': allNamespaces.handle },
    responseHooks: [namespaces.hook],
  };
  return { feature, namespaces, wouldMerge: allNamespaces.wouldMerge };
}

function createRulesFeature(parts: Parts, documents: RulesDocuments): Feature {
  const findSubject = createReviewedSubjects(parts);
  return {
    handlers: {
      selfaccessrules: createSelfAccessRulesHandler({ ...parts, documents }),
      accessrulesreviews: createRulesReviewHandler({ ...parts, ...parts.ownBodies, documents, findSubject }),
    },
  };
}

/** Names come from Keystone if there is a service credential. */
function createWhoCanFeature(build: FeatureBuild, parts: Parts, access: AccessIndex): Feature {
  const { loaded, runtime, keystone } = build;
  const directory = keystone?.client.directory;
  const options = {
    ...parts,
    ...parts.ownBodies,
    access,
    ownUserName: ownUserName(ownCredential(loaded)),
    ...(directory && { keystone: createKeystoneNames({ directory, clock: runtime.clock }) }),
  };
  return {
    handlers: {
      resourceaccessreviews: createWhoCanHandler('ResourceAccessReview', options),
      localresourceaccessreviews: createWhoCanHandler('LocalResourceAccessReview', options),
    },
  };
}

/** The page of a browser that has left is evaluated too. */
const NEVER = new AbortController().signal;

/** Bounds of what the portal's page shows. */
const PAGE = { groups: 20, rows: 100, names: 5, characters: 80 };

/** Computes rules as if the user had requested them. */
function createAccessSource(
  documents: RulesDocuments,
  subjects: Parts['subjects'],
  mode: Parts['mode'],
): AccessSource {
  return {
    async accessOf(identity) {
      const tenant = mode.tenantOf(identity);
      const user = mode.userOf(identity, tenant);
      const info = readRequestInfo('GET', SELF_ACCESS_RULES_PATH, mode);
      const subject = await subjects.subjectOf({ proven: identity, info, tenant, user });
      const { expiresAt } = identity;
      const asked = { subject, selection: { verb: '*' }, expiresAt, signal: NEVER };
      const { status } = await documents.documentOf(asked);
      return {
        matrix: accessMatrix(status, PAGE),
        ...heldRoles(documents.access.index, subject),
        incompleteReason: status.incompleteReason,
      };
    },
  };
}
