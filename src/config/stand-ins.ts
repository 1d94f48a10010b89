/**
 * What takes the place of a required field that is wrong or missing, so that the rest can be looked at: the least that
 * the schema accepts. Nothing is ever told of a stand-in, and nothing is served with one.
 */

/** A file that is there and empty. */
const FILE = '/dev/null';
const NAME = 'stand-in';

const TLS = { certFile: FILE, keyFile: FILE, clientCAFile: FILE };

export const CONFIGURATION_STAND_INS = {
  apiVersion: 'stonegate.dev/v1alpha1',
  kind: 'StonegateConfiguration',
  server: { tls: { certFile: FILE, keyFile: FILE } },
  upstream: { server: 'https://stand-in.invalid', credential: { tokenFile: FILE } },
  tenancy: { mode: 'arktos' },
  authentication: {
    keystone: { url: 'https://stand-in.invalid/v3' },
    jwt: [
      {
        issuer: { url: 'https://stand-in.invalid', audiences: [NAME] },
        claimMappings: { username: { claim: 'sub', prefix: `${NAME}:` } },
        tenant: { value: NAME },
      },
    ],
    tokenFile: { file: FILE },
    basicAuthFile: { file: FILE },
    clientCertificates: { caFile: FILE },
  },
  cache: { redis: { url: { fromFile: FILE } } },
  portal: {
    publicURL: 'https://portal.stand-in.invalid',
    tls: { certFile: FILE, keyFile: FILE },
    kubernetes: { server: 'https://stand-in.invalid' },
    oidc: [{ name: NAME, issuer: 'https://stand-in.invalid', clientID: NAME, displayName: NAME }],
  },
  webhook: { tls: TLS },
};

/** Not for its version and kind: of another kind of file nothing can be said. */
export const AUTHENTICATION_FILE_STAND_INS = {
  jwt: [
    {
      issuer: { url: 'https://stand-in.invalid', audiences: [NAME] },
      claimMappings: { username: { claim: 'sub', prefix: `${NAME}:` } },
    },
  ],
};
