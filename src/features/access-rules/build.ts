/**
 * Access rules: everything that a user may do, for services that show data of the cluster, and for the page
 * of the portal.
 */

import type { Feature } from '../../proxy/feature.ts';
import type { AccessIndex } from '../../rbac/access-index.ts';
import { subjectIn } from '../../rbac/attributes.ts';
import { namespacesAllowed, visibleNamespaces } from '../../rbac/enumerate.ts';
import { heldRoles } from '../../rbac/held-roles.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { ProxyBuild } from '../build.ts';
import { accessMatrix } from './access-matrix.ts';
import { accessPage } from './access-page.ts';
import { ACCESS_RULES_REVIEWS, SELF_ACCESS_RULES } from './access-rules-v1alpha1.ts';
import type { AccessRulesParts } from './feature.ts';
import { createRulesReviewHandler, createSelfAccessRulesHandler } from './handle-access-rules.ts';
import { createRulesDocuments } from './rules-document.ts';

/** Never aborted: the page is evaluated even if the browser disconnects. */
const NEVER = new AbortController().signal;

/** Bounds of what the portal's page shows. */
const PAGE = { groups: 20, rows: 200, names: 5, characters: 80 };

export interface AccessRules extends Feature {
  /** @returns the names of the namespaces that the user sees; undefined if they are not known now */
  namespacesOf(identity: Identity): Promise<readonly string[] | undefined>;
}

export function createAccessRules(
  { parts: { rules }, runtime, ...build }: ProxyBuild<AccessRulesParts>,
  access: AccessIndex,
): AccessRules {
  const documents = createRulesDocuments({ ...runtime, access, ...rules });
  return {
    ownResources: [
      { ...SELF_ACCESS_RULES, handle: createSelfAccessRulesHandler({ ...build, documents }) },
      {
        ...ACCESS_RULES_REVIEWS,
        handle: createRulesReviewHandler({ ...build, ...build.ownBodies, documents }),
      },
    ],
    // Computed as if the user had requested it.
    pages: [
      accessPage(async (identity, filter) => {
        const subject = await build.asIdentity.subjectOf(identity);
        const { expiresAt } = identity;
        const selection = { verb: '*' };
        const { status } = await documents.documentOf({ subject, selection, expiresAt, signal: NEVER });
        return {
          matrix: accessMatrix(status, PAGE, filter),
          ...heldRoles(access.index, subject),
          incompleteReason: status.incompleteReason,
        };
      }),
    ],
    async namespacesOf(identity: Identity): Promise<readonly string[] | undefined> {
      const subject = await build.asIdentity.subjectOf(identity);
      const { tenant } = subjectIn(subject, '');
      if (access.state(tenant) !== 'current') return undefined;
      return namespacesAllowed(access.index, subject, visibleNamespaces(tenant), 'visible');
    },
  };
}
