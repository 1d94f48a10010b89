/**
 * The demo's whole world on loopback: the stand-in API server and Keystone and a real OIDC provider in this
 * process, Stonegate in a process of its own, users with tokens, and a folder that holds all that a user
 * may want to read.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../test/support/free-port.ts';
import { createTestbed, type Testbed } from '../test/support/testbed.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { logLine } from './request-log.ts';
import { keepTalking, seedDemo } from './seed.ts';
import { startStonegateProcess } from './stonegate-process.ts';

export interface PlaygroundOptions {
  readonly folder: string;
  /** Taken where they are free; without them any. */
  readonly ports?: { readonly stonegate: number; readonly admin: number };
}

export interface Playground {
  readonly folder: string;
  readonly testbed: Testbed;
  /** `https://127.0.0.1:port` of Stonegate. */
  readonly url: string;
  /** `http://127.0.0.1:port` of its admin listener. */
  readonly admin: string;
  /** Context of the kubeconfig → the token it sends. */
  readonly tokens: Readonly<Record<string, string>>;
  /** Settles when Stonegate is gone, with the reason in words. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

/** A working day, so that the demo does not end while it is in use. */
const TOKEN_LIFE = 12 * 3_600;

/** @throws Error where Stonegate does not get ready; everything is closed again then */
export async function openPlayground({ folder, ports }: PlaygroundOptions): Promise<Playground> {
  await mkdir(folder, { recursive: true });
  await rm(join(folder, 'audit.log'), { force: true });
  const stonegate = await freePort(ports?.stonegate);
  const adminPort = await freePort(ports?.admin);
  const requestLog = createWriteStream(join(folder, 'apiserver.log'), { mode: 0o600 });
  const testbed = await createTestbed({
    folder,
    tokenLife: TOKEN_LIFE,
    configuration: {
      server: { bind: `127.0.0.1:${stonegate}`, shutdownGrace: '3s' },
      admin: { bind: `127.0.0.1:${adminPort}` },
    },
    onRequest: (request) => requestLog.write(logLine(request, new Date())),
  });
  const stopTalking = keepTalking([testbed.log, ...seedDemo(testbed.apiServer.seed)]);
  const closeTestbed = async (): Promise<void> => {
    stopTalking();
    await testbed.close();
    requestLog.end();
  };

  try {
    const url = `https://127.0.0.1:${stonegate}`;
    const admin = `http://127.0.0.1:${adminPort}`;
    const tokens = {
      'acme-alice': testbed.keystoneToken('alice'),
      'globex-bob': testbed.keystoneToken('bob'),
      'acme-carol': await testbed.provider.idToken('carol'),
    };
    const kubeconfig = kubeconfigOf({ server: url, ca: testbed.authority.cert, tokens });
    await writeFile(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
    const { configFile } = testbed;
    const child = await startStonegateProcess({ configFile, logFile: join(folder, 'stonegate.log'), admin });
    return {
      folder,
      testbed,
      url,
      admin,
      tokens,
      ended: child.ended,
      async close() {
        await child.stop();
        await closeTestbed();
      },
    };
  } catch (error) {
    await closeTestbed();
    throw error;
  }
}
