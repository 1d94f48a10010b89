import t from 'tap';
import { readPolicy } from '../../../../src/features/webhook/policy-file.ts';
import { createWebhook } from '../../../../src/features/webhook/webhook.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { systemRandom } from '../../../../src/lib/random.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';

const read = readPolicy('[{"resource_permissions":{"*/*":["*"]}}]');

async function review(resourceAttributes: object, user = 'acme:alice') {
  const serve = createWebhook({
    path: '/webhook',
    reviewToken: async () => ({ authenticated: false }),
    bodyTimeout: 1_000,
    clock: createFakeClock(),
    random: systemRandom,
    logger: silentLogger,
    telemetry: noTelemetry,
    policy: { current: read.ok ? read.value : undefined },
  });
  const body = JSON.stringify({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, extra: { 'alpha.kubernetes.io/identity/roles': ['member'] }, resourceAttributes },
  });
  const exchange = fakeExchange({ method: 'POST', target: '/webhook?timeout=30s', body });
  await serve(exchange);
  return exchange.response.json();
}

const pods = { resource: 'pods', verb: 'get' };

t.test('for an Arktos API server a policy applies only within the user’s own tenant', async (t) => {
  const within = (tenant: string, user?: string) => review({ ...pods, tenant }, user);
  t.match(await within('acme'), { status: { allowed: true } });
  t.match(await within('globex'), { status: { allowed: false } });
  t.match(await within('acme', 'acmecorp:alice'), { status: { allowed: false } });
});
