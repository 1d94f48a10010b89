/**
 * Lists, reads and changes the objects of one resource of Stonegate's own API. The feature's description
 * names the resource and its kind.
 */
import { API_VERSION as apiVersion, askFor, askStonegate, type StonegateAddress } from './stonegate-api.ts';

export interface OwnList<T> {
  readonly apiVersion: typeof apiVersion;
  readonly items: readonly T[];
}

/**
 * Every function throws StonegateAPIError.
 *
 * @param namespace of the objects; undefined for a resource outside of namespaces
 */
export function createOwnObjectClient<T extends object>(
  address: StonegateAddress,
  { name, kind }: { readonly name: string; readonly kind: string },
  namespace?: string,
) {
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const path = `/apis/${apiVersion}${place}/${name}`;
  const pathOf = (id: string) => `${path}/${encodeURIComponent(id)}`;
  const object = (spec: object, metadata?: object) => ({ kind, apiVersion, metadata, spec });
  return {
    list: () => askFor<OwnList<T>>(address, path),
    get: (id: string) => askFor<T>(address, pathOf(id)),
    create: (spec: object, metadata?: object) => askFor<T>(address, path, object(spec, metadata)),
    replace: (id: string, spec: object, metadata: object) =>
      askFor<T>(address, pathOf(id), object(spec, metadata), 'PUT'),
    remove: (id: string, options?: object) => askStonegate(address, pathOf(id), options, 'DELETE'),
  };
}
