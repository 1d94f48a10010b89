/**
 * What a check of the Pod Security Standards consists of, and the wording that checks share.
 */
import type { Container, Named, Pod } from './pod.ts';

export type PodSecurityLevel = 'privileged' | 'baseline' | 'restricted';

/** A field that a check forbids or misses. */
export interface Finding {
  readonly path: string;
  /** Undefined if a field is missing. */
  readonly value: unknown;
  /** The container or volume that has the field; undefined for the pod's own fields. */
  readonly holder?: Named;
  /** What a message shows of the field: a value, or a volume's type. */
  readonly shown: string;
  /** Tells findings of one check apart if its message does. */
  readonly kind?: string;
}

export interface Wording {
  readonly reason: string;
  readonly detail: string;
}

export type Find = (pod: Pod) => Finding[];

export interface Check {
  readonly id: string;
  readonly level: Exclude<PodSecurityLevel, 'privileged'>;
  /** By the minor version from which on each applies, ascending. */
  readonly versions: readonly { readonly since: number; readonly find: Find }[];
  /** A check of the baseline that is left out if this one applies. */
  readonly overrides?: string;
  /** @param findings at least one */
  describe(findings: readonly Finding[]): Wording;
}

export function inContainers(find: (container: Container) => Finding[]): Find {
  return ({ containers }) =>
    containers.flatMap((container) =>
      find(container).map((finding) => ({
        ...finding,
        holder: { path: container.path, name: container.name },
      })),
    );
}

/** @returns a finding if the condition holds */
export function findIf(condition: boolean, finding: Finding): Finding[] {
  return condition ? [finding] : [];
}

/** Windows has other settings, and the API server refuses Linux' ones in its pods. */
export function exceptWindows(find: Find): Find {
  return (pod) => (pod.os === 'windows' ? [] : find(pod));
}

/** Root in a user namespace of the pod's own is not root on the node. */
export function exceptInUserNamespace(find: Find): Find {
  return (pod) => (pod.hostUsers === false ? [] : find(pod));
}

/** `container "a"`, `containers "a", "b"`; empty without one. */
export function containers(findings: readonly Finding[]): string {
  const holders = holdersOf(findings);
  return holders.length === 0 ? '' : `${plural(holders.length, 'container')} ${quoted(holders)}`;
}

/** `pod and container "a"`. */
export function setters(findings: readonly Finding[]): string {
  const pod = findings.some(({ holder }) => holder === undefined) ? 'pod' : '';
  return [pod, containers(findings)].filter((part) => part !== '').join(' and ');
}

/** Names of the containers or volumes, each once, in the pod's order. */
export function holdersOf(findings: readonly Finding[]): string[] {
  const names = new Map<string, string>();
  for (const { holder } of findings) if (holder !== undefined) names.set(holder.path, holder.name);
  return [...names.values()];
}

/** What is shown, each once, sorted as Go sorts strings. */
export function shown(findings: readonly Finding[]): string[] {
  return sorted(findings.map(({ shown }) => shown));
}

export function sorted(texts: readonly string[]): string[] {
  const unique = [...new Set(texts)];
  // The order of UTF-16 is that of UTF-8, except for characters outside the basic plane.
  return unique.some((text) => SURROGATE.test(text))
    ? unique.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    : unique.sort();
}

const SURROGATE = /[\ud800-\udfff]/;

/** As the API server does it: quotes in a text are not escaped. */
export function quoted(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

export function plural(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}
