/**
 * The comparison of the RBAC index with the API server. A reload begins it anew.
 */
import type { AccessIndex } from '../access/ports.ts';
import { createVerifier, type OwnedVerifier, type Verifier } from '../access/verification.ts';
import { isRBACAlone } from '../api/authorization-mode.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';
import { createTenancyMode } from './tenancy-mode.ts';
import { createVerificationSource } from './verification-source.ts';

const VERIFIER = new ComponentType<OwnedVerifier>('verification of the RBAC index', {
  dispose: (verifier) => verifier.stop(),
});

/** One for each generation: call it once. */
export function createAccessVerifier(build: Build, access: AccessIndex, reviewer: AccessReviewer): Verifier {
  const { generation, loaded, runtime } = build;
  const hasTenants = createTenancyMode(loaded.configuration).readsTenantFromPath;
  return generation.component(VERIFIER, {
    create: () =>
      createVerifier({
        ...runtime,
        index: access.index,
        source: createVerificationSource({ reviewer, hasTenants }),
        oneIn: loaded.configuration.access.verifyOneIn,
        isRBACAlone: isRBACAlone(loaded.configuration.access.authorizers),
      }),
  });
}
