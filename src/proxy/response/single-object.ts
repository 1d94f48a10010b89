/**
 * Answers for a kind of which a tenant has at most one object. The object is fetched as Stonegate itself,
 * since users may not read it there, and is reduced to what the tenant may see.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { isJSONObject, type JSONObject, readJSON } from '../../lib/json-object.ts';
import type { Outgoing } from '../request-context.ts';
import { answerOwnObjects, type OwnObject, type OwnObjectKind, type OwnObjectMeta } from './own-objects.ts';

export interface SingleObjectKind<T extends OwnObject> extends OwnObjectKind<T> {
  /** Reads what the API server has; undefined for what is no such object. */
  readonly read: (object: JSONObject, metadata: OwnObjectMeta) => T | undefined;
  /** Fetches the tenant's object as Stonegate itself. */
  readonly fetch: (tenant: TenantName, signal: AbortSignal) => Promise<UpstreamResponse>;
}

/**
 * @param name of the object; empty for the list
 * @param now milliseconds since the epoch, for the age
 * @throws StatusError NotFound, and what `fetchSingleObject` and invalid options throw
 */
export function answerSingleObject<T extends OwnObject>(
  outgoing: Outgoing,
  name: string,
  kind: SingleObjectKind<T>,
  now: number,
): Promise<UpstreamResponse> {
  const { tenant, exchange } = outgoing;
  return answerOwnObjects(outgoing, name, kind, now, async () => {
    if (name !== '' && name !== tenant) return [];
    const object = await fetchSingleObject(kind, tenant, exchange.signal);
    return object === undefined ? [] : [object];
  });
}

/**
 * @returns undefined if the tenant has none
 * @throws StatusError UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential, TenantRateExceeded
 */
export async function fetchSingleObject<T extends OwnObject>(
  kind: SingleObjectKind<T>,
  tenant: TenantName,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { status, body } = await kind.fetch(tenant, signal);
  if (status === 404) return undefined;
  // No user is on the request, so the refusal is about Stonegate's own rights.
  if (status === 403)
    throw new StatusError(
      'UpstreamRefusedCredential',
      `the API server does not let Stonegate read ${kind.name}; its operator applies what \`stonegate manifests rbac --config FILE\` prints`,
    );
  const object = status === 200 ? readObject(kind, readJSON(body), tenant) : undefined;
  if (object !== undefined) return object;
  throw new StatusError('UpstreamUnavailable', `the API server's answer about ${kind.name} is unusable`, {
    cause: `its status was ${status}`,
  });
}

function readObject<T extends OwnObject>(
  kind: SingleObjectKind<T>,
  object: unknown,
  name: string,
): T | undefined {
  if (!isJSONObject(object) || object.kind !== kind.kind || !isJSONObject(object.metadata)) return undefined;
  const { uid, creationTimestamp } = object.metadata;
  if (object.metadata.name !== name || typeof uid !== 'string' || typeof creationTimestamp !== 'string')
    return undefined;
  return kind.read(object, { name, uid, creationTimestamp });
}
