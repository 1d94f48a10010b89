import fc from 'fast-check';
import t from 'tap';
import type { JWTTenant } from '../../src/api/config-v1alpha1.ts';
import { identityOfClaims } from '../../src/authentication/jwt-mapping.ts';
import { StatusError } from '../../src/errors/status-error.ts';
import { jwtConfiguration } from '../support/oidc/jwt-configuration.ts';

const word = fc.oneof(
  fc.constantFrom(
    'system:',
    'system:masters',
    'sys',
    'tem:masters',
    'keystone:x',
    'acme',
    'system',
    'all',
    ' ',
  ),
  fc.string({ unit: 'binary' }),
);
const value = fc.oneof(word, fc.array(word), fc.jsonValue());
const claims = fc.dictionary(fc.constantFrom('sub', 'groups', 'hd', 'oid', 'd', '__proto__'), value);
const tenant: fc.Arbitrary<JWTTenant> = fc.oneof(
  fc.record({ value: fc.constantFrom('acme', 'system', 'all') }),
  fc.record({ claim: fc.constant('hd'), map: fc.constant({ acme: 'acme', ops: 'system' }) }),
  fc.record({ claim: fc.constant('hd'), allow: fc.constant(['acme', 'all']) }),
);

/** @returns undefined for a refusal; anything but a refusal is a fault */
function refusable<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

t.test('no token makes a reserved name, a blank one, or a tenant that is not listed', async (t) => {
  let accepted = 0;
  fc.assert(
    fc.property(claims, word, tenant, (token, prefix, tenant) => {
      const configuration = jwtConfiguration({
        tenant,
        claimMappings: {
          username: { claim: 'sub', prefix },
          groups: { claim: 'groups', prefix },
          uid: { claim: 'oid' },
          extra: [{ key: 'example.org/d', claim: 'd' }],
        },
      });
      const identity = refusable(() => identityOfClaims({ claims: token, expiresAt: 1 }, configuration));
      if (identity === undefined) return true;
      accepted += 1;
      if (identity.subject.kind !== 'claim' || identity.tenantOrigin.from !== 'issuer') return false;
      const names = [
        identity.subject.name,
        ...identity.groups.filter((name) => name !== 'system:authenticated'),
      ];
      const listed = 'map' in tenant ? ['acme', 'system'] : ['acme'];
      return (
        names.every(
          (name) => name.trim() === name && name !== '' && !/^(system|keystone|stonegate):/.test(name),
        ) &&
        names.every((name) => !/\p{Cc}/u.test(name) && name.isWellFormed()) &&
        listed.includes(identity.tenantOrigin.tenant)
      );
    }),
    { numRuns: 2_000 },
  );
  t.ok(accepted > 0, 'some tokens were accepted');
});
