/**
 * A tenant never uses more than its quota, whatever replicas, counters and the API server do and however late
 * they receive changes. Usage that is released becomes available again.
 */
import fc from 'fast-check';
import t from 'tap';
import type { Reservations } from '../../src/features/quota/reservations.ts';
import { type Counter, createQuotaWorld, type QuotaWorld } from '../support/quota-world.ts';

const RUNS = 150;
const HARD = { pods: '6', 'requests.cpu': '10' };
const MAX_PODS = 6;
const MAX_CPU = 10;
/** Milliseconds after which the API server ends a request. */
const REQUEST = 60_000;

const cpu = fc.integer({ min: 0, max: 4 });
const at = fc.nat({ max: 30 });
/** What becomes of an admitted request: stored at once, later, or never. */
const fate = fc.constantFrom('stored', 'late', 'lost');
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('create'),
      on: at,
      cpus: fc.array(cpu, { minLength: 1, maxLength: 8 }),
      fate,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resize'), on: at, pod: at, cpu, fate }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete'), pod: at }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('deliver'), on: at, events: fc.constantFrom(1, 100) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write'), on: at, stale: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('elapse'), milliseconds: fc.nat({ max: 40_000 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart'), on: at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('elect'), on: at }) },
);
/** Long sequences, since most faults need a full quota first. */
const steps = fc.array(step, { minLength: 20, maxLength: 60, size: 'max' });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Late {
  readonly uid: string;
  readonly cpu: number;
  readonly until: number;
}

/** Runs the steps, and checks after each that the tenant is within its quota. */
class Run {
  readonly world: QuotaWorld = createQuotaWorld(HARD);
  readonly replicas: Reservations[] = [this.world.replica(), this.world.replica()];
  readonly counters: Counter[] = [this.world.counter(), this.world.counter()];
  late: Late[] = [];
  created = 0;
  #snapshot = this.world.quota();

  /** Resolves when both counters have counted the tenant. */
  async begin(): Promise<void> {
    for (const counter of this.counters) {
      counter.deliver();
      await counter.write();
    }
  }

  async take(step: Step): Promise<void> {
    const { world } = this;
    switch (step.do) {
      case 'create': {
        const uids = step.cpus.map((_cpu, index) => `pod-${this.created + index}`);
        this.created += uids.length;
        await Promise.all(
          step.cpus.map((cpu, index) => this.#ask(step.on + index, uids[index] ?? '', cpu, step.fate)),
        );
        return;
      }
      case 'resize': {
        const uid = this.#podAt(step.pod);
        if (uid !== undefined) await this.#ask(step.on, uid, step.cpu, step.fate);
        return;
      }
      case 'delete': {
        const uid = this.#podAt(step.pod);
        // A request for the pod that is still in progress would fail.
        if (uid !== undefined) this.late = this.late.filter((one) => one.uid !== uid);
        if (uid !== undefined) world.delete(uid);
        return;
      }
      case 'deliver':
        return this.#counterAt(step.on)?.deliver(step.events);
      case 'write': {
        const stored = step.stale ? this.#snapshot : world.quota();
        await this.#counterAt(step.on)?.write(stored);
        this.#snapshot = world.quota();
        return;
      }
      case 'elapse':
        return this.#elapse(step.milliseconds);
      case 'restart':
        this.replicas[step.on % 2] = world.replica();
        return;
      case 'elect': {
        const counter = world.counter();
        counter.deliver();
        this.counters[step.on % 2] = counter;
      }
    }
  }

  async #ask(on: number, uid: string, cpu: number, what: 'stored' | 'late' | 'lost'): Promise<void> {
    const { world, replicas } = this;
    const replica = replicas[on % 2];
    if (replica === undefined || (await world.admit(replica, uid, cpu)) !== 'admitted') return;
    if (what === 'stored') world.store(uid, cpu);
    if (what === 'late') this.late.push({ uid, cpu, until: world.clock.now() + REQUEST });
  }

  /** Lets time pass; the API server ends requests that last too long. */
  #elapse(milliseconds: number): void {
    const { clock } = this.world;
    const due = this.late.filter(({ until }) => until <= clock.now() + milliseconds);
    this.late = this.late.filter((one) => !due.includes(one));
    for (const { uid, cpu } of due) this.world.store(uid, cpu);
    clock.advance(milliseconds);
  }

  async settle(): Promise<void> {
    const { world } = this;
    this.#elapse(REQUEST);
    const counter = world.counter();
    for (let round = 0; round < 3; round += 1) {
      counter.deliver();
      await counter.write();
      world.clock.advance(REQUEST);
    }
  }

  #podAt(index: number): string | undefined {
    const uids = [...this.world.pods.keys()];
    return uids[index % Math.max(1, uids.length)];
  }

  #counterAt(index: number): Counter | undefined {
    return this.counters[index % 2];
  }

  /** The usage of stored pods and of admitted ones that are not stored yet. */
  get used(): { readonly pods: number; readonly cpu: number } {
    const all = new Map(this.world.pods);
    for (const { uid, cpu } of this.late) all.set(uid, Math.max(cpu, all.get(uid) ?? 0));
    return { pods: all.size, cpu: [...all.values()].reduce((sum, one) => sum + one, 0) };
  }
}

t.test('a tenant never uses more than its quota', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (taken, conflicts) => {
      const run = new Run();
      await run.begin();
      let updates = 0;
      run.world.objects.before = (verb, kind, place, name) => {
        if (verb !== 'updateStatus' || !conflicts) return;
        updates += 1;
        if (updates % 2 === 0) return;
        const found = run.world.objects.find(kind, place, name);
        if (found !== undefined) run.world.objects.put(kind, place, found);
      };
      for (const one of taken) {
        await run.take(one);
        const { pods, cpu } = run.used;
        if (pods > MAX_PODS || cpu > MAX_CPU) return false;
      }
      return true;
    }),
    { numRuns: RUNS },
  );
  t.pass(`none of ${RUNS} sequences exceeds the quota`);
});

t.test('released usage is available again after a minute at the latest', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const run = new Run();
      await run.begin();
      for (const one of taken) await run.take(one);
      await run.settle();
      if (run.world.reserved > 0) return false;
      const { pods, cpu } = run.used;
      const fits = pods < MAX_PODS ? MAX_CPU - cpu : -1;
      const verdict = await run.world.admit(run.world.replica(), 'next', Math.max(0, fits));
      return verdict === (fits < 0 ? 'exceeded' : 'admitted');
    }),
    { numRuns: RUNS },
  );
  t.pass(`in all of ${RUNS} sequences`);
});
