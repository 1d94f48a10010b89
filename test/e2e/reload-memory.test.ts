/**
 * What open watches retain over reloads, counted on the heap, with the real listener and the real forwarder.
 */
import { queryObjects } from 'node:v8';
import t from 'tap';
import { Generation } from '../../src/config/generation.ts';
import { LastModes } from '../../src/proxy/impersonation/impersonation-modes.ts';
import { StreamDelivery } from '../../src/proxy/response/stream-delivery.ts';
import { openRequest } from '../support/open-request.ts';
import { startStonegate } from '../support/stonegate.ts';

const WATCH = '/api/v1/namespaces/default/configmaps?watch=true';
const RELOADS = 5;

t.test('after reloads, open watches retain no previous pipeline and no previous generation', async (t) => {
  const stonegate = await startStonegate(t);
  const { app, keystoneToken, provider, configure } = stonegate;
  const { destination } = stonegate;
  const tokens = [keystoneToken('alice'), await provider.idToken('carol')];
  const watches = [];
  for (let reload = 0; reload < RELOADS; reload += 1) {
    for (const token of tokens) {
      const watch = openRequest(destination, token, WATCH);
      t.equal((await watch.head).statusCode, 200);
      watches.push(watch);
    }
    await configure({ authentication: { impersonationExtraKeys: [`example.com/${reload}`] } });
    await app.reload();
  }
  t.equal(queryObjects(StreamDelivery), RELOADS * tokens.length, 'all watches are open');
  t.equal(queryObjects(LastModes), 1, 'one pipeline is left, since each has one');
  t.equal(queryObjects(Generation), 1);
  t.equal(app.counts.generations, 1);
  for (const watch of watches) watch.leave();
});
