/**
 * Says why a request gets a filtered response although the API server would refuse it. Self reviews and
 * explanations show it.
 */
import type { StatusError } from '../errors/status-error.ts';
import type { ResourceAttributes } from '../kubernetes/authorization-v1.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { reviewedQuestion } from './rbac-reasons.ts';
import type { Outgoing } from './request-context.ts';

/**
 * Whether a request for a kind in all namespaces would be answered with those of some namespaces; the error
 * if it would be refused, since there are too many.
 */
export type WouldMerge = (
  outgoing: Outgoing,
  attributes: ResourceAttributes,
) => Promise<boolean | StatusError>;

export interface FilteredReasonOptions {
  readonly mode: Pick<TenancyMode, 'readableResources' | 'isSystem' | 'reviewTenant'>;
  /** Undefined, as is `wouldMerge`, if no lists are filtered. */
  readonly namespaces: { wouldFilter(outgoing: Outgoing): Promise<boolean> } | undefined;
  readonly wouldMerge: WouldMerge | undefined;
}

/**
 * @returns why a request is allowed although the API server would refuse it; the error if Stonegate refuses
 *   it; undefined if the API server decides
 */
export type FilteredReason = (
  outgoing: Outgoing,
  attributes: ResourceAttributes,
) => Promise<string | StatusError | undefined>;

/** Judges requests for a kind, not for an object or a subresource. */
export function createFilteredReason(options: FilteredReasonOptions): FilteredReason {
  const { namespaces, wouldMerge } = options;
  return async (outgoing, attributes) => {
    const { verb, group = '', resource = '', subresource = '', name = '' } = attributes;
    const isOwn = isOwnTenant(outgoing, attributes, options);
    const scope = outgoing.identity.accessToken;
    const asked = reviewedQuestion(attributes, options.mode.reviewTenant(outgoing.tenant) ?? '');
    // Stonegate narrows only the namespaces of a response to the scope of an access token.
    if (scope?.allows(asked) === false && (isOwn || !scope.allowsSomewhere(asked))) return undefined;
    if (isOwn) return `the ${verb} is filtered: it has the user's own tenant`;
    if ((verb !== 'list' && verb !== 'watch') || subresource !== '' || name !== '') return undefined;
    if (group === '' && resource === 'namespaces')
      return (await namespaces?.wouldFilter(outgoing))
        ? `the ${verb} is filtered: it has the namespaces that the user may get`
        : undefined;
    if ((attributes.namespace ?? '') !== '') return undefined;
    const merged = (await wouldMerge?.(outgoing, attributes)) ?? false;
    if (typeof merged !== 'boolean') return merged;
    return merged
      ? `the ${verb} is filtered: it has the namespaces in which the user may ${verb} ${resource}`
      : undefined;
  };
}

/** Whether users of a tenant are shown this of their own Tenant object: the list, or the object by name. */
function isOwnTenant(
  { tenant }: Outgoing,
  { verb = '', group = '', resource = '', subresource = '', name = '' }: ResourceAttributes,
  { mode }: Pick<FilteredReasonOptions, 'mode'>,
): boolean {
  if (group !== '' || resource !== 'tenants' || subresource !== '' || mode.isSystem(tenant)) return false;
  if (mode.readableResources.get('/tenants')?.includes(verb) !== true) return false;
  return verb === 'list' ? name === '' : name === tenant;
}
