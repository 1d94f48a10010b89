import t from 'tap';
import { parse } from 'yaml';
import { systemClock } from '../../../src/lib/clock.ts';
import type { AuditedRequest } from '../../../src/observability/audit-event.ts';
import { createAuditLog } from '../../../src/observability/audit-log.ts';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import type { AuditEvent } from '../../support/audit-v1.ts';
import { alice } from '../../support/fake-pipeline.ts';

const target = '/api/v1/namespaces/web/pods/p1/log?follow=true';
const known: AuditedRequest = {
  auditID: 'a-1',
  receivedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  exchange: { method: 'GET', target, headers: [['User-Agent', 'kubectl/v1.32']] },
  sourceIPs: ['203.0.113.7', '10.0.0.1'],
  info: readRequestInfo('GET', target, { hasTenantsInPaths: false }),
  identity: alice,
  tenant: 'acme',
  user: { username: 'acme:alice', uid: 'u1', groups: ['system:authenticated'], extra: {} },
  impersonationSent: true,
};

function written(request: AuditedRequest, stage: 'requestReceived' | 'responseComplete'): AuditEvent {
  const lines: string[] = [];
  const log = createAuditLog({
    sink: { write: (...parts) => lines.push(parts.join('')) },
    clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 6), monotonic: () => 0, after: () => ({ cancel() {} }) },
  });
  log[stage](request);
  const [line = ''] = lines;
  return JSON.parse(line);
}

t.test('C058 an event says who did what, when and from where, in the form of kube-apiserver', async (t) =>
  t.same(
    written({ ...known, outcome: { status: 200, aborted: false } }, 'responseComplete'),
    parse(`
    kind: Event
    apiVersion: audit.k8s.io/v1
    level: Metadata
    auditID: a-1
    stage: ResponseComplete
    requestURI: ${target}
    verb: get
    user: {username: 'acme:alice', uid: u1, groups: ['system:authenticated']}
    impersonatedUser: {username: 'acme:alice', uid: u1, groups: ['system:authenticated']}
    sourceIPs: [203.0.113.7, 10.0.0.1]
    userAgent: kubectl/v1.32
    objectRef: {resource: pods, namespace: web, name: p1, apiVersion: v1, subresource: log}
    responseStatus: {code: 200}
    requestReceivedTimestamp: '2026-01-02T03:04:05.006000Z'
    stageTimestamp: '2026-01-02T03:04:06.000000Z'
    annotations:
      stonegate.dev/keystone-audit-id: k-1
      stonegate.dev/tenant: acme
      stonegate.dev/authenticator: keystone`),
  ),
);

t.test('C149 C245 a token in a URL or a user agent does not reach the audit log', async (t) => {
  const fernet = `gAAAAA${'Bq3'.repeat(40)}`;
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';
  for (const secret of [fernet, jwt, 'hunter2']) {
    const event = written(
      {
        ...known,
        exchange: {
          method: 'GET',
          target: `/api/v1/pods?access_token=${secret}`,
          headers: [['User-Agent', `curl ${secret === 'hunter2' ? '' : secret}`]],
        },
      },
      'requestReceived',
    );
    t.notMatch(JSON.stringify(event), secret);
  }
});

t.test('C149 a token in a name, behind escapes or in a token id does not reach the audit log', async (t) => {
  const token = `gAAAAA${'Bq3'.repeat(40)}`;
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';
  const targets = [
    `/api/v1/namespaces/${token}/pods/${jwt}`,
    `/apis/${token}/v1/${jwt}`,
    `/x?access%5Ftoken=hunter2`,
    `/x?a=${jwt.replaceAll('.', '%2E')}`,
    `/x?a=%67AAAAA${'Bq3'.repeat(40)}`,
  ];
  for (const target of targets) {
    const info = readRequestInfo('GET', target, { hasTenantsInPaths: false });
    const identity = { ...alice, auditAnnotations: { 'stonegate.dev/token-id': token } };
    const text = JSON.stringify(
      written({ ...known, exchange: { ...known.exchange, target }, info, identity }, 'requestReceived'),
    );
    for (const secret of [token, token.slice(6), jwt, 'c2lnbmF0dXJl', 'hunter2'])
      t.notMatch(text, secret, target);
  }
});

t.test(
  'whatever clients send, an event is one bounded line of ASCII from which the text can be recovered',
  async (t) => {
    const long = 'a'.repeat(60_000);
    const target = `/apis/${long}/${long}/namespaces/${long}/${long}/${long}/${long}`;
    const info = readRequestInfo('GET', target, { hasTenantsInPaths: false });
    const headers = [['User-Agent', long]] as const;
    t.ok(
      JSON.stringify(
        written({ ...known, exchange: { method: 'GET', target, headers }, info }, 'requestReceived'),
      ).length < 16_384,
    );
    const lines: string[] = [];
    const log = createAuditLog({
      sink: { write: (...parts) => lines.push(parts.join('')) },
      clock: systemClock,
    });
    const name = 'x\u202ey\u2028ö';
    log.requestReceived({ ...known, user: { username: name, uid: '', groups: [], extra: {} } });
    t.match(lines[0], /^[\x20-\x7e]*$/);
    t.equal(JSON.parse(lines[0] ?? '').user.username, name);
  },
);

t.test(
  'D329 the event of a guest has their identity at home, both tenants, and the policy with its source',
  (t) => {
    const guest: AuditedRequest = {
      ...known,
      exchange: { method: 'GET', target: '/tenants/globex/api/v1/pods', headers: [] },
      user: { username: 'globex:guest:acme:alice', uid: '', groups: ['stonegate:guest'], extra: {} },
      impersonator: { username: 'acme:alice', uid: 'u1', groups: ['system:authenticated'], extra: {} },
      crossing: {
        tenant: 'globex',
        policy: { form: 'abac', name: 'auditors', source: '/etc/stonegate/policies.jsonl:3' },
      },
    };
    t.match(
      written(guest, 'responseComplete'),
      parse(`
      requestURI: /tenants/globex/api/v1/pods
      user: {username: 'acme:alice'}
      impersonatedUser: {username: 'globex:guest:acme:alice'}
      annotations:
        stonegate.dev/tenant: acme
        stonegate.dev/entered-tenant: globex
        stonegate.dev/policy: abac:auditors
        stonegate.dev/policy-source: /etc/stonegate/policies.jsonl:3`),
    );
    const { annotations } = written(known, 'responseComplete');
    t.notOk(
      annotations && 'stonegate.dev/entered-tenant' in annotations,
      'the same user at home is not a guest',
    );
    t.match(written({ ...guest, ended: 'policy' }, 'responseComplete').annotations, {
      'stonegate.dev/policy': 'abac:auditors',
      'stonegate.dev/ended': 'policy',
    });
    t.end();
  },
);
