/**
 * A generation is all that is built from one configuration. A reload builds the next generation beside the
 * one in force, reuses components with equal fingerprints, and swaps one reference. See
 * docs/decisions/0008-generations.md.
 */
import { hash } from 'node:crypto';
import { InFlightCounter } from '../lib/in-flight.ts';
import type { Logger } from '../lib/logger.ts';
import { Component, type ComponentHooks, type ComponentType, type Handle, type Uses } from './component.ts';

export interface ComponentOptions<T> {
  /**
   * All that `create` reads of the configuration and its files: values that JSON can represent. A component
   * with an equal fingerprint that uses the same components is reused. Without a fingerprint it is never
   * reused.
   */
  readonly fingerprint?: readonly unknown[];
  /** Components of this generation that the new one calls, if it has them. They are disposed after it. */
  readonly uses?: Uses;
  /**
   * @param previous components of this type in the previous generation, whose knowledge may be carried over
   */
  readonly create: (previous: readonly T[]) => T;
}

/** Builds one generation, and can be used only until that is built. */
export type GenerationBuilder = Pick<Generation, 'inFlight' | 'component'>;

export class Generation {
  /** Counts the requests that are not forwarded yet. What they use is not disposed. */
  readonly inFlight = new InFlightCounter();
  /** The components in the order of creation: each stands behind those that it uses. */
  readonly components = new Set<Component>();
  /** Undefined once the generation is built, so that generations hold no chain of previous ones. */
  #previous: Iterable<Component> | undefined;

  constructor(previous: Iterable<Component>) {
    this.#previous = previous;
  }

  /**
   * Returns the component that was built from the same, in this generation or in the previous one, else a
   * new one.
   *
   * @throws Error if `uses` names a component of another generation; and what `create` throws
   */
  component<T extends object>(type: ComponentType<T>, options: ComponentOptions<T>): Handle<T> {
    if (this.#previous === undefined) throw new Error(`${type.name}: the generation is built already`);
    const fingerprint = options.fingerprint && fingerprintOf(options.fingerprint);
    const uses = (options.uses ?? [])
      .filter((instance) => instance !== undefined)
      .map((instance) => this.#componentOf(instance, type.name));
    const previous = componentsOfType(this.#previous, type);
    const same = [...componentsOfType(this.components, type), ...previous].find(
      (other) =>
        fingerprint !== undefined &&
        other.fingerprint === fingerprint &&
        other.uses.length === uses.length &&
        other.uses.every((used, index) => used === uses[index]),
    );
    const { instance } = same ?? this.#add(type, options, fingerprint, uses, previous);
    if (same !== undefined) this.#hold(same);
    if (!this.#has(instance)) throw new Error(`${type.name} is no component of its generation`);
    return instance;
  }

  #has<T extends object>(instance: T): instance is Handle<T> {
    return [...this.components].some((component) => component.instance === instance);
  }

  #add<T extends object>(
    type: ComponentType<T>,
    { create }: ComponentOptions<T>,
    fingerprint: string | undefined,
    uses: readonly Component[],
    previous: readonly Component<T>[],
  ): Component<T> {
    const instance = create(previous.map((other) => other.instance));
    const component = new Component(type, instance, fingerprint, uses);
    this.#hold(component);
    return component;
  }

  #hold(component: Component): void {
    if (this.components.has(component)) return;
    component.holders += 1;
    this.components.add(component);
  }

  #componentOf(instance: object, user: string): Component {
    for (const component of this.components) if (component.instance === instance) return component;
    throw new Error(`${user} uses what is no component of its generation`);
  }

  /** Nothing can be added any more. */
  seal(): void {
    this.#previous = undefined;
  }
}

function componentsOfType<T extends object>(
  components: Iterable<Component>,
  type: ComponentType<T>,
): Component<T>[] {
  const found: Component<T>[] = [];
  for (const component of components) if (component.isOfType(type)) found.push(component);
  return found;
}

/** A digest, as the parts may be secret. */
function fingerprintOf(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64');
}

