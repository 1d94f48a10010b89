/** Lists of single namespaces as an API server returns them, with `limit` and `continue`. */
import type { PartRequest } from '../../src/features/all-namespaces/collect-page.ts';

/** Namespace → the names of its objects. */
export type Contents = ReadonlyMap<string, readonly string[]>;

/** The body of a list of one namespace. */
export function listBody(contents: Contents, part: PartRequest, revision: string) {
  const names = contents.get(part.namespace) ?? [];
  const from = Number(part.more ?? '0');
  const to = part.limit === undefined ? names.length : Math.min(names.length, from + part.limit);
  const items = names.slice(from, to).map((name) => ({ metadata: { name, namespace: part.namespace } }));
  const left = names.length - to;
  const more = left > 0 ? { continue: String(to), remainingItemCount: left } : {};
  const metadata = { resourceVersion: revision, ...more };
  return Buffer.from(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata, items }));
}

/** `namespace/name` of each object of a merged list. */
export function objectNames(list: unknown) {
  const { items }: { items: { metadata: { name: string; namespace: string } }[] } = JSON.parse(String(list));
  return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}
