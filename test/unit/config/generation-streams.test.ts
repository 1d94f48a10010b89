/**
 * Watches last for days and configurations change more often, so a forwarded watch must not hold its
 * generation.
 */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { ComponentType } from '../../../src/config/component.ts';
import { Generations } from '../../../src/config/generation.ts';
import { watchLifetimesOf } from '../../../src/features/watch-lifetimes.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import type { ResponseStream } from '../../../src/proxy/response/response-stream.ts';
import { serveRequest } from '../../../src/proxy/serve-request.ts';
import { StreamRegistry } from '../../../src/proxy/streams/stream-registry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { fakeExchange } from '../../support/fake-exchange.ts';
import { fakePipeline } from '../../support/fake-pipeline.ts';

type ServingStages = Parameters<typeof serveRequest>[1];

const WATCH = '/api/v1/namespaces/default/configmaps?watch=true';
const RELOADS = 100;
const WATCHES_PER_RELOAD = 10;

const watchExchange = () => fakeExchange({ target: WATCH, headers: [['Authorization', 'Bearer token']] });

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

async function areCollected(references: readonly WeakRef<object>[]): Promise<boolean> {
  const isLeft = () => references.some((reference) => reference.deref() !== undefined);
  for (let round = 0; round < 20 && isLeft(); round += 1) {
    await setImmediate();
    collectGarbage();
  }
  return !isLeft();
}

function setUp() {
  const ended = Promise.withResolvers<void>();
  const limits = { perUser: 2_000, perTenant: 5_000 };
  const streams = new StreamRegistry({
    limits,
    clock: systemClock,
    random: systemRandom,
    telemetry: noTelemetry,
  });
  const generations = new Generations<ServingStages>(silentLogger);
  const state = { forwarded: 0, disposed: 0 };
  const cache = new ComponentType<object>('cache', {
    dispose() {
      state.disposed += 1;
    },
  });
  const client = new ComponentType<object>('client', {});
  const reload = () =>
    generations.replace((generation) => {
      generation.component(client, { fingerprint: ['the same'], create: () => ({}) });
      generation.component(cache, { create: () => ({}) });
      return fakePipeline({
        streams,
        undecided: generation.inFlight,
        forwarder: {
          async forward() {
            state.forwarded += 1;
            await ended.promise;
            return { status: 200, aborted: false };
          },
        },
      });
    });
  return { generations, state, ended, reload };
}

t.test('100 reloads with 1,000 open watches leave one generation', async (t) => {
  const { generations, state, ended, reload } = setUp();
  reload();
  const watches: Promise<void>[] = [];
  for (let count = 0; count < RELOADS; count += 1) {
    for (let watch = 0; watch < WATCHES_PER_RELOAD; watch += 1)
      watches.push(serveRequest(watchExchange(), generations.current));
    reload();
    t.ok(generations.counts.generations <= 3, 'at most those with watches that are being authenticated');
    await setImmediate();
  }
  t.equal(state.forwarded, RELOADS * WATCHES_PER_RELOAD, 'all watches are open');
  await setImmediate();
  t.same(generations.counts, { generations: 1, components: 2 });
  t.equal(state.disposed, RELOADS, 'each generation but the last is disposed');
  ended.resolve();
  await Promise.all(watches);
  t.equal(state.disposed, RELOADS);
});

t.test('a watch that is not forwarded yet holds its generation', async (t) => {
  const { generations, state, ended, reload } = setUp();
  reload();
  const authenticated = Promise.withResolvers<void>();
  const pipeline = generations.current;
  const [authenticator] = pipeline.authenticators;
  const slow = {
    name: 'slow',
    async authenticate(...question: Parameters<NonNullable<typeof authenticator>['authenticate']>) {
      await authenticated.promise;
      return authenticator?.authenticate(...question);
    },
  };
  const watch = serveRequest(watchExchange(), { ...pipeline, authenticators: [slow] });
  reload();
  await setImmediate();
  t.same([generations.counts, state.disposed], [{ generations: 2, components: 3 }, 0]);
  authenticated.resolve();
  await setImmediate();
  t.same(
    [generations.counts, state],
    [
      { generations: 1, components: 2 },
      { forwarded: 1, disposed: 1 },
    ],
  );
  ended.resolve();
  await watch;
});

t.test('Stonegate’s own watches end after a reload, and retain nothing of before', async (t) => {
  const clock = createFakeClock();
  const generations = new Generations<ServingStages>(silentLogger);
  const runtime = { clock, random: systemRandom, logger: silentLogger, telemetry: noTelemetry };
  const references: WeakRef<object>[] = [];
  const reload = () =>
    generations.replace((generation) => {
      // What a handler of an earlier configuration would use.
      const used = { configuration: 'of this generation' };
      references.push(new WeakRef(used));
      const lifetimes = watchLifetimesOf(generation, runtime);
      const start = (stream: ResponseStream) => {
        const stop = lifetimes.begin(undefined, () => stream.end());
        return () => {
          stop();
          t.ok(used.configuration);
        };
      };
      return fakePipeline({
        undecided: generation.inFlight,
        handlers: { forward: async () => ({ status: 200, headers: [], start }) },
      });
    });
  reload();
  generations.start();
  const watches = Array.from({ length: 10 }, () => serveRequest(watchExchange(), generations.current));
  await setImmediate();
  for (let count = 0; count < 3; count += 1) {
    reload();
    watches.push(serveRequest(watchExchange(), generations.current));
    await setImmediate();
  }
  clock.advance(5_000);
  const last = watches.pop();
  await Promise.all(watches);
  t.equal(generations.counts.generations, 1);
  t.ok(await areCollected(references.slice(0, -1)));
  reload();
  await setImmediate();
  clock.advance(5_000);
  await last;
});
