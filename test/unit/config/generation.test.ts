/**
 * Which components a reload reuses, when the others are disposed, and that a refused reload changes nothing.
 */
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { ComponentType, type Handle } from '../../../src/config/component.ts';
import { type GenerationBuilder, Generations } from '../../../src/config/generation.ts';
import { silentLogger } from '../../../src/lib/logger.ts';

interface Part {
  readonly id: string;
}

/** A component type whose hooks write `start a` and `dispose a` to the log. */
function loggingType(name: string, log: string[]) {
  return new ComponentType<Part>(name, {
    start: ({ id }) => void log.push(`start ${id}`),
    dispose: ({ id }) => void log.push(`dispose ${id}`),
  });
}

function setUp() {
  const log: string[] = [];
  const errors: unknown[] = [];
  const logger = {
    ...silentLogger,
    error: (fields: { readonly error?: unknown }) => void errors.push(fields.error),
  };
  const generations = new Generations<Part>(logger);
  const type = loggingType('part', log);
  const part = (generation: GenerationBuilder, fingerprint: string, id = fingerprint) =>
    generation.component(type, { fingerprint: [fingerprint], create: () => ({ id }) });
  const replace = (fingerprint: string, id = fingerprint) =>
    generations.replace((generation) => part(generation, fingerprint, id));
  return { generations, log, errors, type, part, replace };
}

t.test('a component without a fingerprint belongs to one generation', async (t) => {
  const { generations, log, type } = setUp();
  const replace = (id: string) =>
    generations.replace((generation) => generation.component(type, { create: () => ({ id }) }));
  replace('first');
  replace('second');
  await setImmediate();
  t.same([generations.current, log], [{ id: 'second' }, ['dispose first']]);
});

t.test('a component that is requested twice in one generation is shared', async (t) => {
  const { generations, part, log } = setUp();
  generations.replace((generation) => {
    t.equal(part(generation, 'a'), part(generation, 'a'));
    t.not(part(generation, 'a'), part(generation, 'b'));
    return part(generation, 'a');
  });
  await generations.close();
  t.same(log, ['dispose b', 'dispose a'], 'each once, in reverse order of creation');
});

t.test('a component is disposed after those that use it, and replaced with those that it uses', async (t) => {
  const { generations, log, part } = setUp();
  const closed = Promise.withResolvers<void>();
  const client = new ComponentType<Part>('client', {
    dispose: async ({ id }) => {
      log.push(`closing ${id}`);
      await closed.promise;
      log.push(`closed ${id}`);
    },
  });
  const replace = (fingerprint: string) =>
    generations.replace((generation) => {
      const uses = [part(generation, fingerprint)];
      const create = () => ({ id: `client of ${fingerprint}` });
      return generation.component(client, { fingerprint: ['client'], uses, create });
    });
  replace('a');
  replace('a');
  t.same(generations.current, { id: 'client of a' });
  replace('b');
  t.same(
    generations.current,
    { id: 'client of b' },
    'its fingerprint is equal, but that of a component it uses is not',
  );
  await setImmediate();
  t.same(log, ['closing client of a']);
  closed.resolve();
  await setImmediate();
  t.same(log, ['closing client of a', 'closed client of a', 'dispose a']);
});

t.test('a component may take over state from the previous one of its type', async (t) => {
  const { generations, type } = setUp();
  const seen: string[][] = [];
  const replace = (id: string) =>
    generations.replace((generation) =>
      generation.component(type, {
        fingerprint: [id],
        create(previous) {
          seen.push(previous.map((part) => part.id));
          return { id };
        },
      }),
    );
  for (const id of ['a', 'b', 'b', 'c']) replace(id);
  t.same(seen, [[], ['a'], ['b']]);
});

t.test('two components of a type with a stop hook never run at once', async (t) => {
  const { generations, log } = setUp();
  const stopping = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const loop = new ComponentType<Part>('loop', {
    start: ({ id }) => void log.push(`start ${id}`),
    stop: async ({ id }) => {
      log.push(`stop ${id}`);
      await stopping[Number(id)]?.promise;
    },
    dispose: ({ id }) => void log.push(`dispose ${id}`),
  });
  const replace = (id: string) =>
    generations.replace((generation) =>
      generation.component(loop, { fingerprint: [id], create: () => ({ id }) }),
    );
  replace('0');
  generations.start();
  await setImmediate();
  replace('1');
  replace('2');
  await setImmediate();
  t.same(log, ['start 0', 'stop 0'], 'the next one does not run, and the previous one is not disposed');
  stopping[0]?.resolve();
  await setImmediate();
  t.same(log.slice(2), ['start 1', 'stop 1']);
  stopping[1]?.resolve();
  await setImmediate();
  t.equal(log[4], 'start 2');
  t.same(log.slice(5).sort(), ['dispose 0', 'dispose 1']);
  await generations.close();
  t.same(log.slice(7), ['stop 2', 'dispose 2']);
});

t.test('an error in a hook is logged, and all other components still start and end', async (t) => {
  const { generations, log, errors, part } = setUp();
  const failing = new ComponentType<Part>('failing', {
    start() {
      throw new Error('start');
    },
    dispose: () => Promise.reject(new Error('dispose')),
    destroy() {
      throw new Error('destroy');
    },
  });
  generations.replace((generation) => {
    const used = part(generation, 'a');
    return generation.component(failing, { uses: [used], create: () => ({ id: 'failing' }) });
  });
  generations.start();
  await generations.close();
  t.same(errors.map(String).sort(), ['Error: destroy', 'Error: dispose', 'Error: start']);
  t.same(log, ['start a', 'dispose a']);
});

