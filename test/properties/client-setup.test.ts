/**
 * `/.well-known/stonegate` is public. It never contains a secret, a name of a tenant or project or an address
 * of a backend, whatever the configuration has.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { configurationSchema } from '../../src/app/configuration.ts';
import { clientSetupSchema } from '../../src/features/client-setup/client-setup-v1alpha1.ts';
import { clientSetupOf } from '../../src/features/client-setup/feature.ts';
import { createAuthority } from '../support/tls/authority.ts';

const cert = `${(await createAuthority()).cert.trim()}\n`;
/** A private key, which a CA file may contain besides certificates. */
const KEY = '-----BEGIN PRIVATE KEY-----\nzqjhidden\n-----END PRIVATE KEY-----\n';
const hidden = fc.stringMatching(/^zqj[a-z]{4,12}$/);

t.test('the document contains only what a client needs', async () => {
  const parts = fc.array(fc.constantFrom(cert, KEY, 'zqjnote: not for all\n'), { maxLength: 6 });
  fc.assert(
    fc.property(hidden, hidden, fc.boolean(), parts, (secret, name, hasPortal, file) => {
      const configuration = configurationSchema.parse(configurationWith(secret, name, hasPortal));
      const setup = clientSetupOf(configuration, file.join(''));
      assert.ok(!JSON.stringify(setup).includes('zqj'), JSON.stringify(setup));
      const { certificateAuthority = '' } = clientSetupSchema.parse(setup).spec;
      assert.equal(certificateAuthority, file.filter((part) => part === cert).join(''));
    }),
  );
});

t.test('without a portal the document names Keystone, and the issuers that have a login', async (t) => {
  const { spec } = clientSetupOf(configurationSchema.parse(configurationWith('s', 'n', false)), undefined);
  const keystone = { displayName: 'OpenStack Keystone', url: 'https://keystone.example.com/v3' };
  const oidc = {
    ...{ name: 'acme', displayName: 'Acme', clientID: 'kubernetes' },
    ...{ issuer: 'https://login.example.com', scopes: ['openid', 'profile', 'email'] },
  };
  t.strictSame(spec, { tenancyMode: 'arktos', keystone, oidc: [oidc] });
});

/** @param secret each secret and secret source @param name used for tenants, projects and backends */
function configurationWith(secret: string, name: string, hasPortal: boolean): object {
  const issuer = 'https://login.example.com';
  const jwt = (url: string) => ({
    issuer: { url, audiences: ['kubernetes', name] },
    claimMappings: { username: { claim: 'sub', prefix: `${name}:` } },
    tenant: { value: name },
  });
  const login = { name: 'acme', displayName: 'Acme', clientID: 'kubernetes' };
  const tls = { certFile: secret, keyFile: secret };
  return {
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { tls },
    upstream: { server: `https://${name}.example.com`, caFile: secret, credential: { tokenFile: secret } },
    tenancy: { mode: 'arktos', domains: { [`the domain ${name}`]: name } },
    authentication: {
      keystone: {
        url: hasPortal ? `https://${name}.example.com/v3` : 'https://keystone.example.com/v3',
        serviceCredential: { applicationCredential: { id: secret, secret: { fromEnv: secret } } },
      },
      jwt: [{ ...jwt(issuer), login }, jwt(`https://${name}.example.com`)],
    },
    bindings: { projects: { [name]: { namespace: name } }, credential: { tokenFile: secret } },
    cache: { redis: { url: { fromEnv: secret } }, sealingKeys: [{ fromFile: secret }] },
    ...(hasPortal && {
      portal: {
        publicURL: 'https://portal.example.com',
        tls,
        kubernetes: { server: 'https://k8s.example.com', caFile: secret },
        keystone: { publicURL: 'https://keystone.example.com/v3', defaultDomain: name },
        oidc: [{ name: 'acme', clientID: name, clientSecret: { fromFile: secret } }],
      },
    }),
  };
}
