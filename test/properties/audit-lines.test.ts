/**
 * Audit lines are assembled from pieces of text. Here each is compared with the same event written by
 * JSON.stringify, for arbitrary text from clients, Keystone and the API server.
 */
import fc from 'fast-check';
import t from 'tap';
import type { UserInfo } from '../../src/kubernetes/authentication-v1.ts';
import { asciiJSON, foreignJSON, foreignText, untrustedText } from '../../src/lib/untrusted-text.ts';
import type { AuditedRequest } from '../../src/observability/audit-event.ts';
import { createAuditLog } from '../../src/observability/audit-log.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import type { AuditEvent } from '../support/audit-v1.ts';
import { alice } from '../support/fake-pipeline.ts';

const fernet = `gAAAAA${'Bq3'.repeat(40)}`;
const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';
const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(
      fernet,
      jwt,
      '%65yJ',
      'gAAAAA',
      '?Token=',
      '&secret=',
      '"',
      '\\',
      '\n',
      '\x7f',
      '%2F',
      '=',
    ),
    fc.constantFrom('\u2028', '\u202e', '\ud800', 'ö', '😀', 'a'.repeat(513), 'b'.repeat(4_097)),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('pods', 'web', '-', '/', '.', 'kubectl/v1.32 (linux/amd64)'),
  ),
  { maxLength: 6 },
);
const foreign = pieces.map((parts) => parts.join(''));
const target = foreign.chain((word) =>
  fc.constantFrom(
    `/${word}`,
    `/api/v1/namespaces/web/pods/${word}`,
    `/apis/${word}/v1/namespaces/${word}/${word}/${word}/${word}`,
    `/api/v1/pods?limit=500&${word}`,
  ),
);
const user: fc.Arbitrary<UserInfo> = fc.record({
  username: foreign,
  uid: fc.oneof(fc.constant(''), foreign),
  groups: fc.array(foreign, { maxLength: 3 }),
  extra: fc.dictionary(foreign, fc.array(foreign, { maxLength: 2 }), { maxKeys: 2 }),
});
const identity = fc
  .record({ authenticator: fc.constantFrom('keystone', 'jwt'), values: fc.dictionary(foreign, foreign) })
  .map(({ authenticator, values }) => ({ ...alice, authenticator, auditAnnotations: values }));
const outcome = fc.record(
  {
    status: fc.integer({ min: 0, max: 999 }),
    code: fc.constantFrom('AccessDenied', 'InternalError'),
    message: foreign,
    aborted: fc.boolean(),
  },
  { requiredKeys: ['status', 'aborted'] },
);
const request = fc.record(
  {
    auditID: fc.uuid(),
    receivedAt: fc.oneof(fc.integer({ min: 0, max: 4e12 }), fc.double({ min: 0, max: 4e12, noNaN: true })),
    exchange: fc.record({
      method: fc.constantFrom('GET', 'POST', 'PROPFIND'),
      target,
      headers: fc.array(fc.tuple(fc.constantFrom('User-Agent', 'user-agent', 'Accept'), foreign)),
    }),
    sourceIPs: fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant('unknown')), { maxLength: 3 }),
    identity,
    tenant: foreign,
    user,
    impersonator: user,
    impersonationSent: fc.boolean(),
    outcome,
  },
  { requiredKeys: ['auditID', 'receivedAt', 'exchange', 'sourceIPs'] },
);

/** A request whose target is refused has no `info`. */
function withInfo(request: AuditedRequest): AuditedRequest {
  try {
    const info = readRequestInfo(request.exchange.method, request.exchange.target, {
      hasTenantsInPaths: false,
    });
    return { ...request, info };
  } catch {
    return request;
  }
}

const microTime = (at: number) => new Date(at).toISOString().replace('Z', '000Z');
const name = (text: string) => foreignText(text, 512);

