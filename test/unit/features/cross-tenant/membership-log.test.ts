import t from 'tap';
import { createMembershipLog } from '../../../../src/features/cross-tenant/membership-log.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

t.test('a tenant that joins an administration is one line of the audit log', async (t) => {
  const lines: string[] = [];
  createMembershipLog({
    sink: { write: (...parts) => lines.push(parts.join('')) },
    clock: createFakeClock(Date.UTC(2026, 6, 1)),
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => 'a-1', fraction: () => 0 },
  })({ verb: 'grant', administration: 'support', tenant: 'globex', reason: 'on\ncall' });
  t.equal(lines.length, 1);
  t.notMatch(lines[0], '\n');
  t.match(JSON.parse(lines[0] ?? ''), {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    stage: 'ResponseComplete',
    auditID: 'a-1',
    verb: 'grant',
    objectRef: { resource: 'tenantadministrations', name: 'support', apiGroup: 'tenancy.stonegate.dev' },
    stageTimestamp: '2026-07-01T00:00:00.000000Z',
    annotations: {
      'stonegate.dev/entered-tenant': 'globex',
      'stonegate.dev/policy': 'administration:support',
    },
  });
});
