/**
 * No two users share a user name: whatever Keystone’s free text and an issuer’s claims contain, different
 * identities become different Kubernetes users, or are refused.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import type { Identity } from '../../src/tenancy/identity.ts';
import { createSharedMode } from '../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';
import { claimIdentity, keystoneIdentity } from '../support/identities.ts';

/** Characters with a meaning in user names, and pieces of their escapes. */
const text = fc.string({
  unit: fc.constantFrom('a', ':', '@', '%', '%3A', '%40', '%25', '3', ' ', '\u0000', 'é', '\ud800', '\udc00'),
  minLength: 0,
  maxLength: 4,
});
const domain = fc.oneof(fc.constantFrom('acme', 'globex', 'a', 'oidc', 'system'), text);
const id = fc.constantFrom('a', 'b');

/** An identity, and a key that is equal only for the same user. */
interface Candidate {
  readonly identity: Identity;
  readonly who: string;
}

const anyCandidate: fc.Arbitrary<Candidate> = fc.oneof(
  fc.tuple(text, domain, fc.constantFrom('acme', 'globex')).map(([name, home, scope]) => ({
    identity: keystoneIdentity(name, { home, scope }),
    who: JSON.stringify(['keystone', home, name]),
  })),
  fc.tuple(fc.constantFrom('application-credential', 'trust'), id, domain).map(([kind, key, home]) => ({
    identity: keystoneIdentity('alice', { home, scope: 'acme' }, { kind, id: key }),
    who: JSON.stringify([kind, key]),
  })),
  fc
    .tuple(fc.constantFrom('oidc:', 'a:', 'trust:'), text, fc.constantFrom('acme', 'globex'))
    .map(([prefix, claim, tenant]) => ({
      identity: claimIdentity(`${prefix}${claim}`, tenant),
      who: JSON.stringify(['claim', prefix, claim]),
    })),
);

function nameOf(mode: TenancyMode, { identity }: Candidate): string | undefined {
  try {
    return mode.userOf(identity, mode.tenantOf(identity)).username;
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

const modes = [
  createArktosMode({ systemTenant: 'system', domains: {} }),
  createSharedMode({ domains: {}, reservedNamePrefixes: ['oidc:', 'a:', 'trust:'] }),
];

for (const mode of modes) {
  t.test(`${mode.name}: different users never share a user name`, async (t) => {
    const known = new Map<string, string>();
    fc.assert(
      fc.property(anyCandidate, (candidate) => {
        const name = nameOf(mode, candidate);
        if (name === undefined) return true;
        // As the API server reads the value of a header field: UTF-8, without whitespace at its ends.
        const received = Buffer.from(name, 'utf8').toString('utf8').trim();
        const before = known.get(received) ?? candidate.who;
        known.set(received, candidate.who);
        return before === candidate.who;
      }),
      { numRuns: 20_000 },
    );
    t.ok(known.size > 100, 'enough identities have a user name');
  });

  t.test(`${mode.name}: no user becomes one of the cluster's own users`, async (t) => {
    fc.assert(
      fc.property(anyCandidate, (candidate) => !(nameOf(mode, candidate) ?? '').startsWith('system:')),
      { numRuns: 2_000 },
    );
    t.pass();
  });
}
