/**
 * What the features of a configuration share.
 */
import type { Authenticator } from '../authentication/authenticator.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import type { RequestProvisioning } from '../bindings/on-request.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { Clock } from '../lib/clock.ts';
import type { OwnBodyOptions } from '../pipeline/own-api/own-body.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import type { ReasonOf } from '../pipeline/rbac/rbac-reasons.ts';
import type { Policies } from '../policy/ports.ts';
import type { OwnAPI } from '../tenancy/own-api.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Discovery } from './discovery.ts';

export interface Parts {
  readonly clock: Clock;
  readonly mode: TenancyMode;
  readonly ownAPI: OwnAPI;
  readonly upstream: Upstream;
  readonly reviewer: AccessReviewer;
  readonly authenticators: readonly Authenticator[];
  readonly subjects: AccessSubjects;
  readonly discovery: Discovery;
  readonly reasonOf: ReasonOf | undefined;
  readonly policies: Policies | undefined;
  readonly provisioning: RequestProvisioning | undefined;
  readonly streams: StreamRegistry;
  readonly responseMemory: ResponseMemory;
  /** Limits of the bodies that clients post to Stonegate's own API. */
  readonly ownBodies: OwnBodyOptions;
}
