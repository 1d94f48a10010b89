/**
 * Responds to ResourceAccessReviews and LocalResourceAccessReviews: who can do something. That the user may
 * create one has been reviewed (`features/own-api/own-api-rights.ts`).
 */
import { StatusError } from '../../errors/status-error.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { actingIdentity } from '../../proxy/as-identity.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import { type OwnBodyOptions, type OwnKind, ownKind, readOwnSpec } from '../../proxy/own-body.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import { viewerOf } from '../../proxy/subject-owner.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { reviewWhoCan, type WhoCanOptions, type WhoCanQuery } from './who-can.ts';
import {
  localWhoCanSpecSchema,
  type WhoCanKind,
  type WhoCanReview,
  type WhoCanSpec,
  whoCanSpecSchema,
} from './who-can-v1alpha1.ts';

export interface WhoCanHandlerOptions extends WhoCanOptions, OwnBodyOptions {
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
}

/** @param kind of reviews that it responds to */
export function createWhoCanHandler(
  kind: WhoCanKind,
  options: WhoCanHandlerOptions,
): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { namespace } = routeAs(outgoing, 'own-api');
    const given = await readOwnSpec(outgoing.exchange, KINDS[kind], options, namespace);
    const spec = namespace === '' ? given : inNamespace(given, namespace, kind);
    const { tenant, user } = outgoing;
    const viewer = viewerOf(actingIdentity(outgoing), user, tenant, options.mode);
    const status = await reviewWhoCan(askedOf(spec), viewer, options);
    const review: WhoCanReview = {
      kind,
      apiVersion: 'stonegate.dev/v1alpha1',
      metadata: { creationTimestamp: null, ...(namespace !== '' && { namespace }) },
      spec,
      status,
    };
    return jsonResponse(201, review);
  };
}

const KINDS: Readonly<Record<WhoCanKind, OwnKind<WhoCanSpec>>> = {
  ResourceAccessReview: ownKind(
    'ResourceAccessReview',
    'a review',
    whoCanSpecSchema
      .refine(({ verb }) => verb !== '', 'its verb is empty')
      .refine(
        ({ resource = '', path }) => (resource === '' ? path?.startsWith('/') : path === undefined),
        'it names either a resource or a path',
      ),
  ),
  LocalResourceAccessReview: ownKind(
    'LocalResourceAccessReview',
    'a review',
    localWhoCanSpecSchema
      .extend({ namespace: whoCanSpecSchema.shape.namespace })
      .refine(({ verb, resource }) => verb !== '' && resource !== '', 'its verb or resource is empty'),
  ),
};

/** @throws StatusError ReviewInvalid */
function inNamespace(spec: WhoCanSpec, namespace: string, kind: WhoCanKind): WhoCanSpec {
  if ((spec.namespace ?? namespace) !== namespace) throw otherNamespace(kind);
  return { ...spec, namespace };
}

/** Refuses as the API server does for a LocalSubjectAccessReview; the client's value is not repeated. */
function otherNamespace(kind: WhoCanKind): StatusError {
  const field = 'spec.namespace';
  const message = 'Invalid value: must match metadata.namespace';
  return new StatusError('ReviewInvalid', `${kind}.stonegate.dev "" is invalid: ${field}: ${message}`, {
    details: { group: 'stonegate.dev', kind, causes: [{ reason: 'FieldValueInvalid', message, field }] },
  });
}

function askedOf({
  verb,
  apiGroup = '',
  resource = '',
  subresource = '',
  name = '',
  ...rest
}: WhoCanSpec): WhoCanQuery {
  const { namespace, path, people = false } = rest;
  return {
    question: path === undefined ? { verb, apiGroup, resource, subresource, name } : { verb, path },
    scope: namespace === undefined || namespace === '' ? 'all' : { namespace },
    people,
  };
}