t.test('shutdown aborts pending disposals, and does not wait for requests', async (t) => {
  const { generations, log } = setUp();
  const connection = new ComponentType<{ readonly id: string; readonly ended: PromiseWithResolvers<void> }>(
    'connection',
    {
      dispose: ({ ended }) => ended.promise,
      destroy({ id, ended }) {
        log.push(`destroy ${id}`);
        ended.resolve();
      },
    },
  );
  for (const id of ['idle', 'busy', 'current'])
    generations.replace((generation) => {
      if (id === 'busy') generation.inFlight.enter();
      return generation.component(connection, {
        create: () => ({ id, ended: Promise.withResolvers<void>() }),
      });
    });
  await setImmediate();
  await generations.close();
  t.same(log.sort(), ['destroy busy', 'destroy current', 'destroy idle'], 'each once');
  t.same(generations.counts, { generations: 0, components: 0 });
  t.throws(() => generations.replace(() => ({ id: 'late' })), /closed/);
});

const NAMES = ['keystone', 'cache', 'upstream'] as const;
/** The fingerprint of each type; undefined if the configuration does not contain the type. */
const configuration = fc.record(
  Object.fromEntries(NAMES.map((name) => [name, fc.option(fc.constantFrom('1', '2'), { nil: undefined })])),
);
const step = fc.oneof(
  fc.record({
    kind: fc.constant('reload' as const),
    configuration,
    /** The reload fails after this many components; it succeeds if there are fewer. */
    failsAfter: fc.integer({ min: 0, max: 12 }),
  }),
  fc.record({ kind: fc.constant('request' as const) }),
  fc.record({ kind: fc.constant('release' as const), index: fc.nat(20) }),
  fc.record({ kind: fc.constant('wait' as const) }),
);

interface Tracked {
  readonly name: string;
  readonly fingerprint: string;
  readonly uses: Tracked | undefined;
  started: number;
  disposed: number;
}

interface Built {
  readonly components: readonly Tracked[];
  readonly enter: () => () => void;
}

function isTrue(holds: boolean, what: string) {
  if (!holds) throw new Error(what);
}

t.test('the rules hold for any sequence of reloads, failures and requests', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const all: Tracked[] = [];
      const types = new Map(
        NAMES.map((name) => [
          name,
          new ComponentType<Tracked>(name, {
            start(component) {
              component.started += 1;
            },
            dispose(component) {
              isTrue(
                !all.some((user) => user.uses === component && user.disposed === 0),
                'a component is disposed after those that use it',
              );
              component.disposed += 1;
            },
          }),
        ]),
      );
      const errors: unknown[] = [];
      const generations = new Generations<Built>({
        ...silentLogger,
        error: (fields) => void errors.push(fields),
      });
      const requests: { readonly built: Built; readonly release: () => void }[] = [];

      function reload(wanted: Readonly<Record<string, string | undefined>>, failsAfter: number) {
        generations.replace((generation) => {
          const components: Handle<Tracked>[] = [];
          for (const name of NAMES) {
            const fingerprint = wanted[name];
            const type = types.get(name);
            if (components.length >= failsAfter) throw new Error('refused');
            if (fingerprint === undefined || type === undefined) continue;
            const used = components.at(-1);
            const create = () => {
              const component = { name, fingerprint, uses: used, started: 0, disposed: 0 };
              all.push(component);
              return component;
            };
            components.push(
              generation.component(type, { fingerprint: [fingerprint], uses: used ? [used] : [], create }),
            );
          }
          return {
            components,
            enter() {
              const entered = generation.inFlight.enter();
              return () => entered.release();
            },
          };
        });
      }

      /** Checks that no component that is in force or used by a request is disposed. */
      function check() {
        const used = [generations.current, ...requests.map(({ built }) => built)].flatMap(
          (built) => built.components,
        );
        for (const component of used) isTrue(component.disposed === 0, `${component.name} is in use`);
        for (const component of generations.current.components)
          isTrue(component.started === 1, `${component.name} is started once`);
      }

      reload({}, 12);
      generations.start();
      for (const each of steps) {
        if (each.kind === 'reload') {
          const before = generations.current;
          const created = all.length;
          try {
            reload(each.configuration, each.failsAfter);
            for (const component of before.components) {
              const now = generations.current.components.find(({ name }) => name === component.name);
              const same = now?.fingerprint === component.fingerprint && now.uses === component.uses;
              isTrue(
                same === (now === component),
                'a component is reused exactly if it is built from the same',
              );
            }
          } catch (error) {
            isTrue(error instanceof Error && error.message === 'refused', String(error));
            isTrue(generations.current === before, 'a refused reload changes nothing');
            await setImmediate();
            for (const component of all.slice(created))
              isTrue(
                component.disposed === 1 && component.started === 0,
                'components that were built for a refused reload are disposed',
              );
          }
        } else if (each.kind === 'request') {
          const built = generations.current;
          requests.push({ built, release: built.enter() });
        } else if (each.kind === 'release') {
          const [request] = requests.splice(each.index % Math.max(1, requests.length), 1);
          request?.release();
        } else await setImmediate();
        check();
      }
      for (const { release } of requests.splice(0)) release();
      await setImmediate();
      const live = all.filter(({ disposed }) => disposed === 0);
      isTrue(
        live.every((component) => generations.current.components.includes(component)),
        'without requests, only the generation in force remains',
      );
      isTrue(generations.counts.generations === 1, 'one generation remains');
      isTrue(generations.counts.components === live.length, 'its components remain');
      await generations.close();
      isTrue(
        all.every(({ disposed }) => disposed === 1),
        'everything is disposed once',
      );
      isTrue(
        all.every(({ started }) => started <= 1),
        'nothing is started twice',
      );
      isTrue(errors.length === 0, `no hook failed: ${JSON.stringify(errors)}`);
    }),
  );
});
