/**
 * A component is reused over a reload if what it is built from stays the same. This records what components
 * read of configurations in which every type of component exists, and compares it with what decides about
 * their reuse.
 */
import { globSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { buildAdmissionListener } from '../../../src/app/build-listeners.ts';
import { FEATURES } from '../../../src/app/features.ts';
import { createServing } from '../../../src/app/serving.ts';
import { createAdmissionUpstream } from '../../../src/app/upstream.ts';
import { type GenerationBuilder, Generations } from '../../../src/config/generation.ts';
import { commandRuntime } from '../../../src/lib/runtime.ts';
import {
  completeConfiguration,
  contentOf,
  secretOf,
  servingProcess,
} from '../../support/complete-configuration.ts';

/** The object with a record of each read of a value in it. */
function recorded<T extends object>(object: T, path: string, seen: (path: string) => void): T {
  return new Proxy(object, {
    get(target, key, receiver) {
      const value: unknown = Reflect.get(target, key, receiver);
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return value;
      const below = `${path}.${key}`;
      if (typeof value === 'object' && value !== null) return recorded(value, below, seen);
      seen(below);
      return value;
    },
  });
}

/** Builds a generation, and records what its components read of the configuration and of features' parts. */
function createRecording<C extends object>(t: Test, complete: C) {
  let reads = new Set<string>();
  const during = (work: () => void): ReadonlySet<string> => {
    const before = reads;
    reads = new Set();
    work();
    const found = reads;
    reads = before;
    return found;
  };
  const runtime = commandRuntime();
  const generations = new Generations(runtime.logger);
  t.teardown(() => generations.close());
  const built = new Set<string>();
  const stray: string[] = [];
  const recording = (generation: GenerationBuilder): GenerationBuilder => ({
    inFlight: generation.inFlight,
    component(type, options) {
      const decides = during(() => JSON.stringify(options.fingerprint));
      built.add(type.name);
      return generation.component(type, {
        ...options,
        create(previous) {
          const created: ReturnType<typeof options.create>[] = [];
          const used = during(() => created.push(options.create(previous)));
          if (options.fingerprint !== undefined)
            stray.push(
              ...[...used].filter((path) => !decides.has(path)).map((path) => `${type.name}: ${path}`),
            );
          const [component] = created;
          if (component === undefined) throw new TypeError('nothing was created');
          return component;
        },
      });
    },
  });
  const record = (path: string) => reads.add(path);
  for (const feature of Object.values(FEATURES)) {
    const { name, reads: partsOf } = feature;
    const value: typeof partsOf = (...given: [never, never]) => recorded(partsOf(...given), name, record);
    t.intercept(feature, 'reads', { value });
  }
  return {
    runtime,
    loaded: {
      configuration: recorded(complete, 'configuration', record),
      references: [],
      file(name: string) {
        record(`file ${name}`);
        return contentOf(name);
      },
      secret(source: object) {
        const name = 'fromFile' in source ? String(source.fromFile) : '';
        record(`secret ${name}`);
        return secretOf(name);
      },
      digest: '',
      identityDigest: '',
    },
    built,
    stray,
    build: (work: (generation: GenerationBuilder) => void) =>
      generations.replace((generation) => work(recording(generation))),
  };
}

const built = new Set<string>();

for (const mode of ['arktos', 'shared'] as const) {
  const complete = completeConfiguration(mode);

  t.test(`each component reads only what decides about its reuse (${mode})`, async (t) => {
    const recording = createRecording(t, complete);
    const { loaded, runtime } = recording;
    const process = servingProcess(runtime, complete);
    recording.build((generation) => createServing({ loaded, runtime, generation }, process));
    for (const name of recording.built) built.add(name);
    t.same(recording.stray, []);
  });

  t.test(`so does each of a process that serves only the admission webhook (${mode})`, async (t) => {
    const { tenancy, admin, log, publishing, quota, admission, upstream } = complete;
    if (!publishing || !quota || !admission) throw new TypeError('a section is missing');
    const recording = createRecording(t, { tenancy, admin, log, publishing, quota, admission, upstream });
    const { loaded, runtime } = recording;
    recording.build((generation) => {
      const build = { loaded, runtime, generation };
      buildAdmissionListener(build, createAdmissionUpstream(build));
    });
    t.ok(recording.built.size > 3);
    t.same(recording.stray, []);
  });
}

t.test('every type of component is among them', async (t) => {
  const names = globSync('src/**/*.ts').flatMap((file) => {
    const types = readFileSync(file, 'utf8').matchAll(
      / = (?:new ComponentType|cacheType)\b[^'"]*(['"])(.+?)\1/g,
    );
    return Array.from(types, ([, , name = '']) => name);
  });
  t.ok(names.length > 40, `${names.length} types`);
  t.same(
    names.filter((name) => !built.has(name)),
    [],
  );
});
