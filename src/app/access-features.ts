/**
 * The features on top of the RBAC index: filtered lists, access rules, who-can and hidden objects. A verifier
 * compares the index that they use with the API server.
 */
import { AccessChanges } from '../access/access-changes.ts';
import { heldRoles } from '../access/held-roles.ts';
import { createHiddenObjects } from '../access/hidden-objects.ts';
import type { RulesTrust } from '../access/incomplete-rules.ts';
import { CreatedNamespaces } from '../access/namespaces/created-namespaces.ts';
import { VisibleNamespacesCache } from '../access/namespaces/visible-namespaces-cache.ts';
import type { AccessIndex } from '../access/ports.ts';
import { createRulesDocuments, type RulesDocuments } from '../access/rules/rules-document.ts';
import { createVerifier, type OwnedVerifier, type Verifier } from '../access/verification.ts';
import { accessMatrix } from '../api/access-matrix.ts';
import { SELF_ACCESS_RULES_PATH } from '../api/access-rules-v1alpha1.ts';
import { filteringMode, isRBACAlone } from '../api/authorization-mode.ts';
import { createKeystoneNames } from '../clients/keystone-names.ts';
import { createMergedNamespaces } from '../pipeline/all-namespaces/handle-all-namespaces.ts';
import type { Feature } from '../pipeline/feature.ts';
import { createFilteredNamespaces } from '../pipeline/namespaces/handle-namespaces.ts';
import type { NamespacesMemory } from '../pipeline/namespaces/request.ts';
import { createSelfAccessRulesHandler } from '../pipeline/own-api/handle-access-rules.ts';
import { createRulesReviewHandler } from '../pipeline/own-api/handle-rules-review.ts';
import { createWhoCanHandler } from '../pipeline/own-api/handle-who-can.ts';
import { createReviewedSubjects } from '../pipeline/own-api/reviewed-subject.ts';
import { createForbiddenHook } from '../pipeline/rbac/hide-forbidden.ts';
import { readRequestInfo } from '../pipeline/request/request-info.ts';
import { createFilteredReason, type FilteredReason } from '../pipeline/self-review/filtered-self-review.ts';
import type { AccessSource } from '../portal/ports.ts';
import { ownUserName } from '../upstream/credential.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';
import type { Parts } from './feature-parts.ts';
import { createKeystone } from './keystone.ts';
import { fingerprintOfIndex } from './rbac-index.ts';
import { ownCredential } from './upstream.ts';
import { createVerificationSource } from './verification-source.ts';
import { watchLifetimesOf } from './watch-lifetimes.ts';

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
export function createAccessFeatures(build: Build, parts: Parts, access: AccessIndex): AccessFeatures {
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
  { generation, loaded, runtime }: Build,
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
function namespacesMemory(build: Build, { index }: AccessIndex): NamespacesMemory {
  return build.generation.component(NAMESPACES_MEMORY, {
    fingerprint: fingerprintOfIndex(build),
    create() {
      const changes = new AccessChanges(index, build.runtime.clock);
      return { changes, views: new VisibleNamespacesCache(index, changes), created: new CreatedNamespaces() };
    },
  });
}

function createLists(build: Build, parts: Parts, access: AccessIndex, verifier: Verifier) {
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
function createWhoCanFeature(build: Build, parts: Parts, access: AccessIndex): Feature {
  const { loaded, runtime } = build;
  const { keystone } = loaded.configuration.authentication;
  const directory = keystone && createKeystone(build, keystone).client.directory;
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
