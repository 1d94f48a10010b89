/**
 * Responds to ResourceAccessReviews and LocalResourceAccessReviews: who can do something. That the user may
 * create one has been reviewed (`authorization/own-api-rights.ts`).
 */
import type { Viewer } from '../../access/subject-owner.ts';
import { type AskedReview, reviewWhoCan, type WhoCanOptions } from '../../access/who-can.ts';
import { malformed } from '../../admission/body-fields.ts';
import type { WhoCanKind, WhoCanReview, WhoCanSpec } from '../../api/who-can-v1alpha1.ts';
import { StatusError } from '../../errors/status-error.ts';
import type { ResponseMemory } from '../../flowcontrol/response-memory.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { NO_TENANT } from '../../tenancy/tenant-name.ts';
import { escapeNamePart } from '../../tenancy/user-name.ts';
import type { RouteHandler } from '../feature.ts';
import type { UpstreamResponse } from '../ports.ts';
import type { Outgoing } from '../request-context.ts';
import { routeAs } from '../route-kind.ts';
import { createdResponse, type OwnBodyOptions, optionalString, readOwnSpec } from './own-api-body.ts';

export interface WhoCanHandlerOptions extends WhoCanOptions, OwnBodyOptions {
  readonly mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>;
  readonly responseMemory: Pick<ResponseMemory, 'charged'>;
}

/** @param kind of reviews that it responds to */
export function createWhoCanHandler(
  kind: WhoCanKind,
  options: WhoCanHandlerOptions,
): RouteHandler<UpstreamResponse> {
  return async (outgoing) => {
    const { namespace } = routeAs(outgoing, 'own-api');
    const own = { kind, what: 'a review', fields: FIELDS, namespace };
    const spec = readSpec(await readOwnSpec(outgoing, own, options), kind, namespace);
    const status = await reviewWhoCan(askedOf(spec), viewerOf(outgoing, options.mode), options);
    const review: WhoCanReview = {
      kind,
      apiVersion: 'stonegate.dev/v1alpha1',
      metadata: { creationTimestamp: null, ...(namespace !== '' && { namespace }) },
      spec,
      status,
    };
    return options.responseMemory.charged(outgoing.tenant, createdResponse(review));
  };
}

const TEXTS = ['verb', 'apiGroup', 'resource', 'subresource', 'name', 'namespace', 'path'] as const;
const FIELDS = [...TEXTS, 'people'];
/** Of Kubernetes' names; a path may be longer. */
const LONGEST = 1_024;

/** @throws StatusError BodyMalformed, ReviewInvalid */
function readSpec(fields: JSONObject, kind: WhoCanKind, namespace: string): WhoCanSpec {
  const texts = Object.fromEntries(
    TEXTS.flatMap((name) => {
      const text = optionalString(fields, name);
      if (text === undefined) return [];
      if (text.length > LONGEST) throw malformed(`spec.${name} is too long`);
      return [[name, text]];
    }),
  );
  const { people = false } = fields;
  if (typeof people !== 'boolean') throw malformed('spec.people is no boolean');
  const { verb = '', resource = '', path } = texts;
  if (verb === '') throw malformed('spec.verb is missing');
  if ((resource === '') === (path === undefined)) throw malformed('spec names either a resource or a path');
  if (path !== undefined && !path.startsWith('/')) throw malformed('spec.path is no path');
  const local = kind === 'LocalResourceAccessReview';
  if (local && path !== undefined)
    throw malformed('a LocalResourceAccessReview is about resources in its own namespace');
  if (local && (texts.namespace ?? namespace) !== namespace) throw otherNamespace(kind);
  return { ...texts, verb, ...(local && { namespace }), ...(people && { people }) };
}

/** As the API server refuses a LocalSubjectAccessReview; the value is the client's and is not repeated. */
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
}: WhoCanSpec): AskedReview {
  const { namespace, path, people = false } = rest;
  return {
    question: path === undefined ? { verb, apiGroup, resource, subresource, name } : { verb, path },
    scope: namespace === undefined || namespace === '' ? 'all' : { namespace },
    people,
  };
}

/** What of the user who asks decides what they are told. */
function viewerOf(
  { user, tenant, proven, impersonator }: Pick<Outgoing, 'user' | 'tenant' | 'proven' | 'impersonator'>,
  mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>,
): Viewer {
  const home = mode.reviewTenant(tenant) ?? '';
  const { subject, tenantOrigin } = proven;
  const ofKeystone = impersonator === undefined && subject.kind === 'keystone';
  return {
    user: { tenant: home, username: user.username, groups: user.groups },
    tenant: tenant === NO_TENANT ? '' : tenant,
    isSystem: home !== '' && mode.isSystem(tenant),
    domainID: tenantOrigin.from === 'domain' ? tenantOrigin.domain.id : undefined,
    namePrefix: ofKeystone ? `${escapeNamePart(subject.scopeDomain.name)}:` : undefined,
  };
}