/** The generation in force, and the previous ones until their last request is forwarded. */
export class Generations<V> {
  readonly #logger: Logger;
  #inForce: { readonly generation: Generation; readonly value: V } | undefined;
  /** Components that a generation holds, or that are not yet disposed of. */
  readonly #components = new Set<Component>();
  /** Generations that are not yet released. */
  readonly #generations = new Set<Generation>();
  /** The last start or stop of a type whose components must not run at the same time. */
  readonly #turns = new Map<object, Promise<void>>();
  #isStarted = false;
  #isClosed = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * What was built for the generation in force.
   *
   * @throws Error before the first one
   */
  get current(): V {
    if (this.#inForce === undefined) throw new Error('no generation is in force yet');
    return this.#inForce.value;
  }

  /** Whether a first one is in force. */
  get isInForce(): boolean {
    return this.#inForce !== undefined;
  }

  /** How many generations and components are not disposed. */
  get counts(): { readonly generations: number; readonly components: number } {
    return { generations: this.#generations.size, components: this.#components.size };
  }

  /**
   * Builds the next generation and brings it into force at once. The previous one is disposed when its
   * requests in flight are released.
   *
   * @throws what `build` throws; then its new components are disposed, and all that is in force stays as it
   *   was
   */
  replace(build: (generation: GenerationBuilder) => V): void {
    if (this.#isClosed) throw new Error('the generations are closed');
    const previous = this.#inForce?.generation;
    const generation = new Generation(previous?.components ?? []);
    this.#generations.add(generation);
    let value: V;
    try {
      value = build(generation);
    } catch (error) {
      this.#seal(generation);
      this.#release(generation);
      throw error;
    }
    this.#seal(generation);
    this.#inForce = { generation, value };
    if (this.#isStarted) this.#takeOver(previous, generation);
    if (previous !== undefined) void previous.inFlight.drained().then(() => this.#release(previous));
  }

  /** Starts the components in force, and from now on those of each new generation. */
  start(): void {
    this.#isStarted = true;
    this.#takeOver(undefined, this.#inForce?.generation);
  }

  /** Disposes everything, even if requests are in flight. Resolves when that has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#takeOver(this.#inForce?.generation, undefined);
    const disposing = [...this.#components].filter(({ isDisposing }) => isDisposing);
    for (const generation of [...this.#generations]) this.#release(generation);
    await Promise.all(disposing.map((component) => this.#attempt(component, 'destroy')));
    await Promise.all([...this.#components].map(({ disposed }) => disposed));
  }

  /** Stops what goes out of force, then starts what comes into force. Never throws. */
  #takeOver(previous: Generation | undefined, next: Generation | undefined): void {
    for (const component of previous?.components ?? [])
      if (component.isStarted && !next?.components.has(component) && component.type.hooks.stop)
        this.#inTurn(component, 'stop');
    for (const component of next?.components ?? []) {
      if (component.isStarted) continue;
      component.isStarted = true;
      if (component.type.hooks.stop) this.#inTurn(component, 'start');
      else void this.#attempt(component, 'start');
    }
  }

  #inTurn(component: Component, hook: 'start' | 'stop'): void {
    const last = this.#turns.get(component.type) ?? Promise.resolve();
    const turn = last.then(() => this.#attempt(component, hook));
    this.#turns.set(component.type, turn);
  }

  #seal(generation: Generation): void {
    generation.seal();
    for (const component of generation.components) this.#components.add(component);
  }

  /** Only the first call counts. */
  #release(generation: Generation): void {
    if (!this.#generations.delete(generation)) return;
    // The last first: when a component is disposed, those that use it are being disposed already.
    for (const component of [...generation.components].reverse()) {
      component.holders -= 1;
      if (component.holders === 0) component.disposed = this.#dispose(component);
    }
    // A component that outlives the generation may still refer to it.
    generation.components.clear();
  }

  async #dispose(component: Component): Promise<void> {
    await Promise.all([...component.usedBy].map(({ disposed }) => disposed));
    await this.#turns.get(component.type);
    component.isDisposing = true;
    const disposed = this.#attempt(component, 'dispose');
    if (this.#isClosed) await this.#attempt(component, 'destroy');
    await disposed;
    for (const used of component.uses) used.usedBy.delete(component);
    this.#components.delete(component);
  }

  /** Never rejects. */
  async #attempt(component: Component, hook: keyof ComponentHooks<object>): Promise<void> {
    try {
      await component.run(hook);
    } catch (error) {
      this.#logger.error({ error, component: component.type.name }, 'a component failed to start or to end');
    }
  }
}
