/**
 * Answers `kubectl get tenants` of a user of a tenant with the tenant's own Tenant object, reduced. Arktos
 * shows tenants to users of the system tenant alone, so it is fetched as Stonegate itself, by a path in which
 * nothing is the client's. See docs/access.md.
 */

import type { DocumentCache } from '../../cache/document-cache.ts';
import { StatusError } from '../../errors/status-error.ts';
import { invalidContinue } from '../../kubernetes/lists/continue-token.ts';
import { fieldsMatch, parseFieldSelector } from '../../kubernetes/lists/field-selector.ts';
import { labelsMatch, parseLabelSelector } from '../../kubernetes/lists/label-selector.ts';
import { readListOptions } from '../../kubernetes/lists/list-options.ts';
import { isPretty, type ResponseForm, responseForm } from '../../kubernetes/lists/response-form.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { ownGet } from '../../kubernetes/upstream-request.ts';
import type { Clock } from '../../lib/clock.ts';
import { readJSON } from '../../lib/json-object.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import type { Outgoing } from '../../proxy/request-context.ts';
import { asFiltered, JSON_HEADERS } from '../../proxy/response/own-responses.ts';
import { routeAs } from '../../proxy/route-kind.ts';
import type { Route } from '../../tenancy/tenancy-mode.ts';
import { readTenant, type TenantSummary, tenantDocument, tenantListDocument } from './tenant-object.ts';

export interface OwnTenantOptions {
  readonly fetcher: UpstreamFetcher;
  /** Must keep responses with status 200 only. */
  readonly cache: DocumentCache<UpstreamResponse>;
  readonly clock: Clock;
}

type OwnTenantRoute = Extract<Route, { kind: 'own-tenant' }>;

export function createOwnTenantHandler(options: OwnTenantOptions): RouteHandler<UpstreamResponse> {
  return (outgoing) => handle(outgoing, routeAs(outgoing, 'own-tenant'), options);
}

/** The request is validated before the API server is asked. */
async function handle(
  outgoing: Outgoing,
  route: OwnTenantRoute,
  options: OwnTenantOptions,
): Promise<UpstreamResponse> {
  const { exchange, info } = outgoing;
  const verb = route.form === 'list' ? 'list' : 'get';
  const form = responseForm(exchange.headers, info.rawQuery, { verb, kind: 'Tenant' });
  const document =
    route.form === 'list'
      ? await listOf(outgoing, route, form, options)
      : await objectOf(outgoing, route, form, options);
  const indent = isPretty(exchange.headers, info.rawQuery) ? 2 : 0;
  return asFiltered({
    status: 200,
    headers: JSON_HEADERS,
    body: Buffer.from(`${JSON.stringify(document, null, indent)}\n`),
  });
}

/** Selectors see what the user sees: an object without labels. */
async function listOf(
  outgoing: Outgoing,
  route: OwnTenantRoute,
  form: ResponseForm,
  options: OwnTenantOptions,
): Promise<object> {
  const listOptions = readListOptions(outgoing.info.rawQuery, 'list');
  const labels = parseLabelSelector(listOptions.labelSelector);
  const fields = parseFieldSelector(listOptions.fieldSelector);
  if (listOptions.continue !== '') throw invalidContinue();
  const tenant = await ownTenant(outgoing, route, options);
  const isSelected = ({ name, phase }: TenantSummary) =>
    labelsMatch(labels, {}) && fieldsMatch(fields, { 'metadata.name': name, 'status.phase': phase });
  const tenants = tenant !== undefined && isSelected(tenant) ? [tenant] : [];
  return tenantListDocument(tenants, form, options.clock.now());
}

async function objectOf(
  outgoing: Outgoing,
  route: OwnTenantRoute,
  form: ResponseForm,
  options: OwnTenantOptions,
): Promise<object> {
  const tenant = await ownTenant(outgoing, route, options);
  if (tenant !== undefined) return tenantDocument(tenant, form, options.clock.now());
  const name = outgoing.tenant;
  throw new StatusError('NotFound', `tenants ${JSON.stringify(name)} not found`, {
    details: { name, kind: 'tenants' },
  });
}

/**
 * @returns undefined if there is no such tenant
 * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded
 */
async function ownTenant(
  { tenant, exchange }: Outgoing,
  { path: target }: OwnTenantRoute,
  { fetcher, cache }: OwnTenantOptions,
): Promise<TenantSummary | undefined> {
  const key = { owner: tenant, key: target, reusable: true };
  const { status, body } = await cache.get(key, exchange.signal, (signal) =>
    fetcher.fetch({ ...ownGet(target), account: { kind: 'tenant', tenant } }, signal),
  );
  if (status === 404) return undefined;
  // No user is on the request, so the refusal is about Stonegate's own rights.
  if (status === 403)
    throw new StatusError(
      'UpstreamRefusedCredential',
      'the API server does not let Stonegate read tenants; its operator applies what `stonegate manifests rbac --config FILE` prints',
    );
  const read = status === 200 ? readTenant(readJSON(body), tenant) : undefined;
  if (read !== undefined) return read;
  throw new StatusError('UpstreamUnavailable', "the API server's answer about the tenant is unusable", {
    cause: `its status was ${status}`,
  });
}
