import t from 'tap';
import { preferredVersion } from '../../../../src/features/discovery/preferred-version.ts';
import type { UpstreamResponse } from '../../../../src/kubernetes/upstream-ports.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';

const { signal } = new AbortController();

function versionIn(body: string, status = 200): Promise<string | undefined> {
  const response: UpstreamResponse = {
    status,
    headers: [['Content-Type', 'application/json']],
    body: Buffer.from(body),
  };
  const discovered = { get: () => Promise.resolve(response) };
  return preferredVersion(toTenantName('acme'), 'apps', discovered, { readsTenantFromPath: false }, signal);
}

t.test('the preferred version of a group is that of its discovery', async (t) => {
  const version = { groupVersion: 'apps/v1', version: 'v1' };
  const group = { kind: 'APIGroup', name: 'apps', versions: [version], preferredVersion: version };
  t.equal(await versionIn(JSON.stringify(group)), 'v1');
});

t.test('a tenant without the group has none', async (t) => {
  t.equal(await versionIn('404 page not found', 404), undefined);
});

t.test('a document that cannot be read is a 503', async (t) => {
  await t.rejects(versionIn('<html>'), { code: 'UpstreamUnavailable' });
});
