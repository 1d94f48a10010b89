/**
 * Tells whether a namespace that the user names does not exist: a question about it is answered nevertheless,
 * which would hide a mistyped name.
 */
import { askStonegate, type StonegateAddress, StonegateAPIError } from './stonegate-api.ts';

/**
 * Asks for the namespace as the user. Only a 404 counts: a user who may not `get` the namespace is not told
 * whether it exists.
 *
 * @param namespace undefined if the user names none
 * @returns a sentence for the user; undefined if the namespace exists or that is not known
 */
export async function missingNamespace(
  namespace: string | undefined,
  address: StonegateAddress,
): Promise<string | undefined> {
  if (namespace === undefined) return undefined;
  try {
    await askStonegate(address, `/api/v1/namespaces/${encodeURIComponent(namespace)}`);
    return undefined;
  } catch (error) {
    if (!(error instanceof StonegateAPIError)) throw error;
    return error.status === 404 ? `there is no namespace ${JSON.stringify(namespace)}` : undefined;
  }
}
