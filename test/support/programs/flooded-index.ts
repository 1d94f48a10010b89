/**
 * A program that starts an index with an API server whose tenants have written far more than fits in memory,
 * and prints the state of the index. Arguments: the number of roles, their size in bytes, and
 * `access.maxIndexBytes`.
 */
import { PassThrough } from 'node:stream';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createRBACInformers } from '../../../src/features/rbac-index/rbac-informers.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { TooLarge } from '../../../src/limits/byte-budget.ts';
import { AccessIndex } from '../../../src/rbac/access-index.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { eventually } from '../eventually.ts';

const [roles = 0, bytes = 0, maxBytes = 0] = process.argv.slice(2).map(Number);
/** The limit of Stonegate for one response. */
const MAX_RESPONSE = 16 * 1024 * 1024;

/** A role: no two rules are equal, and each namespace has three roles. */
function roleText(at: number) {
  const metadata = {
    name: `r${at}`,
    namespace: `n${Math.floor(at / 3)}`,
    uid: `u${at}`,
    resourceVersion: '5',
  };
  const rules: string[] = [];
  for (let length = 0; length < bytes; length += rules.at(-1)?.length ?? 0)
    rules.push(
      `{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["${at}-${rules.length}"]}`,
    );
  return `{"metadata":${JSON.stringify(metadata)},"rules":[${rules.join(',')}]}`;
}

/** A page of a list of the resource. @throws StatusError if it exceeds the limit for one response */
function pageText(target: string) {
  const { pathname, searchParams } = new URL(target, 'http://localhost');
  const from = Number(searchParams.get('continue') ?? 0);
  const to = pathname.endsWith('/roles') ? Math.min(roles, from + Number(searchParams.get('limit'))) : 0;
  if ((to - from) * bytes > MAX_RESPONSE)
    throw new StatusError('UpstreamUnavailable', 'too large', { cause: new TooLarge('too large') });
  const metadata = { resourceVersion: '10', ...(to > 0 && to < roles && { continue: String(to) }) };
  const items = Array.from({ length: to - from }, (_, at) => roleText(from + at));
  return `{"kind":"List","metadata":${JSON.stringify(metadata)},"items":[${items.join(',')}]}`;
}

const index = new RBACIndex({ maxBytes });
const informers = createRBACInformers({
  index,
  inTenants: false,
  clock: systemClock,
  random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
  logger: { debug() {}, info() {}, warn() {}, error() {} },
  telemetry: noTelemetry,
  upstream: {
    fetch: async ({ target }) => ({ status: 200, headers: [], body: Buffer.from(pageText(target)) }),
    async stream(_request, signal) {
      const body = new PassThrough();
      body.on('error', () => {});
      const end = () => body.destroy(new Error('ended'));
      if (signal.aborted) end();
      signal.addEventListener('abort', end);
      return { status: 200, headers: [], body };
    },
  },
});
const tracked = new AccessIndex({
  index,
  provenAt: (resource) => informers.provenAt(resource),
  clock: systemClock,
});
informers.start();
await eventually(() => index.isSynced);
const { size, tooLarge } = index;
console.log(JSON.stringify({ state: tracked.state(''), tooLarge, fits: size <= maxBytes }));
await informers.stop();
