/**
 * What the features are built from: the configuration, the connections that `app/` makes, and the parts of
 * the proxy that features use.
 */

import type { DocumentCache } from '../cache/document-cache.ts';
import type { Drops } from '../cache/drops.ts';
import type { SharedCache } from '../cache/shared-cache.ts';
import type { SharedStore } from '../cache/shared-store.ts';
import type { Handle } from '../config/component.ts';
import type { Parts, Scope } from '../config/scope.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { KeystoneClient } from '../identity/keystone/keystone.ts';
import type { Owners } from '../identity/owners.ts';
import type { AccessReviewer } from '../kubernetes/access-reviewer.ts';
import type { UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import type { Clock } from '../lib/clock.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { StartupProbe } from '../lib/startup-probe.ts';
import type { ResponseMemory } from '../limits/response-memory.ts';
import type { AccessSubjects } from '../proxy/access-subject.ts';
import type { IdentityRequests } from '../proxy/as-identity.ts';
import type { DiscoveredResources } from '../proxy/discovered-resources.ts';
import type { OwnBodyOptions } from '../proxy/own-body.ts';
import type { ReasonOf } from '../proxy/rbac-reasons.ts';
import type { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import type { Policies } from '../proxy/tenant-entry.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** The cache of what backends said; replicas share it if Redis is configured. */
export interface Shared {
  readonly cache: SharedCache;
  /** Tells open streams which cached entries were dropped. */
  readonly drops: Drops;
  /** Undefined if no Redis is configured. */
  readonly store?: SharedStore | undefined;
}

export interface Keystone {
  readonly client: KeystoneClient;
  readonly contact: StartupProbe;
}

export interface Backends {
  /** The API server with Stonegate's own credential. */
  readonly upstream: Handle<Upstream>;
  /** The API server with the provisioning credential; undefined if none is configured. */
  readonly provisioningUpstream: Handle<Upstream> | undefined;
  readonly shared: Handle<Shared>;
  /** Undefined if no Keystone is configured. */
  readonly keystone: Handle<Keystone> | undefined;
}

/** A feature builds its components from this. */
export interface FeatureBuild<P extends Parts = Parts> extends Backends {
  /** What it reads of the configuration. */
  readonly parts: P;
  readonly scope: Scope;
  readonly runtime: Runtime;
  /** Whether a command only explains a request: nothing is written. */
  readonly explains?: boolean;
}

export interface Discovery {
  readonly resources: DiscoveredResources;
  /** The documents of all tenants. */
  readonly cache: DocumentCache<UpstreamResponse>;
}

/** The parts of the proxy that features use. */
export interface ProxyParts {
  readonly clock: Clock;
  readonly authenticators: readonly Authenticator[];
  readonly mode: TenancyMode;
  readonly reviewer: AccessReviewer;
  readonly subjects: AccessSubjects;
  /** Who owns what acts in a user's name. */
  readonly owners: Owners;
  readonly asIdentity: IdentityRequests;
  readonly discovery: Discovery;
  readonly reasonOf: ReasonOf | undefined;
  readonly policies: Policies | undefined;
  readonly streams: StreamRegistry;
  readonly responseMemory: ResponseMemory;
  /** Limits of the bodies that clients post to Stonegate's own API. */
  readonly ownBodies: OwnBodyOptions;
}

/** A feature that takes part in the lifecycle of requests is built from this. */
export interface ProxyBuild<P extends Parts = Parts> extends FeatureBuild<P>, ProxyParts {}
