/**
 * The parser of request lines agrees with the table of a real server and with a second parser of the same
 * paths. It refuses a request line only with a Status.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import type { RequestInfo } from '../../src/kubernetes/request-info.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import { readAsArktos } from '../support/arktos-reading.ts';
import { requestTarget } from '../support/request-lines.ts';

const parse = (method: string, target: string) =>
  readRequestInfo(method, target, { hasTenantsInPaths: true });

const rewritten = readFileSync(new URL('../conformance/arktos/paths.tsv', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => line.split('\t'))
  .filter(([, , action]) => action === 'R')
  .map(([method = '', short = '', , full = '']) => ({ method, short, full }));

const tenantName = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);

/** What a request asks for, independent of where its tenant is written. */
function meaning(info: RequestInfo) {
  const { rawPath, rawQuery, ...rest } = info;
  return rest.isResourceRequest ? { ...rest, tenant: '', tenantOffset: 0 } : rest;
}

t.test(
  'a full path has the same meaning as its short path, for every row of the table and any tenant',
  async (t) => {
    t.ok(rewritten.length > 30, 'the table has enough rows');
    fc.assert(
      fc.property(fc.constantFrom(...rewritten), tenantName, ({ method, short, full }, tenant) => {
        const info = parse(method, short);
        const other = parse(method, full.replace('tenants/tenant1/', `tenants/${tenant}/`));
        const named = other.isResourceRequest && other.tenant === tenant;
        return named && isDeepStrictEqual(meaning(other), meaning(info));
      }),
      { numRuns: 300 },
    );
  },
);

t.test('the offset of the tenant agrees with the real server, for every row of the table', async (t) => {
  for (const { method, short, full } of rewritten) {
    const info = parse(method, short);
    const offset = info.isResourceRequest ? info.tenantOffset : -1;
    t.equal(`${short.slice(0, offset)}tenants/tenant1/${short.slice(offset)}`, full);
  }
});

t.test('every path that is not refused is parsed as Arktos parses it', async (t) => {
  let read = 0;
  fc.assert(
    fc.property(requestTarget, (target) => {
      const info = unlessRefused(() => parse('GET', target));
      if (info === undefined) return true;
      const reading = readAsArktos(info.rawPath);
      if (!info.isResourceRequest) return reading === undefined;
      read += 1;
      if (reading === undefined) return false;
      const { tenant, namespace, resource, subresource } = info;
      const named = info.verb === 'list' || info.verb === 'watch' || info.name === reading.name;
      return (
        named &&
        tenant === reading.tenant &&
        namespace === reading.namespace &&
        info.apiGroup === reading.group &&
        resource === reading.resource &&
        subresource === reading.subresource
      );
    }),
    { numRuns: 5_000 },
  );
  t.ok(read > 200, 'enough paths named a resource');
});

/** Separators, escapes and names in a query, and text that could be mistaken for them. */
const queryPiece = fc.oneof(
  fc.constantFrom('watch', 'watch=', '=', '&', '1', '0', 'true', 'FALSE', '+', '%', '%26', '%3D', '%77', ';'),
  fc.constantFrom(
    'fieldSelector=',
    'metadata.name',
    '%ff',
    '%C5%BF',
    'fal',
    'se',
    '%00',
    '%30',
    'limit=',
    ',',
  ),
  fc.string({ unit: 'grapheme-ascii', maxLength: 3 }).map((text) => text.replace(/[^!-~]|#/g, '')),
);
const query = fc
  .tuple(fc.constantFrom('', 'watch=', 'w%61tch=', 'a=b&watch'), fc.array(queryPiece, { maxLength: 8 }))
  .map(([beginning, pieces]) => beginning + pieces.join(''));

t.test('a list and a watch are distinguished as in Go, or the query is refused', async (t) => {
  let watches = 0;
  fc.assert(
    fc.property(query, (text) => {
      const info = unlessRefused(() => parse('GET', `/api/v1/secrets?${text}`));
      if (info === undefined) return true;
      if (info.verb === 'watch') watches += 1;
      return info.verb === verbAsInGo(text);
    }),
    { numRuns: 10_000 },
  );
  t.ok(watches > 300, 'enough requests were watches');
});

/** Go's `url.ParseQuery` and the conversion to a boolean, on bytes. */
function verbAsInGo(text: string): string {
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const name = unescapeAsGo(equals === -1 ? pair : pair.slice(0, equals));
    const value = unescapeAsGo(equals === -1 ? '' : pair.slice(equals + 1));
    if (pair.includes(';') || value === undefined || name !== 'watch') continue;
    return value === '0' || value.toLowerCase() === 'false' ? 'list' : 'watch';
  }
  return 'list';
}

/** Unescapes to bytes, each as one character. */
function unescapeAsGo(text: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  return text
    .replaceAll('+', ' ')
    .replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

t.test('every refusal of a request line is a Status', async (t) => {
  const anything = fc.oneof(
    requestTarget,
    fc.string({ unit: 'binary' }).map((text) => `/${text}`),
  );
  fc.assert(
    fc.property(fc.string(), anything, fc.boolean(), (method, target, hasTenantsInPaths) => {
      unlessRefused(() => readRequestInfo(method, target, { hasTenantsInPaths }));
    }),
    { numRuns: 3_000 },
  );
  t.pass('every refusal was a StatusError');
});

function unlessRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}
