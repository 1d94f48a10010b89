/**
 * Lists in chunks: `limit` and `continue`.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import type { JsonObject } from './json.ts';
import { badRequest } from './statuses.ts';

/** @throws ApiError 400 for a token that the server has not issued */
export function pageOf(objects: readonly JsonObject[], query: URLSearchParams) {
  const token = query.get('continue') ?? '0';
  if (!/^\d+$/.test(token)) throw badRequest('continue key is not valid');
  const start = Number(token);
  const limit = Number(query.get('limit') ?? '0');
  const end = limit === 0 ? objects.length : start + limit;
  const remaining = objects.length - end;
  const metadata = remaining > 0 ? { continue: String(end), remainingItemCount: remaining } : {};
  return { objects: objects.slice(start, end) /** Members of the list's metadata. */, metadata };
}
