/**
 * Certificates for tests and the demo, created in process: an authority and the certificates that it signs.
 * The keys are elliptic, since those take only a millisecond.
 */
import { generate } from 'selfsigned';

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

/** When a certificate is valid; by default from now on for a year. */
export interface Period {
  readonly notBeforeDate?: Date;
  readonly notAfterDate?: Date;
}

export type Authority = Awaited<ReturnType<typeof createAuthority>>;

const SETTINGS = { keyType: 'ec', algorithm: 'sha256' } as const;

export async function createAuthority(commonName = 'Stonegate test CA') {
  const own = await generate([{ name: 'commonName', value: commonName }], {
    ...SETTINGS,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const ca = { cert: own.cert, key: own.private };

  async function sign(
    attributes: NonNullable<Parameters<typeof generate>[0]>,
    extensions: NonNullable<NonNullable<Parameters<typeof generate>[1]>['extensions']>,
    period: Period = {},
  ): Promise<KeyPair> {
    const made = await generate(attributes, { ...SETTINGS, ...period, ca, extensions });
    return { cert: made.cert, key: made.private };
  }

  return {
    ...ca,
    /** A certificate for a server on loopback and with these additional names. */
    server: (name: string, names: readonly string[] = [], period: Period = {}) =>
      sign(
        [{ name: 'commonName', value: name }],
        [
          { name: 'extKeyUsage', serverAuth: true },
          {
            name: 'subjectAltName',
            altNames: [
              ...['localhost', ...names].map((value) => ({ type: 2 as const, value })),
              { type: 7, ip: '127.0.0.1' },
              { type: 7, ip: '::1' },
            ],
          },
        ],
        period,
      ),
    /** A certificate for a client; `organizations` are its groups in Kubernetes. */
    client: (name: string, organizations: readonly string[] = []) =>
      sign(
        [
          ...organizations.map((value) => ({ name: 'organizationName', value })),
          { name: 'commonName', value: name },
        ],
        [{ name: 'extKeyUsage', clientAuth: true }],
      ),
  };
}