function shown({ username, uid, groups, extra }: UserInfo): Partial<UserInfo> {
  return {
    username,
    ...(uid !== '' && { uid }),
    groups,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function untrusted({ username, uid, groups, extra }: UserInfo): UserInfo {
  const name = (text: string) => untrustedText(text, 512);
  const shownExtra = Object.entries(extra).map(([key, values]) => [
    name(key),
    values.map((value) => untrustedText(value)),
  ]);
  return {
    username: name(username),
    uid: name(uid),
    groups: groups.map(name),
    extra: Object.fromEntries(shownExtra),
  };
}

function objectRef({ info }: AuditedRequest): Pick<AuditEvent, 'objectRef'> {
  if (!info?.isResourceRequest) return {};
  return {
    objectRef: {
      resource: name(info.resource),
      ...(info.namespace !== '' && { namespace: name(info.namespace) }),
      ...(info.name !== '' && { name: name(info.name) }),
      ...(info.apiGroup !== '' && { apiGroup: name(info.apiGroup) }),
      apiVersion: name(info.apiVersion),
      ...(info.subresource !== '' && { subresource: name(info.subresource) }),
    },
  };
}

function annotations({ identity, tenant, outcome }: AuditedRequest): Record<string, string> {
  const given = Object.entries(identity?.auditAnnotations ?? {}).map(([key, value]) => [key, name(value)]);
  return {
    ...Object.fromEntries(given),
    ...(identity !== undefined && { 'stonegate.dev/authenticator': identity.authenticator }),
    ...(tenant !== undefined && { 'stonegate.dev/tenant': tenant }),
    ...(outcome?.aborted && { 'stonegate.dev/aborted': 'true' }),
  };
}

function eventOf(
  request: AuditedRequest,
  stage: AuditEvent['stage'],
  at: number,
  status?: number,
): AuditEvent {
  const { info, outcome, user, impersonator, impersonationSent, exchange } = request;
  const userAgent = exchange.headers.find(([key]) => key.toLowerCase() === 'user-agent')?.[1];
  const code = outcome?.status ?? status;
  const { code: reason, message } = outcome ?? {};
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: request.auditID,
    requestURI: foreignText(exchange.target),
    verb: name(info?.verb ?? exchange.method.toLowerCase()),
    sourceIPs: request.sourceIPs,
    ...(userAgent !== undefined && { userAgent: foreignText(userAgent) }),
    ...objectRef(request),
    requestReceivedTimestamp: microTime(request.receivedAt),
    stage,
    user: user === undefined ? {} : shown(impersonator ?? user),
    ...(user && impersonator && { impersonatedUser: shown(untrusted(user)) }),
    ...(user && !impersonator && impersonationSent && { impersonatedUser: shown(user) }),
    ...(code !== undefined && {
      responseStatus: {
        code,
        ...(reason !== undefined && { reason }),
        ...(message !== undefined && { message: untrustedText(message) }),
      },
    }),
    stageTimestamp: microTime(at),
    annotations: annotations(request),
  };
}

t.test('each line equals what JSON.stringify writes, whatever the request contains', async () => {
  const now = fc.oneof(fc.integer({ min: 0, max: 4e12 }), fc.constant(1_767_323_046_007));
  fc.assert(
    fc.property(request, now, fc.integer({ min: 100, max: 599 }), (made, at, status) => {
      const lines: string[] = [];
      const log = createAuditLog({
        sink: { write: (...parts) => lines.push(parts.join('')) },
        clock: { now: () => at, monotonic: () => 0, after: () => ({ cancel() {} }) },
      });
      const { outcome, ...unanswered } = withInfo(made);
      // One record for all stages, as in the pipeline: text that was built for the first line is reused.
      const record: AuditedRequest & { outcome?: typeof outcome } = unanswered;
      const expected = [eventOf(record, 'RequestReceived', record.receivedAt)];
      log.requestReceived(record);
      expected.push(eventOf(record, 'ResponseStarted', at, status));
      log.responseStarted(record, status);
      if (outcome !== undefined) record.outcome = outcome;
      expected.push(eventOf(record, 'ResponseComplete', at));
      log.responseComplete(record);
      const texts = expected.map((event) => asciiJSON(JSON.stringify(event)));
      return lines.length === texts.length && lines.every((line, index) => line === texts[index]);
    }),
    { numRuns: 1_000 },
  );
});

t.test('a user’s cached line ending is not reused in another tenant', async (t) => {
  const lines: AuditEvent[] = [];
  const log = createAuditLog({
    sink: { write: (...parts) => lines.push(JSON.parse(parts.join(''))) },
    clock: { now: () => 0, monotonic: () => 0, after: () => ({ cancel() {} }) },
  });
  const exchange = { method: 'GET', target: '/api', headers: [] };
  const base = { auditID: 'a', receivedAt: 0, exchange, sourceIPs: [] };
  for (const tenant of ['acme', 'beta', undefined, 'acme'])
    log.requestReceived({ ...base, identity: alice, ...(tenant !== undefined && { tenant }) });
  t.same(
    lines.map(({ annotations }) => annotations?.['stonegate.dev/tenant']),
    ['acme', 'beta', undefined, 'acme'],
  );
});

t.test('the fast path for untrusted text writes the same as the complete one', async () => {
  fc.assert(
    fc.property(foreign, fc.integer({ min: 1, max: 600 }), (text, limit) => {
      return `"${foreignJSON(text, limit)}"` === asciiJSON(JSON.stringify(foreignText(text, limit)));
    }),
    { numRuns: 5_000 },
  );
});
