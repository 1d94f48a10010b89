import t from 'tap';
import { namespaceFingerprint, tenantFingerprint } from '../../../../src/features/publishing/watched.ts';

const labelled = (labels: object, more: object = {}) => ({
  metadata: { name: 'web', uid: 'u', labels, ...more },
});
const OWN = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/domain-id': 'd' };

t.test('what tenants may write on their namespaces causes no run', (t) => {
  const rules = { namespaces: ['shared'] };
  for (const mode of ['arktos', 'shared'] as const)
    t.equal(namespaceFingerprint(labelled({ team: 'a' }), { ...rules, mode }), undefined, mode);
  const shared = (object: object) => namespaceFingerprint(object, { ...rules, mode: 'shared' });
  t.equal(shared(labelled({ ...OWN, team: 'a' })), shared(labelled({ ...OWN, team: 'b' })));
  const arktos = (object: object) => namespaceFingerprint(object, { ...rules, mode: 'arktos' });
  t.equal(arktos(labelled(OWN)), undefined, 'of another name than that of sources');
  t.equal(arktos(labelled({ a: 'b' }, { name: 'shared' })), arktos(labelled({}, { name: 'shared' })));
  t.end();
});

t.test('a namespace that comes, changes hands or goes causes one', (t) => {
  const rules = { namespaces: ['shared'], mode: 'shared' } as const;
  const fingerprints = [
    labelled(OWN),
    labelled({ ...OWN, 'stonegate.dev/domain-id': 'e' }),
    labelled(OWN, { uid: 'v' }),
    labelled(OWN, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    labelled({}, { name: 'shared' }),
    labelled({}),
  ].map((object) => namespaceFingerprint(object, rules));
  t.equal(new Set(fingerprints).size, fingerprints.length);
  t.end();
});

t.test('labels of a tenant count, in any order', (t) => {
  t.equal(tenantFingerprint(labelled({ a: '1', b: '2' })), tenantFingerprint(labelled({ b: '2', a: '1' })));
  t.not(tenantFingerprint(labelled({ a: '1' })), tenantFingerprint(labelled({ a: '2' })));
  t.end();
});
