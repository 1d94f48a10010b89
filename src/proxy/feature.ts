/**
 * The extension points of the lifecycle: what a feature gives to the stages. A feature gives only what it
 * has, and nothing else of it is visible to the proxy.
 */

import type { Authenticator } from '../identity/authenticator.ts';
import type { RelayResult, UpstreamRequest, UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { ObservedRequest } from '../observability/request-observer.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { AdmissionPlugin } from './admission.ts';
import type { Authorizer } from './authorizer.ts';
import type { BodyRule } from './body-rule.ts';
import type { Limiter } from './limiter.ts';
import type { OwnResource } from './own-api.ts';
import type { PortalPage } from './portal-page.ts';
import type { Outgoing, Received } from './request-context.ts';
import type { StreamedResponse } from './response/response-stream.ts';
import type { RouteKind } from './route-kind.ts';
import type { Policies } from './tenant-entry.ts';

export interface Feature {
  /** Authenticators are called in the order of the features. */
  readonly authenticators?: readonly Authenticator[];
  /** Decides who may enter other tenants. At most one feature gives it; without it no user may. */
  readonly tenantEntry?: Policies | undefined;
  /** Creates what the user's project lacks. At most one feature gives it. */
  readonly provisioner?: Provisioner | undefined;
  /** Every authorizer must allow the request. */
  readonly authorizers?: readonly Authorizer[];
  readonly admission?: readonly AdmissionPlugin[];
  /** At most one feature gives it. */
  readonly limiter?: Limiter | undefined;
  /** There is at most one for each kind. */
  readonly handlers?: RouteHandlers;
  /**
   * Maps paths to documents that anyone may GET without being a user. A document depends on the configuration
   * alone: nothing of the request but method and path counts.
   */
  readonly publicDocuments?: PublicDocuments;
  /** Resources of Stonegate's own API, of those that the feature's value names. */
  readonly ownResources?: readonly ServedResource[];
  /** Pages of the portal, for users who are signed in. */
  readonly pages?: readonly PortalPage[];
  readonly bodyRules?: readonly BodyRule[];
  readonly responseHooks?: readonly ResponseHook[];
  /** At most one feature gives it. */
  readonly tracer?: Tracer | undefined;
  /** What the process waits for at `/readyz`. */
  readonly readiness?: readonly ReadinessCheck[];
}

/** Creates what a user's project lacks before the API server is asked about the user. */
export interface Provisioner {
  /**
   * Never rejects.
   *
   * @param signal aborted when the request ends
   * @returns undefined if there is nothing to wait for
   */
  ensure(identity: Identity, signal: AbortSignal): Promise<void> | undefined;
}

/** Responds to the requests of one route kind instead of the API server. */
export type RouteHandler<R extends Handled = Handled> = (outgoing: Outgoing) => Promise<R>;
export type PublicDocuments = ReadonlyMap<string, UpstreamResponse>;
export type RouteHandlers = { readonly [K in RouteKind]?: RouteHandler };

/** A resource of Stonegate's own API with its handler. */
export interface ServedResource extends OwnResource {
  readonly handle: RouteHandler<OwnResponse>;
}

export type OwnResponse = UpstreamResponse | StreamedResponse;

/** The request is forwarded if it is undefined. */
export type Handled = OwnResponse | ForwardFirst | undefined;

/** The request is forwarded; only a 403 of the API server is replaced. */
export interface ForwardFirst {
  /** @returns undefined for the 403 after all */
  insteadOfForbidden(): Promise<OwnResponse | undefined>;
}

/** @returns undefined, at once, if the response does not matter to the feature: nearly always */
export type ResponseHook<H extends RequestHook = RequestHook> = (outgoing: Outgoing) => H | undefined;

/** What a feature does with the API server's response. No two features have the same member. */
export interface RequestHook extends Pick<UpstreamRequest, 'onForbidden' | 'onCreated'> {
  /** Called once, when the response head is sent to the client. */
  readonly onHead?: (status: number) => void;
  /** @returns the result with what the audit log is to say */
  readonly completed?: (result: RelayResult) => RelayResult;
}

/** Traces each request, around all stages. */
export interface Tracer {
  /**
   * `currentTrace` returns the trace of the request while it is served.
   *
   * @param request the stages add to it what they learn
   * @param serve it is not referred to once it was called: a stream must not keep the stages alive
   */
  trace(request: TracedRequest, serve: () => Promise<void>): Promise<void>;
}

export type TracedRequest = ObservedRequest & Pick<Received, 'exchange'>;

/** What all features of a configuration give together. */
export type CombinedFeatures = Omit<Feature, 'ownResources'> &
  Required<Omit<Feature, 'tenantEntry' | 'provisioner' | 'limiter' | 'tracer' | 'ownResources'>>;

export function combineFeatures(features: readonly Feature[]): CombinedFeatures {
  const handlers: RouteHandlers = {};
  for (const feature of features) Object.assign(handlers, feature.handlers);
  return {
    tenantEntry: features.find(({ tenantEntry }) => tenantEntry)?.tenantEntry,
    provisioner: features.find(({ provisioner }) => provisioner)?.provisioner,
    authenticators: features.flatMap(({ authenticators = [] }) => authenticators),
    authorizers: features.flatMap(({ authorizers = [] }) => authorizers),
    admission: features.flatMap(({ admission = [] }) => admission),
    limiter: features.find(({ limiter }) => limiter)?.limiter,
    tracer: features.find(({ tracer }) => tracer)?.tracer,
    handlers,
    publicDocuments: new Map(features.flatMap(({ publicDocuments = [] }) => [...publicDocuments])),
    pages: features.flatMap(({ pages = [] }) => pages),
    bodyRules: features.flatMap(({ bodyRules = [] }) => bodyRules),
    responseHooks: features.flatMap(({ responseHooks = [] }) => responseHooks),
    readiness: features.flatMap(({ readiness = [] }) => readiness),
  };
}
