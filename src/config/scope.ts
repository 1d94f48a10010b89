/**
 * The components of a feature in a generation. A component sees the configuration only as the part that it is
 * built from, so that what it reads and what decides about its reuse cannot differ.
 */
import type { ComponentType, Handle, Uses } from './component.ts';
import type { GenerationBuilder } from './generation.ts';

/** A value of the configuration or of its files, as JSON. */
export type Part =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Part[]
  | { readonly [key: string]: Part };

/** The parts of a feature, by name: a change of one does not rebuild what is made of the others. */
export type Parts = Readonly<Record<string, Part>>;

export interface Scope {
  /**
   * Reused as long as the part and the components in `uses` stay the same.
   *
   * @param uses are disposed after it
   * @param create gets the part, the components in `uses`, and those of this type in the previous generation
   */
  component<T extends object, P extends Part, const U extends Uses>(
    type: ComponentType<T>,
    part: P,
    uses: U,
    create: (part: P, used: U, previous: readonly T[]) => T,
  ): Handle<T>;
  /** Reads nothing of the configuration: reused as long as the components in `uses` stay the same. */
  derived<T extends object, const U extends Uses>(
    type: ComponentType<T>,
    uses: U,
    create: (used: U) => T,
  ): Handle<T>;
  /** Never reused: it has a life, but its work depends on everything in its generation. */
  perGeneration<T extends object>(type: ComponentType<T>, uses: Uses, create: () => T): Handle<T>;
}

export function scopeOf(generation: GenerationBuilder): Scope {
  return {
    component: (type, part, uses, create) =>
      generation.component(type, {
        fingerprint: [part],
        uses,
        create: (previous) => create(part, uses, previous),
      }),
    derived: (type, uses, create) =>
      generation.component(type, { fingerprint: [], uses, create: () => create(uses) }),
    perGeneration: (type, uses, create) => generation.component(type, { uses, create }),
  };
}
