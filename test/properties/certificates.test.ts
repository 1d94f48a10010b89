/**
 * Two client certificates, of whatever subject, become the same user name only if they name the same user of
 * the same tenant, in either form. No user name or group from a certificate is reserved for the cluster.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { createX509Authenticator } from '../../src/identity/x509.ts';
import type { VerifiedCertificate } from '../../src/lib/client-certificate.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../src/tenancy/shared.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const part = fc.string({
  unit: fc.constantFrom(
    ...['a', 'b', ':', 'tenant:', 'system', 'keystone:', 'all', ' ', '\0', '\n', 'O=', ',', 'é'],
  ),
  maxLength: 4,
});

/** A subject in either form, or with arbitrary attributes. */
const subjectOf = (tenant: fc.Arbitrary<string>, part: fc.Arbitrary<string>) =>
  fc.oneof(
    fc.record({
      commonNames: fc.array(part, { maxLength: 2 }),
      organizations: fc.array(part, { maxLength: 2 }),
      organizationalUnits: fc.array(part, { maxLength: 2 }),
    }),
    fc.tuple(tenant, part, part).map(([name, user, group]) => ({
      commonNames: [user],
      organizations: [`tenant:${name}`],
      organizationalUnits: [group],
    })),
    fc.tuple(tenant, part, part).map(([name, user, group]) => ({
      commonNames: [`${name}:${user}`],
      organizations: [group],
      organizationalUnits: [],
    })),
  );
const subject = subjectOf(fc.constantFrom('acme', 'globex', 'a', 'system', 'all', ''), part);
/** Subjects of so few words that many get the same user name. */
const similar = subjectOf(fc.constantFrom('a', 'acme'), fc.constantFrom('a', 'a:a', 'acme:a', 'b'));
type Subject = Pick<VerifiedCertificate, 'commonNames' | 'organizations' | 'organizationalUnits'>;

const context = { source: '10.0.0.1', signal: new AbortController().signal };
const modes = [
  createArktosMode({ systemTenant: 'system', domains: {} }),
  createSharedMode({ domains: {}, reservedNamePrefixes: ['x509:'] }),
];

for (const mode of modes)
  for (const prefix of ['x509:', '']) {
    const authenticator = createX509Authenticator({
      usernamePrefix: prefix,
      groupsPrefix: prefix,
      systemTenant: 'system',
      allowSystemTenant: false,
      clock: createFakeClock(0),
    });
    const userOf = async (read: Subject) => {
      const certificate = {
        verified: true,
        ...read,
        notAfter: 1,
        serialNumber: '',
        fingerprint: '',
      } as const;
      try {
        const identity = await authenticator.authenticate({ kind: 'certificate', certificate }, context);
        return identity && mode.userOf(identity, mode.tenantOf(identity));
      } catch (error) {
        if (error instanceof StatusError) return undefined;
        throw error;
      }
    };

    t.test(
      `${mode.name}, prefix ${JSON.stringify(prefix)}: each user name belongs to one user of one tenant`,
      async (t) => {
        let alike = 0;
        await fc.assert(
          fc.asyncProperty(similar, similar, async (one, other) => {
            const [first, second] = [await userOf(one), await userOf(other)];
            if (first === undefined || first.username !== second?.username) return true;
            alike += 1;
            return arktosUserOf(one) === arktosUserOf(other);
          }),
          { numRuns: 2_000 },
        );
        t.ok(alike > 20, 'enough subjects have the same user name');
      },
    );

    t.test(
      `${mode.name}, prefix ${JSON.stringify(prefix)}: no certificate becomes a user of the cluster itself`,
      async (t) => {
        let believed = 0;
        await fc.assert(
          fc.asyncProperty(subject, async (read) => {
            const user = await userOf(read);
            if (user === undefined) return true;
            believed += 1;
            const given = user.groups.filter((group) => !group.startsWith('stonegate:tenant:'));
            const reserved = given.filter((group) => /^(?:system|keystone|stonegate):/.test(group));
            return !user.username.startsWith('system:') && reserved.join() === 'system:authenticated';
          }),
          { numRuns: 1_000 },
        );
        t.ok(believed > 10, 'enough certificates are authenticated');
      },
    );
  }

/** The user as Arktos parses the subject: the two forms are two spellings of the same user. */
function arktosUserOf({ commonNames: [name = ''], organizations: [organization = ''] }: Subject): string {
  return organization.startsWith('tenant:') ? `${organization.slice('tenant:'.length)}:${name}` : name;
}
