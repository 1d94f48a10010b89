/**
 * A component: something built from the configuration that has a life of its own (connections, caches,
 * timers). It lives as long as a generation uses it. See docs/decisions/0008-generations.md.
 */

/**
 * What a type of component does in its life. An error that a hook throws is logged and stops nothing else.
 */
export interface ComponentHooks<T> {
  /** Called after the swap that brings the component into force. */
  start?(component: T): void;
  /**
   * Called at the swap that takes the component out of force, if it was started. The next component of the
   * same type starts when this has resolved, so that no two of them run at once.
   */
  stop?(component: T): void | Promise<void>;
  /** Called once, when no generation uses the component and every component that uses it is disposed. */
  dispose?(component: T): void | Promise<void>;
  /** Called at the end of the process, after `dispose`: breaks off what `dispose` still waits for. */
  destroy?(component: T): void | Promise<void>;
}

/** Hooks of what runs while it is in force. */
export const RUNS: ComponentHooks<{ start(): void; stop(): void | Promise<void> }> = {
  start: (component) => component.start(),
  stop: (component) => component.stop(),
};

/** Hooks of what runs until no generation uses it. */
export const RUNS_TO_THE_END: ComponentHooks<{ start(): void; stop(): void }> = {
  start: (component) => component.start(),
  dispose: (component) => component.stop(),
};

/** A type of component. Two types differ even if they have the same name. */
export class ComponentType<T extends object> {
  /** Names the component in the log. */
  readonly name: string;
  readonly hooks: ComponentHooks<T>;

  constructor(name: string, hooks: ComponentHooks<T> = {}) {
    this.name = name;
    this.hooks = hooks;
  }
}

declare const COMPONENT: unique symbol;
/** An instance that `component()` returned in this generation. `uses` accepts only these. */
export type Handle<T extends object> = T & { readonly [COMPONENT]: true };
/** Components that another one calls, if there are such. */
export type Uses = readonly (Handle<object> | undefined)[];

/** An instance with its fingerprint, which decides whether it is reused, and its lifecycle state. */
export class Component<T extends object = object> {
  readonly type: ComponentType<T>;
  readonly instance: T;
  /** Undefined if it is never reused. */
  readonly fingerprint: string | undefined;
  readonly uses: readonly Component[];
  /** Components that use this one and are not disposed yet. */
  readonly usedBy = new Set<Component>();
  /** Number of generations that hold it. */
  holders = 0;
  isStarted = false;
  isDisposing = false;
  /** Resolves when it is disposed; undefined while a generation holds it. */
  disposed: Promise<void> | undefined;

  constructor(
    type: ComponentType<T>,
    instance: T,
    fingerprint: string | undefined,
    uses: readonly Component[],
  ) {
    this.type = type;
    this.instance = instance;
    this.fingerprint = fingerprint;
    this.uses = uses;
    for (const used of uses) used.usedBy.add(this);
  }

  isOfType<U extends object>(type: ComponentType<U>): this is Component<U> {
    return Object.is(this.type, type);
  }

  async run(hook: keyof ComponentHooks<T>): Promise<void> {
    await this.type.hooks[hook]?.(this.instance);
  }
}
