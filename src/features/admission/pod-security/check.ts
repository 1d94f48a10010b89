/**
 * The parts of a check of the Pod Security Standards, and how checks read a pod and word their findings.
 */
import type { ObjectReader } from '../object-reader.ts';

export type PodSecurityLevel = 'privileged' | 'baseline' | 'restricted';

export interface Pod {
  readonly metadata: ObjectReader;
  readonly spec: ObjectReader;
  /** Init containers, containers and ephemeral containers, in the order of the standards' messages. */
  readonly containers: readonly ObjectReader[];
}

/** A field that a check forbids or misses. */
export interface Finding {
  readonly path: string;
  /** Undefined if a field is missing. */
  readonly value: unknown;
  /** The container or volume that has the field; undefined for the pod's own fields. */
  readonly holder?: { readonly path: string; readonly name: string };
  /** What a message shows of the field: a value, or a volume's type. */
  readonly shown: string;
  /** Tells findings of one check apart if its message does. */
  readonly kind?: string | undefined;
}

export type Find = (pod: Pod) => Finding[];

/** Findings in a container, or in a security context. */
type FindIn = (object: ObjectReader) => Finding[];

export interface Check {
  readonly id: string;
  /** The versions of the check, by the minor version of Kubernetes from which on each applies, ascending. */
  readonly versions: readonly (readonly [since: number, find: Find])[];
  /** A check of the baseline that is left out if this one applies. */
  readonly overrides?: string;
  readonly reason: string | ((findings: readonly Finding[]) => string);
  /** @param findings at least one */
  detail(findings: readonly Finding[]): string;
}

/** @returns a finding at a field of the object if the condition holds */
export function findIf(
  condition: boolean,
  object: ObjectReader,
  field: string,
  value: unknown,
  kind?: string,
): Finding[] {
  return condition ? [{ path: object.pathOf(field), value, shown: String(value ?? ''), kind }] : [];
}

/** @param object a container or a volume */
export function heldBy(object: ObjectReader, findings: readonly Finding[]): Finding[] {
  const holder = { path: object.path, name: object.text('name') ?? '' };
  return findings.map((finding) => ({ ...finding, holder }));
}

export function inContainers(find: FindIn): Find {
  return ({ containers }) => containers.flatMap((container) => heldBy(container, find(container)));
}

/** Checks the security contexts of the containers; an absent one is read as an empty one. */
export function inContainerContexts(find: FindIn): Find {
  return inContainers((container) => find(container.object('securityContext')));
}

/** Checks the security context of the pod and those of its containers. */
export function inContexts(find: FindIn): Find {
  return (pod) => [...find(pod.spec.object('securityContext')), ...inContainerContexts(find)(pod)];
}

/** Windows has other settings, and the API server refuses Linux' ones in its pods. */
export function exceptWindows(find: Find): Find {
  return (pod) => (pod.spec.object('os').text('name') === 'windows' ? [] : find(pod));
}

/** Root in a user namespace of the pod's own is not root on the node. */
export function exceptInUserNamespace(find: Find): Find {
  return (pod) => (pod.spec.boolean('hostUsers') === false ? [] : find(pod));
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

/** `volume "a" uses`, `volumes "a", "b" use`. */
export function using(noun: string, names: readonly string[]): string {
  return `${plural(names.length, noun)} ${quoted(names)} ${names.length === 1 ? 'uses' : 'use'}`;
}

/** Names of the containers or volumes, each once, in the pod's order. */
export function holdersOf(findings: readonly Finding[]): string[] {
  const names = new Map<string, string>();
  for (const { holder } of findings) if (holder !== undefined) names.set(holder.path, holder.name);
  return [...names.values()];
}

export function ofKind(findings: readonly Finding[], kind: string | undefined): Finding[] {
  return findings.filter((finding) => finding.kind === kind);
}

/** What is shown, each once, sorted as Go sorts strings. */
export function shown(findings: readonly Finding[]): string[] {
  return sorted(findings.map(({ shown }) => shown));
}

export function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

/** Quotes texts as the API server does: quotes in a text are not escaped. */
export function quoted(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

export function plural(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}
