/** What goes wrong in each round: restarts of every backend, reloads, and a new certificate. */
import { setTimeout as pause } from 'node:timers/promises';
import { askOnce } from '../support/open-request.ts';
import { inTime } from './in-time.ts';
import type { SoakSite } from './site.ts';
import type { Verdicts } from './verdicts.ts';

/** Milliseconds for which a backend is down, and between two faults. */
const DOWN = 1_500;
const BETWEEN = 1_000;

/** An interval in which something was wrong, in seconds since the epoch. */
export interface Fault {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** All faults once, one after the other. */
export async function runFaults(site: SoakSite, verdicts: Verdicts): Promise<Fault[]> {
  const { testbed, redis } = site;
  const { apiServer, keystone, provider } = testbed;
  const faults: Fault[] = [];

  async function during(name: string, work: () => Promise<unknown>): Promise<void> {
    const from = Date.now() / 1000;
    await work();
    faults.push({ name, from, to: Date.now() / 1000 });
    await pause(BETWEEN);
  }

  /** Requests may fail until one that needs the backend succeeds again. */
  const down = (name: string, stop: () => Promise<void>, start: () => Promise<void>) =>
    during(name, async () => {
      verdicts.faultBegins();
      await stop();
      await pause(DOWN);
      await start();
      await inTime(`requests succeed after ${name} was down`, async () => (await askAnew(site)) === 200);
      verdicts.faultEnds();
    });

  await pause(BETWEEN);
  await down('Keystone', keystone.down, keystone.listen);
  await down('issuer', provider.down, provider.up);
  await down('API server', apiServer.stop, apiServer.start);
  // Without Redis no request fails.
  await during('Redis', async () => {
    await redis.stop();
    await pause(DOWN);
    await redis.start();
  });
  await during('reload', () => site.reload());
  await during('new certificate', () => site.rotateCertificate());
  return faults;
}

/** With a credential that no cache knows. */
export async function askAnew(site: SoakSite): Promise<number> {
  const destination = { port: site.port, ca: site.testbed.authority.cert };
  const path = '/api/v1/namespaces/default/configmaps';
  return (await askOnce(destination, site.newUser(60_000), path)).status;
}
