/**
 * What all contenders share: certificates, the upstream (plain and with TLS), a Keystone that responds after
 * 5 ms and an issuer of JWTs.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { type SigningIssuer, startSigningIssuer } from '../support/oidc/signing-issuer.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { configurationOf } from './configuration.ts';
import { LOAD_CORE, type Serving, startProgram } from './processes.ts';

export interface Site {
  readonly folder: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly ca: string;
  readonly upstream: Readonly<Record<UpstreamKind, string>>;
  readonly issuer: SigningIssuer;
  counts(): Promise<Counts>;
  /**
   * Gives each watch at an upstream an event a turn; those of one target share a second. Resolves soon after
   * the last.
   */
  giveEvents(upstream: UpstreamKind, turns: number): Promise<void>;
  /** Writes a configuration of Stonegate, with these members merged over it, and names its file. */
  configure(name: string, upstream: UpstreamKind, changes?: Record<string, object>): string;
  close(): Promise<void>;
}

/** What was seen so far. */
export interface Counts {
  /** Whole requests at the upstreams. */
  readonly requests: number;
  /** Tokens that Keystone was asked about. */
  readonly keystoneCalls: number;
}

export type UpstreamKind = 'plain' | 'tls';

export async function createSite(): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-bench-'));
  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const authority = await createAuthority('Stonegate benchmark CA');
  const { cert, key } = await authority.server('localhost');
  const certFile = file('tls.crt', cert);
  const keyFile = file('tls.key', key);
  const caFile = file('ca.crt', authority.cert);
  file('apiserver-token', 'stonegate-own-token');
  const started: Serving[] = [];
  const run = async (...words: [string, ...string[]]): Promise<Serving> => {
    const serving = await startProgram(LOAD_CORE, ...words);
    started.push(serving);
    return serving;
  };
  const plain = await run('upstream');
  const secured = await run('upstream', certFile, keyFile);
  const keystone = await run('keystone');
  const issuer = await startSigningIssuer();
  const keystoneURL = `http://127.0.0.1:${keystone.port}`;
  const upstream = {
    plain: `http://127.0.0.1:${plain.port}`,
    tls: `https://127.0.0.1:${secured.port}`,
  };
  const dispatcher = new Agent({ connect: { ca: authority.cert } });
  const read = async (url: string) => Number(await (await request(url, { dispatcher })).body.text());

  return {
    folder,
    certFile,
    keyFile,
    caFile,
    ca: authority.cert,
    upstream,
    issuer,
    async counts() {
      const urls = [`${upstream.plain}/seen`, `${upstream.tls}/seen`, `${keystoneURL}/seen`];
      const [plainly = 0, securely = 0, keystoneCalls = 0] = await Promise.all(urls.map(read));
      return { requests: plainly + securely, keystoneCalls };
    },
    async giveEvents(kind, turns) {
      await read(`${upstream[kind]}/events/${turns}`);
    },
    configure(name, kind, changes = {}) {
      const addresses = { certFile, keyFile, caFile, upstream: upstream[kind], keystoneURL, issuer };
      return file(`${name}.yaml`, configurationOf(addresses, changes));
    },
    async close() {
      await dispatcher.close();
      await issuer.down();
      for (const serving of started) await serving.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
