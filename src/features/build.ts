/**
 * What the features of a configuration share.
 */
import type { Authenticator } from '../identity/authenticator.ts';
import type { Clock } from '../lib/clock.ts';
import type { ResponseMemory } from '../limits/response-memory.ts';
import type { AccessReviewer } from '../proxy/access-reviewer.ts';
import type { AccessSubjects } from '../proxy/access-subject.ts';
import type { OwnAPI } from '../proxy/own-api.ts';
import type { OwnBodyOptions } from '../proxy/own-body.ts';
import type { ReasonOf } from '../proxy/rbac-reasons.ts';
import type { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { RequestProvisioning } from './bindings/on-request.ts';
import type { Policies } from './cross-tenant/ports.ts';
import type { Discovery } from './discovery/feature.ts';

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
