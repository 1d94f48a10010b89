/** The files of `src/` and the imports of each, for the tests of the architecture. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

interface Import {
  /** For a package, the specifier (`node:fs`, `jose`); otherwise the path of the file, relative to `src/`. */
  readonly target: string;
  readonly own: boolean;
  readonly typeOnly: boolean;
}

export interface SourceFile {
  /** Relative to `src/`: `config/load.ts`. */
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly imports: readonly Import[];
}

/** Static imports and re-exports, then dynamic ones. */
const STATIC = /^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const DYNAMIC = /\bimport\('([^']+)'\)/g;

export function readSources(): SourceFile[] {
  return globSync('src/**/*.ts')
    .sort()
    .map((file) => {
      const path = file.slice('src/'.length);
      const text = readFileSync(file, 'utf8');
      const found = [
        ...[...text.matchAll(STATIC)].map(([, type, target]) => ({ typeOnly: type !== undefined, target })),
        ...[...text.matchAll(DYNAMIC)].map(([, target]) => ({ typeOnly: false, target })),
      ];
      const imports = found.map(({ typeOnly, target = '' }): Import => {
        const own = target.startsWith('.');
        return { typeOnly, own, target: own ? normalize(join(dirname(path), target)) : target };
      });
      return { path, text, lines: text.split('\n').length - 1, imports };
    });
}

/** Folders below the first level that are layers of their own. */
const NESTED = /^(upstream\/http1|features\/[a-z-]+)(?=\/)/;

/** `config` of `config/load.ts`; empty for `main.ts`. */
export function layerOf(path: string): string {
  return NESTED.exec(path)?.[0] ?? path.slice(0, Math.max(0, path.indexOf('/')));
}

/** A package's own name: `@scope/name` of `@scope/name/part`. */
export function packageOf(target: string): string {
  const parts = target.split('/');
  return (target.startsWith('@') ? parts.slice(0, 2) : parts.slice(0, 1)).join('/');
}

/** The paths of the first cycle among the files; undefined if there is none. */
export function findCycle(files: readonly SourceFile[]): string[] | undefined {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  function visit(path: string, trail: readonly string[]): string[] | undefined {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const { own, target } of byPath.get(path)?.imports ?? []) {
      const cycle = own ? visit(target, [...trail, path]) : undefined;
      if (cycle) return cycle;
    }
    done.add(path);
    return undefined;
  }
  for (const { path } of files) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return undefined;
}
