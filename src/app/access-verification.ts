/**
 * The comparison of the RBAC index with the API server. A reload begins it anew, and so turns the features on
 * again that a disagreement has turned off.
 */
import type { AccessIndex } from '../access/ports.ts';
import { createVerifier, type OwnedVerifier, type Verifier } from '../access/verification.ts';
import { isRBACAlone } from '../api/authorization-mode.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import type { Telemetry } from '../lib/telemetry.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';
import { createTenancyMode } from './tenancy-mode.ts';
import { createOwnUpstream } from './upstream.ts';
import { createVerificationSource } from './verification-source.ts';

const VERIFIER = new ComponentType<OwnedVerifier>('verification of the RBAC index', {
  dispose: (verifier) => verifier.stop(),
});

/** Shows the verifier in force in the metrics. */
const SHOWN_VERIFIER = new ComponentType<ShownVerifier>('metrics of the verification', {
  start: (shown) => shown.start(),
  dispose: (shown) => shown.stop(),
});

/** One for each generation: call it once. */
export function createAccessVerifier(build: Build, access: AccessIndex, reviewer: AccessReviewer): Verifier {
  const { generation, loaded, runtime } = build;
  const fetcher = createOwnUpstream(build);
  const hasTenants = createTenancyMode(loaded.configuration).readsTenantFromPath;
  const verifier = generation.component(VERIFIER, {
    uses: [fetcher],
    create: () =>
      createVerifier({
        ...runtime,
        index: access.index,
        source: createVerificationSource({ reviewer, fetcher, hasTenants }),
        oneIn: loaded.configuration.access.verifyOneIn,
        isRBACAlone: isRBACAlone(loaded.configuration.access.authorizers),
      }),
  });
  generation.component(SHOWN_VERIFIER, {
    uses: [verifier],
    create: () => new ShownVerifier(verifier, runtime.telemetry),
  });
  return verifier;
}

class ShownVerifier {
  readonly #verifier: OwnedVerifier;
  readonly #telemetry: Telemetry;
  #hide: (() => void) | undefined;

  constructor(verifier: OwnedVerifier, telemetry: Telemetry) {
    this.#verifier = verifier;
    this.#telemetry = telemetry;
  }

  start(): void {
    this.#hide = this.#telemetry.suspensionsInForce(() => this.#verifier.suspensions);
  }

  stop(): void {
    this.#hide?.();
  }
}
