/**
 * How an Arktos API server parses the path of a request, written independently of the code under test and in
 * another way: decode first, trim, split, then walk. Both must agree on every path.
 */

export interface Reading {
  /** Empty if the path names none; the server then uses the tenant of the impersonator. */
  readonly tenant: string;
  readonly namespace: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
}

/** @returns undefined for a path that Go cannot decode or that names no resource */
export function readAsArktos(path: string): Reading | undefined {
  const decoded = unescapeLikeGo(path);
  if (decoded === undefined) return undefined;
  const queue = decoded.replace(/^\/+|\/+$/g, '').split('/');
  const prefix = queue.shift();
  if (prefix !== 'api' && prefix !== 'apis') return undefined;
  const group = prefix === 'apis' ? (queue.shift() ?? '') : '';
  queue.shift();
  if (queue.length === 0) return undefined;
  const special = queue[0] === 'watch' || queue[0] === 'proxy' ? queue.shift() : undefined;
  const tenant = takeScope(queue, 'tenants');
  const own = queue[0] === 'namespaces' ? (queue[1] ?? '') : '';
  takeScope(queue, 'namespaces');
  const [resource = '', name = '', third = ''] = queue;
  return { tenant, namespace: own, group, resource, name, subresource: special === 'proxy' ? '' : third };
}

function takeScope(queue: string[], scope: string) {
  const [first, name = '', next] = queue;
  if (first !== scope || next === undefined || next === 'status' || next === 'finalize') return '';
  queue.splice(0, 2);
  return name;
}

function unescapeLikeGo(path: string): string | undefined {
  let bytes = '';
  for (let at = 0; at < path.length; at += 1) {
    if (path[at] !== '%') {
      bytes += path[at];
      continue;
    }
    const hex = path.slice(at + 1, at + 3);
    if (!/^[0-9a-fA-F]{2}$/.test(hex)) return undefined;
    bytes += String.fromCharCode(Number.parseInt(hex, 16));
    at += 2;
  }
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
