/**
 * What `stonegate quota` prints of reserved amounts, of usage that is not known, and without a quota.
 */
import t, { type Test } from 'tap';
import { quota } from '../../../src/cli/quota.ts';
import { askCommand } from '../../support/ask-command.ts';
import type { RecordedResponse } from '../../support/recorded-server.ts';

const metadata = { name: 'acme', uid: 'u', creationTimestamp: '2026-11-26T09:00:00Z' };
const spec = { hard: { pods: '40', 'limits.memory': '64Gi' } };

function listOf(...statuses: readonly object[]) {
  const items = statuses.map((status) => ({ metadata, spec, status }));
  const body = { kind: 'TenantQuotaList', apiVersion: 'stonegate.dev/v1alpha1', metadata: {}, items };
  return { body };
}

const run = (t: Test, response: RecordedResponse) => askCommand(t, quota, [], () => response);

t.test('reserved amounts are shown beside used ones', async (t) => {
  const used = { pods: '39', 'limits.memory': '35Gi' };
  const { code, stdout, stderr } = await run(t, listOf({ used, reserved: { pods: '1' } }));
  t.equal(code, 0, stderr);
  t.equal(
    stdout,
    `RESOURCE       USED   HARD
limits.memory  35Gi   64Gi  █████░░░░░ 54 %
pods           39 +1  40    █████████░ 97 %
`,
  );
});

t.test('a resource that was not counted has no bar', async (t) => {
  const { code, stdout, stderr } = await run(t, listOf({}));
  t.equal(code, 0);
  t.match(stdout, /^pods +\? +40$/m);
  t.match(stderr, /nothing was counted yet/);
});

t.test('a tenant without a quota is told so', async (t) =>
  t.match(await run(t, listOf()), { code: 1, stderr: /your tenant has no quota/ }),
);
